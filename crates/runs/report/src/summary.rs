//! The JSON object of a run. Its fields are a promise to scripts.
//!
//! Tables and series have a row for each flow, link or sample. They are written row by row: as a tree of
//! values they would take more memory than the run did.

use crate::Report;
use crate::metrics::{AllMetrics, float};
use parades_config::{Kind, Values};
use parades_core::run::{EngineChange, Outcome};
use parades_session::recorded::inputs;
use parades_session::{FinishedRun, Resumed};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::io::{self, BufWriter, Write};

impl Report<'_> {
    /// Writes the run as a JSON object on one line.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write_json_line(&self, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::new(to);
        serde_json::to_writer(&mut to, &Summary(self))?;
        to.write_all(b"\n")?;
        to.flush()
    }

    /// Returns the fields of the run as `--json` has them; the metrics are left empty.
    pub fn fields(&self) -> Map<String, Value> {
        let Report { run, program, .. } = self;
        let FinishedRun { plan, choice, outcome, .. } = run;
        let run_s = run.run_wall.as_secs_f64();
        let mut object = json!({
            "schema": 1,
            "version": program.version,
            "commit": program.commit,
            "command": program.command,
            "machine": run.machine,
            "scenario": plan.scenario.name,
            "parameters": parameters(&plan.values),
            "engine": choice.engine.name(),
            "settings": choice.settings,
            "threads": choice.threads,
            "processes": choice.processes,
            "seed": plan.seed,
            "tie_seed": plan.tie_seed,
            "until": outcome.end.to_string(),
            "virtual_time_s": outcome.end.as_secs_f64(),
            "lps": run.lps,
            "events": outcome.events,
            "global_events": outcome.global_events,
            "digest": outcome.digest.map(|digest| format!("{digest:016x}")),
            "wall_s": {"setup": run.setup_wall.as_secs_f64(), "run": run_s, "results": run.results_wall.as_secs_f64()},
            "events_per_s": run.events_per_s(),
            "peak_rss_bytes": run.peak_rss_bytes,
            "notes": run.notes,
            "inputs": inputs::as_json(&run.inputs),
            METRICS: null,
            "engine_stats": engine_stats(outcome),
        });
        if !run.peak_rss_bytes_of_others.is_empty() {
            object["peak_rss_bytes_of_others"] = json!(run.peak_rss_bytes_of_others);
        }
        if let Some(resumed) = &run.resumed {
            object["resumed"] = resumed_as_json(resumed);
        }
        if !run.branches.is_empty() {
            object["branches"] = json!(run.branches);
        }
        if let Some(profile) = self.profile {
            object["profile"] = profile.as_json();
        }
        if let Some(trace) = self.trace {
            object["trace"] = trace.events.clone();
        }
        if let Some(engine) = outcome.engine_at_end() {
            object["engine_at_end"] = json!(engine);
            object["engine_changes"] = outcome.changes.iter().map(change_as_json).collect();
        }
        if let Some(time) = outcome.stopped_at {
            object["stopped_at_s"] = json!(time.as_secs_f64());
        }
        match object {
            Value::Object(fields) => fields,
            _ => unreachable!("it is written as an object above"),
        }
    }
}

/// Returns a change of engine, with its virtual time.
fn change_as_json(EngineChange { time, from, to, times_as_fast }: &EngineChange) -> Value {
    json!({"time_s": time.as_secs_f64(), "from": from, "to": to, "times_as_fast": times_as_fast})
}

/// Returns the save from which a run went on: its file, and the virtual time of the cut.
pub(crate) fn resumed_as_json(Resumed { file, time }: &Resumed) -> Value {
    json!({"file": file.to_string_lossy(), "time": time.to_string()})
}

/// A run as a JSON object.
pub(crate) struct Summary<'a>(pub(crate) &'a Report<'a>);

impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Summary(report) = self;
        serializer.collect_map(report.fields().iter().map(|(name, value)| {
            let field = Field::Value(value);
            (name, if name == METRICS { Field::Metrics(AllMetrics(&report.run.outcome.metrics)) } else { field })
        }))
    }
}

/// The field that is made while it is written.
const METRICS: &str = "metrics";

#[derive(Serialize)]
#[serde(untagged)]
enum Field<'a> {
    Value(&'a Value),
    Metrics(AllMetrics<'a>),
}

/// Returns the parameters. The paths that a scenario file gives relative to its folder are given relative to
/// the current folder.
fn parameters(values: &Values) -> Value {
    let mut all = json!(values);
    for (parameter, _) in values.iter().filter(|(parameter, _)| matches!(parameter.kind(), Kind::Path)) {
        if let Some(path) = values.path(parameter.key()) {
            all[parameter.key()] = path.to_string_lossy().into();
        }
    }
    all
}

/// Returns the statistics that only the engine has.
pub(crate) fn engine_stats(outcome: &Outcome) -> Map<String, Value> {
    outcome.engine_stats.iter().map(|&(name, x)| (name.into(), float(x))).collect()
}
