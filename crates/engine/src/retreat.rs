//! Whether several workers pay: found out by trying.
//!
//! Where the workers do little, the run goes on with one worker for a trial, and then in whichever way was faster. Where they do next to nothing from the
//! beginning, they are given up before their own trial is over. What was slower
//! is tried again, ever more rarely: the model may have come to a busier phase, or a stranger may have left the machine, or have disturbed the trial.

use std::time::Duration;

/// Events from which a rate says something.
const LITTLE: u64 = 100;
/// How many workers' worth of work must be done in a unit of time, or one may do better: each event costs more where events cross.
pub(crate) const PAYS: f64 = 1.25;
/// The share of all workers' time from which no single one can do better, and need not be tried.
pub(crate) const BUSY: f64 = 0.8;
/// Fewer workers' worth of work than this, in [`MANY`] windows at first, and one is tried before the trial is over: so little is done where windows are far
/// too short.
const IDLE: f64 = 0.9;
/// Windows that say how much is done in each.
const MANY: u64 = 64;
/// How much faster the other way must have been to be gone back to, as both are measured in short spells.
const MARGIN: f64 = 1.05;
/// A trial lasts at least so long,
const TRIAL: Duration = Duration::from_millis(5);
/// and so many times as long as it takes to move the LPs:
const TRIAL_MOVES: u32 = 3;
/// so long for each of them, until that has been measured.
const MOVE: Duration = Duration::from_nanos(250);
/// How many times as long as a trial the other way is first left alone,
const PAUSE_TRIALS: u32 = 16;
/// how many times as long as that where several workers were so idle that they were given up,
const PAUSE_IDLE: u32 = 8;
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
    /// How long the last move of the LPs took.
    took: Duration,
    pause: Duration,
    /// How long it had gone on in this way when the present spell began.
    since: Duration,
    /// How often it went from one way to the other.
    pub(crate) turns: u32,
    /// As [`PAYS`] and [`BUSY`], for what is measured here.
    pays: f64,
    busy: f64,
}

impl Retreat {
    /// Nothing has been tried with so many LPs. One may do better where less than so many workers' worth of work is done, and is tried again where less than
    /// such a share of their time is.
    pub(crate) fn of(lps: u32, (pays, busy): (f64, f64)) -> Retreat {
        let took = MOVE * lps;
        let trial = TRIAL.max(TRIAL_MOVES * took);
        Retreat {
            warm: false,
            alone: false,
            rate: None,
            other: None,
            trial,
            took,
            pause: PAUSE_TRIALS * trial,
            since: Duration::ZERO,
            turns: 0,
            pays,
            busy,
        }
    }

    /// Whether to decide now, so long after the last decision.
    pub(crate) fn is_due(&self, time: Duration) -> bool {
        time >= self.trial && (self.rate.is_none() || self.since + time >= self.pause)
    }

    /// Whether a spell says enough to decide by.
    pub(crate) fn can_decide(&self, spell: Spell) -> bool {
        spell.time >= self.trial && spell.executed >= LITTLE
    }

    /// Whether to try one worker before the first trial of several is over, as these wait for each other more than they work, in so many windows.
    pub(crate) fn gives_up(&mut self, spell: Spell, windows: u64) -> bool {
        let is_first = !self.alone && self.other.is_none();
        let is_enough = windows >= MANY && spell.executed >= LITTLE && spell.time >= TRIAL;
        let gives_up = is_first && is_enough && spell.at_work() < IDLE;
        if gives_up {
            self.warm = true;
            self.rate = Some(spell.rate());
            self.pause *= PAUSE_IDLE;
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
            None => spell.at_work() < self.pays,
        };
        let is_due = self.rate.is_some() && self.since + spell.time >= self.pause;
        let tries_again = is_due && (self.alone || spell.share_worked < self.busy);
        if let (None, Some(other)) = (self.rate, self.other) {
            let loss = self.trial.mul_f64(1.0 - rate.min(other) / rate.max(other)) + 2 * self.took;
            self.pause = self.pause.max(loss.mul_f64(PAUSE_LOSSES)).min(PAUSE_MAX.max(self.trial));
        }
        self.rate = Some(rate);
        if tries_again {
            self.pause = (2 * self.pause).min(PAUSE_MAX.max(self.trial));
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
        self.took = took;
        self.trial = TRIAL.max(TRIAL_MOVES * took);
        self.pause = self.pause.max(PAUSE_TRIALS * self.trial).min(PAUSE_MAX.max(self.trial));
        self.since = Duration::ZERO;
        self.turns += 1;
    }

    /// Nothing of what was measured holds any longer, and all work together again.
    pub(crate) fn forget(&mut self, lps: u32) {
        let turns = self.turns + u32::from(self.alone);
        *self = Retreat { warm: self.warm, turns, ..Retreat::of(lps, (self.pays, self.busy)) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(events_per_s: u64, ms: u64, at_work: f64) -> Spell {
        let share_worked = at_work / 2.0;
        Spell { executed: events_per_s * ms / 1000, time: Duration::from_millis(ms), workers: 2, share_worked }
    }

    fn warm() -> Retreat {
        Retreat { warm: true, ..Retreat::of(16, (PAYS, BUSY)) }
    }

    #[test]
    fn the_first_spell_decides_nothing() {
        let mut retreat = Retreat::of(16, (PAYS, BUSY));
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
        let retreat = warm();
        assert!(!retreat.is_due(Duration::from_millis(4)));
        assert!(!retreat.can_decide(spell(10_000_000, 4, 1.0)));
        assert!(!retreat.can_decide(spell(5_000, 10, 1.0)), "nor do few events");
    }

    #[test]
    fn windows_far_too_short_need_no_whole_trial() {
        let mut retreat = Retreat::of(16, (PAYS, BUSY));
        assert!(!retreat.gives_up(spell(1_000_000, 5, 0.7), 63), "too few to say");
        assert!(
            !retreat.gives_up(spell(1_000_000, 4, 0.7), 64),
            "too soon: the threads may not have found their cores"
        );
        assert!(!retreat.gives_up(spell(1_000_000, 5, 1.1), 64), "it may pay yet");
        assert!(retreat.gives_up(spell(1_000_000, 5, 0.7), 64));
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
        assert!(retreat.turns_after(spell(10_000_000, 10, 1.1)));
        retreat.has_turned(Duration::from_millis(1));
        assert!(retreat.alone && retreat.is_due(Duration::from_millis(5)));
        assert!(retreat.turns_after(spell(9_000_000, 10, 1.0)), "together was faster");
        retreat.has_turned(Duration::from_millis(1));
        assert!(!retreat.turns_after(spell(10_000_000, 10, 1.1)), "so they stay, however long they wait");
        assert!(retreat.turns_after(spell(5_000_000, 10, 1.1)), "until that is slower than one was");
    }

    #[test]
    fn the_slower_way_is_tried_again_ever_more_rarely() {
        let mut retreat = warm();
        assert!(retreat.turns_after(spell(1_000_000, 10, 0.5)));
        let (mut alone, mut trials, mut last) = (0, 0, 0);
        retreat.has_turned(Duration::ZERO);
        while trials < 8 {
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
    fn a_move_that_takes_long_makes_trials_long() {
        let mut retreat = warm();
        assert!(retreat.turns_after(spell(1_000_000, 10, 0.5)));
        retreat.has_turned(Duration::from_millis(100));
        assert!(!retreat.is_due(Duration::from_millis(299)) && retreat.is_due(Duration::from_millis(300)));
    }
}
