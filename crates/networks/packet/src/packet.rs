//! A packet between two nodes.

use crate::record::{NoRecord, Record};
use parades_core::digest::{Digest, Payload};
use parades_core::time::Time;
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
/// *Room for other protocols*: headers that do not fit these words belong in a record too. The record comes
/// from a pool, and the sender writes it once. `number` is then the word that the receiver needs before it
/// reads the record. So TCP's sequence numbers, acknowledgements, options and timestamps make no event
/// larger.
#[derive(Clone)]
pub struct Packet<D = NoRecord>(Form<D>);

#[derive(Clone)]
enum Form<D> {
    Plain {
        sent_ps: u64,
        direction: u32,
        number: u32,
        step: NonZeroU32,
        payload: u16,
        is_served: bool,
    },
    /// The record begins with the time when the packet was sent.
    Recorded {
        record: D,
        direction: u32,
        number: u32,
        step: NonZeroU32,
        payload: u16,
    },
}

const _: () = assert!(size_of::<parades_core::event::Body<Packet>>() == 24);
const _: () = {
    use parades_core::shared::Shared;
    assert!(size_of::<parades_core::event::Body<Packet<Shared<Box<[u8]>>>>>() == 24);
};

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
        (direction, step): (u32, NonZeroU32),
        number: u32,
        payload: u32,
        (sent, record): (Time, Option<D>),
    ) -> Packet<D> {
        let payload = u16::try_from(payload).expect("payloads are bounded");
        Packet(match record {
            None => Form::Plain { sent_ps: sent.as_ps(), direction, number, step, payload, is_served: false },
            Some(record) => Form::Recorded { record, direction, number, step, payload },
        })
    }

    /// Returns the message by which a node calls the application of an endpoint after a delay, about the
    /// request `number`. It crosses no link.
    pub(crate) fn served(direction: u32, slot: u32, number: u32) -> Packet<D> {
        let step = NonZeroU32::MIN.saturating_add(slot);
        Packet(Form::Plain { sent_ps: 0, direction, number, step, payload: 0, is_served: true })
    }

    /// Returns the slot of the endpoint in a message made by [`Packet::served`].
    pub(crate) fn served_slot(&self) -> u32 {
        self.step().get() - 1
    }

    /// Returns true for a message made by [`Packet::served`].
    #[inline]
    pub(crate) fn is_served(&self) -> bool {
        matches!(self.0, Form::Plain { is_served: true, .. })
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
            Form::Recorded { record, .. } => crate::record::sent(record),
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
        let (payload, step) = (u64::from(self.payload()), u64::from(self.step().get()));
        digest.word(payload << 33 | u64::from(self.is_served()) << 32 | step);
    }
}

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
    words: (u32, u32, NonZeroU32, u16, bool),
    sent_ps: u64,
    record: Option<Vec<u8>>,
}

impl<D: Record> Serialize for Packet<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let payload = u16::try_from(self.payload()).expect("payloads are bounded");
        let words = (self.direction(), self.number(), self.step(), payload, self.is_served());
        let record = self.record().map(|record| crate::record::bytes(record, self.payload()));
        Bytes { words, sent_ps: self.sent().as_ps(), record }.serialize(serializer)
    }
}

impl<'de, D: Record> Deserialize<'de> for Packet<D> {
    fn deserialize<F: Deserializer<'de>>(deserializer: F) -> Result<Packet<D>, F::Error> {
        let Bytes { words: (direction, number, step, payload, is_served), sent_ps, record } =
            Bytes::deserialize(deserializer)?;
        let Some(bytes) = record else {
            return Ok(Packet(Form::Plain { sent_ps, direction, number, step, payload, is_served }));
        };
        let record = D::write(&bytes).ok_or_else(|| F::Error::custom("packets of this network carry no records"))?;
        Ok(Packet(Form::Recorded { record, direction, number, step, payload }))
    }
}
