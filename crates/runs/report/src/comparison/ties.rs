//! The metrics of a comparison that depend on the order of simultaneous events.

use super::ComparisonReport;
use crate::metrics::{columns, figures_of, name, points, rows};
use crate::ties::Ties;
use parades_core::metrics::MetricValue;
use parades_session::FinishedRun;
use parades_sweep::ties::effects;
use serde_json::{Map, Value};

impl ComparisonReport<'_> {
    /// Returns the effect of the tie seed on each metric.
    pub(super) fn ties(&self) -> Ties {
        let effects = effects(&[self.compared.groups().map(|runs| results(&runs[0])).collect()]);
        Ties { effects, places: Vec::new() }
    }
}

/// Returns the results of a run by name: counts, metrics, and a list for each column of a table.
fn results(run: &FinishedRun) -> Map<String, Value> {
    let mut results = figures_of(run).results();
    for (metric, unit, value) in run.outcome.metrics.iter() {
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
