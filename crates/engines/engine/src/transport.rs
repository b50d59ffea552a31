//! The transport between workers: sending to a partition, exchanging summaries, reductions without waiting.
//!
//! The parallel engines are written over [`Transport`]. So no algorithm needs a second copy for another
//! carrier of events.

mod clocks;

pub use clocks::{ClockId, Clocks};

use crate::stopwatch::Timekeeper;
use crate::workers::lock;
use parades_core::event::Event;
use parades_core::time::Time;
use parades_core::timesheet::{Spent, Timesheets};
use parades_raw::prefetch::{prefetch, prefetch_for_write};
use parades_sync::barrier::{Barrier, BarrierKind, Broken};
use parades_sync::event_count::EventCount;
use parades_sync::reduction::{Reduction, Slots};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What a worker reports to the others at an exchange. Also the reports of all workers, combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// A lower bound on the times of pending events and of events sent.
    pub next: Time,
    /// A lower bound on the rounds of those of these events that are at time `next`.
    pub round: u32,
    /// A lower bound on the times of events that the transport still holds back.
    pub in_flight: Time,
    /// The time of the earliest execution that failed.
    pub failed: Time,
    /// The earliest time of a global event requested by an execution that may still be rolled back.
    pub requested: Time,
    /// The number of events executed so far.
    pub events: u64,
    /// The number of executions rolled back so far.
    pub rolled_back: u64,
    /// The number of events committed so far.
    pub committed: u64,
    /// Bytes taken by pending events and by the history, if the engine keeps one.
    pub bytes: u64,
    /// True if a worker wants a cut: some work needs every LP at rest.
    pub wants_cut: bool,
}

impl Summary {
    /// The summary of a worker with nothing to report.
    pub const NOTHING: Summary = Summary {
        next: Time::MAX,
        round: u32::MAX,
        in_flight: Time::MAX,
        failed: Time::MAX,
        requested: Time::MAX,
        events: 0,
        rolled_back: 0,
        committed: 0,
        bytes: 0,
        wants_cut: false,
    };

    /// Combines two summaries: the minimum of each bound, the sum of each count.
    #[must_use]
    pub fn and(self, other: Summary) -> Summary {
        let (next, round) = (self.next, self.round).min((other.next, other.round));
        Summary {
            next,
            round,
            in_flight: self.in_flight.min(other.in_flight),
            failed: self.failed.min(other.failed),
            requested: self.requested.min(other.requested),
            events: self.events + other.events,
            rolled_back: self.rolled_back + other.rolled_back,
            committed: self.committed + other.committed,
            bytes: self.bytes + other.bytes,
            wants_cut: self.wants_cut || other.wants_cut,
        }
    }
}

/// Carries events between the workers of a run.
pub trait Transport<P>: Sync {
    /// Delivers the events that `worker` sent to `partition`, and leaves `events` empty.
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<P>>);

    /// Prefetches the memory for sending to the partitions `receivers` and for receiving. A hint, given
    /// shortly before. Partition *n* is worker *n*'s own.
    fn prefetch_inboxes(&self, worker: usize, receivers: &mut dyn Iterator<Item = u32>) {
        let _ = (worker, receivers);
    }

    /// Passes the events that have arrived for `partition` to `accept`, list by list.
    /// If `all` is set, this includes events that the transport would hold back for longer.
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Arrived<'_, P>));

    /// Waits for all other workers, and returns the combined summary, the same for all.
    /// Everything sent before the exchange has then arrived or is in flight.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed.
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken>;

    /// Reports a summary without waiting for the other workers. A worker must not offer again before it has
    /// the [`Transport::outcome`] of its last offer. Events that the transport still holds back from
    /// `worker` count as in flight.
    fn offer(&self, worker: usize, mine: &Summary);

    /// Returns the combined summary once the last worker has made its offer; it is the same for all workers.
    /// The last worker to make its offer notifies the others.
    ///
    /// Consider the events that a worker sent before its previous offer. By now each has arrived or counts
    /// as in flight.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed. A worker that never waits would not learn of the failure elsewhere.
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken>;

    /// Sets a clock after everything that `worker` sent before has been received. Engines without promises
    /// never call it.
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time);

    /// Returns the number of notifications for `worker` so far.
    fn news(&self, worker: usize) -> u64;

    /// Notifies `worker`: a clock that it reads may have changed.
    fn notify(&self, worker: usize);

    /// Waits until `worker` has more than `seen` notifications. May return too early.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed.
    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken>;

    /// Returns the bytes of this process's memory that are allocated for events on their way to `worker`.
    fn allocated_bytes(&self, worker: usize) -> usize {
        let _ = worker;
        0
    }

    /// Frees the part of that memory that is not in use.
    fn shrink(&self, worker: usize) {
        let _ = worker;
    }

    /// Releases all waiting workers with an error, because a worker has failed.
    fn break_up(&self);
}

/// Events that have arrived together. They still lie in the cache of the core that sent them.
/// So each event is prefetched some events before it is taken.
#[derive(Debug)]
pub struct Arrived<'a, P>(std::vec::Drain<'a, Event<P>>);

impl<P> Arrived<'_, P> {
    /// Takes all events of a list, which is empty afterwards.
    pub fn of(list: &mut Vec<Event<P>>) -> Arrived<'_, P> {
        list.iter().take(EVENTS_AHEAD).for_each(prefetch);
        Arrived(list.drain(..))
    }

    /// Returns true if no event is left.
    pub fn is_empty(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

impl<P> Iterator for Arrived<'_, P> {
    type Item = Event<P>;

    #[inline(always)]
    fn next(&mut self) -> Option<Event<P>> {
        if let Some(ahead) = self.0.as_slice().get(EVENTS_AHEAD) {
            prefetch(ahead);
        }
        self.0.next()
    }
}

/// A value on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

/// The number of words that encode a summary.
const WORDS: usize = 8;

/// Encodes a summary in words. Between threads no event is in flight.
fn to_words(mine: &Summary) -> [u64; WORDS] {
    let Summary { next, round, in_flight: _, failed, requested, events, rolled_back, committed, bytes, wants_cut } =
        *mine;
    let round_and_wish = u64::from(round) << 1 | u64::from(wants_cut);
    [next.as_ps(), round_and_wish, failed.as_ps(), requested.as_ps(), events, rolled_back, committed, bytes]
}

/// Decodes a summary.
fn from_words(words: [u64; WORDS]) -> Summary {
    let [next, round_and_wish, failed, requested, events, rolled_back, committed, bytes] = words;
    Summary {
        next: Time::from_ps(next),
        round: u32::try_from(round_and_wish >> 1).expect("it was encoded from 32 bits"),
        in_flight: Time::MAX,
        failed: Time::from_ps(failed),
        requested: Time::from_ps(requested),
        events,
        rolled_back,
        committed,
        bytes,
        wants_cut: round_and_wish & 1 != 0,
    }
}

/// Combines the encoded summaries of all workers.
fn combine(reports: impl Iterator<Item = [u64; WORDS]>) -> Summary {
    reports.map(from_words).fold(Summary::NOTHING, Summary::and)
}

/// Lists of events.
type Lists<P> = Vec<Vec<Event<P>>>;

/// The events that were sent to a partition and not received yet.
#[derive(Debug)]
struct Inbox<P> {
    /// The first list. It lies on the cache line of the lock, and is mostly the only list.
    first: Vec<Event<P>>,
    more: Lists<P>,
}

impl<P> Default for Inbox<P> {
    fn default() -> Inbox<P> {
        Inbox { first: Vec::new(), more: Vec::new() }
    }
}

/// The transport between threads of one process. Events change owner: they are neither copied nor delayed.
#[derive(Debug)]
pub struct Threads<P> {
    /// By partition: the lists of events as they were sent.
    inboxes: Vec<Padded<Mutex<Inbox<P>>>>,
    /// By parity of the exchange, then by worker. The slots of one parity are read while those of the other
    /// are written.
    slots: [Slots<WORDS>; 2],
    /// By worker: the number of exchanges that it has entered.
    exchanges: Vec<Padded<AtomicU64>>,
    offers: Reduction<WORDS>,
    /// By worker: empty lists, which are filled again.
    spare: Vec<Padded<Mutex<Lists<P>>>>,
    /// By worker: its notifications.
    news: Vec<EventCount>,
    barrier: Box<dyn Barrier>,
    timekeeper: Timekeeper,
}

/// The distance, in events, at which an event is prefetched from the core that sent it.
const EVENTS_AHEAD: usize = 40;

/// The most empty lists that a worker keeps.
const SPARE_MAX: usize = 1 << 10;

impl<P> Threads<P> {
    /// Connects `workers` threads, for `partitions` partitions.
    pub fn new(workers: usize, partitions: u32, barrier: BarrierKind) -> Threads<P> {
        fn many<T: Default>(n: usize) -> Vec<Padded<T>> {
            std::iter::repeat_with(Padded::default).take(n).collect()
        }
        Threads {
            inboxes: many(partitions as usize),
            slots: [Slots::new(workers), Slots::new(workers)],
            exchanges: many(workers),
            offers: Reduction::new(workers),
            spare: many(workers),
            news: (0..workers).map(|_| EventCount::new(workers)).collect(),
            barrier: barrier.open(workers),
            timekeeper: Timekeeper::default(),
        }
    }

    /// Records the time that workers wait, and the time that they receive events, in `timesheets` if there
    /// are any.
    #[must_use]
    pub fn timed(self, timesheets: Option<Arc<Timesheets>>) -> Threads<P> {
        Threads { timekeeper: Timekeeper::of(timesheets), ..self }
    }

    /// Passes the events that have arrived for a partition to `accept`.
    fn take_inbox(&self, worker: usize, partition: u32, accept: &mut dyn FnMut(Arrived<'_, P>)) {
        let Inbox { mut first, mut more } = std::mem::take(&mut *lock(&self.inboxes[partition as usize].0));
        if first.is_empty() {
            return;
        }
        for list in std::iter::once(&mut first).chain(&mut more) {
            accept(Arrived::of(list));
        }
        let mut spare = lock(&self.spare[worker].0);
        if spare.len() < SPARE_MAX {
            spare.push(first);
            spare.append(&mut more);
        }
    }
}

impl<P: Send> Transport<P> for Threads<P> {
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<P>>) {
        let empty = lock(&self.spare[worker].0).pop().unwrap_or_default();
        let events = std::mem::replace(events, empty);
        let mut inbox = lock(&self.inboxes[partition as usize].0);
        if inbox.first.is_empty() { inbox.first = events } else { inbox.more.push(events) }
    }

    fn prefetch_inboxes(&self, worker: usize, receivers: &mut dyn Iterator<Item = u32>) {
        prefetch_for_write(&self.inboxes[worker].0);
        prefetch(&self.news[worker]);
        for to in receivers.map(|to| to as usize) {
            prefetch_for_write(&self.inboxes[to].0);
            prefetch_for_write(&self.news[to]);
        }
    }

    fn receive(&self, worker: usize, partition: u32, _: bool, accept: &mut dyn FnMut(Arrived<'_, P>)) {
        self.timekeeper.spend(worker, Spent::Exchange, || self.take_inbox(worker, partition, accept));
    }

    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        // Ordering: Relaxed throughout. The barrier makes stores before it visible after it. A worker that
        // runs ahead writes the slots of the other parity. It returns to these slots only after all have
        // entered the next exchange.
        let exchange = self.exchanges[worker].0.fetch_add(1, Ordering::Relaxed);
        let slots = &self.slots[usize::from(exchange % 2 == 1)];
        slots.write(worker, to_words(mine));
        self.timekeeper.spend(worker, Spent::Waiting, || self.barrier.wait(worker))?;
        Ok(combine(slots.read_all()))
    }

    fn offer(&self, worker: usize, mine: &Summary) {
        if self.offers.offer(worker, to_words(mine)) {
            let others = (0..self.news.len()).filter(|&other| other != worker);
            others.for_each(|other| self.news[other].notify());
        }
    }

    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.news[worker].check()?;
        Ok(self.offers.outcome(worker).map(combine))
    }

    fn promise(&self, _: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        clocks.set(clock, time);
    }

    fn news(&self, worker: usize) -> u64 {
        self.news[worker].count()
    }

    fn notify(&self, worker: usize) {
        self.news[worker].notify();
    }

    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken> {
        self.timekeeper.spend(worker, Spent::Waiting, || self.news[worker].wait(seen))
    }

    fn allocated_bytes(&self, worker: usize) -> usize {
        let spare: usize = lock(&self.spare[worker].0).iter().map(Vec::capacity).sum();
        let arrived = self.inboxes.get(worker).map_or(0, |inbox| {
            let Inbox { first, more } = &*lock(&inbox.0);
            first.capacity() + more.iter().map(Vec::capacity).sum::<usize>()
        });
        (spare + arrived) * size_of::<Event<P>>()
    }

    fn shrink(&self, worker: usize) {
        lock(&self.spare[worker].0).clear();
    }

    fn break_up(&self) {
        self.barrier.break_up();
        self.news.iter().for_each(EventCount::break_up);
    }
}
