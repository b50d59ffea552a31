//! Congestion controls: how many bytes may be in flight.
//!
//! A connection detects losses, recovers from them, and counts the bytes in flight. A congestion control only
//! decides how large the window is. It sees each acknowledgement ([`Ack`]) and each sign of congestion
//! ([`Congestion`]), and changes the [`Window`].
//!
//! [`Algorithm`] is the setting: an algorithm and its parameters. [`Control`] is the state of a connection's
//! control. Another crate adds a control by implementing [`CongestionControl`], and gives it to a connection
//! as [`Algorithm::Other`].
//!
//! *Order of calls*: if an acknowledgement reveals a loss or a mark, [`CongestionControl::on_congestion`]
//! comes before [`CongestionControl::on_ack`], as in Linux and ns-3.
//!
//! *Read next*: `algorithm`, then `new_reno`, the shortest control.

mod algorithm;
mod bbr;
mod cubic;
mod dctcp;
mod growth;
mod hystart;
mod new_reno;
mod state;
mod vegas;

pub use algorithm::{Algorithm, OtherControl, UnknownAlgorithm};
pub use bbr::{Bbr, BbrState, Mode as BbrMode};
pub use cubic::{Arithmetic, Cubic, CubicState};
pub use dctcp::{Dctcp, DctcpState};
pub use growth::{Growth, RenoGrowth};
pub use hystart::{HyStart, Train};
pub use new_reno::{NewReno, NewRenoState};
pub use state::Control;
pub use vegas::{Vegas, VegasState};

use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use parades_core::wire::Malformed;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// The window of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// The congestion window in bytes.
    pub cwnd: u32,
    /// The threshold of slow start in bytes; `u32::MAX` before the first loss.
    pub ssthresh: u32,
    /// The payload of a full segment in bytes.
    pub mss: u32,
    /// The rate at which a paced sender sends, in bits per second; `None` if the control leaves it to the
    /// connection, which paces by window and round trip.
    pub pacing_bps: Option<u64>,
}

impl Window {
    /// Returns true in slow start.
    #[inline]
    #[must_use]
    pub fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An estimate of the rate at which data reach the other end (draft-cheng-iccrg-delivery-rate-estimation-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered over the interval.
    pub delivered: u64,
    /// The interval: the longer of the send phase and the acknowledgement phase.
    pub interval: Delay,
    /// Bytes that had been delivered when the newest acknowledged segment was sent.
    pub prior_delivered: u64,
    /// True if the application had too little to send when that segment was sent.
    pub is_app_limited: bool,
}

/// An acknowledgement that says something new.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// The time of its arrival.
    pub now: Time,
    /// Bytes newly acknowledged, cumulatively.
    pub acked: u32,
    /// Segments newly acknowledged cumulatively, at least 1 if `acked` is above 0.
    pub segments: u32,
    /// Bytes newly delivered: acknowledged cumulatively or selectively for the first time.
    pub delivered: u32,
    /// Bytes newly known to be lost.
    pub lost: u32,
    /// Bytes in flight before the acknowledgement.
    pub in_flight_before: u32,
    /// Bytes in flight after it.
    pub in_flight: u32,
    /// Bytes delivered on the connection, with these.
    pub delivered_total: u64,
    /// The round trip that it measures.
    pub rtt: Option<Delay>,
    /// The smoothed round trip; zero before the first measurement.
    pub srtt: Delay,
    /// The delivery rate, if the connection estimates it.
    pub rate: Option<RateSample>,
    /// Places of the stream, for controls that count in round trips: the first byte not acknowledged, and the
    /// first byte not sent yet.
    pub unacked: u64,
    /// The first byte not sent yet.
    pub next: u64,
    /// True if it echoes a congestion mark.
    pub is_marked: bool,
    /// True if the sender was limited by its congestion window. A window that is not used does not grow
    /// (RFC 9293 and RFC 7661).
    pub is_window_limited: bool,
    /// True while the connection recovers from a loss by fast recovery. False after a timeout, because the
    /// window then grows by slow start.
    pub is_recovering: bool,
}

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss that was noticed by acknowledgements.
    Loss,
    /// An echo of a mark (RFC 3168), at most one a round trip.
    Mark,
    /// The retransmission timer.
    Timeout,
}

/// A congestion control.
///
/// All numbers that it keeps must follow from its calls alone, so that each engine computes the same window.
/// Functions of floating-point numbers come from `libm`, for the same reason.
pub trait CongestionControl: Debug + Send + Sync {
    /// The connection is established, and the window has its initial value.
    fn on_start(&mut self, now: Time, window: &mut Window) {
        let _ = (now, window);
    }

    /// An acknowledgement arrives. During a recovery the connection itself sets `cwnd` afterwards, unless
    /// [`CongestionControl::owns_recovery`].
    fn on_ack(&mut self, ack: &Ack, window: &mut Window);

    /// Reacts to congestion: sets `ssthresh`, and remembers what it needs to undo the reaction.
    ///
    /// `in_flight` is in bytes. The settings of the connection decide if lost and selectively acknowledged
    /// bytes count. The connection sets `cwnd` itself, unless [`CongestionControl::owns_recovery`]: in
    /// recovery by its algorithm, after a mark to `ssthresh`, after a timeout to one segment.
    fn on_congestion(&mut self, congestion: Congestion, now: Time, in_flight: u32, window: &mut Window);

    /// The last reaction was spurious (RFC 4015, RFC 5682). The connection has restored `cwnd` and
    /// `ssthresh`.
    fn on_undo(&mut self, now: Time, window: &mut Window) {
        let _ = (now, window);
    }

    /// The fast recovery, or the reduction after a mark, is over. The connection has set `cwnd`. There is no
    /// such call after a timeout.
    fn on_recovered(&mut self, now: Time, window: &mut Window) {
        let _ = (now, window);
    }

    /// The sender continues after an idle period, or the round trip may have changed for another reason.
    fn on_idle_end(&mut self, now: Time, window: &mut Window) {
        let _ = (now, window);
    }

    /// Returns true if the control sets `cwnd` in recoveries and after timeouts too.
    fn owns_recovery(&self) -> bool {
        false
    }

    /// Returns true if marks are echoed exactly, for each packet, as DCTCP needs (RFC 8257).
    fn needs_exact_marks(&self) -> bool {
        false
    }

    /// Returns true if the connection must estimate delivery rates.
    fn needs_rates(&self) -> bool {
        false
    }

    /// Returns true if segments are paced.
    fn needs_pacing(&self) -> bool {
        false
    }

    /// Returns a copy, by which a rollback restores the state.
    fn copy(&self) -> Box<dyn CongestionControl>;

    /// Returns the bytes of the state, from which [`CongestionControl::restore`] makes an equal one. `None`
    /// if the state cannot be written: then runs with this control cannot be saved.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Restores the state from all of these bytes. `self` is a copy of the state at the start of connections.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a state.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let _ = bytes;
        Err(Malformed::new("the state of this congestion control cannot be written"))
    }

    /// Folds the state into a digest.
    fn fold(&self, digest: &mut Digest);
}

/// Returns the whole part of a number of bytes or segments.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as a window should")]
fn whole(number: f64) -> u32 {
    number as u32
}
