//! Units: what a metric's raw numbers count.

use serde::{Deserialize, Serialize};
/// What the raw numbers of a metric count, and so how they are shown to people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Things, without a suffix: packets, events, customers.
    #[default]
    Count,
    /// Virtual time in picoseconds, shown as seconds.
    Picoseconds,
    /// Time in seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bits in a second.
    BitsPerSecond,
    /// Things in a second.
    PerSecond,
    /// A fraction, such as a utilisation or a loss rate.
    Ratio,
}

impl Unit {
    /// A raw value as it is shown: the number, and the suffix that follows it (empty where there is none).
    ///
    /// ```
    /// # use parades_core::metrics::Unit;
    /// assert_eq!(Unit::Picoseconds.show(2.5e12), (2.5, "s"));
    /// assert_eq!(Unit::BitsPerSecond.show(1e9), (1e9, "bit/s"));
    /// assert_eq!(Unit::Count.show(3.0), (3.0, ""));
    /// ```
    pub fn show(self, raw: f64) -> (f64, &'static str) {
        match self {
            Unit::Count | Unit::Ratio => (raw, ""),
            Unit::Picoseconds => (raw / 1e12, "s"),
            Unit::Seconds => (raw, "s"),
            Unit::Bytes => (raw, "B"),
            Unit::BitsPerSecond => (raw, "bit/s"),
            Unit::PerSecond => (raw, "/s"),
        }
    }
}
