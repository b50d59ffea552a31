//! Parcels as bytes, as between two processes: written, delayed at random, and read.

use super::Parcel;
use parades_core::any_model::{AnyWire, Form, parcel};
use parades_core::event::{EventKey, LpId, Sender};
use parades_core::random::Rng;
use parades_core::time::{Instant, Time};
use parades_core::wire::{self, Destination, FrameWriter, Room};
use std::collections::VecDeque;

/// Carries bytes, and delays some.
#[derive(Debug)]
pub struct Bytes<'k> {
    /// The number of senders.
    pub(super) partitions: usize,
    codec: &'k dyn AnyWire<'k>,
    /// By receiver, then sender.
    pub(super) queues: Vec<VecDeque<Vec<u8>>>,
    pub(super) rng: Rng,
}

impl<'k> Bytes<'k> {
    /// Returns the path from `from` senders to `to` receivers.
    pub(super) fn new(codec: &'k dyn AnyWire<'k>, from: usize, to: usize, seed: u64) -> Bytes<'k> {
        let queues = (0..from * to).map(|_| VecDeque::new()).collect();
        Bytes { partitions: from, codec, queues, rng: Rng::shared(seed, 3) }
    }

    /// Returns the form of the messages.
    pub(super) fn form(&self) -> Form {
        self.codec.form()
    }
}

/// The length of the header: time, sequence and execution id have 8 bytes each; round, tie, sender and
/// receiver have 4 bytes each; the kind has 1 byte. The event follows, unless this is an anti-message.
const HEADER: usize = 3 * 8 + 4 * 4 + 1;
const EVENT: u8 = 0;
const ANTI: u8 = 1;

impl<'k> Bytes<'k> {
    fn write(&self, parcel: Parcel<'k>) -> Vec<u8> {
        let (receiver, key, execution) = parcel.address();
        let mut bytes = Vec::with_capacity(HEADER);
        for word in [key.instant.time.as_ps(), key.sequence, execution] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [key.instant.round, key.tie, key.sender.rank(), receiver.0] {
            bytes.extend(word.to_le_bytes());
        }
        match parcel {
            Parcel::Anti(..) => bytes.push(ANTI),
            Parcel::Event(event, _) => {
                bytes.push(EVENT);
                let mut list = parcel::of_events(self.form(), vec![event]);
                let mut frame = FrameWriter::new(Destination::Elsewhere);
                let write = |room: &mut Room<'_>| self.codec.write(list.hide(), 0..1, usize::MAX, room);
                frame.within(|| Room::behind(&mut bytes, write));
            }
        }
        bytes
    }

    fn read(&self, bytes: &[u8]) -> Parcel<'k> {
        let execution = long(bytes, 16);
        if bytes[HEADER - 1] == ANTI {
            let (sender, receiver) = (Sender::from_rank(short(bytes, 32)), LpId(short(bytes, 36)));
            let key = EventKey { instant: instant_of(bytes), tie: short(bytes, 28), sender, sequence: long(bytes, 8) };
            return Parcel::Anti(receiver, key, execution);
        }
        let mut list =
            wire::read_frame(|| self.codec.read(1, &mut &bytes[HEADER..])).expect("what was written can be read");
        let event = parcel::take_events(list.hide()).pop().expect("one was written");
        Parcel::Event(event, execution)
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

impl Bytes<'_> {
    /// Returns the least instant of the parcels in flight.
    pub(super) fn least_in_flight(&self) -> Option<Instant> {
        self.queues.iter().flatten().map(|bytes| instant_of(bytes)).min()
    }

    /// True if no parcel is in flight to a partition.
    pub(super) fn is_empty(&self, to: usize) -> bool {
        self.queues[to * self.partitions..][..self.partitions].iter().all(VecDeque::is_empty)
    }
}

impl<'k> Bytes<'k> {
    /// Sends a parcel.
    pub(super) fn send(&mut self, from: usize, to: usize, parcel: Parcel<'k>) {
        let bytes = self.write(parcel);
        self.queues[to * self.partitions + from].push_back(bytes);
    }

    /// Returns the parcels that arrive at a partition at this exchange.
    pub(super) fn receive(&mut self, to: usize) -> Vec<Parcel<'k>> {
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
}
