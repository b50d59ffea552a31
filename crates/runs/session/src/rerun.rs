//! A recorded run, executed again: its digest must be the same.

use crate::recorded::Recorded;
use crate::{Failure, FinishedRun, Observer, Plan, Program, Recording, Request, run};
use parades_config::inputs;

/// The engine on which a recorded run is executed again.
#[derive(Clone, Debug, Default)]
pub struct RerunOn {
    /// The name of the engine. Default: the one that the run had.
    pub engine: Option<String>,
    /// The number of worker threads of each process. Default: the number of cores, divided by the processes.
    pub threads: Option<u64>,
    /// The number of processes. Default: 1.
    pub processes: Option<u64>,
}

/// A recorded run that was executed again, with the same digest.
#[derive(Debug)]
pub struct Repeated {
    /// The run.
    pub run: FinishedRun,
    /// A sentence on each difference between the origins of both runs: files, program, compiler, machine.
    pub differences: Vec<String>,
}

/// Executes a recorded run again. `program` is the one that does so.
///
/// # Errors
///
/// [`Failure::Simulation`] if the digest is another one; [`Failure::Input`] if the folder has none, or cannot
/// be used; the errors of [`run`].
pub fn rerun(
    recorded: &Recorded,
    on: &RerunOn,
    program: &Program,
    observer: &mut dyn Observer,
) -> Result<Repeated, Failure> {
    let run = inputs::holding(recorded.copies(), || execute(recorded, on, observer))?;
    let (folder, differences) = (recorded.folder().display(), recorded.differences(&run, program));
    let digest = run.outcome.digest.map(|digest| format!("{digest:016x}")).unwrap_or_default();
    match recorded.digest() {
        Some(before) if before == digest => Ok(Repeated { run, differences }),
        Some(before) => {
            let why = match differences.as_slice() {
                [] => {
                    "nothing that is recorded differs: one of the two runs is wrong, or the folder was altered".into()
                }
                differences => differences.join("; "),
            };
            Err(Failure::simulation(format!("the digest is {digest} here and {before} in {folder}: {why}")))
        }
        None => Err(Failure::usage(format!("{folder} has no digest"), "record a run without `--no-digest`")),
    }
}

fn execute(recorded: &Recorded, on: &RerunOn, observer: &mut dyn Observer) -> Result<FinishedRun, Failure> {
    inputs::forget_seen();
    let RerunOn { engine, threads, processes } = on.clone();
    let mut request = Request { threads, processes, ..recorded.request()? };
    if engine.is_some() {
        // The settings are those of the other engine.
        (request.engine, request.tune) = (engine, Vec::new());
    }
    let plan = Plan::of(&request)?;
    let run = run(&plan, &plan.choice()?, Recording::default(), observer)?;
    run.complete("only a whole run can be compared, so there is no result")
}
