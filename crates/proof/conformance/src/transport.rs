//! How the partitioned engines under test carry events between partitions.
//!
//! Both transports keep the order of each pair of partitions. [`Direct`] hands events over as they are; [`Bytes`] does what lies between
//! two processes: each event becomes bytes, may be held back for some exchange steps, and becomes an event again that shares no memory
//! with what was sent. [`HeldBack`] does so between the threads of a real engine, [`Speculative`] of one that takes things back.

mod bytes;
mod held_back;
mod ranks;
mod speculative;

pub use bytes::Bytes;
pub use held_back::HeldBack;
pub use ranks::{Shape, on_ranks};
pub use speculative::Speculative;

use parades_core::event::{Event, EventKey, LpId};
use parades_core::time::Instant;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What travels between partitions.
#[derive(Debug)]
pub enum Parcel<P> {
    /// An event, sent by this incarnation of its sender's execution.
    Event(Event<P>, u64),
    /// An anti-message: the event of this receiver, key and incarnation is to be annihilated.
    Anti(LpId, EventKey, u64),
}

impl<P> Parcel<P> {
    /// Whom it is for, the key, and the incarnation.
    pub fn address(&self) -> (LpId, EventKey, u64) {
        match self {
            Parcel::Event(event, incarnation) => (event.receiver, event.key(), *incarnation),
            Parcel::Anti(receiver, key, incarnation) => (*receiver, *key, *incarnation),
        }
    }
}

/// How messages become bytes and messages again.
#[derive(Debug)]
pub struct Codec<P> {
    encode: fn(&P) -> Vec<u8>,
    decode: fn(&[u8]) -> P,
}

impl<P> Copy for Codec<P> {}
impl<P> Clone for Codec<P> {
    fn clone(&self) -> Codec<P> {
        *self
    }
}

impl<P: Serialize + DeserializeOwned> Codec<P> {
    /// By `serde` and `postcard`.
    pub fn postcard() -> Codec<P> {
        Codec {
            encode: |message| postcard::to_allocvec(message).expect("a message of a model can be written"),
            decode: |bytes| postcard::from_bytes(bytes).expect("what was written can be read"),
        }
    }
}

/// Carries parcels between the partitions of a test engine, which runs on one thread. Parcels of each pair of partitions stay in order.
#[derive(Debug)]
pub enum Link<P> {
    /// Parcels arrive at the next exchange.
    Direct(Direct<P>),
    /// Parcels become bytes, and some are held back.
    Bytes(Bytes<P>),
}

impl<P> Link<P> {
    /// Sends a parcel.
    pub fn send(&mut self, from: usize, to: usize, parcel: Parcel<P>) {
        match self {
            Link::Direct(direct) => direct.send(from, to, parcel),
            Link::Bytes(bytes) => bytes.send(from, to, &parcel),
        }
    }

    /// Returns the parcels that arrive at a partition at this exchange.
    pub fn receive(&mut self, to: usize) -> Vec<Parcel<P>> {
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

/// Which transport a run uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// [`Direct`].
    Direct,
    /// [`Bytes`], where the model's messages can be written.
    Bytes,
    /// Ranks of this number, which share nothing but bytes ([`on_ranks`]).
    Ranks(usize),
}

impl Carrier {
    /// Those between the workers of one rank.
    pub const ALL: [Carrier; 2] = [Carrier::Direct, Carrier::Bytes];
    /// Those that split the workers into ranks.
    pub const RANKS: [Carrier; 3] = [Carrier::Ranks(1), Carrier::Ranks(2), Carrier::Ranks(3)];

    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Carrier::Direct => "direct",
            Carrier::Bytes => "bytes",
            Carrier::Ranks(1) => "ranks-1",
            Carrier::Ranks(2) => "ranks-2",
            Carrier::Ranks(_) => "ranks-3",
        }
    }

    /// A link between `partitions`. Without a codec, [`Carrier::Bytes`] is [`Direct`].
    pub fn open<P>(self, codec: Option<Codec<P>>, partitions: usize, seed: u64) -> Link<P> {
        match (self, codec) {
            (Carrier::Bytes, Some(codec)) => Link::Bytes(Bytes::new(codec, (partitions, partitions), seed)),
            _ => {
                Link::Direct(Direct { partitions, queues: (0..partitions * partitions).map(|_| Vec::new()).collect() })
            }
        }
    }
}

/// Hands events over at the next exchange.
#[derive(Debug)]
pub struct Direct<P> {
    partitions: usize,
    /// By receiver, then sender.
    queues: Vec<Vec<Parcel<P>>>,
}

impl<P> Direct<P> {
    fn send(&mut self, from: usize, to: usize, parcel: Parcel<P>) {
        self.queues[to * self.partitions + from].push(parcel);
    }

    fn receive(&mut self, to: usize) -> Vec<Parcel<P>> {
        let begin = to * self.partitions;
        self.queues[begin..begin + self.partitions].iter_mut().flat_map(std::mem::take).collect()
    }

    fn least_in_flight(&self) -> Option<Instant> {
        self.queues.iter().flatten().map(|parcel| parcel.address().1.instant).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::event::{Body, Sender, TimerId};
    use parades_core::time::Time;

    fn event(sequence: u64) -> Event<Vec<u8>> {
        let instant = Instant { time: Time::from_ps(10 + sequence % 3), round: 7 };
        let key = EventKey { instant, tie: 3, sender: Sender::lp(LpId(5)), sequence };
        Event::new(key, LpId(9), Body::Message(vec![8; 20]))
    }

    #[test]
    fn bytes_keep_every_field_and_the_order_of_each_pair() {
        let mut transport = Carrier::Bytes.open(Some(Codec::<Vec<u8>>::postcard()), 2, 1);
        for sequence in 0..100 {
            transport.send(1, 0, Parcel::Event(event(sequence), 1000 + sequence));
            transport.send(1, 0, Parcel::Anti(LpId(9), event(sequence).key(), 1000 + sequence));
        }
        transport.send(1, 0, Parcel::Event(Event::new(event(0).key(), LpId(9), Body::Timer(TimerId(44))), 0));
        let (mut parcels, mut steps) = (Vec::new(), 0);
        while transport.least_in_flight().is_some() {
            parcels.extend(transport.receive(0));
            steps += 1;
        }
        assert!(steps > 1, "something was held back");
        assert!(matches!(&parcels[200], Parcel::Event(event, 0) if event.body == Body::Timer(TimerId(44))));
        for (i, pair) in (0..).zip(parcels[..200].chunks(2)) {
            let Parcel::Event(found, incarnation) = &pair[0] else { panic!("an event comes first") };
            assert_eq!((found.key(), found.receiver, &found.body), (event(i).key(), LpId(9), &event(i).body));
            assert_eq!(*incarnation, 1000 + i);
            assert!(matches!(pair[1], Parcel::Anti(LpId(9), key, n) if key == event(i).key() && n == 1000 + i));
        }
    }
}
