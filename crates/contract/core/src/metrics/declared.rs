//! Metrics as a constant, from which handlers get typed ids when the program is compiled.

use super::{Column, MetricId, Metrics, Unit};
use crate::text::is_same;
use serde::{Deserialize, Serialize};

/// The id of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterId(MetricId);

/// The id of a metric that observes integers: a tally or a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntegerId(MetricId);

/// The id of a metric that observes floating-point numbers: a float or a steady metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloatId(MetricId);

/// The id of a series of points over virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesId(MetricId);

/// The id of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableId(MetricId);

/// The id of a metric of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueId(MetricId);

macro_rules! typed_id {
    ($($id:ident),+) => {$(
        impl From<$id> for MetricId {
            #[inline]
            fn from(id: $id) -> MetricId {
                id.0
            }
        }
        impl From<MetricId> for $id {
            /// Trusts that the metric at this position is of this kind. If it is not, recording is an error
            /// of the run. [`Declared`] and the declarations of [`Metrics`] give ids that need no trust.
            #[inline]
            fn from(id: MetricId) -> $id {
                $id(id)
            }
        }
        impl PartialEq<MetricId> for $id {
            fn eq(&self, other: &MetricId) -> bool {
                self.0 == *other
            }
        }
    )+};
}

typed_id!(CounterId, IntegerId, FloatId, SeriesId, TableId, ValueId);

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Tally,
    Histogram,
    Float,
    Steady,
    Series,
    Table(&'static [(&'static str, Unit)]),
    Value,
}

/// The declaration of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    name: &'static str,
    unit: Unit,
    kind: Kind,
}

impl Declaration {
    /// Declares a sum of integers. See [`Metrics::counter`].
    pub const fn counter(name: &'static str, unit: Unit) -> Declaration {
        Declaration { name, unit, kind: Kind::Counter }
    }

    /// Declares exact statistics of integers. See [`Metrics::tally`].
    pub const fn tally(name: &'static str, unit: Unit) -> Declaration {
        Declaration { name, unit, kind: Kind::Tally }
    }

    /// Declares a distribution of integers. See [`Metrics::histogram`].
    pub const fn histogram(name: &'static str, unit: Unit) -> Declaration {
        Declaration { name, unit, kind: Kind::Histogram }
    }

    /// Declares statistics of floating-point numbers. See [`Metrics::float`].
    pub const fn float(name: &'static str, unit: Unit) -> Declaration {
        Declaration { name, unit, kind: Kind::Float }
    }

    /// Declares a steady-state mean with an interval. See [`Metrics::steady`].
    pub const fn steady(name: &'static str, unit: Unit) -> Declaration {
        Declaration { name, unit, kind: Kind::Steady }
    }

    /// Declares points over virtual time, which global events and the end of the run record. See
    /// [`Metrics::series`].
    pub const fn series(name: &'static str, unit: Unit) -> Declaration {
        Declaration { name, unit, kind: Kind::Series }
    }

    /// Declares a table by the names and units of its columns. Its rows are recorded at the end of the run,
    /// or by global events. See [`Metrics::table`].
    pub const fn table(name: &'static str, columns: &'static [(&'static str, Unit)]) -> Declaration {
        Declaration { name, unit: Unit::Count, kind: Kind::Table(columns) }
    }

    /// Declares one cell, which global events and the end of the run record. See [`Metrics::value`].
    pub const fn value(name: &'static str, unit: Unit) -> Declaration {
        Declaration { name, unit, kind: Kind::Value }
    }
}

/// The metrics of a model that do not depend on its parameters, as a constant.
///
/// A name that is not declared, or is a metric of another kind, does not compile.
///
/// ```
/// use parades_core::metrics::{CounterId, Declaration, Declared, IntegerId, Unit};
/// const METRICS: Declared<2> =
///     Declared::new([Declaration::counter("served", Unit::Count), Declaration::tally("wait", Unit::Picoseconds)]);
/// const SERVED: CounterId = METRICS.counter("served");
/// const WAIT: IntegerId = METRICS.integer("wait");
///
/// let metrics = METRICS.metrics(); // what the model's `metrics` returns
/// assert!(metrics.by_id(SERVED) == metrics.get("served"));
/// assert!(metrics.by_id(WAIT) == metrics.get("wait"));
/// ```
///
/// ```compile_fail
/// use parades_core::metrics::{CounterId, Declaration, Declared, Unit};
/// const METRICS: Declared<1> = Declared::new([Declaration::tally("wait", Unit::Picoseconds)]);
/// const WAIT: CounterId = METRICS.counter("wait"); // a tally is no counter
/// # let _ = WAIT;
/// ```
/// An id of one kind is no id of another, whichever way it was declared:
///
/// ```compile_fail,E0277
/// use parades_core::metrics::{Metrics, Unit};
/// let mut metrics = Metrics::new();
/// let wait = metrics.tally("wait", Unit::Picoseconds);
/// metrics.count(wait, 1); // a tally is no counter
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Declared<const N: usize>([Declaration; N]);

impl<const N: usize> Declared<N> {
    /// Declares metrics, in the order in which results show them.
    pub const fn new(declarations: [Declaration; N]) -> Declared<N> {
        Declared(declarations)
    }

    /// Returns the id of a counter.
    ///
    /// # Panics
    ///
    /// Panics if no counter has this name. In a constant, the compiler then reports the panic.
    pub const fn counter(&self, name: &str) -> CounterId {
        let (id, kind) = self.find(name);
        assert!(matches!(kind, Kind::Counter), "this metric is not a counter");
        CounterId(id)
    }

    /// Returns the id of a tally or a histogram.
    ///
    /// # Panics
    ///
    /// Panics if no tally or histogram has this name. In a constant, the compiler then reports the panic.
    pub const fn integer(&self, name: &str) -> IntegerId {
        let (id, kind) = self.find(name);
        assert!(matches!(kind, Kind::Tally | Kind::Histogram), "this metric is neither a tally nor a histogram");
        IntegerId(id)
    }

    /// Returns the id of a float or a steady metric.
    ///
    /// # Panics
    ///
    /// Panics if no float and no steady metric has this name. In a constant, the compiler then reports the
    /// panic.
    pub const fn float(&self, name: &str) -> FloatId {
        let (id, kind) = self.find(name);
        assert!(matches!(kind, Kind::Float | Kind::Steady), "this metric is neither a float nor a steady metric");
        FloatId(id)
    }

    /// Returns the id of a series.
    ///
    /// # Panics
    ///
    /// Panics if no series has this name. In a constant, the compiler then reports the panic.
    pub const fn series(&self, name: &str) -> SeriesId {
        let (id, kind) = self.find(name);
        assert!(matches!(kind, Kind::Series), "this metric is not a series");
        SeriesId(id)
    }

    /// Returns the id of a table.
    ///
    /// # Panics
    ///
    /// Panics if no table has this name. In a constant, the compiler then reports the panic.
    pub const fn table(&self, name: &str) -> TableId {
        let (id, kind) = self.find(name);
        assert!(matches!(kind, Kind::Table(_)), "this metric is not a table");
        TableId(id)
    }

    /// Returns the id of a metric of one cell.
    ///
    /// # Panics
    ///
    /// Panics if no such metric has this name. In a constant, the compiler then reports the panic.
    pub const fn value(&self, name: &str) -> ValueId {
        let (id, kind) = self.find(name);
        assert!(matches!(kind, Kind::Value), "this metric is not a value");
        ValueId(id)
    }

    /// Returns the id of a metric of any kind.
    ///
    /// # Panics
    ///
    /// Panics if no metric has this name. In a constant, the compiler then reports the panic.
    pub const fn id(&self, name: &str) -> MetricId {
        self.find(name).0
    }

    /// Returns the metrics, in which nothing is recorded.
    ///
    /// # Panics
    ///
    /// Panics if two metrics have the same name.
    pub fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::new();
        for &Declaration { name, unit, kind } in &self.0 {
            let _: MetricId = match kind {
                Kind::Counter => metrics.counter(name, unit).into(),
                Kind::Tally => metrics.tally(name, unit).into(),
                Kind::Histogram => metrics.histogram(name, unit).into(),
                Kind::Float => metrics.float(name, unit).into(),
                Kind::Steady => metrics.steady(name, unit).into(),
                Kind::Series => metrics.series(name, unit).into(),
                Kind::Table(columns) => {
                    let columns = columns.iter().map(|&(name, unit)| Column::new(name, unit));
                    metrics.table(name, columns.collect()).into()
                }
                Kind::Value => metrics.value(name, unit).into(),
            };
        }
        metrics
    }

    const fn find(&self, name: &str) -> (MetricId, Kind) {
        let mut index = 0;
        while index < N {
            if is_same(self.0[index].name, name) {
                #[expect(clippy::cast_possible_truncation, reason = "a constant of 2^32 metrics does not compile")]
                return (MetricId(index as u32), self.0[index].kind);
            }
            index += 1;
        }
        panic!("no metric of this name is declared")
    }
}
