//! Which run is next, and when a point has enough of them.
//!
//! *Read next*: [`crate::precision`], the rule by which seeds are added; [`crate::drive`](mod@crate::drive).

use crate::outcome::{Outcome, Run};
use crate::precision::{Precision, RUNS_LEAST, Verdict};
use parades_core::metrics::Estimate;
use std::collections::{BTreeMap, BTreeSet};

/// The runs of a sweep, those that are over and those to come.
#[derive(Debug)]
pub struct Schedule {
    seeds: Vec<u64>,
    precision: Option<Precision>,
    points: Vec<PointRuns>,
    /// What nobody has begun.
    ready: BTreeSet<Run>,
    /// What an earlier sweep left, as long as nobody asks for it.
    recorded: BTreeMap<Run, Outcome>,
    /// Over all points: the runs that are over, and those asked for.
    finished: usize,
    asked: usize,
}

/// The runs of a point.
#[derive(Debug, Default)]
struct PointRuns {
    /// One for each run asked for so far.
    outcomes: Vec<Option<Outcome>>,
    finished: usize,
    /// Whether its intervals are narrow enough, once that is known for good.
    reached: Option<bool>,
}

impl Schedule {
    /// Each of `points` points with each of the seeds, or as many of them, in their order, as `precision` asks for. What is `recorded` is not
    /// run again.
    ///
    /// ```
    /// use parades_sweep::{Outcome, Run, Schedule};
    /// use std::collections::BTreeMap;
    /// let over = Run { point: 1, replication: 0 };
    /// let recorded = BTreeMap::from([(over, Outcome::failed("it was told to", false))]);
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
        let at_first = if precision.is_some() { RUNS_LEAST.min(seeds.len()) } else { seeds.len() };
        let points_runs = std::iter::repeat_with(PointRuns::default).take(points).collect();
        let ready = BTreeSet::new();
        let mut schedule = Schedule { seeds, precision, points: points_runs, ready, recorded, finished: 0, asked: 0 };
        (0..points).for_each(|point| schedule.ask(point, at_first));
        schedule
    }

    /// Asks for so many runs of a point, and for more as long as those that are recorded do not suffice.
    fn ask(&mut self, point: usize, mut runs: usize) {
        loop {
            for replication in self.points[point].outcomes.len()..runs {
                let run = Run { replication, point };
                let outcome = self.recorded.remove(&run);
                let over = usize::from(outcome.is_some());
                self.points[point].finished += over;
                self.finished += over;
                self.asked += 1;
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

    /// How many runs a point needs in all, if it needs more than it has, and all of these are over.
    fn review(&mut self, point: usize) -> Option<usize> {
        let precision = self.precision.as_ref()?;
        let runs = &self.points[point];
        let asked = runs.outcomes.len();
        if runs.finished < asked || runs.reached.is_some() {
            return None;
        }
        let estimates: Vec<_> = precision.metrics.iter().map(|metric| estimate(self.outcomes(point), metric)).collect();
        // What no run of the first batch has, none will: because all fail, or have no such number.
        let hopeless = estimates.iter().any(Option::is_none);
        let reached = match precision.verdict(asked, &estimates) {
            Verdict::Reached => true,
            Verdict::More(_) if asked == self.seeds.len() || hopeless => false,
            Verdict::More(more) => return Some(more.min(self.seeds.len())),
        };
        self.points[point].reached = Some(reached);
        None
    }

    /// The next run, which nobody else gets; `None` while there is none. There may be one again when a run that is under way is over.
    pub fn begin(&mut self) -> Option<Run> {
        self.ready.pop_first()
    }

    /// A run that was begun is over.
    ///
    /// # Panics
    ///
    /// Where it was not begun, or is over already.
    pub fn finish(&mut self, run: Run, outcome: Outcome) {
        let point = &mut self.points[run.point];
        let place = &mut point.outcomes[run.replication];
        assert!(place.is_none() && !self.ready.contains(&run), "a run is over once, after it was begun");
        *place = Some(outcome);
        point.finished += 1;
        self.finished += 1;
        if let Some(more) = self.review(run.point) {
            self.ask(run.point, more);
        }
    }

    /// The seed of a run.
    pub fn seed(&self, run: Run) -> u64 {
        self.seeds[run.replication]
    }

    /// The number of points.
    pub fn points(&self) -> usize {
        self.points.len()
    }

    /// The outcomes of a point's runs that are over, in the order of seeds.
    pub fn outcomes(&self, point: usize) -> impl Iterator<Item = &Outcome> {
        self.points[point].outcomes.iter().flatten()
    }

    /// The same, with the seeds.
    pub fn runs(&self, point: usize) -> impl Iterator<Item = (u64, &Outcome)> {
        let outcomes = self.seeds.iter().zip(&self.points[point].outcomes);
        outcomes.filter_map(|(&seed, outcome)| Some((seed, outcome.as_ref()?)))
    }

    /// Whether a point's intervals are narrow enough, where a precision is wanted, and that is known.
    pub fn reached(&self, point: usize) -> Option<bool> {
        self.points[point].reached
    }

    /// Whether no seeds were added at a point because its first runs have no number for a metric that shall be precise.
    pub fn is_hopeless(&self, point: usize) -> bool {
        self.reached(point) == Some(false) && self.points[point].outcomes.len() < self.seeds.len()
    }

    /// The runs that are over, and those asked for so far.
    pub fn progress(&self) -> (usize, usize) {
        (self.finished, self.asked)
    }

    /// How many runs failed.
    pub fn failures(&self) -> usize {
        let failed = |point| self.outcomes(point).filter(|outcome| outcome.figures().is_none()).count();
        (0..self.points.len()).map(failed).sum()
    }
}

/// The mean of a metric over the runs that have it, with its interval across seeds.
pub(crate) fn estimate<'a>(outcomes: impl Iterator<Item = &'a Outcome>, metric: &str) -> Option<Estimate> {
    let numbers: Vec<f64> = outcomes.filter_map(|outcome| outcome.figures()?.number(metric)).collect();
    Estimate::of_replications(&numbers)
}
