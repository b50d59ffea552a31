//! Growth of the window as in Reno: slow start and congestion avoidance (RFC 5681, section 3.1).

use super::{Ack, Window};
use parades_core::digest::Digest;
use serde::{Deserialize, Serialize};

/// The unit in which acknowledgements make the window grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Each acknowledgement counts as one segment, whatever it acknowledges. In congestion avoidance it adds
    /// mss²/cwnd bytes, at least one (RFC 5681, equation 3). Delayed acknowledgements slow this growth down.
    Acks,
    /// Bytes count (RFC 3465, appropriate byte counting). In slow start an acknowledgement adds at most
    /// `limit` segments. RFC 5681 recommends 1 segment, and RFC 3465 allows 2.
    Bytes {
        /// The largest number of segments that one acknowledgement adds in slow start.
        limit: u32,
    },
    /// Segments count, as in Linux: in slow start without a limit, but not beyond `ssthresh`. The remainder
    /// counts in congestion avoidance.
    Segments,
}

/// The state of a Reno-like growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenoGrowth {
    #[serde(skip, default = "unread")]
    growth: Growth,
    /// Bytes or segments counted in congestion avoidance since the window last grew.
    counted: u32,
}

/// Stands for the part that is not in the bytes of a [`RenoGrowth`], until [`RenoGrowth::resume`].
const fn unread() -> Growth {
    Growth::Acks
}

impl RenoGrowth {
    /// Returns a state that was read, with its parameter.
    pub(super) const fn resume(self, growth: Growth) -> RenoGrowth {
        RenoGrowth { growth, ..self }
    }

    /// Returns the state at the start of a connection.
    #[must_use]
    pub const fn new(growth: Growth) -> RenoGrowth {
        RenoGrowth { growth, counted: 0 }
    }

    /// Forgets acknowledgements that were counted but have not made the window grow.
    pub fn reset(&mut self) {
        self.counted = 0;
    }

    /// Grows the window by an acknowledgement, in slow start or in congestion avoidance.
    pub fn grow(&mut self, ack: &Ack, window: &mut Window) {
        let mut count = match self.growth {
            Growth::Bytes { .. } => ack.acked,
            Growth::Acks | Growth::Segments => ack.segments,
        };
        if window.is_slow_start() {
            count = self.slow_start(count, window);
        }
        if !window.is_slow_start() && count > 0 {
            self.avoid_congestion(count, window);
        }
    }

    /// Grows the window in slow start. Returns the part of `count` that is left for congestion avoidance.
    fn slow_start(self, count: u32, window: &mut Window) -> u32 {
        if count == 0 {
            return 0;
        }
        let (added, left) = match self.growth {
            Growth::Acks => (window.mss, count - 1),
            Growth::Bytes { limit } => (count.min(limit.saturating_mul(window.mss)), 0),
            Growth::Segments => {
                let room = window.ssthresh - window.cwnd;
                let added = count.saturating_mul(window.mss).min(room);
                (added, count - added / window.mss)
            }
        };
        window.cwnd = window.cwnd.saturating_add(added);
        left
    }

    /// Grows the window by about one segment in each round trip.
    fn avoid_congestion(&mut self, count: u32, window: &mut Window) {
        let full = match self.growth {
            Growth::Acks => {
                let square = u64::from(window.mss) * u64::from(window.mss);
                let added = u32::try_from(square / u64::from(window.cwnd.max(1))).unwrap_or(window.mss);
                window.cwnd = window.cwnd.saturating_add(added.max(1));
                return;
            }
            Growth::Bytes { .. } => window.cwnd,
            Growth::Segments => window.cwnd / window.mss,
        }
        .max(1);
        if self.growth == Growth::Segments && self.counted >= full {
            // The count comes from a larger window. As in Linux, it adds one segment and no more.
            self.counted = 0;
            window.cwnd = window.cwnd.saturating_add(window.mss);
        }
        self.counted = self.counted.saturating_add(count);
        window.cwnd = window.cwnd.saturating_add((self.counted / full).saturating_mul(window.mss));
        self.counted %= full;
    }

    /// Folds the state into a digest.
    pub fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.counted));
    }
}
