//! Zipf's distribution over ranks, in constant memory and time.

use super::{DistributionError, Rng};

/// Zipf's distribution: rank `k` of `1..=n` is drawn in proportion to `k^-exponent`. It suits the popularity
/// of files, names and peers.
///
/// It needs no table of `n` entries. Rejection-inversion inverts the integral of the *hat* `x^-exponent`, and
/// accepts nearly every rank that it finds. Source: Hörmann and Derflinger, *Rejection-inversion to generate
/// variates from monotone discrete distributions*, ACM Transactions on Modeling and Computer Simulation 6,
/// 1996.
#[derive(Clone, Debug, PartialEq)]
pub struct Zipf {
    n: u64,
    hat: Hat,
    /// The integral of the hat at the left end of rank 1, minus the surplus of the hat there.
    area_lo: f64,
    /// The integral of the hat at the right end of rank `n`.
    area_hi: f64,
    /// A point that is at most this far left of its rank is accepted without evaluating the hat.
    squeeze: f64,
}

impl Zipf {
    /// Makes the distribution over `n` ranks. Exponent 0 is uniform, 1 is the classical law.
    ///
    /// ```
    /// # use parades_core::random::{Rng, Zipf};
    /// let popularity = Zipf::new(1_000_000_000, 1.0).expect("a number of ranks and an exponent in bounds");
    /// assert!((1..=1_000_000_000).contains(&popularity.sample(&Rng::stream(42, 7))));
    /// assert_eq!(Zipf::new(0, 1.0).unwrap_err().to_string(), "a Zipf distribution needs from 1 to 2^40 ranks, not 0");
    /// ```
    ///
    /// # Errors
    ///
    /// If `n` is not in `1..=2^40`, or if the exponent is negative or not finite.
    pub fn new(n: u64, exponent: f64) -> Result<Zipf, DistributionError> {
        // Beyond 2^40 ranks, the rounding error of the integral approaches the width of a rank, and rejection
        // would be biased.
        if !(1..=1 << 40).contains(&n) {
            return Err(DistributionError::new(format!("a Zipf distribution needs from 1 to 2^40 ranks, not {n}")));
        }
        if !(exponent >= 0.0 && exponent.is_finite()) {
            return Err(DistributionError::new(format!(
                "the exponent of a Zipf distribution must be finite and at least 0, not {exponent}"
            )));
        }
        let hat = Hat { exponent };
        Ok(Zipf {
            n,
            area_lo: hat.integral(1.5) - 1.0,
            area_hi: hat.integral(n as f64 + 0.5),
            squeeze: 2.0 - hat.integral_inverse(hat.integral(2.5) - hat.at(2.0)),
            hat,
        })
    }

    /// Draws a rank from `1..=n`.
    #[inline]
    pub fn sample(&self, rng: &Rng) -> u64 {
        loop {
            let area = self.area_hi + rng.unit() * (self.area_lo - self.area_hi);
            let x = self.hat.integral_inverse(area);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "`as` saturates, and the clamp follows"
            )]
            let rank = ((x + 0.5) as u64).clamp(1, self.n);
            let k = rank as f64;
            // Rank 1 is always accepted, so the loop ends.
            if k - x <= self.squeeze || area >= self.hat.integral(k + 0.5) - self.hat.at(k) {
                return rank;
            }
        }
    }
}

/// The function `x^-exponent`, which covers the probabilities of the ranks.
#[derive(Clone, Debug, PartialEq)]
struct Hat {
    exponent: f64,
}

impl Hat {
    fn at(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// Integrates from 1 to `x`: `(x^(1 - exponent) - 1) / (1 - exponent)`. It is written so that it is
    /// `log(x)` for exponent 1, and exact near it.
    fn integral(&self, x: f64) -> f64 {
        let log = libm::log(x);
        expm1_over((1.0 - self.exponent) * log) * log
    }

    #[inline]
    fn integral_inverse(&self, area: f64) -> f64 {
        // Rounding may give less than -1, which has no logarithm.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        libm::exp(log1p_over(t) * area)
    }
}

/// Below this number a series of two terms is exact to the last bit.
const SMALL: f64 = 1e-8;

/// Returns `(exp(t) - 1) / t`, also at 0.
fn expm1_over(t: f64) -> f64 {
    if t.abs() > SMALL { libm::expm1(t) / t } else { 1.0 + 0.5 * t }
}

/// Returns `log(1 + t) / t`, also at 0.
#[inline]
fn log1p_over(t: f64) -> f64 {
    if t.abs() > SMALL { libm::log1p(t) / t } else { 1.0 - 0.5 * t }
}
