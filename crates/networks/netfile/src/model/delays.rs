//! The distribution of a flow's delays, in little memory: counts of buckets no wider than 1/32 of their values.

/// Buckets between two powers of two, as a power of two.
const OCTAVE_BITS: u32 = 5;

/// Counts by bucket, from the least bucket that there is on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delays {
    first: u32,
    counts: Vec<u32>,
}

#[inline]
fn bucket(x: u64) -> u32 {
    let shift = (u64::BITS - x.leading_zeros()).saturating_sub(OCTAVE_BITS + 1);
    #[expect(clippy::cast_possible_truncation, reason = "what is left after the shift has six bits")]
    let within = (x >> shift) as u32;
    (shift << OCTAVE_BITS) + within
}

/// The middle of a bucket.
fn middle(bucket: u32) -> u64 {
    let shift = (bucket >> OCTAVE_BITS).saturating_sub(1);
    let low = u64::from(bucket - (shift << OCTAVE_BITS)) << shift;
    low + ((1_u64 << shift) >> 1)
}

impl Delays {
    #[inline]
    pub(crate) fn observe(&mut self, x: u64) {
        let bucket = bucket(x);
        if self.counts.is_empty() {
            self.first = bucket;
        }
        if bucket < self.first {
            let more = (self.first - bucket) as usize;
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = bucket;
        }
        let place = (bucket - self.first) as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, 0);
        }
        self.counts[place] += 1;
    }

    /// Takes an [`Delays::observe`] back. What remains equals what was before, but for the room that it takes.
    pub(crate) fn forget(&mut self, x: u64) {
        let place = (bucket(x) - self.first) as usize;
        self.counts[place] -= 1;
        while self.counts.pop_if(|count| *count == 0).is_some() {}
        let zeros = self.counts.iter().take_while(|count| **count == 0).count();
        self.counts.drain(..zeros);
        self.first = if self.counts.is_empty() { 0 } else { self.first + u32::try_from(zeros).unwrap_or(0) };
    }

    /// The least value with at least this share of the observations at or below it, to within 1.6 %; `None` where there is none.
    pub(crate) fn percentile(&self, percent: u64) -> Option<u64> {
        let total: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let rank = (total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (bucket, &count) in (self.first..).zip(&self.counts) {
            seen += u64::from(count);
            if seen >= rank {
                return Some(middle(bucket));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_bucket_and_undoing_leaves_no_trace() {
        let mut delays = Delays::default();
        (1..=1000_u64).rev().for_each(|x| delays.observe(x * 1_000_003));
        for percent in [1, 50, 95, 99, 100] {
            let (found, exact) = (delays.percentile(percent).unwrap_or(0) as f64, (percent * 10_000_030) as f64);
            assert!((found / exact - 1.0).abs() < 0.017, "{percent}: {found} {exact}");
        }
        let before = delays.clone();
        for x in [0, 3, 40_000_000_000_000, 17, 1_000_003, u64::MAX] {
            delays.observe(x);
            assert_ne!(delays, before);
            delays.forget(x);
            assert_eq!(delays, before);
        }
        let mut empty = Delays::default();
        empty.observe(7);
        empty.forget(7);
        assert_eq!((empty, Delays::default().percentile(50)), (Delays::default(), None));
    }

    #[test]
    fn every_value_lies_in_its_bucket() {
        for x in (0..200).chain([1000, 12345, u64::MAX / 3, u64::MAX]) {
            let near = middle(bucket(x));
            assert!(near.abs_diff(x) as f64 <= x as f64 / 60.0 + 0.5, "{x} {near}");
        }
    }
}
