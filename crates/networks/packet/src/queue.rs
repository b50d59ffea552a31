//! Queue disciplines: the packets that may wait while a port transmits, and the order in which they leave.
//!
//! A [`Discipline`] is the constant part, chosen for each link. A [`Backlog`] is the state: the packets that
//! wait.
//!
//! *One event a hop*: in a first-in-first-out queue, the departure of a packet is known when it arrives. So
//! the backlog lists the start times of transmissions, and a packet leaves it without an event. A discipline
//! that decides on arrival by the length of the queue is a variant of [`Discipline`] and a case of
//! [`BacklogMut::offer`]. A discipline with a memory of its own (RED, a policer) also needs the clock, the
//! random stream, and the packets that find the port free.
//!
//! A discipline that decides on departure (fair queues, priorities) must hold packets until the port is free:
//!
//! - The port needs a timer, due when the next transmission *starts*. A send at its end would come too late
//!   for the lookahead of the link.
//! - Packets that are held are not pending events. A report that counts packets in flight must count them
//!   too.
//!
//! *Waiting packets*: the packet in transmission does not wait, as in ns-3's drop-tail queue. A packet whose
//! transmission starts at the very time of an arrival does not wait either.

use parades_core::restore::{Recorder, Undoable};
use parades_core::time::Time;
use std::collections::VecDeque;

/// The limit of a drop-tail queue. A limit of zero lets no packet wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueLimit {
    /// In packets.
    Packets(u32),
    /// In bytes, headers included.
    Bytes(u64),
}

/// A queue discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Discipline {
    /// First in, first out. A packet that exceeds the limit is dropped.
    DropTail(QueueLimit),
}

impl From<QueueLimit> for Discipline {
    fn from(limit: QueueLimit) -> Discipline {
        Discipline::DropTail(limit)
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable)]
#[undoable(whole)]
pub struct Waiting {
    /// The start of its transmission.
    pub start: Time,
    /// Its size in bytes, headers included.
    pub bytes: u32,
}

/// The largest capacity that an empty backlog keeps, in packets.
const KEPT_CAPACITY: usize = 16;

/// The packets that wait, in the order in which they will be transmitted.
///
/// ```
/// use parades_core::restore::Undoable;
/// use parades_core::time::{Delay, Time};
/// use parades_packet::queue::{Backlog, QueueLimit, Waiting};
/// let at = |us| Time::ZERO.checked_add(Delay::from_us(us)).unwrap();
/// let packet = |us| Waiting { start: at(us), bytes: 1000 };
/// let mut backlog = Backlog::default();
/// let limit = QueueLimit::Packets(2).into();
/// assert_eq!([1, 2, 3].map(|us| backlog.unrecorded().offer(packet(us), limit)), [true, true, false]);
/// backlog.unrecorded().drain(at(1));
/// assert_eq!((backlog.waiting_at(at(1)), backlog.most()), (1, 2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Undoable)]
pub struct Backlog {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    most: u32,
}

impl<R: Recorder<BacklogUndo>> BacklogMut<'_, R> {
    /// Offers a packet, after [`BacklogMut::drain`]. Returns true if the packet may wait.
    pub fn offer(&mut self, packet: Waiting, discipline: Discipline) -> bool {
        let bytes = self.bytes.saturating_add(u64::from(packet.bytes));
        let is_accepted = match discipline {
            Discipline::DropTail(QueueLimit::Packets(most)) => self.waiting.len() < most as usize,
            Discipline::DropTail(QueueLimit::Bytes(most)) => bytes <= most,
        };
        if is_accepted {
            self.waiting().push_back(packet);
            *self.bytes() = bytes;
            let packets = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
            if packets > self.most {
                *self.most() = packets;
            }
        }
        is_accepted
    }

    /// Removes the packets whose transmissions have started by `now`.
    #[inline(always)]
    pub fn drain(&mut self, now: Time) {
        if !self.waiting.is_empty() {
            self.drain_some(now);
        }
    }

    fn drain_some(&mut self, now: Time) {
        while self.waiting.front().is_some_and(|first| first.start <= now)
            && let Some(first) = self.waiting().pop_front()
        {
            *self.bytes() -= u64::from(first.bytes);
        }
        if self.waiting.is_empty() && self.waiting.capacity() > KEPT_CAPACITY {
            self.waiting().free_if_empty();
        }
    }
}

impl Backlog {
    /// Returns the number of packets that wait at `now`.
    pub fn waiting_at(&self, now: Time) -> usize {
        self.waiting.len() - self.waiting.partition_point(|packet| packet.start <= now)
    }

    /// Returns the largest number of packets that ever waited.
    pub fn most(&self) -> u32 {
        self.most
    }
}
