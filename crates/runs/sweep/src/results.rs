//! The results of a sweep: a row for each run and, for each point, the means over the seeds with their
//! intervals.
//!
//! The tables have neither wall times nor memory, which differ between executions. So a sweep that was killed
//! and continued has the same tables as a sweep that was not. The JSON has both.

use crate::outcome::{Failed, Figures, Outcome};
use crate::schedule::{Schedule, estimate};
use parades_core::metrics::Estimate;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The results of a sweep, read from its schedule.
#[derive(Debug)]
pub struct Results<'a> {
    schedule: &'a Schedule,
    /// The swept parameters.
    keys: Vec<String>,
    /// The values of the swept parameters at each point.
    values: Vec<Vec<Value>>,
    /// The same values as tables of numbers have them.
    numbers: Vec<Vec<Value>>,
    /// The names of the metrics.
    columns: Vec<String>,
}

/// A point of the grid.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    /// The values of the swept parameters, in the order of the keys.
    pub values: &'a [Value],
    /// The number of runs with figures.
    pub succeeded: usize,
    /// The number of failed runs.
    pub failed: usize,
    /// True if the wanted precision was reached. `None` without a precision, or while it is undecided.
    pub reached: Option<bool>,
    /// The metrics that are numbers in some run.
    pub intervals: Vec<Interval<'a>>,
}

/// A metric over the runs of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval<'a> {
    /// The name of the metric.
    pub metric: &'a str,
    /// The mean over the runs that have the metric, with the 95 % interval by Student's t.
    pub estimate: Estimate,
}

impl<'a> Results<'a> {
    /// Returns the results of the finished runs of `schedule`. `values` has the values of the swept
    /// parameters `keys` at each point.
    pub fn new(schedule: &'a Schedule, keys: Vec<String>, values: Vec<Vec<Value>>) -> Results<'a> {
        let mut columns = Vec::new();
        let mut seen = BTreeSet::new();
        let figures = (0..schedule.points()).flat_map(|point| schedule.outcomes(point)).filter_map(Outcome::figures);
        for name in figures.flat_map(|figures| figures.metrics.keys()) {
            if seen.insert(name) {
                columns.push(name.clone());
            }
        }
        Results { schedule, keys, numbers: values.clone(), values, columns }
    }

    /// Sets the values of the swept parameters, at each point, that CSV and Parquet tables have: without this
    /// call, those of [`Results::new`].
    #[must_use]
    pub fn with_numbers(self, numbers: Vec<Vec<Value>>) -> Results<'a> {
        Results { numbers, ..self }
    }

    /// Returns the swept parameters.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Returns the names of the metrics, in the order in which runs have them.
    pub fn metrics(&self) -> &[String] {
        &self.columns
    }

    /// Returns the finished runs, point by point, in the order of the seeds. Each has the values of the swept
    /// parameters, the seed, and the outcome.
    pub fn runs(&self) -> impl Iterator<Item = (&[Value], u64, &'a Outcome)> {
        self.runs_with(&self.values)
    }

    /// Returns the finished runs, with the swept parameters as tables of numbers have them.
    pub(crate) fn runs_in_numbers(&self) -> impl Iterator<Item = (&[Value], u64, &'a Outcome)> {
        self.runs_with(&self.numbers)
    }

    /// Returns the finished runs, with these values of the swept parameters at each point.
    fn runs_with<'b>(&self, values: &'b [Vec<Value>]) -> impl Iterator<Item = (&'b [Value], u64, &'a Outcome)> {
        let runs = |point| self.schedule.runs(point).map(move |(seed, outcome)| (point, seed, outcome));
        (0..self.schedule.points())
            .flat_map(runs)
            .map(|(point, seed, outcome)| (values[point].as_slice(), seed, outcome))
    }

    /// Returns the points.
    pub fn points(&self) -> impl Iterator<Item = Point<'_>> {
        (0..self.schedule.points()).map(|point| {
            let interval = |metric: &'_ String| estimate(self.schedule.outcomes(point), metric);
            let intervals =
                self.columns.iter().filter_map(|metric| Some(Interval { metric, estimate: interval(metric)? }));
            let runs = self.schedule.outcomes(point).count();
            let succeeded = self.schedule.outcomes(point).filter(|outcome| outcome.figures().is_some()).count();
            Point {
                values: &self.values[point],
                succeeded,
                failed: runs - succeeded,
                reached: self.schedule.reached(point),
                intervals: intervals.collect(),
            }
        })
    }

    /// Returns the headings and the rows of a table with a row for each finished run. The columns are the
    /// swept parameters in base units, the seed, the counts and the digest, the metrics, and the error of a
    /// failed run.
    pub fn table_of_runs(&self) -> (Vec<String>, impl Iterator<Item = Vec<Value>>) {
        let of_run = ["events", "global_events", "digest", "virtual_time_s"];
        let keys = self.keys.iter().map(String::as_str).chain(["seed"]).chain(of_run);
        let headings = keys.chain(self.columns.iter().map(String::as_str)).chain(["error"]).map(str::to_owned);
        let rows = self.runs_in_numbers().map(move |(values, seed, outcome)| {
            let mut row = values.to_vec();
            row.push(json!(seed));
            match outcome {
                Outcome::Figures(figures) => {
                    let Figures { events, global_events, digest, virtual_time_s, metrics, .. } = &**figures;
                    row.extend([json!(events), json!(global_events), json!(digest), json!(virtual_time_s)]);
                    row.extend(self.columns.iter().map(|name| metrics.get(name).cloned().unwrap_or_default()));
                    row.push(Value::Null);
                }
                Outcome::Failed(Failed { message, .. }) => {
                    row.extend(std::iter::repeat_n(Value::Null, of_run.len() + self.columns.len()));
                    row.push(json!(message));
                }
            }
            row
        });
        (headings.collect(), rows)
    }

    /// Returns the headings and the rows of a table with a row for each metric of each point. The columns are
    /// the swept parameters, the metric, the number of runs, the mean, and the half-width of the 95 %
    /// interval (null for a single run).
    pub fn table_of_means(&self) -> (Vec<String>, impl Iterator<Item = Vec<Value>>) {
        let columns = ["metric", "runs", "mean", "half_width_95"];
        let headings = self.keys.iter().map(String::as_str).chain(columns).map(str::to_owned).collect();
        let of_point = |(point, values): (Point<'_>, &Vec<Value>)| -> Vec<Vec<Value>> {
            let row = |Interval { metric, estimate }: &Interval<'_>| {
                let Estimate { count, mean, half_width } = estimate;
                values.iter().cloned().chain([json!(metric), json!(count), json!(mean), json!(half_width)]).collect()
            };
            point.intervals.iter().map(row).collect()
        };
        (headings, self.points().zip(&self.numbers).flat_map(of_point))
    }

    /// Writes the table of [`Results::table_of_runs`] as CSV.
    ///
    /// # Errors
    ///
    /// If `to` cannot be written.
    pub fn write_runs(&self, to: impl Write) -> io::Result<()> {
        let (headings, rows) = self.table_of_runs();
        write_csv(&headings, rows, to)
    }

    /// Writes the table of [`Results::table_of_means`] as CSV.
    ///
    /// # Errors
    ///
    /// If `to` cannot be written.
    pub fn write_means(&self, to: impl Write) -> io::Result<()> {
        let (headings, rows) = self.table_of_means();
        write_csv(&headings, rows, to)
    }

    fn parameters(&self, values: &[Value]) -> Map<String, Value> {
        self.keys.iter().cloned().zip(values.iter().cloned()).collect()
    }
}

fn write_csv(headings: &[String], rows: impl Iterator<Item = Vec<Value>>, to: impl Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(to);
    table.write_record(headings)?;
    for row in rows {
        table.write_record(row.iter().map(cell))?;
    }
    table.flush()
}

/// Returns a value as text in a table.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The runs, in the form of a sweep's JSON.
#[derive(Debug)]
pub struct Runs<'a>(pub &'a Results<'a>);

impl Serialize for Runs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.runs().map(|(values, seed, outcome)| {
            let mut row = json!({"parameters": self.0.parameters(values), "seed": seed});
            match outcome {
                Outcome::Figures(figures) => {
                    row["events"] = json!(figures.events);
                    row["global_events"] = json!(figures.global_events);
                    row["digest"] = json!(figures.digest);
                    row["virtual_time_s"] = json!(figures.virtual_time_s);
                    row["wall_s"] = json!({"setup": figures.setup_s, "run": figures.run_s});
                    row["peak_rss_bytes"] = json!(figures.peak_rss_bytes);
                    row["metrics"] = json!(figures.metrics);
                }
                Outcome::Failed(Failed { message, .. }) => row["error"] = json!(message),
            }
            row
        }))
    }
}

/// The points, in the form of a sweep's JSON.
#[derive(Debug)]
pub struct Points<'a>(pub &'a Results<'a>);

impl Serialize for Points<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.points().map(|point| {
            let metrics: Map<String, Value> = point
                .intervals
                .iter()
                .map(|Interval { metric, estimate: Estimate { count, mean, half_width } }| {
                    ((*metric).to_owned(), json!({"count": count, "mean": mean, "half_width_95": half_width}))
                })
                .collect();
            let mut row = json!({
                "parameters": self.0.parameters(point.values),
                "runs": point.succeeded,
                "failed": point.failed,
                "metrics": metrics,
            });
            if let Some(reached) = point.reached {
                row["interval_reached"] = json!(reached);
            }
            row
        }))
    }
}
