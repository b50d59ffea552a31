//! Histograms with buckets of bounded relative width, as in Gil Tene's HdrHistogram.

use super::Tally;
use serde::{Deserialize, Serialize};

/// The binary logarithm of the number of buckets between two powers of two.
const OCTAVE_BITS: u32 = 7;
/// The number of buckets between two powers of two.
const OCTAVE: usize = 1 << OCTAVE_BITS;

/// The bound on the relative error of a percentile, in thousandths: a bucket is no wider than 1/128 of its
/// values.
pub const PERCENTILE_ERROR_PERMILLE: u16 = 8;

/// A histogram of 64-bit integers, and an exact [`Tally`] of the same observations.
///
/// Values below 256 have a bucket each. Above, each octave has 128 buckets. A percentile is interpolated in
/// its bucket, so it is within 0.8 % of the observed value, and usually much nearer. Buckets exist up to the
/// largest observed value: none at first, 59 kB for all 64 bits. Histograms merge exactly, in any order.
///
/// ```
/// # use parades_core::metrics::Histogram;
/// let mut histogram = Histogram::default();
/// (1..=100_000).for_each(|x| histogram.observe(x));
/// let median = histogram.percentile(50.0).unwrap() as f64;
/// assert!((median / 50_000.0 - 1.0).abs() < 0.004);
/// assert_eq!(histogram.percentile(100.0), Some(100_000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    tally: Tally,
    buckets: Vec<u64>,
}

/// Returns the bucket of `x`.
#[inline]
fn bucket(x: u64) -> usize {
    let shift = (u64::BITS - x.leading_zeros()).saturating_sub(OCTAVE_BITS + 1);
    let in_octave = usize::try_from(x >> shift).expect("it is below 256");
    shift as usize * OCTAVE + in_octave
}

/// Returns the smallest and the largest value of a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    let shift = (bucket / OCTAVE).saturating_sub(1);
    let low = ((bucket - shift * OCTAVE) as u64) << shift;
    (low, low + ((1 << shift) - 1))
}

/// Returns the value at `rank` among `count` values, which are assumed to lie evenly from `low` to
/// `high`, the bounds of a bucket. Digits that are finer than a tenth of the bucket's width are rounded away.
///
/// ```
/// # use parades_core::metrics::interpolate;
/// assert_eq!(interpolate(1000, 1999, 1, 2), 1250);
/// assert_eq!(interpolate(7, 7, 3, 5), 7);
/// ```
pub fn interpolate(low: u64, high: u64, rank: u64, count: u64) -> u64 {
    let width = high - low;
    let share = (rank as f64 - 0.5) / count as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `width`")]
    let exact = low.saturating_add((width as f64 * share) as u64);
    let digits = (width / 10).checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits);
    (exact.saturating_add(unit / 2) / unit * unit).clamp(low, high)
}

impl Histogram {
    /// Adds an observation.
    #[inline]
    pub fn observe(&mut self, x: u64) {
        self.tally.observe(x);
        let bucket = bucket(x);
        match self.buckets.get_mut(bucket) {
            // The count of a bucket is at most that of the tally, whose addition is checked.
            Some(count) => *count += 1,
            None => {
                self.buckets.resize(bucket + 1, 0);
                self.buckets[bucket] = 1;
            }
        }
    }

    /// Adds the observations of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.tally.merge(&other.tally);
        if self.buckets.len() < other.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (count, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *count += more;
        }
    }

    /// Returns the counts of the buckets.
    pub(super) fn bucket_counts(&self) -> &[u64] {
        &self.buckets
    }

    /// Returns true if there are no more buckets than integers of 64 bits need, and the last one has the largest
    /// observation.
    pub(super) fn are_buckets_within_range(&self) -> bool {
        self.buckets.len() == self.tally.max().map_or(0, |max| bucket(max) + 1)
    }

    /// Returns the exact statistics of the observations.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns a percentile by nearest rank: the smallest observation such that at least `percent` per cent
    /// of all observations are not larger.
    ///
    /// The result is exact for 0 and 100. Otherwise it is interpolated in its bucket, is within 0.8 %, and
    /// ends with zeros in place of digits that are not known. `percent` is clamped to `0..=100`. Returns
    /// `None` without observations.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let (min, max) = (self.tally.min()?, self.tally.max()?);
        let count = self.tally.count();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`as` saturates, and the rank is clamped"
        )]
        let rank = ((percent * count as f64 / 100.0).ceil() as u64).clamp(1, count);
        if rank == 1 || rank == count {
            return Some(if rank == 1 { min } else { max });
        }
        let mut below = 0;
        for (bucket, &in_bucket) in self.buckets.iter().enumerate() {
            if below + in_bucket >= rank {
                let (low, high) = bounds(bucket);
                return Some(interpolate(low.max(min), high.min(max), rank - below, in_bucket));
            }
            below += in_bucket;
        }
        unreachable!("the buckets count what the tally counts")
    }

    /// Returns the buckets that are not empty, in ascending order: smallest value, largest value, count.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.buckets.iter().enumerate().filter(|&(_, &count)| count > 0).map(|(bucket, &count)| {
            let (low, high) = bounds(bucket);
            (low, high, count)
        })
    }
}
