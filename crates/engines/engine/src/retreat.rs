//! Whether several workers pay: found out by trying. For every engine whose workers wait for each other or take back what they did too soon.
//!
//! Where the workers do little, the run goes on with one worker for a trial, and then in whichever way was faster. Where they do next to nothing from the
//! beginning, or windows hold next to nothing, they are given up before their own trial is over. What was slower
//! is tried again, ever more rarely: the model may have come to a busier phase, or a stranger may have left the machine, or have disturbed the trial.

use std::time::Duration;

/// Whether a run goes on with one worker while that is faster than with several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retreats {
    /// It does not.
    Never,
    /// It does where that is found to be faster.
    WhereFaster,
    /// From several workers to one, or back, each time that it could be decided so often: for tests.
    Every(u32),
}

/// Events from which a rate says something.
const LITTLE: u64 = 100;
/// And time after which having executed fewer says enough.
const CRAWL: Duration = Duration::from_millis(200);
/// Fewer workers' worth of work than this in a unit of time, and one is tried at once; where more is done, which of the two is faster is tried in time.
const PAYS: f64 = 1.0;
/// The share of all workers' time from which no single one can do better, and need not be tried.
pub(crate) const BUSY: f64 = 0.8;
/// Fewer workers' worth of work than this, in [`MANY`] windows at first, and one is tried before the trial is over: so little is done where windows are far
/// too short.
const IDLE: f64 = 0.9;
/// The same where each worker has fewer events than this in a window: of small events, what goes before and after them takes longer than they do, and looks
/// like work.
const FEW_EACH: u64 = 32;
/// Windows that say how much is done in each.
const MANY: u64 = 64;
/// How much faster the other way must have been to be gone back to, as both are measured in short spells.
const MARGIN: f64 = 1.05;
/// A trial lasts at least so long,
const TRIAL: Duration = Duration::from_millis(5);
/// and so many times as long as it takes to move the LPs:
const TRIAL_MOVES: u32 = 3;
/// so long for each of them, and for each event that waits, until that has been measured.
const MOVE: Duration = Duration::from_nanos(60);
/// The share of its time below which a lone worker was kept from its core,
const UNDISTURBED: f64 = 0.9;
/// and how many times as long its trial then lasts. What shares a core takes turns of some milliseconds, so what a short trial finds is chance.
const DISTURBED_TRIALS: u32 = 6;
/// How many times as long as a trial several workers go on until it is looked whether they are still as fast as was found.
const LOOK_TRIALS: u32 = 16;
/// How many times as long as a trial the other way is first left alone: not for long, as what begins together with a run, such as the reader of its output,
/// disturbs it only for a moment;
const PAUSE_TRIALS: u32 = 16;
/// how many times as long each next time,
const PAUSE_GROWTH: u32 = 8;
/// and how many times as long as what was lost by trying it: about a fiftieth of a run goes into trials that find nothing better.
const PAUSE_LOSSES: f64 = 50.0;
/// The longest that it is.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// What is measured from one decision to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spell {
    pub(crate) executed: u64,
    pub(crate) time: Duration,
    pub(crate) workers: usize,
    /// The share of their time in which they were at work.
    pub(crate) share_worked: f64,
    /// The share of their work in which they had a core.
    pub(crate) share_on_core: f64,
}

impl Spell {
    fn rate(self) -> f64 {
        self.executed as f64 / self.time.as_secs_f64()
    }

    /// How many workers were at work at a time.
    fn at_work(self) -> f64 {
        self.workers as f64 * self.share_worked
    }
}

/// What has been tried, and what came of it.
#[derive(Debug)]
pub(crate) struct Retreat {
    /// The first spell is over, in which the threads found their cores, and memory was touched for the first time.
    warm: bool,
    /// In one partition for now.
    pub(crate) alone: bool,
    /// Events per second in this way and in the other, when last measured.
    rate: Option<f64>,
    other: Option<f64>,
    trial: Duration,
    /// How many times as long this one lasts.
    trials: u32,
    /// How long the last move of the LPs took.
    took: Duration,
    pause: Duration,
    /// How long it had gone on in this way when the present spell began.
    since: Duration,
    /// Whether it is known how long a move takes.
    has_moved: bool,
    /// How often it went from one way to the other.
    pub(crate) turns: u32,
    /// As [`BUSY`], for what is measured here.
    busy: f64,
}

impl Retreat {
    /// Nothing has been tried. One is, now and then, where less than such a share of several workers' time is worked.
    pub(crate) fn new(busy: f64) -> Retreat {
        Retreat {
            warm: false,
            alone: false,
            rate: None,
            other: None,
            trial: TRIAL,
            trials: 1,
            took: Duration::ZERO,
            pause: PAUSE_TRIALS * TRIAL,
            since: Duration::ZERO,
            has_moved: false,
            turns: 0,
            busy,
        }
    }

    /// There are so many LPs and events to move. A trial is the longer for it, until it is known how long they take.
    pub(crate) fn weighs(&mut self, items: usize) {
        if !self.has_moved {
            self.set_took(MOVE * u32::try_from(items).unwrap_or(u32::MAX));
        }
    }

    /// A move takes so long.
    fn set_took(&mut self, took: Duration) {
        self.took = took;
        self.trial = TRIAL.max(TRIAL_MOVES * took);
        self.pause = self.pause.max(PAUSE_TRIALS * self.trial).min(PAUSE_MAX.max(self.trial));
    }

    /// Whether to decide now, so long after the last decision.
    pub(crate) fn is_due(&self, time: Duration) -> bool {
        let looks = !self.alone && self.other.is_some() && time >= LOOK_TRIALS * self.trial;
        time >= self.trials * self.trial && (self.rate.is_none() || looks || self.since + time >= self.pause)
    }

    /// Whether a spell says enough to decide by.
    pub(crate) fn can_decide(&mut self, spell: Spell) -> bool {
        if self.alone && spell.share_on_core < UNDISTURBED {
            self.trials = DISTURBED_TRIALS;
        }
        spell.time >= self.trials * self.trial && (spell.executed >= LITTLE || spell.time >= CRAWL)
    }

    /// Whether to try one worker before the first trial of several is over, as these wait for each other more than they work, or have next to nothing to do, in
    /// so many windows.
    pub(crate) fn gives_up(&mut self, spell: Spell, windows: u64) -> bool {
        let is_first = !self.alone && self.other.is_none();
        let is_enough = windows >= MANY && spell.executed >= LITTLE && spell.time >= TRIAL.max(self.took);
        let is_sparse = spell.executed < FEW_EACH * windows * spell.workers as u64;
        // That workers are busy may tell nothing.
        let crawls = spell.executed < LITTLE && spell.time >= CRAWL && self.busy.is_infinite();
        let gives_up = is_first && (crawls || is_enough && (spell.at_work() < IDLE || is_sparse));
        if gives_up {
            self.warm = true;
            self.rate = Some(spell.rate());
        }
        gives_up
    }

    /// Whether to go on in the other way.
    pub(crate) fn turns_after(&mut self, spell: Spell) -> bool {
        if !std::mem::replace(&mut self.warm, true) {
            return false;
        }
        let rate = spell.rate();
        let is_slower = match self.other {
            Some(other) => other > rate * MARGIN,
            None => spell.at_work() < PAYS,
        };
        let is_due = self.rate.is_some() && self.since + spell.time >= self.pause;
        let tries_again = is_due && (self.alone || spell.share_worked < self.busy);
        if let (None, Some(other), 2..) = (self.rate, self.other, self.turns) {
            let loss = spell.time.mul_f64(1.0 - rate.min(other) / rate.max(other)) + 2 * self.took;
            self.pause = self.pause.max(loss.mul_f64(PAUSE_LOSSES)).min(PAUSE_MAX.max(self.trial));
        }
        if is_slower && self.rate.is_some() {
            // What had been found no longer holds.
            self.pause = PAUSE_TRIALS * self.trial;
        }
        self.rate = Some(rate);
        if tries_again {
            self.pause = (PAUSE_GROWTH * self.pause).min(PAUSE_MAX.max(self.trial));
        }
        if is_due {
            self.since = Duration::ZERO;
        } else if !self.alone {
            self.since += spell.time;
        }
        is_slower || tries_again
    }

    /// It has gone on in the other way, the move having taken so long.
    pub(crate) fn has_turned(&mut self, took: Duration) {
        self.alone = !self.alone;
        (self.other, self.rate) = (self.rate, None);
        let guessed = self.trial;
        self.set_took(took);
        if !self.has_moved {
            // The pause was that of the guess.
            self.pause = self.pause.mul_f64(self.trial.div_duration_f64(guessed)).min(PAUSE_MAX.max(self.trial));
        }
        self.has_moved = true;
        self.trials = 1;
        self.since = Duration::ZERO;
        self.turns += 1;
    }

    /// Nothing of what was measured holds any longer, and all work together again.
    pub(crate) fn forget(&mut self) {
        let turns = self.turns + u32::from(self.alone);
        *self = Retreat { warm: self.warm, turns, ..Retreat::new(self.busy) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(events_per_s: u64, ms: u64, at_work: f64) -> Spell {
        let share_worked = at_work / 2.0;
        let executed = events_per_s * ms / 1000;
        Spell { executed, time: Duration::from_millis(ms), workers: 2, share_worked, share_on_core: 1.0 }
    }

    fn warm() -> Retreat {
        Retreat { warm: true, ..Retreat::new(BUSY) }
    }

    #[test]
    fn the_first_spell_decides_nothing() {
        let mut retreat = Retreat::new(BUSY);
        assert!(!retreat.turns_after(spell(1_000_000, 10, 0.5)));
        assert!(retreat.turns_after(spell(1_000_000, 10, 0.5)));
    }

    #[test]
    fn workers_that_are_busy_stay() {
        let mut retreat = warm();
        for _ in 0..10 {
            assert!(!retreat.turns_after(spell(10_000_000, 10, 1.8)));
        }
    }

    #[test]
    fn a_short_spell_decides_nothing() {
        let mut retreat = warm();
        assert!(!retreat.is_due(Duration::from_millis(4)));
        assert!(!retreat.can_decide(spell(10_000_000, 4, 1.0)));
        assert!(!retreat.can_decide(spell(5_000, 10, 1.0)), "nor do few events");
        assert!(retreat.can_decide(spell(50, 200, 1.0)), "unless they take long");
    }

    #[test]
    fn who_may_be_busy_without_executing_anything_is_given_up_after_a_long_time_of_few_events() {
        let mut retreat = Retreat::new(f64::INFINITY);
        assert!(!retreat.gives_up(spell(50, 100, 2.0), 1));
        assert!(retreat.gives_up(spell(50, 200, 2.0), 1));
        assert!(!Retreat::new(BUSY).gives_up(spell(50, 200, 2.0), 1), "those who are busy executing are not");
    }

    #[test]
    fn several_that_were_disturbed_once_are_soon_tried_again() {
        let mut retreat = warm();
        let several = |share| spell(10_000_000, 500, share);
        (0..200).for_each(|_| {
            if retreat.turns_after(several(1.4)) {
                retreat.has_turned(Duration::from_millis(1));
                assert!(retreat.turns_after(spell(7_000_000, 5, 1.0)), "one was slower");
                retreat.has_turned(Duration::from_millis(1));
            }
        });
        assert!(retreat.turns_after(spell(4_000_000, 80, 0.9)), "a stranger takes the cores");
        retreat.has_turned(Duration::from_millis(1));
        assert!(!retreat.turns_after(spell(7_000_000, 5, 1.0)), "one is faster than that was");
        assert!(retreat.is_due(Duration::from_millis(500)), "but not for long");
    }

    #[test]
    fn a_lone_worker_kept_from_its_core_is_tried_for_longer() {
        let mut retreat = warm();
        assert!(retreat.turns_after(spell(10_000_000, 10, 0.95)));
        retreat.has_turned(Duration::from_millis(1));
        assert!(!retreat.can_decide(Spell { share_on_core: 0.5, ..spell(6_000_000, 6, 1.0) }), "that may be chance");
        assert!(!retreat.is_due(Duration::from_millis(20)) && retreat.is_due(Duration::from_millis(30)));
        assert!(retreat.can_decide(Spell { share_on_core: 0.5, ..spell(6_000_000, 30, 1.0) }));
        assert!(retreat.turns_after(spell(6_000_000, 30, 1.0)), "together was faster");
        retreat.has_turned(Duration::from_millis(1));
        assert!(retreat.is_due(Duration::from_millis(5)), "as short as ever");
    }

    #[test]
    fn several_that_were_fast_by_chance_are_found_out() {
        let mut retreat = warm();
        assert!(retreat.turns_after(spell(10_000_000, 10, 0.95)));
        retreat.has_turned(Duration::from_millis(1));
        assert!(retreat.turns_after(spell(9_000_000, 10, 1.0)), "together seemed faster");
        retreat.has_turned(Duration::from_millis(1));
        assert!(!retreat.turns_after(spell(12_000_000, 5, 0.95)), "and did again");
        assert!(!retreat.is_due(Duration::from_millis(79)) && retreat.is_due(Duration::from_millis(80)));
        assert!(retreat.turns_after(spell(6_000_000, 80, 0.95)), "but is not");
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
        retreat.weighs(200_000);
        assert!(!retreat.gives_up(spell(1_000_000, 11, 0.7), 64), "too soon for what takes 12 ms to move");
        assert!(retreat.gives_up(spell(1_000_000, 12, 0.7), 64));
        retreat.has_turned(Duration::from_millis(1));
        assert!(!retreat.gives_up(spell(1_000_000, 5, 0.7), 64), "one waits for nobody");
        assert!(!retreat.turns_after(spell(2_000_000, 500, 1.0)), "and was faster");
        assert!(retreat.turns_after(spell(900_000, 1000, 1.0)), "until together was");
        retreat.has_turned(Duration::from_millis(1));
        assert!(!retreat.gives_up(spell(1_000_000, 5, 0.7), 64), "that has been measured");
    }

    #[test]
    fn one_is_tried_where_workers_wait_and_the_faster_way_is_kept() {
        let mut retreat = warm();
        assert!(retreat.turns_after(spell(10_000_000, 10, 0.95)));
        retreat.has_turned(Duration::from_millis(1));
        assert!(retreat.alone && retreat.is_due(Duration::from_millis(5)));
        assert!(retreat.turns_after(spell(9_000_000, 10, 1.0)), "together was faster");
        retreat.has_turned(Duration::from_millis(1));
        assert!(!retreat.turns_after(spell(10_000_000, 10, 0.95)), "so they stay, however long they wait");
        assert!(retreat.turns_after(spell(5_000_000, 10, 0.95)), "until that is slower than one was");
    }

    #[test]
    fn the_slower_way_is_tried_again_ever_more_rarely() {
        let mut retreat = warm();
        assert!(retreat.turns_after(spell(1_000_000, 10, 0.5)));
        let (mut alone, mut trials, mut last) = (0, 0, 0);
        retreat.has_turned(Duration::ZERO);
        while trials < 4 {
            let mut ms = 0;
            while !retreat.is_due(Duration::from_millis(ms)) {
                ms += 5;
            }
            alone += ms;
            if retreat.turns_after(spell(10_000_000, ms, 1.0)) {
                assert!(alone > last, "the pauses grow");
                last = std::mem::take(&mut alone);
                trials += 1;
                retreat.has_turned(Duration::ZERO);
                assert!(retreat.turns_after(spell(1_000_000, 5, 0.5)), "together is slower still");
                retreat.has_turned(Duration::ZERO);
            }
        }
        assert!(last >= 5_000, "{last} ms");
    }

    #[test]
    fn one_is_tried_in_the_end_where_workers_are_neither_idle_nor_busy() {
        for (at_work, is_tried) in [(1.3, true), (1.9, false)] {
            let mut retreat = warm();
            let tries = (0..100).filter(|_| retreat.turns_after(spell(10_000_000, 10, at_work))).count();
            assert_eq!(tries > 0, is_tried, "{at_work}");
        }
    }

    #[test]
    fn trials_that_find_nothing_better_cost_a_small_share() {
        let (mut retreat, mut trials_ms, mut all_ms) = (warm(), 0, 0);
        while all_ms < 5_000 {
            let rate = if retreat.alone { 4_000_000 } else { 8_000_000 };
            let mut ms = 5;
            while !retreat.is_due(Duration::from_millis(ms)) {
                ms += 5;
            }
            all_ms += ms;
            trials_ms += if retreat.alone { ms } else { 0 };
            if retreat.turns_after(spell(rate, ms, 1.3)) {
                retreat.has_turned(Duration::from_millis(2));
                (all_ms, trials_ms) = (all_ms + 2, trials_ms + 2);
            }
        }
        assert!(trials_ms > 0 && trials_ms * 40 < all_ms, "{trials_ms} of {all_ms} ms");
    }

    #[test]
    fn a_pause_follows_what_a_move_took_not_what_was_guessed() {
        let mut retreat = warm();
        retreat.weighs(1_000_000);
        assert!(retreat.turns_after(spell(1_000_000, 200, 0.5)));
        retreat.has_turned(Duration::from_millis(1));
        assert!(!retreat.turns_after(spell(2_000_000, 10, 1.0)));
        assert!(!retreat.is_due(Duration::from_millis(70)) && retreat.is_due(Duration::from_millis(80)));
    }

    #[test]
    fn a_move_that_takes_long_makes_trials_long() {
        let mut retreat = warm();
        assert!(retreat.turns_after(spell(1_000_000, 10, 0.5)));
        retreat.has_turned(Duration::from_millis(100));
        assert!(!retreat.is_due(Duration::from_millis(299)) && retreat.is_due(Duration::from_millis(300)));
    }
}
