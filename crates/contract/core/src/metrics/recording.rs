//! Recording in metrics, and the mistakes of models that record values that a metric cannot take.

use super::metric_value::COUNTER_IS_WIDE;
use super::{
    Cell, CounterId, FloatId, Form, IntegerId, MetricId, MetricValue, Metrics, Sample, SeriesId, TableId, ValueId,
};
use crate::error::text_of_panic;
use crate::event::{LpId, Sender};
use crate::time::Time;
use std::any::Any;
use std::fmt;

/// The largest magnitude of a floating-point observation.
const MAGNITUDE_MAX: f64 = 1e140;

/// True if `x` is finite and not too large. It is recorded as `x + 0.0`, which makes a negative zero
/// positive.
#[inline]
fn is_recordable(x: f64) -> bool {
    // A NaN fails the comparison too.
    x.abs() <= MAGNITUDE_MAX
}

/// True if a cell can be recorded.
fn is_recordable_cell(cell: &Cell) -> bool {
    if let Cell::Float(x) = cell { is_recordable(*x) } else { true }
}

/// Returns the cell as it is recorded.
fn canonical(cell: Cell) -> Cell {
    if let Cell::Float(x) = cell { Cell::Float(x + 0.0) } else { cell }
}

/// Recordings. A recording that does not fit its metric is dropped, and [`Metrics::check`] reports it at the
/// end of the run.
impl Metrics {
    /// Applies a sample of `lp`. Engines call it when they commit the event that recorded the sample.
    #[inline]
    pub fn apply(&mut self, lp: LpId, sample: &Sample) {
        self.apply_from(Sender::lp(lp), sample);
    }

    #[inline]
    fn apply_from(&mut self, from: Sender, sample: &Sample) {
        let x = f64::from_bits(sample.bits);
        match (self.values.get_mut(sample.metric.0 as usize), sample.form) {
            (Some(MetricValue::Counter(sum)), Form::Integer) => {
                *sum = sum.checked_add(u128::from(sample.bits)).expect(COUNTER_IS_WIDE);
            }
            (Some(MetricValue::Tally(tally)), Form::Integer) => tally.observe(sample.bits),
            (Some(MetricValue::Histogram(histogram)), Form::Integer) => histogram.observe(sample.bits),
            (Some(MetricValue::Float(float)), Form::Float) if is_recordable(x) => float.observe(from, x + 0.0),
            (Some(MetricValue::Steady(steady)), Form::Float) if is_recordable(x) => steady.observe(from, x + 0.0),
            (_, Form::Integer) => self.refuse(from, sample.metric, &sample.bits),
            (_, Form::Float) => self.refuse(from, sample.metric, &x),
        }
    }

    /// Sets the recorder of the direct recordings below. At first it is the global events. While final states
    /// are read, it is each LP in turn. Only one worker may record for the global events.
    pub fn record_as(&mut self, recorder: Sender) {
        self.recorder = recorder;
    }

    /// Adds `amount` to a counter.
    pub fn count(&mut self, counter: impl Into<CounterId>, amount: u64) {
        self.apply_from(self.recorder, &Sample::integer(counter.into().into(), amount));
    }

    /// Records an observation in a tally or a histogram.
    pub fn observe(&mut self, metric: impl Into<IntegerId>, x: u64) {
        self.apply_from(self.recorder, &Sample::integer(metric.into().into(), x));
    }

    /// Records an observation in a float or a steady metric.
    pub fn observe_float(&mut self, metric: impl Into<FloatId>, x: f64) {
        self.apply_from(self.recorder, &Sample::float(metric.into().into(), x));
    }

    /// Adds a point to a series. Points may come in any order of times.
    pub fn point(&mut self, series: impl Into<SeriesId>, time: Time, x: f64) {
        let (from, series) = (self.recorder, MetricId::from(series.into()));
        match self.values.get_mut(series.0 as usize) {
            Some(MetricValue::Series(series)) if is_recordable(x) => series.lps.entry(from).push((time, x + 0.0)),
            _ => self.refuse(from, series, &format_args!("a point of value {x}")),
        }
    }

    /// Sets a value, and replaces an earlier setting of the same recorder. Of several recorders, the LP with
    /// the largest id counts.
    pub fn set(&mut self, value: impl Into<ValueId>, cell: impl Into<Cell>) {
        let (from, value, cell) = (self.recorder, MetricId::from(value.into()), cell.into());
        match self.values.get_mut(value.0 as usize) {
            Some(MetricValue::Value(value)) if is_recordable_cell(&cell) => *value.lps.entry(from) = canonical(cell),
            _ => self.refuse(from, value, &format_args!("the cell {cell:?}")),
        }
    }

    /// Adds a row to a table, with one cell for each column.
    ///
    /// ```
    /// # use parades_core::metrics::{Cell, Column, Metrics, Unit};
    /// let mut metrics = Metrics::new();
    /// let flows = metrics.table("flows", vec![Column::new("flow", Unit::Count), Column::new("took", Unit::Seconds)]);
    /// metrics.row(flows, [Cell::Integer(7), Cell::Float(0.25)]);
    /// metrics.row(flows, [Cell::Integer(2), Cell::Empty]);
    /// let rows = metrics.get("flows").and_then(|metric| metric.table()).unwrap().rows();
    /// assert_eq!(rows, [&[Cell::Integer(2), Cell::Empty], &[Cell::Integer(7), Cell::Float(0.25)]]);
    /// ```
    pub fn row(&mut self, table: impl Into<TableId>, cells: impl IntoIterator<Item = Cell>) {
        let table = MetricId::from(table.into());
        let (from, cells) = (self.recorder, cells.into_iter().collect::<Vec<Cell>>());
        match self.values.get_mut(table.0 as usize) {
            Some(MetricValue::Table(table))
                if cells.len() == table.columns.len() && cells.iter().all(is_recordable_cell) =>
            {
                table.lps.entry(from).push(cells.into_iter().map(canonical));
            }
            _ => self.refuse(from, table, &format_args!("the row {cells:?}")),
        }
    }

    /// Keeps the first `count` rows of a table, in the order of [`Table::rows`](super::Table::rows). For a
    /// model that names the first few LPs of a kind: each part of a run records the first few of its own.
    pub fn keep_first_rows(&mut self, table: impl Into<TableId>, count: usize) {
        let (from, table) = (self.recorder, MetricId::from(table.into()));
        match self.values.get_mut(table.0 as usize) {
            Some(MetricValue::Table(table)) => table.keep_first(count, from),
            _ => self.refuse(from, table, &"the end of a table"),
        }
    }

    /// Says why the results are not those of a complete run. The results are kept, and the run counts as
    /// failed. Of several sentences, the first by LP counts.
    ///
    /// ```
    /// # use parades_core::metrics::Metrics;
    /// let mut metrics = Metrics::new();
    /// metrics.set_incomplete("virtual time ended before the flow `7`");
    /// assert_eq!(metrics.incomplete(), Some("virtual time ended before the flow `7`"));
    /// ```
    pub fn set_incomplete(&mut self, why: impl Into<String>) {
        let sentence = (self.recorder, why.into());
        if self.incomplete.as_deref().is_none_or(|known| sentence < *known) {
            self.incomplete = Some(Box::new(sentence));
        }
    }

    /// Returns why the results are not those of a complete run. `None` for a complete run.
    pub fn incomplete(&self) -> Option<&str> {
        self.incomplete.as_deref().map(|(_, why)| &**why)
    }

    /// Remembers that `what` was recorded in a metric that cannot take it. The first mistake by LP, metric
    /// and sentence counts.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse(&mut self, from: Sender, metric: MetricId, what: &dyn fmt::Display) {
        let mistake = (from, metric, self.sentence(from, metric, what));
        if self.mistake.as_deref().is_none_or(|known| mistake < *known) {
            self.mistake = Some(Box::new(mistake));
        }
    }

    /// Remembers that the model panicked when it made results at the end of the run, which is then an error.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_panic(&mut self, panic: &(dyn Any + Send)) {
        let who = if self.recorder == Sender::GLOBAL { "the model".into() } else { self.recorder.to_string() };
        let sentence =
            format!("{who} panicked when it made its results at the end of the run: {}", text_of_panic(panic));
        let mistake = (self.recorder, MetricId(0), sentence);
        if self.mistake.as_deref().is_none_or(|known| mistake < *known) {
            self.mistake = Some(Box::new(mistake));
        }
    }

    fn sentence(&self, from: Sender, metric: MetricId, what: &dyn fmt::Display) -> String {
        let who =
            if from == Sender::GLOBAL { "a global event, or the end of the run,".into() } else { from.to_string() };
        let index = metric.0 as usize;
        let (Some((name, _)), Some(value)) = (self.declared.list.get(index), self.values.get(index)) else {
            let count = self.values.len();
            return format!(
                "{who} recorded {what} in metric {index}, but the model declares {count}: use the ids it was given"
            );
        };
        let (kind, input) = value.kind_and_input();
        let more = match value {
            MetricValue::Counter(_) | MetricValue::Tally(_) | MetricValue::Histogram(_) => String::new(),
            MetricValue::Table(table) => {
                format!(" of {} cells, numbers at most {MAGNITUDE_MAX:e}", table.columns.len())
            }
            _ => format!(", at most {MAGNITUDE_MAX:e} in magnitude"),
        };
        format!("{who} recorded {what} in the metric `{name}`, a {kind}: it takes {input}{more}")
    }

    /// Checks that the metrics could take everything that was recorded.
    ///
    /// ```
    /// # use parades_core::{event::LpId, metrics::{Metrics, Sample, Unit}};
    /// let mut metrics = Metrics::new();
    /// let wait = metrics.tally("wait", Unit::Picoseconds);
    /// metrics.apply(LpId(4), &Sample::float(wait.into(), 0.5));
    /// let mistake = "LP 4 recorded 0.5 in the metric `wait`, a tally: it takes observations of integers";
    /// assert_eq!(metrics.check(), Err(mistake.into()));
    /// ```
    ///
    /// # Errors
    ///
    /// One sentence about the model's mistake. Of several mistakes, it is the first by LP and metric,
    /// whichever worker saw it.
    pub fn check(&self) -> Result<(), String> {
        self.mistake.as_deref().map_or(Ok(()), |(.., sentence)| Err(sentence.clone()))
    }
}
