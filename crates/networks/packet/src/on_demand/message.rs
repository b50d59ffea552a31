//! The events of nodes.

use crate::packet::Packet;
use crate::segment::SegmentRef;
use parades_core::digest::{Digest, Payload};
use parades_core::restore::Undoable;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// An event of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Message(pub(super) Kind);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A packet arrives.
    Packet(Carriage),
    /// A port awakes, or an endpoint calls its application ([`Packet::wake`], [`Packet::served`]).
    Own(Packet<SegmentRef>),
    /// The program outside asks for something.
    Wish(Wish),
}

/// A packet with its ends. A node on the way knows flows by their packets alone.
#[derive(Clone, Debug, PartialEq, Eq, Undoable, Serialize, Deserialize)]
#[undoable(whole)]
pub(super) struct Carriage {
    pub(super) from: u32,
    pub(super) to: u32,
    /// The port by which the packet has left the node before. Parallel links have different ones.
    pub(super) port: u32,
    /// The segments that the end had retransmitted when it sent the packet.
    pub(super) again: u64,
    pub(super) packet: Packet<SegmentRef>,
}

/// A wish of the program outside, for one of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wish {
    /// The address of the end. It is even for the end that begins the flow.
    pub(super) address: u32,
    /// The program has taken note of what had ended before this time.
    pub(super) taken: Time,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// The flow begins, to or from the node `peer`.
    Begin { peer: u32, tcp_app: u32, bytes: u64 },
    /// The flow is given up.
    Cancel,
}

impl Payload for Carriage {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.from) << 32 | u64::from(self.to));
        self.packet.fold(digest);
    }
}

/// The time `taken` changes nothing but memory, so it is left out.
impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        match &self.0 {
            Kind::Packet(carriage) => carriage.fold(digest),
            Kind::Own(packet) => packet.fold(digest),
            Kind::Wish(Wish { address, what, .. }) => match *what {
                What::Begin { peer, tcp_app, bytes } => {
                    digest.word(u64::from(*address) << 32 | u64::from(peer));
                    digest.word(u64::from(tcp_app) << 1);
                    digest.word(bytes);
                }
                What::Cancel => digest.word(u64::from(*address) << 32 | 1),
            },
        }
    }
}
