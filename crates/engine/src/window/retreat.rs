//! Whether several workers pay: found out by trying.
//!
//! Where the workers wait for much of their time, the run goes on in one partition for a trial, and then in whichever way was faster. What was slower
//! is tried again, ever more rarely: the model may have come to a busier phase, or a stranger may have left the machine.

use std::time::Duration;

/// Events from which a rate says something.
const LITTLE: u64 = 100;
/// How many workers' worth of work must be done in a unit of time, or one may do better: each event costs more where events cross.
const PAYS: f64 = 1.25;
/// How much faster the other way must have been to be gone back to, as both are measured in short spells.
const MARGIN: f64 = 1.05;
/// A trial lasts at least so long,
const TRIAL: Duration = Duration::from_millis(5);
/// and so many times as long as it takes to move the LPs.
const TRIAL_MOVES: u32 = 4;
/// How many times as long as a trial the slower way is first left alone.
const PAUSE_TRIALS: u32 = 16;
/// The longest that it is.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// What is measured from one decision to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spell {
    pub(super) executed: u64,
    pub(super) time: Duration,
    /// How many workers were at work at a time.
    pub(super) at_work: f64,
}

impl Spell {
    fn rate(self) -> f64 {
        self.executed as f64 / self.time.as_secs_f64()
    }
}

/// What has been tried, and what came of it.
#[derive(Debug)]
pub(super) struct Retreat {
    /// The first spell is over, in which the threads found their cores, and memory was touched for the first time.
    warm: bool,
    /// In one partition for now.
    pub(super) alone: bool,
    /// Events per second in this way and in the other, when last measured.
    rate: Option<f64>,
    other: Option<f64>,
    trial: Duration,
    pause: Duration,
    /// How often it went from one way to the other.
    pub(super) turns: u32,
}

impl Default for Retreat {
    fn default() -> Retreat {
        Retreat {
            warm: false,
            alone: false,
            rate: None,
            other: None,
            trial: TRIAL,
            pause: PAUSE_TRIALS * TRIAL,
            turns: 0,
        }
    }
}

impl Retreat {
    /// Whether to decide now, so long after the last decision.
    pub(super) fn is_due(&self, time: Duration) -> bool {
        match self.rate {
            None => time >= self.trial,
            Some(_) => self.alone && time >= self.pause,
        }
    }

    /// Whether a spell says enough to decide by.
    pub(super) fn can_decide(&self, spell: Spell) -> bool {
        spell.time >= self.trial && spell.executed >= LITTLE
    }

    /// Whether to go on in the other way.
    pub(super) fn turns_after(&mut self, spell: Spell) -> bool {
        if !std::mem::replace(&mut self.warm, true) {
            return false;
        }
        let rate = spell.rate();
        let is_slower = match self.other {
            Some(other) => other > rate * MARGIN,
            None => spell.at_work < PAYS,
        };
        let tries_again = self.alone && self.rate.is_some() && spell.time >= self.pause;
        self.rate = Some(rate);
        if tries_again {
            self.pause = (2 * self.pause).min(PAUSE_MAX);
        }
        is_slower || tries_again
    }

    /// It has gone on in the other way, the move having taken so long.
    pub(super) fn has_turned(&mut self, took: Duration) {
        self.alone = !self.alone;
        (self.other, self.rate) = (self.rate, None);
        self.trial = self.trial.max(TRIAL_MOVES * took);
        self.pause = self.pause.max(PAUSE_TRIALS * self.trial).min(PAUSE_MAX.max(self.trial));
        self.turns += 1;
    }

    /// Nothing of what was measured holds any longer, and all work together again.
    pub(super) fn forget(&mut self) {
        *self = Retreat { warm: self.warm, turns: self.turns + u32::from(self.alone), ..Retreat::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spell(events_per_s: u64, ms: u64, at_work: f64) -> Spell {
        Spell { executed: events_per_s * ms / 1000, time: Duration::from_millis(ms), at_work }
    }

    fn warm() -> Retreat {
        Retreat { warm: true, ..Retreat::default() }
    }

    #[test]
    fn the_first_spell_decides_nothing() {
        let mut retreat = Retreat::default();
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
    fn a_move_that_takes_long_makes_trials_long() {
        let mut retreat = warm();
        assert!(retreat.turns_after(spell(1_000_000, 10, 0.5)));
        retreat.has_turned(Duration::from_millis(100));
        assert!(!retreat.is_due(Duration::from_millis(399)) && retreat.is_due(Duration::from_millis(400)));
    }
}
