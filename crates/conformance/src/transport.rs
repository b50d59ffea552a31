//! How the partitioned test engines carry events between partitions.
//!
//! Both transports keep the order of each pair of partitions. [`Direct`] hands events over as they are; [`Bytes`] does what lies between
//! two processes: each event becomes bytes, may be held back for some exchange steps, and becomes an event again that shares no memory
//! with what was sent.

use parades_core::event::{Body, Event, EventKey, LpId, Sender, TimerId};
use parades_core::random::Rng;
use parades_core::time::{Instant, Time};
use parades_engine::time_warp::{Mark, Marked};
use parades_engine::transport::{ClockId, Clocks, Summary, Transport as Between};
use parades_sync::barrier::{Barrier, BarrierKind, Broken};
use parades_sync::event_count::EventCount;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

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

/// Carries parcels between partitions, those of each pair in order.
pub trait Transport<P> {
    /// Sends a parcel.
    fn send(&mut self, from: usize, to: usize, parcel: Parcel<P>);
    /// One exchange step: what arrives at a partition now.
    fn receive(&mut self, to: usize) -> Vec<Parcel<P>>;
    /// The least instant of what is still on its way.
    fn least_in_flight(&self) -> Option<Instant>;
}

/// Which transport a run uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// [`Direct`].
    Direct,
    /// [`Bytes`], where the model's messages can be written.
    Bytes,
}

impl Carrier {
    /// All of them.
    pub const ALL: [Carrier; 2] = [Carrier::Direct, Carrier::Bytes];

    /// The word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Carrier::Direct => "direct",
            Carrier::Bytes => "bytes",
        }
    }

    /// A transport between `partitions`. Without a codec, [`Carrier::Bytes`] is [`Direct`].
    pub fn open<P: 'static>(self, codec: Option<Codec<P>>, partitions: usize, seed: u64) -> Box<dyn Transport<P>> {
        let pairs = partitions * partitions;
        match (self, codec) {
            (Carrier::Bytes, Some(codec)) => {
                let queues = (0..pairs).map(|_| VecDeque::new()).collect();
                Box::new(Bytes { partitions, codec, queues, rng: Rng::shared(seed, 3) })
            }
            _ => Box::new(Direct { partitions, queues: (0..pairs).map(|_| Vec::new()).collect() }),
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

impl<P> Transport<P> for Direct<P> {
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

/// Carries bytes, and holds some back.
#[derive(Debug)]
pub struct Bytes<P> {
    /// Those that send.
    partitions: usize,
    codec: Codec<P>,
    /// By receiver, then sender.
    queues: Vec<VecDeque<Vec<u8>>>,
    rng: Rng,
}

/// The header: time, sequence, incarnation (8 bytes each), round, tie, sender, receiver, timer (4 each), kind (1).
const HEADER: usize = 3 * 8 + 5 * 4 + 1;
const MESSAGE: u8 = 0;
const TIMER: u8 = 1;
const ANTI: u8 = 2;

impl<P> Bytes<P> {
    fn write(&self, parcel: &Parcel<P>) -> Vec<u8> {
        let (receiver, key, incarnation) = parcel.address();
        let (kind, timer, body) = match parcel {
            Parcel::Anti(..) => (ANTI, 0, Vec::new()),
            Parcel::Event(event, _) => match &event.body {
                Body::Message(message) => (MESSAGE, 0, (self.codec.encode)(message)),
                Body::Timer(id) => (TIMER, id.0, Vec::new()),
            },
        };
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        for word in [key.instant.time.as_ps(), key.sequence, incarnation] {
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
        let (sequence, incarnation) = (long(bytes, 8), long(bytes, 16));
        let (tie, sender) = (short(bytes, 28), Sender::from_rank(short(bytes, 32)));
        let (receiver, timer) = (LpId(short(bytes, 36)), TimerId(short(bytes, 40)));
        let key = EventKey { instant, tie, sender, sequence };
        let body = match bytes[HEADER - 1] {
            ANTI => return Parcel::Anti(receiver, key, incarnation),
            TIMER => Body::Timer(timer),
            _ => Body::Message((self.codec.decode)(&bytes[HEADER..])),
        };
        Parcel::Event(Event::new(key, receiver, body), incarnation)
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn short(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// A conservative engine reads the time of what is in flight, and nothing else of it.
fn instant_of(bytes: &[u8]) -> Instant {
    Instant { time: Time::from_ps(long(bytes, 0)), round: short(bytes, 24) }
}

impl<P> Bytes<P> {
    /// Whether nothing is on its way to a partition.
    fn is_empty(&self, to: usize) -> bool {
        self.queues[to * self.partitions..][..self.partitions].iter().all(VecDeque::is_empty)
    }
}

impl<P> Transport<P> for Bytes<P> {
    fn send(&mut self, from: usize, to: usize, parcel: Parcel<P>) {
        let bytes = self.write(&parcel);
        self.queues[to * self.partitions + from].push_back(bytes);
    }

    fn receive(&mut self, to: usize) -> Vec<Parcel<P>> {
        let mut arrived = Vec::new();
        for from in 0..self.partitions {
            let pair = to * self.partitions + from;
            // Of each pair a quarter of the steps deliver nothing, a quarter a part, the others all.
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

    fn least_in_flight(&self) -> Option<Instant> {
        self.queues.iter().flatten().map(|bytes| instant_of(bytes)).min()
    }
}

/// [`Bytes`] between the threads of a real engine.
#[derive(Debug)]
pub struct HeldBack<P> {
    held: Mutex<Held<P>>,
    /// What each worker has told, and what all told at the last crossing.
    told: Mutex<Vec<Summary>>,
    /// What each worker has offered, by parity of the offer, and how many offers each has made.
    offers: Mutex<[Vec<Summary>; 2]>,
    offered: Mutex<Vec<u64>>,
    barrier: Box<dyn Barrier>,
    news: Vec<EventCount>,
}

/// What is on its way, by receiver, then sender.
#[derive(Debug)]
struct Held<P> {
    bytes: Bytes<P>,
    /// How many events have been sent.
    sent: Vec<usize>,
    /// Promises, each with the number of events that had been sent before it.
    promises: Vec<VecDeque<(usize, Promise)>>,
    /// By receiver: the worker that received last.
    receiving: Vec<usize>,
}

type Promise = (Arc<Clocks>, ClockId, Time);

impl<P> Held<P> {
    /// Sets the clocks whose promises arrive; whether there were any.
    fn keep_promises(&mut self, to: usize) -> bool {
        let mut any = false;
        for pair in self.pairs(to) {
            let arrived = self.sent[pair] - self.bytes.queues[pair].len();
            // None overtakes the events sent before it; some are held back longer.
            while self.promises[pair].front().is_some_and(|(after, _)| *after <= arrived) && self.bytes.rng.chance(0.7)
            {
                let (_, (clocks, clock, time)) = self.promises[pair].pop_front().expect("it was looked at");
                clocks.set(clock, time);
                any = true;
            }
        }
        any
    }

    fn pairs(&self, to: usize) -> std::ops::Range<usize> {
        to * self.bytes.partitions..(to + 1) * self.bytes.partitions
    }

    /// The least time of what is on its way to a partition of `worker`.
    fn least_for(&self, worker: usize) -> Time {
        let own = (0..self.receiving.len()).filter(|to| self.receiving[*to] == worker);
        let queues = own.flat_map(|to| self.pairs(to)).flat_map(|pair| &self.bytes.queues[pair]);
        queues.map(|bytes| instant_of(bytes).time).min().unwrap_or(Time::MAX)
    }

    /// Whether something is on its way to a partition of `worker`.
    fn has_for(&self, worker: usize) -> bool {
        let own = (0..self.receiving.len()).filter(|to| self.receiving[*to] == worker);
        own.flat_map(|to| self.pairs(to))
            .any(|pair| !self.bytes.queues[pair].is_empty() || !self.promises[pair].is_empty())
    }
}

impl<P: 'static> HeldBack<P> {
    /// Between `workers` threads, for `partitions` partitions.
    pub fn new(codec: Codec<P>, workers: usize, partitions: u32, seed: u64) -> HeldBack<P> {
        let pairs = partitions as usize * workers;
        let queues = (0..pairs).map(|_| VecDeque::new()).collect();
        let held = Held {
            bytes: Bytes { partitions: workers, codec, queues, rng: Rng::shared(seed, 3) },
            sent: vec![0; pairs],
            promises: (0..pairs).map(|_| VecDeque::new()).collect(),
            receiving: vec![0; partitions as usize],
        };
        HeldBack {
            held: Mutex::new(held),
            told: Mutex::new(vec![Summary::NOTHING; workers]),
            offers: Mutex::new([vec![Summary::NOTHING; workers], vec![Summary::NOTHING; workers]]),
            offered: Mutex::new(vec![0; workers]),
            barrier: BarrierKind::Posix.open(workers),
            news: (0..workers).map(|_| EventCount::new(workers)).collect(),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held<P>> {
        self.held.lock().expect("no worker panics while it holds this lock")
    }
}

/// [`HeldBack`] for an engine that takes things back.
#[derive(Debug)]
pub struct Speculative<P>(pub HeldBack<P>);

fn pack<P>(event: Event<Marked<P>>) -> Parcel<P> {
    let (key, receiver) = (event.key(), event.receiver);
    let Body::Message(marked) = event.body else { unreachable!("wakes travel as messages") };
    let mark = marked.mark();
    match marked.into_body() {
        Some(body) => Parcel::Event(Event::new(key, receiver, body), mark.into()),
        None => Parcel::Anti(receiver, key, mark.into()),
    }
}

fn unpack<P>(parcel: Parcel<P>) -> Event<Marked<P>> {
    let (receiver, key, incarnation) = parcel.address();
    let mark = Mark::try_from(incarnation).expect("it was made of one");
    let marked = match parcel {
        Parcel::Event(event, _) => Marked::new(mark, event.body),
        Parcel::Anti(..) => Marked::Anti(mark),
    };
    Event::new(key, receiver, Body::Message(marked))
}

impl<P: 'static + Send> HeldBack<P> {
    fn take_parcels(&self, worker: usize, partition: u32, parcels: impl Iterator<Item = Parcel<P>>) {
        let mut held = self.held();
        let pair = held.pairs(partition as usize).start + worker;
        for parcel in parcels {
            held.sent[pair] += 1;
            held.bytes.send(worker, partition as usize, parcel);
        }
    }

    fn give_parcels(&self, worker: usize, partition: u32, all: bool) -> Vec<Parcel<P>> {
        let to = partition as usize;
        let mut held = self.held();
        held.receiving[to] = worker;
        let mut arrived = Vec::new();
        loop {
            arrived.append(&mut held.bytes.receive(to));
            if !all || held.bytes.is_empty(to) {
                break;
            }
        }
        if all {
            // At a cut all clocks are set anew.
            held.pairs(to).for_each(|pair| held.promises[pair].clear());
        }
        if held.keep_promises(to) {
            self.news[worker].notify();
        }
        arrived
    }
}

impl<P: 'static + Send> Between<P> for HeldBack<P> {
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<P>>) {
        self.take_parcels(worker, partition, events.drain(..).map(|event| Parcel::Event(event, 0)));
    }

    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Event<P>)) {
        for parcel in self.give_parcels(worker, partition, all) {
            let Parcel::Event(event, _) = parcel else { unreachable!("a conservative engine takes nothing back") };
            accept(event);
        }
    }

    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.told.lock().expect("no worker panics while it holds this lock")[worker] = *mine;
        self.barrier.wait(worker)?;
        let told = self.told.lock().expect("as above").iter().copied().fold(Summary::NOTHING, Summary::and);
        let in_flight = self.held().bytes.least_in_flight().map_or(Time::MAX, |instant| instant.time);
        // Nobody sends or receives before all have looked.
        self.barrier.wait(worker)?;
        Ok(Summary { in_flight, ..told })
    }

    fn offer(&self, worker: usize, mine: &Summary) {
        let mut offered = self.offered.lock().expect("no worker panics while it holds this lock");
        let number = offered[worker];
        // Under the lock: nobody receives between the look and the offer.
        let in_flight = self.held().least_for(worker);
        self.offers.lock().expect("as above")[usize::from(number % 2 == 1)][worker] = Summary { in_flight, ..*mine };
        offered[worker] += 1;
        if offered.iter().all(|made| *made == number + 1) {
            self.news.iter().for_each(EventCount::notify);
        }
    }

    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.news[worker].check()?;
        let offered = self.offered.lock().expect("no worker panics while it holds this lock");
        let made = offered[worker];
        let offers = self.offers.lock().expect("as above");
        let all = offers[usize::from(made.is_multiple_of(2))].iter().copied().fold(Summary::NOTHING, Summary::and);
        Ok((made > 0 && offered.iter().all(|others| *others >= made)).then_some(all))
    }

    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        let mut held = self.held();
        let pair = held.pairs(clock.to as usize).start + worker;
        let after = held.sent[pair];
        held.promises[pair].push_back((after, (Arc::clone(clocks), clock, time)));
    }

    fn news(&self, worker: usize) -> u64 {
        self.news[worker].count()
    }

    fn notify(&self, worker: usize) {
        self.news[worker].notify();
    }

    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken> {
        if self.held().has_for(worker) {
            std::thread::yield_now();
            self.news[worker].notify();
        }
        self.news[worker].wait(seen)
    }

    fn break_up(&self) {
        self.barrier.break_up();
        self.news.iter().for_each(EventCount::break_up);
    }
}

impl<P: 'static + Send> Between<Marked<P>> for Speculative<P> {
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<Marked<P>>>) {
        self.0.take_parcels(worker, partition, events.drain(..).map(pack));
    }
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Event<Marked<P>>)) {
        self.0.give_parcels(worker, partition, all).into_iter().map(unpack).for_each(accept);
    }
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.0.exchange(worker, mine)
    }
    fn offer(&self, worker: usize, mine: &Summary) {
        self.0.offer(worker, mine);
    }
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.0.outcome(worker)
    }
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        self.0.promise(worker, clocks, clock, time);
    }
    fn news(&self, worker: usize) -> u64 {
        self.0.news(worker)
    }
    fn notify(&self, worker: usize) {
        self.0.notify(worker);
    }
    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken> {
        self.0.wait(worker, seen)
    }
    fn break_up(&self) {
        self.0.break_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
