//! What a cut costs: nanoseconds of wall-clock time an event, all workers together.
//!
//! The figures are rough and only compared with each other. A window holds the events of `lookahead`, and at least one, since windows
//! begin at an event. It takes as long as the busiest worker, whose share is more than fair for three reasons: partitions do not pack
//! evenly; weights are guesses, which rebalancing corrects the better the more partitions there are; and a worker with e events
//! on average has now and then √(2 e ln w) more, as the greatest of w Poisson counts has.

use super::{MOST_PER_WORKER, Wish};
use parades_core::time::Delay;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// To execute an event.
const EVENT_NS: f64 = 60.0;
/// To look at a partition in a window, whether or not it has events.
const VISIT_NS: f64 = 150.0;
/// What an event costs more if it crosses from one partition to another.
const CROSSING_NS: f64 = 60.0;
/// To cross the barriers of a window, for each worker.
const BARRIER_NS: f64 = 250.0;
/// How much more than its fair share the busiest worker has where each has a single partition and weights are guesses; it falls as one over their number.
const UNEVEN_GUESSED: f64 = 0.125;
/// The same where weights have been measured. By measurement (`parades run wan --engine window --threads 2`, with `--tune partitions=2` to `10`): a thousand
/// events in a window are executed sooner in two partitions than in ten.
const UNEVEN_MEASURED: f64 = 0.01;
/// Stands for all the events there are in a window without end.
const MANY: f64 = 1e15;

/// A way to cut, as far as it matters for its cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The least lookahead between partitions.
    pub(super) lookahead: Option<Delay>,
    pub(super) partitions: u32,
    /// The share of all events that the busiest worker executes.
    pub(super) busiest: f64,
    /// The share of all events that cross.
    pub(super) crossing: f64,
}

/// Estimates for one model and number of workers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    workers: u32,
    events_per_second: f64,
    longest_window: f64,
    uneven: f64,
}

impl Estimate {
    /// Unless a rate has been measured, each LP is taken to execute one event in the median lookahead. That is right within a factor
    /// of a few for packets on busy links and for queueing networks, and does not depend on the unit of time.
    pub(super) fn new(wish: &Wish<'_>, lps: u32, median: Option<Delay>) -> Estimate {
        let guess = || median.map_or(1.0, |median| f64::from(lps) / median.as_secs_f64());
        Estimate {
            workers: wish.workers.max(1),
            events_per_second: wish.events_per_second.unwrap_or_else(guess).max(0.0),
            longest_window: wish.longest_window.map_or(f64::INFINITY, Delay::as_secs_f64),
            uneven: if wish.weights.is_some() { UNEVEN_MEASURED } else { UNEVEN_GUESSED },
        }
    }

    /// Events of all partitions in a window.
    pub(super) fn events_per_window(&self, lookahead: Option<Delay>) -> f64 {
        let length = lookahead.map_or(f64::INFINITY, Delay::as_secs_f64).min(self.longest_window);
        (self.events_per_second * length).min(MANY) + 1.0
    }

    /// How many partitions a worker is best given: as many as balance asks for, fewer where windows are too short to visit them all.
    pub(super) fn partitions_per_worker(&self, lookahead: Option<Delay>) -> u32 {
        let events = self.events_per_window(lookahead) / f64::from(self.workers);
        let best = (self.uneven * events * EVENT_NS / VISIT_NS).sqrt();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
        let best = best.clamp(1.0, f64::from(MOST_PER_WORKER)) as u32;
        best
    }

    /// Nanoseconds an event.
    pub(super) fn cost(&self, cut: &Cut) -> f64 {
        let workers = f64::from(self.workers);
        let in_window = self.events_per_window(cut.lookahead);
        let each = (f64::from(cut.partitions) / workers).max(1.0);
        let busiest = in_window * cut.busiest;
        let spread = (2.0 * f64::from(self.workers.ilog2()) * std::f64::consts::LN_2 * busiest).sqrt();
        let slowest = (busiest * (1.0 + self.uneven / each) + spread).min(in_window);
        let window = slowest * EVENT_NS + workers * BARRIER_NS + each * VISIT_NS;
        window / in_window + cut.crossing * CROSSING_NS / workers
    }

    /// How many times as fast as one worker a cut makes the run.
    pub(super) fn speedup(&self, cut: &Cut) -> f64 {
        EVENT_NS / self.cost(cut)
    }

    /// As [`busiest`], for its workers.
    pub(super) fn busiest(&self, weights: Vec<u64>) -> f64 {
        busiest(self.workers, weights)
    }
}

/// The share of the weight that the busiest of so many workers gets, the heaviest partitions dealt out first (Graham's rule).
pub(super) fn busiest(workers: u32, mut weights: Vec<u64>) -> f64 {
    let total: u64 = weights.iter().sum();
    weights.sort_unstable_by_key(|&weight| Reverse(weight));
    let workers = (workers as usize).min(weights.len());
    let mut loads: BinaryHeap<Reverse<u64>> = (0..workers).map(|_| Reverse(0)).collect();
    for weight in weights {
        let Some(mut least) = loads.peek_mut() else { break };
        least.0 += weight;
    }
    let most = loads.into_iter().map(|Reverse(load)| load).max().unwrap_or(0);
    most as f64 / total.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_gets_several_partitions_where_weights_are_guesses_or_windows_are_long() {
        let lookahead = Some(Delay::from_ms(1));
        let partitions = |events_per_second, weights| {
            let wish = Wish { events_per_second: Some(events_per_second), weights, ..Wish::of_workers(2) };
            Estimate::new(&wish, 64, lookahead).partitions_per_worker(lookahead)
        };
        let measured = Some(&[1; 64][..]);
        // A thousand events in a window.
        assert_eq!((partitions(1e6, None), partitions(1e6, measured)), (5, 1));
        // A million.
        assert_eq!((partitions(1e9, None), partitions(1e9, measured)), (MOST_PER_WORKER, MOST_PER_WORKER));
    }
}
