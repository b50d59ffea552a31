//! Results for people: one table, figures with units.

use crate::run::Done;
use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{CellAlignment, Table as Drawn, TableComponent};
use parades_core::metrics::{Cell, MetricValue, Table, Unit};
use std::fmt::Write;

/// Rows of a table metric that are shown; the JSON and the files have all.
const ROWS_SHOWN: usize = 10;
/// Columns of text that a table metric may take.
const WIDTH: usize = 118;
/// What stands between two cells.
const CELL_PADDING: usize = 3;

/// All of a run's results.
pub(crate) fn for_people(done: &Done) -> String {
    let Done { plan, choice, outcome, .. } = done;
    let mut drawn = table(&[plan.scenario.name, ""]);
    let mut row = |name: &str, value: String| {
        drawn.add_row([name.to_owned(), value]);
    };
    let run_s = done.run.as_secs_f64();
    row("engine", format!("{} on {} thread{}", choice.engine.name, choice.threads, plural(choice.threads)));
    row("virtual time", figure(Unit::Seconds, outcome.end.as_secs_f64()));
    if outcome.stopped_at.is_some() {
        row("stopped at", format!("{}, before its end", outcome.end));
    }
    row("logical processes", group(u128::from(done.lps)));
    row("events", group(u128::from(outcome.events)));
    if outcome.global_events > 0 {
        row("global events", group(u128::from(outcome.global_events)));
    }
    row(
        "run time",
        format!("{} ({} set-up)", figure(Unit::Seconds, run_s), figure(Unit::Seconds, done.setup.as_secs_f64())),
    );
    row("speed", figure(Unit::PerSecond, if run_s > 0.0 { outcome.events as f64 / run_s } else { 0.0 }));
    row("peak memory", figure(Unit::Bytes, done.peak_rss_bytes as f64));
    if let Some(digest) = outcome.digest {
        row("digest", format!("{digest:016x}"));
    }
    let mut tables = String::new();
    for (name, unit, value) in outcome.metrics.iter() {
        match value {
            MetricValue::Table(value) => draw_table(&mut tables, name, value),
            value => row(&name.replace('_', " "), describe(unit, value)),
        }
    }
    format!("{drawn}\n{tables}")
}

/// An empty table with these headings, figures to the right.
pub(crate) fn table(headings: &[&str]) -> Drawn {
    let mut drawn = Drawn::new();
    drawn.load_preset(UTF8_HORIZONTAL_ONLY).set_header(headings.to_vec());
    drawn.remove_style(TableComponent::HorizontalLines).remove_style(TableComponent::MiddleIntersections);
    for index in 1..headings.len() {
        if let Some(column) = drawn.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    drawn
}

fn plural(n: u64) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// A metric on one line.
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
        MetricValue::Steady(steady) => match steady.estimate() {
            Some(estimate) => match estimate.half_width {
                Some(half_width) => format!("{} ± {}", of(Some(estimate.mean)), of(Some(half_width))),
                None => format!("{} (too few for an interval)", of(Some(estimate.mean))),
            },
            None => "–".into(),
        },
        MetricValue::Series(series) => {
            let values: Vec<f64> = series.points().into_iter().map(|(_, x)| x).collect();
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            match values.len() {
                0 => "–".into(),
                points => format!("{points} points, mean {}, most {}", of(Some(mean)), of(Some(most))),
            }
        }
        MetricValue::Value(value) => show(unit, value.cell()),
        other => of(other.headline()),
    }
}

fn show(unit: Unit, cell: &Cell) -> String {
    match cell {
        Cell::Empty => "–".into(),
        Cell::Text(text) => text.to_string(),
        Cell::Integer(x) if unit == Unit::Count => group(u128::from(*x)),
        Cell::Integer(x) => figure(unit, *x as f64),
        Cell::Float(x) => figure(unit, *x),
    }
}

/// The first rows of a table, and as many of its columns as fit.
fn draw_table(text: &mut String, name: &str, value: &Table) {
    let rows = value.rows();
    if rows.is_empty() {
        return;
    }
    let shown = &rows[..rows.len().min(ROWS_SHOWN)];
    let cells = |row: &[Cell]| row.iter().zip(value.columns()).map(|(cell, column)| show(column.unit, cell)).collect();
    let body: Vec<Vec<String>> = shown.iter().map(|row| cells(row)).collect();
    let headings: Vec<String> = value.columns().iter().map(|column| column.name.replace('_', " ")).collect();
    let _ = writeln!(text, "\n{}", name.replace('_', " "));
    draw(text, &headings, &body, rows.len() - shown.len(), "`--json` and `--out`");
}

/// Draws a table, as many of its columns as fit, and says what of it is elsewhere.
pub(crate) fn draw(text: &mut String, headings: &[String], body: &[Vec<String>], rows_left: usize, elsewhere: &str) {
    let width = |index: usize| {
        let cells = body.iter().map(|row| row[index].chars().count());
        cells.chain([headings[index].chars().count()]).max().unwrap_or(0) + CELL_PADDING
    };
    let mut room = WIDTH;
    let fits = |index: &usize| {
        let fits = width(*index) <= room;
        room = room.saturating_sub(width(*index));
        fits
    };
    let columns = (0..headings.len()).take_while(fits).count().max(1);
    let mut drawn = table(&headings[..columns].iter().map(String::as_str).collect::<Vec<_>>());
    body.iter().for_each(|row| {
        drawn.add_row(&row[..columns]);
    });
    let _ = writeln!(text, "{drawn}");
    let more = [(rows_left, "rows"), (headings.len() - columns, "columns")];
    let more: Vec<String> =
        more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} more {what}", group(*n as u128))).collect();
    if !more.is_empty() {
        let _ = writeln!(text, "{}: in {elsewhere}", more.join(", "));
    }
}

/// A figure with its unit, to four digits: `12.5 ms`, `14.2 M/s`, `4.67 MB`.
pub(crate) fn figure(unit: Unit, raw: f64) -> String {
    let (x, suffix) = unit.show(raw);
    let scales: &[(f64, &str)] = match unit {
        Unit::Picoseconds | Unit::Seconds => &[(1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")],
        Unit::Bytes | Unit::BitsPerSecond | Unit::PerSecond => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")],
        _ => &[(1.0, "")],
    };
    let smallest = scales[scales.len() - 1];
    let (scale, prefix) = scales.iter().copied().find(|(scale, _)| x.abs() >= *scale).unwrap_or(smallest);
    let (scale, prefix) = if x == 0.0 { (1.0, "") } else { (scale, prefix) };
    let number = four_digits(x / scale);
    if suffix.is_empty() { number } else { format!("{number} {prefix}{suffix}") }
}

/// A number to four digits, without trailing zeros.
fn four_digits(x: f64) -> String {
    let magnitude = x.abs();
    let digits = match magnitude {
        m if m >= 1000.0 => 0,
        m if m >= 100.0 => 1,
        m if m >= 10.0 => 2,
        m if m >= 1.0 || m == 0.0 => 3,
        m if m >= 0.001 => 5,
        _ => return format!("{x:.3e}"),
    };
    let number = format!("{x:.digits$}");
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.').to_owned() } else { number }
}

/// An integer in groups of three digits.
pub(crate) fn group(x: u128) -> String {
    let digits = x.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
