//! Distributions that are one formula away from a uniform, an exponential or a normal draw.

use super::Rng;
use std::fmt;

/// The reason why these parameters have no distribution: one sentence that says what is needed and what was
/// given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributionError(String);

impl DistributionError {
    pub(super) fn new(sentence: String) -> DistributionError {
        DistributionError(sentence)
    }
}

impl fmt::Display for DistributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for DistributionError {}

/// Returns an error unless the value is positive and finite.
fn check_positive(distribution: &str, parameter: &str, value: f64) -> Result<(), DistributionError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(DistributionError(format!(
        "the {parameter} of {distribution} distribution must be positive and finite, not {value}"
    )))
}

/// Numbers between two bounds, with constant density. For integers there is [`Rng::range`], for delays
/// [`Rng::uniform_delay`].
#[derive(Clone, Debug, PartialEq)]
pub struct Uniform {
    lo: f64,
    width: f64,
}

impl Uniform {
    /// Makes the distribution between `lo` and `hi`. If they are equal, every draw is that number.
    ///
    /// ```
    /// # use parades_core::random::Uniform;
    /// assert!(Uniform::new(-1.0, 1.0).is_ok());
    /// assert_eq!(
    ///     Uniform::new(2.0, 1.0).unwrap_err().to_string(),
    ///     "the bounds of a uniform distribution must be finite and in ascending order, not 2 and 1",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// If `lo` is above `hi`, or if one of them or their difference is not finite.
    pub fn new(lo: f64, hi: f64) -> Result<Uniform, DistributionError> {
        if lo <= hi && (hi - lo).is_finite() {
            return Ok(Uniform { lo, width: hi - lo });
        }
        Err(DistributionError(format!(
            "the bounds of a uniform distribution must be finite and in ascending order, not {lo} and {hi}"
        )))
    }

    /// Draws a number, at least the lower bound. Only rounding can give the upper bound itself.
    #[inline]
    pub fn sample(&self, rng: &Rng) -> f64 {
        self.lo + self.width * rng.unit()
    }
}

/// The Pareto distribution: `P(X > x) = (scale / x)^shape` from `scale` on. It suits the heavy-tailed sizes
/// of files and flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pareto {
    scale: f64,
    shape_reciprocal: f64,
}

impl Pareto {
    /// Makes the distribution. `scale` is the smallest value, in the unit of the draws; `shape` is the
    /// exponent of the tail.
    ///
    /// The mean is `scale * shape / (shape - 1)` for a shape above 1, else infinite. The variance is infinite
    /// for a shape of at most 2.
    ///
    /// ```
    /// # use parades_core::random::Pareto;
    /// assert!(Pareto::new(1500.0, 1.2).is_ok());
    /// assert_eq!(
    ///     Pareto::new(1500.0, 0.0).unwrap_err().to_string(),
    ///     "the shape of a Pareto distribution must be positive and finite, not 0",
    /// );
    /// ```
    ///
    /// # Errors
    ///
    /// If a parameter is not positive and finite.
    pub fn new(scale: f64, shape: f64) -> Result<Pareto, DistributionError> {
        check_positive("a Pareto", "scale", scale)?;
        check_positive("a Pareto", "shape", shape)?;
        Ok(Pareto { scale, shape_reciprocal: 1.0 / shape })
    }

    /// Draws a number, at least the scale. It is infinite if it is too large for an `f64`, which happens only
    /// for a shape below 0.1.
    #[inline]
    pub fn sample(&self, rng: &Rng) -> f64 {
        // The logarithm of a Pareto draw is exponential.
        self.scale * libm::exp(rng.exponential() * self.shape_reciprocal)
    }
}

/// The Weibull distribution: `P(X > x) = exp(-(x / scale)^shape)`. It suits times to failure and lengths of
/// sessions. With shape 1 it is the exponential distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Weibull {
    scale: f64,
    shape_reciprocal: f64,
}

impl Weibull {
    /// Makes the distribution with this scale, in the unit of the draws, and this shape. 63 % of the draws
    /// are below the scale. The risk of failure falls with age for a shape below 1, and rises for a shape
    /// above 1.
    ///
    /// # Errors
    ///
    /// If a parameter is not positive and finite.
    pub fn new(scale: f64, shape: f64) -> Result<Weibull, DistributionError> {
        check_positive("a Weibull", "scale", scale)?;
        check_positive("a Weibull", "shape", shape)?;
        Ok(Weibull { scale, shape_reciprocal: 1.0 / shape })
    }

    /// Draws a number, at least zero. It is infinite if it is too large for an `f64`.
    #[inline]
    pub fn sample(&self, rng: &Rng) -> f64 {
        self.scale * libm::pow(rng.exponential(), self.shape_reciprocal)
    }
}

/// The log-normal distribution: the logarithm of a draw is normal.
#[derive(Clone, Debug, PartialEq)]
pub struct LogNormal {
    mu: f64,
    sigma: f64,
}

impl LogNormal {
    /// Makes the distribution with this mean and standard deviation *of the logarithm*. The median is
    /// `exp(mu)`, the mean `exp(mu + sigma^2 / 2)`.
    ///
    /// # Errors
    ///
    /// If a parameter is not finite, or `sigma` is negative.
    pub fn new(mu: f64, sigma: f64) -> Result<LogNormal, DistributionError> {
        if mu.is_finite() && sigma.is_finite() && sigma >= 0.0 {
            return Ok(LogNormal { mu, sigma });
        }
        Err(DistributionError(format!(
            "a log-normal distribution needs a finite mu and a finite sigma of at least 0, not mu {mu} and sigma {sigma}"
        )))
    }

    /// Draws a number, at least zero. It is infinite if it is too large for an `f64`.
    #[inline]
    pub fn sample(&self, rng: &Rng) -> f64 {
        libm::exp(self.mu + self.sigma * rng.normal())
    }
}
