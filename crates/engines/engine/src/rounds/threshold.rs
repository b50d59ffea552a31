//! The choice of rounds to execute in parallel. It depends on the machine and on the model's handlers, so
//! it is measured while the run goes on.
//!
//! [`Threshold::Adaptive`] is in `rounds/adaptive.rs`.
//!
//! The other two rules are those of C. Hernández, *Parallel optimizations for SimGrid's large scale P2P
//! simulations*, section 5.2: a number of events, which is raised or lowered.

use super::Round;
use super::adaptive::{Adaptive, EVENTS_MIN};

/// The rule that decides which rounds are executed in parallel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threshold {
    /// Rounds of a size at which parallel execution is measured to be faster.
    #[default]
    Adaptive,
    /// Rounds above a size that the paper's Algorithm 1 finds, by all measurements of the run. The size to
    /// begin with.
    Cumulative(u64),
    /// Rounds above a size that the predecessor of that algorithm finds, by the latest rounds alone. The
    /// size to begin with.
    Naive(u64),
    /// Rounds with at least this number of events.
    Fixed(u64),
}

/// The number of rounds of each kind after which the paper's algorithm decides.
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
    /// Makes a judge for `workers` workers besides the leader.
    pub(super) fn new(threshold: Threshold, workers: usize) -> Judge {
        let rule = match threshold {
            Threshold::Fixed(events) => Rule::Fixed(events),
            Threshold::Naive(threshold) => Rule::Naive { threshold, latest: [None; 2] },
            Threshold::Cumulative(threshold) => Rule::Cumulative(Cumulative { threshold, ..Cumulative::default() }),
            Threshold::Adaptive => Rule::Adaptive(Box::new(Adaptive::new())),
        };
        Judge { workers, rule }
    }

    /// Returns the number of workers besides the leader.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    /// Returns true if there are workers, so that there is a choice.
    #[inline(always)]
    pub(super) fn may_choose(&self) -> bool {
        self.workers > 0
    }

    /// Returns the number of events from which a round is timed, and may be executed in parallel.
    pub(super) fn events_min(&self) -> usize {
        match self.rule {
            Rule::Fixed(threshold) => usize::try_from(threshold).unwrap_or(usize::MAX).max(1),
            Rule::Naive { .. } | Rule::Cumulative(_) => 2,
            Rule::Adaptive(_) => EVENTS_MIN,
        }
    }

    /// Returns true if rounds of one size are compared, so that they must be of one kind.
    pub(super) fn compares_sizes(&self) -> bool {
        matches!(self.rule, Rule::Adaptive(_))
    }

    /// Returns true if a round of about `events` events must be executed in parallel.
    pub(super) fn chooses_parallel(&mut self, events: u64) -> bool {
        match &mut self.rule {
            Rule::Fixed(threshold) | Rule::Naive { threshold, .. } => events >= *threshold,
            Rule::Cumulative(cumulative) => cumulative.chooses_parallel(events),
            Rule::Adaptive(adaptive) => adaptive.chooses_parallel(events),
        }
    }

    /// Records the round for which the judge has chosen last.
    pub(super) fn record(&mut self, round: Round) {
        if round.events == 0 {
            return;
        }
        match &mut self.rule {
            Rule::Fixed(_) => {}
            Rule::Naive { threshold, latest } => {
                latest[usize::from(round.parallel)] = Some(ns_per_event(round));
                if let [Some(serial), Some(parallel)] = *latest {
                    *threshold = step(*threshold, serial > parallel);
                }
            }
            Rule::Cumulative(cumulative) => cumulative.record(round),
            Rule::Adaptive(adaptive) => adaptive.record(round),
        }
    }
}

/// Returns the time of each event of a round, in nanoseconds.
pub(super) fn ns_per_event(round: Round) -> f64 {
    round.took.as_nanos() as f64 / round.events as f64
}

/// Returns the next threshold of the paper's algorithms.
fn step(threshold: u64, serial_is_slower: bool) -> u64 {
    if serial_is_slower { threshold.saturating_sub(1).max(2) } else { threshold.saturating_add(1) }
}

/// The paper's Algorithm 1. The paper does not say by how much the threshold changes. Here it changes by
/// one, as in SimGrid.
#[derive(Debug, Default)]
struct Cumulative {
    threshold: u64,
    /// Statistics of rounds executed one by one, and of rounds executed in parallel.
    kinds: [Statistics; 2],
}

/// Statistics of rounds.
#[derive(Debug, Default)]
struct Statistics {
    /// Rounds timed since the last decision.
    rounds: u32,
    took_ns: f64,
    events: f64,
    /// All rounds timed.
    timed: u32,
    /// The mean of their events.
    mean: f64,
    /// The sum of squared deviations from the mean, by Welford's method.
    squares: f64,
}

impl Statistics {
    fn deviation(&self) -> f64 {
        if self.timed == 0 { 0.0 } else { (self.squares / f64::from(self.timed)).sqrt() }
    }

    fn cost(&self) -> f64 {
        self.took_ns / self.events
    }
}

impl Cumulative {
    fn chooses_parallel(&mut self, events: u64) -> bool {
        let [serial, parallel] = &self.kinds;
        if serial.rounds >= ENOUGH && parallel.rounds >= ENOUGH {
            let serial_is_slower = serial.cost() > parallel.cost();
            let is_telling =
                if serial_is_slower { (events as f64) < parallel.mean } else { events as f64 > serial.mean };
            if is_telling {
                self.threshold = step(self.threshold, serial_is_slower);
            }
            self.kinds.iter_mut().for_each(|kind| kind.rounds = 0);
        }
        events >= self.threshold
    }

    fn record(&mut self, round: Round) {
        let kind = &mut self.kinds[usize::from(round.parallel)];
        let events = round.events as f64;
        // Rounds of extreme size do not count.
        let within =
            if round.parallel { events < kind.mean + kind.deviation() } else { events > kind.mean - kind.deviation() };
        if kind.timed >= ENOUGH && !within {
            return;
        }
        kind.rounds += 1;
        kind.took_ns += round.took.as_nanos() as f64;
        kind.events += events;
        kind.timed += 1;
        let from_mean = events - kind.mean;
        kind.mean += from_mean / f64::from(kind.timed);
        kind.squares += from_mean * (events - kind.mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Executes rounds of `events` events. An event takes `serial_ns`; a round in parallel takes half of
    /// that, and `waking_ns`. Returns the number of rounds executed in parallel among the last hundred.
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
        assert_eq!(settled(Threshold::Adaptive, 8, 100_000, 0), 0, "too few to be timed");
        assert_eq!(settled(Threshold::Adaptive, 20, 100, 0), 0, "shorter than a wake");
    }

    /// Findings about sizes that no longer occur do not decide about other sizes.
    #[test]
    fn the_adaptive_threshold_follows_the_rounds_that_occur() {
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

    /// Other programs may take the workers' cores. Then rounds in parallel are given up before the next
    /// trial is due.
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
