//! The results of a run for people: one table of figures with units.

use crate::Report;
use crate::drawing::{draw, table};
use crate::figure::{figure, group};
use parades_config::shortened;
use parades_core::metrics::{Cell, Estimate, MetricValue, Series, Table, Unit};
use parades_session::FinishedRun;
use std::fmt::Write;

/// The number of rows shown of a table metric; the JSON and the files have all rows.
const ROWS_SHOWN: usize = 10;

impl Report<'_> {
    /// Returns the results of the run as text: one table of figures, and the first rows of each table.
    pub fn for_people(&self) -> String {
        let mut drawn = table(&[self.run.plan.scenario.name, ""]);
        for (name, value) in self.figures() {
            drawn.add_row([name.to_owned(), value]);
        }
        let mut tables = String::new();
        for (name, unit, value) in self.run.outcome.metrics.iter() {
            match value {
                MetricValue::Table(value) => draw_table(&mut tables, name, value),
                value => {
                    drawn.add_row([shortened(&name.replace('_', " ")), describe(unit, value)]);
                }
            }
        }
        format!("{drawn}\n{tables}")
    }

    /// Returns the figures that every run has.
    fn figures(&self) -> Vec<(&'static str, String)> {
        let FinishedRun { choice, outcome, lps, .. } = self.run;
        let [setup, run] = [self.run.setup_wall, self.run.run_wall].map(|wall| wall.as_secs_f64());
        let threads = choice.threads;
        let mut rows = vec![
            ("engine", format!("{} on {threads} thread{}", choice.engine.name(), plural(threads))),
            ("virtual time", figure(Unit::Seconds, outcome.end.as_secs_f64())),
        ];
        if outcome.stopped_at.is_some() {
            rows.push(("stopped at", format!("{}, before its end", outcome.end)));
        }
        rows.push(("logical processes", group(u128::from(*lps))));
        rows.push(("events", group(u128::from(outcome.events))));
        if outcome.global_events > 0 {
            rows.push(("global events", group(u128::from(outcome.global_events))));
        }
        let speed = if run > 0.0 { outcome.events as f64 / run } else { 0.0 };
        rows.push(("run time", format!("{} ({} set-up)", figure(Unit::Seconds, run), figure(Unit::Seconds, setup))));
        rows.push(("speed", figure(Unit::PerSecond, speed)));
        rows.push(("peak memory", figure(Unit::Bytes, self.run.peak_rss_bytes as f64)));
        rows.extend(outcome.digest.map(|digest| ("digest", format!("{digest:016x}"))));
        rows
    }
}

fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Returns a metric on one line.
fn describe(unit: Unit, value: &MetricValue) -> String {
    let of = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), |x| figure(unit, x));
    match value {
        MetricValue::Counter(sum) if unit == Unit::Count => group(*sum),
        MetricValue::Histogram(histogram) => {
            let at = |percent| of(histogram.percentile(percent).map(|x| x as f64));
            let tally = histogram.tally();
            format!(
                "mean {}, median {}, 99 % {}, most {}",
                of(tally.mean()),
                at(50.0),
                at(99.0),
                of(tally.max().map(|x| x as f64))
            )
        }
        MetricValue::Tally(tally) => {
            let (least, most) = (tally.min().map(|x| x as f64), tally.max().map(|x| x as f64));
            format!("mean {}, from {} to {}", of(tally.mean()), of(least), of(most))
        }
        MetricValue::Steady(steady) => steady.estimate().map_or_else(|| "–".into(), |found| estimate(unit, &found)),
        MetricValue::Series(series) => describe_series(unit, series),
        MetricValue::Value(value) => show(unit, value.cell()),
        other => of(other.headline()),
    }
}

fn estimate(unit: Unit, Estimate { mean, half_width, .. }: &Estimate) -> String {
    let mean = figure(unit, *mean);
    match half_width {
        Some(half_width) => format!("{mean} ± {}", figure(unit, *half_width)),
        None => format!("{mean} (too few for an interval)"),
    }
}

fn describe_series(unit: Unit, series: &Series) -> String {
    let values: Vec<f64> = series.points().into_iter().map(|(_, x)| x).collect();
    if values.is_empty() {
        return "–".into();
    }
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{} points, mean {}, most {}", values.len(), figure(unit, mean), figure(unit, most))
}

/// Returns a cell of a table as text.
fn show(unit: Unit, cell: &Cell) -> String {
    match cell {
        Cell::Empty => "–".into(),
        Cell::Text(text) => shortened(text),
        Cell::Integer(x) if unit == Unit::Count => group(u128::from(*x)),
        Cell::Integer(x) => figure(unit, *x as f64),
        Cell::Float(x) => figure(unit, *x),
    }
}

/// Draws the first rows of a table, and as many of its columns as fit.
fn draw_table(text: &mut String, name: &str, value: &Table) {
    let rows = value.rows();
    if rows.is_empty() {
        return;
    }
    let shown = &rows[..rows.len().min(ROWS_SHOWN)];
    let cells = |row: &[Cell]| row.iter().zip(value.columns()).map(|(cell, column)| show(column.unit, cell)).collect();
    let body: Vec<Vec<String>> = shown.iter().map(|row| cells(row)).collect();
    let headings: Vec<String> =
        value.columns().iter().map(|column| shortened(&column.name.replace('_', " "))).collect();
    let _ = writeln!(text, "\n{}", shortened(&name.replace('_', " ")));
    draw(text, &headings, &body, rows.len() - shown.len(), "`--json` and `--out`");
}
