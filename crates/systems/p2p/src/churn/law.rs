//! The distributions of sessions and absences.

use parades_core::random::{LogNormal, Pareto, Rng, Weibull};
use parades_core::time::Delay;

/// The distribution of a length of time, given by its mean.
///
/// Measured sessions of peer-to-peer systems have heavier tails than the exponential distribution. Weibull
/// with a shape of about 0.5 and log-normal distributions fit them well (D. Stutzbach, R. Rejaie,
/// "Understanding Churn in Peer-to-Peer Networks", IMC 2006).
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    mean: Delay,
    kind: Kind,
}

/// The distribution of the length divided by its mean.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Exponential,
    Weibull(Weibull),
    Pareto(Pareto),
    LogNormal(LogNormal),
}

impl Law {
    /// Makes the exponential distribution of this mean.
    ///
    /// # Errors
    ///
    /// If the mean is zero.
    pub fn exponential(mean: Delay) -> Result<Law, String> {
        Law::of(mean, Kind::Exponential)
    }

    /// Makes the Weibull distribution of this mean. With a shape below 1 the longer a node has stayed, the
    /// longer it will still stay; with 1 the distribution is exponential.
    ///
    /// # Errors
    ///
    /// If the mean is zero, or the shape is not positive and finite, or is so small that the distribution
    /// cannot be computed.
    pub fn weibull(mean: Delay, shape: f64) -> Result<Law, String> {
        // The mean is `scale` times gamma of (1 + 1 / shape).
        let scale = 1.0 / libm::tgamma(1.0 + 1.0 / shape);
        let weibull = Weibull::new(1.0, shape).and_then(|_| Weibull::new(scale, shape));
        Law::of(mean, Kind::Weibull(weibull.map_err(|why| why.to_string())?))
    }

    /// Makes the Pareto distribution of this mean: `P(X > x) = (least / x)^shape`, with `least` = mean (shape
    /// - 1) / shape.
    ///
    /// # Errors
    ///
    /// If the mean is zero, or the shape is not above 1 (the mean would be infinite) or not finite.
    pub fn pareto(mean: Delay, shape: f64) -> Result<Law, String> {
        if shape.is_nan() || shape <= 1.0 {
            return Err(format!(
                "the shape of a Pareto distribution must be above 1 for it to have a mean, not {shape}"
            ));
        }
        let pareto = Pareto::new((shape - 1.0) / shape, shape);
        Law::of(mean, Kind::Pareto(pareto.map_err(|why| why.to_string())?))
    }

    /// Makes the log-normal distribution of this mean; `sigma` is the standard deviation of the logarithm.
    /// The median is mean · exp(-sigma² / 2).
    ///
    /// # Errors
    ///
    /// If the mean is zero, or `sigma` is negative or not finite.
    pub fn log_normal(mean: Delay, sigma: f64) -> Result<Law, String> {
        let log_normal = LogNormal::new(-sigma * sigma / 2.0, sigma);
        Law::of(mean, Kind::LogNormal(log_normal.map_err(|why| why.to_string())?))
    }

    fn of(mean: Delay, kind: Kind) -> Result<Law, String> {
        match mean {
            Delay::ZERO => Err("a mean length of zero leaves no time".into()),
            mean => Ok(Law { mean, kind }),
        }
    }

    /// Returns the mean.
    pub fn mean(&self) -> Delay {
        self.mean
    }

    /// Draws a length; [`Delay::MAX`] if it is longer than virtual time.
    #[inline]
    pub fn sample(&self, rng: &Rng) -> Delay {
        match &self.kind {
            Kind::Exponential => rng.exponential_delay(self.mean),
            Kind::Weibull(weibull) => self.mean.scaled(weibull.sample(rng)),
            Kind::Pareto(pareto) => self.mean.scaled(pareto.sample(rng)),
            Kind::LogNormal(log_normal) => self.mean.scaled(log_normal.sample(rng)),
        }
    }
}
