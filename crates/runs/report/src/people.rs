//! The results of a run for people: the figures of the run, and tables of figures with units.

use crate::Report;
use crate::drawing::{Column, Entry, GAP, draw, draw_whole, spoken};
use crate::figure::{Scale, figure, group};
use crate::tables::table_named;
use crate::view::View;
use parades_config::shortened_to;
use parades_core::metrics::{Estimate, MetricValue, Table, Unit};
use parades_session::{Failure, FinishedRun, NOTE};
use std::fmt::Write;

mod overviews;

use overviews::{distributions, series};

/// The number of rows shown of a table metric; the JSON and the files have all rows.
const ROWS_SHOWN: usize = 10;

/// The places that have the rows and columns for which there is no room.
const ELSEWHERE: &str = "`--table NAME`, `--json`, `--out`";

impl Report<'_> {
    /// Returns the results of the run as text.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if the run has no table of the name that `view` wants.
    pub fn for_people(&self, view: &View) -> Result<String, Failure> {
        let metrics = &self.run.outcome.metrics;
        if let Some(wanted) = &view.table {
            let (name, unit, value) = table_named(metrics, wanted)?;
            return Ok(whole(name, unit, value, view));
        }
        let mut text = format!("{}\n", shortened_to(view.width - 1, &self.run.plan.title()));
        let (names, values): (Vec<String>, Vec<String>) = self.figures().into_iter().unzip();
        let names = Column::of_texts("", names);
        // A long value is cut, since a column that does not fit is left out.
        let room = view.width.saturating_sub(names.width() + GAP + 1);
        let values = values.iter().map(|value| shortened_to(room, value)).collect();
        draw(&mut text, &[names, Column::of_texts("", values)], view.width, 0, "");
        if let Some(profile) = self.profile {
            profile.draw(&mut text, view.width);
        }
        distributions(&mut text, metrics, view.width);
        if !view.is_brief {
            series(&mut text, metrics, view.width);
            for (name, _, value) in metrics.iter() {
                if let MetricValue::Table(table) = value {
                    draw_table(&mut text, name, table, view.width);
                }
            }
        }
        Ok(text)
    }

    /// Returns the figures of the run, and the metrics of one value.
    fn figures(&self) -> Vec<(String, String)> {
        // The note is printed with the other notes of the run.
        let metrics = self.run.outcome.metrics.iter().filter(|(name, ..)| *name != NOTE);
        let of_metrics = metrics.filter_map(|(name, unit, value)| Some((spoken(name), describe(unit, value)?)));
        self.figures_of_run().into_iter().map(|(name, value)| (name.to_owned(), value)).chain(of_metrics).collect()
    }

    /// Returns the figures that every run has.
    fn figures_of_run(&self) -> Vec<(&'static str, String)> {
        let FinishedRun { choice, outcome, lps, .. } = self.run;
        let FinishedRun { setup_wall, run_wall, results_wall, .. } = self.run;
        let [setup, run, results] = [setup_wall, run_wall, results_wall].map(|wall| wall.as_secs_f64());
        let threads = choice.threads;
        let then = match outcome.changes.as_slice() {
            [] => String::new(),
            [change] => format!(", then {}", change.to),
            [.., last] => format!(", after {} changes {}", outcome.changes.len(), last.to),
        };
        let mut rows = vec![
            ("engine", format!("{}{then} on {threads} thread{}", choice.engine.name(), plural(threads))),
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
        let seconds = |wall| figure(Unit::Seconds, wall);
        let others = format!("{} set-up, {} results", seconds(setup), seconds(results));
        rows.push(("run time", format!("{} ({others})", seconds(run))));
        rows.push(("speed", figure(Unit::PerSecond, self.run.events_per_s())));
        rows.push(("peak memory", figure(Unit::Bytes, self.run.peak_rss_bytes as f64)));
        rows.extend(outcome.digest.map(|digest| ("digest", format!("{digest:016x}"))));
        rows
    }
}

fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Returns a metric of one value as text; `None` for other metrics.
fn describe(unit: Unit, value: &MetricValue) -> Option<String> {
    Some(match value {
        MetricValue::Counter(sum) if unit == Unit::Count => group(*sum),
        MetricValue::Counter(sum) => figure(unit, *sum as f64),
        MetricValue::Steady(steady) => steady.estimate().map_or_else(|| "–".into(), |found| estimate(unit, &found)),
        MetricValue::Value(value) => match Entry::from(value.cell()) {
            Entry::Whole(x) if unit == Unit::Count => group(x),
            Entry::Whole(x) => figure(unit, x as f64),
            Entry::Number(x) => figure(unit, x),
            Entry::Text(text) => shortened_to(40, &text),
            _ => "–".into(),
        },
        _ => return None,
    })
}

fn estimate(unit: Unit, Estimate { mean, half_width, .. }: &Estimate) -> String {
    let scale = Scale::of(unit, [*mean]);
    match half_width {
        Some(half_width) => {
            format!("{} ± {} {}", scale.number(*mean), scale.number(*half_width), scale.name()).trim_end().to_owned()
        }
        None => format!("{} (too few for an interval)", figure(unit, *mean)),
    }
}

/// Returns the columns of the first rows of a table.
fn columns_of(table: &Table, rows_shown: usize) -> Vec<Column> {
    let rows: Vec<_> = table.iter_rows().take(rows_shown).collect();
    // A whole table has whole names.
    let cut = |entry: Entry| if rows_shown == usize::MAX { entry } else { entry.cut() };
    let entries = |index: usize| rows.iter().map(|row| cut(Entry::from(&row[index]))).collect::<Vec<_>>();
    let columns = table.columns().iter().enumerate();
    columns.map(|(index, column)| Column::of(&column.name, column.unit, &entries(index))).collect()
}

/// Draws the first rows of a table, and as many of its columns as fit.
fn draw_table(text: &mut String, name: &str, table: &Table, width: usize) {
    let rows = table.iter_rows().len();
    if rows == 0 {
        return;
    }
    let _ = writeln!(text, "\n{}", spoken(name));
    let shown = draw(text, &columns_of(table, ROWS_SHOWN), width, rows.saturating_sub(ROWS_SHOWN), ELSEWHERE);
    note_errors(text, &table.columns()[..shown]);
}

/// States the bound on the error of percentiles, if there are any among the columns.
fn note_errors(text: &mut String, columns: &[parades_core::metrics::Column]) {
    if let Some(permille) = columns.iter().map(|column| column.error_permille).max().filter(|error| *error > 0) {
        note_error(text, permille);
    }
}

/// States the bound on the error of percentiles.
pub(crate) fn note_error(text: &mut String, permille: u16) {
    let _ = writeln!(text, "percentiles are within {} %", f64::from(permille) / 10.0);
}

/// Returns a table or a series with all its rows and columns.
fn whole(name: &str, unit: Unit, value: &MetricValue, view: &View) -> String {
    let mut text = String::new();
    match value {
        MetricValue::Table(table) => {
            draw_whole(&mut text, &columns_of(table, usize::MAX), view.width);
            note_errors(&mut text, table.columns());
        }
        MetricValue::Series(series) => {
            let (times, values): (Vec<Entry>, Vec<Entry>) =
                series.points().iter().map(|(time, x)| (Entry::Number(time.as_secs_f64()), Entry::Number(*x))).unzip();
            let columns = [Column::of("time", Unit::Seconds, &times), Column::of(name, unit, &values)];
            draw_whole(&mut text, &columns, view.width);
        }
        _ => unreachable!("a metric of another kind is no table"),
    }
    text
}
