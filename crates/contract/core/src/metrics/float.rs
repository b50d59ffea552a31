//! Statistics of doubles: a recurrence for each LP, merged in id order.

use super::per_lp::PerLp;
use crate::event::{LpId, Sender};
use serde::{Deserialize, Serialize};

/// Count, mean, spread, smallest and largest value of a sequence of doubles.
///
/// Observations use Welford's recurrence, which does not cancel; merging follows Chan, Golub and LeVeque. The
/// last bits of the result depend on the order, so [`Float`] keeps the moments of each LP apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    count: u64,
    mean: f64,
    /// The sum of squared distances from the mean.
    spread: f64,
    min: f64,
    max: f64,
}

impl Moments {
    /// Adds an observation.
    #[inline]
    pub fn observe(&mut self, x: f64) {
        if self.count == 0 {
            *self = Moments { count: 1, mean: x, spread: 0.0, min: x, max: x };
            return;
        }
        self.count += 1;
        let distance = x - self.mean;
        self.mean += distance / self.count as f64;
        self.spread += distance * (x - self.mean);
        self.min = self.min.min(x);
        self.max = self.max.max(x);
    }

    /// Appends the observations of `other`.
    pub fn merge(&mut self, other: &Moments) {
        if self.count == 0 || other.count == 0 {
            *self = if self.count == 0 { *other } else { *self };
            return;
        }
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        let share = other.count as f64 / count as f64;
        self.mean += distance * share;
        self.spread += other.spread + distance * distance * (self.count as f64 * share);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count = count;
    }

    /// Returns the number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// Returns the smallest observation.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest observation.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the sample variance, with the divisor `count - 1`. `None` for fewer than two observations.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.spread / (self.count - 1) as f64)
    }

    /// Returns the standard deviation, the square root of [`Moments::variance`].
    pub fn deviation(&self) -> Option<f64> {
        self.variance().map(f64::sqrt)
    }
}

/// Floating-point observations, kept for each LP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Float {
    pub(super) lps: PerLp<Moments>,
}

impl Float {
    #[inline]
    pub(super) fn observe(&mut self, from: Sender, x: f64) {
        self.lps.entry(from).observe(x);
    }

    /// Returns the observations of all LPs, merged in id order. Takes time in proportion to the LPs that
    /// recorded.
    pub fn total(&self) -> Moments {
        let mut total = Moments::default();
        for (_, moments) in self.lps.iter() {
            total.merge(moments);
        }
        total
    }

    /// Returns the observations of each LP that recorded, by id.
    pub fn lps(&self) -> impl Iterator<Item = (LpId, &Moments)> {
        self.lps.iter().filter_map(|(from, moments)| Some((from.as_lp()?, moments)))
    }
}
