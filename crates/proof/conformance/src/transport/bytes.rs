//! Parcels as bytes, as between two processes: written, delayed at random, and read.

use super::{Codec, Parcel};
use parades_core::event::{Body, Event, EventKey, LpId, Sender, TimerId};
use parades_core::random::Rng;
use parades_core::time::{Instant, Time};
use std::collections::VecDeque;

/// Carries bytes, and delays some.
#[derive(Debug)]
pub struct Bytes<P> {
    /// The number of senders.
    pub(super) partitions: usize,
    codec: Codec<P>,
    /// By receiver, then sender.
    pub(super) queues: Vec<VecDeque<Vec<u8>>>,
    pub(super) rng: Rng,
}

impl<P> Bytes<P> {
    /// Returns the path from `from` senders to `to` receivers.
    pub(super) fn new(codec: Codec<P>, (from, to): (usize, usize), seed: u64) -> Bytes<P> {
        let queues = (0..from * to).map(|_| VecDeque::new()).collect();
        Bytes { partitions: from, codec, queues, rng: Rng::shared(seed, 3) }
    }
}

/// The length of the header: time, sequence and execution id have 8 bytes each; round, tie, sender, receiver
/// and timer have 4 bytes each; the kind has 1 byte.
const HEADER: usize = 3 * 8 + 5 * 4 + 1;
const MESSAGE: u8 = 0;
const TIMER: u8 = 1;
const ANTI: u8 = 2;

impl<P> Bytes<P> {
    fn write(&self, parcel: &Parcel<P>) -> Vec<u8> {
        let (receiver, key, execution) = parcel.address();
        let (kind, timer, body) = match parcel {
            Parcel::Anti(..) => (ANTI, 0, Vec::new()),
            Parcel::Event(event, _) => match &event.body {
                Body::Message(message) => (MESSAGE, 0, (self.codec.encode)(message)),
                Body::Timer(id) => (TIMER, id.0, Vec::new()),
            },
        };
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        for word in [key.instant.time.as_ps(), key.sequence, execution] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [key.instant.round, key.tie, key.sender.rank(), receiver.0, timer] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.push(kind);
        bytes.extend(body);
        bytes
    }

    fn read(&self, bytes: &[u8]) -> Parcel<P> {
        let instant = instant_of(bytes);
        let (sequence, execution) = (long(bytes, 8), long(bytes, 16));
        let (tie, sender) = (short(bytes, 28), Sender::from_rank(short(bytes, 32)));
        let (receiver, timer) = (LpId(short(bytes, 36)), TimerId(short(bytes, 40)));
        let key = EventKey { instant, tie, sender, sequence };
        let body = match bytes[HEADER - 1] {
            ANTI => return Parcel::Anti(receiver, key, execution),
            TIMER => Body::Timer(timer),
            _ => Body::Message((self.codec.decode)(&bytes[HEADER..])),
        };
        Parcel::Event(Event::new(key, receiver, body), execution)
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn short(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Returns the instant of a parcel. A conservative engine needs nothing else of the parcels in flight.
pub(super) fn instant_of(bytes: &[u8]) -> Instant {
    Instant { time: Time::from_ps(long(bytes, 0)), round: short(bytes, 24) }
}

impl<P> Bytes<P> {
    /// True if no parcel is in flight to a partition.
    pub(super) fn is_empty(&self, to: usize) -> bool {
        self.queues[to * self.partitions..][..self.partitions].iter().all(VecDeque::is_empty)
    }
}

impl<P> Bytes<P> {
    /// Sends a parcel.
    pub(super) fn send(&mut self, from: usize, to: usize, parcel: &Parcel<P>) {
        let bytes = self.write(parcel);
        self.queues[to * self.partitions + from].push_back(bytes);
    }

    /// Returns the parcels that arrive at a partition at this exchange.
    pub(super) fn receive(&mut self, to: usize) -> Vec<Parcel<P>> {
        let mut arrived = Vec::new();
        for from in 0..self.partitions {
            let pair = to * self.partitions + from;
            // For each sender, an exchange delivers nothing with probability 1/4, half of the parcels with
            // probability 1/4, and all otherwise.
            let waiting = self.queues[pair].len();
            let delivered = match self.rng.below(4) {
                0 => 0,
                1 => waiting.div_ceil(2),
                _ => waiting,
            };
            for bytes in self.queues[pair].drain(..delivered).collect::<Vec<_>>() {
                arrived.push(self.read(&bytes));
            }
        }
        arrived
    }

    /// Returns the least instant of the parcels in flight.
    pub(super) fn least_in_flight(&self) -> Option<Instant> {
        self.queues.iter().flatten().map(|bytes| instant_of(bytes)).min()
    }
}
