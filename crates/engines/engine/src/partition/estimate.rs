//! The estimated cost of a cut, in nanoseconds of wall-clock time for each event of all workers together.
//!
//! The figures are rough, and are only compared with each other. A window holds the events of `lookahead`,
//! and at least one, because windows begin at an event. A window takes as long as its busiest worker. That
//! worker has more than a fair share for three reasons:
//!
//! - Partitions do not pack evenly.
//! - Weights are guesses. Balancing corrects them, and the more partitions there are, the better.
//! - A worker with *e* events on average sometimes has √(2 *e* ln *w*) more. That is the greatest of *w*
//!   Poisson counts.

use super::{MOST_PER_WORKER, Wish};
use parades_core::time::Delay;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The time to execute an event.
const EVENT_NS: f64 = 60.0;
/// The time to visit a partition in a window, even if it has no events.
const VISIT_NS: f64 = 150.0;
/// The additional time for an event that crosses from one partition to another.
const CROSSING_NS: f64 = 60.0;
/// The time to pass the barriers of a window, for each worker.
const BARRIER_NS: f64 = 250.0;
/// The excess of the busiest worker over its fair share, if each worker has one partition and weights are
/// guesses. With *n* partitions for each worker, the excess is one *n*-th of this.
const UNEVEN_GUESSED: f64 = 0.125;
/// The same if weights have been measured. It is small, so that windows of some thousand events favour few
/// partitions.
const UNEVEN_MEASURED: f64 = 0.01;
/// The number of events in a window without end.
const MANY: f64 = 1e15;

/// The properties of a cut that decide its cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The least lookahead between partitions.
    pub(super) lookahead: Option<Delay>,
    pub(super) partitions: u32,
    /// The share of all events that the busiest worker executes.
    pub(super) busiest: f64,
    /// The share of all events that cross between partitions.
    pub(super) crossing: f64,
}

/// Estimates costs for one model and one number of workers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    workers: u32,
    events_per_second: f64,
    longest_window: f64,
    uneven: f64,
}

impl Estimate {
    /// Makes an estimate. Without a measured rate, each LP is assumed to execute one event in the median
    /// lookahead. For packets on busy links and for queueing networks, this is right within a small factor.
    /// It does not depend on the unit of time.
    pub(super) fn new(wish: &Wish<'_>, lps: u32, median: Option<Delay>) -> Estimate {
        let guess = || median.map_or(1.0, |median| f64::from(lps) / median.as_secs_f64());
        Estimate {
            workers: wish.workers.max(1),
            events_per_second: wish.events_per_second.unwrap_or_else(guess).max(0.0),
            longest_window: wish.longest_window.map_or(f64::INFINITY, Delay::as_secs_f64),
            uneven: if wish.weights.is_some() { UNEVEN_MEASURED } else { UNEVEN_GUESSED },
        }
    }

    /// Returns the number of events of all partitions in a window.
    pub(super) fn events_per_window(&self, lookahead: Option<Delay>) -> f64 {
        let length = lookahead.map_or(f64::INFINITY, Delay::as_secs_f64).min(self.longest_window);
        (self.events_per_second * length).min(MANY) + 1.0
    }

    /// Returns the best number of partitions for each worker. More partitions improve the balance, but each
    /// costs a visit in each window.
    pub(super) fn partitions_per_worker(&self, lookahead: Option<Delay>) -> u32 {
        let events = self.events_per_window(lookahead) / f64::from(self.workers);
        let best = (self.uneven * events * EVENT_NS / VISIT_NS).sqrt();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped before")]
        let best = best.clamp(1.0, f64::from(MOST_PER_WORKER)) as u32;
        best
    }

    /// Returns the cost of a cut, in nanoseconds for each event.
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

    /// Returns the speedup of a cut over a single worker.
    pub(super) fn speedup(&self, cut: &Cut) -> f64 {
        EVENT_NS / self.cost(cut)
    }

    /// Returns the share of the busiest worker; see [`busiest`].
    pub(super) fn busiest(&self, weights: Vec<u64>) -> f64 {
        busiest(self.workers, weights)
    }
}

/// Returns the share of the total weight that the busiest of `workers` workers gets, if the heaviest
/// partitions are assigned first, each to the least loaded worker (Graham's rule).
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
    fn a_worker_gets_several_partitions_if_weights_are_guesses_or_windows_are_long() {
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
