//! Histograms with buckets of bounded relative width, as in Gil Tene's HdrHistogram.

use super::Tally;
use serde::{Deserialize, Serialize};

/// The binary logarithm of the number of buckets between two powers of two.
const OCTAVE_BITS: u32 = 7;
/// The number of buckets between two powers of two.
const OCTAVE: usize = 1 << OCTAVE_BITS;

/// A histogram of 64-bit integers, and an exact [`Tally`] of the same observations.
///
/// Values below 256 have a bucket each. Above, each octave has 128 buckets. A value is read back as the
/// middle of its bucket, so it is within 0.4 % of the observed value. Buckets exist up to the largest
/// observed value: none at first, 59 kB for all 64 bits. Histograms merge exactly, in any order.
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

    /// Returns the exact statistics of the observations.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns a percentile by nearest rank: the smallest observation such that at least `percent` per cent
    /// of all observations are not larger.
    ///
    /// The result is exact for 0 and 100, and otherwise within 0.4 %. `percent` is clamped to `0..=100`.
    /// Returns `None` without observations.
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
            below += in_bucket;
            if below >= rank {
                let (low, high) = bounds(bucket);
                return Some((low + (high - low) / 2).clamp(min, max));
            }
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
