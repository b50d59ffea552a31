//! How workers reach each other: send to a partition, exchange, reduce.
//!
//! The conservative engines are written over [`Transport`], so that threads, and whatever else carries events, need no second copy of an
//! algorithm.

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

/// What a worker tells the others at an exchange, and what all of them together have told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// No event that waits or was sent is before it.
    pub next: Time,
    /// Nor, at that time, in a lesser round.
    pub round: u32,
    /// No event that the transport still holds back is before it.
    pub in_flight: Time,
    /// When the first execution that failed was.
    pub failed: Time,
    /// The least time for which a global event has been asked for by an execution that may yet be taken back.
    pub asked: Time,
    /// Events executed so far.
    pub events: u64,
    /// Events executed and taken back so far.
    pub undone: u64,
    /// Events executed so far that can no longer be taken back.
    pub committed: u64,
    /// Bytes taken by pending events, and by history where there is one.
    pub bytes: u64,
    /// Whether there is something to do that needs every LP at rest.
    pub rest: bool,
}

impl Summary {
    /// What a worker with nothing to tell tells.
    pub const NOTHING: Summary = Summary {
        next: Time::MAX,
        round: u32::MAX,
        in_flight: Time::MAX,
        failed: Time::MAX,
        asked: Time::MAX,
        events: 0,
        undone: 0,
        committed: 0,
        bytes: 0,
        rest: false,
    };

    /// Both together.
    #[must_use]
    pub fn and(self, other: Summary) -> Summary {
        let (next, round) = (self.next, self.round).min((other.next, other.round));
        Summary {
            next,
            round,
            in_flight: self.in_flight.min(other.in_flight),
            failed: self.failed.min(other.failed),
            asked: self.asked.min(other.asked),
            events: self.events + other.events,
            undone: self.undone + other.undone,
            committed: self.committed + other.committed,
            bytes: self.bytes + other.bytes,
            rest: self.rest || other.rest,
        }
    }
}

/// Carries events between the workers of a run.
pub trait Transport<P>: Sync {
    /// Hands over what `worker` sent to `partition`, and leaves `events` empty.
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<P>>);

    /// Hints that `worker` will soon send to the partitions of `others` and receive for its own; each worker's partition has its number.
    fn approach(&self, worker: usize, others: &mut dyn Iterator<Item = u32>) {
        let _ = (worker, others);
    }

    /// Gives `accept` what has arrived for `partition`, list by list; with `all`, also what would have been held back.
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Arrived<'_, P>));

    /// Meets all other workers: what each has sent before is on its way to arrive. All get the same.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed.
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken>;

    /// Tells the others without waiting for them, and not before the worker has the [`Transport::outcome`] of what it told so the last time. Events that
    /// are still held back from it count as in flight.
    fn offer(&self, worker: usize, mine: &Summary);

    /// What all together have offered, once the last has, who notifies the others: the same for all. By then all that each had sent before it made its
    /// offer before this one has arrived, or counts as in flight.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed, since who never waits would not hear of it elsewhere.
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken>;

    /// Sets a clock, once all that `worker` sent before has been received; engines without promises never call it.
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time);

    /// How often there has been news for `worker`.
    fn news(&self, worker: usize) -> u64;

    /// Tells `worker` that there is news for it: it may look at clocks again.
    fn notify(&self, worker: usize);

    /// Waits until there has been news for `worker` that it has not `seen`; it may come back too early.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed.
    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken>;

    /// Bytes of memory that hold what is on its way to `worker`, or held such, where that is the memory of this process.
    fn allocated_bytes(&self, worker: usize) -> usize {
        let _ = worker;
        0
    }

    /// Gives back what of it is not needed now.
    fn shrink(&self, worker: usize) {
        let _ = worker;
    }

    /// Lets nobody wait any longer: a worker has failed.
    fn break_up(&self);
}

/// Events that have arrived together. They lie in the cache of the core that sent them, from where each is fetched some time before its turn.
#[derive(Debug)]
pub struct Arrived<'a, P>(std::vec::Drain<'a, Event<P>>);

impl<P> Arrived<'_, P> {
    /// All events of a list, which is empty afterwards.
    pub fn of(list: &mut Vec<Event<P>>) -> Arrived<'_, P> {
        list.iter().take(EVENTS_AHEAD).for_each(prefetch);
        Arrived(list.drain(..))
    }

    /// Whether there are none, or all have been taken.
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

/// Something on cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Apart<T>(T);

/// Words that say what a worker tells.
const WORDS: usize = 8;

/// A summary in words. Nothing is in flight between threads.
fn to_words(mine: &Summary) -> [u64; WORDS] {
    let Summary { next, round, in_flight: _, failed, asked, events, undone, committed, bytes, rest } = *mine;
    let round_and_rest = u64::from(round) << 1 | u64::from(rest);
    [next.as_ps(), round_and_rest, failed.as_ps(), asked.as_ps(), events, undone, committed, bytes]
}

fn of_words(words: [u64; WORDS]) -> Summary {
    let [next, round_and_rest, failed, asked, events, undone, committed, bytes] = words;
    Summary {
        next: Time::from_ps(next),
        round: u32::try_from(round_and_rest >> 1).expect("it was one"),
        in_flight: Time::MAX,
        failed: Time::from_ps(failed),
        asked: Time::from_ps(asked),
        events,
        undone,
        committed,
        bytes,
        rest: round_and_rest & 1 != 0,
    }
}

/// What all have told together.
fn together(told: impl Iterator<Item = [u64; WORDS]>) -> Summary {
    told.map(of_words).fold(Summary::NOTHING, Summary::and)
}

/// Lists of events.
type Lists<P> = Vec<Vec<Event<P>>>;

/// What has been sent to a partition and not been taken in yet.
#[derive(Debug)]
struct Inbox<P> {
    /// The first list, which lies on the line of the lock and mostly is the only one.
    first: Vec<Event<P>>,
    more: Lists<P>,
}

impl<P> Default for Inbox<P> {
    fn default() -> Inbox<P> {
        Inbox { first: Vec::new(), more: Vec::new() }
    }
}

/// The workers are threads of one process. Events change hands; they are neither copied nor delayed.
#[derive(Debug)]
pub struct Threads<P> {
    /// By partition: lists as they were sent.
    inboxes: Vec<Apart<Mutex<Inbox<P>>>>,
    /// By parity of the crossing, then worker: one is read while the other is written.
    slots: [Slots<WORDS>; 2],
    /// How many crossings each worker has made.
    crossings: Vec<Apart<AtomicU64>>,
    offers: Reduction<WORDS>,
    /// Empty lists of each worker, to be filled again.
    spare: Vec<Apart<Mutex<Lists<P>>>>,
    /// By worker.
    news: Vec<EventCount>,
    barrier: Box<dyn Barrier>,
    timekeeper: Timekeeper,
}

/// How many events ahead of its turn an event is fetched from the core that sent it.
const EVENTS_AHEAD: usize = 40;

/// Empty lists that a worker keeps, at most.
const SPARE_MAX: usize = 1 << 10;

impl<P> Threads<P> {
    /// Between `workers` threads, for `partitions` partitions.
    pub fn new(workers: usize, partitions: u32, barrier: BarrierKind) -> Threads<P> {
        fn many<T: Default>(n: usize) -> Vec<Apart<T>> {
            std::iter::repeat_with(Apart::default).take(n).collect()
        }
        Threads {
            inboxes: many(partitions as usize),
            slots: [Slots::new(workers), Slots::new(workers)],
            crossings: many(workers),
            offers: Reduction::new(workers),
            spare: many(workers),
            news: (0..workers).map(|_| EventCount::new(workers)).collect(),
            barrier: barrier.open(workers),
            timekeeper: Timekeeper::default(),
        }
    }

    /// As it is, but where there are timesheets, it writes down from now on how long workers wait and how long they take events in.
    #[must_use]
    pub fn timed(self, timesheets: Option<Arc<Timesheets>>) -> Threads<P> {
        Threads { timekeeper: Timekeeper::of(timesheets), ..self }
    }

    /// Takes in what has arrived for a partition.
    fn take(&self, worker: usize, partition: u32, accept: &mut dyn FnMut(Arrived<'_, P>)) {
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

    fn approach(&self, worker: usize, others: &mut dyn Iterator<Item = u32>) {
        prefetch_for_write(&self.inboxes[worker].0);
        prefetch(&self.news[worker]);
        for to in others.map(|to| to as usize) {
            prefetch_for_write(&self.inboxes[to].0);
            prefetch_for_write(&self.news[to]);
        }
    }

    fn receive(&self, worker: usize, partition: u32, _: bool, accept: &mut dyn FnMut(Arrived<'_, P>)) {
        self.timekeeper.spend(worker, Spent::Exchange, || self.take(worker, partition, accept));
    }

    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        // Ordering: Relaxed throughout; the barrier makes what was stored before it visible after it. A worker that runs ahead writes the
        // other parity's slots, and cannot come back to these before all have passed the next crossing.
        let crossing = self.crossings[worker].0.fetch_add(1, Ordering::Relaxed);
        let slots = &self.slots[usize::from(crossing % 2 == 1)];
        slots.tell(worker, to_words(mine));
        self.timekeeper.spend(worker, Spent::Waiting, || self.barrier.wait(worker))?;
        Ok(together(slots.told()))
    }

    fn offer(&self, worker: usize, mine: &Summary) {
        if self.offers.offer(worker, to_words(mine)) {
            let others = (0..self.news.len()).filter(|&other| other != worker);
            others.for_each(|other| self.news[other].notify());
        }
    }

    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.news[worker].check()?;
        Ok(self.offers.outcome(worker).map(together))
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
