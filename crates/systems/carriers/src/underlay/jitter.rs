//! Random additions to latencies.

use super::Cities;
use super::error::UnderlayError;
use parades_core::event::LpId;
use parades_core::random::Rng;
use parades_core::time::Delay;
use std::sync::Arc;

/// A time that is drawn for each message, and added to its latency.
///
/// It is never negative. So the least latency without jitter is still the least latency, which is the
/// lookahead.
///
/// # Examples
///
/// ```
/// use parades_carriers::underlay::Jitter;
/// use parades_core::prelude::*;
///
/// let jitter = Jitter::normal(Delay::from_ms(2), Delay::from_ms(1));
/// let rng = Rng::stream(1, 0);
/// let mean = (0..10_000).map(|_| jitter.draw(LpId(0), LpId(1), &rng).as_secs_f64()).sum::<f64>() / 10_000.0;
/// // The part below zero is cut off, which moves the mean from 2 to 2.055 ms.
/// assert!((mean - 0.002055).abs() < 0.00003, "{mean}");
///
/// let error = Jitter::log_normal(Delay::from_ms(1), -1.0).unwrap_err();
/// assert_eq!(error.to_string(), "the deviation of a log-normal jitter must be from 0 to 10, not -1");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter(pub(super) Law);

/// The distribution of a jitter.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Law {
    Uniform {
        longest: Delay,
    },
    Exponential {
        mean: Delay,
    },
    Normal {
        mean: f64,
        deviation: f64,
    },
    LogNormal {
        median: Delay,
        sigma: f64,
    },
    /// As measured between the cities of the two peers.
    Measured(Arc<Cities>),
}

/// The greatest deviation of the logarithm: beyond it draws are zero or longer than any run.
const SIGMA_MAX: f64 = 10.0;

impl Jitter {
    /// Each time from zero to `longest`, both included, with the same probability.
    pub fn uniform(longest: Delay) -> Jitter {
        Jitter(Law::Uniform { longest })
    }

    /// An exponential distribution.
    pub fn exponential(mean: Delay) -> Jitter {
        Jitter(Law::Exponential { mean })
    }

    /// A normal distribution without its part below zero. Mean and deviation are those of the whole
    /// distribution.
    pub fn normal(mean: Delay, deviation: Delay) -> Jitter {
        let [mean, deviation] = [mean, deviation].map(Delay::as_secs_f64);
        Jitter(Law::Normal { mean, deviation })
    }

    /// A log-normal distribution with this median; `sigma` is the standard deviation of the logarithm.
    ///
    /// # Errors
    ///
    /// If `sigma` is not a number from 0 to 10.
    pub fn log_normal(median: Delay, sigma: f64) -> Result<Jitter, UnderlayError> {
        if !(0.0..=SIGMA_MAX).contains(&sigma) {
            let message = format!("the deviation of a log-normal jitter must be from 0 to 10, not {sigma}");
            return Err(UnderlayError::Parameter(message));
        }
        Ok(Jitter(Law::LogNormal { median, sigma }))
    }

    /// Draws the jitter of a message between two peers.
    #[inline]
    pub fn draw(&self, from: LpId, to: LpId, rng: &Rng) -> Delay {
        match &self.0 {
            Law::Uniform { longest } => rng.uniform_delay(Delay::ZERO, *longest),
            Law::Exponential { mean } => rng.exponential_delay(*mean),
            Law::Normal { mean, deviation } => loop {
                // At least half of all draws are not below zero, because the mean is not.
                let drawn = mean + deviation * rng.normal();
                if drawn >= 0.0 {
                    return seconds(drawn);
                }
            },
            Law::LogNormal { median, sigma } => seconds(median.as_secs_f64() * libm::exp(sigma * rng.normal())),
            Law::Measured(cities) => cities.jitter(from, to, rng),
        }
    }
}

/// Returns a delay of `seconds`, or [`Delay::MAX`] if that is too long.
pub(super) fn seconds(seconds: f64) -> Delay {
    Delay::try_from_secs_f64(seconds).unwrap_or(Delay::MAX)
}
