//! The packets of the carrier.

use parades_core::digest::{Digest, Payload};
use parades_core::event::LpId;
use parades_core::restore::Undoable;
use parades_packet::packet::IP_HEADER;
use parades_packet::plane::Carried;
use parades_program::{Receipt, Undelivered};
use parades_tcp::environment::Ecn;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The functions of a message that say how it travels as a packet.
pub struct Format<M> {
    /// Returns the bytes of the packet without the IP header.
    pub bytes: fn(&M) -> u32,
    /// Returns a number that names the flow. Packets of one flow take the same of several equal paths.
    pub flow: fn(&M) -> u32,
    /// Returns the class, below [`parades_packet::packet::CLASSES`].
    pub class: fn(&M) -> u8,
    /// Returns the codepoint for congestion marks.
    pub ecn: fn(&M) -> Ecn,
    /// Writes a congestion mark into the message, at its receiver.
    pub mark: fn(&mut M),
}

impl<M> Format<M> {
    /// Returns the format of messages that differ only in their sizes. All messages between two nodes are one
    /// flow; no queue may mark them.
    pub const fn of_bytes(bytes: fn(&M) -> u32) -> Format<M> {
        Format { bytes, flow: |_| 0, class: |_| 0, ecn: |_| Ecn::NotCapable, mark: |_| {} }
    }
}

impl<M> Clone for Format<M> {
    fn clone(&self) -> Format<M> {
        *self
    }
}
impl<M> Copy for Format<M> {}

impl<M> fmt::Debug for Format<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Format").finish_non_exhaustive()
    }
}

/// A packet between two nodes of the network, or an event of one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet<M>(pub(super) Hop<M>);

/// The kinds of the carrier's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hop<M> {
    /// A message on its way.
    Message(Message<M>),
    /// A report on its way to the sender of a message.
    Report(Report),
    /// A port of the node itself has room for its next packet.
    Wake { port: u32 },
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(super) struct Message<M> {
    pub(super) from: LpId,
    pub(super) to: LpId,
    pub(super) receipt: Option<Receipt>,
    /// The size with the IP header.
    pub(super) bytes: u32,
    /// A number that names the flow and its ends.
    pub(super) flow: u32,
    pub(super) class: u8,
    pub(super) ecn: Ecn,
    pub(super) message: M,
}

/// A report on a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) to: LpId,
    pub(super) receipt: Receipt,
    pub(super) outcome: Result<(), Undelivered>,
}

impl<M> Message<M> {
    pub(super) fn new(from: LpId, to: LpId, receipt: Option<Receipt>, format: &Format<M>, message: M) -> Message<M> {
        // Flows of different ends take different paths (multiplicative hashing, with the constants of
        // xxHash).
        let flow = (format.flow)(&message).wrapping_mul(0x9e37_79b1) ^ from.0.wrapping_mul(0x85eb_ca77);
        let flow = flow.rotate_left(15) ^ to.0.wrapping_mul(0xc2b2_ae3d);
        let bytes = (format.bytes)(&message).saturating_add(IP_HEADER);
        let (class, ecn) = ((format.class)(&message), (format.ecn)(&message));
        Message { from, to, receipt, bytes, flow, class, ecn, message }
    }

    /// Returns the report on this message, if its sender waits for one.
    pub(super) fn report(&self, outcome: Result<(), Undelivered>) -> Option<Report> {
        self.receipt.map(|receipt| Report { to: self.from, receipt, outcome })
    }
}

impl<M: Payload + Clone> Carried for Message<M> {
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn destination(&self) -> u32 {
        self.to.0
    }
    fn source(&self) -> u32 {
        self.from.0
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn class(&self) -> u8 {
        self.class
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn marked(self) -> Message<M> {
        Message { ecn: Ecn::Marked, ..self }
    }
}

impl<M: Payload> Payload for Message<M> {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.from.0) << 32 | u64::from(self.to.0));
        let receipt = self.receipt.map_or(0, |Receipt(number)| u64::from(number.get()));
        digest.word(receipt << 32 | u64::from(self.bytes) << 8 | u64::from(self.class) << 4 | self.ecn as u64);
        self.message.fold(digest);
    }
}

impl<M: Payload> Payload for Packet<M> {
    fn fold(&self, digest: &mut Digest) {
        match &self.0 {
            Hop::Message(message) => message.fold(digest),
            Hop::Report(Report { to, receipt: Receipt(number), outcome }) => {
                let kind = if outcome.is_ok() { 1 } else { 2 };
                digest.word(kind << 62 | u64::from(to.0));
                digest.word(u64::from(number.get()));
            }
            Hop::Wake { port } => digest.word(3 << 62 | u64::from(*port)),
        }
    }
}
