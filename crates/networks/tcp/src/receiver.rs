//! The receiving half of a connection's state. Places are explained in the module `sender`.

use crate::header::SACK_BLOCKS_MAX;
use crate::seq::Seq;
use parades_core::restore::Undoable;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// A range of places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Span {
    /// The first place.
    pub from: u64,
    /// The place after the last one.
    pub to: u64,
}

/// Acknowledgements that are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Due {
    /// None.
    #[default]
    None,
    /// One, which may be delayed.
    Delayed,
    /// One, at once.
    Now,
}

/// The receiving half of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "independent conditions")]
pub struct Receiver {
    /// The other end's initial sequence number.
    pub base: Seq,
    /// The next place that is expected.
    pub next: u64,
    /// The value of `next` before the last segment that was in order.
    pub next_before: u64,
    /// The place of the first byte that the application has not read.
    pub read: u64,
    /// The first place beyond the window that was announced.
    pub window_end: u64,
    /// The shift of this end's windows.
    pub shift: u8,
    /// True if both ends scale their windows.
    pub shift_is_agreed: bool,
    /// The place of the other end's FIN, once it has arrived.
    pub fin: Option<u64>,
    /// True if both ends send timestamps.
    pub has_timestamps: bool,
    /// True if both ends permit selective acknowledgements.
    pub has_sack: bool,
    /// The timestamp that the next segment echoes (RFC 7323).
    pub timestamp: u32,
    /// The time at which it arrived.
    pub timestamp_at: Time,
    /// The place acknowledged by the last segment that was sent.
    pub acknowledged: u64,
    /// Segments in order since the last acknowledgement, those that count
    /// ([`crate::settings::Settings::delayed_ack_count`]).
    pub unacknowledged_segments: u32,
    /// The payload of the largest segment that has arrived, in bytes.
    pub largest_segment: u32,
    /// The acknowledgement that is due.
    pub due: Due,
    /// True if the timer of a delayed acknowledgement is set.
    pub is_delaying: bool,
    /// The number of segments that are still acknowledged at once.
    pub quick_acks: u32,
    /// A part of the last segment that had arrived before.
    pub duplicate: Option<Span>,
    /// A place in each block that was reported lately, the newest first.
    pub recent: [u64; SACK_BLOCKS_MAX],
    /// The number of places in `recent`.
    pub recent_len: u8,
    /// True if acknowledgements echo a congestion mark.
    pub echoes_mark: bool,
    /// The place of the last segment whose mark counted. Used by ns-3's rule only
    /// ([`crate::settings::Settings::counts_all_marks`]).
    pub marked_at: u64,
    /// The arrival of the last acceptable segment.
    pub heard_at: Time,
    /// True if the application has released the connection, so it reads nothing more.
    pub is_released: bool,
    /// The time of the last challenge acknowledgement.
    pub challenged_at: Option<Time>,
}
