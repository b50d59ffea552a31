//! The sending half of an interface: a transmitter, and the drop-tail queue before it.
//!
//! Nothing happens at an interface but arrivals of packets. When one is accepted, all that will become of it is known: it starts when
//! those before it have left, `start = max(now, busy_until)`, and its last bit leaves after its serialisation. So there is one event a hop,
//! the arrival at the neighbour.

use crate::queue::{self, DropTail, QueueLimit, Waiting};
use parades_core::digest::Digest;
use parades_core::time::{Delay, Time};

/// What is constant about an interface. Those of most are alike, so the model keeps each kind once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wire {
    pub(crate) rate_bps: u64,
    pub(crate) delay: Delay,
    pub(crate) queue: QueueLimit,
}

/// What changes at every packet, and is put back whole by a rollback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// When the last bit of all that was accepted leaves.
    pub(crate) busy_until: Time,
    /// Accepted packets.
    pub(crate) packets: u64,
    /// Accepted bytes, headers included.
    pub(crate) bytes: u64,
}

/// What changes when a packet cannot be transmitted at once. An interface without one has never made a packet wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    dropped: u64,
    tail: DropTail,
}

/// What a rollback needs to take an acceptance back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Before {
    sent: Sent,
    /// How many had been dropped, and what waited.
    queue: Option<(u64, queue::Before)>,
}

/// The state of an interface. 32 bytes, for most of them never have a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transmitter {
    sent: Sent,
    queue: Option<Box<Queue>>,
}

const _: () = assert!(size_of::<Transmitter>() == 32);

impl Transmitter {
    pub(crate) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// Packets that found the queue full.
    pub(crate) fn dropped(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.dropped)
    }

    /// The most packets that ever waited.
    pub(crate) fn waiting_max(&self) -> u32 {
        self.queue.as_ref().map_or(0, |queue| queue.tail.most())
    }

    /// How many packets wait at `now`, without taking out what has left.
    pub(crate) fn waiting_at(&self, now: Time) -> usize {
        self.queue.as_ref().map_or(0, |queue| queue.tail.waiting_at(now))
    }

    /// Takes out what has left the queue by `now`, and shows it.
    #[inline(always)]
    pub(crate) fn drain(&mut self, now: Time, left: impl FnMut(Waiting)) {
        if let Some(queue) = &mut self.queue {
            queue.tail.drain(now, left);
        }
    }

    /// Accepts a packet of `bytes` bytes and tells when its last bit leaves; `None` where the queue, drained to `now`, is full.
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Time, bytes: u32, wire: &Wire) -> Option<Time> {
        let start = self.sent.busy_until.max(now);
        if start > now && !self.queue.get_or_insert_default().wait(Waiting { start, bytes }, wire.queue) {
            return None;
        }
        let serialisation = Delay::serialisation(u64::from(bytes), wire.rate_bps);
        let sent = &mut self.sent;
        // A departure past the end of time is an overflow where the packet is sent.
        sent.busy_until = start.checked_add(serialisation).unwrap_or(Time::MAX);
        sent.packets += 1;
        sent.bytes += u64::from(bytes);
        Some(sent.busy_until)
    }

    /// What [`Transmitter::undo_accept`] will need, the queue having been drained.
    pub(crate) fn before(&self) -> Before {
        let queue = self.queue.as_ref().map(|queue| (queue.dropped, queue.tail.before()));
        Before { sent: self.sent, queue }
    }

    /// Takes a [`Transmitter::accept`] back.
    pub(crate) fn undo_accept(&mut self, before: Before) {
        self.sent = before.sent;
        match (&mut self.queue, before.queue) {
            (Some(queue), Some((dropped, waited))) => {
                queue.dropped = dropped;
                queue.tail.undo_wait(waited);
            }
            (queue, _) => *queue = None,
        }
    }

    /// Takes one step of a [`Transmitter::drain`] back, the last one first.
    pub(crate) fn undo_drain(&mut self, left: Waiting) {
        self.queue.get_or_insert_default().tail.undo_drain(left);
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        let Sent { busy_until, packets, bytes } = self.sent;
        for word in [busy_until.as_ps(), packets, bytes, self.dropped(), u64::from(self.waiting_max())] {
            digest.word(word);
        }
    }
}

impl Queue {
    /// Puts a packet into the queue, or drops it where there is no room.
    fn wait(&mut self, packet: Waiting, limit: QueueLimit) -> bool {
        let fits = self.tail.wait(packet, limit);
        self.dropped += u64::from(!fits);
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 bytes take 1 µs.
    const WIRE: Wire = Wire { rate_bps: 8_000_000_000, delay: Delay::ZERO, queue: QueueLimit::Packets(2) };

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
        let departures: Vec<_> = [0, 0, 0, 0, 1].map(|us| arrive(&mut transmitter, us, 1000, &WIRE)).into();
        // At time 1 the second packet starts, and makes room.
        assert_eq!(departures, [Some(1), Some(2), Some(3), None, Some(4)]);
        assert_eq!(arrive(&mut transmitter, 10, 1000, &WIRE), Some(11));
        assert_eq!((transmitter.sent.packets, transmitter.dropped(), transmitter.waiting_max()), (5, 1, 2));
        assert_eq!(transmitter.waiting_at(at(10)), 0);
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
        for us in [0, 1, 5] {
            let before = transmitter.clone();
            let mut left = Vec::new();
            transmitter.drain(at(us), |waiting| left.push(waiting));
            let undo = transmitter.before();
            _ = transmitter.accept(at(us), 700, &WIRE);
            assert_ne!(transmitter, before);
            transmitter.undo_accept(undo);
            left.into_iter().rev().for_each(|waiting| transmitter.undo_drain(waiting));
            assert_eq!(transmitter, before);
        }
    }

    #[test]
    fn undoing_the_first_wait_leaves_no_queue() {
        let mut transmitter = Transmitter::default();
        assert!(arrive(&mut transmitter, 0, 1000, &WIRE).is_some());
        let undo = transmitter.before();
        assert!(arrive(&mut transmitter, 0, 1000, &WIRE).is_some());
        transmitter.undo_accept(undo);
        assert_eq!(transmitter.queue, None);
    }
}
