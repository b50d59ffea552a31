//! `parades compare`: the same run on several engines, digests checked against each other.

use crate::arguments::{CompareArguments, WorkerLists};
use crate::printing::{print, say};
use crate::program;
use crate::terminal::Terminal;
use parades_config::inputs;
use parades_report::View;
use parades_report::comparison::{ComparisonReport, make_folder};
use parades_session::failure::STOPPED;
use parades_session::{Failure, Plan, Sides};
use std::process::ExitCode;

pub(crate) fn compare(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    inputs::forget_seen();
    let plan = Plan::of(&arguments.how.request(&arguments.scenario, None))?;
    let CompareArguments { engines, workers: WorkerLists { threads, processes }, out, .. } = arguments;
    let sides = Sides { engines, threads, processes, tie_seeds: arguments.scenario.tie_seeds() };
    let _claim = out.as_deref().map(|folder| make_folder(folder, arguments.overwrite)).transpose()?;
    let compared = parades_session::compare(&plan, sides, &mut Terminal::new(arguments.how.quiet))?;
    let program = program();
    let mut report = ComparisonReport::of(&compared, &program);
    report.copy_inputs = arguments.copy_inputs;
    if !arguments.how.quiet {
        compared.left_out.iter().for_each(|out| say(format_args!("note: left out: {out}")));
    }
    // The results are printed first, so they are not lost if a file cannot be written.
    print(&if arguments.how.json {
        format!("{}\n", report.as_json())
    } else {
        report.for_people(View::of_standard_output().width)
    })?;
    if let Some(folder) = out {
        report.write_folder(folder)?;
    }
    report.check()?;
    if compared.stopped.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut stopped: Vec<&str> = compared.stopped.iter().map(|run| run.choice.engine.name()).collect();
    stopped.dedup();
    say(format_args!("stopped: without the runs on {}", stopped.join(", ")));
    Ok(ExitCode::from(STOPPED))
}
