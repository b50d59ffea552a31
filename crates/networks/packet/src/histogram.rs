//! The distribution of a flow's delays, in little memory.

use parades_core::metrics::interpolate;
use parades_core::restore::{Recorder, Undoable};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The number of buckets between two powers of two, as an exponent of two. So a bucket is no wider than 1/128
/// of its values, as in the histograms of all packets.
const OCTAVE_BITS: u32 = 7;

/// The bound on the relative error of a percentile, in thousandths: the width of a bucket.
pub(crate) const PERCENTILE_ERROR_PERMILLE: u16 = 8;

/// The number of delays in each bucket, from the first bucket that is not empty to the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
pub struct DelayHistogram {
    first: u32,
    counts: VecDeque<u32>,
}

#[inline]
fn bucket(x: u64) -> u32 {
    let shift = (u64::BITS - x.leading_zeros()).saturating_sub(OCTAVE_BITS + 1);
    #[expect(clippy::cast_possible_truncation, reason = "eight bits remain after the shift")]
    let within = (x >> shift) as u32;
    (shift << OCTAVE_BITS) + within
}

/// Returns the smallest and the largest value of a bucket.
fn bounds(bucket: u32) -> (u64, u64) {
    let shift = (bucket >> OCTAVE_BITS).saturating_sub(1);
    let low = u64::from(bucket - (shift << OCTAVE_BITS)) << shift;
    (low, low + ((1 << shift) - 1))
}

impl<R: Recorder<DelayHistogramUndo>> DelayHistogramMut<'_, R> {
    /// Counts a delay.
    #[inline]
    pub fn observe(&mut self, ps: u64) {
        let bucket = bucket(ps);
        if self.counts.is_empty() {
            *self.first() = bucket;
        }
        while bucket < self.first {
            self.counts().push_front(0);
            *self.first() -= 1;
        }
        let place = (bucket - self.first) as usize;
        while place >= self.counts.len() {
            self.counts().push_back(0);
        }
        *self.counts().at(place) += 1;
    }
}

impl DelayHistogram {
    /// Returns true if these may be `packets` delays between `min` and `max`. Those that were read may be
    /// none.
    pub(crate) fn is_possible(&self, packets: u64, min: u64, max: u64) -> bool {
        let counted: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let (Some(&front), Some(&back)) = (self.counts.front(), self.counts.back()) else { return packets == 0 };
        let last = u64::from(self.first) + self.counts.len() as u64 - 1;
        counted == packets
            && front > 0
            && back > 0
            && self.first == bucket(min)
            && last == u64::from(bucket(max))
            && self.counts.iter().all(|&count| count < u32::MAX / 2)
    }

    /// Returns the least value that `percent` percent of the delays do not exceed. It is interpolated in its
    /// bucket, and within 0.8 %. All delays are between `min` and `max`. `None` without delays.
    pub fn percentile(&self, percent: u64, min: u64, max: u64) -> Option<u64> {
        let total: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let rank = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (bucket, &count) in (self.first..).zip(&self.counts) {
            let count = u64::from(count);
            if seen + count >= rank {
                let (low, high) = bounds(bucket);
                return Some(interpolate(low.max(min), high.min(max), rank - seen, count));
            }
            seen += count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::restore::UndoLog;

    #[test]
    fn percentiles_are_within_a_bucket_and_undoing_leaves_no_trace() {
        let mut delays = DelayHistogram::default();
        (1..=1000_u64).rev().for_each(|x| delays.unrecorded().observe(x * 1_000_003));
        for percent in [1, 50, 95, 99, 100] {
            let found = delays.percentile(percent, 1_000_003, 1_000_003_000).unwrap_or(0) as f64;
            let exact = (percent * 10_000_030) as f64;
            assert!((found / exact - 1.0).abs() < 0.01, "{percent}: {found} {exact}");
        }
        for mut delays in [delays, DelayHistogram::default()] {
            let before = delays.clone();
            for x in [0, 3, 40_000_000_000_000, 17, 1_000_003, u64::MAX] {
                let mut log = UndoLog::default();
                log.recording(|recorder| delays.view(recorder).observe(x));
                assert_ne!(delays, before);
                delays.undo_all(&mut log);
                assert_eq!(delays, before);
            }
        }
        assert_eq!(DelayHistogram::default().percentile(50, 0, 0), None);
    }

    #[test]
    fn every_value_lies_in_its_bucket() {
        for x in (0..200).chain([1000, 12345, u64::MAX / 3, u64::MAX]) {
            let (low, high) = bounds(bucket(x));
            assert!((low..=high).contains(&x) && (high - low) as f64 <= x as f64 / 127.0, "{x}: {low} {high}");
        }
    }
}
