//! Tables with a row for each distribution, and a row for each series.

use super::{ELSEWHERE, note_error};
use crate::drawing::{Column, draw, spoken};
use crate::figure::{Scale, group};
use parades_core::metrics::{MetricValue, Metrics, PERCENTILE_ERROR_PERMILLE, Unit};

/// The rows of a table, each with a name, a unit and figures.
#[derive(Default)]
struct Rows {
    names: Vec<String>,
    units: Vec<String>,
    figures: Vec<Vec<String>>,
}

impl Rows {
    /// Adds a row of raw values, in one unit.
    fn add(&mut self, name: &str, unit: Unit, figures: &[Option<f64>]) {
        let scale = Scale::of(unit, figures.iter().flatten().copied());
        self.names.push(spoken(name));
        self.units.push(scale.name());
        self.figures.push(figures.iter().map(|x| x.map_or_else(|| "–".into(), |x| scale.number(x))).collect());
    }

    /// Returns the columns: the names, the units, and the figures under these headings.
    fn columns(&self, heading: &str, headings: &[&str]) -> Vec<Column> {
        let figures = |index: usize| self.figures.iter().map(|row| row[index].clone()).collect();
        let figures = headings.iter().enumerate().map(|(index, heading)| Column::of_texts(heading, figures(index)));
        let first = [Column::of_texts(heading, self.names.clone()), Column::of_texts("unit", self.units.clone())];
        first.into_iter().chain(figures).collect()
    }
}

/// Draws a row for each distribution: tallies, histograms, and sums of floating-point numbers.
pub(super) fn distributions(text: &mut String, metrics: &Metrics, width: usize) {
    let (mut rows, mut has_percentiles) = (Rows::default(), false);
    for (name, unit, value) in metrics.iter() {
        let float = |x: Option<u64>| x.map(|x| x as f64);
        match value {
            MetricValue::Histogram(histogram) => {
                let at = |percent| float(histogram.percentile(percent));
                let tally = histogram.tally();
                has_percentiles |= tally.count() > 0;
                rows.add(name, unit, &[tally.mean(), float(tally.min()), at(50.0), at(99.0), float(tally.max())]);
            }
            MetricValue::Tally(tally) => {
                rows.add(name, unit, &[tally.mean(), float(tally.min()), None, None, float(tally.max())]);
            }
            MetricValue::Float(sums) => {
                let moments = sums.total();
                rows.add(name, unit, &[moments.mean(), moments.min(), None, None, moments.max()]);
            }
            _ => {}
        }
    }
    if rows.names.is_empty() {
        return;
    }
    text.push('\n');
    draw(text, &rows.columns("distribution", &["mean", "min", "p50", "p99", "max"]), width, 0, ELSEWHERE);
    if has_percentiles {
        note_error(text, PERCENTILE_ERROR_PERMILLE);
    }
}

/// Draws a row for each series.
pub(super) fn series(text: &mut String, metrics: &Metrics, width: usize) {
    let (mut rows, mut points) = (Rows::default(), Vec::new());
    for (name, unit, value) in metrics.iter() {
        let MetricValue::Series(series) = value else { continue };
        let values: Vec<f64> = series.points().into_iter().map(|(_, x)| x).collect();
        let some = |x: f64| (!values.is_empty()).then_some(x);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let extreme = |of: fn(f64, f64) -> f64, from: f64| values.iter().copied().fold(from, of);
        let figures = [mean, extreme(f64::min, f64::INFINITY), extreme(f64::max, f64::NEG_INFINITY)].map(some);
        rows.add(name, unit, &figures);
        points.push(group(values.len() as u128));
    }
    if rows.names.is_empty() {
        return;
    }
    text.push('\n');
    let mut columns = rows.columns("series", &["mean", "min", "max"]);
    columns.push(Column::of_texts("points", points));
    draw(text, &columns, width, 0, ELSEWHERE);
}
