//! One end of a connection at its node, and its surroundings while it acts.

use super::timers::{Armed, Timers};
use super::{Ends, Name};
use crate::address::Address;
use crate::buffers::{ReceiveBuffer, SendBuffer};
use crate::bytes::Bytes;
use crate::error::Error;
use crate::packet::Packet;
use parades_core::event::LpId;
use parades_core::time::{Delay, Time};
use parades_tcp::Connection;
use parades_tcp::environment::{Ecn, Environment, Notice, Refill, Timer};
use parades_tcp::header::Header;
use parades_tcp::settings::Settings;
use std::sync::Arc;
use std::task::Waker;

/// The relation of a connection to the processes of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A listener has it, and no process has accepted it.
    Unaccepted,
    /// A process has it.
    Held,
    /// The process that had it has dropped it.
    Orphan,
}

/// One end of a connection (the *transmission control block* of RFC 9293).
#[derive(Debug)]
pub(crate) struct Tcb {
    pub(super) connection: Connection,
    pub(super) settings: Arc<Settings>,
    pub(super) ends: Ends,
    pub(super) send: SendBuffer,
    pub(super) receive: ReceiveBuffer,
    pub(super) armed: Armed,
    pub(super) phase: Phase,
    pub(super) is_connected: bool,
    /// True if the other end has sent all its bytes.
    pub(super) is_finished: bool,
    /// True if this end has shut its direction down.
    pub(super) is_shut: bool,
    /// The reason why the connection has failed.
    pub(super) fault: Option<Error>,
    /// The number of bytes that waiting reads have room for. They are read as they arrive, so that the
    /// acknowledgement announces the whole window.
    pub(super) appetite: usize,
    /// The bytes in `receive` that count as read already.
    pub(super) prepaid: usize,
    /// The bytes of a write that waits for room.
    pub(super) offer: Option<Offer>,
    pub(super) readers: Vec<Waker>,
    pub(super) writers: Vec<Waker>,
}

/// The bytes of a write that waits for room in the send buffer. The connection takes them as soon as there is
/// room, so that its next segment is full. The process learns of it when it is polled.
#[derive(Debug)]
pub(super) struct Offer {
    rest: Bytes,
    /// The number of bytes that the connection has taken.
    taken: usize,
}

/// The notices of a connection during one call.
#[derive(Debug, Default)]
pub(super) struct Notices {
    pub(super) is_connected: bool,
    /// True if bytes in order have arrived.
    pub(super) has_arrived: bool,
    /// True if the send buffer has room again.
    pub(super) has_room: bool,
    pub(super) is_finished: bool,
    pub(super) fault: Option<Error>,
}

/// The surroundings of a connection while it acts.
pub(super) struct Io<'a> {
    pub(super) now: Time,
    pub(super) name: Name,
    pub(super) to: Address,
    pub(super) timers: &'a mut Timers,
    pub(super) out: &'a mut Vec<(LpId, Packet)>,
    pub(super) send: &'a mut SendBuffer,
    pub(super) offer: &'a mut Option<Offer>,
    pub(super) receive: &'a mut ReceiveBuffer,
    pub(super) armed: &'a mut Armed,
    pub(super) appetite: &'a mut usize,
    pub(super) prepaid: &'a mut usize,
    /// The payload of the segment that arrives.
    pub(super) payload: Option<&'a Bytes>,
    pub(super) notices: Notices,
}

impl Environment for Io<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn transmit(&mut self, header: &Header, offset: u64, bytes: u32, ecn: Ecn) {
        let payload = self.send.part(offset, bytes as usize);
        self.out.push((self.to.node, Packet::segment(*header, payload, ecn)));
    }

    fn refill(&mut self, room: u64) -> Refill {
        let Some(offer) = self.offer else { return Refill::default() };
        let count = usize::try_from(room).map_or(offer.rest.len(), |room| room.min(offer.rest.len()));
        self.send.push(offer.rest.part(0..count));
        offer.rest = offer.rest.part(count..offer.rest.len());
        offer.taken += count;
        Refill { bytes: count as u64, is_last: false }
    }

    fn set_timer(&mut self, timer: Timer, delay: Delay) {
        let due = self.now.checked_add(delay).unwrap_or(Time::MAX);
        self.timers.set(self.name, self.armed, timer, due);
    }

    fn cancel_timer(&mut self, timer: Timer) {
        self.timers.set(self.name, self.armed, timer, Time::MAX);
    }

    fn keep(&mut self, offset: u64, skip: u32, bytes: u32) {
        let payload = self.payload.expect("bytes arrive in segments");
        self.receive.keep(offset, payload.part(skip as usize..skip as usize + bytes as usize));
    }

    fn deliver(&mut self, bytes: u32) -> u32 {
        self.receive.advance(bytes as usize);
        self.notices.has_arrived = true;
        let read = (bytes as usize).min(*self.appetite);
        *self.appetite -= read;
        *self.prepaid += read;
        u32::try_from(read).expect("at most the bytes that arrive")
    }

    fn notify(&mut self, notice: Notice) {
        let notices = &mut self.notices;
        match notice {
            Notice::Connected => notices.is_connected = true,
            Notice::Acknowledged { .. } => notices.has_room = true,
            Notice::Finished => notices.is_finished = true,
            Notice::Closed => {}
            Notice::Reset => notices.fault = Some(Error::Reset),
            Notice::Refused => notices.fault = Some(Error::Refused),
            Notice::TimedOut => notices.fault = Some(Error::TimedOut),
        }
    }
}

impl Tcb {
    pub(super) fn new(connection: Connection, settings: Arc<Settings>, ends: Ends, phase: Phase) -> Box<Tcb> {
        Box::new(Tcb {
            connection,
            settings,
            ends,
            send: SendBuffer::default(),
            receive: ReceiveBuffer::default(),
            armed: [Time::MAX; 4],
            phase,
            is_connected: false,
            is_finished: false,
            is_shut: false,
            fault: None,
            appetite: 0,
            prepaid: 0,
            offer: None,
            readers: Vec::new(),
            writers: Vec::new(),
        })
    }

    pub(crate) fn local_port(&self) -> u16 {
        self.ends.0
    }

    pub(crate) fn peer(&self) -> Address {
        self.ends.1
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Offers the bytes of a write that waits for room. Returns false if another write has offered its bytes.
    pub(crate) fn begin_offer(&mut self, bytes: &Bytes) -> bool {
        let is_first = self.offer.is_none();
        self.offer.get_or_insert_with(|| Offer { rest: bytes.clone(), taken: 0 });
        is_first
    }

    /// Withdraws the bytes that are offered. Returns the number of those that were taken.
    pub(crate) fn end_offer(&mut self) -> usize {
        self.offer.take().map_or(0, |offer| offer.taken)
    }

    /// Notes that no read waits any more.
    pub(crate) fn stop_reading(&mut self) {
        self.appetite = 0;
    }
}
