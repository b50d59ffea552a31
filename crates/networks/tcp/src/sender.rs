//! The sending half of a connection's state.
//!
//! *Places*: inside a connection, sequence numbers are 64 bits wide, so they never wrap. Place 0 is the SYN,
//! and byte `n` of the stream has place `n + 1`. The FIN takes the place after the last byte.

use crate::control::Window;
use crate::header::SACK_BLOCKS_MAX;
use crate::rack::Rack;
use crate::rate::Rate;
use crate::receiver::Span;
use crate::rtt::RoundTrip;
use crate::seq::Seq;
use parades_core::restore::Undoable;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// The mode of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// No sign of loss.
    #[default]
    Open,
    /// Some segments are out of order, too few to be a loss.
    Disorder,
    /// The window shrinks after a congestion mark.
    Reduced,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// The use of the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimerUse {
    /// The timer is not set.
    #[default]
    None,
    /// The timer is set, and its time must be computed again.
    Outdated,
    /// Retransmission of the SYN.
    Handshake,
    /// Retransmission of data or of the FIN.
    Retransmit,
    /// A tail loss probe.
    TailLossProbe,
    /// A probe of a closed window.
    Persist,
    /// The end of TIME-WAIT.
    TimeWait,
    /// A keep-alive probe of an idle connection.
    KeepAlive,
    /// The end of a connection that waits in FIN-WAIT-2 for nothing more.
    FinWait2,
}

/// The reason of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A loss that acknowledgements or the time of arrival show.
    Fast,
    /// The timer.
    Timeout,
    /// A tail loss probe.
    TailLossProbe,
    /// A probe of a closed window.
    Persist,
}

/// A transmitted segment that is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug, PartialEq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
#[expect(clippy::struct_excessive_bools, reason = "independent marks of the scoreboard")]
pub struct Sent {
    /// The place of the first byte.
    pub from: u64,
    /// The number of bytes. All sums count bytes; the FIN is none.
    pub len: u32,
    /// True if the FIN follows the last byte.
    pub has_fin: bool,
    /// True if the other end has acknowledged the segment selectively.
    pub is_sacked: bool,
    /// True if the segment is believed to be lost.
    pub is_lost: bool,
    /// True if the segment was retransmitted since it was last believed to be lost.
    pub is_retransmitted: bool,
    /// True if the segment was ever retransmitted.
    pub was_retransmitted: bool,
    /// True if the segment was sent first after the last timeout, so its acknowledgement measures the round
    /// trip.
    pub is_timed: bool,
    /// True if the application had too little to send when the segment was sent.
    pub is_app_limited: bool,
    /// The time of the last transmission.
    pub sent_at: Time,
    /// Bytes delivered on the connection by then.
    pub delivered: u64,
    /// The time of the last delivery by then.
    pub delivered_at: Time,
    /// The start of the send phase by then.
    pub phase_start: Time,
}

impl Sent {
    /// Returns the place after the segment.
    #[inline]
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.from + self.len as u64 + self.has_fin as u64
    }
}

/// The state of proportional rate reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proportional {
    /// Bytes delivered since the recovery began.
    pub delivered: u32,
    /// Bytes sent since the recovery began.
    pub out: u32,
    /// Bytes outstanding when the recovery began.
    pub flight: u32,
}

/// The values that an undone reduction restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prior {
    /// True if there is a reduction to undo.
    pub is_set: bool,
    /// The congestion window before the reduction.
    pub cwnd: u32,
    /// The threshold of slow start before the reduction.
    pub ssthresh: u32,
    /// Retransmissions since the reduction that no duplicate was reported of.
    pub retransmissions: u32,
}

/// The state of tail loss probes (RFC 8985, section 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// True while a probe is not yet acknowledged.
    pub is_out: bool,
    /// The place after all that was sent when the probe was sent.
    pub end: u64,
    /// True if the probe was a retransmission.
    pub is_retransmission: bool,
}

/// The sending half of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent conditions")]
pub struct Sender {
    /// The initial sequence number.
    pub base: Seq,
    /// The first place that is not acknowledged.
    pub una: u64,
    /// The place after the last one that was sent.
    pub next: u64,
    /// The place after the last byte that the application has written.
    pub written: u64,
    /// True if the application writes no more, so that a FIN follows the last byte.
    pub is_closing: bool,
    /// The receive window of the other end in bytes.
    pub peer_window: u32,
    /// The largest receive window that the other end has ever had.
    pub peer_window_max: u32,
    /// The shift of the other end's windows.
    pub shift: u8,
    /// The place of the segment that last updated the window.
    pub window_seq: u64,
    /// The acknowledgement that last updated the window.
    pub window_ack: u64,
    /// The congestion window.
    pub window: Window,
    /// Bytes outstanding that are acknowledged selectively.
    pub sacked: u32,
    /// Bytes outstanding that are believed to be lost.
    pub lost: u32,
    /// Bytes that were ever believed to be lost.
    pub lost_total: u64,
    /// Bytes outstanding that were retransmitted and are believed to be in flight again.
    pub retransmitted: u32,
    /// The place after the highest segment that was acknowledged selectively; 0 if there is none.
    pub sacked_end: u64,
    /// The blocks of the last SACK option. Their segments are marked.
    pub blocks: [Span; SACK_BLOCKS_MAX],
    /// All segments below this place are marked, as lost or as received.
    pub marked_end: u64,
    /// All lost segments below this place are retransmitted.
    pub repaired_end: u64,
    /// The mode of loss recovery.
    pub mode: Mode,
    /// The recovery ends when all below this place is acknowledged.
    pub recover: u64,
    /// Duplicate acknowledgements in a row.
    pub duplicates: u32,
    /// True until the first acknowledgement of a part in a recovery.
    pub is_first_part: bool,
    /// The place from which a rescue retransmission is allowed (RFC 6675, rule 4).
    pub rescue: u64,
    /// The state of proportional rate reduction.
    pub proportional: Proportional,
    /// The values that an undone reduction restores.
    pub prior: Prior,
    /// The place where F-RTO began; 0 if it does not run.
    pub frto: u64,
    /// The state of tail loss probes.
    pub probe: Probe,
    /// The measurements of the round trip.
    pub round_trip: RoundTrip,
    /// The use of the retransmission timer.
    pub timer: TimerUse,
    /// The time at which it is due.
    pub due: Time,
    /// Retransmissions in a row without an answer.
    pub retries: u32,
    /// Retransmissions of the SYN: after a timeout, and as an answer to a repeated SYN of the other end.
    pub syn_retransmissions: u32,
    /// The number of doublings of the probe's timeout.
    pub persist_backoff: u32,
    /// The time since which something sent is unanswered.
    pub unanswered_since: Time,
    /// The time of the last keep-alive probe.
    pub probed_at: Time,
    /// The delivery rate.
    pub rate: Rate,
    /// The state of RACK.
    pub rack: Rack,
    /// The time of the last transmission of data.
    pub last_sent: Time,
    /// True if the last attempt to send was stopped by the congestion window.
    pub is_window_limited: bool,
    /// True if both ends use congestion marks.
    pub uses_ecn: bool,
    /// True if the next new segment tells that the window is reduced.
    pub owes_cwr: bool,
    /// The time at which the next segment of a paced sender may be sent.
    pub pace_at: Time,
}

impl Sender {
    /// Returns a sender before its SYN.
    pub(crate) const fn new(base: Seq, window: Window, round_trip: RoundTrip) -> Sender {
        Sender {
            base,
            una: 0,
            next: 0,
            written: 1,
            is_closing: false,
            peer_window: 0,
            peer_window_max: 0,
            shift: 0,
            window_seq: 0,
            window_ack: 0,
            window,
            sacked: 0,
            lost: 0,
            lost_total: 0,
            retransmitted: 0,
            sacked_end: 0,
            blocks: [Span { from: 0, to: 0 }; SACK_BLOCKS_MAX],
            marked_end: 0,
            repaired_end: 0,
            mode: Mode::Open,
            recover: 0,
            duplicates: 0,
            is_first_part: true,
            rescue: 0,
            proportional: Proportional { delivered: 0, out: 0, flight: 0 },
            prior: Prior { is_set: false, cwnd: 0, ssthresh: 0, retransmissions: 0 },
            frto: 0,
            probe: Probe { is_out: false, end: 0, is_retransmission: false },
            round_trip,
            timer: TimerUse::None,
            due: Time::ZERO,
            retries: 0,
            syn_retransmissions: 0,
            persist_backoff: 0,
            unanswered_since: Time::ZERO,
            probed_at: Time::ZERO,
            rate: Rate::new(),
            rack: Rack::new(),
            last_sent: Time::ZERO,
            is_window_limited: false,
            uses_ecn: false,
            owes_cwr: false,
            pace_at: Time::ZERO,
        }
    }

    /// Returns the bytes sent and not acknowledged cumulatively.
    #[inline]
    #[must_use]
    pub fn flight(&self) -> u32 {
        bytes(self.next.min(self.written).saturating_sub(self.una))
    }

    /// Returns the bytes that are believed to be in the network.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        (self.flight() + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    /// Returns the place after everything that can be sent: the written bytes, and the FIN.
    #[inline]
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.written + self.is_closing as u64
    }

    /// Returns true if the FIN was sent.
    #[inline]
    #[must_use]
    pub const fn has_sent_fin(&self) -> bool {
        self.is_closing && self.next > self.written
    }

    /// Returns the first place beyond the receive window of the other end.
    #[inline]
    #[must_use]
    pub const fn window_end(&self) -> u64 {
        self.una + self.peer_window as u64
    }
}

/// Returns a distance between places as bytes. It always fits, as buffers are smaller than 4 GiB.
#[inline]
pub(crate) fn bytes(distance: u64) -> u32 {
    u32::try_from(distance).unwrap_or(u32::MAX)
}
