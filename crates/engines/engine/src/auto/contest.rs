//! Which of several engines executes a run faster: found out by trial, while the run goes on.
//!
//! *Idea.* The engine that was advised begins. Now and then another one executes the run for a short time,
//! the length of a trial, and the faster of the two goes on ([`Tuner`]). The first part of a trial is not
//! measured: there, threads find their cores, and an engine its own settings.
//!
//! *Cost.* A trial loses the time of two changes, and the time that the current engine would have saved.
//! Before the first trial, nothing but the time of a change is known, and the other engine is taken to be
//! half as fast. A trial begins if all losses together stay below [`SHARE_MAX`] of the run. Its length is
//! foreseen from its virtual time, which may be far from the truth. So losses also stay below
//! [`SHARE_SO_FAR_MAX`] of the run so far. A trial grows with the run, and pauses grow while trials find
//! nothing ([`Tuner`]). An engine that is far slower is left as soon as that is certain.

use crate::tune::{Spell, Step, Tuner};
use std::time::Duration;

/// The share of a run's time that trials may lose, with the changes of engine that they need.
const SHARE_MAX: f64 = 0.03;
/// The share of a run's time so far that they may lose.
const SHARE_SO_FAR_MAX: f64 = 0.1;
/// The shortest time in which an engine is measured.
const SPELL_MIN: Duration = Duration::from_millis(20);
/// The longest such time.
const SPELL_MAX: Duration = Duration::from_secs(2);
/// The shortest time in which an engine that has just begun is not measured.
const WARM_UP_MIN: Duration = Duration::from_millis(20);
/// The share of the run's time so far that one spell of a trial may take.
const SPELL_SHARE: u32 = 200;
/// The shortest spell, in multiples of the time that the last change took.
const SPELL_CHANGES: u32 = 3;

/// A trial whose engine was adopted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Win {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) times_as_fast: f64,
}

/// A comparison of engines, by their numbers. Number 0 begins.
#[derive(Debug)]
pub(super) struct Contest {
    contenders: usize,
    /// The engine that is the faster one as far as is known.
    current: usize,
    /// The engine that executes the run.
    in_force: usize,
    /// The engine that should execute it.
    wanted: usize,
    /// The engine that was on trial last.
    tried: usize,
    tuner: Tuner,
    /// The current spell of the engine in force.
    spell: Spell,
    /// True once the engine in force has warmed up.
    is_warm: bool,
    /// The cost of the current engine in its last spell, in nanoseconds an event.
    own_cost: f64,
    /// The work since the last trial began, until the current engine has its settings again.
    detour: Spell,
    /// The events of the run so far.
    work: f64,
    /// The time of the run so far.
    pub(super) elapsed: Duration,
    /// The part of it that earlier trials and all changes have lost.
    lost: Duration,
    /// The time that trials had lost before the last one was asked for.
    lost_before_trial: Duration,
    /// The time of the run at which it was asked for.
    last_trial: Duration,
    /// The expected time of the run from its beginning to its end.
    expected: Duration,
    /// The time of the last change. Before the first one, the time in which the first engine has begun.
    change_time: Duration,
    /// The number of trials.
    pub(super) trials: u32,
}

impl Contest {
    /// Begins a run on which this number of engines compete.
    pub(super) fn new(contenders: usize) -> Contest {
        let rivals = u32::try_from(contenders - 1).expect("there are few engines");
        Contest {
            contenders,
            current: 0,
            in_force: 0,
            wanted: 0,
            tried: 0,
            tuner: Tuner::consecutive().with_alternatives(rivals.max(1)),
            spell: Spell::default(),
            is_warm: false,
            own_cost: 0.0,
            detour: Spell::default(),
            work: 0.0,
            elapsed: Duration::ZERO,
            lost: Duration::ZERO,
            lost_before_trial: Duration::ZERO,
            last_trial: Duration::ZERO,
            expected: Duration::ZERO,
            change_time: Duration::ZERO,
            trials: 0,
        }
    }

    /// Returns the engine that should execute the run.
    pub(super) fn wanted(&self) -> usize {
        self.wanted
    }

    /// True if the engine in force is on trial.
    pub(super) fn is_trial(&self) -> bool {
        self.in_force != self.current
    }

    /// True if another engine than the one in force should go on.
    pub(super) fn wants_change(&self) -> bool {
        self.wanted != self.in_force
    }

    /// Notes that the first engine has begun, within `time`.
    pub(super) fn note_beginning(&mut self, time: Duration) {
        self.change_time = time;
    }

    /// Notes the share of the run's virtual time that is over. The rest is expected to take as long for its
    /// part.
    pub(super) fn note_progress(&mut self, share: f64) {
        let expected = self.elapsed.as_secs_f64() / share.clamp(f64::MIN_POSITIVE, 1.0);
        self.expected = Duration::try_from_secs_f64(expected).unwrap_or(Duration::MAX);
    }

    /// Returns the time that trials have lost so far, with all changes of engine.
    pub(super) fn lost(&self) -> Duration {
        let own = Duration::from_secs_f64(self.own_cost * self.detour.work.max(0.0) / 1e9);
        self.lost + self.detour.time.saturating_sub(own)
    }

    /// Notes that the wanted engine goes on, after a change that took `time`.
    pub(super) fn note_change(&mut self, time: Duration) {
        self.in_force = self.wanted;
        self.trials += u32::from(self.is_trial());
        (self.spell, self.is_warm) = (Spell::default(), false);
        self.tuner.note_change(time);
        (self.change_time, self.elapsed) = (time, self.elapsed + time);
        self.lost += time;
    }

    /// Notes `work` events that the engine in force has executed in `time`. Returns the result of a trial
    /// that has ended with another engine than before. If the engine is busy, no other is tried.
    pub(super) fn note_work(&mut self, work: f64, time: Duration, is_busy: bool) -> Option<Win> {
        self.work += work;
        self.elapsed += time;
        let is_trial = self.is_trial();
        // An engine that goes on after a trial finds its settings again.
        if is_trial || self.trials > 0 && !self.is_warm {
            self.detour.add(work, time);
        }
        if self.wants_change() {
            return None; // The engine is on its way to a cut.
        }
        self.spell.add(work, time);
        let is_hopeless = self.spell.time >= WARM_UP_MIN && self.tuner.is_hopeless(self.spell);
        if !self.is_warm && !is_hopeless {
            self.is_warm = self.spell.time >= self.warm_up();
            if self.is_warm {
                self.spell = Spell::default();
            }
            return None;
        }
        if self.spell.time < self.spell_min() && !is_hopeless {
            return None;
        }
        let spell = std::mem::take(&mut self.spell);
        if is_trial { self.end_trial(spell) } else { self.compare_with_others(spell, is_busy) }
    }

    /// Ends the trial of the engine in force after its spell.
    fn end_trial(&mut self, spell: Spell) -> Option<Win> {
        if self.tuner.record(spell, self.work) != Step::Adopt {
            self.wanted = self.current;
            return None;
        }
        self.end_detour();
        let (from, to) = (std::mem::replace(&mut self.current, self.in_force), self.in_force);
        Some(Win { from, to, times_as_fast: self.own_cost / spell.cost() })
    }

    /// Records a spell of the current engine, and begins a trial of another if one is due.
    fn compare_with_others(&mut self, spell: Spell, is_busy: bool) -> Option<Win> {
        self.tuner.record(spell, self.work);
        self.end_detour();
        self.own_cost = spell.cost();
        // Pauses grow, but not beyond the length of the run so far: the model may have changed.
        let is_due = self.tuner.is_due(self.work) || self.trials > 0 && self.elapsed >= 2 * self.last_trial;
        if !is_due || !self.is_affordable() {
            return None;
        }
        if is_busy {
            self.last_trial = self.elapsed;
            self.tuner.give_up(spell, self.work);
            return None;
        }
        if self.tried == self.current || !self.tuner.is_overtaken(self.work) {
            self.tried = (self.tried + 1) % self.contenders;
            if self.tried == self.current {
                self.tried = (self.tried + 1) % self.contenders;
            }
        }
        self.tuner.begin(self.work);
        (self.lost_before_trial, self.last_trial) = (self.lost, self.elapsed);
        self.wanted = self.tried;
        None
    }

    /// Returns the shortest time in which an engine is measured.
    fn spell_min(&self) -> Duration {
        let shortest = SPELL_MIN.max(SPELL_CHANGES * self.change_time);
        shortest.max((self.elapsed / SPELL_SHARE).min(SPELL_MAX))
    }

    /// Returns the time in which an engine that has just begun is not measured.
    fn warm_up(&self) -> Duration {
        WARM_UP_MIN.max(self.spell_min() / 2)
    }

    /// Adds the loss of the last trial to that of all.
    fn end_detour(&mut self) {
        self.lost = self.lost();
        self.detour = Spell::default();
    }

    /// True if another trial leaves the losses below their share of the run. The last one tells what a trial
    /// may lose: an engine comes late to its cut if its windows are long.
    fn is_affordable(&self) -> bool {
        let least = 2 * self.change_time + (self.warm_up() + self.spell_min()) / 2;
        let all = (self.lost + least.max(self.lost - self.lost_before_trial)).as_secs_f64();
        let of = |share: f64, time: Duration| share * time.as_secs_f64();
        all <= of(SHARE_MAX, self.expected.max(self.elapsed)) && all <= of(SHARE_SO_FAR_MAX, self.elapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE_MS: u64 = 3;

    /// A run of `seconds`, in steps of a millisecond. `rate` returns the events of an engine in a millisecond
    /// at a time of the run in seconds. Returns the contest, and each win with its time.
    fn run(engines: usize, seconds: f64, busy: bool, rate: &dyn Fn(usize, f64) -> f64) -> (Contest, Vec<(f64, Win)>) {
        let (mut contest, mut wins) = (Contest::new(engines), Vec::new());
        contest.note_beginning(Duration::from_millis(CHANGE_MS));
        let step = Duration::from_millis(1);
        while contest.elapsed.as_secs_f64() < seconds {
            let now = contest.elapsed.as_secs_f64();
            contest.note_progress(now / seconds);
            let won = contest.note_work(rate(contest.in_force, now), step, busy);
            wins.extend(won.map(|win| (now, win)));
            if contest.wants_change() {
                contest.note_change(Duration::from_millis(CHANGE_MS));
            }
        }
        (contest, wins)
    }

    fn share(contest: &Contest) -> f64 {
        contest.lost().as_secs_f64() / contest.elapsed.as_secs_f64()
    }

    #[test]
    fn a_wrong_first_choice_is_corrected_within_a_fraction_of_a_second() {
        for seconds in [1.0, 10.0] {
            let (contest, wins) = run(2, seconds, false, &|engine, _| [1000.0, 1400.0][engine]);
            let [(time, win)] = wins[..] else { panic!("{wins:?}") };
            assert_eq!((win.from, win.to, contest.current), (0, 1, 1));
            assert!((win.times_as_fast - 1.4).abs() < 1e-9, "{win:?}");
            assert!((0.2..0.5).contains(&time), "{time}");
            assert!(share(&contest) < SHARE_MAX, "{}", share(&contest));
        }
    }

    #[test]
    fn a_run_whose_end_is_wrongly_foreseen_loses_a_tenth_at_most() {
        let mut contest = Contest::new(2);
        contest.note_beginning(Duration::from_millis(CHANGE_MS));
        for _ in 0..1_000 {
            contest.note_progress(1e-9);
            contest.note_work([1000.0, 500.0][contest.in_force], Duration::from_millis(1), false);
            if contest.wants_change() {
                contest.note_change(Duration::from_millis(CHANGE_MS));
            }
            assert!(share(&contest) <= SHARE_SO_FAR_MAX + 0.01, "{contest:?}");
        }
        assert!(contest.trials > 0);
    }

    #[test]
    fn each_rival_is_tried_and_the_best_is_kept() {
        let (contest, wins) = run(4, 60.0, false, &|engine, _| [1000.0, 900.0, 1300.0, 1600.0][engine]);
        assert_eq!(contest.current, 3, "{wins:?}");
        assert!(contest.trials >= 3 && wins.len() <= 2);
    }

    #[test]
    fn trials_cost_at_most_their_share_and_become_rare() {
        for slower in [0.95, 0.5, 0.01] {
            let rate = |engine: usize, _| if engine == 0 { 1000.0 } else { 1000.0 * slower };
            let at = |seconds| run(3, seconds, false, &rate).0;
            let (short, long) = (at(30.0), at(3000.0));
            assert!(short.trials >= 2 && short.current == 0, "{slower}: {short:?}");
            assert!(share(&short) < SHARE_MAX && share(&long) < SHARE_MAX / 2.0, "{slower}: {}", share(&short));
            assert!(long.trials < 8 * short.trials, "{slower}: {} and {}", short.trials, long.trials);
        }
    }

    #[test]
    fn a_short_run_and_a_run_whose_workers_are_busy_have_no_trial() {
        let rate = |engine: usize, _| [1000.0, 2000.0][engine];
        assert_eq!(run(2, 0.5, false, &rate).0.trials, 0);
        assert_eq!(run(2, 100.0, true, &rate).0.trials, 0);
    }

    #[test]
    fn a_change_of_the_model_is_noticed() {
        let rate = |engine: usize, now: f64| if (engine == 0) == (now < 30.0) { 1000.0 } else { 500.0 };
        let (contest, wins) = run(2, 120.0, false, &rate);
        let [(time, win)] = wins[..] else { panic!("{wins:?}") };
        assert!(contest.current == 1 && win.to == 1 && (30.0..60.0).contains(&time), "{time} {win:?}");
    }

    #[test]
    fn an_engine_that_is_far_slower_is_left_early() {
        let loss_of_trial = |rate_of_other: f64| {
            let (contest, _) = run(2, 300.0, false, &|engine, _| [1000.0, rate_of_other][engine]);
            contest.lost() / contest.trials
        };
        assert!(loss_of_trial(1.0) < Duration::from_millis(30), "{:?}", loss_of_trial(1.0));
        assert!(loss_of_trial(1.0) < loss_of_trial(500.0), "{:?}", loss_of_trial(500.0));
    }

    #[test]
    fn a_change_that_takes_long_makes_trials_long_and_late() {
        let mut contest = Contest::new(2);
        contest.note_beginning(Duration::from_secs(10));
        assert!(contest.spell_min() >= Duration::from_secs(30));
        contest.elapsed = Duration::from_secs(100);
        assert!(!contest.is_affordable());
    }
}
