//! Exact statistics of 64-bit integers.

use serde::{Deserialize, Serialize};

/// The count, sum, sum of squares, smallest and largest value of integers. All are exact, so tallies merge in
/// any order. A tally is one cache line.
///
/// The sum has 128 bits and the sum of squares 192. Neither can overflow before the count, which takes 584
/// years at one observation per nanosecond. An overflow would panic, and never give a wrong number.
///
/// ```
/// # use parades_core::metrics::Tally;
/// let mut tally = Tally::default();
/// for x in [2, 4, 4, 4, 5, 5, 7, 9] {
///     tally.observe(x);
/// }
/// assert_eq!((tally.count(), tally.sum(), tally.min(), tally.max()), (8, 40, Some(2), Some(9)));
/// assert_eq!(tally.mean(), Some(5.0));
/// assert_eq!(tally.variance(), Some(32.0 / 7.0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub(super) sum: u128,
    /// The low 128 bits of the sum of squares.
    pub(super) squares_low: u128,
    pub(super) squares_high: u64,
    pub(super) count: u64,
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { sum: 0, squares_low: 0, squares_high: 0, count: 0, min: u64::MAX, max: 0 }
    }
}

/// The reason why the additions of a tally cannot overflow.
const COUNT_BOUNDS_ALL: &str = "a tally holds fewer than 2^64 observations";

impl Tally {
    /// Adds an observation.
    #[inline]
    pub fn observe(&mut self, x: u64) {
        self.count = self.count.checked_add(1).expect(COUNT_BOUNDS_ALL);
        self.sum += u128::from(x);
        self.add_squares(u128::from(x) * u128::from(x), 0);
        self.min = self.min.min(x);
        self.max = self.max.max(x);
    }

    /// Adds the observations of `other`.
    pub fn merge(&mut self, other: &Tally) {
        self.count = self.count.checked_add(other.count).expect(COUNT_BOUNDS_ALL);
        self.sum += other.sum;
        self.add_squares(other.squares_low, other.squares_high);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    #[inline]
    fn add_squares(&mut self, low: u128, high: u64) {
        let (sum, carry) = self.squares_low.overflowing_add(low);
        self.squares_low = sum;
        // Each square is below 2^128, so the high part is at most the count, whose addition was checked.
        self.squares_high += high + u64::from(carry);
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the smallest observation.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest observation.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the sample variance, with the divisor `count - 1`. `None` for fewer than two observations.
    /// Only the last steps round: cancellation happens in exact integers.
    pub fn variance(&self) -> Option<f64> {
        let pairs = u128::from(self.count) * u128::from(self.count.checked_sub(1)?);
        if pairs == 0 {
            return None;
        }
        Some(to_f64(self.spread().expect("a variance cannot be negative")) / pairs as f64)
    }

    /// Returns `count * (sum of squares) - sum^2`, which has at most 256 bits. `None` if it is negative,
    /// which that of no observations is (Cauchy and Schwarz).
    pub(super) fn spread(&self) -> Option<[u64; 4]> {
        let [low, middle] = limbs(self.squares_low);
        let sum = limbs(self.sum);
        difference(product(&[self.count], &[low, middle, self.squares_high]), product(&sum, &sum))
    }

    /// Returns the standard deviation, the square root of [`Tally::variance`].
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }
}

/// Returns the two 64-bit halves, the low one first.
#[expect(clippy::cast_possible_truncation, reason = "the halves are taken on purpose")]
fn limbs(x: u128) -> [u64; 2] {
    [x as u64, (x >> 64) as u64]
}

/// Multiplies two numbers in limbs of 64 bits, the low limb first. The product must have at most 256 bits.
fn product(a: &[u64], b: &[u64]) -> [u64; 4] {
    let mut result = [0; 4];
    for (i, &x) in a.iter().enumerate() {
        let mut carry = 0;
        for (j, &y) in b.iter().enumerate() {
            let sum = u128::from(x) * u128::from(y) + u128::from(result[i + j]) + u128::from(carry);
            [result[i + j], carry] = limbs(sum);
        }
        match result.get_mut(i + b.len()) {
            Some(limb) => *limb = carry,
            None => assert!(carry == 0, "the product has more than 256 bits"),
        }
    }
    result
}

/// Returns `a - b`; `None` if it is negative.
fn difference(a: [u64; 4], b: [u64; 4]) -> Option<[u64; 4]> {
    let mut borrow = false;
    let result = std::array::from_fn(|i| {
        let (x, under) = a[i].overflowing_sub(b[i]);
        let (x, under_again) = x.overflowing_sub(u64::from(borrow));
        borrow = under || under_again;
        x
    });
    (!borrow).then_some(result)
}

/// Returns the nearest double or a neighbour of it: only the top 65 to 128 bits count.
fn to_f64(x: [u64; 4]) -> f64 {
    let top = x.iter().rposition(|&limb| limb > 0).unwrap_or(0).max(1);
    let leading = u128::from(x[top]) << 64 | u128::from(x[top - 1]);
    let exponent = [1.0, 18_446_744_073_709_551_616.0, 340_282_366_920_938_463_463_374_607_431_768_211_456.0];
    leading as f64 * exponent[top - 1]
}
