//! The metrics of a run: the measurements of a model, and the reason why they are equal on every engine.
//!
//! A model declares its metrics once, in order, and gets an id for each, whose type says what can be
//! recorded: a [`CounterId`] counts, and observing with it does not compile. Handlers record [`Sample`]s
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
mod check;
mod declared;
mod float;
mod histogram;
mod metric_value;
mod per_lp;
mod recording;
mod rows;
mod series;
mod stats;
mod steady;
mod sums;
mod table;
mod tally;
mod unit;

pub use declared::{CounterId, Declaration, Declared, FloatId, IntegerId, SeriesId, TableId, ValueId};
pub use float::{Float, Moments};
pub use histogram::{Histogram, PERCENTILE_ERROR_PERMILLE, interpolate};
pub use metric_value::MetricValue;
pub use series::Series;
pub use stats::{Estimate, student_t95};
pub use steady::Steady;
pub use table::{Cell, Column, Table, Value};
pub use tally::Tally;
pub use unit::Unit;

use crate::event::{LpId, Sender};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A metric of a model, by its position in the order of declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MetricId(pub u32);

/// The meaning of the bits of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Form {
    Integer,
    Float,
}

/// A number that a handler recorded for a metric: 16 bytes of plain data, buffered until the event is
/// committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    metric: MetricId,
    form: Form,
    bits: u64,
}

const _: () = assert!(size_of::<Sample>() == 16);

impl Sample {
    /// Makes a sample of an integer, for a counter, a tally or a histogram. A counter adds the integer; a
    /// tally or a histogram observes it.
    #[inline]
    pub const fn integer(metric: MetricId, x: u64) -> Sample {
        Sample { metric, form: Form::Integer, bits: x }
    }

    /// Makes a sample of a floating-point number, for a float or a steady metric.
    #[inline]
    pub const fn float(metric: MetricId, x: f64) -> Sample {
        Sample { metric, form: Form::Float, bits: x.to_bits() }
    }

    /// Returns the metric.
    pub const fn metric(&self) -> MetricId {
        self.metric
    }

    /// Returns the number: [`Cell::Integer`] or [`Cell::Float`].
    pub fn value(&self) -> Cell {
        match self.form {
            Form::Integer => Cell::Integer(self.bits),
            // As it is recorded, without a negative zero.
            Form::Float => Cell::Float(f64::from_bits(self.bits) + 0.0),
        }
    }
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
/// one.apply(LpId(0), &Sample::integer(served.into(), 1));
/// two.apply(LpId(1), &Sample::integer(served.into(), 2));
/// two.apply(LpId(1), &Sample::integer(wait.into(), 5_000_000));
/// one.merge(two);
///
/// assert_eq!(one.get("served").and_then(|metric| metric.counter()), Some(3));
/// assert_eq!(one.get("wait").and_then(|metric| metric.headline()), Some(5e6));
/// assert_eq!(one.check(), Ok(()));
/// ```
#[derive(Clone)]
pub struct Metrics {
    /// The names and the units of all metrics, shared by all workers of a process.
    declared: Arc<Declarations>,
    values: Vec<MetricValue>,
    /// The recorder of direct recordings: an LP, or the global events.
    recorder: Sender,
    /// A recording that a metric could not take. Of several such recordings the first by LP, metric and
    /// sentence is kept, because that choice merges in any order.
    mistake: Option<Box<(Sender, MetricId, String)>>,
    /// Why the results are not those of a complete run. Of several sentences, the first by LP counts.
    incomplete: Option<Box<(Sender, String)>>,
}

/// The names and the units of metrics.
#[derive(Clone, Debug, Default, PartialEq)]
struct Declarations {
    /// In the order of ids.
    list: Vec<(Box<str>, Unit)>,
    /// The place of each name in the list.
    places: BTreeMap<Box<str>, usize>,
}

/// The recordings of one process, on their way to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    values: Vec<MetricValue>,
    mistake: Option<Box<(Sender, MetricId, String)>>,
    incomplete: Option<Box<(Sender, String)>>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let (values, recorder) = (Vec::new(), Sender::GLOBAL);
        Metrics { declared: Arc::default(), values, recorder, mistake: None, incomplete: None }
    }
}

impl PartialEq for Metrics {
    /// True if the declarations and the recordings are equal, bit for bit.
    fn eq(&self, other: &Metrics) -> bool {
        self.declared == other.declared
            && self.values == other.values
            && self.mistake == other.mistake
            && self.incomplete == other.incomplete
    }
}

impl fmt::Debug for Metrics {
    /// Shows what `==` compares, so equal metrics are shown alike.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Metrics { declared, values, mistake, incomplete, recorder: _ } = self;
        let mut shown = f.debug_struct("Metrics");
        shown.field("declared", &declared.list).field("values", values);
        shown.field("mistake", mistake).field("incomplete", incomplete).finish()
    }
}

/// Declarations, for setting up a model. Each one panics if the name is taken already.
impl Metrics {
    /// Makes an empty set of metrics.
    pub fn new() -> Metrics {
        Metrics::default()
    }

    #[track_caller]
    fn declare(&mut self, name: &str, unit: Unit, value: MetricValue) -> MetricId {
        let id = u32::try_from(self.values.len()).expect("a model has fewer than 2^32 metrics");
        let declared = Arc::make_mut(&mut self.declared);
        let before = declared.places.insert(name.into(), declared.list.len());
        assert!(before.is_none(), "two metrics are declared with the name `{name}`: give one of them another");
        declared.list.push((name.into(), unit));
        self.values.push(value);
        MetricId(id)
    }

    /// Declares a sum of integers.
    #[track_caller]
    pub fn counter(&mut self, name: &str, unit: Unit) -> CounterId {
        self.declare(name, unit, MetricValue::Counter(0)).into()
    }

    /// Declares exact statistics of integers: count, sum, mean, deviation, smallest and largest value.
    #[track_caller]
    pub fn tally(&mut self, name: &str, unit: Unit) -> IntegerId {
        self.declare(name, unit, MetricValue::Tally(Tally::default())).into()
    }

    /// Declares a distribution of integers: percentiles to within 0.8 %, and everything that a tally has.
    #[track_caller]
    pub fn histogram(&mut self, name: &str, unit: Unit) -> IntegerId {
        self.declare(name, unit, MetricValue::Histogram(Histogram::default())).into()
    }

    /// Declares statistics of floating-point numbers. Prefer a tally for integers: it is exact, and needs no
    /// memory for each LP.
    #[track_caller]
    pub fn float(&mut self, name: &str, unit: Unit) -> FloatId {
        self.declare(name, unit, MetricValue::Float(Float::default())).into()
    }

    /// Declares a steady-state mean with an interval. It suits floating-point numbers that resemble their
    /// neighbours, such as waiting times. It takes 600 bytes for each LP that records.
    #[track_caller]
    pub fn steady(&mut self, name: &str, unit: Unit) -> FloatId {
        self.declare(name, unit, MetricValue::Steady(Steady::default())).into()
    }

    /// Declares points over virtual time, recorded with [`Metrics::point`]. `unit` is the unit of their
    /// values.
    #[track_caller]
    pub fn series(&mut self, name: &str, unit: Unit) -> SeriesId {
        self.declare(name, unit, MetricValue::Series(Series::default())).into()
    }

    /// Declares a table with these columns, recorded with [`Metrics::row`].
    #[track_caller]
    pub fn table(&mut self, name: &str, columns: Vec<Column>) -> TableId {
        self.declare(name, Unit::Count, MetricValue::Table(Table { columns, ..Table::default() })).into()
    }

    /// Declares one cell, recorded with [`Metrics::set`].
    #[track_caller]
    pub fn value(&mut self, name: &str, unit: Unit) -> ValueId {
        self.declare(name, unit, MetricValue::Value(Value::default())).into()
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
    /// value in both. Either is a mistake of the engine.
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
        self.incomplete = match (self.incomplete.take(), other.incomplete) {
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

    /// Returns the recordings without the declarations, which every process of a run has.
    pub fn into_recorded(self) -> Recorded {
        Recorded { values: self.values, mistake: self.mistake, incomplete: self.incomplete }
    }

    /// Merges the recordings of another process, as [`Metrics::merge`].
    ///
    /// # Panics
    ///
    /// As [`Metrics::merge`].
    pub fn merge_recorded(&mut self, Recorded { values, mistake, incomplete }: Recorded) {
        let declared = Arc::clone(&self.declared);
        self.merge(Metrics { declared, values, mistake, incomplete, ..Metrics::default() });
    }

    /// Removes and returns the per-LP recordings of the LPs that `moves` selects. Takes time in proportion to
    /// the LPs that recorded.
    pub fn split_off(&mut self, moves: &dyn Fn(LpId) -> bool) -> Metrics {
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
        self.declared.list.iter().zip(&self.values).map(|((name, unit), value)| (&**name, *unit, value))
    }

    /// Returns the metric of this name.
    pub fn get(&self, name: &str) -> Option<&MetricValue> {
        self.values.get(*self.declared.places.get(name)?)
    }

    /// Returns the metric of this id.
    pub fn by_id(&self, metric: impl Into<MetricId>) -> Option<&MetricValue> {
        self.values.get(metric.into().0 as usize)
    }
}
