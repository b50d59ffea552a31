//! Sweeps: replications of a run over a grid of parameters.
//!
//! A [`SweepRequest`] is what a user asks for. A [`SweepPlan`] is that understood: the grid, the seeds, the
//! engine. [`execute`] has the runs executed by a pool of processes, and returns a [`FinishedSweep`]. The
//! processes are asked by a [`WorkerRequest`] in a line of JSON.
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
pub use message::{Checked, WorkerRequest};
pub use metric::full_name;
pub use plan::{JOURNAL, RUNS, SweepPlan, SweepRequest, TIE_SEED};

use crate::interrupt::Interruptible;
use crate::{Claim, Failure, Program};
use parades_core::run::Control;
use parades_sweep::{Drive, End, Outcome, Pool, Results, Run, Schedule, drive};
use plan::OpenJournal;
use std::collections::BTreeMap;
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

impl FinishedSweep<'_> {
    /// Returns the tables of results.
    pub fn results(&self) -> Results<'_> {
        let swept = self.plan.swept().map(str::to_owned).collect();
        Results::new(&self.schedule, swept, self.plan.swept_values()).with_numbers(self.plan.swept_numbers())
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
