//! Facts of an end of a connection for the report: segments, retransmissions of the other end, progress,
//! ending.

use crate::save::is_number;
use crate::segment::TcpSegment;
use parades_core::restore::Undoable;
use parades_core::time::Time;
use parades_tcp::header::Flags;
use parades_tcp::seq::Seq;
use serde::{Deserialize, Serialize};

/// The counts of segments at an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Counts {
    /// Segments sent, acknowledgements and retransmissions included.
    pub sent: u64,
    /// Segments that arrived.
    pub received: u64,
}

/// The sequence numbers of the other end that have arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Heard {
    /// The highest sequence number after a segment that has arrived.
    end: Option<Seq>,
    /// Segments with data, a SYN or a FIN that began before the end: the retransmissions of the other end,
    /// and its segments out of order, in a capture at this end.
    pub repeated: u64,
}

impl Counts {
    /// Returns true if an end may have these counts. Those that were read may be impossible.
    pub(crate) fn are_possible(self) -> bool {
        is_number(self.sent) && is_number(self.received)
    }
}

impl Heard {
    /// Returns true if an end may have heard this. What was read may be impossible.
    pub(crate) fn is_possible(self) -> bool {
        is_number(self.repeated)
    }

    /// Returns the state after a segment.
    pub(crate) fn after(self, TcpSegment { header, bytes, .. }: &TcpSegment) -> Heard {
        let takes = |flag| u32::from(header.flags.has(flag));
        let length = bytes + takes(Flags::SYN) + takes(Flags::FIN);
        let end = header.seq.add(length);
        let Some(before) = self.end else { return Heard { end: Some(end), repeated: self.repeated } };
        let last = if before.is_before(end) { end } else { before };
        let is_repeated = length > 0 && header.seq.is_before(before);
        Heard { end: Some(last), repeated: self.repeated + u64::from(is_repeated) }
    }
}

/// The progress of the stream at the receiving application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub struct Progress {
    /// Bytes received in order.
    pub bytes: u64,
    /// The arrival of the first byte; [`Time::MAX`] before.
    pub first: Time,
    /// The arrival of the last byte of the stream; [`Time::MAX`] before.
    pub last: Time,
}

/// The reason why a connection ends before the stream is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The other end refused the connection.
    Refused = 1,
    /// The other end reset the connection.
    Reset = 2,
    /// Retransmissions had no answer for too long.
    TimedOut = 3,
}
