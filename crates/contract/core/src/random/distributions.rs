//! The distributions that are one formula away from a uniform, an exponential or a normal draw.

use super::Rng;
use std::fmt;

/// Why there is no distribution of these parameters: one sentence that says what is needed and what was given.
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

/// Refuses what is not above zero and finite.
fn check_positive(distribution: &str, parameter: &str, value: f64) -> Result<(), DistributionError> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    Err(DistributionError(format!(
        "the {parameter} of {distribution} distribution must be positive and finite, not {value}"
    )))
}

/// Every number between two bounds equally likely. For whole numbers there is [`Rng::range`], for delays [`Rng::uniform_delay`].
#[derive(Clone, Debug, PartialEq)]
pub struct Uniform {
    lo: f64,
    width: f64,
}

impl Uniform {
    /// Between `lo` and `hi`. Where both are equal it is that number always.
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
    /// Where `lo` is above `hi`, or they or their difference are not finite.
    pub fn new(lo: f64, hi: f64) -> Result<Uniform, DistributionError> {
        if lo <= hi && (hi - lo).is_finite() {
            return Ok(Uniform { lo, width: hi - lo });
        }
        Err(DistributionError(format!(
            "the bounds of a uniform distribution must be finite and in ascending order, not {lo} and {hi}"
        )))
    }

    /// A draw, at least the lower bound; the upper bound itself comes only by rounding.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> f64 {
        self.lo + self.width * rng.unit()
    }
}

/// The Pareto distribution: `P(X > x) = (scale / x)^shape` from `scale` on. Heavy-tailed sizes of files and flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Pareto {
    scale: f64,
    shape_reciprocal: f64,
}

impl Pareto {
    /// The least value, in whatever unit the draws shall have, and the exponent of the tail. The mean is `scale * shape / (shape - 1)` where
    /// the shape is above 1, and infinite else; the variance is infinite up to a shape of 2.
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
    /// Where one is not positive and finite.
    pub fn new(scale: f64, shape: f64) -> Result<Pareto, DistributionError> {
        check_positive("a Pareto", "scale", scale)?;
        check_positive("a Pareto", "shape", shape)?;
        Ok(Pareto { scale, shape_reciprocal: 1.0 / shape })
    }

    /// A draw, at least the scale; infinite where it is too large for an `f64`, which takes a shape below 0.1.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> f64 {
        // The logarithm of a Pareto draw is an exponential one.
        self.scale * libm::exp(rng.exponential() * self.shape_reciprocal)
    }
}

/// The Weibull distribution: `P(X > x) = exp(-(x / scale)^shape)`. Times to failure and lengths of sessions; shape 1 is the exponential.
#[derive(Clone, Debug, PartialEq)]
pub struct Weibull {
    scale: f64,
    shape_reciprocal: f64,
}

impl Weibull {
    /// The scale, in whatever unit the draws shall have (63 % of them are below it), and the shape: below 1 the old are
    /// less likely to fail than the young, above 1 more.
    ///
    /// # Errors
    ///
    /// Where one is not positive and finite.
    pub fn new(scale: f64, shape: f64) -> Result<Weibull, DistributionError> {
        check_positive("a Weibull", "scale", scale)?;
        check_positive("a Weibull", "shape", shape)?;
        Ok(Weibull { scale, shape_reciprocal: 1.0 / shape })
    }

    /// A draw, at least zero; infinite where it is too large for an `f64`.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> f64 {
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
    /// Mean and standard deviation *of the logarithm*. The median is `exp(mu)`, the mean `exp(mu + sigma^2 / 2)`.
    ///
    /// # Errors
    ///
    /// Where one is not finite, or `sigma` is negative.
    pub fn new(mu: f64, sigma: f64) -> Result<LogNormal, DistributionError> {
        if mu.is_finite() && sigma.is_finite() && sigma >= 0.0 {
            return Ok(LogNormal { mu, sigma });
        }
        Err(DistributionError(format!(
            "a log-normal distribution needs a finite mu and a finite sigma of at least 0, not mu {mu} and sigma {sigma}"
        )))
    }

    /// A draw, at least zero; infinite where it is too large for an `f64`.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> f64 {
        libm::exp(self.mu + self.sigma * rng.normal())
    }
}
