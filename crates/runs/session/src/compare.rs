//! The same run on several engines, which must come to the same result.

use crate::{Failure, FinishedRun, Observer, Plan, Recording, run};
use parades_catalog::{Choice, Engine};

/// The runs of a plan on several engines.
#[derive(Debug)]
pub struct Comparison {
    /// The runs that came to their end, in the order of the engines.
    pub runs: Vec<FinishedRun>,
    /// The engines that an interrupt stopped, or that it left no time for.
    pub stopped: Vec<Engine>,
}

/// Returns the engines that are compared where none is named: those that can run the plan's scenario. The
/// engine [`RollbackCheck`](Engine::RollbackCheck) checks models. Its speed says nothing, so it is not among
/// them.
pub fn compared_by_default(plan: &Plan) -> impl Iterator<Item = Engine> {
    let can_run = |engine: &Engine| plan.scenario.is_restorable(&plan.values) || !engine.rolls_back();
    Engine::algorithms().filter(|engine| *engine != Engine::RollbackCheck).filter(can_run)
}

/// Runs a plan on several engines, one after another; on those of [`compared_by_default`] where none is named.
///
/// An engine of one thread runs on one, whatever number of threads is asked for, and an engine of one process
/// in one. An engine gets the settings
/// that it has. A setting that none of the engines has is given to all of them, and they refuse it.
///
/// # Errors
///
/// Those of [`Plan::choice`] and [`run`]; [`Failure::Stopped`] where an interrupt stopped the first run.
pub fn compare(plan: &Plan, engines: &[String], observer: &mut dyn Observer) -> Result<Comparison, Failure> {
    if !plan.request.digest {
        return Err(Failure::usage("engines cannot be compared without a digest", "leave out `--no-digest`"));
    }
    let engines: Vec<Engine> = match engines {
        [] => compared_by_default(plan).collect(),
        names => names.iter().map(|name| Engine::named(name)).collect::<Result<_, _>>()?,
    };
    let plan_for = |&engine: &Engine| {
        let mut plan = plan.clone();
        plan.request.engine = Some(engine.to_string());
        plan.request.tune = settings_of(engine, &engines, &plan.request.tune);
        if !engine.is_parallel() {
            (plan.request.threads, plan.settings.threads) = (None, None);
        }
        if !engine.is_distributed() {
            (plan.request.processes, plan.settings.processes) = (None, None);
        }
        plan.choice().map(|choice| (plan, choice))
    };
    // A mistake in the settings of one engine is found before any run.
    let plans = engines.iter().map(plan_for).collect::<Result<Vec<(Plan, Choice)>, _>>()?;
    let mut runs = Vec::new();
    for (plan, choice) in &plans {
        let finished = run(plan, choice, Recording::default(), observer);
        match finished.and_then(|run| run.complete("a comparison needs a whole run, so there is no result")) {
            Ok(run) => runs.push(run),
            Err(Failure::Stopped(_)) if !runs.is_empty() => break,
            Err(failure) => return Err(failure),
        }
    }
    let stopped = engines[runs.len()..].to_vec();
    Ok(Comparison { runs, stopped })
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
