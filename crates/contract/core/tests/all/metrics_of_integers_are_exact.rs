//! Tallies agree with big-integer arithmetic, and histograms with a sorted list.

use parades_core::metrics::{Histogram, Tally};
use proptest::prelude::*;

/// Returns values of every magnitude, and the extremes.
fn extreme() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0..64u32, any::<u64>()).prop_map(|(shift, x)| x >> shift),
        (0..300u64).prop_map(|below| u64::MAX - below),
        0..300u64,
    ]
}

/// A natural number in 32-bit digits, the low digit first. It can be added to and compared.
#[derive(Default)]
struct Big(Vec<u32>);

impl Big {
    fn add(&mut self, x: u128) {
        let mut carry = 0u64;
        let mut x = x;
        let mut i = 0;
        while x > 0 || carry > 0 {
            if i == self.0.len() {
                self.0.push(0);
            }
            let sum = u64::from(self.0[i]) + (x & 0xffff_ffff) as u64 + carry;
            self.0[i] = (sum & 0xffff_ffff) as u32;
            (carry, x, i) = (sum >> 32, x >> 32, i + 1);
        }
    }

    fn to_f64(&self) -> f64 {
        self.0.iter().rev().fold(0.0, |high, &digit| high * 4_294_967_296.0 + f64::from(digit))
    }
}

/// Returns the sample variance as a sum over pairs of squared distances. This does not cancel, and is in
/// exact integers up to one division.
fn variance(values: &[u64]) -> f64 {
    let mut spread = Big::default();
    for (i, &x) in values.iter().enumerate() {
        for &y in &values[..i] {
            let distance = u128::from(x.abs_diff(y));
            spread.add(distance * distance);
        }
    }
    spread.to_f64() / (values.len() * (values.len() - 1)) as f64
}

fn tally_of(values: &[u64]) -> Tally {
    let mut tally = Tally::default();
    values.iter().for_each(|&x| tally.observe(x));
    tally
}

/// Returns the percentile by nearest rank, in integers.
fn percentile(sorted: &[u64], per_mille: usize) -> u64 {
    sorted[(per_mille * sorted.len()).div_ceil(1000).max(1) - 1]
}

proptest! {
    #[test]
    fn a_tally_is_exact(values in prop::collection::vec(extreme(), 2..120)) {
        let tally = tally_of(&values);
        prop_assert_eq!(tally.count(), values.len() as u64);
        prop_assert_eq!(tally.sum(), values.iter().map(|&x| u128::from(x)).sum::<u128>());
        prop_assert_eq!(tally.min(), values.iter().min().copied());
        prop_assert_eq!(tally.max(), values.iter().max().copied());
        let (expected, got) = (variance(&values), tally.variance().unwrap());
        prop_assert!((got - expected).abs() <= expected * 2e-15, "{got} should be {expected}");
    }

    #[test]
    fn the_variance_does_not_cancel_near_the_greatest_value(steps in prop::collection::vec(0..4u64, 2..120)) {
        let values: Vec<u64> = steps.iter().map(|step| u64::MAX - step).collect();
        let expected = variance(&steps);
        prop_assert!((tally_of(&values).variance().unwrap() - expected).abs() <= expected * 2e-15);
    }

    #[test]
    fn percentiles_are_those_of_a_sorted_list(values in prop::collection::vec(extreme(), 1..400)) {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&x| histogram.observe(x));
        let mut sorted = values;
        sorted.sort_unstable();
        for per_mille in [0, 1, 10, 250, 500, 900, 950, 990, 999, 1000] {
            let expected = percentile(&sorted, per_mille);
            let got = histogram.percentile(per_mille as f64 / 10.0).unwrap();
            prop_assert!(got.abs_diff(expected) as f64 <= expected as f64 * 0.008, "{got} should be near {expected}");
            if expected < 256 || per_mille == 0 || per_mille == 1000 {
                prop_assert_eq!(got, expected);
            }
        }
        prop_assert_eq!(histogram.tally(), &tally_of(&sorted));
    }

    #[test]
    fn each_value_falls_into_a_narrow_bucket_that_holds_it(x in extreme()) {
        let mut histogram = Histogram::default();
        histogram.observe(x);
        let buckets: Vec<_> = histogram.buckets().collect();
        prop_assert_eq!(buckets.len(), 1);
        let (low, high, count) = buckets[0];
        prop_assert!(low <= x && x <= high && count == 1);
        prop_assert!((high - low) as f64 <= low as f64 / 128.0);
    }
}

#[test]
fn buckets_follow_each_other_without_gaps_or_overlaps() {
    let mut histogram = Histogram::default();
    for shift in 0..64 {
        for top in 0..256u64 {
            histogram.observe(top.checked_shl(shift).filter(|x| x >> shift == top).unwrap_or(u64::MAX));
        }
    }
    let buckets: Vec<(u64, u64, u64)> = histogram.buckets().collect();
    assert_eq!((buckets[0].0, buckets[buckets.len() - 1].1), (0, u64::MAX));
    assert_eq!(buckets.len(), 58 * 128);
    assert!(buckets.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0));
}

#[test]
fn the_sum_of_squares_goes_beyond_128_bits() {
    // Half of the values are 0 and half are 2^64 - 1. The variance is n / (4 (n - 1)) times the square of the
    // difference.
    let count = 1_000_000;
    let mut tally = Tally::default();
    for i in 0..count {
        tally.observe(if i % 2 == 0 { 0 } else { u64::MAX });
    }
    // Merging doubles the tally 40 times. The sum of squares then has 187 bits.
    for _ in 0..40 {
        tally.merge(&tally.clone());
    }
    assert_eq!(tally.count(), count << 40);
    let square = (u64::MAX as f64) * (u64::MAX as f64);
    assert!((tally.variance().unwrap() / (square / 4.0) - 1.0).abs() < 1e-15);
}

#[test]
#[should_panic(expected = "fewer than 2^64 observations")]
fn a_count_that_overflows_is_a_panic() {
    let mut tally = tally_of(&[1]);
    for _ in 0..64 {
        tally.merge(&tally.clone());
    }
}

#[test]
fn nothing_observed_has_no_statistics() {
    let (tally, histogram) = (Tally::default(), Histogram::default());
    assert_eq!((tally.mean(), tally.variance(), tally.min(), tally.max()), (None, None, None, None));
    assert_eq!(histogram.percentile(50.0), None);
    assert_eq!(histogram.buckets().count(), 0);
    assert_eq!(tally_of(&[5]).variance(), None);
    assert_eq!(tally_of(&[5, 5]).variance(), Some(0.0));
}

#[test]
fn percentiles_in_one_bucket_lie_between_the_extremes_and_agree_with_the_mean() {
    // Delays from 40.0219 ms to 40.0351 ms, evenly: 500 values in one bucket, whose middle is 40.131 ms.
    let delay = |i: u64| 40_021_900_000 + i * 26_400;
    let mut histogram = Histogram::default();
    (0..=500).for_each(|i| histogram.observe(delay(i)));
    for (percent, i) in [(5.0, 25), (50.0, 250), (95.0, 475)] {
        let found = histogram.percentile(percent).unwrap();
        // The bucket's share between the extremes is 13.2 us wide, so a microsecond is known.
        assert!(found.abs_diff(delay(i)) <= 1_000_000 && found.is_multiple_of(1_000_000), "{percent}: {found}");
    }
}
