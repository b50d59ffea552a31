//! A number between 0 and 1, with a total order.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// A probability, or another ratio between 0 and 1.
///
/// ```
/// use parades_packet::probability::Probability;
/// let half = Probability::new(0.5).expect("it lies between 0 and 1");
/// assert!(half < Probability::ONE && half.get() == 0.5);
/// assert_eq!((Probability::new(2.0), Probability::new(f64::NAN)), (None, None));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const ZERO: Probability = Probability(0.0);
    /// Always.
    pub const ONE: Probability = Probability(1.0);

    /// Returns the probability; `None` if the number does not lie between 0 and 1.
    #[must_use]
    pub const fn new(number: f64) -> Option<Probability> {
        // The sum makes a negative zero positive, so that equal numbers have equal bits.
        if number >= 0.0 && number <= 1.0 { Some(Probability(number + 0.0)) } else { None }
    }

    /// Returns the quotient of two numbers, at most 1.
    ///
    /// # Panics
    ///
    /// If `by` is zero.
    #[must_use]
    pub const fn quotient(of: u32, by: u32) -> Probability {
        assert!(by > 0, "a quotient needs a divisor");
        if of >= by { Probability::ONE } else { Probability(of as f64 / by as f64) }
    }

    /// Returns the number.
    #[inline]
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns true if the number is zero.
    #[inline]
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0.0
    }
}

impl PartialEq for Probability {
    fn eq(&self, other: &Probability) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Probability {}

impl PartialOrd for Probability {
    fn partial_cmp(&self, other: &Probability) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Probability {
    fn cmp(&self, other: &Probability) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Hash for Probability {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}
