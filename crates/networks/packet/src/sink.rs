//! Measurements of the packets that arrive at one end of a flow.
//!
//! A packet that arrives more than once, as links have made copies of it, counts at its first arrival (RFC
//! 7679, section 3.5; RFC 4737, section 3).

use crate::histogram::DelayHistogram;
use crate::save::is_number;
use parades_core::digest::Digest;
use parades_core::restore::{Recorder, Undoable};
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// Counts of arrived packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Arrivals {
    /// Arrived packets.
    pub packets: u64,
    /// The payload of arrived packets in bytes, headers not included.
    pub bytes: u64,
    /// Packets that were sent before a packet that had arrived earlier (RFC 4737, section 3.3).
    pub reordered: u32,
    /// The number of the newest packet.
    number: u32,
    /// The time at which it was sent.
    newest: Time,
}

/// The delays of arrived packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct DelayRange {
    /// The sum in picoseconds, lower word first.
    sum: [u64; 2],
    /// The shortest delay; [`Delay::MAX`] before the first packet.
    pub min: Delay,
    /// The longest delay.
    pub max: Delay,
}

/// The last arrival, and the variation of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
struct Last {
    time: Time,
    delay: Delay,
    /// The interarrival jitter of RFC 3550, section 6.4.1, in sixteenths of a picosecond, by the integer
    /// arithmetic of its appendix A.8.
    jitter_sixteenths: u64,
}

/// Measurements of the packets that arrive at one end of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub struct Sink {
    /// Counts.
    pub arrivals: Arrivals,
    /// Delays.
    pub delays: DelayRange,
    last: Last,
    /// The distribution of delays, if percentiles are measured.
    pub histogram: Option<Box<DelayHistogram>>,
}

impl Sink {
    /// Returns a sink without arrivals.
    pub fn new(has_percentiles: bool) -> Sink {
        Sink {
            arrivals: Arrivals { packets: 0, bytes: 0, reordered: 0, number: 0, newest: Time::ZERO },
            delays: DelayRange { sum: [0; 2], min: Delay::MAX, max: Delay::ZERO },
            last: Last { time: Time::ZERO, delay: Delay::ZERO, jitter_sixteenths: 0 },
            histogram: has_percentiles.then(Box::default),
        }
    }

    /// Returns true if an end of a flow may have these measurements. Those that were read may be impossible.
    pub(crate) fn is_possible(&self, has_percentiles: bool) -> bool {
        let Arrivals { packets, bytes, .. } = self.arrivals;
        let DelayRange { sum: [_, high], min, max } = self.delays;
        let histogram = self.histogram.as_ref();
        [packets, bytes, high].into_iter().all(is_number)
            && (packets == 0 || min <= max)
            && histogram.is_some() == has_percentiles
            && histogram.is_none_or(|histogram| histogram.is_possible(packets, min.as_ps(), max.as_ps()))
    }

    /// Returns the time of the last arrival; zero before the first one.
    pub fn last(&self) -> Time {
        self.last.time
    }

    /// Returns the sum of all delays in picoseconds.
    pub fn delay_sum(&self) -> u128 {
        let [low, high] = self.delays.sum;
        u128::from(high) << 64 | u128::from(low)
    }

    /// Returns the mean delay, rounded down; zero before the first arrival.
    pub fn delay_mean(&self) -> Delay {
        let mean = self.delay_sum().checked_div(u128::from(self.arrivals.packets)).unwrap_or(0);
        Delay::from_ps(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// Returns the interarrival jitter of RFC 3550, section 6.4.1.
    pub fn jitter(&self) -> Delay {
        Delay::from_ps(self.last.jitter_sixteenths >> 4)
    }

    /// Returns the delay that `percent` of the packets do not exceed. `None` if that is not measured, or
    /// nothing has arrived.
    pub fn percentile(&self, percent: u64) -> Option<Delay> {
        let (min, max) = (self.delays.min.as_ps(), self.delays.max.as_ps());
        self.histogram.as_ref()?.percentile(percent, min, max).map(Delay::from_ps)
    }

    /// Folds all measurements into a digest.
    pub fn fold(&self, digest: &mut Digest) {
        let Arrivals { packets, bytes, reordered, number, newest: _ } = self.arrivals;
        let next = if packets > 0 { u64::from(number) + 1 } else { 0 };
        let DelayRange { sum: [low, high], min, max } = self.delays;
        let Last { time, delay, jitter_sixteenths } = self.last;
        let counts = [packets, bytes, reordered.into(), next, low, high];
        let times = [min.as_ps(), max.as_ps(), time.as_ps(), delay.as_ps(), jitter_sixteenths];
        counts.into_iter().chain(times).for_each(|word| digest.word(word));
    }
}

impl<R: Recorder<SinkUndo>> SinkMut<'_, R> {
    /// Measures a packet that arrives `now`. Packets that are sent at one time have ascending numbers.
    #[inline]
    pub fn receive(&mut self, now: Time, sent: Time, number: u32, payload: u32) {
        let (last, delay) = (self.last, now.since(sent));
        let mut jitter_sixteenths = last.jitter_sixteenths;
        if self.arrivals.packets > 0 {
            let difference = delay.as_ps().abs_diff(last.delay.as_ps());
            let decay = jitter_sixteenths.saturating_add(8) >> 4;
            jitter_sixteenths = jitter_sixteenths.saturating_add(difference) - decay;
        }
        *self.last() = Last { time: now, delay, jitter_sixteenths };
        let delays = self.delays().into_mut();
        let (low, has_carry) = delays.sum[0].overflowing_add(delay.as_ps());
        delays.sum = [low, delays.sum[1] + u64::from(has_carry)];
        delays.min = delays.min.min(delay);
        delays.max = delays.max.max(delay);
        let arrivals = self.arrivals().into_mut();
        arrivals.packets += 1;
        arrivals.bytes += u64::from(payload);
        if (sent, number) < (arrivals.newest, arrivals.number) {
            arrivals.reordered = arrivals.reordered.saturating_add(1);
        } else {
            (arrivals.newest, arrivals.number) = (sent, number);
        }
        if let Some(mut histogram) = self.histogram().as_mut() {
            histogram.observe(delay.as_ps());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_follows_rfc_3550_and_packets_that_were_overtaken_are_reordered() {
        let mut sink = Sink::new(false);
        let (mut expected, mut before) = (0.0_f64, None);
        let delays_us = [100_u64, 160, 90, 90, 250, 100];
        // Packets 2 to 4 are sent at one time.
        for (&delay, (number, sent_us)) in delays_us.iter().zip([(0, 0), (1, 9), (4, 20), (2, 20), (3, 20), (5, 30)]) {
            let [sent, now] = [sent_us, sent_us + delay].map(|us| Time::from_ps(us * 1_000_000));
            sink.unrecorded().receive(now, sent, number, 10);
            if let Some(before) = before.replace(delay) {
                expected += (delay.abs_diff(before) as f64 * 1e6 - expected) / 16.0;
            }
        }
        assert!((sink.jitter().as_ps() as f64 - expected).abs() < 2.0, "{:?} {expected}", sink.jitter());
        assert_eq!((sink.arrivals.packets, sink.arrivals.bytes, sink.arrivals.reordered), (6, 60, 2));
        assert_eq!((sink.delays.min, sink.delays.max), (Delay::from_us(90), Delay::from_us(250)));
        assert_eq!(sink.delay_mean().as_ps(), 790_000_000 / 6);
    }

    #[test]
    fn a_number_that_is_sent_again_is_not_reordered() {
        let mut sink = Sink::new(false);
        for (sent_ps, number) in [(0, 0), (0, 1), (0, 2), (9, 0), (9, 1), (9, 2)] {
            sink.unrecorded().receive(Time::from_ps(20), Time::from_ps(sent_ps), number, 1);
        }
        assert_eq!((sink.arrivals.packets, sink.arrivals.reordered), (6, 0));
    }

    #[test]
    fn the_mean_of_delays_is_right_when_their_sum_exceeds_64_bits() {
        let mut sink = Sink::new(false);
        for sent_ps in [0, 2] {
            sink.unrecorded().receive(Time::MAX, Time::from_ps(sent_ps), 0, 1);
        }
        assert_eq!(sink.delay_mean(), Delay::from_ps(u64::MAX - 1));
    }
}
