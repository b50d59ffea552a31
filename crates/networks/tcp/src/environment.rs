//! The seam between a connection and whatever drives it.

use crate::header::Header;
use parades_core::time::{Delay, Time};

/// The timers of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Retransmission (RFC 6298), probes of a closed window, tail loss probes, keep-alive, FIN-WAIT-2 and
    /// TIME-WAIT. They exclude each other.
    Retransmit = 0,
    /// A delayed acknowledgement.
    DelayedAck = 1,
    /// The next segment of a paced sender.
    Pacing = 2,
    /// The reordering window of RACK (RFC 8985).
    Reordering = 3,
}

/// The bits of the IP header for congestion marks (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ecn {
    /// The sender does not understand marks.
    #[default]
    NotCapable = 0,
    /// The sender understands marks (ECT(1)).
    Capable1 = 1,
    /// The sender understands marks (ECT(0)).
    Capable0 = 2,
    /// A router has marked the packet.
    Marked = 3,
}

/// An event that the application is told about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The handshake is complete.
    Connected,
    /// `bytes` bytes have left the send buffer, as they are acknowledged.
    Acknowledged {
        /// The number of bytes.
        bytes: u32,
    },
    /// The other end has no more data.
    Finished,
    /// Both directions are closed in order. The connection may still wait in TIME-WAIT.
    Closed,
    /// The other end has reset the connection.
    Reset,
    /// The other end refused the connection.
    Refused,
    /// The connection was given up: retransmissions or probes had no answer, or the user timeout or the bound
    /// of FIN-WAIT-2 has passed.
    TimedOut,
}

/// Bytes that the application adds to the send buffer at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refill {
    /// The number of bytes.
    pub bytes: u64,
    /// True if they are the last ones of the stream, so that this direction closes.
    pub is_last: bool,
}

/// The environment of a connection.
pub trait Environment {
    /// Returns the time.
    fn now(&self) -> Time;

    /// Sends a segment with `bytes` bytes of payload. `offset` is the place of the first of them in the
    /// stream, counted from 0.
    fn transmit(&mut self, header: &Header, offset: u64, bytes: u32, ecn: Ecn);

    /// Asks the application for at most `room` more bytes, before a segment would be sent that is not full.
    /// An application that is waiting for room in the send buffer so fills the segment. By default there are
    /// no more bytes.
    fn refill(&mut self, room: u64) -> Refill {
        let _ = room;
        Refill::default()
    }

    /// Sets a timer. A timer that is set already is reset.
    fn set_timer(&mut self, timer: Timer, delay: Delay);

    /// Cancels a timer, if it is set.
    fn cancel_timer(&mut self, timer: Timer);

    /// A segment's bytes from `offset` on lie in the receive window and are new. An environment that carries
    /// bytes keeps them. `skip` is the number of bytes at the segment's begin that are not among them.
    fn keep(&mut self, offset: u64, skip: u32, bytes: u32) {
        let _ = (offset, skip, bytes);
    }

    /// Tells the application that `bytes` more bytes of the stream are in order. Returns the number of bytes
    /// that it reads at once. It reads the others later, by [`crate::connection::ConnectionMut::read`].
    fn deliver(&mut self, bytes: u32) -> u32;

    /// Tells the application about an event.
    fn notify(&mut self, notice: Notice);
}
