//! A packet between two nodes.

use crate::record::{NoRecord, Record};
use parades_capture::address::IpVersion;
use parades_core::digest::{Digest, Payload};
use parades_core::restore::Undoable;
use parades_core::time::Time;
use parades_tcp::environment::Ecn;
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU32;

/// A packet between two nodes. With it, the body of an event takes 24 bytes.
///
/// A packet carries the words that nodes on its path read, and either the time when it was sent, or a
/// *record*: a reference to data that all copies of the packet share ([`Record`]). Data of multicast groups
/// travel in records.
///
/// *TCP*: the header of a segment is a record too, from a pool, written once by the sender
/// ([`crate::segment`]). So sequence numbers, acknowledgements, options and timestamps make no event larger.
#[derive(Clone, Undoable)]
#[undoable(whole)]
pub struct Packet<D = NoRecord>(Form<D>);

#[derive(Clone)]
enum Form<D> {
    Plain {
        sent_ps: u64,
        direction: u32,
        number: u32,
        step: NonZeroU32,
        payload: u16,
        marks: u8,
    },
    /// The record begins with the time when the packet was sent.
    Recorded {
        record: D,
        direction: u32,
        number: u32,
        step: NonZeroU32,
        payload: u16,
        marks: u8,
    },
}

const _: () = assert!(size_of::<parades_core::event::Body<Packet>>() == 24);
const _: () = {
    use parades_core::shared::Shared;
    assert!(size_of::<parades_core::event::Body<Packet<Shared<Box<[u8]>>>>>() == 24);
};

/// The bit of a packet's marks that makes it a message to an application ([`Packet::served`]).
const SERVED: u8 = 1;
/// The bit that makes such a message an event of a port, which has room again ([`Packet::wake`]).
const WAKE: u8 = 1 << 6;
/// The bit of a packet of which a link has made a copy, and of the copy ([`Packet::has_copies`]).
const COPIED: u8 = 1 << 7;
/// The place and the mask of the ECN codepoint in a packet's marks.
const ECN_SHIFT: u32 = 1;
const ECN_MASK: u8 = 0b11 << ECN_SHIFT;
/// The place and the mask of the class in a packet's marks.
const CLASS_SHIFT: u32 = 3;
const CLASS_MASK: u8 = 0b111 << CLASS_SHIFT;

/// The number of classes of packets. Strict priorities serve the greatest class first.
pub const CLASSES: u8 = 8;

/// The header of IPv4 without options, in bytes.
pub const IP_HEADER: u32 = IpVersion::V4.header_bytes();

/// Returns the payload of a datagram that is as long as a TCP segment of `bytes` bytes, the headers of TCP
/// and IP included. Nodes on the path add a datagram's `headers` to every payload. If those are longer than
/// the headers of IP and TCP, a short segment is as long as a datagram without payload.
#[inline]
pub(crate) const fn payload_of_segment(bytes: u32, headers: u32) -> u32 {
    bytes.saturating_sub(headers)
}

/// The longest payload of a UDP packet over IPv4, in bytes.
pub const PAYLOAD_MAX: u32 = 65_507;

/// Returns the direction of a flow's packets: to its destination, or back. Directions of groups come after
/// those of all flows.
#[inline]
pub(crate) const fn direction(flow: u32, is_back: bool) -> u32 {
    flow * 2 + is_back as u32
}

impl<D: Record> Packet<D> {
    /// Makes a packet that was sent at `sent`. A record begins with that time.
    ///
    /// # Panics
    ///
    /// If the payload is above [`PAYLOAD_MAX`], which is checked before the network is made.
    #[inline]
    pub(crate) fn new(
        direction: u32,
        step: NonZeroU32,
        number: u32,
        payload: u32,
        sent: Time,
        record: Option<D>,
    ) -> Packet<D> {
        let payload = u16::try_from(payload).expect("payloads are bounded");
        Packet(match record {
            None => Form::Plain { sent_ps: sent.as_ps(), direction, number, step, payload, marks: 0 },
            Some(record) => Form::Recorded { record, direction, number, step, payload, marks: 0 },
        })
    }

    /// Returns the message by which a node calls the application of an endpoint after a delay, about the
    /// request `number`. It crosses no link.
    pub(crate) fn served(direction: u32, slot: u32, number: u32) -> Packet<D> {
        let step = NonZeroU32::MIN.saturating_add(slot);
        Packet(Form::Plain { sent_ps: 0, direction, number, step, payload: 0, marks: SERVED })
    }

    /// Returns the message by which a port of a node awakes: its device takes the next packet. It crosses no
    /// link.
    pub(crate) fn wake(port: u32) -> Packet<D> {
        let (direction, step) = (0, NonZeroU32::MIN);
        Packet(Form::Plain { sent_ps: 0, direction, number: port, step, payload: 0, marks: SERVED | WAKE })
    }

    /// Returns the port of a message made by [`Packet::wake`].
    #[inline]
    pub(crate) fn waking_port(&self) -> Option<u32> {
        (self.marks() & WAKE != 0).then(|| self.number())
    }

    /// Returns the slot of the endpoint in a message made by [`Packet::served`].
    pub(crate) fn served_slot(&self) -> u32 {
        self.step().get() - 1
    }

    /// Returns true for a message of a node to itself: made by [`Packet::served`] or [`Packet::wake`].
    #[inline]
    pub(crate) fn is_served(&self) -> bool {
        self.marks() & SERVED != 0
    }

    /// Returns the flow and the direction in which the packet goes, as one number.
    #[inline]
    pub(crate) fn direction(&self) -> u32 {
        match self.0 {
            Form::Plain { direction, .. } | Form::Recorded { direction, .. } => direction,
        }
    }

    /// Returns the number of the packet, segment or request. The number of an acknowledgement is the next
    /// segment that the receiver expects.
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        match self.0 {
            Form::Plain { number, .. } | Form::Recorded { number, .. } => number,
        }
    }

    /// Returns the packet's step, by which the next node finds what to do with it.
    #[inline]
    pub(crate) fn step(&self) -> NonZeroU32 {
        match self.0 {
            Form::Plain { step, .. } | Form::Recorded { step, .. } => step,
        }
    }

    /// Returns the payload in bytes, headers not included.
    #[inline]
    pub(crate) fn payload(&self) -> u32 {
        match self.0 {
            Form::Plain { payload, .. } | Form::Recorded { payload, .. } => u32::from(payload),
        }
    }

    /// Returns the time when the packet was sent.
    #[inline]
    pub(crate) fn sent(&self) -> Time {
        match &self.0 {
            Form::Plain { sent_ps, .. } => Time::from_ps(*sent_ps),
            Form::Recorded { record, .. } => record.sent(),
        }
    }

    /// Returns the record.
    #[inline]
    pub(crate) fn record(&self) -> Option<&D> {
        match &self.0 {
            Form::Plain { .. } => None,
            Form::Recorded { record, .. } => Some(record),
        }
    }

    /// Returns the packet's marks: see [`SERVED`], [`ECN_MASK`], [`CLASS_MASK`].
    #[inline]
    fn marks(&self) -> u8 {
        match self.0 {
            Form::Plain { marks, .. } | Form::Recorded { marks, .. } => marks,
        }
    }

    /// Replaces the marks under a mask.
    #[inline]
    fn with_marks(mut self, mask: u8, new: u8) -> Packet<D> {
        match &mut self.0 {
            Form::Plain { marks, .. } | Form::Recorded { marks, .. } => *marks = *marks & !mask | new & mask,
        }
        self
    }

    /// Returns the ECN codepoint.
    #[inline]
    pub fn ecn(&self) -> Ecn {
        match (self.marks() & ECN_MASK) >> ECN_SHIFT {
            0 => Ecn::NotCapable,
            1 => Ecn::Capable1,
            2 => Ecn::Capable0,
            _ => Ecn::Marked,
        }
    }

    /// Returns the packet with another ECN codepoint.
    #[inline]
    pub fn with_ecn(self, ecn: Ecn) -> Packet<D> {
        self.with_marks(ECN_MASK, (ecn as u8) << ECN_SHIFT)
    }

    /// Returns the packet, marked as one that met congestion.
    #[inline]
    pub fn marked(self) -> Packet<D> {
        self.with_ecn(Ecn::Marked)
    }

    /// Returns the class of the packet, below [`CLASSES`].
    #[inline]
    pub fn class(&self) -> u8 {
        (self.marks() & CLASS_MASK) >> CLASS_SHIFT
    }

    /// Returns the packet with another class, below [`CLASSES`].
    #[inline]
    pub fn with_class(self, class: u8) -> Packet<D> {
        self.with_marks(CLASS_MASK, class << CLASS_SHIFT)
    }

    /// Returns the packet, marked as one of which a link has made a copy. The copy bears the mark too.
    pub(crate) fn copied(self) -> Packet<D> {
        self.with_marks(COPIED, COPIED)
    }

    /// Returns true if a link has made a copy of the packet, or the packet is such a copy. So it may arrive
    /// more than once.
    #[inline]
    pub(crate) fn has_copies(&self) -> bool {
        self.marks() & COPIED != 0
    }

    /// Returns a copy of the packet at another step.
    #[inline]
    pub(crate) fn at_step(&self, next: NonZeroU32) -> Packet<D> {
        let mut copy = self.clone();
        match &mut copy.0 {
            Form::Plain { step, .. } | Form::Recorded { step, .. } => *step = next,
        }
        copy
    }
}

impl<D: Record> Payload for Packet<D> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.direction()) << 32 | u64::from(self.number()));
        match &self.0 {
            Form::Plain { sent_ps, .. } => digest.word(*sent_ps),
            Form::Recorded { record, .. } => record.fold(digest),
        }
        // The step is left out, so that routes and tables, which lead along the same path, have one digest.
        // The payload has 16 bits. `SERVED` lies below it, and the other marks above it.
        let (served, others) = (self.marks() & SERVED, self.marks() >> ECN_SHIFT);
        digest.word(u64::from(others) << 49 | u64::from(self.payload()) << 33 | u64::from(served) << 32);
    }
}

/// Packets are equal if a receiver could not tell them apart.
impl<D: Record> PartialEq for Packet<D> {
    fn eq(&self, other: &Packet<D>) -> bool {
        let [mut one, mut another] = [Digest::default(), Digest::default()];
        self.fold(&mut one);
        other.fold(&mut another);
        self.step() == other.step() && one == another
    }
}

impl<D: Record> Eq for Packet<D> {}

/// Shows the packet without its record, which would fill a trace. The digest covers the record.
impl<D: Record> fmt::Debug for Packet<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Packet");
        shown.field("direction", &self.direction()).field("number", &self.number()).field("payload", &self.payload());
        if let Form::Plain { sent_ps, .. } = self.0 {
            shown.field("sent_ps", &sent_ps);
        }
        shown.field("step", &self.step()).finish_non_exhaustive()
    }
}

/// The form of packets between processes, which contains the bytes of the record.
#[derive(serde::Serialize, serde::Deserialize)]
struct Bytes {
    words: (u32, u32, NonZeroU32, u16, u8),
    sent_ps: u64,
    record: Option<Vec<u8>>,
}

impl<D: Record> Serialize for Packet<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let payload = u16::try_from(self.payload()).expect("payloads are bounded");
        let words = (self.direction(), self.number(), self.step(), payload, self.marks());
        let record = self.record().map(|record| record.encode(self.payload()));
        Bytes { words, sent_ps: self.sent().as_ps(), record }.serialize(serializer)
    }
}

impl<'de, D: Record> Deserialize<'de> for Packet<D> {
    fn deserialize<F: Deserializer<'de>>(deserializer: F) -> Result<Packet<D>, F::Error> {
        let Bytes { words: (direction, number, step, payload, marks), sent_ps, record } =
            Bytes::deserialize(deserializer)?;
        let Some(bytes) = record else {
            return Ok(Packet(Form::Plain { sent_ps, direction, number, step, payload, marks }));
        };
        let record = D::decode(payload.into(), &bytes)
            .ok_or_else(|| F::Error::custom("packets of this network carry no such records"))?;
        Ok(Packet(Form::Recorded { record, direction, number, step, payload, marks }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::shared::Shared;

    #[test]
    fn class_and_congestion_marks_change_nothing_but_themselves() {
        type Recorded = Packet<Shared<Box<[u8]>>>;
        for record in [None, Some(Shared::new([0; 16].into()))] {
            let packet = Recorded::new(7, NonZeroU32::MIN, 3, 8, Time::ZERO, record);
            assert_eq!((packet.ecn(), packet.class(), packet.is_served()), (Ecn::NotCapable, 0, false));
            for class in 0..CLASSES {
                let packet = packet.clone().with_ecn(Ecn::Capable0).with_class(class);
                assert_eq!((packet.ecn(), packet.class(), packet.is_served()), (Ecn::Capable0, class, false));
                let packet = packet.marked().at_step(NonZeroU32::MAX);
                assert_eq!((packet.ecn(), packet.class(), packet.is_served()), (Ecn::Marked, class, false));
                assert_eq!((packet.direction(), packet.number(), packet.payload()), (7, 3, 8));
            }
        }
    }

    #[test]
    fn the_digest_tells_marks_apart() {
        let folded = |packet: Packet| {
            let mut digest = Digest::default();
            packet.fold(&mut digest);
            digest
        };
        let packet = || Packet::<NoRecord>::new(7, NonZeroU32::MIN, 3, 8, Time::ZERO, None);
        assert_ne!(folded(packet()), folded(packet().with_ecn(Ecn::Capable0)));
        assert_ne!(folded(packet().with_ecn(Ecn::Capable0)), folded(packet().marked()));
        assert_ne!(folded(packet()), folded(packet().with_class(1)));
        assert_ne!(folded(packet()), folded(packet().copied()));
        assert!(packet().copied().has_copies() && !packet().copied().is_served() && !packet().has_copies());
    }
}
