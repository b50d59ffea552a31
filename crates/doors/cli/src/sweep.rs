//! `parades sweep`: replications and parameter grids. The runs are executed by processes of this same program
//! ([`crate::worker`]), which are asked for one run after another.

use crate::arguments::{CsvTable, SweepArguments};
use crate::inputs_file::InputsFile;
use crate::printing::{print, print_by, say};
use crate::{program, terminal};
use indicatif::ProgressBar;
use parades_config::inputs;
use parades_report::result_file::{ResultFile, check_apart};
use parades_report::sweep::{SweepReport, check_table};
use parades_report::{View, check_plot, folder, parquet_is_possible};
use parades_session::failure::{FAILED, STOPPED};
use parades_session::machine::default_memory_limit;
use parades_session::sweep::{FinishedSweep, SweepPlan, SweepProgress, SweepRequest, TIE_SEED, execute};
use parades_session::{Failure, Program, Request, Saved, itself};
use parades_sweep::{End, Outcome, Pool};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

pub(crate) fn sweep(arguments: &SweepArguments) -> Result<ExitCode, Failure> {
    let view = arguments.viewing.view();
    check_table(&view)?;
    // Each file is read once, so that all runs are of the same model.
    inputs::hold([]);
    let plan = SweepPlan::of(&arguments.sweep_request()?)?;
    if !arguments.how.quiet {
        plan.notes.iter().for_each(|note| say(format_args!("note: {note}")));
    }
    plan.read_inputs();
    if let Some(file) = &arguments.parquet {
        parquet_is_possible(&file.display().to_string(), "read the table that `--csv` prints")?;
    }
    if arguments.plot.is_some() {
        check_plot(&plan)?;
    }
    let outputs = [("--parquet", &arguments.parquet), ("--plot", &arguments.plot), ("--journal", &arguments.journal)];
    check_apart(plan.plan.inputs(), outputs.into_iter().filter_map(|(what, file)| Some((what, file.clone()?))))?;
    let parquet = arguments.parquet.as_deref().map(ResultFile::create).transpose()?;
    let plot = arguments.plot.as_deref().map(ResultFile::create).transpose()?;
    let program = program();
    let mut terminal = Terminal { is_quiet: arguments.how.quiet, line: None };
    let sweep = execute_sweep(&plan, &program, &mut |progress| terminal.draw(progress))?;
    drop(terminal);
    let is_on_disk = |path: &PathBuf| plan.request.from.iter().all(|saved| saved.scenario_file() != *path);
    for path in inputs::changed().into_iter().filter(is_on_disk) {
        say(format_args!(
            "note: {} was changed while the sweep went on; all runs are of the file as it was at the start",
            path.display()
        ));
    }
    let report = SweepReport::of(&sweep, &program);
    if !arguments.keeps_silent {
        print_report(&report, arguments.csv, arguments.how.json, &view)?;
    }
    if let Some(folder) = &arguments.out {
        if sweep.end == End::Stopped || sweep.schedule.failures() > 0 {
            folder::remove_remains_of_workers(folder);
        }
        report.write_folder(folder)?;
    }
    if let Some(file) = parquet {
        report.write_parquet(file)?;
    }
    if let Some(file) = plot {
        report.write_plot(file)?;
    }
    Ok(conclude(&sweep, arguments.how.quiet))
}

/// Executes a sweep by processes of this program, of the inputs that this process has read for it and holds.
/// `progress` is called at the begin, and after each run.
///
/// # Errors
///
/// Those of [`execute`], and processes that cannot be started.
pub fn execute_sweep<'a>(
    plan: &'a SweepPlan,
    program: &Program,
    progress: &mut dyn FnMut(SweepProgress<'_>),
) -> Result<FinishedSweep<'a>, Failure> {
    let inputs = InputsFile::write()?;
    execute(plan, pool(plan, &inputs)?, program, progress)
}

/// Prints a sweep in the form that the user wants.
pub(crate) fn print_report(
    report: &SweepReport<'_>,
    csv: Option<CsvTable>,
    is_json: bool,
    view: &View,
) -> Result<ExitCode, Failure> {
    match csv {
        Some(CsvTable::Runs) => print_by(|to| report.results().write_runs(to)),
        Some(CsvTable::Means) => print_by(|to| report.results().write_means(to)),
        None if is_json => print_by(|to| report.write_json(to)),
        None => print(&report.for_people(view)?),
    }
}

impl SweepArguments {
    /// Returns the request for the sweep. Reads the saved runs from which it goes on.
    pub(crate) fn sweep_request(&self) -> Result<SweepRequest, Failure> {
        let memory_limit = self.how.memory_limit.or_else(default_memory_limit).unwrap_or(u64::MAX);
        let read = |file: &PathBuf| Saved::read(file, memory_limit).map(Arc::new);
        let from = self.from.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let mut base = self.workers.of(self.how.request(&self.scenario, self.engine.as_deref()));
        let program = program();
        // The last one is that of the first: its scenario file is the one that is held under its name.
        for saved in from.iter().rev() {
            let Request { scenario, digest, .. } = saved.request(program.version, program.commit)?;
            if digest && !base.digest {
                let message = "`--no-digest` has no effect: the run was saved with its digest";
                return Err(Failure::usage(message, "leave that out"));
            }
            base = Request { scenario, digest, ..base };
        }
        Ok(SweepRequest {
            base,
            seeds: self.seeds.clone(),
            tie_seeds: self.scenario.tie_seeds().to_vec(),
            jobs: self.jobs,
            metrics: self.metrics.clone(),
            until_interval: self.until_interval,
            folder: self.out.clone(),
            journal: self.journal.clone(),
            shard: self.shard,
            missing: self.missing,
            from,
            fresh_metrics: self.fresh_metrics,
        })
    }
}

/// Starts the processes that execute the runs.
fn pool(plan: &SweepPlan, inputs: &InputsFile) -> Result<Pool, Failure> {
    itself::command().map_err(|error| Failure::simulation(format!("processes for runs cannot be started: {error}")))?;
    let mut words = worker_words(plan);
    words.extend(["--inputs".to_owned(), inputs.path.clone()]);
    let command = move || {
        let mut command = itself::command().expect("it was made above");
        command.args(&words);
        command
    };
    Pool::new(plan.jobs, command).map_err(|error| {
        Failure::simulation(format!("a thread for each job cannot be started: {error}; sweep with fewer `--jobs`"))
    })
}

/// Returns the arguments of a worker, which all runs have in common.
fn worker_words(plan: &SweepPlan) -> Vec<String> {
    let Request { scenario, until, engine, processes, tune, digest, .. } = &plan.request.base;
    let mut words = vec!["sweep-worker".to_owned(), scenario.clone(), "--quiet".into()];
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [format!("--{name}"), value]));
    };
    option("until", until.map(|until| until.to_string()));
    option("engine", engine.clone());
    option("threads", Some(plan.threads.to_string()));
    option("processes", processes.map(|processes| processes.to_string()));
    tune.iter().for_each(|setting| option("tune", Some(setting.clone())));
    option("memory-limit", plan.memory_limit().map(|bytes| format!("{}B", bytes.max(1))));
    if !digest {
        words.push("--no-digest".into());
    }
    words
}

/// Reports the results that are missing, and how to get them. Returns the exit status.
fn conclude(sweep: &FinishedSweep<'_>, is_quiet: bool) -> ExitCode {
    let FinishedSweep { plan, schedule, end, .. } = sweep;
    let (finished, total) = schedule.progress();
    if *end == End::Stopped {
        let how = match plan.journal_path() {
            Some(path) => format!("{} has them; give the same command again to continue", path.display()),
            None => "with `--out DIR` or `--journal FILE`, the same command given again would continue".to_owned(),
        };
        say(format_args!("stopped: {finished} of {total} runs are finished; {how}"));
        return ExitCode::from(STOPPED);
    }
    let points = schedule.points();
    if !is_quiet {
        let count = |is: &dyn Fn(usize) -> bool| (0..points).filter(|&point| is(point)).count();
        let hopeless = count(&|point| schedule.is_hopeless(point));
        let missed = count(&|point| schedule.reached(point) == Some(false)) - hopeless;
        note_missed(missed, hopeless, points, plan.seeds.len());
    }
    report_failures(sweep)
}

/// Reports the first failed run, if there is one. Returns the exit status.
pub(crate) fn report_failures(FinishedSweep { plan, schedule, .. }: &FinishedSweep<'_>) -> ExitCode {
    let total = schedule.progress().1;
    let mut runs = (0..schedule.points()).flat_map(|point| schedule.runs(point).map(move |run| (point, run)));
    let failed = runs.find_map(|(point, (seed, outcome))| match outcome {
        Outcome::Failed(failed) => Some((point, seed, &failed.message)),
        Outcome::Figures(_) => None,
    });
    let Some((point, seed, message)) = failed else { return ExitCode::SUCCESS };
    let failures = schedule.failures();
    let mut place = plan.assignments(point);
    if !plan.tie_seeds.is_empty() {
        place.extend(plan.tie_seed(point).map(|seed| format!("{TIE_SEED}={seed}")));
    }
    let place = place.join(" ");
    let place = if place.is_empty() { format!("seed {seed}") } else { format!("{place}, seed {seed}") };
    say(format_args!("error: {failures} of {total} runs failed; the first, with {place}: {message}"));
    ExitCode::from(FAILED)
}

/// Reports the number of points whose interval is wider than the user asked for.
fn note_missed(missed: usize, hopeless: usize, points: usize, seeds: usize) {
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

/// Shows the progress of a sweep.
struct Terminal {
    is_quiet: bool,
    line: Option<ProgressBar>,
}

impl Terminal {
    fn draw(&mut self, SweepProgress { finished, total, before, journal }: SweepProgress<'_>) {
        if self.is_quiet {
            return;
        }
        if let (None, Some(journal), 1..) = (&self.line, journal, before) {
            let runs = if before == 1 { "run is" } else { "runs are" };
            say(format_args!("note: {before} {runs} in {} already", journal.display()));
        }
        let line = self.line.get_or_insert_with(|| terminal::line("{wide_bar} {msg}  {eta} left", 0));
        // Runs of an earlier sweep took no time now. Counting them would make the time left too short.
        line.set_length((total - before) as u64);
        line.set_position((finished - before) as u64);
        line.set_message(format!("{finished}/{total} runs"));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}
