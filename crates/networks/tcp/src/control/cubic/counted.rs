//! `CUBIC`'s congestion avoidance in whole segments, as ns-3.37 computes it.
//!
//! The differences to RFC 9438: windows and the curve are truncated to whole segments. The window grows by
//! one segment for each `cnt` acknowledged segments, `cnt` at least 2. There is no Reno-friendly region. The
//! curve is read one least round trip ahead.

use super::{Arithmetic, Cubic};
use crate::control::{Ack, Congestion, Window, whole};
use crate::save::is_length;
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use serde::{Deserialize, Serialize};

/// The state of congestion avoidance. Windows are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Counted {
    /// Segments acknowledged since the window last grew.
    count: u32,
    /// The window at the last reduction, less after fast convergence. Zero before the first loss and after a
    /// timeout.
    last_max: u32,
    epoch: Option<Epoch>,
    /// The least smoothed round trip.
    least_rtt: Option<Delay>,
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Epoch {
    start: Time,
    /// The height of the plateau.
    plateau: u32,
    /// The time from the start to the plateau, in seconds.
    k: f64,
}

impl Counted {
    pub(super) const fn new() -> Counted {
        Counted { count: 0, last_max: 0, epoch: None, least_rtt: None }
    }

    /// Returns true if this is a state of the algorithm. One that was read may be none.
    pub(super) fn is_possible(&self) -> bool {
        self.epoch.is_none_or(|epoch| is_length(epoch.k))
    }

    /// Measures the least round trip, except right after the start of an epoch. ns-3 measures smoothed round
    /// trips.
    pub(super) fn measure(&mut self, parameters: &Cubic, ack: &Ack) {
        let Arithmetic::Counted { unused_rtts, .. } = parameters.arithmetic else { return };
        let is_unused = self.epoch.is_some_and(|epoch| ack.now.since(epoch.start) < unused_rtts);
        if !is_unused && ack.srtt > Delay::ZERO {
            self.least_rtt = Some(self.least_rtt.map_or(ack.srtt, |least| least.min(ack.srtt)));
        }
    }

    /// Grows the window by an acknowledgement.
    pub(super) fn grow(&mut self, parameters: &Cubic, ack: &Ack, window: &mut Window) {
        self.count = self.count.saturating_add(ack.segments);
        let count = self.full_count(parameters, window.cwnd / window.mss, ack.now);
        if self.count >= count {
            self.count -= count;
            window.cwnd = window.cwnd.saturating_add(window.mss);
        }
    }

    /// Returns the number of segments that must be acknowledged before the window grows by one.
    fn full_count(&mut self, parameters: &Cubic, cwnd: u32, now: Time) -> u32 {
        let last_max = self.last_max;
        let epoch = *self.epoch.get_or_insert_with(|| {
            let plateau = last_max.max(cwnd);
            Epoch { start: now, plateau, k: libm::cbrt(f64::from(plateau - cwnd) / parameters.c) }
        });
        let ahead = now.saturating_add(self.least_rtt.unwrap_or(Delay::ZERO));
        let offset = ahead.since(epoch.start).as_secs_f64() - epoch.k;
        let height = whole(parameters.c * offset.abs() * offset.abs() * offset.abs());
        let target = match offset < 0.0 {
            true => epoch.plateau.saturating_sub(height),
            false => epoch.plateau.saturating_add(height),
        };
        let count = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        match parameters.arithmetic {
            Arithmetic::Counted { count_max, .. } if last_max == 0 => count.min(count_max).max(2),
            _ => count.max(2),
        }
    }

    /// Sets `ssthresh`, and ends the epoch.
    pub(super) fn reduce(&mut self, parameters: &Cubic, congestion: Congestion, window: &mut Window) {
        let cwnd = window.cwnd / window.mss;
        let is_released = parameters.has_fast_convergence && cwnd < self.last_max;
        self.last_max = if is_released { whole(f64::from(cwnd) * (1.0 + parameters.beta) / 2.0) } else { cwnd };
        self.epoch = None;
        window.ssthresh = whole(f64::from(cwnd) * parameters.beta).max(2).saturating_mul(window.mss);
        if congestion == Congestion::Timeout {
            (self.last_max, self.least_rtt) = (0, None);
        }
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.count) << 32 | u64::from(self.last_max));
        digest.word(self.least_rtt.unwrap_or(Delay::MAX).as_ps());
        if let Some(Epoch { start, plateau, k }) = self.epoch {
            digest.word(start.as_ps());
            digest.word(u64::from(plateau));
            digest.float(k);
        }
    }
}
