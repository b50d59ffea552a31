//! The JSON object of a run. Its fields are a promise to scripts.

//!
//! Tables and series have a row for each flow, link or sample, so they are written row by row: as a tree of values they would take more
//! memory than the run did.

use crate::run::Done;
use parades_config::{Kind, Values};
use parades_core::metrics::{Cell, Estimate, Histogram, MetricValue, Metrics, Moments, Series, Table, Tally, Unit};
use parades_core::run::Outcome;
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value, json};
use std::io::{self, BufWriter, Write};

/// The percentiles of a histogram that are reported.
const PERCENTILES: [(&str, f64); 5] = [("p5", 5.0), ("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99_9", 99.9)];

/// Writes a run on one line.
pub(crate) fn write_json_line(to: impl Write, done: &Done) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    serde_json::to_writer(&mut to, &Summary(done))?;
    to.write_all(b"\n")?;
    to.flush()
}

/// A run as a JSON object.
pub(super) struct Summary<'a>(pub(super) &'a Done);

impl Serialize for Summary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Summary(done) = self;
        serializer.collect_map(fields(done).iter().map(|(name, value)| {
            let of_run = OfRun::Field(value);
            (name, if name == METRICS { OfRun::Metrics(AllMetrics(&done.outcome.metrics)) } else { of_run })
        }))
    }
}

/// The field that is not made until it is written.
const METRICS: &str = "metrics";

#[derive(Serialize)]
#[serde(untagged)]
enum OfRun<'a> {
    Field(&'a Value),
    Metrics(AllMetrics<'a>),
}

/// The parameters; paths that a scenario file gives, relative to its folder, as they are from here.
fn parameters(values: &Values) -> Value {
    let mut all = json!(values);
    for (parameter, _) in values.iter().filter(|(parameter, _)| matches!(parameter.kind(), Kind::Path)) {
        if let Some(path) = values.path(parameter.key()) {
            all[parameter.key()] = path.to_string_lossy().into();
        }
    }
    all
}

/// The fields of a run, the metrics left empty.
fn fields(done: &Done) -> Map<String, Value> {
    let Done { plan, choice, outcome, machine, .. } = done;
    let run_s = done.run.as_secs_f64();
    let mut object = json!({
        "schema": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "commit": env!("PARADES_COMMIT"),
        "command": done.command,
        "machine": machine,
        "scenario": plan.scenario.name,
        "parameters": parameters(&plan.values),
        "engine": choice.engine.name,
        "settings": choice.settings,
        "threads": choice.threads,
        "processes": 1,
        "seed": plan.seed,
        "tie_seed": plan.tie_seed,
        "until": outcome.end.to_string(),
        "virtual_time_s": outcome.end.as_secs_f64(),
        "lps": done.lps,
        "events": outcome.events,
        "global_events": outcome.global_events,
        "digest": outcome.digest.map(|digest| format!("{digest:016x}")),
        "wall_s": {"setup": done.setup.as_secs_f64(), "run": run_s},
        "events_per_s": if run_s > 0.0 { outcome.events as f64 / run_s } else { 0.0 },
        "peak_rss_bytes": done.peak_rss_bytes,
        "notes": done.notes,
        METRICS: null,
        "engine_stats": engine_stats(outcome),
    });
    if let (Some(traced), Some(fields)) = (&done.traced, object.as_object_mut()) {
        fields.insert("trace".into(), traced.filter.clone());
    }
    if let (Some(time), Some(fields)) = (outcome.stopped_at, object.as_object_mut()) {
        fields.insert("stopped_at_s".into(), json!(time.as_secs_f64()));
    }
    match object {
        Value::Object(fields) => fields,
        _ => unreachable!("it is written as an object above"),
    }
}

/// What only the engine can tell.
pub(crate) fn engine_stats(outcome: &Outcome) -> Map<String, Value> {
    outcome.engine_stats.iter().map(|&(name, x)| (name.into(), float(x))).collect()
}

/// All metrics; the unit is the end of the name.
pub(super) struct AllMetrics<'a>(pub(super) &'a Metrics);

impl Serialize for AllMetrics<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let each = self.0.iter().map(|(metric_name, unit, value)| (name(metric_name, unit), Metric { unit, value }));
        serializer.collect_map(each)
    }
}

/// One metric.
struct Metric<'a> {
    unit: Unit,
    value: &'a MetricValue,
}

impl Serialize for Metric<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            MetricValue::Series(series) => serializer.collect_seq(points(self.unit, series)),
            MetricValue::Table(table) => {
                let names = columns(table);
                serializer.collect_seq(rows(table).map(|row| names.iter().cloned().zip(row).collect::<Map<_, _>>()))
            }
            value => metric(self.unit, value).serialize(serializer),
        }
    }
}

/// Every number and text among the metrics, with the name that a table has for it: that of the metric, and the field where it has several.
/// Metrics without a value have null. Tables and series are left out.
pub(crate) fn figures(metrics: &Metrics) -> Map<String, Value> {
    let mut figures = Map::new();
    for (metric_name, unit, value) in metrics.iter() {
        let name = name(metric_name, unit);
        let fields = match value {
            MetricValue::Series(_) | MetricValue::Table(_) => continue,
            MetricValue::Steady(steady) if steady.estimate().is_none() => {
                json!({"count": 0, "mean": null, "half_width_95": null})
            }
            value => metric(unit, value),
        };
        match fields {
            Value::Object(fields) => {
                figures.extend(fields.into_iter().map(|(field, x)| (format!("{name}.{field}"), x)))
            }
            value => {
                figures.insert(name, value);
            }
        }
    }
    figures
}

/// The name of a quantity, with its unit at the end.
pub(super) fn name(name: &str, unit: Unit) -> String {
    format!("{name}{}", suffix(unit))
}

/// What the names of quantities of this unit end in.
fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::Picoseconds | Unit::Seconds => "_s",
        Unit::Bytes => "_bytes",
        Unit::BitsPerSecond => "_bps",
        Unit::PerSecond => "_per_s",
        _ => "",
    }
}

/// The unit of one of the [`figures`], by its name.
pub(crate) fn unit_of(figure: &str) -> Unit {
    let (metric, field) = figure.split_once('.').unwrap_or((figure, ""));
    // The longer endings first.
    let units = [Unit::PerSecond, Unit::Bytes, Unit::BitsPerSecond, Unit::Seconds];
    match units.into_iter().find(|unit| metric.ends_with(suffix(*unit))) {
        Some(unit) if field != "count" => unit,
        _ => Unit::Count,
    }
}

/// A number in the unit that its name tells: times in seconds, all else as it is.
fn integer(unit: Unit, x: u128) -> Value {
    match unit {
        Unit::Picoseconds => float(x as f64 / 1e12),
        _ => u64::try_from(x).map_or_else(|_| float(x as f64), Value::from),
    }
}

fn real(unit: Unit, x: f64) -> Value {
    float(if unit == Unit::Picoseconds { x / 1e12 } else { x })
}

fn float(x: f64) -> Value {
    Number::from_f64(x).map_or(Value::Null, Value::Number)
}

/// A metric of few numbers.
fn metric(unit: Unit, value: &MetricValue) -> Value {
    match value {
        MetricValue::Counter(sum) => integer(unit, *sum),
        MetricValue::Tally(tally) => Value::Object(of_tally(unit, tally)),
        MetricValue::Histogram(histogram) => of_histogram(unit, histogram),
        MetricValue::Float(float) => of_moments(unit, &float.total()),
        MetricValue::Steady(steady) => of_estimate(unit, steady.estimate().as_ref()),
        MetricValue::Value(value) => cell(unit, value.cell()),
        _ => Value::Null,
    }
}

fn of_tally(unit: Unit, tally: &Tally) -> Map<String, Value> {
    let optional = |x: Option<u64>| x.map_or(Value::Null, |x| integer(unit, x.into()));
    let statistic = |x: Option<f64>| x.map_or(Value::Null, |x| real(unit, x));
    let fields = [
        ("count", json!(tally.count())),
        ("mean", statistic(tally.mean())),
        ("deviation", statistic(tally.deviation())),
        ("min", optional(tally.min())),
        ("max", optional(tally.max())),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn of_histogram(unit: Unit, histogram: &Histogram) -> Value {
    let mut fields = of_tally(unit, histogram.tally());
    for (name, percent) in PERCENTILES {
        let value = histogram.percentile(percent).map_or(Value::Null, |x| integer(unit, x.into()));
        fields.insert(name.to_owned(), value);
    }
    Value::Object(fields)
}

fn of_moments(unit: Unit, moments: &Moments) -> Value {
    let of = |x: Option<f64>| x.map_or(Value::Null, |x| real(unit, x));
    json!({
        "count": moments.count(),
        "mean": of(moments.mean()),
        "deviation": of(moments.deviation()),
        "min": of(moments.min()),
        "max": of(moments.max()),
    })
}

fn of_estimate(unit: Unit, estimate: Option<&Estimate>) -> Value {
    estimate.map_or(Value::Null, |estimate| {
        let half_width = estimate.half_width.map_or(Value::Null, |x| real(unit, x));
        json!({"count": estimate.count, "mean": real(unit, estimate.mean), "half_width_95": half_width})
    })
}

/// The names of a table's columns.
pub(super) fn columns(table: &Table) -> Vec<String> {
    table.columns().iter().map(|column| name(&column.name, column.unit)).collect()
}

/// The rows of a table.
pub(super) fn rows(table: &Table) -> impl Iterator<Item = Vec<Value>> {
    table.rows().into_iter().map(|row| {
        let units = table.columns().iter().map(|column| column.unit);
        row.iter().zip(units).map(|(x, unit)| cell(unit, x)).collect()
    })
}

/// The points of a series: time in seconds, and value.
pub(super) fn points(unit: Unit, series: &Series) -> impl Iterator<Item = Vec<Value>> {
    series.points().into_iter().map(move |(time, x)| vec![float(time.as_secs_f64()), real(unit, x)])
}

fn cell(unit: Unit, cell: &Cell) -> Value {
    match cell {
        Cell::Empty => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Integer(x) => integer(unit, (*x).into()),
        Cell::Float(x) => real(unit, *x),
    }
}
