//! `parades compare`: the same run on several engines, digests checked against each other.

use crate::arguments::{CompareArguments, HowArguments};
use crate::plan::Plan;
use crate::print;
use crate::report::{engine_stats, figure, table};
use crate::run::{Done, Watch, execute};
use parades_catalog::engines::{has_setting, names, rolls_back};
use parades_catalog::{Choice, Wish};
use parades_core::metrics::Unit;
use parades_session::Failure;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn compare(arguments: &CompareArguments) -> Result<ExitCode, Failure> {
    if arguments.how.no_digest {
        return Err(Failure::usage("engines cannot be compared without a digest", "leave out `--no-digest`"));
    }
    let plan = Plan::of(&arguments.scenario)?;
    let engines: Vec<&str> = match arguments.engines.as_slice() {
        [] if plan.scenario.is_restorable() => names(),
        [] => names().into_iter().filter(|engine| !rolls_back(engine)).collect(),
        engines => engines.iter().map(String::as_str).collect(),
    };
    let choose = |&engine: &&str| {
        let how = HowArguments { tune: tune_of(engine, &engines, &arguments.how.tune), ..arguments.how.clone() };
        // Engines that have one thread take part with it.
        let threads = how.threads.or(plan.settings.threads);
        let threads = threads.filter(|_| !["sequential", "rollback-check"].contains(&engine));
        let processes = how.processes.or(plan.settings.processes);
        let choice = Choice::of(Wish { engine, threads, processes, tune: &how.tune })?;
        choice.check(plan.scenario).map(|()| (choice, how))
    };
    let choices = engines.iter().map(choose).collect::<Result<Vec<_>, _>>()?;
    let mut runs = Vec::new();
    for (choice, how) in choices {
        let command = plan.command(&arguments.scenario, &how, choice.engine.name);
        let watch = Watch { progress: !how.quiet, ..Watch::default() };
        let done = execute(plan.clone(), choice, &how, watch)?.map_err(|error| Failure::of_run(&error, &command))?;
        if done.stopped_by_hand()? {
            return Err(Failure::Stopped("a comparison needs whole runs, so there is no result"));
        }
        runs.push(done);
    }
    print(&if arguments.how.json { as_json(&runs) } else { for_people(&runs) })?;
    match runs.iter().find(|run| !same(run, &runs[0])) {
        None => Ok(ExitCode::SUCCESS),
        Some(other) => Err(Failure::simulation(format!(
            "{} and {} came to different results; `parades diff` finds the event where they part",
            runs[0].choice.engine.name, other.choice.engine.name
        ))),
    }
}

/// The settings that are meant for an engine: those that it has, and those that none of the engines has, which it refuses.
fn tune_of(engine: &str, engines: &[&str], tune: &[String]) -> Vec<String> {
    let key = |assignment: &String| assignment.split('=').next().unwrap_or_default().to_owned();
    let is_meant = |assignment: &&String| {
        let key = key(assignment);
        has_setting(engine, &key) || !engines.iter().any(|other| has_setting(other, &key))
    };
    tune.iter().filter(is_meant).cloned().collect()
}

/// Whether two runs came to the same.
fn same(a: &Done, b: &Done) -> bool {
    let of = |run: &Done| (run.outcome.digest, run.outcome.events, run.outcome.global_events, run.outcome.end);
    of(a) == of(b) && a.outcome.metrics == b.outcome.metrics
}

fn seconds(run: &Done) -> f64 {
    run.run.as_secs_f64()
}

fn as_json(runs: &[Done]) -> String {
    let row = |run: &Done| {
        json!({
            "engine": run.choice.engine.name,
            "threads": run.choice.threads,
            "events": run.outcome.events,
            "digest": run.outcome.digest.map(|digest| format!("{digest:016x}")),
            "same": same(run, &runs[0]),
            "run_s": seconds(run),
            "speedup": seconds(&runs[0]) / seconds(run),
            "engine_stats": engine_stats(&run.outcome),
        })
    };
    let rows: Vec<Value> = runs.iter().map(row).collect();
    let plan = &runs[0].plan;
    format!(
        "{}\n",
        json!({"schema": 1, "scenario": plan.scenario.name, "parameters": plan.values, "seed": plan.seed, "tie_seed": plan.tie_seed, "runs": rows})
    )
}

fn for_people(runs: &[Done]) -> String {
    let mut drawn = table(&["engine", "threads", "events", "run time", "speed", "against the first", "digest", ""]);
    for run in runs {
        let speed = run.outcome.events as f64 / seconds(run);
        drawn.add_row([
            run.choice.engine.name.to_owned(),
            run.choice.threads.to_string(),
            run.outcome.events.to_string(),
            figure(Unit::Seconds, seconds(run)),
            figure(Unit::PerSecond, speed),
            format!("{:.2}", seconds(&runs[0]) / seconds(run)),
            run.outcome.digest.map_or_else(String::new, |digest| format!("{digest:016x}")),
            if same(run, &runs[0]) { "same".into() } else { "DIFFERENT".into() },
        ]);
    }
    format!("{drawn}\n")
}
