//! `parades rerun`: a recorded run, executed again.

use crate::arguments::RerunArguments;
use crate::printing::{print, say};
use crate::program;
use crate::terminal::Terminal;
use parades_config::inputs;
use parades_session::recorded::Recorded;
use parades_session::{Failure, FinishedRun, Plan, Recording};
use std::process::ExitCode;

pub(crate) fn rerun(arguments: &RerunArguments) -> Result<ExitCode, Failure> {
    let recorded = Recorded::read(&arguments.folder)?;
    let run = inputs::holding(recorded.copies(), || execute(&recorded, arguments))?;
    let (folder, differences) = (arguments.folder.display(), recorded.differences(&run, &program()));
    let digest = run.outcome.digest.map(|digest| format!("{digest:016x}")).unwrap_or_default();
    match recorded.digest() {
        Some(before) if before == digest => {
            if !arguments.quiet {
                differences.iter().for_each(|difference| say(format_args!("note: {difference}")));
            }
            print(&format!("the run is the same as that in {folder}: {} events, digest {digest}\n", run.outcome.events))
        }
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

/// Executes the recorded run again, on the engine that the user asks for.
fn execute(recorded: &Recorded, arguments: &RerunArguments) -> Result<FinishedRun, Failure> {
    inputs::forget_seen();
    let mut request = recorded.request()?;
    if let Some(engine) = &arguments.engine {
        // The settings are those of the other engine.
        (request.engine, request.tune) = (Some(engine.clone()), Vec::new());
    }
    let plan = Plan::of(&arguments.workers.of(request))?;
    let mut terminal = Terminal::new(arguments.quiet);
    let run = parades_session::run(&plan, &plan.choice()?, Recording::default(), &mut terminal)?;
    run.complete("only a whole run can be compared, so there is no result")
}
