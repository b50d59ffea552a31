//! Requests and responses: a client asks, waits for the whole response, thinks, and asks again.
//!
//! A request is one packet, a response as many as it takes, sent at once. Where a response is not complete in time, the same is asked again
//! under a new number; what still comes of the old one does not count. The response time is from the first asking to the last packet.

use crate::description::Requests;
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use parades_packet::flow::Sink;

/// The asking end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Client {
    /// How often it has asked: the number of the next request.
    pub(crate) asked: u32,
    /// Whether it waits for a response, and of that how many packets have come.
    pub(crate) waiting: bool,
    pub(crate) come: u32,
    /// When it first asked what it waits for.
    pub(crate) since: Time,
    pub(crate) responses: u64,
    pub(crate) timeouts: u64,
    /// Of all response times, in picoseconds.
    pub(crate) sum: u64,
    pub(crate) least: Delay,
    pub(crate) greatest: Delay,
    /// Packets of responses, and their payload.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    /// When the last of those packets came.
    pub(crate) last: Time,
}

impl Requests {
    /// How many packets a response has.
    pub(crate) fn packets(&self) -> u32 {
        u32::try_from(self.response.div_ceil(u64::from(self.packet))).unwrap_or(u32::MAX).max(1)
    }

    /// The payload of one of them.
    pub(crate) fn payload(&self, number: u32) -> u32 {
        let left = self.response - u64::from(number) * u64::from(self.packet);
        u32::try_from(left).map_or(self.packet, |left| left.min(self.packet))
    }
}

impl Client {
    pub(crate) const NEW: Client = Client {
        asked: 0,
        waiting: false,
        come: 0,
        since: Time::ZERO,
        responses: 0,
        timeouts: 0,
        sum: 0,
        least: Delay::MAX,
        greatest: Delay::ZERO,
        packets: 0,
        bytes: 0,
        last: Time::ZERO,
    };

    /// Asks, for the first time or again: the number of the request. `None` where no more is to be asked.
    pub(crate) fn ask(&mut self, now: Time, requests: &Requests) -> Option<u32> {
        if self.waiting {
            self.timeouts += 1;
        } else {
            self.since = now;
        }
        if now >= requests.stop || self.asked == u32::MAX {
            self.waiting = false;
            return None;
        }
        self.waiting = true;
        self.come = 0;
        self.asked += 1;
        Some(self.asked - 1)
    }

    /// A packet of the response to the request `number` has come: the response time, if it is the last of what it waits for.
    pub(crate) fn receive(&mut self, now: Time, number: u32, payload: u32, requests: &Requests) -> Option<Delay> {
        self.packets += 1;
        self.bytes += u64::from(payload);
        self.last = now;
        if !self.waiting || number + 1 != self.asked {
            return None;
        }
        self.come += 1;
        if self.come < requests.packets() {
            return None;
        }
        self.waiting = false;
        let took = now.since(self.since);
        self.responses += 1;
        self.sum = self.sum.saturating_add(took.as_ps());
        self.least = self.least.min(took);
        self.greatest = self.greatest.max(took);
        Some(took)
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.asked) << 32 | u64::from(self.come));
        let times = [self.least.as_ps(), self.greatest.as_ps(), self.since.as_ps(), self.last.as_ps()];
        let counts = [u64::from(self.waiting), self.responses, self.timeouts, self.sum, self.packets, self.bytes];
        times.into_iter().chain(counts).for_each(|word| digest.word(word));
    }
}

/// The answering end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// The requests that came.
    pub(crate) sink: Sink,
    /// Packets of responses.
    pub(crate) sent: u64,
}

impl Server {
    pub(crate) const NEW: Server = Server { sink: Sink::NEW, sent: 0 };

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.sink.fold(digest);
        digest.word(self.sent);
    }
}
