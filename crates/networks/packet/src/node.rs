//! A node of the packet-level network: what it remembers, and how that is put back.

use crate::flow::{Sink, Source};
use crate::interface::{Before, Transmitter, Wire};
use crate::queue::Waiting;
use parades_core::digest::{Digest, Payload};
use parades_core::restore::UndoLog;
use parades_core::time::{Delay, Time};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// A packet on its way. 24 bytes, with a niche in `step` that saves an event eight more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Packet {
    /// The flow's place in the list.
    pub flow: u32,
    /// How many packets the flow had sent before.
    pub sequence: u32,
    /// When it was sent, in picoseconds.
    pub sent_ps: u64,
    /// Bytes, headers not included.
    pub payload: u32,
    /// How far it has come: the place, in the list of the steps of all routes, of what the next node does with it. Never the first step of a
    /// route, which the source takes.
    pub step: NonZeroU32,
}

const _: () = assert!(size_of::<parades_core::event::Body<Packet>>() == 24);

impl Packet {
    /// When it was sent.
    pub(crate) fn sent(&self) -> Time {
        Time::from_ps(self.sent_ps)
    }
}

impl Payload for Packet {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.flow) << 32 | u64::from(self.sequence));
        digest.word(self.sent_ps);
        digest.word(u64::from(self.payload) << 32 | u64::from(self.step.get()));
    }
}

/// What a node remembers. The slots of flows are numbered within the node, in the order of the flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// By interface.
    pub(crate) transmitters: Box<[Transmitter]>,
    /// By slot, of the flows that start here.
    pub(crate) sources: Box<[Source]>,
    /// By slot, of the flows that end here.
    pub(crate) sinks: Box<[Sink]>,
    /// Packets dropped here, by flow; copies of multicast packets by where they were going in the tree. No memory where there are none.
    pub(crate) dropped: BTreeMap<u32, u64>,
}

impl Node {
    /// Gives a packet of `bytes` bytes to the transmitter at an interface: how long it is until the packet is at the neighbour. `None` where
    /// the queue is full.
    #[inline(always)]
    pub(crate) fn transmit(
        &mut self,
        interface: u32,
        bytes: u32,
        wire: &Wire,
        now: Time,
        journal: &mut Journal<'_>,
    ) -> Option<Delay> {
        let transmitter = &mut self.transmitters[interface as usize];
        transmitter.drain(now, |waiting| journal.record(|| Change::Left { interface, waiting }));
        journal.record(|| Change::Accepting { interface, before: transmitter.before() });
        let departure = transmitter.accept(now, bytes, wire)?;
        Some(departure.since(now).saturating_add(wire.delay))
    }

    pub(crate) fn drop_packet(&mut self, flow: u32, journal: &mut Journal<'_>) {
        journal.record(|| Change::Dropped { flow });
        *self.dropped.entry(flow).or_default() += 1;
    }

    fn undo_drop(&mut self, flow: u32) {
        let dropped = self.dropped.get_mut(&flow).expect("a packet of this flow was dropped");
        *dropped -= 1;
        if *dropped == 0 {
            self.dropped.remove(&flow);
        }
    }

    pub(crate) fn fold(&self, digest: &mut Digest) {
        self.transmitters.iter().for_each(|transmitter| transmitter.fold(digest));
        self.sources.iter().for_each(|source| source.fold(digest));
        self.sinks.iter().for_each(|sink| sink.fold(digest));
        for (&flow, &packets) in &self.dropped {
            digest.word(u64::from(flow));
            digest.word(packets);
        }
    }

    /// Takes back what the records tell, the last one first.
    pub(crate) fn undo(&mut self, log: &mut UndoLog<Undo>) {
        while let Some(Undo(change)) = log.pop() {
            match change {
                Change::Left { interface, waiting } => {
                    self.transmitters[interface as usize].undo_drain(waiting);
                }
                Change::Accepting { interface, before } => {
                    self.transmitters[interface as usize].undo_accept(before);
                }
                Change::Dropped { flow } => self.undo_drop(flow),
                Change::Source { slot, before } => self.sources[slot as usize] = before,
                Change::Sink { slot, before } => self.sinks[slot as usize] = before,
            }
        }
    }
}

/// A record of the undo log: one change to a [`Node`].
#[derive(Debug)]
pub struct Undo(Change);

#[derive(Debug)]
pub(crate) enum Change {
    /// A packet left the queue.
    Left { interface: u32, waiting: Waiting },
    /// A packet was accepted or dropped.
    Accepting { interface: u32, before: Before },
    /// A packet was dropped.
    Dropped { flow: u32 },
    /// The source of a flow sent.
    Source { slot: u32, before: Source },
    /// The sink of a flow received.
    Sink { slot: u32, before: Sink },
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
