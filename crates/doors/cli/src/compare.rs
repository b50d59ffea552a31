//! `parades compare`: the same run on several engines, digests checked against each other.

use crate::arguments::{CompareArguments, WorkerLists};
use crate::printing::{print, say};
use crate::terminal::Terminal;
use parades_catalog::program_name;
use parades_report::{View, comparison};
use parades_session::failure::STOPPED;
use parades_session::{Failure, FinishedRun, Plan, Sides};
use std::process::ExitCode;

pub(crate) fn compare(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    let plan = Plan::of(&arguments.how.request(&arguments.scenario, None))?;
    let CompareArguments { engines, workers: WorkerLists { threads, processes }, .. } = arguments;
    let sides = Sides { engines, threads, processes };
    let compared = parades_session::compare(&plan, sides, &mut Terminal::new(arguments.how.quiet))?;
    print(&if arguments.how.json {
        format!("{}\n", comparison::as_json(&compared))
    } else {
        comparison::for_people(&compared, View::of_standard_output().width)
    })?;
    let (first, others) = compared.runs.split_first().expect("there is no comparison without a run");
    if let Some(other) = others.iter().find(|run| !run.has_result_of(first)) {
        return Err(Failure::simulation(format!(
            "{} and {} came to different results; `{} diff` finds the event where they part",
            name(first, other),
            name(other, first),
            program_name()
        )));
    }
    if compared.stopped.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut stopped: Vec<&str> = compared.stopped.iter().map(|engine| engine.name()).collect();
    stopped.dedup();
    say(format_args!("stopped: without the runs on {}", stopped.join(", ")));
    Ok(ExitCode::from(STOPPED))
}

/// Returns the name of a run that tells it from another run.
fn name(run: &FinishedRun, other: &FinishedRun) -> String {
    let (choice, engine) = (&run.choice, run.choice.engine);
    if engine != other.choice.engine {
        return engine.to_string();
    }
    format!("{engine} on {} processes of {} threads", choice.processes, choice.threads)
}
