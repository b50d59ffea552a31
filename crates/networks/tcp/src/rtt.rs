//! The round trip and the retransmission timeout (RFC 6298).

use crate::settings::{RtoFloor, Settings};
use parades_core::time::Delay;
use serde::{Deserialize, Serialize};

/// Measurements of the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The smoothed round trip; zero before the first measurement.
    pub smoothed: Delay,
    /// The mean deviation.
    pub variation: Delay,
    /// The last measurement.
    pub latest: Delay,
    /// The smallest measurement; [`Delay::MAX`] before the first one.
    pub min: Delay,
    /// The timeout without backoff.
    pub timeout: Delay,
    /// The number of doublings of the timeout.
    pub backoff: u32,
}

impl RoundTrip {
    pub(crate) const fn new(settings: &Settings) -> RoundTrip {
        RoundTrip {
            smoothed: Delay::ZERO,
            variation: Delay::ZERO,
            latest: Delay::ZERO,
            min: Delay::MAX,
            timeout: settings.rto_initial,
            backoff: 0,
        }
    }

    /// Takes a measurement (RFC 6298, rules 2.2 and 2.3). It ends the backoff.
    pub(crate) fn measure(&mut self, round_trip: Delay, settings: &Settings) {
        let ps = round_trip.as_ps().max(1);
        let (smoothed, variation) = if self.smoothed == Delay::ZERO {
            (ps, ps / 2)
        } else {
            let (smoothed, variation) = (self.smoothed.as_ps(), self.variation.as_ps());
            (smoothed - smoothed / 8 + ps / 8, variation - variation / 4 + smoothed.abs_diff(ps) / 4)
        };
        self.smoothed = Delay::from_ps(smoothed.max(1));
        self.variation = Delay::from_ps(variation);
        self.latest = Delay::from_ps(ps);
        self.min = self.min.min(self.latest);
        let spread = Delay::from_ps(variation.saturating_mul(4)).max(settings.rto_granularity);
        let timeout = match settings.rto_floor {
            RtoFloor::Whole(floor) => self.smoothed.saturating_add(spread).max(floor),
            RtoFloor::Variation(floor) => self.smoothed.saturating_add(spread.max(floor)),
        };
        self.timeout = timeout.min(settings.rto_max);
        self.backoff = 0;
    }

    /// Returns the timeout with its backoff.
    pub(crate) fn timeout(&self, settings: &Settings) -> Delay {
        doubled(self.timeout, self.backoff, settings.rto_max)
    }
}

/// Returns `delay`, doubled `times` times, at most `max`.
pub(crate) fn doubled(delay: Delay, times: u32, max: Delay) -> Delay {
    Delay::from_ps(delay.as_ps().saturating_mul(1 << times.min(32))).min(max)
}
