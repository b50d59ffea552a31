//! `CUBIC`'s congestion avoidance in real numbers (RFC 9438, section 4).

use super::Cubic;
use crate::control::{Ack, Congestion, Window, whole};
use crate::save::is_length;
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The state of congestion avoidance. Windows are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Curve {
    /// The window just before the last reduction, less after fast convergence: `W_max`. `None` before the
    /// first loss and after a timeout. Then the curve starts at its plateau (sections 4.8 and 4.10).
    w_max: Option<f64>,
    /// The window at the last reduction: `cwnd_prior`.
    cwnd_prior: f64,
    /// The current stage of congestion avoidance, from its first acknowledgement on.
    epoch: Option<Epoch>,
    /// The part of the window that is less than a byte, in bytes.
    fraction: f64,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Epoch {
    /// The time of its start, later by the periods in which the application limited the window.
    start: Time,
    /// The height of the plateau in segments.
    plateau: f64,
    /// The time from the start to the plateau, in seconds: K.
    k: f64,
    /// The window of a Reno flow in the same place: `W_est`.
    w_est: f64,
}

impl Epoch {
    /// Returns the curve's height `seconds` after the start (equation 1).
    fn height(&self, c: f64, seconds: f64) -> f64 {
        let offset = seconds - self.k;
        c * offset * offset * offset + self.plateau
    }
}

impl Curve {
    pub(super) const fn new() -> Curve {
        Curve { w_max: None, cwnd_prior: 0.0, epoch: None, fraction: 0.0 }
    }

    /// Returns true if this is a state of the algorithm. One that was read may be none.
    pub(super) fn is_possible(&self) -> bool {
        let of_epoch = |Epoch { plateau, k, w_est, .. }| [plateau, k, w_est];
        let of_epoch = self.epoch.map_or([0.0; 3], of_epoch);
        self.fraction >= 0.0
            && [self.w_max.unwrap_or(0.0), self.cwnd_prior, self.fraction].into_iter().chain(of_epoch).all(is_length)
    }

    /// Moves the start of the epoch by `period`.
    pub(super) fn exclude(&mut self, period: Delay) {
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(period);
        }
    }

    /// Grows the window by an acknowledgement (sections 4.2 to 4.5).
    pub(super) fn grow(&mut self, parameters: &Cubic, ack: &Ack, window: &mut Window) {
        let mss = f64::from(window.mss);
        let (cwnd, segments) = ((f64::from(window.cwnd.max(1)) + self.fraction) / mss, f64::from(ack.acked) / mss);
        let (w_max, c) = (self.w_max, parameters.c);
        let epoch = self.epoch.get_or_insert_with(|| start_epoch(w_max, c, cwnd, ack.now));
        let seconds = ack.now.since(epoch.start).as_secs_f64();
        epoch.w_est += alpha(parameters.beta, epoch.w_est >= self.cwnd_prior) * segments / cwnd;
        let grown = if epoch.height(c, seconds) < epoch.w_est {
            // The bound of section 4.4 also holds here, after the connection has made the window smaller.
            epoch.w_est.clamp(cwnd, cwnd + segments / 2.0)
        } else {
            let target = epoch.height(c, seconds + ack.srtt.as_secs_f64()).clamp(cwnd, 1.5 * cwnd);
            cwnd + segments * (target - cwnd) / cwnd
        };
        window.cwnd = whole(grown * mss);
        self.fraction = grown * mss - f64::from(window.cwnd);
    }

    /// Sets `ssthresh`, and ends the epoch (sections 4.6 to 4.8).
    ///
    /// The reduction starts from the window instead of the bytes in flight. That is allowed because a window
    /// that is not used does not grow (section 4.6).
    pub(super) fn reduce(&mut self, parameters: &Cubic, congestion: Congestion, window: &mut Window) {
        let cwnd = f64::from(window.cwnd) / f64::from(window.mss);
        let is_shrinking = self.w_max.is_some_and(|w_max| cwnd < w_max);
        let is_released = parameters.has_fast_convergence && is_shrinking;
        let w_max = if is_released { cwnd * (1.0 + parameters.beta) / 2.0 } else { cwnd };
        self.w_max = (congestion != Congestion::Timeout).then_some(w_max);
        self.cwnd_prior = cwnd;
        self.epoch = None;
        self.fraction = 0.0;
        window.ssthresh = whole(f64::from(window.cwnd) * parameters.beta).max(2 * window.mss);
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        digest.float(self.w_max.unwrap_or(0.0));
        digest.float(self.cwnd_prior);
        digest.float(self.fraction);
        if let Some(Epoch { start, plateau, k, w_est }) = self.epoch {
            digest.word(start.as_ps());
            [plateau, k, w_est].into_iter().for_each(|number| digest.float(number));
        }
    }
}

/// Starts a stage of congestion avoidance with a window of `cwnd` segments (equation 2).
fn start_epoch(w_max: Option<f64>, c: f64, cwnd: f64, now: Time) -> Epoch {
    let plateau = w_max.unwrap_or(cwnd).max(cwnd);
    Epoch { start: now, plateau, k: libm::cbrt((plateau - cwnd) / c), w_est: cwnd }
}

/// Returns the segments that a Reno flow with factor `beta` adds in a round trip (section 4.3). It has the
/// same mean window as one with factor 1/2 that adds one segment. Above the window of the last reduction it
/// adds one segment.
fn alpha(beta: f64, is_above_prior: bool) -> f64 {
    if is_above_prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) }
}
