//! Metrics as JSON values, and the names that they have in all forms of a result.

use parades_core::metrics::{Cell, Estimate, Histogram, MetricValue, Metrics, Moments, Series, Table, Tally, Unit};
use parades_session::{FinishedRun, NOTE};
use parades_sweep::Figures;
use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value, json};

/// The percentiles of a histogram that are reported.
const PERCENTILES: [(&str, f64); 5] = [("p5", 5.0), ("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99_9", 99.9)];

/// All metrics, as one JSON object. The end of a name tells the unit.
#[derive(Debug)]
pub struct AllMetrics<'a>(pub &'a Metrics);

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

/// Returns the figures of a run: its counts, wall times and metrics.
pub fn figures_of(run: &FinishedRun) -> Figures {
    let outcome = &run.outcome;
    Figures {
        events: outcome.events,
        global_events: outcome.global_events,
        digest: outcome.digest.map(|digest| format!("{digest:016x}")),
        virtual_time_s: outcome.end.as_secs_f64(),
        setup_s: run.setup_wall.as_secs_f64(),
        run_s: run.run_wall.as_secs_f64(),
        peak_rss_bytes: run.peak_rss_bytes,
        metrics: figures(&outcome.metrics),
    }
}

/// Returns every number and text among the metrics, by name: that of the metric, with the field if the metric
/// has several. Metrics without a value are null. Tables, series and the note are left out.
pub fn figures(metrics: &Metrics) -> Map<String, Value> {
    let mut figures = Map::new();
    for (metric_name, unit, value) in metrics.iter() {
        let name = name(metric_name, unit);
        let fields = match value {
            _ if metric_name == NOTE => continue,
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

/// Returns the name of a quantity with its unit at the end. A name that says that it counts bytes has its
/// unit already: `bytes_received`.
pub fn name(name: &str, unit: Unit) -> String {
    if unit == Unit::Bytes && counts_bytes(name) { name.to_owned() } else { format!("{name}{}", suffix(unit)) }
}

/// Returns true if a word of the name is `bytes`.
fn counts_bytes(name: &str) -> bool {
    name.split('_').any(|word| word == "bytes")
}

/// Returns the end of the names of quantities of this unit.
fn suffix(unit: Unit) -> &'static str {
    match unit {
        Unit::Picoseconds | Unit::Seconds => "_s",
        Unit::Bytes => "_bytes",
        Unit::BitsPerSecond => "_bps",
        Unit::PerSecond => "_per_s",
        _ => "",
    }
}

/// Returns the unit of one of the [`figures`], by its name.
pub fn unit_of(figure: &str) -> Unit {
    let (metric, field) = figure.split_once('.').unwrap_or((figure, ""));
    // `_per_s` comes before `_s`, since it ends with `_s` too.
    let units = [Unit::PerSecond, Unit::Bytes, Unit::BitsPerSecond, Unit::Seconds];
    match units.into_iter().find(|unit| metric.ends_with(suffix(*unit))) {
        Some(unit) if field != "count" => unit,
        None if field != "count" && counts_bytes(metric) => Unit::Bytes,
        _ => Unit::Count,
    }
}

/// Returns the unit of a metric's values. Times in results are in seconds, not in the model's picoseconds.
pub(crate) fn unit_of_values(metric: &str) -> Unit {
    match unit_of(metric) {
        Unit::Picoseconds => Unit::Seconds,
        unit => unit,
    }
}

/// Returns the name of one of the [`figures`] in words, without its unit and without `.mean`.
pub(crate) fn bare_name(figure: &str) -> String {
    let (metric, field) = figure.split_once('.').unwrap_or((figure, "mean"));
    let unit = match unit_of(metric) {
        Unit::Bytes if counts_bytes(metric.strip_suffix("_bytes").unwrap_or(metric)) => "",
        unit => suffix(unit),
    };
    let metric = metric.strip_suffix(unit).unwrap_or(metric);
    if field == "mean" { metric.to_owned() } else { format!("{metric} {field}") }
}

/// Returns true if one of the [`figures`] is a percentile of a histogram. The extremes are exact.
pub(crate) fn is_percentile(figure: &str) -> bool {
    figure.split_once('.').is_some_and(|(_, field)| PERCENTILES.iter().any(|(name, _)| *name == field))
}

/// Returns a number in the unit that its name states: times are converted to seconds.
fn integer(unit: Unit, x: u128) -> Value {
    match unit {
        Unit::Picoseconds => float(x as f64 / 1e12),
        _ => u64::try_from(x).map_or_else(|_| float(x as f64), Value::from),
    }
}

fn real(unit: Unit, x: f64) -> Value {
    float(if unit == Unit::Picoseconds { x / 1e12 } else { x })
}

/// Returns a number; null if JSON has no such number.
pub(crate) fn float(x: f64) -> Value {
    Number::from_f64(x).map_or(Value::Null, Value::Number)
}

/// Returns a metric of few numbers.
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

/// Returns the names of a table's columns.
pub(crate) fn columns(table: &Table) -> Vec<String> {
    table.columns().iter().map(|column| name(&column.name, column.unit)).collect()
}

/// Returns the rows of a table.
pub(crate) fn rows(table: &Table) -> impl Iterator<Item = Vec<Value>> {
    table.iter_rows().map(|row| {
        let units = table.columns().iter().map(|column| column.unit);
        row.iter().zip(units).map(|(x, unit)| cell(unit, x)).collect()
    })
}

/// Returns the points of a series: the time in seconds, and the value.
pub(crate) fn points(unit: Unit, series: &Series) -> impl Iterator<Item = Vec<Value>> {
    series.points().into_iter().map(move |(time, x)| vec![float(time.as_secs_f64()), real(unit, x)])
}

/// Returns a cell of a table, in the unit that its heading states.
pub(crate) fn cell(unit: Unit, cell: &Cell) -> Value {
    match cell {
        Cell::Empty => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Integer(x) => integer(unit, (*x).into()),
        Cell::Float(x) => real(unit, *x),
    }
}
