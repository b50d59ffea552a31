//! Which rounds are worth executing in parallel. It depends on the machine and on the model's handlers, so it is measured while the run goes on.
//!
//! [`Threshold::Adaptive`] keeps, for rounds of 16 to 31 events, of 32 to 63, and so on, what an event has cost in each of the two ways, and takes the better.
//! The other is tried again once a trial's loss would be a fiftieth of the time that such rounds have taken since. A trial is some rounds in a row, of which
//! the first does not count: it finds the workers asleep.
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
const FEW: u64 = 16;
/// What a round must take one by one to be tried in parallel, in nanoseconds: a worker is not woken sooner.
const WAKING_NS: f64 = 4_000.0;
/// Rounds of a trial, the first of which does not count.
const TRIAL: u32 = 4;
/// How many times what a trial lost must have been spent before the next.
const PER_LOSS: f64 = 50.0;
/// And how many times what it took.
const PER_TRIAL: f64 = 20.0;
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
    Adaptive { classes: Box<[Class; 64]>, asked: usize },
}

impl Judge {
    /// For so many workers beside the leader.
    pub(super) fn new(threshold: Threshold, workers: usize) -> Judge {
        let rule = match threshold {
            Threshold::Fixed(events) => Rule::Fixed(events),
            Threshold::Naive(threshold) => Rule::Naive { threshold, latest: [None; 2] },
            Threshold::Cumulative(threshold) => Rule::Cumulative(Cumulative { threshold, ..Cumulative::default() }),
            Threshold::Adaptive => Rule::Adaptive { classes: Box::new([Class::default(); 64]), asked: 0 },
        };
        Judge { workers, rule }
    }

    /// Whether there are two ways at all.
    #[inline(always)]
    pub(super) fn may_choose(&self) -> bool {
        self.workers > 0
    }

    /// Whether a round of about so many events is to be timed, and may be executed in parallel.
    pub(super) fn is_crowd(&self, events: u64) -> bool {
        match self.rule {
            Rule::Fixed(threshold) => events >= threshold,
            Rule::Naive { .. } | Rule::Cumulative(_) => events > 1,
            Rule::Adaptive { .. } => events >= FEW,
        }
    }

    /// Whether to execute a round of about so many events in parallel.
    pub(super) fn chooses_parallel(&mut self, events: u64) -> bool {
        match &mut self.rule {
            Rule::Fixed(threshold) | Rule::Naive { threshold, .. } => events >= *threshold,
            Rule::Cumulative(cumulative) => cumulative.chooses_parallel(events),
            Rule::Adaptive { classes, asked } => {
                *asked = class_of(events);
                classes[*asked].chooses_parallel(events)
            }
        }
    }

    /// Takes up how long the round took that was last chosen for.
    pub(super) fn note(&mut self, round: Round) {
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
            Rule::Cumulative(cumulative) => cumulative.note(round),
            // Of the class that it was thought to be of.
            Rule::Adaptive { classes, asked } => classes[*asked].note(round),
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

/// What is known of rounds of about one size.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Nanoseconds an event, one by one and in parallel.
    cost_ns: [Option<f64>; 2],
    /// Rounds of the present trial that are to come.
    trial: u32,
    /// Time that such rounds have taken since the last trial, and that they are to take before the next.
    spent_ns: f64,
    due_ns: f64,
}

impl Class {
    /// Whether in parallel is the better way, as far as is known.
    fn parallel_is_better(&self) -> bool {
        matches!(self.cost_ns, [Some(serial), Some(parallel)] if parallel < serial)
    }

    fn chooses_parallel(&mut self, events: u64) -> bool {
        let better = self.parallel_is_better();
        if self.trial == 0 {
            let Some(serial) = self.cost_ns[0] else { return false };
            let is_long = serial * events as f64 >= WAKING_NS;
            if !is_long || self.spent_ns < self.due_ns {
                return better && is_long;
            }
            self.trial = TRIAL;
        }
        !better
    }

    fn note(&mut self, round: Round) {
        let cost = per_event(round);
        let took = round.took.as_nanos() as f64;
        let known = self.cost_ns[usize::from(round.parallel)];
        if self.trial == 0 || round.parallel == self.parallel_is_better() {
            self.spent_ns += took;
            self.learn(round.parallel, cost, known);
            return;
        }
        self.trial -= 1;
        if self.trial == TRIAL - 1 {
            return;
        }
        let better = self.cost_ns[usize::from(!round.parallel)].unwrap_or(cost);
        let loss = (cost - better).max(0.0) * round.events as f64;
        // What becomes the better way by this ends the trial.
        self.learn(round.parallel, cost, known);
        if self.parallel_is_better() == round.parallel {
            self.trial = 0;
        }
        if self.trial == 0 {
            self.spent_ns = 0.0;
            self.due_ns = (PER_LOSS * f64::from(TRIAL) * loss).max(PER_TRIAL * f64::from(TRIAL) * took);
        }
    }

    fn learn(&mut self, parallel: bool, cost: f64, known: Option<f64>) {
        let before = known.unwrap_or(cost);
        // One that was disturbed counts for little: the least is nearest to the truth.
        let share = if cost < before { 0.25 } else { 0.0625 };
        self.cost_ns[usize::from(parallel)] = Some(before + share * (cost - before));
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

    fn note(&mut self, round: Round) {
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
            let parallel = judge.is_crowd(events) && judge.chooses_parallel(events);
            let took = if parallel { waking_ns + events * serial_ns / 2 } else { events * serial_ns };
            judge.note(Round { events, parallel, took: Duration::from_nanos(took) });
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
                judge.note(Round { events, parallel, took: Duration::from_nanos(took) });
            }
            assert!(!judge.chooses_parallel(260), "{:?}", judge.rule);
        }
    }
}
