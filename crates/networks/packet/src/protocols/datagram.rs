//! Datagrams: a source sends packets by a pattern, and nobody answers.

use super::{Environment, Protocol, Setup};
use crate::flow::Limit;
use crate::packet::PAYLOAD_MAX;
use crate::save::is_number;
use crate::traffic::{Pattern, Sizes};
use parades_core::digest::Digest;
use parades_core::restore::{Recorder, Tracked, Undoable};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagrams {
    /// The payloads of packets.
    pub sizes: Sizes,
    /// The times at which packets are sent.
    pub pattern: Pattern,
    /// The end of each flow.
    pub limit: Limit,
}

/// The timer of the next packet.
const NEXT: u32 = 0;

/// The state of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Source {
    /// Packets sent.
    pub packets: u64,
    /// Payload sent, in bytes, headers not included.
    pub bytes: u64,
    /// The end of the on period; [`Time::MAX`] without such periods.
    on_until: Time,
    /// True if everything has been sent.
    pub is_finished: bool,
}

/// A packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    /// The number of packets sent before.
    pub(super) number: u32,
    /// In bytes, headers not included.
    pub(super) payload: u32,
}

impl Datagrams {
    /// Returns a source, and sets its timer to the first packet.
    pub(crate) fn on_start(&self, start: Time, setup: &mut impl Setup) -> Source {
        let first = self.pattern.first(start, &self.sizes, setup.rng());
        let first = first.filter(|&(time, _)| self.is_open_at(time));
        if let Some((time, _)) = first {
            setup.set_timer(NEXT, time.since(Time::ZERO));
        }
        let on_until = first.map_or(Time::MAX, |(_, on_until)| on_until);
        Source { packets: 0, bytes: 0, on_until, is_finished: first.is_none() }
    }

    /// Counts the packet that is due now, and sets the timer to the next one. `None` if 2^32 packets have
    /// been sent.
    #[inline]
    pub(super) fn next<E: Environment>(&self, source: &mut Source, env: &mut E) -> Option<Due> {
        let number = u32::try_from(source.packets).ok()?;
        let size = self.sizes.draw(env.rng());
        let left = match self.limit {
            Limit::Bytes(total) => total - source.bytes,
            Limit::Until(_) | Limit::Never => u64::MAX,
        };
        let payload = u32::try_from(left).map_or(size, |left| size.min(left));
        source.packets += 1;
        source.bytes += u64::from(payload);
        source.is_finished = left == u64::from(payload);
        if !source.is_finished {
            let now = env.now();
            let next = self.pattern.next(now, payload, &mut source.on_until, env.rng());
            match next.filter(|&time| self.is_open_at(time)) {
                Some(time) => env.set_timer(NEXT, time.since(now)),
                None => source.is_finished = true,
            }
        }
        Some(Due { number, payload })
    }

    /// Returns true if a packet may be sent at `time`.
    fn is_open_at(&self, time: Time) -> bool {
        match self.limit {
            Limit::Until(end) => time < end,
            Limit::Bytes(_) | Limit::Never => true,
        }
    }

    /// Returns the least payload of a packet.
    pub(crate) fn least_payload(&self) -> Option<u32> {
        let least = self.sizes.least()?;
        Some(match (self.limit, &self.sizes) {
            (Limit::Bytes(total), Sizes::Constant(size)) => match u32::try_from(total % u64::from(*size)) {
                Ok(rest) if rest > 0 => rest,
                _ => least,
            },
            (Limit::Bytes(_), Sizes::Mix(_)) => 1,
            (Limit::Until(_) | Limit::Never, _) => least,
        })
    }

    /// Checks the parameters. The error is the end of a sentence that begins with the flow or the app.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (Some(least), Some(greatest)) = (self.sizes.least(), self.sizes.greatest()) else {
            return Err("has no packet size of a weight above zero; give it one".into());
        };
        if least == 0 || greatest > PAYLOAD_MAX {
            let wrong = if least == 0 { 0 } else { greatest };
            return Err(format!("has packets of {wrong} bytes; give them between 1 and {PAYLOAD_MAX}"));
        }
        if self.limit == Limit::Bytes(0) {
            return Err("has no bytes to send; give it some".into());
        }
        self.pattern.check(greatest)
    }
}

impl Source {
    /// Returns true if a source of these datagrams may have this state. One that was read may be none.
    pub(crate) fn is_possible(&self, of: &Datagrams) -> bool {
        let most = match of.limit {
            Limit::Bytes(total) => total,
            Limit::Until(_) | Limit::Never => u64::MAX,
        };
        is_number(self.packets) && is_number(self.bytes) && self.bytes <= most
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        for word in [self.packets, self.bytes, self.on_until.as_ps(), u64::from(self.is_finished)] {
            digest.word(word);
        }
    }

    /// Moves the end of the on period, since the period rests while the node is away.
    pub(super) fn rest(&mut self, span: Delay) {
        self.on_until = self.on_until.checked_add(span).unwrap_or(Time::MAX);
    }
}

/// The failure of a source that runs out of numbers.
pub(super) const TOO_MANY: &str = "has sent 2^32 packets; end it before that";

impl<R: Recorder<Source>> Protocol for Tracked<'_, Source, R> {
    type Parameters = Datagrams;

    #[inline]
    fn on_timer<E: Environment>(&mut self, datagrams: &Datagrams, _: u32, env: &mut E) {
        match datagrams.next(self.reborrow().into_mut(), env) {
            Some(Due { number, payload }) => env.send(number, payload, None),
            None => env.fail(TOO_MANY),
        }
    }

    fn on_rest(&mut self, span: Delay) {
        self.reborrow().into_mut().rest(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::mock::{Did, Mock};

    #[test]
    fn a_source_sends_by_its_pattern_and_the_last_packet_carries_the_rest() {
        let pattern = Pattern::Constant { rate_bps: 8_000_000 }; // A byte a microsecond.
        let datagrams = Datagrams { sizes: Sizes::Constant(100), pattern, limit: Limit::Bytes(250) };
        let mut env = Mock::default();
        let mut source = datagrams.on_start(Time::from_ps(5_000_000), &mut env);
        assert_eq!(env.take(), [Did::Set(NEXT, Delay::from_us(5))]);
        env.now = Time::from_ps(5_000_000);
        source.unrecorded().on_timer(&datagrams, NEXT, &mut env);
        assert_eq!(env.take(), [Did::Set(NEXT, Delay::from_us(100)), Did::Sent(0, 100)]);
        source.unrecorded().on_timer(&datagrams, NEXT, &mut env);
        source.unrecorded().on_timer(&datagrams, NEXT, &mut env);
        assert_eq!(env.take()[2..], [Did::Sent(2, 50)]);
        assert!(source.is_finished);
    }

    #[test]
    fn a_source_that_rests_goes_on_with_its_period() {
        let mut source = Source { packets: 0, bytes: 0, on_until: Time::from_ps(7), is_finished: false };
        source.unrecorded().on_rest(Delay::from_ps(5));
        assert_eq!(source.on_until, Time::from_ps(12));
    }
}
