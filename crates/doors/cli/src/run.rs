//! `parades run`: one simulation, from arguments to results.

use crate::arguments::{OutputArguments, RunArguments, TaskArguments};
use crate::printing::{print, print_by};
use crate::program;
use crate::terminal::Terminal;
use parades_capture::recorder::Settings;
use parades_config::inputs;
use parades_report::{
    CaptureOutputs, Files, Outputs, Report, SampleOutputs, Task, TraceOutputs, TracedEvents, table_named,
};
use parades_session::failure::STOPPED;
use parades_session::{Failure, Plan, Precision, Saved};
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
    let saving = task.saving.wish();
    outputs.check_apart(&plan, saving.as_ref(), from)?;
    let view = task.viewing.view();
    if let Some(table) = &view.table {
        table_named(&plan.simulation()?.metrics(), table)?;
    }
    let files = Files::open(&outputs, &choice, saving.is_some(), from)?;
    let program = program();
    let run = Task {
        precision: interval.as_ref(),
        saving: saving.as_ref(),
        from,
        trace_from: task.outputs.trace_from,
        command: &program.command,
    }
    .execute(plan, &choice, &files, &mut Terminal::new(task.how.quiet))?;
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
