//! BBR's pacing rate, send quantum and window (section 4.2 of the draft).

use super::BbrState;
use crate::control::{Ack, Window, whole};
use parades_core::digest::Digest;
use parades_core::time::Delay;
use serde::{Deserialize, Serialize};

/// Below this rate in bits per second, the send quantum is one segment.
const SLOW_BPS: f64 = 1.2e6;
/// Below this rate in bits per second, the send quantum is two segments.
const MEDIUM_BPS: f64 = 24e6;
/// The largest send quantum in bytes.
const QUANTUM_MAX: u32 = 64 * 1024;

/// The state of rate and window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Limits {
    pub(super) initial_cwnd: u32,
    /// The largest burst in bytes, which the window must have room for.
    quantum: u32,
    /// True if the pacing rate was derived from a measured round trip.
    has_rtt: bool,
    /// The window before recovery or ProbeRTT.
    prior_cwnd: u32,
    pub(super) is_recovering: bool,
    /// True in the first round of a recovery, in which each delivered packet releases one packet.
    pub(super) is_conserving: bool,
    /// True from a loss to the next acknowledgement, which is mostly the one that revealed the loss.
    pub(super) is_entering: bool,
    /// True from the end of an idle period to the first delivery.
    pub(super) is_idle_restart: bool,
}

impl Limits {
    pub(super) const fn new() -> Limits {
        Limits {
            initial_cwnd: 0,
            quantum: 0,
            has_rtt: false,
            prior_cwnd: 0,
            is_recovering: false,
            is_conserving: false,
            is_entering: false,
            is_idle_restart: false,
        }
    }

    /// Returns true if this is a state of the algorithm. One that was read may be none.
    pub(super) fn is_possible(&self) -> bool {
        self.quantum <= QUANTUM_MAX.max(2 * u32::from(u16::MAX))
    }

    /// Sets the first pacing rate as if the round trip were a millisecond (section 4.2.1).
    pub(super) fn start(&mut self, high_gain: f64, window: &mut Window) {
        self.initial_cwnd = window.cwnd;
        self.quantum = window.mss;
        self.pace_by_rtt(high_gain, Delay::from_ms(1), window);
    }

    fn pace_by_rtt(&self, high_gain: f64, rtt: Delay, window: &mut Window) {
        self.pace(high_gain * f64::from(self.initial_cwnd) * 8.0 / rtt.as_secs_f64(), true, window);
    }

    /// Sets the pacing rate. A rate that is not `forced` never falls.
    pub(super) fn pace(&self, bps: f64, forced: bool, window: &mut Window) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
        let bps = (bps as u64).max(1);
        if forced || window.pacing_bps.is_none_or(|old| bps > old) {
            window.pacing_bps = Some(bps);
        }
    }

    fn set_quantum(&mut self, bps: f64, mss: u32) {
        self.quantum = match bps {
            _ if bps < SLOW_BPS => mss,
            _ if bps < MEDIUM_BPS => 2 * mss,
            _ => whole(bps / 8.0 * 1e-3).min(QUANTUM_MAX),
        };
    }

    /// Returns `bytes` and room for three bursts: in the sender, in the receiver, and on the path.
    pub(super) fn fill(&self, bytes: f64) -> u32 {
        whole(bytes).saturating_add(3 * self.quantum)
    }

    /// Saves the window before recovery or ProbeRTT (section 4.2.3.4).
    pub(super) fn save_cwnd(&mut self, is_probe_rtt: bool, window: &Window) {
        let kept = if self.is_recovering || is_probe_rtt { self.prior_cwnd } else { 0 };
        self.prior_cwnd = window.cwnd.max(kept);
    }

    pub(super) fn restore_cwnd(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        let flags = [self.has_rtt, self.is_recovering, self.is_conserving, self.is_entering, self.is_idle_restart];
        flags.into_iter().for_each(|flag| digest.word(u64::from(flag)));
        [self.initial_cwnd, self.quantum, self.prior_cwnd].into_iter().for_each(|word| digest.word(u64::from(word)));
    }
}

impl BbrState {
    /// Sets pacing rate, send quantum and window.
    pub(super) fn limit(&mut self, ack: &Ack, window: &mut Window) {
        let high_gain = self.parameters.high_gain;
        if !self.limits.has_rtt && ack.srtt > Delay::ZERO {
            self.limits.has_rtt = true;
            self.limits.pace_by_rtt(high_gain, ack.srtt, window);
        }
        let bps = self.mode.pacing_gain(high_gain) * self.model.bandwidth_bps() as f64;
        self.limits.pace(bps, self.model.is_full, window);
        self.limits.set_quantum(window.pacing_bps.unwrap_or(0) as f64, window.mss);
        self.set_cwnd(ack, window);
    }

    /// Sets the window (sections 4.2.3.4 to 4.2.3.6).
    fn set_cwnd(&mut self, ack: &Ack, window: &mut Window) {
        let least = self.parameters.cwnd_min * window.mss;
        if std::mem::take(&mut self.limits.is_entering) {
            // The packets in flight are known only now. `on_congestion` may have counted lost ones.
            window.cwnd = ack.in_flight.saturating_add(ack.delivered.max(window.mss));
        } else {
            window.cwnd = window.cwnd.saturating_sub(ack.lost).max(window.mss);
        }
        if self.limits.is_conserving {
            window.cwnd = window.cwnd.max(ack.in_flight.saturating_add(ack.delivered));
        } else if ack.delivered > 0 {
            let target = self.fill(self.cwnd_gain());
            let grown = window.cwnd.saturating_add(ack.delivered);
            if self.model.is_full {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || self.model.delivered() < u64::from(self.limits.initial_cwnd) {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.max(least);
        }
        if self.mode.is_probe_rtt() {
            window.cwnd = window.cwnd.min(least);
        }
    }
}
