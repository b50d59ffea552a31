//! Tuning by trial: which of two ways to do the same work is faster is measured while the run goes on.
//!
//! *Idea.* A run does its work under one *choice*, for example "two workers". Now and then it tries
//! another, "one worker", for a short time, and keeps the faster. The model may have come to another phase,
//! or another program may have taken a core. So the comparison is repeated, more and more rarely while it
//! finds nothing new.
//!
//! *Protocol.* The user of a [`Tuner`] measures [`Spell`]s, some work and the time that it took, and
//! [records](Tuner::record) them.
//!
//! 1. When a trial [is due](Tuner::is_due), the user [begins](Tuner::begin) it, and changes to the other
//!    choice.
//! 2. The answer to each recorded spell is the [`Step`] to take.
//! 3. After several spells of each choice the trial ends. The other choice is adopted if the median cost of
//!    its spells is lower by a margin. One disturbed spell does not move a median.
//! 4. A pause follows. It is long enough that trials lose little time, and grows after each trial that
//!    finds nothing new.
//! 5. If the spells of the current choice become slower than the rejected choice was, the next trial is due
//!    at once.
//!
//! *Units.* Work is counted in any unit, mostly events. Costs are nanoseconds per unit of work. Pauses are
//! counted in work too. There is no clock in here: times are passed in, so that a test can replay any
//! machine.
//!
//! *Cost.* About a fiftieth of the time at most is lost to trials, and less and less.
//!
//! *Constants.* They are all here, except those that say when a user of the tuner has measured enough.

use std::time::Duration;

/// Spells of each choice in a trial. Three is the least number whose median one disturbed spell does not
/// move.
const SPELLS: u32 = 3;
/// The time after which a run has started: threads have found their cores, and memory has been touched.
/// Shorter runs are not worth a trial.
pub(crate) const START: Duration = Duration::from_millis(5);
/// The shortest spell. A disturbance, such as another program that takes the core, mostly lasts a few
/// milliseconds.
pub(crate) const SPELL: Duration = Duration::from_millis(2);
/// The shortest spell, in multiples of the time of the last change of choice.
const SPELL_CHANGES: u32 = 3;
/// The time from which a spell counts like [`SPELLS`] spells.
pub(crate) const LONG: Duration = SPELL.saturating_mul(SPELLS);
/// The cost of the other choice must be below this share of the current choice's cost. Differences below it
/// are mostly noise.
const MARGIN: f64 = 0.96;
/// The cost of a spell of the other choice, over that of the current choice, at which the trial ends at
/// once. A disturbance rarely makes a spell this slow.
const HOPELESS: f64 = 4.0;
/// The shortest pause after a trial, in multiples of the time that the trial lost. It limits the loss to a
/// fiftieth.
const PAUSE_LOSSES: f64 = 50.0;
/// The shortest pause after a trial, in multiples of the time spent in the other choice, even if nothing
/// was lost.
const PAUSE_TRIALS: f64 = 10.0;
/// The factor by which the pause grows after each trial of all alternatives without success.
const GROWTH: f64 = 4.0;
/// The number of times that the pause grows. A change of the machine must be noticed sometime.
const GROWTHS_MAX: u32 = 4;

/// Some work, and the time that it took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spell {
    pub(crate) work: f64,
    pub(crate) time: Duration,
}

impl Spell {
    /// Adds more work.
    pub(crate) fn add(&mut self, work: f64, time: Duration) {
        self.work += work;
        self.time += time;
    }

    /// Returns the time in nanoseconds per unit of work.
    pub(crate) fn cost(self) -> f64 {
        ns(self.time).max(1.0) / self.work.max(1.0)
    }
}

/// Returns the shortest spell if the last change of choice took `change`.
pub(crate) fn spell_min(change: Duration) -> Duration {
    SPELL.max(SPELL_CHANGES * change)
}

fn ns(time: Duration) -> f64 {
    time.as_nanos() as f64
}

/// The next step after a spell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Continue with the choice in force.
    Continue,
    /// Change to the other of the two choices. The trial goes on.
    Change,
    /// The trial is over. The other choice, which is in force, is the new current choice.
    Adopt,
    /// The trial is over. Change back to the current choice.
    Revert,
}

/// Costs of the latest spells of a choice.
#[derive(Debug, Default)]
struct Costs {
    latest: Vec<f64>,
    /// True if the last spell was long.
    is_long: bool,
}

impl Costs {
    fn push(&mut self, spell: Spell) {
        self.is_long = spell.time >= LONG;
        if self.is_long || self.count() == SPELLS {
            // A long spell stands for itself.
            self.latest.drain(..if self.is_long { self.latest.len() } else { 1 });
        }
        self.latest.push(spell.cost());
    }

    /// Returns the number of spells.
    fn count(&self) -> u32 {
        u32::try_from(self.latest.len()).expect("there are at most three")
    }

    fn clear(&mut self) {
        *self = Costs::default();
    }

    /// Returns true if there are enough spells to compare.
    fn are_enough(&self) -> bool {
        self.is_long || self.count() == SPELLS
    }

    /// Returns the middle cost, or the mean of the two in the middle.
    fn median(&self) -> f64 {
        let mut costs = self.latest.clone();
        costs.sort_by(f64::total_cmp);
        let last = costs.len() - 1;
        f64::midpoint(costs[last / 2], costs[last - last / 2])
    }

    /// Returns true if more spells cannot bring the median below `bound`.
    fn stay_above(&self, bound: f64) -> bool {
        self.count() > SPELLS / 2 && self.latest.iter().all(|&cost| cost >= bound)
    }
}

/// A comparison that is under way.
#[derive(Debug, Default)]
struct Trial {
    /// Costs of the other choice.
    other: Costs,
    /// True if the current choice is in force, between two turns of the other choice.
    is_back: bool,
    /// Spells of the current choice since the trial went back to it.
    spells_back: u32,
    /// The time spent in the other choice, in nanoseconds.
    time_ns: f64,
    /// The time lost, in nanoseconds: by the changes, and by work that the current choice would have done
    /// faster.
    lost_ns: f64,
    /// The time of the last change.
    change_ns: f64,
    /// True if the trial began before the pause was over, because the current choice was overtaken.
    is_early: bool,
}

/// Finds the faster of the current choice and another. The module documentation describes the protocol.
#[derive(Debug)]
pub(crate) struct Tuner {
    /// Spells in each turn of a choice. A trial alternates between the choices if there are fewer than
    /// [`SPELLS`].
    spells_per_turn: u32,
    /// The number of other choices, which the user tries one after the other.
    alternatives: u32,
    /// Costs of the current choice.
    own: Costs,
    trial: Option<Trial>,
    /// The median cost of the choice that lost the last trial.
    rejected: Option<f64>,
    /// The work after which the next trial is due, once it is known.
    due: Option<f64>,
    /// The work from which a trial is due early if the current choice has become slower than the rejected
    /// one.
    early: f64,
    /// Trials in a row without success.
    failures: u32,
}

impl Tuner {
    /// Makes a tuner whose trials alternate between the choices after each spell. For choices that are
    /// cheap to change.
    pub(crate) fn alternating() -> Tuner {
        Tuner { spells_per_turn: 1, ..Tuner::consecutive() }
    }

    /// Makes a tuner whose trials change once, and back if the other choice is rejected. For choices that
    /// are costly to change.
    pub(crate) fn consecutive() -> Tuner {
        Tuner {
            spells_per_turn: SPELLS,
            alternatives: 1,
            own: Costs::default(),
            trial: None,
            rejected: None,
            due: None,
            early: 0.0,
            failures: 0,
        }
    }

    /// Sets the number of other choices. The pause grows after each of them has been tried without success.
    pub(crate) fn with_alternatives(self, alternatives: u32) -> Tuner {
        Tuner { alternatives, ..self }
    }

    /// Returns true if no trial has ended yet.
    pub(crate) fn is_new(&self) -> bool {
        self.rejected.is_none() && self.failures == 0
    }

    /// Returns true if a trial is under way.
    pub(crate) fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// Returns true if the other choice is in force.
    pub(crate) fn is_on_other(&self) -> bool {
        self.trial.as_ref().is_some_and(|trial| !trial.is_back)
    }

    /// Returns true if more spells are needed to know the cost of the choice in force.
    pub(crate) fn needs_spells(&self) -> bool {
        self.is_trying() || !self.own.are_enough()
    }

    /// Puts the next trial off until `work` has been done.
    pub(crate) fn delay_until(&mut self, work: f64) {
        self.due = Some(self.due.map_or(work, |due| due.max(work)));
    }

    /// Returns true if the pause before the next trial is over, after `work` has been done.
    pub(crate) fn is_pause_over(&self, work: f64) -> bool {
        self.due.is_some_and(|due| work >= due)
    }

    /// Returns true if the current choice has become slower than the rejected choice was, so that a trial
    /// is due early.
    pub(crate) fn is_overtaken(&self, work: f64) -> bool {
        self.trial.is_none()
            && work >= self.early
            && self.own.are_enough()
            && self.rejected.is_some_and(|rejected| rejected < MARGIN * self.own.median())
    }

    /// Returns true if a trial is due after `work` has been done, and the current choice has been measured.
    pub(crate) fn is_due(&self, work: f64) -> bool {
        let is_measured = self.own.is_long || self.own.count() >= self.spells_per_turn;
        self.trial.is_none() && is_measured && (self.is_pause_over(work) || self.is_overtaken(work))
    }

    /// Begins a trial, for which the current choice must have been measured. The user changes to the other
    /// choice.
    pub(crate) fn begin(&mut self, work: f64) {
        assert!(!self.own.latest.is_empty(), "the current choice has been measured");
        let is_early = self.is_overtaken(work) && !self.is_pause_over(work);
        self.trial = Some(Trial { is_early, ..Trial::default() });
    }

    /// Notes that a change of choice took `time`, which counts as lost.
    pub(crate) fn note_change(&mut self, time: Duration) {
        if let Some(trial) = &mut self.trial {
            trial.change_ns = ns(time);
            trial.lost_ns += trial.change_ns;
        }
    }

    /// Sets the cost of the rejected choice, if the user knows it from elsewhere.
    pub(crate) fn set_rejected(&mut self, cost: f64) {
        self.rejected = Some(cost);
    }

    /// Forgets the spells of the current choice, because further spells measure something else.
    pub(crate) fn forget_spells(&mut self) {
        self.own.clear();
    }

    /// Puts the next trial off after a trial whose other choice, measured by `spell`, was adopted: until
    /// going back to a choice of this cost, in a trial as short as possible, would lose a fiftieth. A change
    /// takes `change`. No trial is due early before that: the cost was that of a short time.
    pub(crate) fn delay_by_loss(&mut self, rejected: f64, spell: Spell, change: Duration, work: f64) {
        let lost_ns = 2.0 * ns(change) + ns(LONG) * (1.0 - spell.cost() / rejected).max(0.0);
        let due = work + PAUSE_LOSSES * lost_ns / spell.cost();
        self.delay_until(due);
        self.early = self.early.max(due);
    }

    /// Returns true if an unfinished spell, long enough to stand for itself, shows that the other choice is
    /// slower.
    pub(crate) fn is_slower(&self, spell: Spell) -> bool {
        self.is_on_other() && spell.time >= LONG && spell.cost() > self.own.median()
    }

    /// Returns true if an unfinished spell shows that the other choice is far slower.
    pub(crate) fn is_hopeless(&self, spell: Spell) -> bool {
        self.is_on_other() && spell.cost() > HOPELESS * self.own.median()
    }

    /// Records a spell of the choice in force. `work` is all work done so far, in and outside of spells.
    pub(crate) fn record(&mut self, spell: Spell, work: f64) -> Step {
        if self.due.is_none() {
            self.due = Some(work + PAUSE_TRIALS * trial_work(spell));
        }
        let Some(trial) = self.trial.as_mut().filter(|trial| !trial.is_back) else { return self.record_own(spell) };
        let own = self.own.median();
        trial.time_ns += ns(spell.time);
        trial.lost_ns += ns(spell.time) - own * spell.work;
        trial.other.push(spell);
        let is_slower = spell.cost() > HOPELESS * own || trial.other.stay_above(MARGIN * own);
        if is_slower {
            self.end(false, work)
        } else if trial.other.are_enough() {
            let is_faster = trial.other.median() < MARGIN * own;
            self.end(is_faster, work)
        } else if trial.other.count().is_multiple_of(self.spells_per_turn) {
            (trial.is_back, trial.spells_back) = (true, 0);
            Step::Change
        } else {
            Step::Continue
        }
    }

    fn record_own(&mut self, spell: Spell) -> Step {
        self.own.push(spell);
        let Some(trial) = &mut self.trial else { return Step::Continue };
        trial.spells_back += 1;
        if trial.spells_back < self.spells_per_turn {
            return Step::Continue;
        }
        trial.is_back = false;
        Step::Change
    }

    /// Gives a trial up, or does not begin one, because the other choice is not possible now. The pause is
    /// that after a trial with spells like `spell`. The choice in force becomes the current choice.
    pub(crate) fn give_up(&mut self, spell: Spell, work: f64) {
        let is_early = self.trial.take().is_some_and(|trial| trial.is_early);
        self.begin_pause_after_failure(PAUSE_TRIALS * trial_work(spell), work, is_early);
    }

    /// Ends the trial.
    fn end(&mut self, is_faster: bool, work: f64) -> Step {
        let trial = self.trial.take().expect("a trial is under way");
        let own = self.own.median();
        let lost_ns = trial.lost_ns + if is_faster { 0.0 } else { trial.change_ns };
        let pause = (PAUSE_LOSSES * lost_ns).max(PAUSE_TRIALS * trial.time_ns) / own;
        if !is_faster {
            self.rejected = Some(trial.other.median());
            self.begin_pause_after_failure(pause, work, trial.is_early);
            return Step::Revert;
        }
        self.rejected = Some(own);
        (self.failures, self.early, self.due) = (0, work, Some(work + pause));
        self.own.clear();
        Step::Adopt
    }

    /// Begins a pause of `pause` units of work, which grows with the number of failures.
    fn begin_pause_after_failure(&mut self, pause: f64, work: f64, is_early: bool) {
        // After an early trial without success, the next early trial must wait too. Otherwise noise could
        // begin trials all the time.
        self.early = if is_early { work + pause } else { work };
        let growths = (self.failures / self.alternatives).min(GROWTHS_MAX);
        self.due = Some(work + pause * GROWTH.powi(growths.cast_signed()));
        self.failures += 1;
        self.own.clear();
    }
}

/// Returns the work of one choice in a trial with spells like `spell`.
fn trial_work(spell: Spell) -> f64 {
    spell.work * if spell.time >= LONG { 1.0 } else { f64::from(SPELLS) }
}

#[cfg(test)]
mod tests;
