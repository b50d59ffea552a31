//! `NewReno`: additive increase, and half the bytes in flight after congestion (RFC 5681, RFC 6582).
//!
//! Fast recovery is the connection's part. Here are slow start, congestion avoidance and `ssthresh`.

use super::{Ack, Congestion, CongestionControl, Growth, RenoGrowth, Window};
use parades_core::digest::Digest;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// Parameters of `NewReno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewReno {
    /// The unit in which acknowledgements make the window grow.
    pub growth: Growth,
    /// True if `ssthresh` is half the window, as in Linux. False if it is half the bytes in flight
    /// (RFC 5681, equation 4).
    pub halves_window: bool,
}

impl NewReno {
    /// Returns the parameters that RFC 5681 recommends: bytes count, at most one segment for each
    /// acknowledgement in slow start.
    #[must_use]
    pub const fn rfc5681() -> NewReno {
        NewReno { growth: Growth::Bytes { limit: 1 }, halves_window: false }
    }

    /// Returns the parameters of ns-3.37's `TcpNewReno`: each acknowledgement counts as one segment.
    #[must_use]
    pub const fn ns3() -> NewReno {
        NewReno { growth: Growth::Acks, halves_window: false }
    }

    /// Returns the parameters of Linux's `reno`.
    #[must_use]
    pub const fn linux() -> NewReno {
        NewReno { growth: Growth::Segments, halves_window: true }
    }

    /// Returns the state at the start of a connection.
    #[must_use]
    pub const fn start(self) -> NewRenoState {
        NewRenoState { halves_window: self.halves_window, growth: RenoGrowth::new(self.growth) }
    }

    /// Returns a state that was read, with its parameters.
    pub(super) const fn resume(self, state: NewRenoState) -> NewRenoState {
        NewRenoState { halves_window: self.halves_window, growth: state.growth.resume(self.growth) }
    }
}

/// The state of `NewReno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRenoState {
    #[serde(skip)]
    halves_window: bool,
    growth: RenoGrowth,
}

impl CongestionControl for NewRenoState {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window) {
        if !ack.is_recovering && ack.is_window_limited {
            self.growth.grow(ack, window);
        }
    }

    fn on_congestion(&mut self, _: Congestion, _: Time, in_flight: u32, window: &mut Window) {
        let full = if self.halves_window { window.cwnd } else { in_flight };
        window.ssthresh = (full / 2).max(2 * window.mss);
        self.growth.reset();
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(*self)
    }

    fn fold(&self, digest: &mut Digest) {
        self.growth.fold(digest);
    }
}
