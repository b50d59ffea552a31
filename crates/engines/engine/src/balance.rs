//! Balancing workers by measured time: when LPs and partitions move to other workers.
//!
//! For every engine with several workers. Measured costs are noisy, and a move takes time. So something moves
//! only if the busiest worker then has less to do by a margin that is well above noise.

use crate::costs::Load;
use crate::stopwatch::now;
use std::time::{Duration, Instant};

/// The rule by which LPs and partitions move to other workers. It changes no result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// They move where workers are unequally busy by the clock.
    #[default]
    Measured,
    /// Nothing is measured. The number of events decides, as often as it has doubled.
    ByEvents,
    /// Each *n*-th time that they could, LPs move to partitions and workers that are drawn at random.
    #[cfg(feature = "test-hooks")]
    Forced {
        /// The *n*.
        every: u32,
        /// The seed of the draws.
        seed: u64,
    },
}

impl Balance {
    /// Returns the rule by which one of several ranks balances its own workers at cuts that are made for
    /// something else. By the clock, all ranks are reviewed together (`window/review_ranks.rs`).
    pub(crate) fn of_ranks(self) -> Balance {
        match self {
            Balance::Measured => Balance::ByEvents,
            other => other,
        }
    }
}

/// The time from the start of a run to the first review.
const PACE_FIRST: Duration = Duration::from_millis(5);
/// The longest time from review to review, unless reviews take long.
pub(crate) const PACE: Duration = Duration::from_millis(20);
/// The shortest time from review to review, in multiples of the time that a review takes. So reviews take a
/// fiftieth of the time at most.
const PACE_REVIEWS: u32 = 50;
/// The load of the busiest worker under the current partitions, over that under others, from which the
/// others are worth a move.
pub(crate) const GAIN: f64 = 1.08;
/// The number of standard deviations of a worker's measured load that are noise.
const NOISE: f64 = 4.0;
/// The most times that the pause doubles after searches after which the workers are still unequally busy.
const DOUBLINGS_MAX: u32 = 6;

/// Decides when a run is reviewed for balance, and when LPs may move.
#[derive(Debug)]
pub(crate) struct Balancer {
    due: Instant,
    pace: Duration,
    /// The time from which LPs may move again.
    moves_from: Instant,
    /// The number of searches since the workers have last been equally busy.
    fruitless: u32,
    /// The number of moves of LPs.
    pub(crate) lp_moves: u64,
    /// The number of partitions that have moved to another worker with all their LPs.
    pub(crate) partition_moves: u64,
}

impl Balancer {
    pub(crate) fn new() -> Balancer {
        let now = now();
        Balancer {
            due: now + PACE_FIRST,
            pace: PACE_FIRST,
            moves_from: now,
            fruitless: 0,
            lp_moves: 0,
            partition_moves: 0,
        }
    }

    /// Returns true if a review is due at this time.
    pub(crate) fn is_due(&self, at: Instant) -> bool {
        at >= self.due
    }

    /// Notes a review that has taken `took` until now.
    pub(crate) fn note_review(&mut self, took: Duration) {
        self.pace = (2 * self.pace).min(PACE);
        self.due = now() + self.pace.max(PACE_REVIEWS * took);
    }

    /// Returns true if LPs may move at this time.
    pub(crate) fn may_move_lps(&self, at: Instant) -> bool {
        at >= self.moves_from
    }

    /// Notes a search for a better place of the LPs, which has taken `took` until now. `moved` is true if
    /// they have moved.
    pub(crate) fn note_search(&mut self, took: Duration, moved: bool) {
        self.lp_moves += u64::from(moved);
        self.fruitless += 1;
        let pause = PACE * 2_u32.pow(self.fruitless.min(DOUBLINGS_MAX)) / 2;
        self.moves_from = now() + pause.max(PACE_REVIEWS * took);
    }

    /// Notes that the workers are equally busy.
    pub(crate) fn note_balance(&mut self) {
        self.fruitless = 0;
    }
}

/// Adds up the time for which the busiest worker has been at work, interval by interval. Over a whole run,
/// workers that have been the busiest in turn would seem to be equally busy.
#[derive(Debug, Default)]
pub(crate) struct BusiestWork {
    /// By worker: the nanoseconds worked before this interval.
    before: Vec<u64>,
    busiest_ns: u64,
    all_ns: u64,
}

impl BusiestWork {
    /// Ends an interval. `worked_ns` has, by worker, the nanoseconds worked so far. The interval does not
    /// count if one worker has executed everything in it, while the others rested.
    pub(crate) fn end_interval(&mut self, worked_ns: impl Iterator<Item = u64>, counts: bool) {
        let worked_ns: Vec<u64> = worked_ns.collect();
        self.before.resize(worked_ns.len(), 0);
        if counts {
            let now = worked_ns.iter().zip(&self.before).map(|(now, before)| now.saturating_sub(*before));
            self.busiest_ns += now.clone().max().unwrap_or(0);
            self.all_ns += now.sum::<u64>();
        }
        self.before = worked_ns;
    }

    /// Returns the times of the busiest worker and of all, in nanoseconds, which ranks share.
    pub(crate) fn words(&self) -> [u64; 2] {
        [self.busiest_ns, self.all_ns]
    }
}

/// Returns the time of the busiest worker over the average of all `workers`, from the [`BusiestWork::words`]
/// of each rank: 1 if all have been equally busy. NaN if nothing has been measured.
pub(crate) fn imbalance_by_time(of_ranks: impl Iterator<Item = [u64; 2]>, workers: usize) -> f64 {
    let (busiest, all) = of_ranks.fold((0, 0), |(most, sum), [busiest, all]| (most.max(busiest), sum + all));
    if all == 0 { f64::NAN } else { busiest as f64 * workers as f64 / all as f64 }
}

/// Returns the load of the busiest worker, over the average, from which `workers` workers are unequally busy.
/// `gain` is what is worth a move without any noise, and `all` the load of all workers.
pub(crate) fn uneven_from(gain: f64, workers: usize, all: Load) -> f64 {
    // The relative error of a worker's share, 1 / workers, that n samples estimate.
    let error = (workers.saturating_sub(1) as f64 / all.samples().max(1.0)).sqrt();
    gain.max(1.0 + NOISE * error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_samples_make_a_difference_noise() {
        let of_samples = |samples: f64| Load { ns: samples, squares: samples };
        assert!((uneven_from(1.08, 2, of_samples(1e6)) - 1.08).abs() < 1e-9);
        assert!((uneven_from(1.08, 2, of_samples(100.0)) - 1.4).abs() < 1e-9);
        assert!(uneven_from(1.08, 8, of_samples(100.0)) > 2.0);
    }

    #[test]
    fn workers_that_are_busy_in_turn_are_not_equally_busy() {
        let mut work = BusiestWork::default();
        work.end_interval([10, 0].into_iter(), true);
        work.end_interval([10, 10].into_iter(), true);
        work.end_interval([90, 10].into_iter(), false);
        assert_eq!(work.words(), [20, 20]);
        assert!((imbalance_by_time([work.words()].into_iter(), 2) - 2.0).abs() < 1e-9);
        assert!((imbalance_by_time([[20, 30], [10, 10]].into_iter(), 4) - 2.0).abs() < 1e-9, "on two ranks");
        assert!(imbalance_by_time([[0, 0]].into_iter(), 2).is_nan());
    }

    #[test]
    fn the_pause_grows_while_moves_change_nothing() {
        let mut balancer = Balancer::new();
        let pause = |balancer: &mut Balancer| {
            balancer.note_search(Duration::ZERO, true);
            balancer.moves_from - now()
        };
        let pauses: Vec<_> = (0..10).map(|_| pause(&mut balancer)).collect();
        assert!(pauses[0] <= PACE && pauses[3] > 4 * PACE && pauses[9] <= 32 * PACE, "{pauses:?}");
        balancer.note_balance();
        assert!(pause(&mut balancer) <= PACE);
        balancer.note_search(Duration::from_secs(1), false);
        assert!(balancer.moves_from - now() > Duration::from_secs(49), "a search takes a fiftieth of the time");
    }
}
