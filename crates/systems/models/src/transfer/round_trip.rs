//! The retransmission timeout of RFC 6298, in integers. Section numbers in this file are those of the RFC.

use parades_core::time::Delay;
use serde::{Deserialize, Serialize};

/// The timeout before the first measurement (2.1), in picoseconds.
const FIRST_PS: u64 = Delay::from_secs(1).as_ps();
/// The longest timeout (2.5), in picoseconds.
const MAX_PS: u64 = Delay::from_secs(60).as_ps();

/// The estimate of the round-trip time. All fields are in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RoundTrip {
    /// The smoothed round-trip time, or 0 before the first measurement.
    smoothed_ps: u64,
    variation_ps: u64,
    timeout_ps: u64,
}

impl RoundTrip {
    pub(super) const NEW: RoundTrip = RoundTrip { smoothed_ps: 0, variation_ps: 0, timeout_ps: FIRST_PS };

    pub(super) fn timeout(&self) -> Delay {
        Delay::from_ps(self.timeout_ps)
    }

    /// Adds a measurement (2.2 and 2.3), which ends a backoff of the timeout.
    #[inline]
    pub(super) fn measure(&mut self, sample: Delay, min_timeout: Delay) {
        let sample_ps = sample.as_ps();
        if self.smoothed_ps == 0 {
            self.smoothed_ps = sample_ps;
            self.variation_ps = sample_ps / 2;
        } else {
            let distance = self.smoothed_ps.abs_diff(sample_ps);
            self.variation_ps = self.variation_ps - self.variation_ps / 4 + distance / 4;
            self.smoothed_ps = self.smoothed_ps - self.smoothed_ps / 8 + sample_ps / 8;
        }
        let timeout = self.smoothed_ps.saturating_add(self.variation_ps.saturating_mul(4));
        self.timeout_ps = timeout.clamp(min_timeout.as_ps(), MAX_PS.max(min_timeout.as_ps()));
    }

    /// Doubles the timeout when the timer has expired (5.5).
    pub(super) fn back_off(&mut self) {
        self.timeout_ps = self.timeout_ps.saturating_mul(2).min(MAX_PS.max(self.timeout_ps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_follows_the_rfc() {
        let mut round_trip = RoundTrip::NEW;
        let least = Delay::from_us(1);
        assert_eq!(round_trip.timeout(), Delay::from_secs(1));
        round_trip.measure(Delay::from_ms(80), least);
        assert_eq!(round_trip.timeout(), Delay::from_ms(80 + 4 * 40));
        // Variation 3/4 * 40 + 1/4 * 80 = 50, smoothed 7/8 * 80 + 1/8 * 160 = 90.
        round_trip.measure(Delay::from_ms(160), least);
        assert_eq!(round_trip.timeout(), Delay::from_ms(90 + 4 * 50));
        round_trip.back_off();
        assert_eq!(round_trip.timeout(), Delay::from_ms(2 * 290));
        (0..20).for_each(|_| round_trip.back_off());
        assert_eq!(round_trip.timeout(), Delay::from_secs(60));
        // Variation 3/4 * 50 + 1/4 * 0 = 37.5. A measurement ends the backoff.
        round_trip.measure(Delay::from_ms(90), least);
        assert_eq!(round_trip.timeout(), Delay::from_ms(90 + 150));
        round_trip.measure(Delay::from_ms(90), Delay::from_secs(2));
        assert_eq!(round_trip.timeout(), Delay::from_secs(2));
    }
}
