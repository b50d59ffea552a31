//! The metrics of a comparison that depend on the order of simultaneous events.

use super::ComparisonReport;
use crate::metrics::{columns, figures, name, points, rows};
use crate::ties::{DIGEST, as_json, draw_effects};
use parades_core::metrics::MetricValue;
use parades_session::FinishedRun;
use parades_sweep::ties::{Effect, effects};
use serde_json::{Map, Value, json};

impl ComparisonReport<'_> {
    /// Returns the effect of the tie seed on each metric.
    pub(super) fn effects(&self) -> Vec<Effect> {
        effects(&[self.compared.groups().map(|runs| results(&runs[0])).collect()])
    }

    pub(super) fn ties_as_json(&self) -> Value {
        as_json(&self.effects())
    }

    pub(super) fn draw_ties(&self, text: &mut String, width: usize) {
        draw_effects(text, &self.effects(), &self.tie_seeds(), width);
    }
}

/// Returns the results of a run by name: counts, metrics, and a list for each column of a table.
fn results(run: &FinishedRun) -> Map<String, Value> {
    let outcome = &run.outcome;
    let mut results = Map::new();
    results.insert(DIGEST.into(), json!(outcome.digest.map(|digest| format!("{digest:016x}"))));
    results.insert("events".into(), json!(outcome.events));
    results.insert("global_events".into(), json!(outcome.global_events));
    results.insert("virtual_time_s".into(), json!(outcome.end.as_secs_f64()));
    results.extend(figures(&outcome.metrics));
    for (metric, unit, value) in outcome.metrics.iter() {
        match value {
            MetricValue::Table(table) => {
                let names = columns(table).into_iter().map(|column| format!("{metric}.{column}"));
                let mut lists: Vec<(String, Vec<Value>)> = names.map(|name| (name, Vec::new())).collect();
                for row in rows(table) {
                    lists.iter_mut().zip(row).for_each(|((_, list), cell)| list.push(cell));
                }
                results.extend(lists.into_iter().map(|(name, list)| (name, Value::Array(list))));
            }
            MetricValue::Series(series) => {
                let points = points(unit, series).map(Value::Array).collect();
                results.insert(name(metric, unit), points);
            }
            _ => {}
        }
    }
    results
}
