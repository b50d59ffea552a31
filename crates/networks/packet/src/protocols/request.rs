//! Requests and responses: a client asks, waits for the whole response, thinks, and asks again.
//!
//! A request is one packet. All packets of a response are sent at once. If a response is not complete in
//! time, the client asks the same again under a new number. Packets of the old response do not count any
//! more. The response time is from the first request to the last packet.
//!
//! The number of a packet names the request and the part of its response. Copies that links make of packets
//! are ignored: a server answers a request once, and a response is complete when each of its parts has
//! arrived.

use super::{Duration, Environment, Protocol, Segment, Setup};
use crate::save::is_number;
use crate::sink::Sink;
use crate::traffic::Period;
use parades_core::digest::Digest;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// The payload of a request, in bytes.
    pub request: u32,
    /// The payload of a response, in bytes.
    pub response: u64,
    /// The greatest payload of a packet of a response, in bytes.
    pub packet: u32,
    /// The time from a response to the next request.
    pub think: Period,
    /// The time from a request's arrival to its response.
    pub service: Period,
    /// The time that a client waits for a response before it asks again.
    pub timeout: Delay,
    /// The time from which a client asks no more.
    pub stop: Time,
    /// The number of responses that a client wants; `u64::MAX` for no limit.
    pub count: u64,
}

/// The timer of a client, which sends a request when the timer is due.
const ASK: u32 = 0;

/// The response that a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
struct Pending {
    is_waiting: bool,
    /// Parts that have arrived.
    packets: u32,
    /// The time of the first request for this response.
    since: Time,
}

/// The state of a client.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub struct Client {
    /// The number of requests sent, which is also the number of the next one.
    pub asked: u32,
    pending: Pending,
    /// Complete responses.
    pub responses: u64,
    /// Requests that were not answered in time.
    pub timeouts: u64,
    /// The sum of all response times, in picoseconds.
    pub sum_ps: u64,
    /// The shortest response time.
    pub min: Delay,
    /// The longest response time.
    pub max: Delay,
    /// Packets of responses.
    pub packets: u64,
    /// The payload of packets of responses, in bytes.
    pub bytes: u64,
    /// The arrival of the last packet of a response.
    pub last: Time,
}

impl Requests {
    /// Returns the number of packets of a response.
    pub(crate) fn packets(&self) -> u32 {
        u32::try_from(self.response.div_ceil(u64::from(self.packet))).unwrap_or(u32::MAX).max(1)
    }

    /// Returns the payload of a part of a response.
    pub(crate) fn payload(&self, part: u32) -> u32 {
        let left = self.response - u64::from(part) * u64::from(self.packet);
        u32::try_from(left).map_or(self.packet, |left| left.min(self.packet))
    }

    /// Returns the number of the first packet of the response to a request. Numbers are taken modulo 2^32.
    fn first_of(&self, request: u32) -> u32 {
        request.wrapping_mul(self.packets())
    }
}

impl Client {
    /// Returns a client, and sets its timer to the first request.
    pub(crate) fn on_start(start: Time, setup: &mut impl Setup) -> Client {
        setup.set_timer(ASK, start.since(Time::ZERO));
        Client {
            asked: 0,
            pending: Pending { is_waiting: false, packets: 0, since: Time::ZERO },
            responses: 0,
            timeouts: 0,
            sum_ps: 0,
            min: Delay::MAX,
            max: Delay::ZERO,
            packets: 0,
            bytes: 0,
            last: Time::ZERO,
        }
    }

    /// Returns the time of the first request for the response that the client waits for.
    pub(crate) fn waits_since(&self) -> Option<Time> {
        self.pending.is_waiting.then_some(self.pending.since)
    }
    /// Returns true if a client of these requests may have this state. One that was read may be none.
    pub(crate) fn is_possible(&self, of: &Requests) -> bool {
        let counts = [self.responses, self.timeouts, self.packets, self.bytes];
        let Pending { is_waiting, packets, .. } = self.pending;
        counts.into_iter().all(is_number) && (!is_waiting || self.asked > 0 && packets < of.packets())
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        let Pending { is_waiting, packets, since } = self.pending;
        digest.word(u64::from(self.asked) << 32 | u64::from(packets));
        let times = [self.min.as_ps(), self.max.as_ps(), since.as_ps(), self.last.as_ps()];
        let counts = [u64::from(is_waiting), self.responses, self.timeouts, self.sum_ps, self.packets, self.bytes];
        times.into_iter().chain(counts).for_each(|word| digest.word(word));
    }
}

impl<R: Recorder<ClientUndo>> Protocol for ClientMut<'_, R> {
    type Parameters = Requests;

    fn on_segment<E: Environment>(&mut self, requests: &Requests, segment: &Segment<'_, E::Record>, env: &mut E) {
        if segment.is_copy {
            return;
        }
        *self.packets() += 1;
        *self.bytes() += u64::from(segment.payload);
        *self.last() = env.now();
        let Pending { is_waiting, packets, since } = self.pending;
        if !is_waiting || segment.number.wrapping_sub(requests.first_of(self.asked - 1)) >= requests.packets() {
            return;
        }
        let is_whole = packets + 1 >= requests.packets();
        *self.pending() = Pending { is_waiting: !is_whole, packets: packets + 1, since };
        if is_whole {
            self.complete(env.now().since(since));
            env.observe(Duration::Completion, env.now().since(since));
            if self.responses < requests.count {
                let think = requests.think.draw(env.rng());
                env.set_timer(ASK, think);
            } else {
                env.cancel_timer(ASK);
            }
        }
    }

    /// Sends a request, for the first time or again.
    fn on_timer<E: Environment>(&mut self, requests: &Requests, _: u32, env: &mut E) {
        let now = env.now();
        let Pending { is_waiting, packets, mut since } = self.pending;
        if is_waiting {
            *self.timeouts() += 1;
        } else {
            since = now;
        }
        if now >= requests.stop || self.asked == u32::MAX {
            *self.pending() = Pending { is_waiting: false, packets, since };
            return;
        }
        *self.pending() = Pending { is_waiting: true, packets: 0, since };
        let number = self.asked;
        *self.asked() += 1;
        env.set_timer(ASK, requests.timeout);
        env.send(number, requests.request, None);
    }
}

impl<R: Recorder<ClientUndo>> ClientMut<'_, R> {
    /// Measures the time of a response.
    fn complete(&mut self, took: Delay) {
        let (sum, min, max) = (self.sum_ps.saturating_add(took.as_ps()), self.min.min(took), self.max.max(took));
        *self.responses() += 1;
        *self.sum_ps() = sum;
        *self.min() = min;
        *self.max() = max;
    }
}

/// The state of a server.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub struct Server {
    /// Measurements of the requests that arrive.
    pub sink: Sink,
    /// Packets of responses sent.
    pub sent: u64,
}

impl Server {
    pub(crate) fn new(sink: Sink) -> Server {
        Server { sink, sent: 0 }
    }
    /// Returns true if a server may have this state. One that was read may be none.
    pub(crate) fn is_possible(&self, has_percentiles: bool) -> bool {
        self.sink.is_possible(has_percentiles) && is_number(self.sent)
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.sink.fold(digest);
        digest.word(self.sent);
    }
}

impl<R: Recorder<ServerUndo>> Protocol for ServerMut<'_, R> {
    type Parameters = Requests;

    fn on_segment<E: Environment>(&mut self, requests: &Requests, segment: &Segment<'_, E::Record>, env: &mut E) {
        if segment.is_copy {
            return;
        }
        self.sink().on_segment(&(), segment, env);
        match requests.service.draw(env.rng()) {
            Delay::ZERO => self.on_app(requests, segment.number, env),
            service => env.call_app(service, segment.number),
        }
    }

    /// Sends the response, since the service of the request is over.
    fn on_app<E: Environment>(&mut self, requests: &Requests, number: u32, env: &mut E) {
        for part in 0..requests.packets() {
            *self.sent() += 1;
            env.send(requests.first_of(number).wrapping_add(part), requests.payload(part), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::mock::{Did, Mock};
    use parades_tcp::environment::Ecn;

    fn requests() -> Requests {
        let [think, service] = [10, 3].map(|ms| Period::Constant(Delay::from_ms(ms)));
        let timeout = Delay::from_ms(100);
        Requests { request: 50, response: 250, packet: 100, think, service, timeout, stop: Time::MAX, count: 2 }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO.checked_add(Delay::from_ms(ms)).expect("a short time")
    }

    #[test]
    fn a_server_answers_after_its_service_in_as_many_packets_as_it_takes() {
        let (requests, mut env, mut server) = (requests(), Mock::default(), Server::new(Sink::new(false)));
        let (sent, ecn) = (Time::ZERO, Ecn::NotCapable);
        let segment = Segment { number: 4, payload: 50, sent, record: None, ecn, is_copy: false };
        server.unrecorded().on_segment(&requests, &segment, &mut env);
        assert_eq!(env.take()[1..], [Did::Called(Delay::from_ms(3), 4)]);
        server.unrecorded().on_segment(&requests, &Segment { is_copy: true, ..segment }, &mut env);
        assert_eq!(env.take(), []);
        server.unrecorded().on_app(&requests, 4, &mut env);
        assert_eq!(env.take(), [Did::Sent(12, 100), Did::Sent(13, 100), Did::Sent(14, 50)]);
    }

    #[test]
    fn a_client_that_is_not_answered_asks_again_and_old_responses_do_not_count() {
        let (requests, mut env) = (requests(), Mock::default());
        let mut client = Client::on_start(Time::ZERO, &mut env);
        for ms in [0, 100] {
            env.now = at(ms);
            client.unrecorded().on_timer(&requests, ASK, &mut env);
        }
        env.take();
        env.now = at(130);
        // A response has three parts: those of the old one have numbers 0 to 2, those of the new one 3 to 5.
        for (number, is_copy) in [(0, false), (1, false), (3, false), (3, true), (2, false), (5, false), (4, false)] {
            let (sent, ecn) = (at(120), Ecn::NotCapable);
            let segment = Segment { number, payload: 100, sent, record: None, ecn, is_copy };
            client.unrecorded().on_segment(&requests, &segment, &mut env);
        }
        // The response time counts from the first request.
        let took = Delay::from_ms(130);
        assert_eq!(env.take(), [Did::Observed(Duration::Completion, took), Did::Set(ASK, Delay::from_ms(10))]);
        assert_eq!((client.responses, client.timeouts, client.packets), (1, 1, 6));
    }
}
