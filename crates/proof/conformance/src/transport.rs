//! The transports of events between the partitions of the engines under test.
//!
//! All of them keep the order of the events from one partition to another.
//!
//! - [`Direct`] delivers events as they are.
//! - [`Bytes`] imitates the path between two processes. Each event is written as bytes, and may be delayed
//!   for some exchanges. The receiver reads a new event, which shares no memory with the event that was sent.
//! - [`HeldBack`] is [`Bytes`] between the threads of a real engine.
//! - [`Speculative`] is [`HeldBack`] for an engine that rolls back.

mod bytes;
mod held_back;
mod ranks;
mod speculative;

pub use bytes::Bytes;
pub use held_back::HeldBack;
pub use ranks::on_ranks;
pub use speculative::Speculative;

use parades_core::any_model::{AnyEvent, AnyWire};
use parades_core::event::{EventKey, LpId};
use parades_core::time::Instant;

/// A message between partitions.
#[derive(Debug)]
pub enum Parcel<'k> {
    /// An event, and the id of the execution that sent it.
    Event(AnyEvent<'k>, u64),
    /// An anti-message: it annihilates the event with this receiver, key and execution id.
    Anti(LpId, EventKey, u64),
}

impl Parcel<'_> {
    /// Returns the receiver, the key and the execution id.
    pub fn address(&self) -> (LpId, EventKey, u64) {
        match self {
            Parcel::Event(event, execution) => (event.receiver(), event.key(), *execution),
            Parcel::Anti(receiver, key, execution) => (*receiver, *key, *execution),
        }
    }
}

/// Carries parcels between the partitions of a test engine, which runs on one thread. Parcels from one
/// partition to another stay in order.
#[derive(Debug)]
pub enum Link<'k> {
    /// Parcels arrive at the next exchange.
    Direct(Direct<'k>),
    /// Parcels are written as bytes, and some are delayed.
    Bytes(Bytes<'k>),
}

impl<'k> Link<'k> {
    /// Sends a parcel.
    pub fn send(&mut self, from: usize, to: usize, parcel: Parcel<'k>) {
        match self {
            Link::Direct(direct) => direct.send(from, to, parcel),
            Link::Bytes(bytes) => bytes.send(from, to, parcel),
        }
    }

    /// Returns the parcels that arrive at a partition at this exchange.
    pub fn receive(&mut self, to: usize) -> Vec<Parcel<'k>> {
        match self {
            Link::Direct(direct) => direct.receive(to),
            Link::Bytes(bytes) => bytes.receive(to),
        }
    }

    /// Returns the least instant of the parcels in flight.
    pub fn least_in_flight(&self) -> Option<Instant> {
        match self {
            Link::Direct(direct) => direct.least_in_flight(),
            Link::Bytes(bytes) => bytes.least_in_flight(),
        }
    }
}

/// The transport of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// [`Direct`].
    Direct,
    /// [`Bytes`], if the model's messages can be written.
    Bytes,
    /// This number of ranks, which share nothing but bytes ([`on_ranks`]).
    Ranks(usize),
}

impl Carrier {
    /// The transports between the workers of one rank.
    pub const ALL: [Carrier; 2] = [Carrier::Direct, Carrier::Bytes];
    /// The transports that split the workers into ranks.
    pub const RANKS: [Carrier; 3] = [Carrier::Ranks(1), Carrier::Ranks(2), Carrier::Ranks(3)];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Carrier::Direct => "direct",
            Carrier::Bytes => "bytes",
            Carrier::Ranks(1) => "ranks-1",
            Carrier::Ranks(2) => "ranks-2",
            Carrier::Ranks(_) => "ranks-3",
        }
    }

    /// Returns a link between `partitions` partitions. Without a codec, [`Carrier::Bytes`] opens [`Direct`].
    pub fn open<'k>(self, codec: Option<&'k dyn AnyWire<'k>>, partitions: usize, seed: u64) -> Link<'k> {
        match (self, codec) {
            (Carrier::Bytes, Some(codec)) => Link::Bytes(Bytes::new(codec, partitions, partitions, seed)),
            _ => {
                Link::Direct(Direct { partitions, queues: (0..partitions * partitions).map(|_| Vec::new()).collect() })
            }
        }
    }
}

/// Delivers parcels at the next exchange.
#[derive(Debug)]
pub struct Direct<'k> {
    partitions: usize,
    /// By receiver, then sender.
    queues: Vec<Vec<Parcel<'k>>>,
}

impl<'k> Direct<'k> {
    fn send(&mut self, from: usize, to: usize, parcel: Parcel<'k>) {
        self.queues[to * self.partitions + from].push(parcel);
    }

    fn receive(&mut self, to: usize) -> Vec<Parcel<'k>> {
        let begin = to * self.partitions;
        self.queues[begin..begin + self.partitions].iter_mut().flat_map(std::mem::take).collect()
    }

    fn least_in_flight(&self) -> Option<Instant> {
        self.queues.iter().flatten().map(|parcel| parcel.address().1.instant).min()
    }
}
