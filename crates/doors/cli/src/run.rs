//! `parades run`: one simulation, from arguments to results.

use crate::arguments::RunArguments;
use crate::printing::{print, print_by, say};
use crate::program;
use crate::terminal::Terminal;
use parades_capture::recorder::Settings;
use parades_catalog::Choice;
use parades_config::inputs;
use parades_report::{CaptureOutputs, Files, Outputs, Report, SampleOutputs, table_named};
use parades_session::failure::STOPPED;
use parades_session::steady::{Lengthened, WIDE, lengthen};
use parades_session::{Failure, FinishedRun, Plan, Precision};
use std::process::ExitCode;

pub(crate) fn run(arguments: &RunArguments) -> Result<ExitCode, Failure> {
    if arguments.workers.processes.is_some_and(|processes| processes > 1) {
        // The other processes get the files as this one has read them.
        inputs::hold([]);
    }
    inputs::forget_seen();
    let plan =
        Plan::of(&arguments.workers.of(arguments.how.request(&arguments.scenario, arguments.engine.as_deref())))?;
    let choice = plan.choice()?;
    let outputs = arguments.outputs();
    outputs.check_apart(&plan)?;
    let view = arguments.viewing.view();
    if let Some(table) = &view.table {
        table_named(&plan.simulation()?.metrics(), table)?;
    }
    let mut files = Files::open(&outputs, &choice)?;
    let run = execute(arguments, plan, &choice, &mut files)?;
    let program = program();
    let trace = files.trace();
    let report = Report {
        trace: trace.as_ref(),
        parquet: outputs.parquet,
        copy_inputs: arguments.copy_inputs,
        ..Report::of(&run, &program)
    };
    // The results are printed first, so they are not lost if a file cannot be written.
    if arguments.how.json {
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
fn execute(
    arguments: &RunArguments,
    mut plan: Plan,
    choice: &Choice,
    files: &mut Files,
) -> Result<FinishedRun, Failure> {
    let mut terminal = Terminal::new(arguments.how.quiet);
    let mut notes = Vec::new();
    if let Some(relative_half_width) = arguments.until_interval {
        let precision = Precision { relative_half_width, metrics: arguments.metrics.clone() };
        let found = lengthen(&plan, choice, &precision, &mut terminal)?;
        let Lengthened { mut finished, is_narrow, .. } = found;
        if !is_narrow {
            say(format_args!("note: {WIDE}"));
        }
        if !files.are_wanted() || finished.outcome.stopped_at.is_some() {
            finished.notes.extend(found.notes);
            return Ok(finished);
        }
        // The files are those of the run with the last length.
        plan.until = Some(finished.outcome.end);
        notes = found.notes;
    }
    let mut run = parades_session::run(&plan, choice, files.recording(), &mut terminal)?;
    terminal.note(parades_session::note_of(&run.outcome.metrics).as_slice());
    run.notes.extend(notes);
    let of_files = files.notes();
    terminal.note(&of_files);
    run.notes.extend(of_files);
    if let Some(from) = arguments.trace_from.filter(|&from| from >= run.outcome.end) {
        let end = run.outcome.end;
        run.notes.push(format!("nothing is traced: `--trace-from` is {from}, and the run ends at {end}"));
        terminal.note(&run.notes);
    }
    Ok(run)
}

impl RunArguments {
    fn captures(&self) -> Option<CaptureOutputs> {
        Some(CaptureOutputs {
            folder: self.pcap.clone()?,
            places: self.pcap_at.clone(),
            settings: Settings { version: self.pcap_ip, snap_length: self.pcap_snap.unwrap_or(0) },
        })
    }

    fn samples(&self) -> Option<SampleOutputs> {
        Some(SampleOutputs { folder: self.samples.clone()?, rows_max: self.samples_limit })
    }

    fn outputs(&self) -> Outputs {
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
            trace_from: self.trace_from,
            trace_before: self.trace_before,
        }
    }
}
