//! Pacing: segments leave at the rate of the window, not in bursts.

use crate::connection::ConnectionUndo;
use crate::control::CongestionControl;
use crate::endpoint::Endpoint;
use crate::environment::{Environment, Timer};
use parades_core::restore::Recorder;
use parades_core::time::{Delay, PS_PER_S};

impl<R: Recorder<ConnectionUndo>, E: Environment> Endpoint<'_, R, E> {
    /// Returns the pacing rate in bits per second; `None` if segments are not paced. As in Linux, the rate is
    /// twice the window a round trip in slow start, and 1.2 times later.
    fn pacing_bps(&self) -> Option<u64> {
        if !self.settings.paces && !self.control.needs_pacing() {
            return None;
        }
        let send = &*self.send;
        if let Some(rate) = send.window.pacing_bps {
            return Some(rate.max(1));
        }
        let round_trip = send.round_trip.smoothed.as_ps();
        if round_trip == 0 {
            return None;
        }
        let percent = if send.window.cwnd < send.window.ssthresh / 2 { 200 } else { 120 };
        let bits = u128::from(send.window.cwnd.max(send.in_flight())) * 8 * percent / 100;
        u64::try_from(bits * u128::from(PS_PER_S) / u128::from(round_trip)).ok().map(|rate| rate.max(1))
    }

    /// Returns true if the next segment has to wait, and sets the timer.
    pub(crate) fn is_paced_out(&mut self) -> bool {
        let now = self.env.now();
        if self.send.pace_at <= now || self.pacing_bps().is_none() {
            return false;
        }
        self.env.set_timer(Timer::Pacing, self.send.pace_at.since(now));
        true
    }

    /// Notes that a segment with `payload` bytes leaves.
    pub(crate) fn pace(&mut self, payload: u32) {
        if let Some(rate) = self.pacing_bps() {
            let now = self.env.now();
            let gap = u128::from(payload) * 8 * u128::from(PS_PER_S) / u128::from(rate);
            let gap = Delay::from_ps(u64::try_from(gap).unwrap_or(u64::MAX)).min(Delay::from_secs(1));
            self.send.pace_at = self.send.pace_at.max(now).saturating_add(gap);
        }
    }
}
