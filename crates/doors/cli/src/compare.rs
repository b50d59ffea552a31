//! `parades compare`: the same run on several engines, digests checked against each other.

use crate::arguments::CompareArguments;
use crate::printing::print;
use crate::terminal::Terminal;
use parades_report::comparison;
use parades_session::{Failure, Plan};
use std::process::ExitCode;

pub(crate) fn compare(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    let plan = Plan::of(&arguments.how.request(&arguments.scenario, None))?;
    let runs = parades_session::compare(&plan, &arguments.engines, &mut Terminal::new(arguments.how.quiet))?;
    print(&if arguments.how.json {
        format!("{}\n", comparison::as_json(&runs))
    } else {
        comparison::for_people(&runs)
    })?;
    match runs.iter().find(|run| !run.has_result_of(&runs[0])) {
        None => Ok(ExitCode::SUCCESS),
        Some(other) => Err(Failure::simulation(format!(
            "{} and {} came to different results; `parades diff` finds the event where they part",
            runs[0].choice.engine.name(),
            other.choice.engine.name()
        ))),
    }
}
