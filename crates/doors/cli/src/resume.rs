//! `parades resume` and `parades branch`: a saved run, which goes on as it was, or in another way.

use crate::arguments::{BranchArguments, ResumeArguments, TaskArguments};
use crate::program;
use crate::run::execute;
use parades_config::inputs;
use parades_session::branch::Wish;
use parades_session::machine::default_memory_limit;
use parades_session::{Failure, Plan, Request, Saved};
use std::process::ExitCode;

pub(crate) fn resume(arguments: &ResumeArguments) -> Result<ExitCode, Failure> {
    let (request, saved) = read(arguments)?;
    go_on(arguments, request, &saved)
}

pub(crate) fn branch(arguments: &BranchArguments) -> Result<ExitCode, Failure> {
    let BranchArguments { run, set, seed, fresh_metrics } = arguments;
    let (request, mut saved) = read(run)?;
    let wish = Wish { set: set.clone(), seed: *seed, fresh_metrics: *fresh_metrics };
    // Notes on failures and flows after the end of a network file depend on that end.
    let request = Request { until: run.until, ..request };
    let branch = saved.branch(&request, &wish)?;
    go_on(run, request, &branch)
}

/// Reads the saved run. Returns the request that leads to the same run, too.
fn read(ResumeArguments { file, task, .. }: &ResumeArguments) -> Result<(Request, Saved), Failure> {
    let how = &task.how;
    inputs::forget_seen();
    let saved = Saved::read(file, how.memory_limit.or_else(default_memory_limit).unwrap_or(u64::MAX))?;
    let program = program();
    let request = saved.request(program.version, program.commit)?;
    if how.no_digest && request.digest {
        return Err(Failure::usage("`--no-digest` has no effect: the run was saved with its digest", "leave that out"));
    }
    Ok((request, saved))
}

/// Goes on with a run that was read.
fn go_on(
    ResumeArguments { until, task, .. }: &ResumeArguments,
    request: Request,
    saved: &Saved,
) -> Result<ExitCode, Failure> {
    let TaskArguments { engine, workers, how, .. } = task;
    let request = Request {
        until: *until,
        engine: engine.clone(),
        tune: how.tune.clone(),
        memory_limit: how.memory_limit,
        ..workers.of(request)
    };
    execute(Plan::of(&request)?, task, None, Some(saved))
}
