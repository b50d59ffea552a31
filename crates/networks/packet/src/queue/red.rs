//! Random early detection (Floyd and Jacobson 1993), as in ns-3's `RedQueueDisc`.

use super::{Admission, QueueLimit};
use crate::probability::Probability;
use parades_core::random::Rng;
use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The parameters of RED. Lengths are in packets.
///
/// The average length is an exponentially weighted moving average, updated at each arrival. Below
/// `min_average` no packet is dropped. From there to `max_average`, the probability of a drop grows linearly
/// to `max_probability`. Above, every packet is dropped, unless the queue is *gentle*.
///
/// If both limits are equal, they are a threshold: from there on, every packet is marked, or dropped if its
/// sender does not understand marks. With a weight of 1 the average is the length itself, as DCTCP needs it
/// (M. Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010, section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Red {
    /// The limit of the queue itself.
    pub limit: QueueLimit,
    /// The average from which on packets are dropped, in thousandths of a packet.
    pub min_average_milli: u64,
    /// The average at which the probability reaches `max_probability`, in thousandths of a packet.
    pub max_average_milli: u64,
    /// The probability of a drop at that average.
    pub max_probability: Probability,
    /// The weight of an arrival in the average.
    pub weight: Probability,
    /// True if the probability grows further to 1, from `max_average` to twice this length.
    pub is_gentle: bool,
    /// True if two drops are never closer than `1 / probability` packets, which spreads them more evenly.
    pub waits: bool,
    /// The mean size of packets in bytes, headers included. While the queue is idle, the average decays as if
    /// packets of this size arrived one after the other at the link's rate.
    pub mean_packet: u32,
    /// True if packets whose senders understand marks are marked instead of dropped. Where every packet must
    /// be dropped, they are dropped too.
    pub marks: bool,
}

impl Red {
    /// Returns the usual parameters for a queue of `limit` packets: gentle and waiting; from an eighth of the
    /// limit to three eighths, a probability of up to 1/50; a weight of 0.002; packets of 1500 bytes.
    #[must_use]
    pub fn with_limit(limit: u32) -> Red {
        Red {
            limit: QueueLimit::Packets(limit),
            min_average_milli: u64::from(limit) * 125,
            max_average_milli: u64::from(limit) * 375,
            max_probability: Probability::quotient(1, 50),
            weight: Probability::quotient(2, 1000),
            is_gentle: true,
            waits: true,
            mean_packet: 1500,
            marks: true,
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.limit.check_positive()?;
        let thousandth = |milli: u64| milli as f64 / 1000.0;
        let [min, max] = [self.min_average_milli, self.max_average_milli].map(thousandth);
        if min > max {
            return Err(format!("has a `min` of {min} packets and a `max` of {max}; `min` must not exceed `max`"));
        }
        if self.max_average_milli == 0 {
            return Err("has a `max` of 0 packets, so that it drops every packet; give it some".into());
        }
        if self.weight.is_zero() {
            return Err("has a weight of 0, so that its average never changes; give it more".into());
        }
        if self.mean_packet == 0 {
            return Err("has a mean packet of 0 bytes; give it the size of a usual packet".into());
        }
        Ok(())
    }

    fn min(&self) -> f64 {
        self.min_average_milli as f64 / 1000.0
    }

    fn max(&self) -> f64 {
        self.max_average_milli as f64 / 1000.0
    }

    /// Returns the probability of a drop at an average length of the queue. It does not depend on the packets
    /// since the last drop; see [`Red::spread`].
    pub(crate) fn probability(&self, average: f64) -> f64 {
        let (min, max, top) = (self.min(), self.max(), self.max_probability.get());
        let probability = if average < min {
            0.0
        } else if average < max {
            (average - min) / (max - min) * top
        } else if self.is_gentle {
            top + (average - max) / max * (1.0 - top)
        } else {
            1.0
        };
        probability.min(1.0)
    }

    /// Returns the probability of a drop, spread: it grows with the number of packets since the last drop.
    pub(crate) fn spread(&self, probability: f64, since_drop: u32) -> f64 {
        let expected = f64::from(since_drop) * probability;
        let (spread, limit) = if self.waits {
            (if expected < 1.0 { 0.0 } else { probability / (2.0 - expected) }, 2.0)
        } else {
            (probability / (1.0 - expected), 1.0)
        };
        if expected < limit { spread } else { 1.0 }
    }

    /// Returns true if both limits are one threshold.
    fn is_threshold(&self) -> bool {
        self.min_average_milli == self.max_average_milli
    }

    /// Returns true if every packet is dropped at this average.
    fn drops_all(&self, average: f64) -> bool {
        average >= if self.is_gentle { 2.0 * self.max() } else { self.max() }
    }
}

/// The state of RED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(crate) struct State {
    /// The average length.
    pub(crate) average: f64,
    /// The number of packets since the last early drop.
    pub(crate) since_drop: u32,
    /// True if the average was above the lower limit at the last arrival.
    pub(crate) is_above: bool,
    /// The time from which on the queue is empty and the device takes packets.
    pub(crate) idle_from: Time,
}

// The average is never NaN, so equality is an equivalence.
impl Eq for State {}

impl State {
    /// Decides about a packet that arrives while `waiting` packets wait.
    pub(crate) fn admit(
        &mut self,
        red: &Red,
        now: Time,
        rate_bps: u64,
        waiting: usize,
        is_capable: bool,
        rng: &Rng,
    ) -> Admission {
        self.update(red, now, rate_bps, waiting);
        self.since_drop = self.since_drop.saturating_add(1);
        if red.is_threshold() {
            let is_above = self.average >= red.min();
            return if is_above { Admission::mark_or_drop(red.marks && is_capable) } else { Admission::Pass };
        }
        if self.average < red.min() || waiting <= 1 {
            self.is_above = false;
            return Admission::Pass;
        }
        if red.drops_all(self.average) {
            return Admission::Early;
        }
        if !self.is_above {
            (self.is_above, self.since_drop) = (true, 1);
            return Admission::Pass;
        }
        if rng.chance(red.spread(red.probability(self.average), self.since_drop)) {
            self.since_drop = 0;
            return Admission::mark_or_drop(red.marks && is_capable);
        }
        Admission::Pass
    }

    /// Updates the average at an arrival. Idle time counts as arrivals of mean packets at an empty queue.
    fn update(&mut self, red: &Red, now: Time, rate_bps: u64, waiting: usize) {
        let mean = Delay::serialisation(u64::from(red.mean_packet), rate_bps).as_ps().max(1);
        let missed = if waiting == 0 { now.since(self.idle_from).as_ps() / mean } else { 0 };
        let weight = red.weight.get();
        let decay = if missed == 0 { 1.0 - weight } else { libm::pow(1.0 - weight, missed as f64 + 1.0) };
        self.average = self.average * decay + weight * waiting as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red() -> Red {
        // From 10 to 30 packets.
        Red { max_probability: Probability::quotient(1, 10), ..Red::with_limit(80) }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn the_probability_grows_linearly_between_the_limits_and_gently_to_one_beyond() {
        let red = red();
        for (average, expected) in
            [(9.9, 0.0), (10.0, 0.0), (20.0, 0.05), (30.0, 0.1), (45.0, 0.55), (60.0, 1.0), (90.0, 1.0)]
        {
            near(red.probability(average), expected);
            let abrupt = Red { is_gentle: false, ..red };
            near(abrupt.probability(average), if average < 30.0 { expected } else { 1.0 });
        }
        assert!(!red.drops_all(59.9) && red.drops_all(60.0));
        assert!(Red { is_gentle: false, ..red }.drops_all(30.0));
    }

    #[test]
    fn drops_are_spread_evenly_between_one_and_two_mean_distances() {
        // Floyd and Jacobson, section 7: without waiting, the distance between drops is uniform in 1..=1/p.
        // With waiting, it is uniform in 1/p..=2/p. So the chance of the k-th packet is 1/(remaining places).
        let steady = Red { waits: false, ..red() };
        for count in 0..10 {
            near(steady.spread(0.1, count), 0.1 / (1.0 - 0.1 * f64::from(count)));
        }
        near(steady.spread(0.1, 10), 1.0);
        near(red().spread(0.1, 9), 0.0);
        near(red().spread(0.1, 10), 0.1);
        near(red().spread(0.1, 15), 0.2);
        near(red().spread(0.1, 20), 1.0);
    }

    #[test]
    fn the_average_follows_the_queue_and_decays_over_idle_time_as_if_packets_had_come() {
        // At 12 Mbit/s a packet of 1500 bytes takes 1 ms.
        let (red, rate) = (Red { weight: Probability::quotient(1, 4), ..red() }, 12_000_000);
        let at = |ms| Time::ZERO.checked_add(Delay::from_ms(ms)).expect("soon");
        let mut state = State::default();
        for (waiting, expected) in [(8, 2.0), (8, 3.5), (8, 4.625)] {
            state.update(&red, at(1), rate, waiting);
            near(state.average, expected);
        }
        // Idle from 2 ms on: at 4.5 ms two packets would have gone, and a third arrives.
        state.idle_from = at(2);
        state.update(&red, at(4).checked_add(Delay::from_us(500)).expect("soon"), rate, 0);
        near(state.average, 4.625 * 0.75 * 0.75 * 0.75);
    }

    #[test]
    fn equal_limits_are_a_threshold_from_which_on_every_packet_is_marked_or_dropped() {
        let (weight, rng) = (Probability::ONE, Rng::stream(3, 1));
        let red = Red { min_average_milli: 10_000, max_average_milli: 10_000, weight, ..red() };
        assert_eq!(red.check(), Ok(()));
        for (is_capable, expected) in [(false, Admission::Early), (true, Admission::Mark)] {
            let mut state = State::default();
            let mut admit = |waiting| state.admit(&red, Time::ZERO, 12_000_000, waiting, is_capable, &rng);
            assert_eq!([8, 9, 10, 11, 9, 10, 70].map(&mut admit), {
                [Admission::Pass, Admission::Pass, expected, expected, Admission::Pass, expected, expected]
            });
        }
    }

    #[test]
    fn a_queue_at_a_fixed_average_drops_the_share_that_its_spread_gives() {
        // At an average of 20 packets p is 0.05. The distances of drops are uniform in 20..=40: the mean is
        // 30.
        let (red, rng) = (Red { weight: Probability::ONE, ..red() }, Rng::stream(3, 1));
        for (is_capable, expected) in [(false, Admission::Early), (true, Admission::Mark)] {
            let mut state = State::default();
            let answers = (0..300_000).map(|_| state.admit(&red, Time::ZERO, 12_000_000, 20, is_capable, &rng));
            let answers: Vec<_> = answers.collect();
            let hits = answers.iter().filter(|answer| **answer == expected).count();
            assert_eq!(hits + answers.iter().filter(|answer| **answer == Admission::Pass).count(), answers.len());
            assert!(hits.abs_diff(10_000) < 200, "{hits} of 300,000");
        }
    }
}
