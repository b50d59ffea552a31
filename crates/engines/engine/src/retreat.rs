//! Retreating from several workers to one, and returning, by trial.
//!
//! For every engine whose workers wait for each other, or roll back executions that came too early. If the
//! workers do little, the run tries one worker, and a `Tuner` (`tune.rs`) keeps the faster mode. In two
//! cases, one worker is tried before several have been measured in full: the workers do next to nothing from
//! the beginning, or windows hold next to nothing.

use crate::tune::{self, LONG, START, Step, Tuner, spell_min};
use std::time::Duration;

/// The rule by which a run retreats to one worker, and returns to several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retreats {
    /// The run keeps its number of workers.
    Never,
    /// The run uses the number of workers that is measured to be faster.
    WhereFaster,
    /// The run switches between several workers and one at each *n*-th opportunity.
    #[cfg(feature = "test-hooks")]
    Every(u32),
}

/// The fewest events of a spell.
const EVENTS_MIN: u64 = 100;
/// The time from which a spell counts even if it has fewer events.
const CRAWL: Duration = Duration::from_millis(200);
/// The number of workers at work, on average, below which one worker is tried at once. One worker could do
/// as much.
const AT_WORK_MIN: f64 = 1.0;
/// The share of all workers' time at work from which one worker cannot do better, and is not tried.
pub(crate) const BUSY: f64 = 0.8;
/// The events of each worker in a window below which several are given up at the start. The overhead of
/// such a window takes longer than its events, and is measured as work.
const EVENTS_PER_WINDOW: u64 = 32;
/// The number of windows from which the averages over them count.
const WINDOWS_MIN: u64 = 64;
/// The time to move an LP or a pending event, until it has been measured.
const MOVE: Duration = Duration::from_nanos(60);
/// A lone worker that has had a core for less than this share of the time has been disturbed by another
/// program.
const UNDISTURBED: f64 = 0.9;
/// The length of a long spell, in multiples of the shortest. Spells outside of trials are long, because each
/// spell ends with a cut. Disturbed spells are long, because programs that share a core take turns of some
/// milliseconds.
const LONG_SPELL: u32 = 16;

/// The measurements of a spell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spell {
    pub(crate) executed: u64,
    pub(crate) time: Duration,
    pub(crate) workers: usize,
    /// The share of their time in which the workers were at work.
    pub(crate) share_worked: f64,
    /// The share of that time in which they had a core.
    pub(crate) share_on_core: f64,
}

impl Spell {
    /// Returns the average number of workers at work.
    fn at_work(self) -> f64 {
        self.workers as f64 * self.share_worked
    }

    fn for_tuner(self) -> tune::Spell {
        tune::Spell { work: self.executed as f64, time: self.time }
    }
}

/// Decides when a run switches between several workers and one.
#[derive(Debug)]
pub(crate) struct Retreat {
    /// True once the first spell is over. In that spell threads found their cores, and memory was touched
    /// for the first time.
    is_warm: bool,
    /// True while one worker executes all LPs.
    pub(crate) alone: bool,
    tuner: Tuner,
    /// The number of events executed in all spells.
    executed: u64,
    /// The time of the last move of the LPs, or a guess.
    move_time: Duration,
    /// True once a move has been measured.
    has_moved: bool,
    /// True if the lone worker has been disturbed in this spell.
    is_disturbed: bool,
    /// The cost of several workers that were given up because their windows hold next to nothing, until one
    /// worker has been adopted or rejected.
    given_up: Option<f64>,
    /// The time of a spell at which several workers on trial are looked at next.
    look: Duration,
    /// The number of switches between several workers and one.
    pub(crate) switches: u32,
    /// The share of the workers' time at work from which one worker is not tried; see [`BUSY`].
    busy: f64,
}

impl Retreat {
    /// True if one worker is tried however busy several workers are.
    pub(crate) fn ignores_busyness(&self) -> bool {
        self.busy.is_infinite()
    }

    /// Starts with several workers. One worker is tried if they are at work for less than the share `busy`
    /// of their time.
    pub(crate) fn new(busy: f64) -> Retreat {
        Retreat {
            is_warm: false,
            alone: false,
            tuner: Tuner::consecutive(),
            executed: 0,
            move_time: Duration::ZERO,
            has_moved: false,
            is_disturbed: false,
            given_up: None,
            look: LONG,
            switches: 0,
            busy,
        }
    }

    /// Sets the number of LPs and pending events to move. Spells are longer for it, until a move has been
    /// measured.
    pub(crate) fn set_items(&mut self, items: usize) {
        if !self.has_moved {
            self.move_time = MOVE * u32::try_from(items).unwrap_or(u32::MAX);
        }
    }

    /// Returns the shortest time after which the spell may end.
    fn spell_min(&self) -> Duration {
        let start = if self.is_warm { Duration::ZERO } else { START };
        let is_short = self.tuner.needs_spells() && !self.is_disturbed;
        let shortest = spell_min(self.move_time);
        start.max(if is_short { shortest } else { LONG_SPELL * shortest })
    }

    /// Returns true if the spell, which has lasted for `time`, may end.
    pub(crate) fn is_due(&self, time: Duration) -> bool {
        time >= self.spell_min()
    }

    /// Returns true if the spell, which has lasted for `time`, may end, or if several workers on trial may be
    /// given up.
    pub(crate) fn is_review_due(&self, time: Duration) -> bool {
        self.is_due(time) || !self.alone && self.tuner.is_on_other() && time >= self.look
    }

    /// Returns true if a spell is long enough to decide by.
    pub(crate) fn can_decide(&mut self, spell: Spell) -> bool {
        self.is_disturbed |= self.alone && spell.share_on_core < UNDISTURBED;
        self.is_due(spell.time) && (spell.executed >= EVENTS_MIN || spell.time >= CRAWL)
    }

    /// Returns true if several workers must be given up before they have been measured in full, after
    /// `windows` windows: at the start, because they wait for each other more than they work, or have next to
    /// nothing to do; and later, in a trial, because they have next to nothing to do and are slower than one
    /// worker.
    pub(crate) fn gives_up(&mut self, spell: Spell, windows: u64) -> bool {
        if self.alone {
            return false;
        }
        let is_enough = windows >= WINDOWS_MIN && spell.executed >= EVENTS_MIN;
        let is_sparse = spell.executed < EVENTS_PER_WINDOW * windows * spell.workers as u64;
        if self.tuner.is_on_other() {
            self.look = 2 * spell.time.max(LONG);
            return is_enough && is_sparse && self.tuner.is_slower(spell.for_tuner()) && self.should_switch(spell);
        }
        let is_over = is_enough && spell.time >= START.max(self.move_time);
        // With an infinite `busy`, busy workers may execute nothing.
        let crawls = spell.executed < EVENTS_MIN && spell.time >= CRAWL && self.busy.is_infinite();
        let gives_up = self.tuner.is_new() && (crawls || is_over && (spell.at_work() < AT_WORK_MIN || is_sparse));
        if gives_up {
            self.is_warm = true;
            self.executed += spell.executed;
            self.given_up = is_sparse.then(|| spell.for_tuner().cost());
            self.tuner.record(spell.for_tuner(), self.executed as f64);
            self.tuner.begin(self.executed as f64);
        }
        gives_up
    }

    /// Records a spell. Returns true if the run must switch now. A new spell begins.
    pub(crate) fn should_switch(&mut self, spell: Spell) -> bool {
        if !std::mem::replace(&mut self.is_warm, true) {
            return false;
        }
        self.is_disturbed = false;
        self.executed += spell.executed;
        let work = self.executed as f64;
        let is_first = self.tuner.is_new();
        match self.tuner.record(spell.for_tuner(), work) {
            Step::Change | Step::Revert => {
                self.given_up = None;
                return true;
            }
            Step::Adopt => {
                if let Some(several) = self.given_up.take() {
                    self.tuner.delay_by_loss(several, spell.for_tuner(), self.move_time, work);
                }
                return false;
            }
            Step::Continue if self.tuner.is_trying() => return false,
            Step::Continue => {}
        }
        let is_idle = is_first && spell.at_work() < AT_WORK_MIN;
        let may_pay = self.alone || spell.share_worked < self.busy;
        let begins = is_idle || self.tuner.is_overtaken(work) || may_pay && self.tuner.is_due(work);
        if begins {
            self.tuner.begin(work);
        }
        begins
    }

    /// Notes that the run has switched, and that the move of the LPs took `time`.
    pub(crate) fn note_switch(&mut self, time: Duration) {
        self.alone = !self.alone;
        self.tuner.note_change(time);
        (self.move_time, self.has_moved, self.look) = (time, true, LONG);
        self.is_disturbed = false;
        self.switches += 1;
    }

    /// Forgets all measurements, because they no longer hold. All workers work together again.
    pub(crate) fn forget(&mut self) {
        let switches = self.switches + u32::from(self.alone);
        *self = Retreat { is_warm: self.is_warm, switches, ..Retreat::new(self.busy) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spell of two workers, or of one; `at_work` is the number of workers at work. From 6 ms on, a spell
    /// needs no repetition.
    fn spell(events_per_s: u64, ms: u64, at_work: f64) -> Spell {
        let share_worked = at_work / 2.0;
        let executed = events_per_s * ms / 1000;
        Spell { executed, time: Duration::from_millis(ms), workers: 2, share_worked, share_on_core: 1.0 }
    }

    fn warm() -> Retreat {
        Retreat { is_warm: true, ..Retreat::new(BUSY) }
    }

    /// Returns the shortest spell, in whole milliseconds.
    fn shortest_ms(retreat: &Retreat) -> u64 {
        (1..).find(|&ms| retreat.is_due(Duration::from_millis(ms))).expect("a spell ends")
    }

    #[test]
    fn the_first_spell_decides_nothing() {
        let mut retreat = Retreat::new(BUSY);
        assert!(!retreat.should_switch(spell(1_000_000, 10, 0.5)));
        assert!(retreat.should_switch(spell(1_000_000, 10, 0.5)));
    }

    #[test]
    fn workers_that_are_busy_stay() {
        let mut retreat = warm();
        for _ in 0..1_000 {
            assert!(!retreat.should_switch(spell(10_000_000, 10, 1.8)));
        }
    }

    #[test]
    fn a_short_spell_decides_nothing() {
        let mut retreat = warm();
        assert!(!retreat.is_due(Duration::from_millis(1)));
        assert!(!retreat.can_decide(spell(10_000_000, 1, 1.0)));
        assert!(!retreat.can_decide(spell(5_000, 10, 1.0)), "nor do few events");
        assert!(retreat.can_decide(spell(50, 200, 1.0)), "unless they take long");
    }

    /// One worker executes its spells of 2 ms faster, but is disturbed in one of them.
    #[test]
    fn one_disturbed_spell_does_not_decide() {
        for disturbed in 0..3 {
            let mut retreat = warm();
            assert!(retreat.should_switch(spell(10_000_000, 2, 0.9)));
            retreat.note_switch(Duration::from_micros(100));
            for number in 0..3 {
                let rate = if number == disturbed { 6_000_000 } else { 12_000_000 };
                assert!(!retreat.should_switch(spell(rate, 2, 1.0)), "{disturbed}");
            }
            assert!(retreat.alone && !retreat.tuner.is_trying());
        }
    }

    #[test]
    fn workers_that_may_be_busy_without_executing_are_given_up_after_a_long_time_of_few_events() {
        let mut retreat = Retreat::new(f64::INFINITY);
        assert!(!retreat.gives_up(spell(50, 100, 2.0), 1));
        assert!(retreat.gives_up(spell(50, 200, 2.0), 1));
        assert!(!Retreat::new(BUSY).gives_up(spell(50, 200, 2.0), 1), "workers that are busy executing are not");
    }

    #[test]
    fn several_that_were_disturbed_once_are_soon_tried_again() {
        let mut retreat = warm();
        let several = |at_work| spell(10_000_000, 500, at_work);
        (0..200).for_each(|_| {
            if retreat.should_switch(several(1.4)) {
                retreat.note_switch(Duration::from_millis(1));
                assert!(retreat.should_switch(spell(7_000_000, 10, 1.0)), "one was slower");
                retreat.note_switch(Duration::from_millis(1));
            }
        });
        assert!(retreat.switches > 2);
        assert!(retreat.should_switch(spell(4_000_000, 80, 0.9)), "another program takes the cores");
        retreat.note_switch(Duration::from_millis(1));
        assert!(!retreat.should_switch(spell(7_000_000, 10, 1.0)), "one is faster than that was");
        let tried_again = (0..50).any(|_| retreat.should_switch(spell(7_000_000, 10, 1.0)));
        assert!(tried_again, "but not for longer than half a second");
    }

    #[test]
    fn a_lone_worker_kept_from_its_core_is_tried_for_longer() {
        let mut retreat = warm();
        assert!(retreat.should_switch(spell(10_000_000, 10, 0.95)));
        retreat.note_switch(Duration::from_millis(1));
        assert!(!retreat.can_decide(Spell { share_on_core: 0.5, ..spell(6_000_000, 6, 1.0) }), "that may be chance");
        assert!(!retreat.is_due(Duration::from_millis(47)) && retreat.is_due(Duration::from_millis(48)));
        assert!(retreat.can_decide(Spell { share_on_core: 0.5, ..spell(6_000_000, 48, 1.0) }));
        assert!(retreat.should_switch(spell(6_000_000, 48, 1.0)), "together was faster");
        retreat.note_switch(Duration::from_millis(1));
        assert!(retreat.is_due(Duration::from_millis(5)), "as short as ever");
    }

    #[test]
    fn several_that_were_fast_by_chance_are_found_out() {
        let mut retreat = warm();
        assert!(retreat.should_switch(spell(10_000_000, 10, 0.95)));
        retreat.note_switch(Duration::from_millis(1));
        assert!(retreat.should_switch(spell(9_000_000, 10, 1.0)), "together seemed faster");
        retreat.note_switch(Duration::from_millis(1));
        assert!(!retreat.should_switch(spell(12_000_000, 10, 0.95)), "and did again");
        assert!(!retreat.is_due(Duration::from_millis(47)) && retreat.is_due(Duration::from_millis(48)));
        assert!(retreat.should_switch(spell(6_000_000, 80, 0.95)), "but is not");
    }

    #[test]
    fn windows_far_too_short_need_no_whole_trial() {
        let mut retreat = Retreat::new(BUSY);
        assert!(!retreat.gives_up(spell(1_000_000, 5, 0.7), 63), "too few to say");
        assert!(
            !retreat.gives_up(spell(1_000_000, 4, 0.7), 64),
            "too soon: the threads may not have found their cores"
        );
        assert!(!retreat.gives_up(spell(1_000_000, 5, 1.1), 64), "it may pay yet");
        assert!(warm().gives_up(spell(1_000_000, 5, 1.1), 128), "20 events for each worker in a window");
        retreat.set_items(200_000);
        assert!(!retreat.gives_up(spell(1_000_000, 11, 0.7), 64), "too soon for LPs that take 12 ms to move");
        assert!(retreat.gives_up(spell(1_000_000, 12, 0.7), 64));
        retreat.note_switch(Duration::from_millis(1));
        assert!(!retreat.gives_up(spell(1_000_000, 5, 0.7), 64), "one waits for nobody");
        assert!(!retreat.should_switch(spell(2_000_000, 500, 1.0)), "and was faster");
        assert!(retreat.should_switch(spell(900_000, 1000, 1.0)), "until together was");
        retreat.note_switch(Duration::from_millis(1));
        assert!(!retreat.gives_up(spell(1_000_000, 5, 0.7), 64), "that has been measured");
    }

    #[test]
    fn several_with_next_to_nothing_in_a_window_are_tried_again_late_and_briefly() {
        let loses = |several: u64| {
            let mut retreat = warm();
            assert!(retreat.gives_up(spell(several, 5, 1.9), several / 10_000), "50 events in a window");
            retreat.note_switch(Duration::from_millis(5));
            assert!(!retreat.should_switch(spell(3_000_000, 20, 1.0)), "one is faster");
            let alone = (1..).find(|_| retreat.should_switch(spell(3_000_000, 10, 1.0))).expect("several are tried");
            retreat.note_switch(Duration::from_millis(5));
            assert!([14, 5].iter().all(|&ms| !retreat.is_due(Duration::from_millis(ms))));
            assert_eq!([5, 6].map(|ms| retreat.is_review_due(Duration::from_millis(ms))), [false, true]);
            assert!(!retreat.gives_up(spell(several, 5, 1.9), several / 10_000), "that may be a disturbance");
            assert!(!retreat.gives_up(spell(3_100_000, 6, 1.9), 400), "these are not slower");
            assert_eq!([11, 12].map(|ms| retreat.is_review_due(Duration::from_millis(ms))), [false, true]);
            assert!(retreat.gives_up(spell(several, 6, 1.9), several / 10_000), "these are");
            10 * alone
        };
        // Two moves, and 6 ms with two thirds and one third of the events, lose a fiftieth of the time before
        // them.
        let [slow, slower] = [2_000_000, 1_000_000].map(loses);
        assert!((600..650).contains(&slow) && (700..750).contains(&slower), "{slow} and {slower} ms");
    }

    #[test]
    fn one_is_tried_where_workers_wait_and_the_faster_mode_is_kept() {
        let mut retreat = warm();
        assert!(retreat.should_switch(spell(10_000_000, 10, 0.95)));
        retreat.note_switch(Duration::from_millis(1));
        assert!(retreat.alone && retreat.is_due(Duration::from_millis(5)));
        assert!(retreat.should_switch(spell(9_000_000, 10, 1.0)), "together was faster");
        retreat.note_switch(Duration::from_millis(1));
        assert!(!retreat.should_switch(spell(10_000_000, 10, 0.95)), "so they stay, however long they wait");
        assert!(retreat.should_switch(spell(5_000_000, 10, 0.95)), "until that is slower than one was");
    }

    #[test]
    fn the_slower_mode_is_tried_again_more_and_more_rarely() {
        let mut retreat = warm();
        assert!(retreat.should_switch(spell(1_000_000, 10, 0.5)));
        let (mut alone, mut trials, mut last) = (0, 0, 0);
        retreat.note_switch(Duration::ZERO);
        while trials < 4 {
            let ms = shortest_ms(&retreat);
            alone += ms;
            if retreat.should_switch(spell(10_000_000, ms, 1.0)) {
                assert!(alone > last, "the pauses grow");
                last = std::mem::take(&mut alone);
                trials += 1;
                retreat.note_switch(Duration::ZERO);
                assert!(retreat.should_switch(spell(1_000_000, 10, 0.5)), "together is slower still");
                retreat.note_switch(Duration::ZERO);
            }
        }
        assert!(last >= 5_000, "{last} ms");
    }

    #[test]
    fn one_is_tried_in_the_end_where_workers_are_neither_idle_nor_busy() {
        for (at_work, is_tried) in [(1.3, true), (1.9, false)] {
            let mut retreat = warm();
            let tries = (0..100).filter(|_| retreat.should_switch(spell(10_000_000, 10, at_work))).count();
            assert_eq!(tries > 0, is_tried, "{at_work}");
        }
    }

    #[test]
    fn trials_that_find_nothing_better_cost_a_small_share() {
        let (mut retreat, mut trials_ms, mut all_ms) = (warm(), 0, 0);
        while all_ms < 5_000 {
            let rate = if retreat.alone { 4_000_000 } else { 8_000_000 };
            let ms = shortest_ms(&retreat);
            all_ms += ms;
            trials_ms += if retreat.alone { ms } else { 0 };
            if retreat.should_switch(spell(rate, ms, 1.3)) {
                retreat.note_switch(Duration::from_millis(2));
                (all_ms, trials_ms) = (all_ms + 2, trials_ms + 2);
            }
        }
        assert!(trials_ms > 0 && trials_ms * 40 < all_ms, "{trials_ms} of {all_ms} ms");
    }

    #[test]
    fn a_pause_follows_the_measured_time_of_a_move_not_the_guess() {
        let mut retreat = warm();
        retreat.set_items(1_000_000);
        assert!(retreat.should_switch(spell(1_000_000, 200, 0.5)));
        retreat.note_switch(Duration::from_millis(1));
        let spells = (1..).find(|_| retreat.should_switch(spell(2_000_000, 10, 1.0))).expect("several are tried");
        assert!((2..=10).contains(&spells), "{spells} spells of 10 ms, after a guess of 60 ms for a move");
    }

    #[test]
    fn a_move_that_takes_long_makes_trials_long() {
        let mut retreat = warm();
        assert!(retreat.should_switch(spell(1_000_000, 10, 0.5)));
        retreat.note_switch(Duration::from_millis(100));
        assert!(!retreat.is_due(Duration::from_millis(299)) && retreat.is_due(Duration::from_millis(300)));
    }
}
