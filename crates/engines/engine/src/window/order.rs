//! In what order of events a partition executes: found out by trying.
//!
//! *Idea.* In the order of time events come as they are due; LP by LP, what an LP needs is fetched once for
//! all its events of a window, and nothing is put in order but those. Which is faster follows neither from
//! sizes nor from counts alone: it depends on what handlers touch, how much of that lies behind pointers,
//! and how they branch. So a partition tries the other order for a spell and its own again, in turn. A
//! model may have phases, and so may the machine: each order has several spells, and their medians decide.
//!
//! *Cost.* Nothing is measured between trials. The first comes when as many events have been executed that
//! it and the moves it takes are a small share of them; each that finds nothing new makes the pause to the
//! next longer. An order that is much slower is left at once.

use std::time::Duration;

/// Events of a partition before its first trial: by then caches and branch predictors are warm.
const WARM: u64 = 20_000;
/// The same, for each event that waits: a change of order moves them all, and they have to be laid out anew.
const WARM_PER_PENDING: u64 = 32;
/// Visits before the first trial, each of whose spells takes at least one.
const WARM_VISITS: u64 = 16;
/// A spell lasts at least so long,
const SPELL: Duration = Duration::from_micros(1500);
/// so many times as long as the last change took,
const SPELL_CHANGES: u32 = 3;
/// and has so many events,
const ENOUGH: u64 = 2_000;
/// and so many for each that waits: models have phases, and most events that wait belong to one.
const ENOUGH_PER_PENDING: u64 = 4;
/// The other order is left before that if it takes so many times as long
const FAR_SLOWER: f64 = 1.5;
/// after so many events.
const FEW: u64 = 500;
/// Events in a visit below which LP by LP cannot be faster, and is not tried.
const SPARSE: u64 = 4;
/// Spells in the other order,
const ROUNDS: usize = 3;
/// unless they are so long that one will do.
const LONG: Duration = Duration::from_millis(8);
/// How much less than its own the other order must take to be changed to,
const MARGIN: f64 = 0.97;
/// and how much more at which it is not tried again.
const SLOWER: f64 = 1.25;
/// Events of the pause after a trial, for each event in it,
const PAUSE: u64 = 40;
/// and how many times as long each further pause is where nothing new is found.
const PAUSE_GROWS: u64 = 2;
/// The longest pause, in events.
const PAUSE_MAX: u64 = 1 << 32;

/// A trial of the other order, or the pause before it.
#[derive(Debug)]
pub(super) struct Trial {
    stage: Stage,
    spell: Spell,
    /// Nanoseconds an event took in each spell in its own order, and in each in the other.
    own: Vec<f64>,
    other: Vec<f64>,
    /// How long the last change took, with the visit after it.
    took: Duration,
    /// No visit has been measured since.
    has_just_changed: bool,
    /// Events in this trial, and of each of its spells at least.
    events: u64,
    enough: u64,
    /// Events of the next pause, for each of the trial.
    pause: u64,
    /// What the partition had executed at first.
    began: u64,
    /// The events of the partition at which the pause is over.
    due: u64,
    visits: u64,
    /// Whether a trial has come to an end, and so the faster order is known.
    is_found: bool,
}

/// Which spell of a trial it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Own,
    Other,
}

/// What is measured of a spell.
#[derive(Clone, Copy, Debug, Default)]
struct Spell {
    visits: u64,
    events: u64,
    time: Duration,
}

impl Spell {
    fn ns_per_event(self) -> f64 {
        self.time.as_nanos() as f64 / self.events as f64
    }
}

impl Trial {
    /// Nothing has been tried, unless the order there is has been found at work elsewhere, by partitions
    /// that have executed so many events.
    pub(super) fn new(is_found: bool, executed: u64) -> Trial {
        Trial {
            stage: Stage::Own,
            spell: Spell::default(),
            own: Vec::new(),
            other: Vec::new(),
            took: Duration::ZERO,
            has_just_changed: false,
            events: 0,
            enough: ENOUGH,
            pause: PAUSE,
            began: executed,
            due: executed + WARM,
            visits: 0,
            is_found,
        }
    }

    /// Whether the next visit is to be measured, so many events having been executed and so many waiting.
    #[inline]
    pub(super) fn measures(&mut self, executed: u64, pending: impl FnOnce() -> usize) -> bool {
        self.visits += 1;
        executed >= self.due
            && self.visits > WARM_VISITS
            && (self.is_under_way() || self.is_worth_it(executed, pending()))
    }

    /// Whether LP by LP has been found the faster order, if either has, LP by LP being the order at present.
    pub(super) fn found_by_lp(&self, by_lp: bool) -> Option<bool> {
        self.is_found.then(|| by_lp != (self.stage == Stage::Other))
    }

    /// Whether a trial has begun.
    fn is_under_way(&self) -> bool {
        self.spell.visits > 0 || !self.own.is_empty()
    }

    #[cold]
    fn is_worth_it(&mut self, executed: u64, pending: usize) -> bool {
        self.due = self.due.max(self.began.saturating_add(WARM_PER_PENDING.saturating_mul(pending as u64)));
        self.enough = ENOUGH.max(ENOUGH_PER_PENDING * pending as u64);
        executed >= self.due
    }

    /// Takes down a visit, after which `executed` events have been executed in all; whether the order is to
    /// be changed now.
    #[cold]
    pub(super) fn visited(&mut self, events: u64, time: Duration, executed: u64) -> bool {
        if std::mem::take(&mut self.has_just_changed) {
            // What waits was laid out anew meanwhile.
            self.took += time;
            return false;
        }
        let Trial { spell, stage, .. } = self;
        *spell = Spell { visits: spell.visits + 1, events: spell.events + events, time: spell.time + time };
        let is_slower_by = |times| *stage == Stage::Other && spell.ns_per_event() > times * median(&self.own);
        let is_far_slower = spell.events >= FEW && is_slower_by(FAR_SLOWER);
        let is_long = spell.time >= SPELL.max(SPELL_CHANGES * self.took) && spell.events >= self.enough;
        if !is_long && !is_far_slower {
            return false;
        }
        let is_slower = is_slower_by(SLOWER);
        let spell = std::mem::take(spell);
        self.events += spell.events;
        match *stage {
            Stage::Own if self.own.is_empty() && spell.events < SPARSE * spell.visits => {
                self.ends(executed, false);
                false
            }
            Stage::Own => {
                self.own.push(spell.ns_per_event());
                let is_enough = self.other.len() == ROUNDS || !self.other.is_empty() && spell.time >= LONG;
                if !is_enough {
                    self.stage = Stage::Other;
                    return true;
                }
                let changes = median(&self.other) < MARGIN * median(&self.own);
                self.ends(executed, changes);
                changes
            }
            Stage::Other if is_slower => {
                self.ends(executed, false);
                true
            }
            Stage::Other => {
                self.other.push(spell.ns_per_event());
                self.stage = Stage::Own;
                true
            }
        }
    }

    /// The order has been changed, which took so long.
    pub(super) fn has_changed(&mut self, took: Duration) {
        self.took = took;
        self.has_just_changed = self.is_under_way();
    }

    /// The other order is out of the question now, so many events having been executed.
    pub(super) fn is_refused(&mut self, executed: u64) {
        self.ends(executed, false);
    }

    fn ends(&mut self, executed: u64, changes: bool) {
        self.pause = if changes { PAUSE } else { self.pause };
        let pause = self.pause.saturating_mul(std::mem::take(&mut self.events)).min(PAUSE_MAX);
        self.due = executed.saturating_add(pause);
        self.pause = self.pause.saturating_mul(PAUSE_GROWS);
        self.stage = Stage::Own;
        self.own.clear();
        self.other.clear();
        self.is_found = true;
    }
}

/// The middle one, or the mean of the two in the middle.
fn median(times: &[f64]) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    f64::midpoint(times[middle], times[times.len() - 1 - middle])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits of a hundred events each until `all` have been executed, at so many nanoseconds an event in
    /// the first order and in the other; the events executed in the other, and whether it goes on in that.
    fn run(trial: &mut Trial, all: u64, ns: [u64; 2]) -> (u64, bool) {
        let (mut executed, mut in_other, mut other) = (0, 0, false);
        while executed < all {
            let measures = trial.measures(executed, || 1000);
            executed += 100;
            in_other += u64::from(other) * 100;
            let time = Duration::from_nanos(100 * ns[usize::from(other)]);
            if measures && trial.visited(100, time, executed) {
                other = !other;
                trial.has_changed(Duration::from_micros(100));
            }
        }
        (in_other, other)
    }

    #[test]
    fn what_is_only_tried_has_not_been_found() {
        let mut trial = Trial::new(true, 0);
        assert_eq!((trial.found_by_lp(true), trial.found_by_lp(false)), (Some(true), Some(false)));
        assert!(trial.visited(100_000, Duration::from_millis(10), 100_000));
        assert_eq!((trial.found_by_lp(true), trial.found_by_lp(false)), (Some(false), Some(true)));
    }

    #[test]
    fn the_faster_order_is_found_and_kept() {
        let (in_other, other) = run(&mut Trial::new(false, 0), 10_000_000, [200, 150]);
        assert!(other && in_other > 9_000_000, "{in_other}");
    }

    /// Whatever spell of the first trial the machine is slow in, and be it in one order only.
    #[test]
    fn a_slow_spell_decides_nothing() {
        for slow in 0..2 * ROUNDS + 1 {
            for (ns, faster) in [([100, 90], true), ([100, 110], false)] {
                let mut trial = Trial::new(false, 0);
                let (mut executed, mut other) = (0, false);
                for spell in 0..2 * ROUNDS + 1 {
                    trial.has_just_changed = false;
                    executed += 100_000;
                    let ns = ns[usize::from(other)] * if spell == slow { 2 } else { 1 };
                    let changes = trial.visited(100_000, Duration::from_nanos(30_000 * ns), executed);
                    other ^= changes;
                    if !trial.is_under_way() {
                        break;
                    }
                }
                // The other order is left at once where it seems much slower.
                assert!(other == (faster && slow % 2 == 0), "{slow} {ns:?}");
            }
        }
    }

    #[test]
    fn a_slower_order_is_tried_rarely() {
        let (in_other, other) = run(&mut Trial::new(false, 0), 10_000_000, [100, 200]);
        assert!(!other && (1..100_000).contains(&in_other), "{in_other}");
    }

    #[test]
    fn orders_that_are_about_as_fast_are_left_as_they_are() {
        assert!(!run(&mut Trial::new(false, 0), 3_000_000, [100, 97]).1);
    }

    #[test]
    fn windows_of_few_events_need_no_trial() {
        let mut trial = Trial::new(false, 0);
        for visit in 0..100_000 {
            let measures = trial.measures(3 * visit, || 10);
            assert!(!measures || !trial.visited(3, Duration::from_nanos(300), 3 * visit + 3));
        }
        assert!(trial.is_found);
    }

    #[test]
    fn an_order_that_is_far_slower_is_left_at_once() {
        let (in_other, other) = run(&mut Trial::new(false, 0), 200_000, [100, 10_000]);
        // And the visit after the change, which is not measured.
        assert!(!other && in_other <= FEW + 100, "{in_other}");
    }

    #[test]
    fn many_events_that_wait_put_the_trial_off() {
        let mut trial = Trial::new(false, 0);
        for _ in 0..=WARM_VISITS {
            assert!(!trial.measures(WARM, || 1_000));
        }
        assert!(!trial.measures(WARM, || 1) && !trial.measures(31_999, || 1) && trial.measures(32_000, || 1_000));
        let mut trial = Trial::new(true, 1_000_000);
        for _ in 0..=WARM_VISITS {
            assert!(!trial.measures(1_000_000 + WARM, || 1_000), "what was executed elsewhere has warmed nothing");
        }
        assert!(trial.measures(1_032_000, || 1_000));
    }
}
