//! A node: what it remembers, and how that is put back.

use crate::model::delays::Delays;
use crate::model::port::{Before, LOSSES, Loss, Port};
use crate::model::requests::{Client, Server};
use crate::model::transfer::{Receiver, Sender};
use parades_core::digest::{Digest, Payload};
use parades_core::restore::UndoLog;
use parades_packet::flow::{Sink, Source};
use parades_packet::queue::Waiting;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A packet on its way. 24 bytes, with a niche that saves an event eight more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Packet {
    /// One more than twice the flow's number, and one more again on the way back.
    pub(crate) way: NonZeroU32,
    /// Of its like: which packet, segment or request it is; what an acknowledgement acknowledges.
    pub(crate) number: u32,
    /// When it was sent, in picoseconds.
    pub(crate) sent_ps: u64,
    /// Bytes, headers not included.
    pub(crate) payload: u32,
    /// Whether it is a request that has arrived, and waits for its service; no packet on a link then.
    pub(crate) served: bool,
}

const _: () = assert!(size_of::<parades_core::event::Body<Packet>>() == 24);

/// The way of a flow: there, or back.
#[inline]
pub(crate) const fn way(flow: u32, back: bool) -> u32 {
    flow * 2 + back as u32
}

impl Packet {
    /// A packet on a way.
    #[inline]
    pub(crate) fn on(way: u32, number: u32, sent_ps: u64, payload: u32) -> Packet {
        let way = NonZeroU32::new(way + 1).expect("ways are fewer than 2^32");
        Packet { way, number, sent_ps, payload, served: false }
    }

    /// The number of its way.
    #[inline]
    pub(crate) fn way(&self) -> u32 {
        self.way.get() - 1
    }
}

impl Payload for Packet {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.way.get()) << 32 | u64::from(self.number));
        digest.word(self.sent_ps);
        digest.word(u64::from(self.payload) << 1 | u64::from(self.served));
    }
}

/// What a node remembers of one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Source(Source),
    Sink(Sink),
    Sender(Sender),
    Receiver(Receiver),
    Client(Client),
    Server(Server),
}

/// One end of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) role: Role,
    /// Of what arrives, where that is measured.
    pub(crate) delays: Option<Box<Delays>>,
    /// Of a receiver: which segments have come before their turn, a bit each.
    pub(crate) early: Box<[u64]>,
}

/// What a node remembers: the state of an LP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub(crate) ports: Box<[Port]>,
    pub(crate) ends: Box<[End]>,
    /// Packets lost here, by way and reason.
    pub(crate) lost: BTreeMap<u32, [u64; LOSSES]>,
}

impl Node {
    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.ports.iter().for_each(|port| port.fold(digest));
        for end in &self.ends {
            match &end.role {
                Role::Source(source) => source.fold(digest),
                Role::Sink(sink) => sink.fold(digest),
                Role::Sender(sender) => sender.fold(digest),
                Role::Receiver(receiver) => receiver.fold(digest),
                Role::Client(client) => client.fold(digest),
                Role::Server(server) => server.fold(digest),
            }
            end.early.iter().for_each(|&word| digest.word(word));
        }
        for (&way, lost) in &self.lost {
            digest.word(u64::from(way));
            lost.iter().for_each(|&packets| digest.word(packets));
        }
    }

    /// Takes back what the records tell, the last one first.
    pub(crate) fn undo(&mut self, log: &mut UndoLog<Undo>) {
        while let Some(Undo(change)) = log.pop() {
            match change {
                Change::Left { port, waiting } => self.ports[port as usize].undo_drain(waiting),
                Change::Accepting { port, before } => self.ports[port as usize].undo_accept(before),
                Change::Lost { way, loss } => {
                    let lost = self.lost.get_mut(&way).expect("a packet of this way was lost");
                    lost[loss as usize] -= 1;
                    if *lost == [0; LOSSES] {
                        self.lost.remove(&way);
                    }
                }
                Change::Role { slot, before } => self.ends[slot as usize].role = before,
                Change::Delay { slot, ps } => {
                    self.ends[slot as usize].delays.as_mut().expect("it was observed").forget(ps);
                }
                Change::Early { slot, word, before } => self.ends[slot as usize].early[word as usize] = before,
            }
        }
    }
}

/// A record of the undo log: one change to a [`Node`].
#[derive(Debug)]
pub struct Undo(Change);

#[derive(Debug)]
pub(crate) enum Change {
    /// A packet left a queue.
    Left { port: u32, waiting: Waiting },
    /// A packet was given to a port.
    Accepting { port: u32, before: Before },
    /// A packet was lost.
    Lost { way: u32, loss: Loss },
    /// An end of a flow did something.
    Role { slot: u32, before: Role },
    /// A delay was observed.
    Delay { slot: u32, ps: u64 },
    /// Segments came before their turn, or it is their turn.
    Early { slot: u32, word: u32, before: u64 },
}

/// Where changes are recorded, by engines that roll back.
#[derive(Debug)]
pub(crate) struct Journal<'a>(pub(crate) Option<&'a mut UndoLog<Undo>>);

impl Journal<'_> {
    #[inline(always)]
    pub(crate) fn record(&mut self, change: impl FnOnce() -> Change) {
        if let Some(log) = &mut self.0 {
            log.push(Undo(change()));
        }
    }
}
