//! `parades resume`: a saved run, which goes on.

use crate::arguments::{ResumeArguments, TaskArguments};
use crate::program;
use crate::run::execute;
use parades_config::inputs;
use parades_session::machine::default_memory_limit;
use parades_session::{Failure, Plan, Request, Saved};
use std::process::ExitCode;

pub(crate) fn resume(ResumeArguments { file, until, task }: &ResumeArguments) -> Result<ExitCode, Failure> {
    let TaskArguments { engine, workers, how, .. } = task;
    inputs::forget_seen();
    let saved = Saved::read(file, how.memory_limit.or_else(default_memory_limit).unwrap_or(u64::MAX))?;
    let program = program();
    let request = saved.request(program.version, program.commit)?;
    if how.no_digest && request.digest {
        return Err(Failure::usage("`--no-digest` has no effect: the run was saved with its digest", "leave that out"));
    }
    let request = Request {
        until: *until,
        engine: engine.clone(),
        tune: how.tune.clone(),
        memory_limit: how.memory_limit,
        ..workers.of(request)
    };
    execute(Plan::of(&request)?, task, None, Some(&saved))
}
