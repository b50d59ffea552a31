//! Queue disciplines of other crates.
//!
//! A crate adds a discipline in three steps. It writes a type for the state of one port. It implements
//! [`ArrivalQueue`] or [`DepartureQueue`] for this type. It makes a value with its parameters, and gives it
//! to [`Discipline::on_arrival`] or [`Discipline::on_departure`](super::Discipline::on_departure). The queue
//! of each port starts as a copy of that value.
//!
//! [`ArrivalQueue`] is the cheaper one: a packet needs no second event.
//!
//! *Determinism*: a decision may depend on the arguments and on the state alone. Random numbers come from
//! [`PortView::rng`], and functions of floating-point numbers from the crate `libm`.
//!
//! *Rollback*: `time-warp` copies the state before each change, and restores the copy. So a state should be
//! small. Large constants belong in an `Arc`.
//!
//! # Example
//!
//! A queue that marks each third packet, and drops a packet that does not fit:
//!
//! ```
//! use parades_core::digest::Digest;
//! use parades_packet::queue::{Admission, ArrivalQueue, Discipline, Offered, PortView, QueueLimit};
//!
//! #[derive(Clone, Debug)]
//! struct Thirds {
//!     limit: QueueLimit,
//!     arrived: u64,
//! }
//!
//! impl ArrivalQueue for Thirds {
//!     fn on_arrival(&mut self, packet: &Offered, port: &PortView<'_>) -> Admission {
//!         self.arrived += 1;
//!         match port.has_room(self.limit, packet.bytes) {
//!             false => Admission::Full,
//!             true if self.arrived.is_multiple_of(3) && packet.is_capable => Admission::Mark,
//!             true => Admission::Pass,
//!         }
//!     }
//!
//!     fn copy(&self) -> Box<dyn ArrivalQueue> {
//!         Box::new(self.clone())
//!     }
//!
//!     fn fold(&self, digest: &mut Digest) {
//!         digest.word(self.arrived);
//!     }
//! }
//!
//! let queue = Discipline::on_arrival("thirds", Thirds { limit: QueueLimit::Packets(20), arrived: 0 });
//! let same = Discipline::on_arrival("thirds", Thirds { limit: QueueLimit::Packets(20), arrived: 0 });
//! assert_eq!(queue, same);
//! ```

use super::holding::{Dropped, Held};
use super::{Admission, Discipline, Offered, QueueLimit};
use crate::port::Loss;
use parades_core::digest::Digest;
use parades_core::random::Rng;
use parades_core::restore::Undoable;
use parades_core::time::Time;
use parades_core::wire::{self, Malformed};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt::Debug;
use std::sync::Arc;

/// A port, as a discipline of another crate sees it.
#[derive(Clone, Copy, Debug)]
pub struct PortView<'a> {
    /// The time.
    pub now: Time,
    /// The rate of the link in bits per second.
    pub rate_bps: u64,
    /// The number of packets that wait, without those in the device.
    pub waiting: usize,
    /// The bytes of these packets, headers included.
    pub waiting_bytes: u64,
    /// The time at which the transmitter has sent all packets that it was given. If the transmitter is idle,
    /// the time since which it is idle.
    pub busy_until: Time,
    /// True if a packet that arrives now waits in the queue. False if it goes to the transmitter or to the
    /// device at once.
    pub must_wait: bool,
    /// The random stream of the node.
    pub rng: &'a Rng,
}

impl PortView<'_> {
    /// Returns true if a packet of `bytes` bytes may wait within the limit, or need not wait.
    #[must_use]
    pub fn has_room(&self, limit: QueueLimit, bytes: u32) -> bool {
        !self.must_wait || limit.allows(self.waiting + 1, self.waiting_bytes + u64::from(bytes))
    }
}

/// A discipline that decides about a packet when it arrives, and transmits in the order of arrival.
pub trait ArrivalQueue: Debug + Send + Sync {
    /// Decides about a packet. A discipline checks its limit itself: see [`PortView::has_room`].
    fn on_arrival(&mut self, packet: &Offered, port: &PortView<'_>) -> Admission;

    /// Returns the earliest start of the transmission of a packet that was accepted. A time before the
    /// transmitter is free means that the discipline does not delay the packet. A discipline that shapes the
    /// traffic returns later times.
    fn start(&mut self, packet: &Offered, port: &PortView<'_>) -> Time {
        let _ = packet;
        port.now
    }

    /// Checks the parameters. An error is the end of a sentence that begins with the queue's name.
    ///
    /// # Errors
    ///
    /// If a parameter is impossible.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns a copy: for another port, or for a rollback.
    fn copy(&self) -> Box<dyn ArrivalQueue>;

    /// Returns the bytes of the state, from which [`ArrivalQueue::restore`] makes an equal one. `None` if the
    /// state cannot be written: then runs with this queue cannot be saved.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Restores the state from all of these bytes. `self` is a copy of the state at the start.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a state.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let _ = bytes;
        Err(Malformed::new("the state of this queue cannot be written"))
    }

    /// Folds the state into a digest.
    fn fold(&self, digest: &mut Digest);
}

/// A discipline that holds packets, and selects one of them when the transmitter is free.
pub trait DepartureQueue: Debug + Send + Sync {
    /// Takes a packet that arrives. The discipline holds the packet, or gives it to `drops`. It may drop
    /// packets that it holds, too.
    fn enqueue(&mut self, packet: HeldPacket, port: &PortView<'_>, drops: &mut Drops<'_>);

    /// Removes the packet that is transmitted next, and returns it. Returns `None` only if no packet is left.
    /// Packets that are dropped before it go to `drops`.
    fn dequeue(&mut self, port: &PortView<'_>, drops: &mut Drops<'_>) -> Option<Departure>;

    /// Visits all packets that are held, in an order that depends on the state alone.
    fn visit(&self, visitor: &mut dyn FnMut(&HeldPacket));

    /// Checks the parameters. An error is the end of a sentence that begins with the queue's name.
    ///
    /// # Errors
    ///
    /// If a parameter is impossible.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns a copy: for another port, or for a rollback. When a link goes down, its packets are lost, and
    /// its queue is a new copy again.
    fn copy(&self) -> Box<dyn DepartureQueue>;

    /// Returns the bytes of the state, from which [`DepartureQueue::restore`] makes an equal one. `None` if
    /// the state cannot be written: then runs with this queue cannot be saved.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }

    /// Restores the state from all of these bytes. `self` is a copy of the state at the start.
    ///
    /// # Errors
    ///
    /// If the bytes are not those of a state.
    fn restore(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let _ = bytes;
        Err(Malformed::new("the state of this queue cannot be written"))
    }

    /// Folds the state into a digest. The packets that are held are folded already.
    fn fold(&self, digest: &mut Digest);
}

/// A packet that a discipline holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldPacket {
    /// The packet's facts.
    pub offered: Offered,
    /// The time of its arrival.
    pub since: Time,
    /// Its place in the store of its node.
    slot: u32,
}

impl HeldPacket {
    pub(super) fn new(held: Held, offered: &Offered) -> HeldPacket {
        HeldPacket { offered: *offered, since: held.since, slot: held.slot() }
    }

    pub(super) fn held(&self) -> Held {
        Held::new(self.slot, self.offered.bytes, self.since, self.offered.is_capable)
    }
}

/// A packet that leaves its discipline for the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It passes as it is.
    Pass(HeldPacket),
    /// It is marked as one that met congestion.
    Mark(HeldPacket),
}

/// The packets that a discipline drops.
#[derive(Debug)]
pub struct Drops<'a>(pub(super) &'a mut Dropped);

impl Drops<'_> {
    /// Drops a packet, as the queue is full.
    pub fn full(&mut self, packet: HeldPacket) {
        self.0.push((packet.held(), Loss::Queue));
    }

    /// Drops a packet early, before the queue is full.
    pub fn early(&mut self, packet: HeldPacket) {
        self.0.push((packet.held(), Loss::Early));
    }
}

/// A discipline of another crate: its name, and the queue of which each port has a copy. Two of them are
/// equal if their names are equal, and the texts of their queues for debugging.
#[derive(Clone, Debug)]
pub struct OtherDiscipline {
    name: &'static str,
    pub(super) queue: Prototype,
}

/// The queue of a port at the start.
#[derive(Clone, Debug)]
pub(super) enum Prototype {
    Arrival(Arc<dyn ArrivalQueue>),
    Departure(Arc<dyn DepartureQueue>),
}

impl Prototype {
    fn is_clone_of(&self, other: &Prototype) -> bool {
        match (self, other) {
            (Prototype::Arrival(one), Prototype::Arrival(another)) => Arc::ptr_eq(one, another),
            (Prototype::Departure(one), Prototype::Departure(another)) => Arc::ptr_eq(one, another),
            _ => false,
        }
    }
}

impl OtherDiscipline {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns true if packets are held until the discipline selects one of them.
    #[inline]
    pub(crate) fn decides_on_departure(&self) -> bool {
        matches!(self.queue, Prototype::Departure(_))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.queue {
            Prototype::Arrival(queue) => queue.check(),
            Prototype::Departure(queue) => queue.check(),
        }
    }

    /// Returns `Ok` if its states can be written.
    pub(crate) fn can_save(&self) -> Result<(), String> {
        let saved = match &self.queue {
            Prototype::Arrival(queue) => queue.save(),
            Prototype::Departure(queue) => queue.save(),
        };
        saved.map(|_| ()).ok_or_else(|| format!("the queue {:?} cannot be written", self.name))
    }

    /// Returns the state of a port, if the discipline decides on arrival.
    pub(crate) fn arriving(&self) -> Option<Arriving> {
        match &self.queue {
            Prototype::Arrival(queue) => Some(Arriving(queue.copy())),
            Prototype::Departure(_) => None,
        }
    }

    /// Returns the state of a port, if the discipline decides on departure.
    pub(super) fn departing(&self) -> Option<Departing> {
        match &self.queue {
            Prototype::Departure(queue) => Some(Departing { queue: queue.copy(), bytes: 0 }),
            Prototype::Arrival(_) => None,
        }
    }
}

impl Discipline {
    /// Makes a discipline of another crate that decides on arrival.
    pub fn on_arrival(name: &'static str, queue: impl ArrivalQueue + 'static) -> Discipline {
        Discipline::Other(OtherDiscipline { name, queue: Prototype::Arrival(Arc::new(queue)) })
    }

    /// Makes a discipline of another crate that holds packets, and decides on departure.
    pub fn on_departure(name: &'static str, queue: impl DepartureQueue + 'static) -> Discipline {
        Discipline::Other(OtherDiscipline { name, queue: Prototype::Departure(Arc::new(queue)) })
    }
}

/// Orders by name, then by the text for debugging. The order has no other meaning.
impl Ord for OtherDiscipline {
    fn cmp(&self, other: &OtherDiscipline) -> Ordering {
        // Most links of a network have clones of one value.
        if self.queue.is_clone_of(&other.queue) {
            return self.name.cmp(other.name);
        }
        let text = |of: &OtherDiscipline| format!("{:?}", of.queue);
        self.name.cmp(other.name).then_with(|| text(self).cmp(&text(other)))
    }
}

impl PartialOrd for OtherDiscipline {
    fn partial_cmp(&self, other: &OtherDiscipline) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OtherDiscipline {
    fn eq(&self, other: &OtherDiscipline) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OtherDiscipline {}

/// The state of a port whose discipline is of another crate and decides on arrival.
#[derive(Debug, Undoable)]
#[undoable(whole)]
pub(crate) struct Arriving(pub(crate) Box<dyn ArrivalQueue>);

/// The state of a port whose discipline is of another crate and decides on departure.
#[derive(Debug, Undoable)]
#[undoable(whole)]
pub(super) struct Departing {
    queue: Box<dyn DepartureQueue>,
    /// The bytes of the packets that are held.
    bytes: u64,
}

impl Clone for Arriving {
    fn clone(&self) -> Arriving {
        Arriving(self.0.copy())
    }
}

impl Clone for Departing {
    fn clone(&self) -> Departing {
        Departing { queue: self.queue.copy(), bytes: self.bytes }
    }
}

/// Compares the texts for debugging, which show the whole state if `Debug` is derived.
impl PartialEq for Arriving {
    fn eq(&self, other: &Arriving) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl Eq for Arriving {}

/// Compares the texts for debugging, which show the whole state if `Debug` is derived.
impl PartialEq for Departing {
    fn eq(&self, other: &Departing) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

impl Eq for Departing {}

/// The panic of writing a queue that cannot be written.
const REFUSED: &str = "the model refuses queues that cannot be written";

impl Arriving {
    /// Appends the bytes of the state.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        wire::write(&self.0.save().expect(REFUSED), to);
    }

    /// Reads a state. `self` is the state at the start.
    pub(crate) fn read(mut self, from: &mut &[u8]) -> Result<Arriving, Malformed> {
        self.0.restore(&wire::read::<Vec<u8>>(from)?)?;
        Ok(self)
    }
}

impl Departing {
    /// Appends the bytes of the state.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        wire::write(&self.queue.save().expect(REFUSED), to);
    }

    /// Reads a state. `self` is the state at the start.
    pub(super) fn read(mut self, from: &mut &[u8]) -> Result<Departing, Malformed> {
        self.queue.restore(&wire::read::<Vec<u8>>(from)?)?;
        self.bytes = self.packets().iter().map(|packet| u64::from(packet.bytes)).sum();
        Ok(self)
    }

    /// Returns the packets that are held.
    pub(super) fn packets(&self) -> Vec<Held> {
        let mut packets = Vec::new();
        self.queue.visit(&mut |packet| packets.push(packet.held()));
        packets
    }

    pub(super) fn fold(&self, digest: &mut Digest) {
        self.queue.fold(digest);
    }

    /// Gives a packet to the discipline, which holds `packets` packets.
    pub(super) fn enqueue(
        &mut self,
        packet: Held,
        offered: &Offered,
        packets: u32,
        port: &PortView<'_>,
        dropped: &mut Dropped,
    ) {
        let before = dropped.len();
        let port = self.seen(packets, port);
        self.queue.enqueue(HeldPacket::new(packet, offered), &port, &mut Drops(dropped));
        self.bytes = self.bytes + u64::from(packet.bytes) - bytes_of(&dropped[before..]);
    }

    /// Removes the next packet. Returns it, with true if it must be marked.
    pub(super) fn dequeue(&mut self, packets: u32, port: &PortView<'_>, dropped: &mut Dropped) -> Option<(Held, bool)> {
        let before = dropped.len();
        let port = self.seen(packets, port);
        let next = self.queue.dequeue(&port, &mut Drops(dropped)).map(|departure| match departure {
            Departure::Pass(packet) => (packet.held(), false),
            Departure::Mark(packet) => (packet.held(), true),
        });
        self.bytes -= next.map_or(0, |(packet, _)| u64::from(packet.bytes)) + bytes_of(&dropped[before..]);
        next
    }

    fn seen<'a>(&self, packets: u32, port: &PortView<'a>) -> PortView<'a> {
        PortView { waiting: packets as usize, waiting_bytes: self.bytes, must_wait: true, ..*port }
    }
}

fn bytes_of(dropped: &[(Held, Loss)]) -> u64 {
    dropped.iter().map(|(packet, _)| u64::from(packet.bytes)).sum()
}
