//! COBALT, the AQM in each queue of CAKE: CoDel for traffic that responds to drops and marks, and BLUE for
//! traffic that does not.
//!
//! *CoDel* differs from RFC 8289 in four points, as in Linux. The count of drops and the next drop live on
//! after the dropping state, and the count falls by one at each time at which a drop would have been due. So
//! the law resumes where the queue was last controlled. The second drop comes an interval over the root of 2
//! after the first. Waits must be *above* the target. And the last packet of a queue is never dropped.
//!
//! *BLUE* (Feng et al., IEEE/ACM Transactions on Networking 10(4), 2002) drops at random. The probability
//! rises by 1/256 when a packet is dropped because there is no room, and falls by 1/4096 when the queue is
//! found empty, each at most once in a target.

use parades_core::random::Rng;
use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The rise of the probability of BLUE, in units of 2^-32.
const RISE: u32 = 1 << 24;
/// The fall of the probability of BLUE, in the same units.
const FALL: u32 = 1 << 20;

/// The constants of COBALT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// The waiting time up to which nothing is dropped.
    pub(super) target: Delay,
    /// The time from the first longer wait to the first drop.
    pub(super) interval: Delay,
    /// The time in which the shaper sends a packet of the largest size; zero without a shaper.
    pub(super) mtu_time: Delay,
}

/// The state of COBALT.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(super) struct Cobalt {
    /// The number of drops and marks that have brought the law to its present rate.
    count: u32,
    is_dropping: bool,
    /// The time of the next drop. If the count is zero, the time until which the queue counts as in use.
    drop_next: Time,
    /// The probability of BLUE, in units of 2^-32.
    probability: u32,
    /// The time after which that probability may change again.
    settled: Option<Time>,
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) drops: bool,
    pub(super) marks: bool,
}

impl Cobalt {
    /// Returns true if the state is that of a queue that was never used.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.count == 0 && self.probability == 0 && now >= self.drop_next
    }

    /// Returns true if the law asks for a drop at `now`.
    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Returns the time of the drop after `time`.
    fn after(&self, rules: &Rules, time: Time) -> Time {
        time.saturating_add(rules.interval.scaled(1.0 / libm::sqrt(f64::from(self.count.max(1)))))
    }

    /// Takes back one drop that was due and not needed.
    fn decay(&mut self, rules: &Rules) {
        self.count -= 1;
        self.drop_next = self.after(rules, self.drop_next);
    }

    /// Returns true, once in a target, if the probability of BLUE may change.
    fn may_change(&mut self, rules: &Rules, now: Time) -> bool {
        let may = self.settled.is_none_or(|settled| now > settled);
        if may {
            self.settled = Some(now.saturating_add(rules.target));
        }
        may
    }

    /// Notes that a packet was dropped because there was no room.
    pub(super) fn on_overflow(&mut self, rules: &Rules, now: Time) {
        if self.may_change(rules, now) {
            self.probability = self.probability.saturating_add(RISE);
        }
        self.is_dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Notes that the queue's turn came when it was empty.
    pub(super) fn on_empty(&mut self, rules: &Rules, now: Time) {
        if self.probability > 0 && self.may_change(rules, now) {
            self.probability = self.probability.saturating_sub(FALL);
        }
        self.is_dropping = false;
        if self.is_due(now) {
            self.decay(rules);
        }
    }

    /// Decides on a packet that has waited for `waited`. `shares` is the number of busy queues whose packets
    /// may go before it without being too many; zero if that does not count.
    pub(super) fn judge(
        &mut self,
        rules: &Rules,
        now: Time,
        waited: Delay,
        shares: u32,
        is_markable: bool,
        rng: &Rng,
    ) -> Verdict {
        let packets = |count: u64| Delay::from_ps(rules.mtu_time.as_ps().saturating_mul(count));
        let is_over = waited > rules.target && waited > packets(4) && waited > packets(2 * u64::from(shares));
        let is_due = self.is_due(now);
        let mut is_late = now > self.drop_next;
        if is_over {
            if !self.is_dropping {
                self.is_dropping = true;
                self.drop_next = self.after(rules, now);
            }
            self.count = self.count.max(1);
        } else {
            self.is_dropping = false;
        }
        let mut verdict = Verdict::default();
        if is_due && self.is_dropping {
            verdict = Verdict { drops: !is_markable, marks: is_markable };
            self.count = self.count.saturating_add(1);
            self.drop_next = self.after(rules, self.drop_next);
            is_late = now > self.drop_next;
        } else if is_due {
            while self.is_due(now) {
                self.decay(rules);
            }
            is_late = now > self.drop_next;
        }
        // BLUE never marks: it is for senders that do not respond.
        if self.probability > 0 {
            verdict.drops |= rng.next_u64() >> 32 < u64::from(self.probability);
        }
        if self.count == 0 {
            self.drop_next = now.saturating_add(rules.interval);
        } else if is_late && !verdict.drops {
            self.drop_next = now;
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules =
        Rules { target: Delay::from_ms(5), interval: Delay::from_ms(100), mtu_time: Delay::from_ms(0) };

    fn at(ms: u64) -> Time {
        Time::from_ms(ms)
    }

    /// Judges a packet that has waited for `waited` milliseconds, at each millisecond. Returns the times of
    /// drops and of marks.
    fn judged(
        cobalt: &mut Cobalt,
        rules: &Rules,
        times: std::ops::Range<u64>,
        is_markable: bool,
        waited: impl Fn(u64) -> u64,
    ) -> [Vec<u64>; 2] {
        let rng = Rng::stream(1, 1);
        let mut found = [Vec::new(), Vec::new()];
        for ms in times {
            let verdict = cobalt.judge(rules, at(ms), Delay::from_ms(waited(ms)), 0, is_markable, &rng);
            found[0].extend(verdict.drops.then_some(ms));
            found[1].extend(verdict.marks.then_some(ms));
        }
        found
    }

    /// Returns the drops of a queue whose waits exceed the target at `first`: an interval later, and from
    /// then on by the root of the number of drops. A packet leaves each millisecond.
    fn of_law(first: u64, until: u64) -> Vec<u64> {
        let (mut time, mut drops) = (first as f64 + 100.0, Vec::new());
        for count in 2_u32.. {
            let Some(drop) = (0..until).find(|&ms| ms as f64 >= time) else { break };
            drops.push(drop);
            time += 100.0 / f64::from(count).sqrt();
        }
        drops
    }

    #[test]
    fn drops_begin_an_interval_after_the_target_is_exceeded_and_grow_with_the_root() {
        // The wait grows by a millisecond each millisecond, and is above 5 ms at 6 ms.
        let drops = judged(&mut Cobalt::default(), &RULES, 0..1000, false, |ms| ms);
        assert_eq!(drops, [of_law(6, 1000), vec![]]);
        assert_eq!(drops[0][..3], [106, 177, 235]);
        let marks = judged(&mut Cobalt::default(), &RULES, 0..1000, true, |ms| ms);
        assert_eq!(marks, [vec![], of_law(6, 1000)]);
    }

    #[test]
    fn the_count_falls_as_it_rose_once_waits_are_short() {
        let mut cobalt = Cobalt::default();
        judged(&mut cobalt, &RULES, 0..1000, false, |ms| ms);
        let risen = cobalt.count;
        assert_eq!(risen as usize, of_law(6, 1000).len() + 1);
        // The k-th fall comes an interval over the root of the count that is left after the one before.
        let nothing: [Vec<u64>; 2] = Default::default();
        assert_eq!(judged(&mut cobalt, &RULES, 1000..1100, false, |_| 1), nothing);
        assert!(cobalt.count < risen && cobalt.count > 0 && !cobalt.is_dropping);
        let left = cobalt.count;
        // A queue that grows again soon is controlled from there on: sooner than an interval later.
        let [drops, _] = judged(&mut cobalt, &RULES, 1100..1200, false, |_| 50);
        assert!((drops[0] as f64) < 1100.0 + 100.0 / f64::from(left).sqrt() + 2.0, "{drops:?} {left}");
        assert_eq!(judged(&mut cobalt, &RULES, 1200..9000, false, |_| 1)[0], Vec::<u64>::new());
        assert_eq!((cobalt.count, cobalt.is_at_rest(at(9000)), cobalt.is_at_rest(at(9100))), (0, false, true));
    }

    #[test]
    fn blue_rises_with_overflows_and_falls_with_empty_turns_each_once_in_a_target() {
        let mut cobalt = Cobalt::default();
        (0..60).for_each(|ms| cobalt.on_overflow(&RULES, at(ms)));
        // At 0, 6, 12, … ms: later than 5 ms after the change before.
        assert_eq!(cobalt.probability, 10 * RISE);
        (60..120).for_each(|ms| cobalt.on_empty(&RULES, at(ms)));
        assert_eq!(cobalt.probability, 10 * RISE - 10 * FALL);
        // 3.9 % less 0.2 % of the packets are dropped at random, also if they never waited and can be marked.
        let [drops, marks] = judged(&mut cobalt, &RULES, 1000..101_000, true, |_| 0);
        let expected = (10.0 / 256.0 - 10.0 / 4096.0) * 100_000.0;
        assert!((drops.len() as f64 - expected).abs() < 5.0 * f64::sqrt(expected), "{} {expected}", drops.len());
        assert_eq!(marks, Vec::<u64>::new());
        (0..).map(|n| at(200_000 + 6 * n)).take(10 * 256).for_each(|now| cobalt.on_empty(&RULES, now));
        assert_eq!((cobalt.probability, cobalt.count), (0, 0));
        (0..10_000).for_each(|n| cobalt.on_overflow(&RULES, at(300_000 + 6 * n)));
        assert_eq!(cobalt.probability, u32::MAX, "it never wraps");
    }

    #[test]
    fn slow_links_excuse_waits_of_a_few_packets() {
        let slow = Rules { mtu_time: Delay::from_ms(20), ..RULES };
        let wait = |waited, shares| {
            let mut cobalt = Cobalt::default();
            let rng = Rng::stream(1, 1);
            let judge = |ms| cobalt.judge(&slow, at(ms), Delay::from_ms(waited), shares, false, &rng).drops;
            (1..500).map(judge).filter(|drops| *drops).count()
        };
        assert_eq!([wait(80, 0), wait(120, 3)], [0, 0], "4 packets, and two for each busy queue");
        assert!(wait(81, 0) > 0 && wait(121, 3) > 0);
    }
}
