//! Checks of recordings that come from a file, which may be those of no run.

use super::histogram::Histogram;
use super::per_lp::PerLp;
use super::steady::{BATCHES_MAX, Batches};
use super::{MetricValue, Metrics, Recorded, Tally};
use crate::cut::COUNT_MAX;
use crate::event::Sender;
use crate::wire::Malformed;

/// The bound of sums of integers.
const SUM_MAX: u128 = 1 << 126;

impl Metrics {
    /// Checks that recordings are those of a run with these metrics. `is_sender` returns true for those who
    /// may have recorded.
    ///
    /// # Errors
    ///
    /// If they are not.
    pub(crate) fn check_recorded(
        &self,
        recorded: &Recorded,
        is_sender: &dyn Fn(Sender) -> bool,
    ) -> Result<(), Malformed> {
        let Recorded { values, mistake, incomplete } = recorded;
        let are_possible = values.len() == self.values.len()
            && values.iter().zip(&self.values).all(|(value, declared)| is_possible(value, declared, is_sender))
            && mistake.as_ref().is_none_or(|mistake| is_sender(mistake.0) && (mistake.1.0 as usize) < values.len())
            && incomplete.as_ref().is_none_or(|incomplete| is_sender(incomplete.0));
        if are_possible { Ok(()) } else { Err(Malformed::new("the metrics are those of no run")) }
    }
}

/// Returns true if a metric with this declaration may have this value.
fn is_possible(value: &MetricValue, declared: &MetricValue, is_sender: &dyn Fn(Sender) -> bool) -> bool {
    fn all<T>(lps: &PerLp<T>, is_sender: &dyn Fn(Sender) -> bool, is_possible: impl Fn(&T) -> bool) -> bool {
        lps.iter().all(|(from, recorded)| is_sender(from) && is_possible(recorded))
    }
    match (value, declared) {
        (MetricValue::Counter(sum), MetricValue::Counter(_)) => *sum < SUM_MAX,
        (MetricValue::Tally(tally), MetricValue::Tally(_)) => tally.is_possible(),
        (MetricValue::Histogram(histogram), MetricValue::Histogram(_)) => histogram.is_possible(),
        (MetricValue::Float(float), MetricValue::Float(_)) => {
            all(&float.lps, is_sender, |moments| moments.count() < COUNT_MAX)
        }
        (MetricValue::Steady(steady), MetricValue::Steady(_)) => all(&steady.lps, is_sender, Batches::are_possible),
        (MetricValue::Series(series), MetricValue::Series(_)) => all(&series.lps, is_sender, |_| true),
        (MetricValue::Table(table), MetricValue::Table(declared)) => {
            table.columns == declared.columns
                && all(&table.lps, is_sender, |rows| rows.are_rows_of(table.columns.len()))
                && table.sums.values().flatten().all(|&sum| sum < COUNT_MAX)
        }
        (MetricValue::Value(value), MetricValue::Value(_)) => all(&value.lps, is_sender, |_| true),
        _ => false,
    }
}

impl Tally {
    fn is_possible(&self) -> bool {
        let Tally { sum, squares_low: _, squares_high, count, min, max } = self;
        *count < COUNT_MAX
            && *sum <= u128::from(*count) * u128::from(*max)
            && squares_high <= count
            && (*count == 0 || min <= max)
            && self.spread().is_some()
    }
}

impl Histogram {
    fn is_possible(&self) -> bool {
        let mut sum = 0_u64;
        let is_counted = self.bucket_counts().iter().all(|&count| {
            let more = sum.checked_add(count);
            sum = more.unwrap_or(0);
            more.is_some()
        });
        is_counted && sum == self.tally().count() && self.tally().is_possible() && self.are_buckets_within_range()
    }
}

impl Batches {
    fn are_possible(&self) -> bool {
        let Batches { sums, length, partial: (_, count) } = self;
        sums.len() < BATCHES_MAX && length.is_power_of_two() && *length < COUNT_MAX && count < length
    }
}
