//! Sweeps: replications of a run over a grid of parameters.
//!
//! A [`SweepRequest`] is what a user asks for. A [`SweepPlan`] is that understood: the grid, the seeds, the
//! engine. [`execute`] has the runs executed by a pool of processes, and returns a [`FinishedSweep`]. The
//! processes are asked by a [`WorkerRequest`] in a line of JSON.
//!
//! *From saved runs.* The runs may be branches of a saved run ([`SweepRequest::from`]), each with new random
//! streams of its seed. They share what was before the cut, so they are independent only given the cut, and
//! the interval of their mean holds for that cut alone. With several saved runs, the mean over a saved run is
//! one value, and [`FinishedSweep::over_saved_runs`] has the interval of these values: it holds for all runs.
//!
//! The crate `parades_sweep` has the parts that know neither scenarios nor engines: the grid, the journal,
//! the schedule, the pool, the table of results.

mod base_values;
mod check;
mod header;
mod merge;
mod message;
mod metric;
mod plan;
mod words;

pub use merge::{MissingRuns, Shards, write_journal};
pub use message::{Checked, FromSaved, WorkerRequest};
pub use metric::full_name;
pub use plan::{FROM, JOURNAL, RUNS, SweepPlan, SweepRequest, TIE_SEED};

use crate::interrupt::Interruptible;
use crate::{Claim, Failure, Program};
use parades_core::metrics::Estimate;
use parades_core::run::Control;
use parades_sweep::{Drive, End, Outcome, Point, Pool, Results, Run, Schedule, drive};
use plan::OpenJournal;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The runs that an earlier sweep has left in its journal.
pub(crate) type EarlierRuns = BTreeMap<Run, Outcome>;

/// The progress of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct SweepProgress<'a> {
    /// The number of runs that are over.
    pub finished: usize,
    /// The number of runs in all, as far as is known.
    pub total: usize,
    /// The number of runs that were over before.
    pub before: usize,
    /// The journal, if there is one.
    pub journal: Option<&'a Path>,
}

/// A sweep that is over.
#[derive(Debug)]
pub struct FinishedSweep<'a> {
    /// The plan that was executed.
    pub plan: &'a SweepPlan,
    /// The runs.
    pub schedule: Schedule,
    /// How the sweep ended.
    pub end: End,
    /// The right to write into the folder of the sweep, if it has one.
    _claim: Option<Claim>,
}

/// The means over several saved runs at a point of the grid.
#[derive(Clone, Debug)]
pub struct OverSavedRuns {
    /// The values of the swept parameters.
    pub parameters: Map<String, Value>,
    /// The mean of each metric, with its interval; `count` is the number of saved runs.
    pub means: Vec<(String, Estimate)>,
}

impl FinishedSweep<'_> {
    /// Returns the tables of results.
    pub fn results(&self) -> Results<'_> {
        let swept = self.plan.swept().map(str::to_owned).collect();
        Results::new(&self.schedule, swept, self.plan.swept_values()).with_numbers(self.plan.swept_numbers())
    }

    /// Returns the mean of each metric over several saved runs at each point of the grid: the values of the
    /// swept parameters but [`FROM`], and the means by metric. Of each saved run, the mean over its seeds
    /// counts as one value. So the variance has both parts, that between the saved runs and that within them,
    /// divided by the number of seeds.
    ///
    /// *Reference*: A. M. Law, "Simulation Modeling and Analysis", 5th edition, section 9.4.3, 2015.
    pub fn over_saved_runs(&self) -> Vec<OverSavedRuns> {
        let results = self.results();
        let points: Vec<_> = results.points().collect();
        let of_group = |group: Range<usize>| {
            let points = &points[group];
            let mean = |metric: &String| {
                let of_point = |point: &Point<'_>| {
                    let interval = point.intervals.iter().find(|interval| interval.metric == metric.as_str())?;
                    Some(interval.estimate.mean)
                };
                let means: Vec<f64> = points.iter().filter_map(of_point).collect();
                Some((metric.clone(), Estimate::of_replications(&means)?))
            };
            let keys = results.keys().iter().cloned().zip(points[0].values.iter().cloned());
            OverSavedRuns {
                parameters: keys.filter(|(key, _)| key != FROM).collect(),
                means: results.metrics().iter().filter_map(mean).collect(),
            }
        };
        self.plan.groups_of_from().map(of_group).collect()
    }
}

/// Executes a sweep by a pool of processes. `progress` is called at the begin, and after each run.
///
/// # Errors
///
/// [`Failure::Input`] where there is no model for a point of the grid, or no metric of a name asked for, or
/// where the journal is another sweep's; [`Failure::Simulation`] where the journal cannot be written;
/// [`Failure::Stopped`] where an interrupt came before the first run.
pub fn execute<'a>(
    plan: &'a SweepPlan,
    pool: Pool,
    program: &Program,
    progress: &mut dyn FnMut(SweepProgress<'_>),
) -> Result<FinishedSweep<'a>, Failure> {
    let control = Arc::new(Control::default());
    let interruptible = Interruptible::new(&control);
    let OpenJournal { mut journal, earlier, claim } = plan.open_journal(program)?;
    let stopped = || control.is_stopped();
    let Some(precision) = check::check(plan, &pool, &earlier, &stopped)? else {
        return Err(Failure::Stopped("the grid was still being looked at, so there is no result"));
    };
    if let Some(journal) = &mut journal {
        journal.begin().map_err(|error| Failure::cannot_write(journal.path(), &error))?;
    }
    let schedule = Schedule::new(plan.points(), plan.seeds.clone(), precision, earlier);
    let mut schedule = match plan.request.shard {
        Some(shard) => schedule.only(shard),
        None => schedule,
    };
    let before = schedule.progress().0;
    let path: Option<PathBuf> = journal.as_ref().map(|journal| journal.path().to_owned());
    let mut progress = |schedule: &Schedule| {
        let (finished, total) = schedule.progress();
        progress(SweepProgress { finished, total, before, journal: path.as_deref() });
    };
    progress(&schedule);
    let request = |schedule: &Schedule, run: Run| plan.run_request(run.point, schedule.seed(run)).line();
    let record = |schedule: &Schedule, run: Run, outcome: &Outcome| plan.record(run.point, schedule.seed(run), outcome);
    let mut how = Drive { request: &request, record: &record, progress: &mut progress, stopped: &stopped };
    let driven = drive(&mut schedule, &pool, journal.as_mut(), &mut how);
    drop((pool, interruptible));
    let end = driven.map_err(|error| match &path {
        Some(path) => Failure::simulation(format!(
            "{} cannot be written: {error}; make room, and give the same command again to continue",
            path.display()
        )),
        None => Failure::simulation(error.to_string()),
    })?;
    Ok(FinishedSweep { plan, schedule, end, _claim: claim })
}
