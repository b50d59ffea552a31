//! The order in which a partition executes its events: by time or LP by LP, whichever is measured to be
//! faster.
//!
//! *Idea.* In the order of time, events are executed as they are due. LP by LP, the memory of an LP is
//! fetched once for all its events of a window, and only these events are sorted. Sizes and counts alone do
//! not tell which order is faster. That depends on the memory that handlers touch, on how much of it lies
//! behind pointers, and on the branches. So a partition tries the other order by turns with its own; a
//! [`Tuner`] decides.
//!
//! *Cost.* Nothing is measured between trials.

use crate::tune::{Spell, Step, Tuner, spell_min};
use std::time::Duration;

/// Events of a partition before its first trial. By then caches and branch predictors are warm.
const WARM: u64 = 20_000;
/// The same, for each pending event. A change of order moves all of them, and their memory is then laid out
/// differently.
const WARM_PER_PENDING: u64 = 8;
/// The fewest events of a spell for each pending event. Models have phases, and most pending events belong
/// to one phase.
const EVENTS_PER_PENDING: u64 = 4;
/// The fewest events of a visit, on average, with which LP by LP can be faster.
const EVENTS_PER_VISIT: u64 = 4;

/// Measures visits to a partition while a trial is under way, and decides when its order changes.
#[derive(Debug)]
pub(super) struct OrderTuner {
    tuner: Tuner,
    /// The current spell, and the number of its visits.
    spell: Spell,
    spell_visits: u64,
    /// The last complete spell.
    last: Spell,
    /// The time of the last change of order, including the visit after it.
    change: Duration,
    /// True if no visit has been measured since the last change.
    has_just_changed: bool,
    /// The fewest events of a spell of this trial.
    events_min: u64,
    /// The number of events that the partition had executed at the start.
    began: u64,
    /// True if another partition has found the order to begin with.
    is_found_elsewhere: bool,
}

impl OrderTuner {
    /// Starts after `executed` events. `is_found` is true if other partitions have found the current order
    /// to be faster.
    pub(super) fn new(is_found: bool, executed: u64) -> OrderTuner {
        let mut tuner = Tuner::alternating();
        tuner.delay_until((executed + WARM) as f64);
        OrderTuner {
            tuner,
            spell: Spell::default(),
            spell_visits: 0,
            last: Spell::default(),
            change: Duration::ZERO,
            has_just_changed: false,
            events_min: 0,
            began: executed,
            is_found_elsewhere: is_found,
        }
    }

    /// Begins a visit, after `executed` events. Returns true if the visit must be measured.
    #[inline]
    pub(super) fn begin_visit(&mut self, executed: u64, pending: impl FnOnce() -> usize) -> bool {
        self.tuner.is_pause_over(executed as f64) && (self.is_measuring() || self.is_warm(executed, pending()))
    }

    /// Returns true if LP by LP is the faster order, once one of the orders has been found faster. `by_lp`
    /// is true if LP by LP is the order in force.
    pub(super) fn found_by_lp(&self, by_lp: bool) -> Option<bool> {
        let is_found = self.is_found_elsewhere || !self.tuner.is_new();
        is_found.then(|| by_lp != self.tuner.is_on_other())
    }

    /// Returns true if visits are being measured.
    fn is_measuring(&self) -> bool {
        self.spell_visits > 0 || self.tuner.is_trying()
    }

    /// Returns true if the partition has executed enough events for a trial with this number of pending
    /// events.
    #[cold]
    fn is_warm(&mut self, executed: u64, pending: usize) -> bool {
        let warm = self.began.saturating_add(WARM_PER_PENDING.saturating_mul(pending as u64));
        self.tuner.delay_until(warm as f64);
        self.events_min = EVENTS_PER_PENDING.saturating_mul(pending as u64);
        self.tuner.is_pause_over(executed as f64)
    }

    /// Records a measured visit, after `executed` events of the partition. Returns true if the order must
    /// change now.
    #[cold]
    pub(super) fn record_visit(&mut self, events: u64, time: Duration, executed: u64) -> bool {
        if std::mem::take(&mut self.has_just_changed) {
            // During this visit, the pending events were laid out in the other order.
            self.change += time;
            return false;
        }
        self.spell.add(events as f64, time);
        self.spell_visits += 1;
        let shortest = spell_min(self.change);
        let is_over = self.spell.time >= shortest && self.spell.work >= self.events_min as f64;
        let is_hopeless = self.spell.time >= shortest / 4 && self.tuner.is_hopeless(self.spell);
        if !is_over && !is_hopeless {
            return false;
        }
        let (spell, visits) = (std::mem::take(&mut self.spell), std::mem::take(&mut self.spell_visits));
        self.last = spell;
        let work = executed as f64;
        if !self.tuner.is_trying() && spell.work < (EVENTS_PER_VISIT * visits) as f64 {
            self.tuner.give_up(spell, work);
            return false;
        }
        match self.tuner.record(spell, work) {
            Step::Change | Step::Revert => true,
            Step::Adopt => false,
            Step::Continue => {
                let begins = self.tuner.is_due(work);
                if begins {
                    self.tuner.begin(work);
                }
                begins
            }
        }
    }

    /// Notes that the order has changed, which took `time`.
    pub(super) fn note_change(&mut self, time: Duration) {
        self.change = time;
        self.tuner.note_change(time);
        self.has_just_changed = self.tuner.is_trying();
    }

    /// Ends the trial after `executed` events, because the other order is not possible.
    pub(super) fn refuse(&mut self, executed: u64) {
        self.tuner.give_up(self.last, executed as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes visits of a hundred events each until `all` have been executed. An event costs `ns[0]`
    /// nanoseconds in the first order, and `ns[1]` in the other. Returns the events executed in the other
    /// order, and true if that is in force.
    fn run(tuner: &mut OrderTuner, all: u64, ns: [u64; 2]) -> (u64, bool) {
        let (mut executed, mut in_other, mut other) = (0, 0, false);
        while executed < all {
            let is_measured = tuner.begin_visit(executed, || 1000);
            executed += 100;
            in_other += u64::from(other) * 100;
            let time = Duration::from_nanos(100 * ns[usize::from(other)]);
            if is_measured && tuner.record_visit(100, time, executed) {
                other = !other;
                tuner.note_change(Duration::from_micros(100));
            }
        }
        (in_other, other)
    }

    #[test]
    fn an_order_on_trial_has_not_been_found() {
        let mut tuner = OrderTuner::new(true, 0);
        assert_eq!((tuner.found_by_lp(true), tuner.found_by_lp(false)), (Some(true), Some(false)));
        assert!(tuner.record_visit(100_000, Duration::from_millis(10), 100_000));
        assert_eq!((tuner.found_by_lp(true), tuner.found_by_lp(false)), (Some(false), Some(true)));
    }

    #[test]
    fn the_faster_order_is_found_and_kept() {
        let (in_other, other) = run(&mut OrderTuner::new(false, 0), 10_000_000, [200, 150]);
        assert!(other && in_other > 9_000_000, "{in_other}");
    }

    /// Whatever spell of the first trial the machine is slow in.
    #[test]
    fn a_slow_spell_decides_nothing() {
        for slow in 0..6 {
            for (ns, faster) in [([100, 90], true), ([100, 110], false)] {
                let mut tuner = OrderTuner::new(false, 0);
                let (mut executed, mut other) = (0, false);
                for spell in 0.. {
                    tuner.has_just_changed = false;
                    executed += 25_000;
                    let ns = ns[usize::from(other)] * if spell == slow { 2 } else { 1 };
                    other ^= tuner.record_visit(25_000, Duration::from_nanos(25_000 * ns), executed);
                    if !tuner.is_measuring() {
                        break;
                    }
                }
                assert_eq!(other, faster, "{slow} {ns:?}");
            }
        }
    }

    #[test]
    fn a_slower_order_is_tried_rarely() {
        let (in_other, other) = run(&mut OrderTuner::new(false, 0), 10_000_000, [100, 200]);
        assert!(!other && (1..100_000).contains(&in_other), "{in_other}");
    }

    #[test]
    fn orders_that_are_about_as_fast_are_left_as_they_are() {
        assert!(!run(&mut OrderTuner::new(false, 0), 3_000_000, [100, 97]).1);
    }

    #[test]
    fn windows_of_few_events_need_no_trial() {
        let mut tuner = OrderTuner::new(false, 0);
        for visit in 0..100_000 {
            let is_measured = tuner.begin_visit(3 * visit, || 10);
            assert!(!is_measured || !tuner.record_visit(3, Duration::from_nanos(300), 3 * visit + 3));
        }
        assert!(tuner.found_by_lp(false).is_some());
    }

    #[test]
    fn an_order_that_is_far_slower_is_left_at_once() {
        let (in_other, other) = run(&mut OrderTuner::new(false, 0), 200_000, [100, 10_000]);
        // One visit is not measured: the visit after the change.
        assert!(!other && in_other <= 600, "{in_other}");
    }

    #[test]
    fn many_pending_events_put_the_trial_off() {
        let mut tuner = OrderTuner::new(false, 0);
        assert!(!tuner.begin_visit(WARM, || 10_000));
        assert!(!tuner.begin_visit(WARM, || 1) && !tuner.begin_visit(79_999, || 1));
        assert!(tuner.begin_visit(80_000, || 10_000));
        let mut tuner = OrderTuner::new(true, 1_000_000);
        assert!(!tuner.begin_visit(1_000_000 + WARM, || 10_000), "events executed elsewhere have warmed nothing");
        assert!(tuner.begin_visit(1_080_000, || 10_000));
    }
}
