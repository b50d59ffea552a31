//! The value of a metric, by its kind.

use super::{Cell, Float, Histogram, Series, Steady, Table, Tally, Value, sums};
use crate::event::LpId;
use serde::{Deserialize, Serialize};

/// The reason why a counter cannot overflow.
pub(super) const COUNTER_IS_WIDE: &str = "a counter takes fewer than 2^64 samples of 64 bits";

/// The state of one metric, by its kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MetricValue {
    /// The sum of the recorded integers. It has 128 bits, so it takes 2^64 samples to overflow, and would
    /// then panic.
    Counter(u128),
    /// Exact statistics of integers.
    Tally(Tally),
    /// The distribution of integers.
    Histogram(Histogram),
    /// Statistics of floating-point numbers.
    Float(Float),
    /// The steady-state mean of a correlated sequence of floating-point numbers.
    Steady(Steady),
    /// Points over virtual time.
    Series(Series),
    /// Rows of cells.
    Table(Table),
    /// One cell.
    Value(Value),
}

impl MetricValue {
    /// True if handlers record observations in the metric, one by one: a tally, a histogram, a float, or a
    /// steady metric.
    pub fn takes_observations(&self) -> bool {
        matches!(
            self,
            MetricValue::Tally(_) | MetricValue::Histogram(_) | MetricValue::Float(_) | MetricValue::Steady(_)
        )
    }

    /// Returns the word for the kind.
    pub fn kind(&self) -> &'static str {
        self.kind_and_input().0
    }

    /// Returns the word for the kind, and the words for the recordings that it takes.
    pub(super) fn kind_and_input(&self) -> (&'static str, &'static str) {
        match self {
            MetricValue::Counter(_) => ("counter", "integers"),
            MetricValue::Tally(_) => ("tally", "observations of integers"),
            MetricValue::Histogram(_) => ("histogram", "observations of integers"),
            MetricValue::Float(_) => ("float", "observations of floating-point numbers"),
            MetricValue::Steady(_) => ("steady", "observations of floating-point numbers"),
            MetricValue::Series(_) => ("series", "points"),
            MetricValue::Table(_) => ("table", "rows"),
            MetricValue::Value(_) => ("value", "the setting of one cell"),
        }
    }

    /// Returns the one number that best represents the metric: the sum of a counter, the mean of
    /// observations, the number of a value. `None` if there is no such number, or nothing was recorded.
    pub fn headline(&self) -> Option<f64> {
        match self {
            MetricValue::Counter(sum) => Some(*sum as f64),
            MetricValue::Tally(tally) => tally.mean(),
            MetricValue::Histogram(histogram) => histogram.tally().mean(),
            MetricValue::Float(float) => float.total().mean(),
            MetricValue::Steady(steady) => steady.estimate().map(|estimate| estimate.mean),
            MetricValue::Value(value) => match value.cell() {
                Cell::Integer(x) => Some(*x as f64),
                Cell::Float(x) => Some(*x),
                Cell::Empty | Cell::Text(_) => None,
            },
            MetricValue::Series(_) | MetricValue::Table(_) => None,
        }
    }

    /// Returns the sum of a counter.
    pub fn counter(&self) -> Option<u128> {
        if let MetricValue::Counter(sum) = self { Some(*sum) } else { None }
    }

    /// Returns the exact statistics of a tally or a histogram.
    pub fn tally(&self) -> Option<&Tally> {
        match self {
            MetricValue::Tally(tally) => Some(tally),
            MetricValue::Histogram(histogram) => Some(histogram.tally()),
            _ => None,
        }
    }

    /// Returns the distribution of a histogram.
    pub fn histogram(&self) -> Option<&Histogram> {
        if let MetricValue::Histogram(histogram) = self { Some(histogram) } else { None }
    }

    /// Returns the statistics of a float.
    pub fn float(&self) -> Option<&Float> {
        if let MetricValue::Float(float) = self { Some(float) } else { None }
    }

    /// Returns the estimate of a steady metric.
    pub fn steady(&self) -> Option<&Steady> {
        if let MetricValue::Steady(steady) = self { Some(steady) } else { None }
    }

    /// Returns the points of a series.
    pub fn series(&self) -> Option<&Series> {
        if let MetricValue::Series(series) = self { Some(series) } else { None }
    }

    /// Returns the rows of a table.
    pub fn table(&self) -> Option<&Table> {
        if let MetricValue::Table(table) = self { Some(table) } else { None }
    }

    /// Returns the cell of a value.
    pub fn value(&self) -> Option<&Cell> {
        if let MetricValue::Value(value) = self { Some(value.cell()) } else { None }
    }

    /// Returns the same metric with nothing recorded.
    pub(super) fn empty_copy(&self) -> MetricValue {
        match self {
            MetricValue::Counter(_) => MetricValue::Counter(0),
            MetricValue::Tally(_) => MetricValue::Tally(Tally::default()),
            MetricValue::Histogram(_) => MetricValue::Histogram(Histogram::default()),
            MetricValue::Float(_) => MetricValue::Float(Float::default()),
            MetricValue::Steady(_) => MetricValue::Steady(Steady::default()),
            MetricValue::Series(_) => MetricValue::Series(Series::default()),
            MetricValue::Table(table) => {
                MetricValue::Table(Table { columns: table.columns.clone(), ..Table::default() })
            }
            MetricValue::Value(_) => MetricValue::Value(Value::default()),
        }
    }

    /// Adds the recordings of `other`. Returns false if `other` is of another kind.
    pub(super) fn merge(&mut self, other: MetricValue) -> bool {
        use MetricValue::{Counter, Float, Histogram, Series, Steady, Table, Tally, Value};
        match (self, other) {
            (Counter(sum), Counter(more)) => *sum = sum.checked_add(more).expect(COUNTER_IS_WIDE),
            (Tally(tally), Tally(more)) => tally.merge(&more),
            (Histogram(histogram), Histogram(more)) => histogram.merge(&more),
            (Float(float), Float(more)) => float.lps.merge(more.lps),
            (Steady(steady), Steady(more)) => steady.lps.merge(more.lps),
            (Series(series), Series(more)) => series.lps.merge(more.lps),
            (Table(table), Table(more)) if table.columns == more.columns => {
                sums::merge(&mut table.sums, more.sums);
                table.lps.merge(more.lps);
            }
            (Value(value), Value(more)) => value.lps.merge(more.lps),
            _ => return false,
        }
        true
    }

    /// Removes and returns the per-LP recordings of the LPs that `moves` selects.
    pub(super) fn split_off(&mut self, moves: &dyn Fn(LpId) -> bool) -> MetricValue {
        use MetricValue::{Counter, Float, Histogram, Series, Steady, Table, Tally, Value};
        let mut moved = self.empty_copy();
        match (self, &mut moved) {
            (Float(float), Float(moved)) => moved.lps = float.lps.split_off(moves),
            (Steady(steady), Steady(moved)) => moved.lps = steady.lps.split_off(moves),
            (Series(series), Series(moved)) => moved.lps = series.lps.split_off(moves),
            (Table(table), Table(moved)) => moved.lps = table.lps.split_off(moves),
            (Value(value), Value(moved)) => moved.lps = value.lps.split_off(moves),
            // Recordings that merge in any order may stay.
            (Counter(_) | Tally(_) | Histogram(_), _) => {}
            _ => unreachable!("a metric empty_copy is of the same kind"),
        }
        moved
    }
}
