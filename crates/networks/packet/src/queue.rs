//! The drop-tail queue before a transmitter.
//!
//! It is no list of packets but a ring of the times at which those that wait will start: these are known when a packet is accepted, so a packet leaves the
//! queue without an event. What the bound counts is packets that wait; the one in transmission has left the queue, as in ns-3's drop-tail, and so has one
//! whose transmission starts at exactly the time of an arrival.

use parades_core::time::Time;
use std::collections::VecDeque;

/// How much may wait at an interface while it transmits. Zero: only what finds the transmitter idle gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueLimit {
    /// So many packets.
    Packets(u32),
    /// So many bytes, headers included.
    Bytes(u64),
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// When its transmission starts.
    pub start: Time,
    /// Its bytes, headers included.
    pub bytes: u32,
}

/// A ring of more packets than this is given back when it is empty: memory is for queues that there are.
const KEPT_CAPACITY: usize = 16;

/// What waits, in the order in which it starts.
///
/// ```
/// use parades_core::time::{Delay, Time};
/// use parades_packet::queue::{DropTail, QueueLimit, Waiting};
/// let at = |us| Time::ZERO.checked_add(Delay::from_us(us)).unwrap();
/// let packet = |us| Waiting { start: at(us), bytes: 1000 };
/// let mut queue = DropTail::default();
/// let fits = [1, 2, 3].map(|us| queue.wait(packet(us), QueueLimit::Packets(2)));
/// assert_eq!(fits, [true, true, false]);
/// let mut left = Vec::new();
/// queue.drain(at(1), |packet| left.push(packet));
/// assert_eq!((left, queue.waiting_at(at(1)), queue.most()), (vec![packet(1)], 1, 2));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropTail {
    waiting: VecDeque<Waiting>,
    bytes: u64,
    most: u32,
}

/// What a rollback needs to take a [`DropTail::wait`] back.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    packets: usize,
    bytes: u64,
    most: u32,
}

impl DropTail {
    /// Puts a packet at the end; false where there is no room, the queue having been drained to now.
    pub fn wait(&mut self, packet: Waiting, limit: QueueLimit) -> bool {
        let bytes = self.bytes.saturating_add(u64::from(packet.bytes));
        let fits = match limit {
            QueueLimit::Packets(most) => self.waiting.len() < most as usize,
            QueueLimit::Bytes(most) => bytes <= most,
        };
        if fits {
            self.waiting.push_back(packet);
            self.bytes = bytes;
            self.most = self.most.max(u32::try_from(self.waiting.len()).unwrap_or(u32::MAX));
        }
        fits
    }

    /// Takes out what has left by `now`, and shows it.
    #[inline(always)]
    pub fn drain(&mut self, now: Time, left: impl FnMut(Waiting)) {
        if !self.waiting.is_empty() {
            self.drain_some(now, left);
        }
    }

    fn drain_some(&mut self, now: Time, mut left: impl FnMut(Waiting)) {
        while let Some(first) = self.waiting.pop_front_if(|first| first.start <= now) {
            self.bytes -= u64::from(first.bytes);
            left(first);
        }
        if self.waiting.is_empty() && self.waiting.capacity() > KEPT_CAPACITY {
            self.waiting = VecDeque::new();
        }
    }

    /// How many packets wait at `now`, without taking out what has left.
    pub fn waiting_at(&self, now: Time) -> usize {
        self.waiting.len() - self.waiting.partition_point(|packet| packet.start <= now)
    }

    /// The most packets that ever waited.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// What [`DropTail::undo_wait`] will need, the queue having been drained.
    pub fn before(&self) -> Before {
        Before { packets: self.waiting.len(), bytes: self.bytes, most: self.most }
    }

    /// Takes a [`DropTail::wait`] back.
    pub fn undo_wait(&mut self, before: Before) {
        let Before { packets, bytes, most } = before;
        self.waiting.truncate(packets);
        (self.bytes, self.most) = (bytes, most);
    }

    /// Takes one step of a [`DropTail::drain`] back, the last one first.
    pub fn undo_drain(&mut self, left: Waiting) {
        self.bytes += u64::from(left.bytes);
        self.waiting.push_front(left);
    }
}
