//! Delayed bytes between the threads of a real engine.
//!
//! Promises are delayed too. A promise never overtakes an event that was sent before it.

use super::Parcel;
use super::bytes::{Bytes, instant_of};
use parades_core::any_model::{AnyWire, Form, parcel};
use parades_core::time::Time;
use parades_sync::barrier::{Barrier, BarrierKind, Broken};
use parades_sync::event_count::EventCount;
use parades_transport::{ClockId, Clocks, Conservative, Meeting, ParcelRef, Promising, Summary, Transport};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// [`Bytes`] between the threads of a real engine.
#[derive(Debug)]
pub struct HeldBack<'k> {
    held: Mutex<Held<'k>>,
    /// By worker: its summary for the exchange.
    summaries: Mutex<Vec<Summary>>,
    /// By parity of the offer, then by worker: the summary that it offered.
    offers: Mutex<[Vec<Summary>; 2]>,
    /// By worker: the number of its offers.
    offered: Mutex<Vec<u64>>,
    barrier: Box<dyn Barrier>,
    news: Vec<EventCount>,
    horizon: AtomicU64,
}

/// The events and promises in flight. Lists by pair have the receiver first, then the sender.
#[derive(Debug)]
struct Held<'k> {
    bytes: Bytes<'k>,
    /// By pair: the number of events that have been sent.
    sent: Vec<usize>,
    /// By pair: the promises in flight, each with the number of events that were sent before it.
    promises: Vec<VecDeque<(usize, Promise)>>,
    /// By receiver: the worker that received for it last.
    receiving: Vec<usize>,
}

type Promise = (Arc<Clocks>, ClockId, Time);

impl Held<'_> {
    /// Sets the clocks whose promises arrive. Returns true if any promise arrived.
    fn keep_promises(&mut self, to: usize) -> bool {
        let mut any = false;
        for pair in self.pairs(to) {
            let arrived = self.sent[pair] - self.bytes.queues[pair].len();
            // A promise waits for the events that were sent before it, and some promises wait longer.
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

    /// Returns the least time of the events in flight to a partition of `worker`.
    fn least_for(&self, worker: usize) -> Time {
        let own = (0..self.receiving.len()).filter(|to| self.receiving[*to] == worker);
        let queues = own.flat_map(|to| self.pairs(to)).flat_map(|pair| &self.bytes.queues[pair]);
        queues.map(|bytes| instant_of(bytes).time).min().unwrap_or(Time::MAX)
    }

    /// True if an event or a promise is in flight to a partition of `worker`.
    fn has_for(&self, worker: usize) -> bool {
        let own = (0..self.receiving.len()).filter(|to| self.receiving[*to] == worker);
        own.flat_map(|to| self.pairs(to))
            .any(|pair| !self.bytes.queues[pair].is_empty() || !self.promises[pair].is_empty())
    }
}

impl<'k> HeldBack<'k> {
    /// Returns a transport between `workers` threads, for `partitions` partitions.
    pub fn new(codec: &'k dyn AnyWire<'k>, workers: usize, partitions: u32, seed: u64) -> HeldBack<'k> {
        let pairs = partitions as usize * workers;
        let held = Held {
            bytes: Bytes::new(codec, workers, partitions as usize, seed),
            sent: vec![0; pairs],
            promises: (0..pairs).map(|_| VecDeque::new()).collect(),
            receiving: vec![0; partitions as usize],
        };
        HeldBack {
            held: Mutex::new(held),
            summaries: Mutex::new(vec![Summary::NOTHING; workers]),
            offers: Mutex::new([vec![Summary::NOTHING; workers], vec![Summary::NOTHING; workers]]),
            offered: Mutex::new(vec![0; workers]),
            barrier: BarrierKind::Posix.open(workers),
            news: (0..workers).map(|_| EventCount::new(workers)).collect(),
            horizon: AtomicU64::new(0),
        }
    }

    /// Returns the form of the messages.
    pub(super) fn form(&self) -> Form {
        self.held().bytes.form()
    }

    fn held(&self) -> MutexGuard<'_, Held<'k>> {
        self.held.lock().expect("no worker panics while it holds this lock")
    }
}

impl<'k> HeldBack<'k> {
    /// Sends parcels from a worker to a partition.
    pub(super) fn send_parcels(&self, worker: usize, partition: u32, parcels: impl Iterator<Item = Parcel<'k>>) {
        let mut held = self.held();
        let pair = held.pairs(partition as usize).start + worker;
        for parcel in parcels {
            held.sent[pair] += 1;
            held.bytes.send(worker, partition as usize, parcel);
        }
    }

    /// Returns the parcels that have arrived for a partition. With `all`, every parcel in flight arrives.
    pub(super) fn receive_parcels(&self, worker: usize, partition: u32, all: bool) -> Vec<Parcel<'k>> {
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
            // All is requested at a cut only, where the engine sets all clocks again.
            held.pairs(to).for_each(|pair| held.promises[pair].clear());
        }
        if held.keep_promises(to) {
            self.news[worker].notify();
        }
        arrived
    }
}

impl<'k> Transport<'k, Conservative> for HeldBack<'k> {
    fn send(&self, worker: usize, partition: u32, events: ParcelRef<'_, 'k, Conservative>) {
        let events = parcel::take_events(events).into_iter().map(|event| Parcel::Event(event, 0));
        self.send_parcels(worker, partition, events);
    }

    fn receive(
        &self,
        worker: usize,
        partition: u32,
        all: bool,
        accept: &mut dyn FnMut(ParcelRef<'_, 'k, Conservative>),
    ) {
        let event_of = |parcel| match parcel {
            Parcel::Event(event, _) => event,
            Parcel::Anti(..) => unreachable!("a conservative engine sends no anti-messages"),
        };
        let events = self.receive_parcels(worker, partition, all).into_iter().map(event_of).collect();
        accept(parcel::of_events(self.form(), events).hide());
    }
}

impl Meeting for HeldBack<'_> {
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.summaries.lock().expect("no worker panics while it holds this lock")[worker] = *mine;
        self.barrier.wait(worker)?;
        let all = self.summaries.lock().expect("as above").iter().copied().fold(Summary::NOTHING, Summary::and);
        let in_flight = self.held().bytes.least_in_flight().map_or(Time::MAX, |instant| instant.time);
        // No worker sends or receives before all workers have read the time.
        self.barrier.wait(worker)?;
        Ok(Summary { in_flight, ..all })
    }

    fn offer(&self, worker: usize, mine: &Summary) {
        let mut offered = self.offered.lock().expect("no worker panics while it holds this lock");
        let number = offered[worker];
        // This happens under the lock, so no worker receives between reading the time and the offer.
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

impl<'k> Promising<'k> for HeldBack<'k> {
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        let mut held = self.held();
        let pair = held.pairs(clock.to as usize).start + worker;
        let after = held.sent[pair];
        held.promises[pair].push_back((after, (Arc::clone(clocks), clock, time)));
    }

    fn horizon(&self) -> Time {
        Time::from_ps(self.horizon.load(Ordering::SeqCst))
    }

    fn set_horizon(&self, time: Time) {
        self.horizon.store(time.as_ps(), Ordering::SeqCst);
    }

    fn lower_horizon(&self, _: usize, time: Time) {
        self.horizon.fetch_min(time.as_ps(), Ordering::SeqCst);
    }
}
