//! The same run on several engines, which must come to the same result.

use crate::interrupt::is_interrupted;
use crate::run::run_made;
use crate::{Failure, FinishedRun, Observer, Plan, Recording, Request};
use parades_catalog::{Choice, Engine, Simulation};
use std::fmt;
use std::time::{Duration, Instant};

/// The runs of a plan on several engines.
#[derive(Debug)]
pub struct Comparison {
    /// The runs that came to their end, in the order of the tie seeds, and then of the engines.
    pub runs: Vec<FinishedRun>,
    /// The runs that an interrupt stopped, or that it left no time for.
    pub stopped: Vec<Planned>,
    /// The engines that cannot run the model.
    pub left_out: Vec<LeftOut>,
    /// The wall time in which the model was made. All runs share it, and the set-up time of each run has this
    /// time, as if it had made the model itself.
    pub making: Duration,
}

/// A run of a comparison, before it is executed.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The engine.
    pub choice: Choice,
}

/// An engine that cannot run the model of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The engine.
    pub engine: Engine,
    /// The number of processes for which this holds.
    pub processes: u64,
    /// The reason: a sentence without a full stop.
    pub why: String,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeftOut { engine, processes, why } = self;
        match processes {
            1 => write!(f, "{engine}: {why}"),
            _ => write!(f, "{engine} on {processes} processes: {why}"),
        }
    }
}

/// Returns the engines that are compared where none is named. The engine
/// [`RollbackCheck`](Engine::RollbackCheck) checks models. Its speed says nothing, so it is not among them.
fn all_by_default() -> impl Iterator<Item = Engine> {
    Engine::algorithms().filter(|engine| *engine != Engine::RollbackCheck)
}

/// The runs of a comparison: each engine on each number of processes and threads, with each tie seed.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// The names of the engines; all but [`RollbackCheck`](Engine::RollbackCheck) where none is named.
    pub engines: &'a [String],
    /// The numbers of threads of a process; the plan's own where there is none.
    pub threads: &'a [u64],
    /// The numbers of processes; the plan's own where there is none.
    pub processes: &'a [u64],
    /// The seeds that shuffle simultaneous events; the plan's own where there is none.
    pub tie_seeds: &'a [u64],
}

/// Runs a plan on several engines, one after another, and each on several numbers of processes and threads.
/// All of that is repeated for each tie seed.
///
/// An engine of one thread runs once, on one, and an engine of one process in one. An engine that cannot run
/// the model is left out. An engine gets the settings that it has. A setting that none of the engines has is
/// given to all of them, and they refuse it.
///
/// # Errors
///
/// Those of [`Plan::choice`] and [`run`](crate::run()); [`Failure::Stopped`] where an interrupt stopped the
/// first run; [`Failure::Input`] where engines are named, and less than two runs remain of several.
#[expect(clippy::disallowed_methods, reason = "how long it takes is measured here, outside of any model")]
pub fn compare(plan: &Plan, sides: Sides<'_>, observer: &mut dyn Observer) -> Result<Comparison, Failure> {
    if !plan.request.digest {
        return Err(Failure::usage("engines cannot be compared without a digest", "leave out `--no-digest`"));
    }
    let mut plans = plans_of(plan, sides)?;
    let begin = Instant::now();
    observer.prepares();
    // All runs share the model.
    let simulation = plan.simulation()?;
    let making = begin.elapsed();
    let left_out = leave_out(&simulation, &mut plans, !sides.engines.is_empty())?;
    let mut planned: Vec<Planned> = match sides.tie_seeds {
        [] => plans,
        seeds => seeds.iter().flat_map(|&seed| plans.iter().map(move |side| side.with_tie_seed(seed))).collect(),
    };
    let mut runs: Vec<FinishedRun> = Vec::new();
    for Planned { plan, choice } in &planned {
        if is_interrupted() && !runs.is_empty() {
            break;
        }
        let finished = run_made(plan, &simulation, choice, Recording::default(), observer);
        match finished.and_then(|run| run.complete("a comparison needs a whole run, so there is no result")) {
            Ok(run) => runs.push(FinishedRun { setup_wall: making + run.setup_wall, ..run }),
            Err(Failure::Stopped(_)) if !runs.is_empty() => break,
            Err(failure) => return Err(failure),
        }
    }
    let stopped = planned.split_off(runs.len());
    Ok(Comparison { runs, stopped, left_out, making })
}

/// Removes the sides that cannot run the model, and returns them.
fn leave_out(simulation: &Simulation, plans: &mut Vec<Planned>, are_named: bool) -> Result<Vec<LeftOut>, Failure> {
    let (mut left_out, mut first): (Vec<LeftOut>, Option<Failure>) = (Vec::new(), None);
    let count = plans.len();
    plans.retain(|Planned { plan, choice }| {
        let Err(refusal) = simulation.check(choice, plan.scenario.name) else { return true };
        let found =
            LeftOut { engine: choice.engine, processes: choice.processes, why: refusal.error.message().to_owned() };
        if !left_out.contains(&found) {
            left_out.push(found);
        }
        first.get_or_insert_with(|| plan.refused(refusal));
        false
    });
    match first {
        // A single run compares nothing, which is not what was asked for.
        Some(refusal) if plans.is_empty() || (are_named && plans.len() < count.min(2)) => Err(refusal),
        _ => Ok(left_out),
    }
}

impl Planned {
    fn with_tie_seed(&self, seed: u64) -> Planned {
        let mut planned = self.clone();
        (planned.plan.tie_seed, planned.plan.request.tie_seed) = (Some(seed), Some(seed));
        planned
    }
}

/// Returns the plans of all sides, so that a mistake in one of them is found before any run.
fn plans_of(plan: &Plan, sides: Sides<'_>) -> Result<Vec<Planned>, Failure> {
    let engines: Vec<Engine> = match sides.engines {
        [] => all_by_default().collect(),
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
            let choice = plan.unchecked_choice()?;
            plans.push(Planned { plan, choice });
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

impl Comparison {
    /// Returns the runs in groups of one tie seed each. The first run of a group is the one with which the
    /// others are compared.
    pub fn groups(&self) -> impl Iterator<Item = &[FinishedRun]> {
        self.runs.chunk_by(|a, b| a.plan.tie_seed == b.plan.tie_seed)
    }

    /// Returns the first run of the same tie seed as `run`, with which it is compared.
    pub fn reference(&self, run: &FinishedRun) -> &FinishedRun {
        let first = self.runs.iter().find(|first| first.plan.tie_seed == run.plan.tie_seed);
        first.expect("the run itself has its tie seed")
    }
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
