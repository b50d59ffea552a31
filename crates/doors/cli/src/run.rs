//! `parades run`: one simulation, from arguments to results.

use crate::arguments::{OutputArguments, RunArguments, TaskArguments};
use crate::printing::{print, print_by, say};
use crate::program;
use crate::terminal::Terminal;
use parades_capture::recorder::Settings;
use parades_catalog::Choice;
use parades_config::inputs;
use parades_report::{CaptureOutputs, Files, Outputs, Report, SampleOutputs, TraceOutputs, TracedEvents, table_named};
use parades_session::failure::STOPPED;
use parades_session::steady::{Lengthened, WIDE, lengthen};
use parades_session::{Failure, FinishedRun, Plan, Precision, Recording, Saved};
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) fn run(
    RunArguments { scenario, task, metrics, until_interval }: &RunArguments,
) -> Result<ExitCode, Failure> {
    let TaskArguments { engine, workers, how, .. } = task;
    if workers.processes.is_some_and(|processes| processes > 1) {
        // The other processes get the files as this one has read them.
        inputs::hold([]);
    }
    inputs::forget_seen();
    let plan = Plan::of(&workers.of(how.request(scenario, engine.as_deref())))?;
    let interval =
        until_interval.map(|relative_half_width| Precision { relative_half_width, metrics: metrics.clone() });
    execute(plan, task, interval, None)
}

/// Executes a plan, prints the results, and writes the files. The run is made longer until an interval is
/// narrow enough, or goes on from a saved run.
pub(crate) fn execute(
    plan: Plan,
    task: &TaskArguments,
    interval: Option<Precision>,
    from: Option<&Saved>,
) -> Result<ExitCode, Failure> {
    let choice = plan.choice()?;
    let outputs = task.outputs.outputs(from)?;
    let saving = task.saving.wish().map(|saving| ("the file of `--save`", saving.file));
    let saved = from.map(|saved| ("the saved run", saved.path().to_owned()));
    outputs.check_apart(&plan, saving.into_iter().chain(saved))?;
    let view = task.viewing.view();
    if let Some(table) = &view.table {
        table_named(&plan.simulation()?.metrics(), table)?;
    }
    let files = Files::open(&outputs, &choice, task.saving.wish().is_some(), from)?;
    let mut terminal = Terminal::new(task.how.quiet);
    let run = match interval {
        Some(precision) => run_to_precision(task, plan, &choice, &precision, &files, &mut terminal)?,
        None => run_once(task, &plan, &choice, from, &files, &mut terminal)?,
    };
    let program = program();
    let (trace, profile) = (files.trace(), files.profile());
    let report = Report {
        trace: trace.as_ref(),
        parquet: outputs.parquet,
        copy_inputs: outputs.copy_inputs,
        profile: profile.as_ref(),
        ..Report::of(&run, &program)
    };
    // The results are printed first, so they are not lost if a file cannot be written.
    if task.how.json {
        print_by(|to| report.write_json_line(to))?;
    } else {
        print(&report.for_people(&view)?)?;
    }
    files.finish(&program.command, run.outcome.end)?;
    if let Some(folder) = &outputs.folder {
        report.write_folder(folder)?;
    }
    Ok(if run.is_interrupted()? { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

/// Executes a plan at growing lengths until an interval is narrow.
fn run_to_precision(
    task: &TaskArguments,
    mut plan: Plan,
    choice: &Choice,
    precision: &Precision,
    files: &Files,
    terminal: &mut Terminal,
) -> Result<FinishedRun, Failure> {
    let found = lengthen(&plan, choice, precision, terminal)?;
    let Lengthened { mut finished, is_narrow, .. } = found;
    if !is_narrow {
        say(format_args!("note: {WIDE}"));
    }
    let is_recorded = files.are_wanted() || task.saving.wish().is_some();
    if is_recorded && finished.outcome.stopped_at.is_none() {
        // The files are those of the run with the last length.
        plan.until = Some(finished.outcome.end);
        finished = run_once(task, &plan, choice, None, files, terminal)?;
    }
    finished.notes.extend(found.notes);
    Ok(finished)
}

/// Executes a plan, from its start or from a saved run.
fn run_once(
    task: &TaskArguments,
    plan: &Plan,
    choice: &Choice,
    from: Option<&Saved>,
    files: &Files,
    terminal: &mut Terminal,
) -> Result<FinishedRun, Failure> {
    let saving = task.saving.wish();
    let mut notes = saving.as_ref().map_or_else(Vec::new, |_| files.notes_on_saves());
    terminal.note(&notes);
    let recording = Recording { saving: saving.as_ref(), from, ..files.recording() };
    let run = parades_session::run(plan, choice, recording, terminal);
    if let (Some(_), Err(Failure::Run(failed))) = (from, &run)
        && let Some(place) = failed.error.place()
    {
        // A run goes on from a save before its failure to show what led to it.
        files.finish_failed(&program().command, place.instant.time)?;
    }
    let mut run = run?;
    terminal.note(parades_session::note_of(&run.outcome.metrics).as_slice());
    let mut of_end = files.notes();
    of_end.extend(from.filter(|_| files.has_new_ones()).map(Saved::note_on_files));
    if let Some(from) = task.outputs.trace_from.filter(|&from| from >= run.outcome.end) {
        let end = run.outcome.end;
        of_end.push(format!("nothing is traced: `--trace-from` is {from}, and the run ends at {end}"));
    }
    terminal.note(&of_end);
    notes.extend(of_end);
    run.notes.extend(notes);
    Ok(run)
}

impl OutputArguments {
    fn captures(&self) -> Option<CaptureOutputs> {
        Some(CaptureOutputs {
            folder: self.pcap.clone()?,
            places: self.pcap_at.clone(),
            settings: Settings { version: self.pcap_ip, snap_length: self.pcap_snap.unwrap_or(0) },
        })
    }

    fn samples(&self) -> Option<SampleOutputs> {
        Some(SampleOutputs { folder: self.samples.clone()?, rows_max: self.samples_limit, overwrites: self.overwrite })
    }

    /// True if the user wants a file.
    pub(crate) fn writes(&self) -> bool {
        let Self { out, trace, timeline, rounds, pcap, samples, .. } = self;
        [out, trace, timeline, rounds, pcap, samples].into_iter().any(Option::is_some)
    }

    /// Returns the files that the user wants. New files of a run that goes on from a file begin there.
    fn outputs(&self, from: Option<&Saved>) -> Result<Outputs, Failure> {
        let events = TracedEvents {
            lps: self.trace_lps.clone(),
            from: self.trace_from.max(from.map(|saved| saved.head.time())),
            before: self.trace_before,
        };
        let of = |path: &Option<PathBuf>| Some(TraceOutputs { path: path.clone()?, events: events.clone() });
        let outputs = Outputs {
            folder: self.out.clone(),
            overwrite: self.overwrite,
            trace_in_folder: self.out_trace.then(|| events.clone()),
            parquet: self.out_parquet,
            copy_inputs: self.copy_inputs,
            trace: of(&self.trace),
            timeline: of(&self.timeline),
            rounds: self.rounds.clone(),
            profile: self.profile,
            captures: self.captures(),
            samples: self.samples(),
            ..Outputs::default()
        };
        match from {
            Some(saved) => outputs.going_on_with(saved),
            None => Ok(outputs),
        }
    }
}
