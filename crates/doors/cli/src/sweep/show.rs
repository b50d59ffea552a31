//! The results of a sweep: a table for people, JSON, and files.

use super::asked::Asked;
use crate::plan::typed;
use crate::report::{draw, figure, group, unit_of, write_whole};
use parades_core::metrics::Unit;
use parades_session::Failure;
use parades_session::machine::Machine;
use parades_sweep::results::{Interval, Points, Runs, cell};
use parades_sweep::{End, Outcome, Results, Schedule};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Rows of the table of runs that are shown.
const ROWS_SHOWN: usize = 100;

/// What a sweep came to.
pub(super) struct Report<'a> {
    pub(super) asked: &'a Asked<'a>,
    pub(super) results: &'a Results<'a>,
    pub(super) schedule: &'a Schedule,
    pub(super) end: End,
}

impl Report<'_> {
    /// Writes one JSON object.
    pub(super) fn write_json(&self, to: impl Write) -> io::Result<()> {
        let Report { asked, results, schedule, end } = self;
        let (finished, total) = schedule.progress();
        let mut swept: Map<String, Value> = results.keys().iter().map(|key| (key.clone(), json!([]))).collect();
        for point in asked.swept_values() {
            for (values, value) in swept.values_mut().filter_map(Value::as_array_mut).zip(point) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        let mut head = json!({
            "schema": 1,
            "version": env!("CARGO_PKG_VERSION"),
            "commit": env!("PARADES_COMMIT"),
            "command": typed(),
            "machine": Machine::this(),
            "scenario": asked.plan.scenario.name,
            "parameters": asked.fixed(),
            "swept": swept,
            "engine": asked.choice.engine.name,
            "settings": asked.choice.settings,
            "threads": asked.threads,
            "jobs": asked.jobs,
            "tie_seed": asked.plan.tie_seed,
            "finished": finished,
            "total": total,
            "failed": schedule.failures(),
            "stopped": *end == End::Stopped,
        })
        .to_string();
        // The rows are many: they are written one by one.
        head.pop();
        let mut to = BufWriter::new(to);
        write!(to, "{head},\"points\":")?;
        serde_json::to_writer(&mut to, &Points(results))?;
        write!(to, ",\"runs\":")?;
        serde_json::to_writer(&mut to, &Runs(results))?;
        writeln!(to, "}}")?;
        to.flush()
    }

    /// Writes the tables and the JSON into the sweep's folder.
    pub(super) fn write_folder(&self, folder: &Path) -> Result<(), Failure> {
        write_whole(&folder.join("runs.csv"), |to| self.results.write_runs(to))?;
        write_whole(&folder.join("means.csv"), |to| self.results.write_means(to))?;
        write_whole(&folder.join("sweep.json"), |to| self.write_json(to))
    }

    /// Writes the table of runs as a Parquet file.
    #[cfg(feature = "parquet")]
    pub(super) fn write_parquet(&self, file: &Path) -> Result<(), Failure> {
        write_whole(file, |to| self.results.write_parquet(to))
    }

    /// Nothing: it was refused before.
    #[cfg(not(feature = "parquet"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "like the function that does something")]
    pub(super) fn write_parquet(&self, _: &Path) -> Result<(), Failure> {
        Ok(())
    }

    /// The metrics to show: those asked for, or those of one number, and the means of others.
    fn shown(&self) -> Vec<&String> {
        let all = self.results.metrics();
        if !self.asked.arguments.metrics.is_empty() {
            let wanted = |name: &String| Asked::metric(name, all).ok();
            let wanted: Vec<String> = self.asked.arguments.metrics.iter().filter_map(wanted).collect();
            return wanted.iter().filter_map(|name| all.iter().find(|other| *other == name)).collect();
        }
        all.iter().filter(|name| name.strip_suffix(".mean").unwrap_or(name).find('.').is_none()).collect()
    }

    /// A row a run, and the means over seeds with their intervals.
    pub(super) fn for_people(&self) -> String {
        let (shown, keys) = (self.shown(), self.results.keys());
        let name = |metric: &&String| metric.strip_suffix(".mean").unwrap_or(metric).replace('_', " ");
        let headings = |own: &[&str]| -> Vec<String> {
            let own = own.iter().map(|&own| own.to_owned());
            keys.iter().map(|key| key.replace('_', " ")).chain(own).chain(shown.iter().map(name)).collect()
        };
        let mut text = String::new();
        let body: Vec<Vec<String>> = self.results.runs().take(ROWS_SHOWN).map(|run| row(run, &shown)).collect();
        let rows = self.results.runs().count();
        let elsewhere = "`--csv`, `--json` and `--out`";
        let _ = writeln!(text, "{}: {rows} run{}", self.asked.plan.scenario.name, if rows == 1 { "" } else { "s" });
        if rows > 0 {
            draw(&mut text, &headings(&["seed"]), &body, rows - body.len(), elsewhere);
        }
        let points: Vec<Vec<String>> = self
            .results
            .points()
            .filter_map(|point| {
                let of_metric = |metric: &&String| {
                    let interval = point.intervals.iter().find(|interval| interval.metric == metric.as_str());
                    interval.map_or_else(|| "–".to_owned(), mean)
                };
                let runs = match (point.failed, point.reached) {
                    (0, Some(false)) => format!("{} (too few)", point.succeeded),
                    (0, _) => point.succeeded.to_string(),
                    (failed, _) => format!("{} ({failed} failed)", point.succeeded),
                };
                let any = point.succeeded + point.failed > 0;
                any.then(|| point.values.iter().map(cell).chain([runs]).chain(shown.iter().map(of_metric)).collect())
            })
            .collect();
        if points.iter().any(|_| rows > points.len()) {
            let _ = writeln!(text, "\nmeans over seeds, with intervals of 95 %");
            draw(&mut text, &headings(&["runs"]), &points, 0, "`--csv=means`, `--json` and `--out`");
        }
        text
    }
}

/// Sees to it, before any run, that a Parquet file can be written.
pub(super) fn parquet_is_possible(file: &Path) -> Result<(), Failure> {
    crate::report::parquet_is_possible(&file.display().to_string(), "read the table that `--csv` prints")?;
    crate::report::can_be_written(file)
}

/// A run that is over, in the table for people.
fn row((values, seed, outcome): (&[Value], u64, &Outcome), shown: &[&String]) -> Vec<String> {
    let figures = outcome.figures();
    let of_metric = |metric: &&String| match figures.and_then(|figures| figures.metrics.get(metric.as_str())) {
        None => "failed".to_owned(),
        Some(Value::Null) => "–".to_owned(),
        Some(value) => match (value.as_u64(), value.as_f64()) {
            (Some(x), _) if unit_of(metric) == Unit::Count => group(u128::from(x)),
            (_, Some(x)) => shown_as(metric, x),
            _ => cell(value),
        },
    };
    values.iter().map(cell).chain([seed.to_string()]).chain(shown.iter().map(of_metric)).collect()
}

fn mean(Interval { metric, estimate }: &Interval<'_>) -> String {
    let mean = shown_as(metric, estimate.mean);
    estimate.half_width.map_or_else(|| mean.clone(), |half_width| format!("{mean} ± {}", shown_as(metric, half_width)))
}

/// A number of a metric, with its unit. Numbers in the results are in seconds, not in the picoseconds of the model.
fn shown_as(metric: &str, x: f64) -> String {
    match unit_of(metric) {
        Unit::Picoseconds => figure(Unit::Seconds, x),
        unit => figure(unit, x),
    }
}
