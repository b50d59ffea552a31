//! The results of a sweep: as JSON, as tables for people, as files.

use crate::drawing::draw;
use crate::figure::{figure, group};
use crate::metrics::unit_of;
use crate::place::write_whole;
use parades_config::shortened;
use parades_core::metrics::Unit;
use parades_session::sweep::{FinishedSweep, SweepPlan, full_name};
use parades_session::{Failure, Program, machine::Machine};
use parades_sweep::results::{Interval, Points, Runs, cell};
use parades_sweep::{End, Outcome, Point, Results};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The number of rows shown of the table of runs.
const ROWS_SHOWN: usize = 100;

/// A sweep, to be reported in any form.
#[derive(Debug)]
pub struct SweepReport<'a> {
    sweep: &'a FinishedSweep<'a>,
    results: Results<'a>,
    program: &'a Program,
}

impl<'a> SweepReport<'a> {
    /// Returns the report of a sweep that this program executed.
    pub fn of(sweep: &'a FinishedSweep<'a>, program: &'a Program) -> SweepReport<'a> {
        SweepReport { sweep, results: sweep.results(), program }
    }

    /// Returns the tables of results.
    pub fn results(&self) -> &Results<'a> {
        &self.results
    }

    fn plan(&self) -> &SweepPlan {
        self.sweep.plan
    }

    /// Writes the sweep as a JSON object on one line.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub fn write_json(&self, to: impl Write) -> io::Result<()> {
        // The object without its last brace: the rows follow one by one, as there may be many.
        let mut head = self.head().to_string();
        head.pop();
        let mut to = BufWriter::new(to);
        write!(to, "{head},\"points\":")?;
        serde_json::to_writer(&mut to, &Points(&self.results))?;
        write!(to, ",\"runs\":")?;
        serde_json::to_writer(&mut to, &Runs(&self.results))?;
        writeln!(to, "}}")?;
        to.flush()
    }

    /// Returns the fields of the sweep but the rows.
    fn head(&self) -> Value {
        let (plan, program) = (self.plan(), self.program);
        let (finished, total) = self.sweep.schedule.progress();
        json!({
            "schema": 1,
            "version": program.version,
            "commit": program.commit,
            "command": program.command,
            "machine": Machine::this(),
            "scenario": plan.plan.scenario.name,
            "parameters": plan.fixed(),
            "swept": self.swept(),
            "engine": plan.choice.engine.name(),
            "settings": plan.choice.settings,
            "threads": plan.threads,
            "jobs": plan.jobs,
            "tie_seed": plan.plan.tie_seed,
            "finished": finished,
            "total": total,
            "failed": self.sweep.schedule.failures(),
            "stopped": self.sweep.end == End::Stopped,
        })
    }

    /// Returns the values of each swept parameter, each value once.
    fn swept(&self) -> Map<String, Value> {
        let mut swept: Map<String, Value> = self.results.keys().iter().map(|key| (key.clone(), json!([]))).collect();
        for point in self.plan().swept_values() {
            for (values, value) in swept.values_mut().filter_map(Value::as_array_mut).zip(point) {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        swept
    }

    /// Writes the tables and the JSON into the sweep's folder.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if a file cannot be written.
    pub fn write_folder(&self, folder: &Path) -> Result<(), Failure> {
        write_whole(&folder.join("runs.csv"), |to| self.results.write_runs(to))?;
        write_whole(&folder.join("means.csv"), |to| self.results.write_means(to))?;
        write_whole(&folder.join("sweep.json"), |to| self.write_json(to))
    }

    /// Writes the table of runs as a Parquet file.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if it cannot be written.
    #[cfg(feature = "parquet")]
    pub fn write_parquet(&self, file: &Path) -> Result<(), Failure> {
        write_whole(file, |to| self.results.write_parquet(to))
    }

    /// Fails: this crate was built without Parquet, which [`parquet_is_possible`](crate::parquet_is_possible)
    /// reports before the sweep.
    ///
    /// # Errors
    ///
    /// Always.
    #[cfg(not(feature = "parquet"))]
    pub fn write_parquet(&self, file: &Path) -> Result<(), Failure> {
        crate::parquet_is_possible(&file.display().to_string(), "read the table that `--csv` prints")
    }

    /// Returns the metrics to show: those that the user asked for; by default the metrics of one number, and
    /// the means of the others.
    fn shown(&self) -> Vec<&String> {
        let (all, asked) = (self.results.metrics(), &self.plan().request.metrics);
        if !asked.is_empty() {
            let wanted: Vec<String> = asked.iter().filter_map(|name| full_name(name, all).ok()).collect();
            return wanted.iter().filter_map(|name| all.iter().find(|other| *other == name)).collect();
        }
        all.iter().filter(|name| name.strip_suffix(".mean").unwrap_or(name).find('.').is_none()).collect()
    }

    /// Returns the sweep as text: a row for each run, and the means over seeds with their intervals.
    pub fn for_people(&self) -> String {
        let shown = self.shown();
        let name = |metric: &&String| metric.strip_suffix(".mean").unwrap_or(metric).replace('_', " ");
        let name = |metric: &&String| shortened(&name(metric));
        let headings = |own: &str| -> Vec<String> {
            let keys = self.results.keys().iter().map(|key| key.replace('_', " "));
            keys.chain([own.to_owned()]).chain(shown.iter().map(name)).collect()
        };
        let mut text = String::new();
        let body: Vec<Vec<String>> = self.results.runs().take(ROWS_SHOWN).map(|run| run_row(run, &shown)).collect();
        let rows = self.results.runs().count();
        let plural = if rows == 1 { "" } else { "s" };
        let _ = writeln!(text, "{}: {rows} run{plural}", self.plan().plan.scenario.name);
        if rows > 0 {
            draw(&mut text, &headings("seed"), &body, rows - body.len(), "`--csv`, `--json` and `--out`");
        }
        let points: Vec<Vec<String>> = self.results.points().filter_map(|point| point_row(&point, &shown)).collect();
        // If each point has one run, the means are the runs.
        if !points.is_empty() && rows > points.len() {
            let _ = writeln!(text, "\nmeans over seeds, with intervals of 95 %");
            draw(&mut text, &headings("runs"), &points, 0, "`--csv=means`, `--json` and `--out`");
        }
        text
    }
}

/// Returns a value as a cell of a table for people.
fn shown_cell(value: &Value) -> String {
    shortened(&cell(value))
}

/// Returns the row of a run.
fn run_row((values, seed, outcome): (&[Value], u64, &Outcome), shown: &[&String]) -> Vec<String> {
    let figures = outcome.figures();
    let of_metric = |metric: &&String| match figures.and_then(|figures| figures.metrics.get(metric.as_str())) {
        None => "failed".to_owned(),
        Some(Value::Null) => "–".to_owned(),
        Some(value) => match (value.as_u64(), value.as_f64()) {
            (Some(x), _) if unit_of(metric) == Unit::Count => group(u128::from(x)),
            (_, Some(x)) => with_unit(metric, x),
            _ => shown_cell(value),
        },
    };
    values.iter().map(shown_cell).chain([seed.to_string()]).chain(shown.iter().map(of_metric)).collect()
}

/// Returns the row of a point; `None` if no run of it is over.
fn point_row(point: &Point<'_>, shown: &[&String]) -> Option<Vec<String>> {
    let of_metric = |metric: &&String| {
        let interval = point.intervals.iter().find(|interval| interval.metric == metric.as_str());
        interval.map_or_else(|| "–".to_owned(), mean)
    };
    let runs = match (point.failed, point.reached) {
        (0, Some(false)) => format!("{} (too few)", point.succeeded),
        (0, _) => point.succeeded.to_string(),
        (failed, _) => format!("{} ({failed} failed)", point.succeeded),
    };
    let is_over = point.succeeded + point.failed > 0;
    is_over.then(|| point.values.iter().map(shown_cell).chain([runs]).chain(shown.iter().map(of_metric)).collect())
}

fn mean(Interval { metric, estimate }: &Interval<'_>) -> String {
    let mean = with_unit(metric, estimate.mean);
    estimate.half_width.map_or_else(|| mean.clone(), |half_width| format!("{mean} ± {}", with_unit(metric, half_width)))
}

/// Returns a number of a metric with its unit. Times in results are in seconds, not in the model's
/// picoseconds.
fn with_unit(metric: &str, x: f64) -> String {
    match unit_of(metric) {
        Unit::Picoseconds => figure(Unit::Seconds, x),
        unit => figure(unit, x),
    }
}
