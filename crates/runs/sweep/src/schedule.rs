//! The order of runs, and the number of runs of each point.
//!
//! *Read next*: [`crate::precision`], the rule by which seeds are added; [`crate::drive`](mod@crate::drive).

use crate::outcome::{Outcome, Run};
use crate::precision::{Precision, RUNS_MIN, Verdict};
use crate::shard::Shard;
use parades_core::metrics::Estimate;
use std::collections::{BTreeMap, BTreeSet};

/// The runs of a sweep: finished, active and planned.
#[derive(Debug)]
pub struct Schedule {
    seeds: Vec<u64>,
    precision: Option<Precision>,
    points: Vec<PointRuns>,
    /// The planned runs that have not begun.
    ready: BTreeSet<Run>,
    /// Outcomes from an earlier sweep that no point has planned yet.
    recorded: BTreeMap<Run, Outcome>,
    /// The number of finished runs over all points.
    finished: usize,
    /// The number of planned runs over all points, including the finished ones.
    planned: usize,
}

/// The runs of a point.
#[derive(Debug, Default)]
struct PointRuns {
    /// One for each planned run; `None` until the run has finished.
    outcomes: Vec<Option<Outcome>>,
    finished: usize,
    /// True if the intervals are narrow enough. `None` until that is decided.
    reached: Option<bool>,
}

impl Schedule {
    /// Returns a schedule of each point with each seed. With a `precision`, seeds are used in their order
    /// until it is reached. Runs in `recorded` are not executed again.
    ///
    /// ```
    /// use parades_sweep::{Outcome, Run, Schedule};
    /// use std::collections::BTreeMap;
    /// let finished = Run { point: 1, replication: 0 };
    /// let recorded = BTreeMap::from([(finished, Outcome::failed("it was told to", false))]);
    /// let mut schedule = Schedule::new(2, vec![7, 8], None, recorded);
    /// let begun: Vec<_> = std::iter::from_fn(|| schedule.begin()).collect();
    /// let begun: Vec<_> = begun.into_iter().map(|run| (run.point, schedule.seed(run))).collect();
    /// assert_eq!(begun, [(0, 7), (0, 8), (1, 8)]);
    /// ```
    pub fn new(
        points: usize,
        seeds: Vec<u64>,
        precision: Option<Precision>,
        recorded: BTreeMap<Run, Outcome>,
    ) -> Schedule {
        let first_batch = if precision.is_some() { RUNS_MIN.min(seeds.len()) } else { seeds.len() };
        let points_runs = std::iter::repeat_with(PointRuns::default).take(points).collect();
        let ready = BTreeSet::new();
        let mut schedule = Schedule { seeds, precision, points: points_runs, ready, recorded, finished: 0, planned: 0 };
        (0..points).for_each(|point| schedule.plan(point, first_batch));
        schedule
    }

    /// Leaves out the runs of other shards that have not begun.
    #[must_use]
    pub fn only(mut self, shard: Shard) -> Schedule {
        let points = self.points.len();
        self.ready.retain(|run| shard.has(*run, points));
        self.planned = self.finished + self.ready.len();
        self
    }

    /// Plans `runs` runs of a point in total, and more while all planned runs are finished and do not
    /// suffice.
    fn plan(&mut self, point: usize, mut runs: usize) {
        loop {
            for replication in self.points[point].outcomes.len()..runs {
                let run = Run { replication, point };
                let outcome = self.recorded.remove(&run);
                let finished = usize::from(outcome.is_some());
                self.points[point].finished += finished;
                self.finished += finished;
                self.planned += 1;
                if outcome.is_none() {
                    self.ready.insert(run);
                }
                self.points[point].outcomes.push(outcome);
            }
            match self.review(point) {
                Some(more) => runs = more,
                None => return,
            }
        }
    }

    /// Returns the total number of runs that a point needs, if all its planned runs are finished and do not
    /// suffice.
    fn review(&mut self, point: usize) -> Option<usize> {
        let precision = self.precision.as_ref()?;
        let runs = &self.points[point];
        let planned = runs.outcomes.len();
        if runs.finished < planned || runs.reached.is_some() {
            return None;
        }
        let estimates: Vec<_> = precision.metrics.iter().map(|metric| estimate(self.outcomes(point), metric)).collect();
        // If no run of the first batch has a metric, more runs will not have it either.
        let hopeless = estimates.iter().any(Option::is_none);
        let reached = match precision.verdict(planned, &estimates) {
            Verdict::Reached => true,
            Verdict::More(_) if planned == self.seeds.len() || hopeless => false,
            Verdict::More(more) => return Some(more.min(self.seeds.len())),
        };
        self.points[point].reached = Some(reached);
        None
    }

    /// Begins the next run and returns it. `None` if no run is ready. Another run may become ready when an
    /// active one finishes.
    pub fn begin(&mut self) -> Option<Run> {
        self.ready.pop_first()
    }

    /// Records the outcome of a run that has begun.
    ///
    /// # Panics
    ///
    /// If the run has not begun, or is finished already.
    pub fn finish(&mut self, run: Run, outcome: Outcome) {
        let point = &mut self.points[run.point];
        let slot = &mut point.outcomes[run.replication];
        assert!(slot.is_none() && !self.ready.contains(&run), "a run is over once, after it was begun");
        *slot = Some(outcome);
        point.finished += 1;
        self.finished += 1;
        if let Some(more) = self.review(run.point) {
            self.plan(run.point, more);
        }
    }

    /// Returns the seed of a run.
    pub fn seed(&self, run: Run) -> u64 {
        self.seeds[run.replication]
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// Returns the outcomes of a point's finished runs, in the order of the seeds.
    pub fn outcomes(&self, point: usize) -> impl Iterator<Item = &Outcome> {
        self.points[point].outcomes.iter().flatten()
    }

    /// Returns the outcomes of a point's finished runs with their seeds.
    pub fn runs(&self, point: usize) -> impl Iterator<Item = (u64, &Outcome)> {
        let outcomes = self.seeds.iter().zip(&self.points[point].outcomes);
        outcomes.filter_map(|(&seed, outcome)| Some((seed, outcome.as_ref()?)))
    }

    /// Returns true if a point's intervals are narrow enough. `None` without a precision, or while it is
    /// undecided.
    pub fn reached(&self, point: usize) -> Option<bool> {
        self.points[point].reached
    }

    /// Returns true if a point got no more seeds because its first runs have no number for a metric of the
    /// precision.
    pub fn is_hopeless(&self, point: usize) -> bool {
        self.reached(point) == Some(false) && self.points[point].outcomes.len() < self.seeds.len()
    }

    /// Returns the number of finished runs, and the number of planned runs including those.
    pub fn progress(&self) -> (usize, usize) {
        (self.finished, self.planned)
    }

    /// Returns the number of failed runs.
    pub fn failures(&self) -> usize {
        let failed = |point| self.outcomes(point).filter(|outcome| outcome.figures().is_none()).count();
        (0..self.points.len()).map(failed).sum()
    }
}

/// Returns the mean of a metric, with its interval, over the runs that have it as a number.
pub(crate) fn estimate<'a>(outcomes: impl Iterator<Item = &'a Outcome>, metric: &str) -> Option<Estimate> {
    let numbers: Vec<f64> = outcomes.filter_map(|outcome| outcome.figures()?.number(metric)).collect();
    Estimate::of_replications(&numbers)
}
