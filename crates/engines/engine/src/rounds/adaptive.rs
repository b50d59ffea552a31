//! The adaptive threshold: the size from which rounds are executed in parallel, measured while the run goes
//! on.
//!
//! Rounds are put into classes by size: 16 to 31 events, 32 to 63, and so on. Rounds are executed in
//! parallel from some class on; from none at first. Now and then another class is tried, and a [`Tuner`]
//! decides. A spell of the tuner takes several rounds, because the first rounds after a change find the
//! workers asleep, and the LPs' states in another core's cache. Only rounds that the two choices execute
//! differently are compared.
//!
//! *Units.* Rounds differ in size. So the work of a round is the time that its events would take one by
//! one, by the average of its class.

use super::Round;
use super::threshold::ns_per_event;
use crate::tune::{SPELL, START, Spell, Step, Tuner};
use std::time::Duration;

/// The number of events below which a round is neither timed nor executed in parallel.
pub(super) const EVENTS_MIN: usize = 16;
/// The time of a round, one event after the other, below which the round is not executed in parallel.
/// Waking a worker takes about as long.
const WAKING: Duration = Duration::from_micros(20);
/// The rounds of a spell, unless it takes [`SPELL`] before.
const ROUNDS: u32 = 8;
/// The number of rounds after which a trial is given up if it has met few rounds of its sizes.
const TRIAL_MAX: u32 = 512;
/// The classes that are tried in turn: those from which on rounds take this share of the time of all rounds
/// that are long enough. Then none, if rounds are executed in parallel.
const SHARES: [f64; 3] = [0.75, 0.95, 0.4];
/// The number of classes that are tried in turn, [`CLASSES`] included.
const ALTERNATIVES: u32 = 4;
const _: () = assert!(ALTERNATIVES as usize == SHARES.len() + 1);

/// Returns the class of a round: the logarithm of its size.
fn class_of(events: u64) -> usize {
    events.max(1).ilog2() as usize
}

/// The number of classes. As a threshold it means: no round in parallel.
const CLASSES: usize = u64::BITS as usize;

/// The adaptive rule.
#[derive(Debug)]
pub(super) struct Adaptive {
    /// By class: the average time of an event in rounds executed one by one, in nanoseconds.
    serial_ns: [Option<f64>; CLASSES],
    /// By class: the time that rounds have taken, in nanoseconds. Earlier rounds count for less.
    took_ns: [f64; CLASSES],
    /// The class of the current round, by its expected size.
    class: usize,
    /// The class from which rounds are executed in parallel, except during a trial.
    from: usize,
    /// The class on trial, or that will be on trial once the rounds have been measured without it.
    candidate: Option<usize>,
    /// The number of trials so far.
    trials: usize,
    /// Rounds since the candidate was chosen.
    rounds: u32,
    tuner: Tuner,
    spell: Spell,
    spell_rounds: u32,
    /// True if no round has been executed since the last change.
    has_just_changed: bool,
    /// The work of all rounds so far.
    work: f64,
}

impl Adaptive {
    pub(super) fn new() -> Adaptive {
        let mut tuner = Tuner::consecutive().with_alternatives(ALTERNATIVES);
        tuner.delay_until(START.as_nanos() as f64);
        Adaptive {
            serial_ns: [None; CLASSES],
            took_ns: [0.0; CLASSES],
            class: 0,
            from: CLASSES,
            candidate: None,
            trials: 0,
            rounds: 0,
            tuner,
            spell: Spell::default(),
            spell_rounds: 0,
            has_just_changed: false,
            work: 0.0,
        }
    }

    /// Returns true if a round of about `events` events must be executed in parallel.
    pub(super) fn chooses_parallel(&mut self, events: u64) -> bool {
        self.class = class_of(events);
        if self.candidate.is_none() && self.tuner.is_pause_over(self.work) {
            self.candidate = self.next_candidate();
            match self.candidate {
                Some(_) => self.begin_measuring(),
                None => self.skip_trial(),
            }
        }
        self.class >= self.candidate.filter(|_| self.tuner.is_on_other()).unwrap_or(self.from)
    }

    /// Returns the class to try next, if there is any.
    fn next_candidate(&self) -> Option<usize> {
        let waking_ns = WAKING.as_nanos() as f64;
        let is_long =
            |&class: &usize| self.serial_ns[class].is_some_and(|ns| ns * 1.5 * (1_u64 << class) as f64 >= waking_ns);
        let mut long = (0..CLASSES).filter(is_long);
        let least = long.clone().next()?;
        if self.from < CLASSES && self.trials % (SHARES.len() + 1) == SHARES.len() {
            return Some(CLASSES);
        }
        let all: f64 = long.clone().map(|class| self.took_ns[class]).sum();
        let mut left = all * SHARES[self.trials % SHARES.len()];
        let holds_enough = |&class: &usize| {
            left -= self.took_ns[class];
            left <= 0.0
        };
        let from = long.rfind(holds_enough).unwrap_or(least);
        match from == self.from {
            true => (from > least).then(|| from - 1),
            false => Some(from),
        }
    }

    /// Puts the next trial off a little, because nothing can be tried now.
    fn skip_trial(&mut self) {
        self.tuner.delay_until(self.work + START.as_nanos() as f64);
        self.trials += 1;
    }

    /// Forgets the spells of the current choice, because different rounds will be measured.
    fn begin_measuring(&mut self) {
        (self.spell, self.spell_rounds, self.rounds) = (Spell::default(), 0, 0);
        self.tuner.forget_spells();
    }

    /// Records the round for which the threshold has been asked last.
    pub(super) fn record(&mut self, round: Round) {
        let class = self.class;
        let serial_ns = self.serial_ns[class].unwrap_or_else(|| ns_per_event(round));
        let work = serial_ns * round.events as f64;
        self.work += work;
        self.took_ns[class] += round.took.as_nanos() as f64;
        let counts = match self.candidate {
            // The averages stay as they are while choices are compared by them.
            Some(candidate) => (class >= candidate) != (class >= self.from),
            None => {
                self.learn(round);
                round.parallel
            }
        };
        self.rounds += 1;
        if counts && !std::mem::take(&mut self.has_just_changed) {
            self.spell.add(work, round.took);
            self.spell_rounds += 1;
            if self.spell_rounds >= ROUNDS || self.spell.time >= SPELL {
                self.end_spell();
            }
        } else if self.candidate.is_some() && self.rounds > TRIAL_MAX {
            self.tuner.give_up(self.spell, self.work);
            self.end_trial(self.from);
            // A trial that has met no round of its sizes has taken no time, and asks for no pause.
            self.tuner.delay_until(self.work + START.as_nanos() as f64);
        }
    }

    fn end_spell(&mut self) {
        let spell = std::mem::take(&mut self.spell);
        self.spell_rounds = 0;
        match self.tuner.record(spell, self.work) {
            Step::Adopt => self.end_trial(self.candidate.unwrap_or(self.from)),
            Step::Revert | Step::Change => self.end_trial(self.from),
            Step::Continue if self.tuner.is_trying() => {}
            Step::Continue => {
                let is_overtaken = self.candidate.is_none() && self.tuner.is_overtaken(self.work);
                if is_overtaken {
                    // Rounds in parallel lose. Executing all one by one is tried.
                    self.candidate = Some(CLASSES);
                }
                if is_overtaken || self.candidate.is_some() && self.tuner.is_due(self.work) {
                    self.tuner.begin(self.work);
                    (self.has_just_changed, self.rounds) = (true, 0);
                }
            }
        }
    }

    /// Ends a trial. From now on rounds are executed in parallel from class `from` on.
    fn end_trial(&mut self, from: usize) {
        self.from = from;
        let candidate = self.candidate.take();
        self.trials += 1;
        self.took_ns.iter_mut().for_each(|took| *took /= 2.0);
        self.begin_measuring();
        if candidate != Some(CLASSES) {
            // Rounds in parallel lose if they take longer than the same rounds, executed one by one, took.
            // After a trial without rounds in parallel, the tuner knows that time.
            self.tuner.set_rejected(1.0);
        }
        self.has_just_changed = true;
    }

    /// Updates the average of a class.
    fn learn(&mut self, round: Round) {
        if !round.parallel {
            let cost = ns_per_event(round);
            let known = &mut self.serial_ns[self.class];
            let before = known.unwrap_or(cost);
            // A disturbed round counts for little.
            *known = Some(before + (cost.min(2.0 * before) - before) / 8.0);
        }
    }
}
