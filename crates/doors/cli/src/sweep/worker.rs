//! The process that executes the runs of a sweep: it is asked with a line of JSON, and answers with one.

use crate::arguments::{ScenarioArguments, WorkerArguments};
use crate::plan::Plan;
use crate::run::{Done, Watch, execute};
use crate::{print_by, report};
use parades_core::error::ErrorKind;
use parades_session::Failure;
use parades_session::machine::forget_peak_rss;
use parades_sweep::{Failed, Figures, Grid, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};

/// What a worker is asked.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The `KEY=VALUE` of each parameter that is set.
    set: Vec<String>,
    seed: u64,
    /// All parameters, as they must come out.
    parameters: Value,
    /// Where the results go as files.
    folder: Option<PathBuf>,
    /// Whether nothing is to be run, but the model made.
    check: bool,
}

/// What a worker found when it made a model.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Checked {
    /// The figures that its runs will have.
    Metrics(Vec<String>),
    /// Why there is none: the user's mistake.
    Wrong(String),
}

impl Request {
    /// Asks for a run.
    pub(super) fn run(grid: &Grid, point: usize, seed: u64, folder: Option<PathBuf>) -> Request {
        let parameters = json!(grid.points()[point]);
        Request { set: grid.assignments(point), seed, parameters, folder, check: false }
    }

    /// Asks whether there can be a run.
    pub(super) fn check(grid: &Grid, point: usize, seed: u64) -> Request {
        Request { check: true, ..Request::run(grid, point, seed, None) }
    }

    /// It as a line.
    pub(super) fn line(&self) -> String {
        json!(self).to_string()
    }
}

/// Answers requests until there are no more, or nobody who could ask.
pub(crate) fn work(arguments: &WorkerArguments) -> Result<ExitCode, Failure> {
    for line in requests() {
        let request: Request = serde_json::from_str(&line)
            .map_err(|error| Failure::usage(format!("not a request: {error}"), "`parades sweep` knows how to ask"))?;
        let answer = if request.check {
            json!(check(arguments, &request))
        } else {
            forget_peak_rss();
            json!(run(arguments, &request).unwrap_or_else(Outcome::Failed))
        };
        print_by(|to| writeln!(to, "{answer}").and_then(|()| to.flush()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines of standard input. When it ends, so does this process, in the middle of a run if there is one: whoever asked is gone.
fn requests() -> Receiver<String> {
    let (line, lines) = channel();
    std::thread::spawn(move || {
        for request in std::io::stdin().lock().lines().map_while(Result::ok) {
            if line.send(request).is_err() {
                break;
            }
        }
        std::process::exit(0);
    });
    lines
}

/// The arguments of `parades run` that a request stands for.
fn scenario(arguments: &WorkerArguments, request: &Request) -> ScenarioArguments {
    ScenarioArguments { set: request.set.clone(), seed: Some(request.seed), ..arguments.scenario.clone() }
}

/// Executes a run.
fn run(arguments: &WorkerArguments, request: &Request) -> Result<Outcome, Failed> {
    let failed = |failure: Failure| Failed { message: failure.to_string(), passing: false };
    let passing = |failure: Failure| Failed { message: failure.to_string(), passing: true };
    let scenario = scenario(arguments, request);
    let plan = Plan::of(&scenario).map_err(passing)?;
    if json!(plan.values) != request.parameters {
        let message = format!("{} was changed while the sweep was under way; begin it anew", scenario.scenario);
        return Err(Failed { message, passing: true });
    }
    let choice = plan.engine(arguments.engine.as_deref(), &arguments.how).map_err(failed)?;
    let command = plan.command(&scenario, &arguments.how, choice.engine.name);
    let mut done = execute(plan, choice, &arguments.how, Watch::default()).map_err(failed)?.map_err(|error| {
        // These are of the machine and the moment.
        let passing = matches!(error.kind(), ErrorKind::Memory { .. } | ErrorKind::Stopped);
        Failed { message: Failure::of_run(&error, &command).to_string(), passing }
    })?;
    if done.stopped_by_hand().map_err(passing)? {
        return Err(Failed { message: "its process was asked to stop".into(), passing: true });
    }
    // What its folder says of how to come to it.
    done.command = command;
    if let Some(folder) = &request.folder {
        report::make_folder(folder).and_then(|()| report::write_folder(folder, &done)).map_err(passing)?;
    }
    Ok(Outcome::Figures(Box::new(figures(&done))))
}

/// What a sweep keeps of a run.
fn figures(done: &Done) -> Figures {
    let outcome = &done.outcome;
    Figures {
        events: outcome.events,
        global_events: outcome.global_events,
        digest: outcome.digest.map(|digest| format!("{digest:016x}")),
        virtual_time_s: outcome.end.as_secs_f64(),
        setup_s: done.setup.as_secs_f64(),
        run_s: done.run.as_secs_f64(),
        peak_rss_bytes: done.peak_rss_bytes,
        metrics: report::figures(&outcome.metrics),
    }
}

/// Makes the model of a run and drops it.
fn check(arguments: &WorkerArguments, request: &Request) -> Checked {
    let plan = match Plan::of(&scenario(arguments, request)) {
        Ok(plan) => plan,
        Err(failure) => return Checked::Wrong(failure.to_string()),
    };
    match plan.simulation() {
        Ok(simulation) => Checked::Metrics(report::figures(&simulation.metrics()).keys().cloned().collect()),
        Err(error) => Checked::Wrong(error.to_string()),
    }
}
