//! `parades run`: one simulation, from arguments to results.

use crate::arguments::{HowArguments, OutputArguments, RunArguments, SavingArguments, ViewArguments};
use crate::printing::{print, print_by, say};
use crate::program;
use crate::terminal::Terminal;
use parades_capture::recorder::Settings;
use parades_catalog::Choice;
use parades_config::inputs;
use parades_report::{CaptureOutputs, Files, Outputs, Report, SampleOutputs, table_named};
use parades_session::failure::STOPPED;
use parades_session::steady::{Lengthened, WIDE, lengthen};
use parades_session::{Failure, FinishedRun, Plan, Precision, Recording, Saved};
use std::process::ExitCode;

pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    if arguments.workers.processes.is_some_and(|processes| processes > 1) {
        // The other processes get the files as this one has read them.
        inputs::hold([]);
    }
    inputs::forget_seen();
    let plan =
        Plan::of(&arguments.workers.of(arguments.how.request(&arguments.scenario, arguments.engine.as_deref())))?;
    let RunArguments { how, viewing, outputs, saving, metrics, until_interval, .. } = arguments;
    let interval =
        until_interval.map(|relative_half_width| Precision { relative_half_width, metrics: metrics.clone() });
    execute(plan, &Task { how, viewing, outputs, saving, interval, from: None })
}

/// A run that a user asks for, beside its plan.
pub(crate) struct Task<'a> {
    pub(crate) how: &'a HowArguments,
    pub(crate) viewing: &'a ViewArguments,
    pub(crate) outputs: &'a OutputArguments,
    pub(crate) saving: &'a SavingArguments,
    /// The intervals for which the run is made longer.
    pub(crate) interval: Option<Precision>,
    /// The saved run from which the run goes on.
    pub(crate) from: Option<&'a Saved>,
}

/// Executes a plan, prints the results, and writes the files.
pub(crate) fn execute(plan: Plan, task: &Task<'_>) -> Result<ExitCode, Failure> {
    let choice = plan.choice()?;
    let outputs = task.outputs.outputs(task.from);
    outputs.check_apart(&plan)?;
    let view = task.viewing.view();
    if let Some(table) = &view.table {
        table_named(&plan.simulation()?.metrics(), table)?;
    }
    let mut files = Files::open(&outputs, &choice)?;
    let run = run_recorded(task, plan, &choice, &mut files)?;
    let program = program();
    let trace = files.trace();
    let report = Report {
        trace: trace.as_ref(),
        parquet: outputs.parquet,
        copy_inputs: task.outputs.copy_inputs,
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

/// Executes the plan. If an interval should be narrow, executes it at growing lengths.
fn run_recorded(task: &Task<'_>, mut plan: Plan, choice: &Choice, files: &mut Files) -> Result<FinishedRun, Failure> {
    let mut terminal = Terminal::new(task.how.quiet);
    let mut notes = Vec::new();
    let saving = task.saving.wish();
    if let Some(precision) = &task.interval {
        let found = lengthen(&plan, choice, precision, &mut terminal)?;
        let Lengthened { mut finished, is_narrow, .. } = found;
        if !is_narrow {
            say(format_args!("note: {WIDE}"));
        }
        if !(files.are_wanted() || saving.is_some()) || finished.outcome.stopped_at.is_some() {
            finished.notes.extend(found.notes);
            return Ok(finished);
        }
        // The files are those of the run with the last length.
        plan.until = Some(finished.outcome.end);
        notes = found.notes;
    }
    let recording = Recording { saving: saving.as_ref(), from: task.from, ..files.recording() };
    let mut run = parades_session::run(&plan, choice, recording, &mut terminal)?;
    terminal.note(parades_session::note_of(&run.outcome.metrics).as_slice());
    run.notes.extend(notes);
    let of_files = files.notes();
    terminal.note(&of_files);
    run.notes.extend(of_files);
    if let Some(from) = task.outputs.trace_from.filter(|&from| from >= run.outcome.end) {
        let end = run.outcome.end;
        run.notes.push(format!("nothing is traced: `--trace-from` is {from}, and the run ends at {end}"));
        terminal.note(&run.notes);
    }
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

    /// True if the user wants a file beside captures.
    pub(crate) fn writes(&self) -> bool {
        self.out.is_some() || self.trace.is_some() || self.timeline.is_some()
    }

    /// Returns the files that the user wants. Those of a run that goes on from a file begin there.
    fn outputs(&self, from: Option<&Saved>) -> Outputs {
        let begin = from.map(|saved| saved.head.time());
        Outputs {
            folder: self.out.clone(),
            overwrite: self.overwrite,
            trace_in_folder: self.out_trace,
            parquet: self.out_parquet,
            trace: self.trace.clone(),
            timeline: self.timeline.clone(),
            captures: self.captures(),
            samples: self.samples(),
            trace_lps: self.trace_lps.clone(),
            trace_from: self.trace_from.max(begin),
            trace_before: self.trace_before,
        }
    }
}
