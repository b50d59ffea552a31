//! Flows: what sends from one node to another, and what both ends remember of it.

use crate::source::Sending;
use crate::traffic::{Pattern, Sizes};
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use parades_topology::NodeId;

/// When a flow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// When it has sent so many bytes of payload; the last packet carries what is left.
    Bytes(u64),
    /// At this time: it sends what is due before it.
    Until(Time),
    /// Never.
    Never,
}

/// A UDP flow: it sends, and does not listen.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Where it starts.
    pub source: NodeId,
    /// Where it goes.
    pub destination: NodeId,
    /// When it starts.
    pub start: Time,
    /// When it ends.
    pub limit: Limit,
    /// How much a packet carries.
    pub sizes: Sizes,
    /// When packets are sent.
    pub pattern: Pattern,
}

/// The longest payload of a UDP packet over IPv4, in bytes.
pub const PAYLOAD_MAX: u32 = 65_507;

impl Flow {
    /// What its source sends.
    #[inline]
    pub(crate) fn sending(&self) -> Sending<'_> {
        Sending { start: self.start, limit: self.limit, sizes: &self.sizes, pattern: &self.pattern }
    }

    /// What makes no sense about it, as the end of a sentence that begins with its number.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.source == self.destination {
            return Err("leads from a node to itself; give it two ends".into());
        }
        self.sending().check()
    }
}

/// What the source of a flow remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Packets sent.
    pub packets: u64,
    /// Payload sent, headers not included.
    pub bytes: u64,
    /// When the on period ends; the end of time where there are none.
    pub on_until: Time,
    /// Whether all has been sent.
    pub finished: bool,
}

impl Source {
    /// Lets it rest for `span`: the on period that its next packet falls into ends so much later.
    pub fn rest(&mut self, span: Delay) {
        self.on_until = self.on_until.checked_add(span).unwrap_or(Time::MAX);
    }

    /// Folds all of it into a digest.
    pub fn fold(&self, digest: &mut Digest) {
        for word in [self.packets, self.bytes, self.on_until.as_ps(), u64::from(self.finished)] {
            digest.word(word);
        }
    }
}

/// What the sink of a flow has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sink {
    /// Packets that have come.
    pub packets: u64,
    /// Their payload, headers not included.
    pub bytes: u64,
    /// In picoseconds.
    delay_sum: u128,
    /// The shortest way of a packet; [`Delay::MAX`] before there is one.
    pub delay_min: Delay,
    /// The longest.
    pub delay_max: Delay,
    delay_last: Delay,
    /// The interarrival jitter of RFC 3550, section 6.4.1, in sixteenths of a picosecond, by the integer arithmetic of its appendix A.8.
    jitter_sixteenths: u64,
    /// When the last one came.
    pub last: Time,
    /// One more than the greatest sequence number seen.
    next: u64,
    /// Packets with a smaller sequence number than one seen before (RFC 4737's definition of reordered).
    pub reordered: u64,
}

impl Sink {
    /// A sink that nothing has come to.
    pub const NEW: Sink = Sink {
        packets: 0,
        bytes: 0,
        delay_sum: 0,
        delay_min: Delay::MAX,
        delay_max: Delay::ZERO,
        delay_last: Delay::ZERO,
        jitter_sixteenths: 0,
        last: Time::ZERO,
        next: 0,
        reordered: 0,
    };

    /// Takes a packet that was under way for `delay`.
    #[inline]
    pub fn receive(&mut self, now: Time, sequence: u32, payload: u32, delay: Delay) {
        if self.packets > 0 {
            let difference = delay.as_ps().abs_diff(self.delay_last.as_ps());
            let decay = self.jitter_sixteenths.saturating_add(8) >> 4;
            self.jitter_sixteenths = self.jitter_sixteenths.saturating_add(difference) - decay;
        }
        self.packets += 1;
        self.bytes += u64::from(payload);
        self.delay_sum += u128::from(delay.as_ps());
        self.delay_min = self.delay_min.min(delay);
        self.delay_max = self.delay_max.max(delay);
        self.delay_last = delay;
        self.last = now;
        let sequence = u64::from(sequence);
        if sequence < self.next {
            self.reordered += 1;
        } else {
            self.next = sequence + 1;
        }
    }

    /// The mean delay, to the picosecond below; zero where nothing has come.
    pub fn delay_mean(&self) -> Delay {
        let mean = self.delay_sum.checked_div(u128::from(self.packets)).unwrap_or(0);
        Delay::from_ps(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// The interarrival jitter of RFC 3550, section 6.4.1.
    pub fn jitter(&self) -> Delay {
        Delay::from_ps(self.jitter_sixteenths >> 4)
    }

    /// Folds what is known of the packets into a digest.
    pub fn fold(&self, digest: &mut Digest) {
        let times = [self.delay_mean(), self.delay_min, self.delay_max, self.jitter()];
        times.into_iter().for_each(|time| digest.word(time.as_ps()));
        for word in [self.packets, self.bytes, self.last.as_ps(), self.reordered] {
            digest.word(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_follows_rfc_3550_and_late_numbers_are_reordered() {
        let mut sink = Sink::NEW;
        let (mut expected, mut before) = (0.0_f64, None);
        let delays_us = [100_u64, 160, 90, 90, 250, 100];
        for (&delay, sequence) in delays_us.iter().zip([0, 1, 4, 2, 3, 5]) {
            sink.receive(Time::from_ps(delay), sequence, 10, Delay::from_us(delay));
            if let Some(before) = before.replace(delay) {
                expected += (delay.abs_diff(before) as f64 * 1e6 - expected) / 16.0;
            }
        }
        assert!((sink.jitter().as_ps() as f64 - expected).abs() < 2.0, "{:?} {expected}", sink.jitter());
        assert_eq!((sink.packets, sink.bytes, sink.reordered), (6, 60, 2));
        assert_eq!((sink.delay_min, sink.delay_max), (Delay::from_us(90), Delay::from_us(250)));
        assert_eq!(sink.delay_mean().as_ps(), 790_000_000 / 6);
    }
}
