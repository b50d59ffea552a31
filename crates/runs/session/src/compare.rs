//! The same run on several engines, which must come to the same result.

use crate::{Failure, FinishedRun, Observer, Plan, Recording, Request, run};
use parades_catalog::{Choice, Engine};

/// The runs of a plan on several engines.
#[derive(Debug)]
pub struct Comparison {
    /// The runs that came to their end, in the order of the engines.
    pub runs: Vec<FinishedRun>,
    /// The engine of each run that an interrupt stopped, or that it left no time for.
    pub stopped: Vec<Engine>,
}

/// Returns the engines that are compared where none is named: those that can run the plan's scenario. The
/// engine [`RollbackCheck`](Engine::RollbackCheck) checks models. Its speed says nothing, so it is not among
/// them.
pub fn compared_by_default(plan: &Plan) -> impl Iterator<Item = Engine> {
    let can_run = |engine: &Engine| plan.scenario.is_restorable(&plan.values) || !engine.rolls_back();
    Engine::algorithms().filter(|engine| *engine != Engine::RollbackCheck).filter(can_run)
}

/// The runs of a comparison: each engine on each number of processes and threads.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// The names of the engines; those of [`compared_by_default`] where none is named.
    pub engines: &'a [String],
    /// The numbers of threads of a process; the plan's own where there is none.
    pub threads: &'a [u64],
    /// The numbers of processes; the plan's own where there is none.
    pub processes: &'a [u64],
}

/// Runs a plan on several engines, one after another, and each on several numbers of processes and threads.
///
/// An engine of one thread runs once, on one, and an engine of one process in one. An engine gets the
/// settings that it has. A setting that none of the engines has is given to all of them, and they refuse it.
///
/// # Errors
///
/// Those of [`Plan::choice`] and [`run`]; [`Failure::Stopped`] where an interrupt stopped the first run.
pub fn compare(plan: &Plan, sides: Sides<'_>, observer: &mut dyn Observer) -> Result<Comparison, Failure> {
    if !plan.request.digest {
        return Err(Failure::usage("engines cannot be compared without a digest", "leave out `--no-digest`"));
    }
    let plans = plans_of(plan, sides)?;
    let mut runs = Vec::new();
    for (plan, choice) in &plans {
        let finished = run(plan, choice, Recording::default(), observer);
        match finished.and_then(|run| run.complete("a comparison needs a whole run, so there is no result")) {
            Ok(run) => runs.push(run),
            Err(Failure::Stopped(_)) if !runs.is_empty() => break,
            Err(failure) => return Err(failure),
        }
    }
    let stopped = plans[runs.len()..].iter().map(|(_, choice)| choice.engine).collect();
    Ok(Comparison { runs, stopped })
}

/// Returns the plans of all runs, so that a mistake in one of them is found before any run.
fn plans_of(plan: &Plan, sides: Sides<'_>) -> Result<Vec<(Plan, Choice)>, Failure> {
    let engines: Vec<Engine> = match sides.engines {
        [] => compared_by_default(plan).collect(),
        names => names.iter().map(|name| Engine::named(name)).collect::<Result<_, _>>()?,
    };
    let mut plans = Vec::new();
    for &engine in &engines {
        let of_engine = Request {
            engine: Some(engine.to_string()),
            tune: settings_of(engine, &engines, &plan.request.tune),
            ..plan.request.clone()
        };
        let each_process = numbers(sides.processes, engine.is_distributed());
        let each_thread = numbers(sides.threads, engine.is_parallel());
        for (&processes, &threads) in each_process.iter().flat_map(|p| each_thread.iter().map(move |t| (p, t))) {
            let mut plan = plan.clone();
            plan.request = Request { threads, processes, ..of_engine.clone() };
            if !engine.is_parallel() {
                plan.settings.threads = None;
            }
            if !engine.is_distributed() {
                plan.settings.processes = None;
            }
            let choice = plan.choice()?;
            plans.push((plan, choice));
        }
    }
    Ok(plans)
}

/// Returns the numbers of threads or processes that an engine runs on; `None` leaves it to the plan.
fn numbers(asked: &[u64], has_several: bool) -> Vec<Option<u64>> {
    if asked.is_empty() || !has_several { vec![None] } else { asked.iter().copied().map(Some).collect() }
}

/// Returns the settings that are meant for an engine.
fn settings_of(engine: Engine, engines: &[Engine], tune: &[String]) -> Vec<String> {
    let is_meant = |assignment: &&String| {
        let key = assignment.split('=').next().unwrap_or_default();
        engine.has_setting(key) || !engines.iter().any(|other| other.has_setting(key))
    };
    tune.iter().filter(is_meant).cloned().collect()
}

impl FinishedRun {
    /// True if two runs came to the same result: events, end, metrics and digest.
    pub fn has_result_of(&self, other: &FinishedRun) -> bool {
        let of = |run: &FinishedRun| {
            let outcome = &run.outcome;
            (outcome.digest, outcome.events, outcome.global_events, outcome.end)
        };
        of(self) == of(other) && self.outcome.metrics == other.outcome.metrics
    }
}
