//! The sending half of an interface: a transmitter, and the drop-tail queue before it.
//!
//! Nothing happens at an interface but arrivals of packets. When one is accepted, all that will become of it is known: it starts when
//! those before it have left, `start = max(now, busy_until)`, and its last bit leaves after its serialisation. So there is one event a hop,
//! the arrival at the neighbour, and the queue is no list of packets but a ring of the times at which the waiting ones start.
//!
//! *What the bound counts* is packets that wait; the one in transmission has left the queue, as in ns-3's drop-tail. A packet whose
//! transmission starts at exactly the time of an arrival has left too.

use crate::topology::Link;
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};
use std::collections::VecDeque;

/// How much may wait at an interface while it transmits. Zero: only what finds the transmitter idle gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets.
    Packets(u32),
    /// So many bytes, headers included.
    Bytes(u64),
}

/// What is constant about one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) rate_bps: u64,
    pub(crate) delay: Delay,
    pub(crate) queue: QueueLimit,
}

impl Wire {
    pub(crate) fn new(link: Link, queue: QueueLimit) -> Wire {
        Wire { rate_bps: link.rate_bps, delay: link.delay, queue }
    }
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    /// When its transmission starts.
    start: Time,
    bytes: u32,
}

/// All of a transmitter but its queue: what changes at every packet, and is put back whole by a rollback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// When the last bit of all that was accepted leaves.
    pub(crate) busy_until: Time,
    /// The time that transmitting all that was accepted takes.
    pub(crate) busy: Delay,
    pub(crate) packets: u64,
    /// Headers included.
    pub(crate) bytes: u64,
    pub(crate) dropped: u64,
    waiting_bytes: u64,
    /// The most packets that ever waited.
    pub(crate) waiting_max: u32,
}

/// A ring of more starts than this is given back when it is empty: memory is for queues that there are.
const KEPT_CAPACITY: usize = 16;

/// The state of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transmitter {
    totals: Totals,
    waiting: VecDeque<Waiting>,
}

impl Transmitter {
    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Takes out what has left the queue by `now`, and shows it.
    #[inline]
    pub(crate) fn drain(&mut self, now: Time, mut left: impl FnMut(Waiting)) {
        if self.waiting.is_empty() {
            return;
        }
        while let Some(&first) = self.waiting.front()
            && first.start <= now
        {
            self.waiting.pop_front();
            self.totals.waiting_bytes -= u64::from(first.bytes);
            left(first);
        }
        if self.waiting.is_empty() && self.waiting.capacity() > KEPT_CAPACITY {
            self.waiting = VecDeque::new();
        }
    }

    /// Accepts a packet of `bytes` bytes and tells when its last bit leaves; `None` where the queue, drained to `now`, is full.
    #[inline]
    pub(crate) fn accept(&mut self, now: Time, bytes: u32, wire: &Wire) -> Option<Time> {
        let start = self.totals.busy_until.max(now);
        if start > now && !self.wait(Waiting { start, bytes }, wire.queue) {
            self.totals.dropped += 1;
            return None;
        }
        let serialisation = Delay::serialisation(u64::from(bytes), wire.rate_bps);
        let totals = &mut self.totals;
        // A departure past the end of time is an overflow where the packet is sent.
        totals.busy_until = start.checked_add(serialisation).unwrap_or(Time::MAX);
        totals.busy = totals.busy.saturating_add(serialisation);
        totals.packets += 1;
        totals.bytes += u64::from(bytes);
        Some(totals.busy_until)
    }

    /// Puts a packet into the queue, if there is room.
    fn wait(&mut self, packet: Waiting, limit: QueueLimit) -> bool {
        let fits = match limit {
            QueueLimit::Packets(most) => self.waiting.len() < most as usize,
            QueueLimit::Bytes(most) => {
                self.totals.waiting_bytes.saturating_add(u64::from(packet.bytes)) <= most
            }
        };
        if fits {
            self.waiting.push_back(packet);
            self.totals.waiting_bytes += u64::from(packet.bytes);
            let waiting = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
            self.totals.waiting_max = self.totals.waiting_max.max(waiting);
        }
        fits
    }

    /// How many packets wait, drained or not.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes an [`Transmitter::accept`] back.
    pub(crate) fn undo_accept(&mut self, before: Totals, waiting: usize) {
        self.waiting.truncate(waiting);
        self.totals = before;
    }

    /// Takes one step of a [`Transmitter::drain`] back, the last one first.
    pub(crate) fn undo_drain(&mut self, left: Waiting) {
        self.totals.waiting_bytes += u64::from(left.bytes);
        self.waiting.push_front(left);
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        let Totals { busy_until, busy, packets, bytes, dropped, .. } = self.totals;
        for word in [busy_until.as_ps(), busy.as_ps(), packets, bytes, dropped] {
            digest.word(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes take 1 µs.
    const WIRE: Wire =
        Wire { rate_bps: 8_000_000_000, delay: Delay::ZERO, queue: QueueLimit::Packets(2) };

    fn at(us: u64) -> Time {
        Time::ZERO.checked_add(Delay::from_us(us)).expect("a short time")
    }

    fn arrive(transmitter: &mut Transmitter, us: u64, bytes: u32, wire: &Wire) -> Option<u64> {
        transmitter.drain(at(us), |_| {});
        transmitter.accept(at(us), bytes, wire).map(|departure| departure.as_ps() / 1_000_000)
    }

    #[test]
    fn packets_leave_in_order_and_a_full_queue_drops() {
        let mut transmitter = Transmitter::default();
        let departures: Vec<_> =
            [0, 0, 0, 0, 1].map(|us| arrive(&mut transmitter, us, 1000, &WIRE)).into();
        // At time 1 the second packet starts, and makes room.
        assert_eq!(departures, [Some(1), Some(2), Some(3), None, Some(4)]);
        assert_eq!(arrive(&mut transmitter, 10, 1000, &WIRE), Some(11));
        let Totals { packets, dropped, waiting_max, busy, .. } = transmitter.totals;
        assert_eq!((packets, dropped, waiting_max, busy), (5, 1, 2, Delay::from_us(5)));
    }

    #[test]
    fn a_bound_in_bytes_counts_what_waits() {
        let wire = Wire { queue: QueueLimit::Bytes(1500), ..WIRE };
        let mut transmitter = Transmitter::default();
        let sizes = [4000, 1000, 501, 500, 1];
        let departures = sizes.map(|bytes| arrive(&mut transmitter, 0, bytes, &wire).is_some());
        assert_eq!(departures, [true, true, false, true, false]);
    }

    #[test]
    fn undoing_restores_queue_and_totals() {
        let mut transmitter = Transmitter::default();
        (0..3).for_each(|_| _ = arrive(&mut transmitter, 0, 1000, &WIRE));
        let before = transmitter.clone();
        let mut left = Vec::new();
        transmitter.drain(at(1), |waiting| left.push(waiting));
        let (totals, waiting) = (*transmitter.totals(), transmitter.waiting());
        assert!(transmitter.accept(at(1), 700, &WIRE).is_some());
        assert_eq!(left.len(), 1);
        assert_ne!(transmitter, before);
        transmitter.undo_accept(totals, waiting);
        left.into_iter().rev().for_each(|waiting| transmitter.undo_drain(waiting));
        assert_eq!(transmitter, before);
    }
}
