//! The metrics of a run: what a model measures, and why the numbers are equal on every engine.
//!
//! A model declares its metrics once, in order, and gets a [`MetricId`] for each. Handlers record [`Sample`]s
//! through their context. At commit the engine applies them to the [`Metrics`] of the worker, and at the end
//! it merges the metrics of all workers. The result is, bit for bit, what it would be if every LP had
//! recorded all its samples in turn, in id order:
//!
//! - *Integer* metrics (counter, tally, histogram) are exact sums, wide enough never to overflow. So they
//!   merge in any order.
//! - *The other metrics* are kept for each LP, and are read in id order. The samples of one LP always come in
//!   the same order, but they must all be applied to the metrics of one worker. When LPs move to other
//!   workers, [`Metrics::redistribute`] moves their part of the metrics too.
//!
//! Floating-point observations must be finite and at most 1e140 in magnitude, so that no sum of squares
//! overflows. A negative zero is recorded as zero. So there is no NaN, whose bits differ by machine, and
//! metrics that compare equal are equal bit for bit.
//!
//! *Read next*: [`Steady`], how its interval stays honest.

use serde::{Deserialize, Serialize};
mod float;
mod histogram;
mod metric_value;
mod per_lp;
mod series;
mod stats;
mod steady;
mod sums;
mod table;
mod tally;
mod unit;

pub use float::{Float, Moments};
pub use histogram::Histogram;
pub use metric_value::MetricValue;
pub use series::Series;
pub use stats::{Estimate, student_t95};
pub use steady::Steady;
pub use table::{Cell, Column, Table, Value};
pub use tally::Tally;
pub use unit::Unit;

use metric_value::COUNTER_IS_WIDE;

use crate::event::{LpId, Sender};
use crate::time::Time;
use std::fmt;
use std::sync::Arc;

/// A metric of a model, by its position in the order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MetricId(pub u32);

/// The meaning of the bits of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Integer,
    Float,
}

/// A number that a handler recorded for a metric: 16 bytes of plain data, buffered until the event is
/// committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    metric: MetricId,
    form: Form,
    bits: u64,
}

const _: () = assert!(size_of::<Sample>() == 16);

impl Sample {
    /// An integer, for a counter, a tally or a histogram. A counter adds it, the others observe it.
    #[inline]
    pub const fn integer(metric: MetricId, x: u64) -> Sample {
        Sample { metric, form: Form::Integer, bits: x }
    }

    /// A floating-point number, for a float or a steady metric.
    #[inline]
    pub const fn float(metric: MetricId, x: f64) -> Sample {
        Sample { metric, form: Form::Float, bits: x.to_bits() }
    }
}

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

/// All metrics of a run, in the order of declaration, or a worker's part of them.
///
/// Each worker starts with a clone of the metrics that the model declared.
///
/// ```
/// use parades_core::event::LpId;
/// use parades_core::metrics::{Metrics, Sample, Unit};
/// let mut one = Metrics::new();
/// let served = one.counter("served", Unit::Count);
/// let wait = one.tally("wait", Unit::Picoseconds);
///
/// let mut two = one.clone(); // for a second worker
/// one.apply(LpId(0), &Sample::integer(served, 1));
/// two.apply(LpId(1), &Sample::integer(served, 2));
/// two.apply(LpId(1), &Sample::integer(wait, 5_000_000));
/// one.merge(two);
///
/// assert_eq!(one.get("served").and_then(|metric| metric.counter()), Some(3));
/// assert_eq!(one.get("wait").and_then(|metric| metric.headline()), Some(5e6));
/// assert_eq!(one.check(), Ok(()));
/// ```
#[derive(Clone, Debug)]
pub struct Metrics {
    /// The name and the unit of each metric, shared by all workers of a process.
    declared: Arc<Vec<(Box<str>, Unit)>>,
    values: Vec<MetricValue>,
    /// The recorder of direct recordings: an LP, or the global events.
    recorder: Sender,
    /// A recording that a metric could not take. Of several, the first by LP, metric and sentence counts,
    /// because that choice merges in any order.
    mistake: Option<Box<(Sender, MetricId, String)>>,
}

/// The recordings of one process, on their way to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    values: Vec<MetricValue>,
    mistake: Option<Box<(Sender, MetricId, String)>>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics { declared: Arc::default(), values: Vec::new(), recorder: Sender::GLOBAL, mistake: None }
    }
}

impl PartialEq for Metrics {
    /// True if the same was declared and recorded, bit for bit.
    fn eq(&self, other: &Metrics) -> bool {
        self.declared == other.declared && self.values == other.values && self.mistake == other.mistake
    }
}

/// Declarations, for setting up a model. Each one panics if the name is taken already.
impl Metrics {
    /// Makes an empty set of metrics.
    pub fn new() -> Metrics {
        Metrics::default()
    }

    fn declare(&mut self, name: &str, unit: Unit, value: MetricValue) -> MetricId {
        assert!(self.get(name).is_none(), "two metrics are declared with the name `{name}`: give one of them another");
        let id = u32::try_from(self.values.len()).expect("a model has fewer than 2^32 metrics");
        Arc::make_mut(&mut self.declared).push((name.into(), unit));
        self.values.push(value);
        MetricId(id)
    }

    /// Declares a sum of integers.
    pub fn counter(&mut self, name: &str, unit: Unit) -> MetricId {
        self.declare(name, unit, MetricValue::Counter(0))
    }

    /// Declares exact statistics of integers: count, sum, mean, deviation, smallest and largest value.
    pub fn tally(&mut self, name: &str, unit: Unit) -> MetricId {
        self.declare(name, unit, MetricValue::Tally(Tally::default()))
    }

    /// Declares a distribution of integers: percentiles to within 0.4 %, and everything that a tally has.
    pub fn histogram(&mut self, name: &str, unit: Unit) -> MetricId {
        self.declare(name, unit, MetricValue::Histogram(Histogram::default()))
    }

    /// Declares statistics of floating-point numbers. Prefer a tally for integers: it is exact, and needs no
    /// memory for each LP.
    pub fn float(&mut self, name: &str, unit: Unit) -> MetricId {
        self.declare(name, unit, MetricValue::Float(Float::default()))
    }

    /// Declares a steady-state mean with an interval. It suits floating-point numbers that resemble their
    /// neighbours, such as waiting times. It takes 600 bytes for each LP that records.
    pub fn steady(&mut self, name: &str, unit: Unit) -> MetricId {
        self.declare(name, unit, MetricValue::Steady(Steady::default()))
    }

    /// Declares points over virtual time, recorded with [`Metrics::point`]. `unit` is the unit of their
    /// values.
    pub fn series(&mut self, name: &str, unit: Unit) -> MetricId {
        self.declare(name, unit, MetricValue::Series(Series::default()))
    }

    /// Declares a table with these columns, recorded with [`Metrics::row`].
    pub fn table(&mut self, name: &str, columns: Vec<Column>) -> MetricId {
        self.declare(name, Unit::Count, MetricValue::Table(Table { columns, ..Table::default() }))
    }

    /// Declares one cell, recorded with [`Metrics::set`].
    pub fn value(&mut self, name: &str, unit: Unit) -> MetricId {
        self.declare(name, unit, MetricValue::Value(Value::default()))
    }
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
    pub fn count(&mut self, counter: MetricId, amount: u64) {
        self.apply_from(self.recorder, &Sample::integer(counter, amount));
    }

    /// Records an observation in a tally or a histogram.
    pub fn observe(&mut self, metric: MetricId, x: u64) {
        self.apply_from(self.recorder, &Sample::integer(metric, x));
    }

    /// Records an observation in a float or a steady metric.
    pub fn observe_float(&mut self, metric: MetricId, x: f64) {
        self.apply_from(self.recorder, &Sample::float(metric, x));
    }

    /// Adds a point to a series. Points may come in any order of times.
    pub fn point(&mut self, series: MetricId, time: Time, x: f64) {
        let from = self.recorder;
        match self.values.get_mut(series.0 as usize) {
            Some(MetricValue::Series(series)) if is_recordable(x) => series.lps.entry(from).push((time, x + 0.0)),
            _ => self.refuse(from, series, &format_args!("a point of value {x}")),
        }
    }

    /// Sets a value, and replaces an earlier setting of the same recorder. Of several recorders, the LP with
    /// the largest id counts.
    pub fn set(&mut self, value: MetricId, cell: impl Into<Cell>) {
        let (from, cell) = (self.recorder, cell.into());
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
    pub fn row(&mut self, table: MetricId, cells: impl IntoIterator<Item = Cell>) {
        let (from, cells) = (self.recorder, cells.into_iter().collect::<Vec<Cell>>());
        match self.values.get_mut(table.0 as usize) {
            Some(MetricValue::Table(table))
                if cells.len() == table.columns.len() && cells.iter().all(is_recordable_cell) =>
            {
                table.lps.entry(from).push(cells.into_iter().map(canonical).collect());
            }
            _ => self.refuse(from, table, &format_args!("the row {cells:?}")),
        }
    }

    /// Remembers that `what` was recorded in a metric that cannot take it. The first mistake by LP, metric
    /// and sentence counts.
    #[cold]
    #[inline(never)]
    fn refuse(&mut self, from: Sender, metric: MetricId, what: &dyn fmt::Display) {
        let mistake = (from, metric, self.sentence(from, metric, what));
        if self.mistake.as_deref().is_none_or(|known| mistake < *known) {
            self.mistake = Some(Box::new(mistake));
        }
    }

    fn sentence(&self, from: Sender, metric: MetricId, what: &dyn fmt::Display) -> String {
        let who =
            if from == Sender::GLOBAL { "a global event, or the end of the run,".into() } else { from.to_string() };
        let index = metric.0 as usize;
        let (Some((name, _)), Some(value)) = (self.declared.get(index), self.values.get(index)) else {
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
    /// metrics.apply(LpId(4), &Sample::float(wait, 0.5));
    /// let mistake = "LP 4 recorded 0.5 in the metric `wait`, a tally: it takes integers";
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

/// Merging and reading.
impl Metrics {
    /// True if handlers can record only integers. Then a sample may be applied to the metrics of any worker.
    ///
    /// ```
    /// use parades_core::metrics::{Metrics, Unit};
    /// let mut metrics = Metrics::new();
    /// metrics.counter("lost", Unit::Count);
    /// assert!(metrics.are_integers());
    /// metrics.float("delay", Unit::Seconds);
    /// assert!(!metrics.are_integers());
    /// ```
    pub fn are_integers(&self) -> bool {
        !self.values.iter().any(|value| matches!(value, MetricValue::Float(_) | MetricValue::Steady(_)))
    }

    /// Adds the recordings of another worker. The order in which workers are merged makes no difference.
    ///
    /// # Panics
    ///
    /// If the two have different declarations, or if an LP recorded floating-point samples, points, rows or a
    /// value in both. Both are mistakes of the engine.
    pub fn merge(&mut self, other: Metrics) {
        assert!(
            Arc::ptr_eq(&self.declared, &other.declared) || self.declared == other.declared,
            "metrics of different declarations cannot be merged"
        );
        for (i, (value, more)) in self.values.iter_mut().zip(other.values).enumerate() {
            assert!(value.merge(more), "metric {i} was declared differently in the two that are merged");
        }
        self.mistake = match (self.mistake.take(), other.mistake) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }

    /// Returns metrics with the same declarations, in which nothing is recorded.
    #[must_use]
    pub fn declarations(&self) -> Metrics {
        let values = self.values.iter().map(MetricValue::empty_copy).collect();
        Metrics { declared: Arc::clone(&self.declared), values, ..Metrics::default() }
    }

    /// Returns what was recorded, without the declarations, which every process of a run has.
    pub fn into_recorded(self) -> Recorded {
        Recorded { values: self.values, mistake: self.mistake }
    }

    /// Merges what another process recorded, as [`Metrics::merge`].
    ///
    /// # Panics
    ///
    /// As [`Metrics::merge`].
    pub fn merge_recorded(&mut self, Recorded { values, mistake }: Recorded) {
        self.merge(Metrics { declared: Arc::clone(&self.declared), values, mistake, ..Metrics::default() });
    }

    /// Removes and returns the per-LP recordings of the LPs that `moves` selects. Takes time in proportion to
    /// the LPs that recorded.
    fn split_off(&mut self, moves: &dyn Fn(LpId) -> bool) -> Metrics {
        let values = self.values.iter_mut().map(|value| value.split_off(moves)).collect();
        Metrics { declared: Arc::clone(&self.declared), values, ..Metrics::default() }
    }

    /// Moves the recordings of LPs to the metrics of their new workers. `home` returns the new worker of an
    /// LP; `all` has the metrics of every worker.
    ///
    /// # Panics
    ///
    /// As [`Metrics::merge`], and if `home` returns a worker that does not exist.
    pub fn redistribute(all: &mut [&mut Metrics], home: &dyn Fn(LpId) -> usize) {
        let Some((first, others)) = all.split_first_mut() else { return };
        for other in &mut *others {
            let nothing = other.split_off(&|_| false);
            first.merge(std::mem::replace(other, nothing));
        }
        for (to, other) in (1..).zip(others) {
            other.merge(first.split_off(&|id| home(id) == to));
        }
    }

    /// Returns the name, unit and value of each metric, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Unit, &MetricValue)> {
        self.declared.iter().zip(&self.values).map(|((name, unit), value)| (&**name, *unit, value))
    }

    /// Returns the metric of this name.
    pub fn get(&self, name: &str) -> Option<&MetricValue> {
        self.iter().find(|&(other, ..)| other == name).map(|(.., value)| value)
    }

    /// Returns the metric of this id.
    pub fn by_id(&self, metric: MetricId) -> Option<&MetricValue> {
        self.values.get(metric.0 as usize)
    }
}
