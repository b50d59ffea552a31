//! One run on several engines, side by side.

use crate::drawing::table;
use crate::figure::figure;
use crate::summary::engine_stats;
use parades_core::metrics::Unit;
use parades_session::FinishedRun;
use serde_json::{Value, json};

/// Returns the runs as one JSON object. The others are compared with the first.
///
/// # Panics
///
/// Panics if there are no runs.
pub fn as_json(runs: &[FinishedRun]) -> Value {
    let first = &runs[0];
    let row = |run: &FinishedRun| {
        json!({
            "engine": run.choice.engine.name(),
            "threads": run.choice.threads,
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
    json!({
        "schema": 1, "scenario": plan.scenario.name, "parameters": plan.values, "seed": plan.seed,
        "tie_seed": plan.tie_seed, "runs": rows,
    })
}

/// Returns the runs as a table.
///
/// # Panics
///
/// Panics if there are no runs.
pub fn for_people(runs: &[FinishedRun]) -> String {
    let first = &runs[0];
    let mut drawn = table(&["engine", "threads", "events", "run time", "speed", "against the first", "digest", ""]);
    for run in runs {
        let seconds = run.run_wall.as_secs_f64();
        drawn.add_row([
            run.choice.engine.to_string(),
            run.choice.threads.to_string(),
            run.outcome.events.to_string(),
            figure(Unit::Seconds, seconds),
            figure(Unit::PerSecond, run.outcome.events as f64 / seconds),
            format!("{:.2}", first.run_wall.as_secs_f64() / seconds),
            run.outcome.digest.map_or_else(String::new, |digest| format!("{digest:016x}")),
            if run.has_result_of(first) { "same".into() } else { "DIFFERENT".into() },
        ]);
    }
    format!("{drawn}\n")
}
