//! One run on several engines, side by side.

use crate::drawing::{Column, Entry, draw};
use crate::summary::engine_stats;
use parades_config::shortened_to;
use parades_core::metrics::Unit;
use parades_session::{Comparison, FinishedRun};
use serde_json::{Value, json};
use std::fmt::Write;

/// Returns a comparison as one JSON object. All runs are compared with the first.
///
/// # Panics
///
/// Panics if there are no runs.
pub fn as_json(Comparison { runs, stopped }: &Comparison) -> Value {
    let first = &runs[0];
    let row = |run: &FinishedRun| {
        json!({
            "engine": run.choice.engine.name(),
            "threads": run.choice.threads,
            "processes": run.choice.processes,
            "events": run.outcome.events,
            "digest": run.outcome.digest.map(|digest| format!("{digest:016x}")),
            "same": run.has_result_of(first),
            "run_s": run.run_wall.as_secs_f64(),
            "speedup": first.run_wall.as_secs_f64() / run.run_wall.as_secs_f64(),
            "engine_stats": engine_stats(&run.outcome),
        })
    };
    let rows: Vec<Value> = runs.iter().map(row).collect();
    let plan = &first.plan;
    let stopped: Vec<&str> = stopped.iter().map(|engine| engine.name()).collect();
    json!({
        "schema": 1, "scenario": plan.scenario.name, "parameters": plan.values, "seed": plan.seed,
        "tie_seed": plan.tie_seed, "runs": rows, "stopped": stopped,
    })
}

/// Returns the runs of a comparison as a table, with lines of at most `width` characters.
///
/// # Panics
///
/// Panics if there are no runs.
pub fn for_people(Comparison { runs, .. }: &Comparison, width: usize) -> String {
    let first = &runs[0];
    let digest = |run: &FinishedRun| run.outcome.digest.map_or_else(String::new, |digest| format!("{digest:016x}"));
    let speed = |run: &FinishedRun| run.outcome.events as f64 / run.run_wall.as_secs_f64();
    let speedup = |run: &FinishedRun| {
        let factor = first.run_wall.as_secs_f64() / run.run_wall.as_secs_f64();
        Entry::Text(if factor < 0.01 { format!("{factor:.1e}") } else { format!("{factor:.2}") })
    };
    let result = |run: &FinishedRun| if run.has_result_of(first) { "same" } else { "DIFFERENT" };
    let column = |name: &str, unit, entry: &dyn Fn(&FinishedRun) -> Entry| {
        Column::of(name, unit, &runs.iter().map(entry).collect::<Vec<_>>())
    };
    let mut columns = vec![
        column("engine", Unit::Count, &|run| Entry::Text(run.choice.engine.to_string())),
        column("threads", Unit::Count, &|run| Entry::Whole(run.choice.threads.into())),
        column("events", Unit::Count, &|run| Entry::Whole(run.outcome.events.into())),
        column("run time", Unit::Seconds, &|run| Entry::Number(run.run_wall.as_secs_f64())),
        column("speed", Unit::PerSecond, &|run| Entry::Number(speed(run))),
        column("against the first", Unit::Count, &speedup),
        column("result", Unit::Count, &|run| Entry::Text(result(run).into())),
    ];
    if runs.iter().any(|run| run.choice.processes > 1) {
        columns.insert(1, column("processes", Unit::Count, &|run| Entry::Whole(run.choice.processes.into())));
    }
    let are_same = runs.iter().all(|run| run.has_result_of(first));
    if !are_same {
        columns.push(column("digest", Unit::Count, &|run| Entry::Text(digest(run))));
    }
    let mut text = format!("{}\n", shortened_to(width - 1, &first.plan.title()));
    draw(&mut text, &columns, width, 0, "`--json`");
    if are_same {
        let _ = writeln!(text, "digest {}", digest(first));
    }
    text
}
