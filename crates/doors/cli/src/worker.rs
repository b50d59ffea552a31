//! The process that executes the runs of a sweep. It is asked with a line of JSON, and answers with a line.

use crate::arguments::WorkerArguments;
use crate::printing::print_by;
use crate::{inputs_file, program};
use parades_config::inputs;
use parades_core::error::ErrorKind;
use parades_report::result_file::remove_temporaries;
use parades_report::{Report, folder, metrics};
use parades_session::branch::Wish;
use parades_session::machine::forget_peak_rss;
use parades_session::sweep::{Checked, FromSaved, WorkerRequest};
use parades_session::{Branched, Failure, Plan, Program, Recording, Request, Saved, interrupt};
use parades_sweep::{Failed, Outcome};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};

/// Answers requests until there are no more, or until the sweep is gone.
pub(crate) fn work(arguments: &WorkerArguments) -> Result<ExitCode, Failure> {
    arguments.inputs.as_deref().map_or(Ok(()), inputs_file::hold)?;
    let base = arguments.workers.of(arguments.how.request(&arguments.scenario, arguments.engine.as_deref()));
    let mut saved = SavedRuns::default();
    for line in requests()? {
        let asked: WorkerRequest = serde_json::from_str(&line)
            .map_err(|error| Failure::usage(format!("not a request: {error}"), "`parades sweep` knows how to ask"))?;
        let WorkerRequest { set, seed, tie_seed, .. } = asked.clone();
        let request = Request { set, seed: Some(seed), tie_seed, allows_idle: true, ..base.clone() };
        let answer = if asked.check {
            json!(check(&request, &asked, &mut saved))
        } else {
            // Before the first run, a signal ends the process as it always does. Between runs, too: the sweep
            // starts another process if it needs one.
            interrupt::listen(|_| crate::stop());
            forget_peak_rss();
            json!(run(&request, &asked, &mut saved).unwrap_or_else(Outcome::Failed))
        };
        print_by(|to| writeln!(to, "{answer}").and_then(|()| to.flush()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the lines of standard input. When it ends, so does this process, even in the middle of a run: the
/// sweep is gone.
fn requests() -> Result<Receiver<String>, Failure> {
    let (line, lines) = channel();
    let read = move || {
        for request in std::io::stdin().lock().lines().map_while(Result::ok) {
            if line.send(request).is_err() {
                break;
            }
        }
        remove_temporaries();
        std::process::exit(0);
    };
    match std::thread::Builder::new().spawn(read) {
        Ok(_) => Ok(lines),
        Err(error) => Err(Failure::no_thread("worker", &error)),
    }
}

/// The saved runs that this process has read, by their hashes.
#[derive(Default)]
struct SavedRuns(BTreeMap<String, Saved>);

impl SavedRuns {
    /// Returns the plan of a run, and the branch that it goes on from, if it does so.
    fn plan(&mut self, request: &Request, asked: &WorkerRequest) -> Result<(Plan, Option<Saved>), Failure> {
        let Some(FromSaved { file, hash, fresh_metrics }) = &asked.from else {
            return Ok((Plan::of(request)?, None));
        };
        if !self.0.contains_key(hash) {
            let saved = Saved::read(file, request.memory_limit.unwrap_or(u64::MAX))?;
            if saved.file_hash() != *hash {
                let message = format!("{} was changed during the sweep; start the sweep again", file.display());
                return Err(Failure::simulation(message));
            }
            self.0.insert(hash.clone(), saved);
        }
        let saved = self.0.get_mut(hash).expect("it was read above");
        let program = program();
        let Request { scenario, .. } = saved.request(program.version, program.commit)?;
        let base = Request { scenario, set: Vec::new(), seed: None, tie_seed: None, ..request.clone() };
        let wish = Wish { set: asked.set.clone(), seed: Some(asked.seed), fresh_metrics: *fresh_metrics };
        let branch = saved.branch(&base, &wish)?;
        Ok((Plan::of(&base)?, Some(branch)))
    }
}

/// Executes a run.
fn run(request: &Request, asked: &WorkerRequest, saved: &mut SavedRuns) -> Result<Outcome, Failed> {
    let failed = |failure: Failure| Failed { message: failure.to_string(), transient: false };
    let transient = |failure: Failure| Failed { message: failure.to_string(), transient: true };
    inputs::forget_seen();
    let (plan, branch) = saved.plan(request, asked).map_err(transient)?;
    if branch.is_none() && json!(plan.values) != asked.parameters {
        let message = format!("{} was changed during the sweep; start the sweep again", request.scenario);
        return Err(Failed { message, transient: true });
    }
    let choice = plan.choice().map_err(failed)?;
    let recording = Recording { from: branch.as_ref(), ..Recording::default() };
    let run = parades_session::run(&plan, &choice, recording, &mut ())
        .map_err(|failure| Failed { message: failure.to_string(), transient: is_transient(&failure) })?;
    // A model that says that its results are incomplete would say so again.
    let may_succeed_later = run.outcome.metrics.incomplete().is_none();
    let stopped = |failure: Failure| Failed { message: failure.to_string(), transient: may_succeed_later };
    if run.is_interrupted().map_err(stopped)? {
        return Err(Failed { message: "its process was asked to stop".into(), transient: true });
    }
    if let Some(folder) = &asked.folder {
        // The folder of results records the command that executes this one run.
        let command = run.branches.last().map_or_else(|| plan.command(), Branched::command);
        let program = Program { command, ..program() };
        let claim = folder::make(folder).map_err(transient)?;
        Report::of(&run, &program).write_folder(folder).map_err(transient)?;
        drop(claim);
    }
    Ok(Outcome::Figures(Box::new(metrics::figures_of(&run))))
}

/// True if the same run may succeed when it is tried again: the machine failed, or somebody stopped the run.
fn is_transient(failure: &Failure) -> bool {
    match failure {
        Failure::Input(_) | Failure::Simulation(_) => false,
        Failure::Run(run) => matches!(run.error.kind(), ErrorKind::Memory { .. }),
        Failure::Stopped(_) => true,
    }
}

/// Makes the model of a run and drops it.
fn check(request: &Request, asked: &WorkerRequest, saved: &mut SavedRuns) -> Checked {
    let plan = match saved.plan(request, asked) {
        Ok((plan, _)) => plan,
        Err(failure) => return Checked::Wrong(failure.to_string()),
    };
    match plan.simulation() {
        Ok(simulation) => Checked::Metrics(metrics::figures(&simulation.metrics()).keys().cloned().collect()),
        Err(error) => Checked::Wrong(error.to_string()),
    }
}
