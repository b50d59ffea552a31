//! Units of metrics.

use serde::{Deserialize, Serialize};

/// The unit of a metric's raw numbers. It decides how they are shown.
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
    /// Bits per second.
    BitsPerSecond,
    /// Things per second.
    PerSecond,
    /// A fraction, such as a utilisation or a loss rate.
    Ratio,
}

impl Unit {
    /// Returns a raw value as it is shown: the number, and its suffix (empty if the unit has none).
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
