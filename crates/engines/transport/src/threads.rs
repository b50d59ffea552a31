//! The transport between threads of one process.

use crate::clocks::{ClockId, Clocks};
use crate::summary::{Summary, WORDS, combine, to_words};
use crate::timekeeper::Timekeeper;
use crate::transport::{Meeting, Promising, Transport};
use parades_core::any_model::parcel::{self, Conservative, Parcel, ParcelRef, Traffic};
use parades_core::time::Time;
use parades_core::timesheet::{Spent, Timesheets};
use parades_raw::prefetch::{prefetch, prefetch_for_write};
use parades_sync::barrier::{Barrier, BarrierKind, Broken};
use parades_sync::event_count::EventCount;
use parades_sync::padded::CachePadded;
use parades_sync::reduction::{Reduction, Slots};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose content is consistent whenever the lock is free. Some content may be inconsistent
/// after a panic, but only a run that continues would use it, and no run continues after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The events that were sent to a partition and not received yet, in the lists as they were sent.
#[derive(Debug)]
struct Inbox<'k, T: Traffic> {
    /// The first list. It lies on the cache line of the lock, and is mostly the only list.
    first: Option<Parcel<'k, T>>,
    more: Vec<Parcel<'k, T>>,
}

impl<T: Traffic> Default for Inbox<'_, T> {
    fn default() -> Self {
        Inbox { first: None, more: Vec::new() }
    }
}

/// The transport between threads of one process. Events change owner: they are neither copied nor delayed.
#[derive(Debug)]
pub struct Threads<'k, T: Traffic> {
    /// By partition.
    inboxes: Vec<CachePadded<Mutex<Inbox<'k, T>>>>,
    /// By parity of the exchange, then by worker. The slots of one parity are read while those of the other
    /// are written.
    slots: [Slots<WORDS>; 2],
    /// By worker: the number of exchanges that it has entered.
    exchanges: Vec<CachePadded<AtomicU64>>,
    offers: Reduction<WORDS>,
    /// By worker: empty lists, which are filled again.
    spare: Vec<CachePadded<Mutex<Vec<Parcel<'k, T>>>>>,
    /// By worker: its notifications.
    news: Arc<[EventCount]>,
    barrier: Box<dyn Barrier>,
    /// The horizon of `null-message`.
    horizon: AtomicU64,
    timekeeper: Timekeeper,
}

/// The most empty lists that a worker keeps.
const SPARE_MAX: usize = 1 << 10;

impl<'k, T: Traffic> Threads<'k, T> {
    /// Connects `workers` threads, for `partitions` partitions.
    pub fn new(workers: usize, partitions: u32, barrier: BarrierKind) -> Threads<'k, T> {
        fn many<V: Default>(n: usize) -> Vec<CachePadded<V>> {
            std::iter::repeat_with(CachePadded::default).take(n).collect()
        }
        Threads {
            inboxes: many(partitions as usize),
            slots: [Slots::new(workers), Slots::new(workers)],
            exchanges: many(workers),
            offers: Reduction::new(workers),
            spare: many(workers),
            news: (0..workers).map(|_| EventCount::new(workers)).collect(),
            barrier: barrier.open(workers),
            horizon: AtomicU64::new(0),
            timekeeper: Timekeeper::default(),
        }
    }

    /// Records the time that workers wait, and the time that they receive events, in `timesheets` if there
    /// are any.
    #[must_use]
    pub fn timed(self, timesheets: Option<Arc<Timesheets>>) -> Threads<'k, T> {
        Threads { timekeeper: Timekeeper::of(timesheets), ..self }
    }

    /// Checks that the transport has not broken up. A worker that does not wait learns of a failure only
    /// here.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed.
    pub(crate) fn check(&self, worker: usize) -> Result<(), Broken> {
        self.news[worker].check()
    }

    /// Returns a function that notifies all workers.
    pub(crate) fn bell(&self) -> impl Fn() + Send + Sync + 'static {
        let news = Arc::clone(&self.news);
        move || news.iter().for_each(EventCount::notify)
    }

    /// Lowers the horizon to `time`, unless it is earlier already.
    pub(crate) fn lower_horizon_to(&self, time: Time) {
        // Ordering: Relaxed; the promises that follow release it.
        self.horizon.fetch_min(time.as_ps(), Ordering::Relaxed);
    }

    /// Calls `wait`, and records the time as time that `worker` waits.
    pub(crate) fn spend_waiting<R>(&self, worker: usize, wait: impl FnOnce() -> R) -> R {
        self.timekeeper.spend(worker, Spent::Waiting, wait)
    }

    /// Passes the events that have arrived for a partition to `accept`.
    fn take_inbox(&self, worker: usize, partition: u32, accept: &mut dyn FnMut(ParcelRef<'_, 'k, T>)) {
        let Inbox { first, mut more } = std::mem::take(&mut *lock(&self.inboxes[partition as usize].0));
        let Some(mut first) = first else { return };
        for parcel in std::iter::once(&mut first).chain(&mut more) {
            accept(parcel.hide());
        }
        let mut spare = lock(&self.spare[worker].0);
        if spare.len() < SPARE_MAX {
            spare.push(first);
            spare.append(&mut more);
        }
    }
}

impl<'k, T: Traffic> Transport<'k, T> for Threads<'k, T> {
    fn send(&self, worker: usize, partition: u32, events: ParcelRef<'_, 'k, T>) {
        let mut parcel = lock(&self.spare[worker].0).pop().unwrap_or_else(|| parcel::empty(events.form()));
        parcel::swap(&mut parcel, events);
        let mut inbox = lock(&self.inboxes[partition as usize].0);
        if inbox.first.is_none() { inbox.first = Some(parcel) } else { inbox.more.push(parcel) }
    }

    fn prefetch_inboxes(&self, worker: usize, receivers: &mut dyn Iterator<Item = u32>) {
        prefetch_for_write(&self.inboxes[worker].0);
        prefetch(&self.news[worker]);
        for to in receivers.map(|to| to as usize) {
            prefetch_for_write(&self.inboxes[to].0);
            prefetch_for_write(&self.news[to]);
        }
    }

    fn receive(&self, worker: usize, partition: u32, _: bool, accept: &mut dyn FnMut(ParcelRef<'_, 'k, T>)) {
        self.timekeeper.spend(worker, Spent::Exchange, || self.take_inbox(worker, partition, accept));
    }

    fn allocated_bytes(&self, worker: usize, partition: u32) -> usize {
        let spare: usize = lock(&self.spare[worker].0).iter().map(parcel::allocated_bytes).sum();
        let arrived = self.inboxes.get(partition as usize).map_or(0, |inbox| {
            let Inbox { first, more } = &*lock(&inbox.0);
            first.iter().chain(more).map(parcel::allocated_bytes).sum::<usize>()
        });
        spare + arrived
    }

    fn shrink(&self, worker: usize) {
        lock(&self.spare[worker].0).clear();
    }
}

impl<T: Traffic> Meeting for Threads<'_, T> {
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        // Ordering: Relaxed throughout. The barrier makes stores before it visible after it. A worker that
        // runs ahead writes the slots of the other parity. It returns to these slots only after all workers
        // have entered the next exchange.
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
        self.check(worker)?;
        Ok(self.offers.outcome(worker).map(combine))
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

    fn break_up(&self) {
        self.barrier.break_up();
        self.news.iter().for_each(EventCount::break_up);
    }
}

impl<'k> Promising<'k> for Threads<'k, Conservative> {
    fn promise(&self, _: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        clocks.set(clock, time);
    }

    fn horizon(&self) -> Time {
        // Ordering: Relaxed. The horizon is read after the clocks, whose promises were made after it was
        // lowered.
        Time::from_ps(self.horizon.load(Ordering::Relaxed))
    }

    fn set_horizon(&self, time: Time) {
        // Ordering: Relaxed. All other workers are at the cut; the exchange that follows publishes it.
        self.horizon.store(time.as_ps(), Ordering::Relaxed);
    }

    fn lower_horizon(&self, _: usize, time: Time) {
        self.lower_horizon_to(time);
    }
}
