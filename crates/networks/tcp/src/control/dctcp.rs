//! DCTCP: the window shrinks by the fraction of marked bytes (RFC 8257).
//!
//! *References*: Bensley, Thaler, Balasubramanian, Eggert, Judd: Data Center TCP, RFC 8257, 2017.
//! Alizadeh et al.: Data center TCP, SIGCOMM 2010.

use super::{Ack, Congestion, CongestionControl, Growth, RenoGrowth, Window, whole};
use crate::save::is_place;
use parades_core::digest::Digest;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// Parameters of DCTCP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dctcp {
    /// The weight of the last window in the estimate of the marked fraction.
    pub g: f64,
    /// The estimate at the start of a connection. One is the cautious choice (RFC 8257, section 4.2).
    pub initial_alpha: f64,
    /// The unit in which acknowledgements make the window grow.
    pub growth: Growth,
    /// True if a loss halves the window, as RFC 8257 requires (section 3.4). False if a loss has the same
    /// effect as a mark.
    pub halves_after_loss: bool,
    /// The least `ssthresh` in segments.
    pub ssthresh_min: u32,
    /// True if congestion resets the count of segments that make the window grow, as in Linux. Not in ns-3.
    pub resets_count: bool,
    /// True if an acknowledgement of nothing new counts as one acknowledged segment in the estimate, as in
    /// ns-3.
    pub counts_repeated_acks: bool,
}

impl Dctcp {
    /// Returns the parameters that RFC 8257 recommends.
    #[must_use]
    pub const fn rfc8257() -> Dctcp {
        Dctcp {
            g: 1.0 / 16.0,
            initial_alpha: 1.0,
            growth: Growth::Bytes { limit: 1 },
            halves_after_loss: true,
            ssthresh_min: 2,
            resets_count: true,
            counts_repeated_acks: false,
        }
    }

    /// Returns the parameters of Linux's `dctcp`.
    #[must_use]
    pub const fn linux() -> Dctcp {
        Dctcp { growth: Growth::Segments, ..Dctcp::rfc8257() }
    }

    /// Returns the parameters of ns-3.37's `TcpDctcp`. ns-3 has no least `ssthresh`. Here it is one segment,
    /// because nothing can be sent with less.
    #[must_use]
    pub const fn ns3() -> Dctcp {
        Dctcp {
            growth: Growth::Segments,
            halves_after_loss: false,
            ssthresh_min: 1,
            resets_count: false,
            counts_repeated_acks: true,
            ..Dctcp::rfc8257()
        }
    }

    /// Returns the state at the start of a connection.
    #[must_use]
    pub const fn start(self) -> DctcpState {
        DctcpState {
            parameters: self,
            growth: RenoGrowth::new(self.growth),
            alpha: self.initial_alpha,
            acked: 0,
            marked: 0,
            is_echoing: false,
            window_end: None,
        }
    }

    /// Returns a state that was read, with its parameters. `None` if it is no state of this algorithm.
    pub(super) fn resume(self, state: DctcpState) -> Option<DctcpState> {
        let DctcpState { growth, alpha, acked, marked, window_end, .. } = state;
        let is_possible =
            alpha.is_finite() && marked <= acked && [acked, window_end.unwrap_or(0)].into_iter().all(is_place);
        is_possible.then_some(DctcpState { parameters: self, growth: growth.resume(self.growth), ..state })
    }
}

/// The state of DCTCP.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DctcpState {
    #[serde(skip, default = "Dctcp::rfc8257")]
    parameters: Dctcp,
    growth: RenoGrowth,
    alpha: f64,
    /// Bytes acknowledged in this window.
    acked: u64,
    /// Bytes acknowledged with a mark in this window.
    marked: u64,
    /// True if the last acknowledgement of new bytes had a mark, and all since then too.
    is_echoing: bool,
    /// The place of the stream whose acknowledgement ends this window.
    window_end: Option<u64>,
}

impl DctcpState {
    /// Returns the estimate of the fraction of marked bytes.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Counts marked bytes, and estimates their fraction once in each window (RFC 8257, section 3.3).
    ///
    /// The acknowledgement that reaches the end of the window ends it, as in Linux and ns-3. In the RFC it is
    /// the next one.
    fn estimate(&mut self, ack: &Ack, mss: u32) {
        let is_repeated = ack.acked == 0 && self.parameters.counts_repeated_acks;
        let bytes = u64::from(if is_repeated { mss } else { ack.acked });
        self.is_echoing = ack.is_marked && (self.is_echoing || ack.acked > 0);
        self.acked += bytes;
        self.marked += if self.is_echoing { bytes } else { 0 };
        if ack.unacked < *self.window_end.get_or_insert(ack.next) {
            return;
        }
        if self.acked > 0 {
            let fraction = self.marked as f64 / self.acked as f64;
            self.alpha = (1.0 - self.parameters.g) * self.alpha + self.parameters.g * fraction;
        }
        self.window_end = Some(ack.next);
        (self.acked, self.marked) = (0, 0);
    }
}

impl CongestionControl for DctcpState {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        self.estimate(ack, window.mss);
        if !ack.is_recovering && ack.is_window_limited {
            self.growth.grow(ack, window);
        }
    }

    fn on_congestion(&mut self, congestion: Congestion, _: Time, _: u32, window: &mut Window) {
        let is_half = congestion != Congestion::Mark && self.parameters.halves_after_loss;
        let cut = if is_half { 0.5 } else { self.alpha / 2.0 };
        let least = self.parameters.ssthresh_min.saturating_mul(window.mss);
        window.ssthresh = whole((1.0 - cut) * f64::from(window.cwnd)).max(least);
        if self.parameters.resets_count {
            self.growth.reset();
        }
    }

    fn needs_exact_marks(&self) -> bool {
        true
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(*self)
    }

    fn fold(&self, digest: &mut Digest) {
        self.growth.fold(digest);
        digest.float(self.alpha);
        digest.word(u64::from(self.is_echoing));
        [self.acked, self.marked, self.window_end.unwrap_or(0)].into_iter().for_each(|word| digest.word(word));
    }
}
