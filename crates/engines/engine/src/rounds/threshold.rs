//! Which rounds are worth executing in parallel. It depends on the machine and on the model's handlers, so it is measured while the run goes on.
//!
//! [`Threshold::Adaptive`] keeps, for rounds of 16 to 31 events, of 32 to 63, and so on, what an event has cost in each of the two ways, and from which of these
//! classes on rounds are executed in parallel: from none on at first. Now and then another class is tried, and stays if what it changes took less time. A trial
//! lasts some rounds, for one alone finds the workers asleep, and the LPs' states in the other core's cache. The next comes once its loss would be a fiftieth of
//! the time that rounds have taken since, but within thirty times what the trial took: what it seemed to lose may be another kind of round. After each trial in
//! vain it waits twice as long, up to eight times. Where rounds in parallel lose after all, they are given up at once.
//!
//! The other two are those of C. Hernández, *Parallel optimizations for SimGrid's large scale P2P simulations*, section 5.2: one number of events, which is
//! raised or lowered.

use super::Round;

/// Which rounds are executed in parallel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threshold {
    /// Those of a size at which that has been faster.
    #[default]
    Adaptive,
    /// Those with so many events as the paper's Algorithm 1 finds, by all that was measured in the run, from so many on to begin with.
    Cumulative(u64),
    /// Those with so many events as its predecessor finds, by the latest rounds alone.
    Naive(u64),
    /// Those with at least so many events.
    Fixed(u64),
}

/// Events below which a round is never worth waking anybody for, nor timing.
const FEW: usize = 16;
/// What a round must take one by one to be tried in parallel, in nanoseconds: a worker is not woken sooner.
const WAKING_NS: f64 = 20_000.0;
/// Rounds that a trial executes in the other way, the first of which does not count; and all of them, at most.
const TRIAL: u32 = 16;
const TRIAL_MAX: u32 = 256;
/// Nanoseconds after which fewer of them will do.
const TRIAL_NS: f64 = 1e6;
const TRIAL_MIN: u32 = 4;
/// The share of the time of those rounds that must be saved.
const GAIN: f64 = 0.02;
/// The classes that are tried in turn: those from which on there is such a share of the time of all rounds that are long enough; then none, where there is one.
const SHARES: [f64; 3] = [0.75, 0.95, 0.4];
/// Time that rounds take before the first, in nanoseconds: shorter runs are not worth it.
const SETTLED_NS: f64 = 5e6;
/// How many times what a trial lost must have been spent before the next.
const PER_LOSS: f64 = 50.0;
/// And how many times what it took, at least and at most.
const PER_TRIAL: [f64; 2] = [10.0, 30.0];
/// Trials in vain for each of which the next waits for twice as long, at most.
const IN_VAIN_MAX: u32 = 3;
/// What rounds in parallel may lose, in nanoseconds, before all are executed one by one again.
const LOST_NS: f64 = 5e5;
/// Rounds of each way after which the paper's algorithm decides.
const ENOUGH: u32 = 5;

/// Chooses, round by round.
#[derive(Debug)]
pub(super) struct Judge {
    workers: usize,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    Fixed(u64),
    Naive { threshold: u64, latest: [Option<f64>; 2] },
    Cumulative(Cumulative),
    Adaptive(Box<Adaptive>),
}

impl Judge {
    /// For so many workers beside the leader.
    pub(super) fn new(threshold: Threshold, workers: usize) -> Judge {
        let rule = match threshold {
            Threshold::Fixed(events) => Rule::Fixed(events),
            Threshold::Naive(threshold) => Rule::Naive { threshold, latest: [None; 2] },
            Threshold::Cumulative(threshold) => Rule::Cumulative(Cumulative { threshold, ..Cumulative::default() }),
            Threshold::Adaptive => Rule::Adaptive(Box::default()),
        };
        Judge { workers, rule }
    }

    /// Workers beside the leader.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// Whether there are two ways at all.
    #[inline(always)]
    pub(super) fn may_choose(&self) -> bool {
        self.workers > 0
    }

    /// The events from which on a round is to be timed, and may be executed in parallel.
    pub(super) fn events_min(&self) -> usize {
        match self.rule {
            Rule::Fixed(threshold) => usize::try_from(threshold).unwrap_or(usize::MAX).max(1),
            Rule::Naive { .. } | Rule::Cumulative(_) => 2,
            Rule::Adaptive(_) => FEW,
        }
    }

    /// Whether to execute a round of about so many events in parallel.
    pub(super) fn chooses_parallel(&mut self, events: u64) -> bool {
        match &mut self.rule {
            Rule::Fixed(threshold) | Rule::Naive { threshold, .. } => events >= *threshold,
            Rule::Cumulative(cumulative) => cumulative.chooses_parallel(events),
            Rule::Adaptive(adaptive) => adaptive.chooses_parallel(events),
        }
    }

    /// Takes up how long the round took that was last chosen for.
    pub(super) fn record(&mut self, round: Round) {
        if round.events == 0 {
            return;
        }
        match &mut self.rule {
            Rule::Fixed(_) => {}
            Rule::Naive { threshold, latest } => {
                latest[usize::from(round.parallel)] = Some(per_event(round));
                if let [Some(serial), Some(parallel)] = *latest {
                    *threshold = step(*threshold, serial > parallel);
                }
            }
            Rule::Cumulative(cumulative) => cumulative.record(round),
            Rule::Adaptive(adaptive) => adaptive.record(round),
        }
    }
}

/// Nanoseconds that an event of a round took.
fn per_event(round: Round) -> f64 {
    round.took.as_nanos() as f64 / round.events as f64
}

/// The threshold after it was found that executing one by one is slower, or not.
fn step(threshold: u64, serial_is_slower: bool) -> u64 {
    if serial_is_slower { threshold.saturating_sub(1).max(2) } else { threshold.saturating_add(1) }
}

/// The rounds of a size belong to the class of its logarithm.
fn class_of(events: u64) -> usize {
    events.max(1).ilog2() as usize
}

/// The classes there are, and the one from which on rounds are executed in parallel where none is.
const CLASSES: usize = u64::BITS as usize;

/// What is known of rounds by their classes.
#[derive(Debug)]
struct Adaptive {
    /// Nanoseconds an event, one by one and in parallel.
    cost_ns: [[Option<f64>; 2]; CLASSES],
    /// The time that rounds have taken, earlier ones counting for less.
    took_ns: [f64; CLASSES],
    /// That of the round under way, as it was thought to be.
    asked: usize,
    /// From which class on rounds are executed in parallel, but for a trial.
    from: usize,
    trial: Option<Trial>,
    trials: usize,
    /// Trials in a row that were in vain.
    in_vain: u32,
    /// What rounds in parallel have lost since they last saved anything on balance.
    lost_ns: f64,
    /// Time that rounds have taken since the last trial, and that they are to take before the next.
    spent_ns: f64,
    due_ns: f64,
}

/// Rounds that are executed in parallel from another class on.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    from: usize,
    rounds: u32,
    /// Those of them that are executed in the other way, the time that they took, and what that saved.
    changed: u32,
    took_ns: f64,
    saved_ns: f64,
}

impl Default for Adaptive {
    fn default() -> Adaptive {
        let cost_ns = [[None; 2]; CLASSES];
        let took_ns = [0.0; CLASSES];
        Adaptive {
            cost_ns,
            took_ns,
            asked: 0,
            from: CLASSES,
            trial: None,
            trials: 0,
            in_vain: 0,
            lost_ns: 0.0,
            spent_ns: 0.0,
            due_ns: SETTLED_NS,
        }
    }
}

impl Adaptive {
    fn chooses_parallel(&mut self, events: u64) -> bool {
        self.asked = class_of(events);
        if self.trial.is_none() && self.spent_ns >= self.due_ns {
            self.trial = self.other().map(|from| Trial { from, ..Trial::default() });
            if self.trial.is_none() {
                // Nor is it asked at each round.
                (self.spent_ns, self.due_ns) = (0.0, SETTLED_NS);
                self.trials += 1;
            }
        }
        self.asked >= self.trial.map_or(self.from, |trial| trial.from)
    }

    /// The next class to be tried, if there is any.
    fn other(&self) -> Option<usize> {
        let is_long = |&class: &usize| {
            let [serial, parallel] = self.cost_ns[class];
            serial.or(parallel).is_some_and(|cost| cost * 1.5 * (1_u64 << class) as f64 >= WAKING_NS)
        };
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

    fn record(&mut self, round: Round) {
        let (cost, took) = (per_event(round), round.took.as_nanos() as f64);
        let class = self.asked;
        self.took_ns[class] += took;
        let Some(trial) = &mut self.trial else {
            self.spent_ns += took;
            self.learn(class, round.parallel, cost);
            if round.parallel {
                self.watch(class, cost, round.events);
            }
            return;
        };
        trial.rounds += 1;
        if (class >= trial.from) != (class >= self.from) {
            trial.changed += 1;
            // The first costs time like all, but says nothing.
            trial.took_ns += took;
            if trial.changed > 1 {
                let known = self.cost_ns[class][usize::from(!round.parallel)].unwrap_or(cost);
                trial.saved_ns += (known - cost) * round.events as f64;
                self.learn(class, round.parallel, cost);
            }
        } else {
            self.learn(class, round.parallel, cost);
        }
        let is_over = |trial: &mut Trial| {
            let enough = if trial.took_ns > TRIAL_NS { TRIAL_MIN } else { TRIAL };
            trial.changed > enough || trial.rounds > TRIAL_MAX
        };
        if let Some(trial) = self.trial.take_if(is_over) {
            self.end(trial);
        }
    }

    /// Goes back to executing all one by one where rounds in parallel have of late taken longer than that did: not only the next trial would find out.
    fn watch(&mut self, class: usize, cost: f64, events: u64) {
        let Some(serial) = self.cost_ns[class][0] else { return };
        // One that was disturbed counts for little.
        let lost_ns = (cost.min(2.0 * serial) - serial) * events as f64;
        self.lost_ns = (self.lost_ns + lost_ns).max(0.0);
        if self.lost_ns > LOST_NS {
            self.from = CLASSES;
            self.wait_for_trial(SETTLED_NS);
            self.in_vain = IN_VAIN_MAX.min(self.in_vain + 1);
        }
    }

    /// Puts the next trial off until rounds have taken so long, or longer after some in vain.
    fn wait_for_trial(&mut self, due_ns: f64) {
        (self.spent_ns, self.lost_ns) = (0.0, 0.0);
        self.due_ns = due_ns.max(SETTLED_NS) * f64::from(1 << self.in_vain);
    }

    fn end(&mut self, trial: Trial) {
        self.trials += 1;
        self.took_ns.iter_mut().for_each(|took| *took /= 2.0);
        let [least, most] = PER_TRIAL.map(|times| times * trial.took_ns);
        // One that met few rounds of its sizes lost little, and has said little.
        self.wait_for_trial((PER_LOSS * -trial.saved_ns).clamp(least, most));
        if trial.saved_ns > GAIN * trial.took_ns {
            self.from = trial.from;
            self.in_vain = 0;
        } else {
            self.in_vain = IN_VAIN_MAX.min(self.in_vain + 1);
        }
    }

    fn learn(&mut self, class: usize, parallel: bool, cost: f64) {
        let known = &mut self.cost_ns[class][usize::from(parallel)];
        let before = known.unwrap_or(cost);
        // One that was disturbed counts for little.
        *known = Some(before + (cost.min(2.0 * before) - before) / 8.0);
    }
}

/// The paper's Algorithm 1. By how much the threshold changes it does not say: by one, as in SimGrid.
#[derive(Debug, Default)]
struct Cumulative {
    threshold: u64,
    /// One by one, and in parallel.
    ways: [Way; 2],
}

/// What is known of one way.
#[derive(Debug, Default)]
struct Way {
    /// Rounds timed since the last decision.
    rounds: u32,
    took_ns: f64,
    events: f64,
    /// Mean and sum of squared deviations of the events of the rounds timed, by Welford's method.
    timed: u32,
    mean: f64,
    squares: f64,
}

impl Way {
    fn deviation(&self) -> f64 {
        if self.timed == 0 { 0.0 } else { (self.squares / f64::from(self.timed)).sqrt() }
    }

    fn cost(&self) -> f64 {
        self.took_ns / self.events
    }
}

impl Cumulative {
    fn chooses_parallel(&mut self, events: u64) -> bool {
        let [serial, parallel] = &self.ways;
        if serial.rounds >= ENOUGH && parallel.rounds >= ENOUGH {
            let serial_is_slower = serial.cost() > parallel.cost();
            let is_telling =
                if serial_is_slower { (events as f64) < parallel.mean } else { events as f64 > serial.mean };
            if is_telling {
                self.threshold = step(self.threshold, serial_is_slower);
            }
            self.ways.iter_mut().for_each(|way| way.rounds = 0);
        }
        events >= self.threshold
    }

    fn record(&mut self, round: Round) {
        let way = &mut self.ways[usize::from(round.parallel)];
        let events = round.events as f64;
        // Rounds of extreme size do not count.
        let within =
            if round.parallel { events < way.mean + way.deviation() } else { events > way.mean - way.deviation() };
        if way.timed >= ENOUGH && !within {
            return;
        }
        way.rounds += 1;
        way.took_ns += round.took.as_nanos() as f64;
        way.events += events;
        way.timed += 1;
        let from_mean = events - way.mean;
        way.mean += from_mean / f64::from(way.timed);
        way.squares += from_mean * (events - way.mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Rounds of so many events, each of which costs `serial_ns`, and half of that in parallel after `waking_ns`. How many of the last hundred are
    /// executed in parallel.
    fn settled(threshold: Threshold, events: u64, serial_ns: u64, waking_ns: u64) -> usize {
        let mut judge = Judge::new(threshold, 1);
        let mut choose = || {
            let parallel = events >= judge.events_min() as u64 && judge.chooses_parallel(events);
            let took = if parallel { waking_ns + events * serial_ns / 2 } else { events * serial_ns };
            judge.record(Round { events, parallel, took: Duration::from_nanos(took) });
            parallel
        };
        (0..5_000).for_each(|_| {
            choose();
        });
        (0..100).filter(|_| choose()).count()
    }

    #[test]
    fn rounds_are_executed_in_parallel_where_that_is_faster() {
        assert!(settled(Threshold::Adaptive, 500, 100, 10_000) > 90);
        assert!(settled(Threshold::Adaptive, 100, 100, 10_000) < 10);
        assert_eq!(settled(Threshold::Adaptive, 8, 100_000, 0), 0, "too few to be looked at");
        assert_eq!(settled(Threshold::Adaptive, 20, 100, 0), 0, "shorter than a wake");
    }

    /// What was found of sizes that are gone says nothing of those there are.
    #[test]
    fn the_adaptive_threshold_follows_the_rounds_there_are() {
        let mut judge = Judge::new(Threshold::Adaptive, 1);
        let mut choose = |events: u64| {
            let parallel = events >= judge.events_min() as u64 && judge.chooses_parallel(events);
            let took = if parallel { 10_000 + events * 50 } else { events * 100 };
            judge.record(Round { events, parallel, took: Duration::from_nanos(took) });
            parallel
        };
        assert!((0..300).filter(|_| choose(10_000)).count() > 200);
        (0..5_000).for_each(|round| {
            choose(if round % 2 == 0 { 500 } else { 60 });
        });
        let counts = [500, 60].map(|events| (0..100).filter(|_| choose(events)).count());
        assert!(counts[0] > 90 && counts[1] < 10, "{counts:?}: {:?}", judge.rule);
    }

    /// Workers whom others take the cores from are given up before the next trial.
    #[test]
    fn rounds_in_parallel_that_lose_are_given_up() {
        let mut judge = Judge::new(Threshold::Adaptive, 1);
        let mut choose = |waking_ns: u64| {
            let parallel = judge.chooses_parallel(500);
            let took = if parallel { waking_ns + 25_000 } else { 50_000 };
            judge.record(Round { events: 500, parallel, took: Duration::from_nanos(took) });
            parallel
        };
        while !(0..100).all(|_| choose(0)) {}
        let lost = (0..1_000).filter(|_| choose(50_000)).count();
        assert!(lost < 100, "{lost}");
    }

    #[test]
    fn a_fixed_threshold_stays() {
        assert_eq!(settled(Threshold::Fixed(100), 100, 1, 1_000_000), 100);
        assert_eq!(settled(Threshold::Fixed(101), 100, 1, 0), 0);
    }

    #[test]
    fn the_papers_threshold_moves_towards_what_is_faster() {
        for of in [Threshold::Cumulative, Threshold::Naive] {
            let mut judge = Judge::new(of(250), 1);
            // Sizes on both sides of the threshold; waking costs as much as 600 events save.
            for round in 0..20_000_u64 {
                let events = 100 + round * 7919 % 300;
                let parallel = judge.chooses_parallel(events);
                let took = if parallel { 30_000 + events * 50 } else { events * 100 };
                judge.record(Round { events, parallel, took: Duration::from_nanos(took) });
            }
            assert!(!judge.chooses_parallel(260), "{:?}", judge.rule);
        }
    }
}
