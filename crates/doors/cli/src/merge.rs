//! `parades merge`: the results of the shards of a sweep, as one sweep.

use crate::arguments::{MergeArguments, sweep_of_words};
use crate::printing::say;
use crate::program;
use crate::sweep::{print_report, report_failures};
use parades_catalog::program_name;
use parades_config::inputs;
use parades_report::parquet_is_possible;
use parades_report::result_file::{ResultFile, check_apart};
use parades_report::sweep::{SweepReport, check_table};
use parades_session::Failure;
use parades_session::failure::FAILED;
use parades_session::request::quote;
use parades_session::sweep::{MissingRuns, Shards, SweepPlan, SweepRequest, write_journal};
use std::process::ExitCode;

/// The greatest number of missing runs that are named.
const NAMED_MAX: usize = 20;

pub(crate) fn merge(arguments: &MergeArguments) -> Result<ExitCode, Failure> {
    let view = arguments.viewing.view();
    check_table(&view)?;
    if let Some(file) = &arguments.parquet {
        parquet_is_possible(&file.display().to_string(), "read the table that `--csv` prints")?;
    }
    let journals = arguments.places.iter().map(|place| ("a journal", place.clone()));
    check_apart(journals, arguments.parquet.iter().map(|file| ("--parquet", file.clone())))?;
    let parquet = arguments.parquet.as_deref().map(ResultFile::create).transpose()?;
    let program = program();
    let shards = Shards::read(&arguments.places, &program)?;
    let sweep = sweep_of_words(shards.words()?)
        .ok_or_else(|| Failure::usage("the journals of the shards have no command of a sweep", "name other folders"))?;
    inputs::hold([]);
    let plan = SweepPlan::of(&SweepRequest { metrics: arguments.metrics.clone(), ..sweep.sweep_request()? })?;
    let (sweep, missing) = shards.merge(&plan, &program)?;
    let report = SweepReport::of(&sweep, &program);
    print_report(&report, arguments.csv, arguments.json, &view)?;
    if let Some(folder) = &arguments.out {
        write_journal(folder, &sweep, &program)?;
        report.write_folder(folder)?;
    }
    if let Some(file) = parquet {
        report.write_parquet(file)?;
    }
    let code = report_failures(&sweep);
    Ok(missing.map_or(code, |missing| report_missing(&missing, sweep.schedule.progress().1)))
}

/// Names the missing runs, and the commands that execute them. Returns the exit status.
fn report_missing(MissingRuns { runs, commands }: &MissingRuns, total: usize) -> ExitCode {
    say(format_args!("error: {} of {total} runs are missing; execute the commands below, and merge again", runs.len()));
    runs.iter().take(NAMED_MAX).for_each(|run| say(format_args!("  missing: {run}")));
    if runs.len() > NAMED_MAX {
        say(format_args!("  missing: {} more", runs.len() - NAMED_MAX));
    }
    for command in commands {
        let words: Vec<String> = command.iter().map(|word| quote(word)).collect();
        say(format_args!("  {} {}", program_name(), words.join(" ")));
    }
    ExitCode::from(FAILED)
}
