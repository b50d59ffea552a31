//! `parades sweep`: replications and parameter grids.
//!
//! Runs are executed by processes of this same program ([`worker`]), which are asked one run after another; what a sweep consists of, and
//! what becomes of its runs, is in `parades_sweep`.

mod asked;
mod check;
mod show;
mod worker;

pub(crate) use worker::work;

use crate::arguments::{CsvTable, SweepArguments};
use crate::{interrupt, print, print_by, say};
use asked::Asked;
use indicatif::{ProgressBar, ProgressStyle};
use parades_core::run::Control;
use parades_session::Failure;
use parades_session::failure::{FAILED, STOPPED};
use parades_sweep::{Drive, End, Outcome, Results, Run, Schedule, drive};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) fn sweep(arguments: &SweepArguments) -> Result<ExitCode, Failure> {
    let asked = Asked::of(arguments)?;
    arguments.parquet.as_deref().map_or(Ok(()), show::parquet_is_possible)?;
    let (mut journal, recorded) = asked.open_journal()?;
    let pool = asked.pool()?;
    let control = Arc::new(Control::default());
    interrupt::stops(&control);
    let stopped = || control.is_stopped();
    let Some(precision) = check::check(&asked, &pool, &recorded, &stopped)? else {
        return Err(Failure::Stopped("the grid was still being looked at, so there is no result"));
    };
    let seeds = asked.seeds.len();
    let mut schedule = Schedule::new(asked.grid.points().len(), asked.seeds.clone(), precision, recorded);
    let before = schedule.progress().0;
    if let (Some(journal), 1.., false) = (&journal, before, arguments.how.quiet) {
        let runs = if before == 1 { "run is" } else { "runs are" };
        say(format_args!("note: {before} {runs} in {} already", journal.path().display()));
    }
    let mut bar = (!arguments.how.quiet && std::io::stderr().is_terminal()).then(|| Bar::new(before));
    let mut progress = |schedule: &Schedule| {
        if let Some(bar) = &mut bar {
            bar.draw(schedule.progress());
        }
    };
    let request = |schedule: &Schedule, run: Run| asked.request(run.point, schedule.seed(run));
    let record =
        |schedule: &Schedule, run: Run, outcome: &Outcome| asked.record(run.point, schedule.seed(run), outcome);
    let mut how = Drive { request: &request, record: &record, progress: &mut progress, stopped: &stopped };
    let driven = drive(&mut schedule, &pool, journal.as_mut(), &mut how);
    drop((bar, pool));
    interrupt::release(&control);
    let end = match (driven, &journal) {
        (Err(error), Some(journal)) => {
            return Err(Failure::simulation(format!(
                "{} cannot be written: {error}; make room, and give the same command again: it goes on from there",
                journal.path().display()
            )));
        }
        (driven, _) => driven.map_err(|error| Failure::simulation(error.to_string()))?,
    };
    let values = asked.swept_values();
    let results = Results::new(&schedule, asked.grid.swept().map(str::to_owned).collect(), values);
    let report = show::Report { asked: &asked, results: &results, schedule: &schedule, end };
    match arguments.csv {
        Some(CsvTable::Runs) => print_by(|to| results.write_runs(to))?,
        Some(CsvTable::Means) => print_by(|to| results.write_means(to))?,
        None if arguments.how.json => print_by(|to| report.write_json(to))?,
        None => print(&report.for_people())?,
    };
    if let Some(folder) = &arguments.out {
        report.write_folder(folder)?;
    }
    if let Some(file) = &arguments.parquet {
        report.write_parquet(file)?;
    }
    conclude(&asked, &schedule, end, seeds)
}

/// Says what is missing in the results, and how to come to it.
fn conclude(asked: &Asked<'_>, schedule: &Schedule, end: End, seeds: usize) -> Result<ExitCode, Failure> {
    let (finished, total) = schedule.progress();
    let failures = schedule.failures();
    let mut failed = (0..schedule.points()).flat_map(|point| schedule.runs(point).map(move |run| (point, run)));
    let first = failed.find_map(|(point, (seed, outcome))| match outcome {
        Outcome::Failed(failed) => Some((point, seed, &failed.message)),
        Outcome::Figures(_) => None,
    });
    if end == End::Stopped {
        let how = match asked.journal_path() {
            Some(path) => format!("{} has them, and the same command goes on from there", path.display()),
            None => "with `--out DIR` or `--journal FILE` the same command would go on from there".to_owned(),
        };
        say(format_args!("stopped: {finished} of {total} runs are over; {how}"));
        return Ok(ExitCode::from(STOPPED));
    }
    if !asked.arguments.how.quiet {
        note_what_is_imprecise(schedule, seeds);
    }
    match first {
        None => Ok(ExitCode::SUCCESS),
        Some((point, seed, message)) => {
            let place = asked.grid.assignments(point).join(" ");
            let place = if place.is_empty() { format!("seed {seed}") } else { format!("{place}, seed {seed}") };
            say(format_args!("error: {failures} of {total} runs failed; the first, with {place}: {message}"));
            Ok(ExitCode::from(FAILED))
        }
    }
}

/// Says where intervals are wider than was asked for.
fn note_what_is_imprecise(schedule: &Schedule, seeds: usize) {
    let points = schedule.points();
    let count = |is: &dyn Fn(usize) -> bool| (0..points).filter(|&point| is(point)).count();
    let hopeless = count(&|point| schedule.is_hopeless(point));
    let missed = count(&|point| schedule.reached(point) == Some(false)) - hopeless;
    if missed > 0 {
        say(format_args!(
            "note: at {missed} of {points} points the interval is wider than was asked for; give more than {seeds} seeds"
        ));
    }
    if hopeless > 0 {
        say(format_args!(
            "note: at {hopeless} of {points} points the first runs have no number for a metric, so no seeds were added"
        ));
    }
}

/// What an earlier sweep left, by run.
type Recorded = BTreeMap<Run, Outcome>;

/// A progress line: runs that are over, and the time that the others will take.
struct Bar {
    line: ProgressBar,
    /// What was over before.
    before: usize,
}

impl Bar {
    fn new(before: usize) -> Bar {
        let line = ProgressBar::new(0);
        let style = ProgressStyle::with_template("{wide_bar} {msg}  {eta} left");
        line.set_style(style.expect("the template is right"));
        Bar { line, before }
    }

    fn draw(&mut self, (finished, total): (usize, usize)) {
        // Counted from here, for the time left.
        self.line.set_length((total - self.before) as u64);
        self.line.set_position((finished - self.before) as u64);
        self.line.set_message(format!("{finished}/{total} runs"));
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
