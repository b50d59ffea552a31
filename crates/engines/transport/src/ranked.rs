//! The transport of one rank among several: threads within the rank, byte strings between ranks.
//!
//! *Idea.* Within a rank, events change owner as between threads ([`Threads`]). Events, promises and
//! summaries for another rank become *frames*, which travel as bytes over a [`Fabric`].
//!
//! *Bundles.* A worker collects its events and promises for another rank in its *bundle* for that rank. The
//! bundle travels when it is large, or when the worker next receives, waits, exchanges or offers. So the
//! events for several partitions and the summary after them are one byte string of the fabric. A list of
//! events that will fill a bundle is written in memory that the fabric lends, and so in a lane, and not
//! copied there ([`Fabric::try_write`]). While there is no room, the worker receives.
//!
//! *Order.* All frames of a worker for another rank travel in the order in which it sent them. A rank sends
//! its summary after all its workers have arrived: worker 0 sends it at an exchange, and the last worker at
//! an offer. The other workers have emptied their bundles before, and the sender puts the summary behind its
//! own events. So a rank that has received a summary has also received all events and promises that were
//! sent before it. [`Meeting::exchange`] and [`Meeting::outcome`] rest on that. For the same reason each
//! rank sends its summary to every other rank. A summary that came through a third rank could overtake
//! events.
//!
//! *Receiving.* Any worker that looks for news receives the frames for all workers of its rank, under one
//! lock. It puts events into the inboxes of [`Threads`].
//!
//! *Waiting.* A worker that has nothing to do polls the fabric for a while. Then it requests the fabric's
//! bell, receives once more, and sleeps until the bell or another worker wakes it.
//!
//! *A lost rank.* A worker that waits for a frame of a rank that has ended breaks up the transport. The run
//! then ends with an error that names the rank. A rank that has crashed ends the run even if none of its
//! frames is missing here: a third rank may wait for one that it never sent, and this rank for the third. A
//! rank that has ended otherwise has sent each of its frames to all.

mod bundles;
mod frame;
mod group;
mod offers;
mod received;

use crate::clocks::{ClockId, Clocks};
use crate::fabric::Fabric;
use crate::summary::Summary;
use crate::threads::Threads;
use crate::transport::{Meeting, Promising, Transport};
use bundles::Bundles;
use frame::Frame;
use parades_core::any_model::Codec;
use parades_core::any_model::parcel::{self, Conservative, ParcelRef, Traffic, parcel_len};
use parades_core::time::Time;
use parades_core::wire::{self, Malformed};
use parades_sync::barrier::Broken;
use parades_sync::patience::Patience;
use received::Received;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// The transport and the group of one rank.
pub struct Ranked<'k, T: Traffic> {
    threads: Threads<'k, T>,
    codec: Box<dyn Codec<'k, T> + 'k>,
    fabric: Box<dyn Fabric>,
    workers: usize,
    /// By worker.
    patience: Vec<Patience>,
    bundles: Bundles,
    /// By partition: the rank that owns it.
    homes: RwLock<Vec<u32>>,
    clocks: RwLock<Vec<Arc<Clocks>>>,
    received: Mutex<Received>,
    /// The combined summary of the last exchange.
    exchanged: Mutex<Summary>,
    /// The number of events sent to other ranks.
    crossed: AtomicU64,
    failure: OnceLock<String>,
}

impl<T: Traffic> fmt::Debug for Ranked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ranked(rank {} of {})", self.fabric.rank(), self.fabric.ranks())
    }
}

/// The content of each of these locks is consistent whenever the lock is free.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'k, T: Traffic> Ranked<'k, T> {
    /// Makes the transport of the rank at one end of a fabric. `threads` connects the workers of this rank,
    /// which are `workers` in number. `codec` converts events.
    pub fn new(
        fabric: Box<dyn Fabric>,
        threads: Threads<'k, T>,
        workers: usize,
        codec: Box<dyn Codec<'k, T> + 'k>,
    ) -> Ranked<'k, T> {
        let ranks = fabric.ranks();
        fabric.set_bell(Arc::new(threads.bell()));
        let received = Received::new(fabric.rank(), ranks, workers);
        Ranked {
            threads,
            codec,
            workers,
            patience: (0..workers).map(|_| Patience::for_threads(workers * ranks)).collect(),
            bundles: Bundles::new(workers, ranks),
            homes: RwLock::default(),
            clocks: RwLock::default(),
            received: Mutex::new(received),
            exchanged: Mutex::new(Summary::NOTHING),
            crossed: AtomicU64::new(0),
            failure: OnceLock::new(),
            fabric,
        }
    }

    /// Returns the number of events that this rank has sent to other ranks.
    pub fn crossed(&self) -> u64 {
        // Ordering: Relaxed; a count that publishes nothing.
        self.crossed.load(Ordering::Relaxed)
    }

    /// Returns the rank of a partition, if it is another rank.
    fn elsewhere(&self, partition: u32) -> Option<usize> {
        let homes = self.homes.read().unwrap_or_else(PoisonError::into_inner);
        let home = homes[partition as usize] as usize;
        (home != self.fabric.rank()).then_some(home)
    }

    /// Sends a frame to another rank, at the latest when `worker` calls [`Ranked::flush`].
    fn send_frame(&self, worker: usize, to: usize, frame: &Frame) {
        self.bundles.append(&*self.fabric, worker, to, |bytes| wire::write(frame, bytes));
    }

    /// Sends the frames that `worker` has collected.
    fn flush(&self, worker: usize) {
        self.bundles.flush(&*self.fabric, worker);
    }

    /// Sends a frame to all other ranks, after all that `worker` has sent before.
    fn send_to_others(&self, worker: usize, frame: &Frame) {
        let others = (0..self.fabric.ranks()).filter(|&rank| rank != self.fabric.rank());
        others.for_each(|rank| self.send_frame(worker, rank, frame));
        self.flush(worker);
    }

    /// Receives the frames that have arrived.
    fn pump(&self) -> Result<(), Broken> {
        self.receive_into(&mut lock(&self.received))
    }

    fn receive_into(&self, received: &mut Received) -> Result<(), Broken> {
        let mut result = Ok(());
        self.fabric.receive(&mut |from, mut bytes| {
            while !bytes.is_empty() && result.is_ok() {
                result = wire::read_frame(|| self.accept(received, from, &mut bytes))
                    .map_err(|malformed| self.break_with(malformed.to_string()));
            }
            (0..self.workers).for_each(|worker| self.threads.notify(worker));
        });
        result
    }

    /// Breaks up the transport, for a reason that the error of the run states.
    fn break_with(&self, why: String) -> Broken {
        let _ = self.failure.set(why);
        self.threads.break_up();
        Broken
    }

    /// Receives until `check` returns true, for a while. Returns false if it has not.
    fn receive_until(&self, worker: usize, check: &mut dyn FnMut() -> bool) -> bool {
        let receive = || {
            let _ = self.pump(); // As in `receive`.
            check().then_some(())
        };
        self.patience[worker].watch(receive).is_some()
    }

    /// Polls the fabric for a while. Returns true as soon as `worker` has more than `seen` notifications.
    fn poll(&self, worker: usize, seen: u64) -> bool {
        let poll = || {
            // A worker that holds the lock receives for this worker too.
            if let Ok(mut received) = self.received.try_lock() {
                // As in `receive`.
                let _ = self.receive_into(&mut received);
            }
            (self.threads.news(worker) != seen).then_some(())
        };
        self.threads.spend_waiting(worker, || self.patience[worker].watch(poll)).is_some()
    }

    /// Waits until `worker` has more than `seen` notifications. May return too early.
    fn sleep(&self, worker: usize, seen: u64) -> Result<(), Broken> {
        if self.poll(worker, seen) {
            return self.threads.check(worker);
        }
        // A notification for each frame that arrives after the request follows from the bell. The frames
        // before it are received here.
        self.fabric.request_bell();
        self.pump()?;
        self.threads.wait(worker, seen)
    }

    /// Reads a frame from the front of `bytes`, and handles it.
    fn accept(&self, received: &mut Received, from: usize, bytes: &mut &[u8]) -> Result<(), Malformed> {
        match wire::read(bytes)? {
            Frame::Events(partition, count) => {
                let mut events = self.codec.read(u32::from_le_bytes(count), bytes)?;
                self.threads.send(0, partition, events.hide());
            }
            Frame::Promise(set, clock, time) => {
                let clocks = self.clocks(set);
                clocks.clear_request(clock);
                clocks.set(clock, time);
            }
            Frame::Request(set, clock) => self.clocks(set).note_request(clock),
            Frame::Horizon(time) => self.threads.lower_horizon_to(time),
            Frame::Exchange(summary) => received.exchanges[from].push_back(summary),
            Frame::Offer(summary) => received.offers.of_rank(from, summary),
            Frame::Collective(bytes) => received.collectives[from].push_back(bytes),
        }
        Ok(())
    }

    fn clocks(&self, set: u32) -> Arc<Clocks> {
        Arc::clone(&self.clocks.read().unwrap_or_else(PoisonError::into_inner)[set as usize])
    }

    /// Returns the index of a set of clocks.
    fn set_of(&self, clocks: &Arc<Clocks>) -> u32 {
        let sets = self.clocks.read().unwrap_or_else(PoisonError::into_inner);
        let set = sets.iter().position(|set| Arc::ptr_eq(set, clocks)).expect("`settle` was given the clocks in use");
        u32::try_from(set).expect("there are two sets")
    }

    /// Waits, as `worker`, until `ready` returns a value. Until then `ready` names the ranks whose frames are
    /// missing.
    fn wait_for<R>(
        &self,
        worker: usize,
        mut ready: impl FnMut(&mut Received) -> Result<R, Vec<usize>>,
    ) -> Result<R, Broken> {
        loop {
            let seen = self.threads.news(worker);
            // A rank that has ended may have sent the frame before its end. So the ends are read before the
            // frames.
            let lost: Vec<_> = (0..self.fabric.ranks()).filter_map(|rank| self.fabric.lost(rank)).collect();
            self.pump()?;
            let missing = match ready(&mut lock(&self.received)) {
                Ok(value) => return Ok(value),
                Err(missing) => missing,
            };
            if let Some(lost) = lost.iter().find(|lost| lost.has_crashed || missing.contains(&lost.rank)) {
                return Err(self.break_with(lost.to_string()));
            }
            self.sleep(worker, seen)?;
        }
    }
}

impl<'k, T: Traffic> Transport<'k, T> for Ranked<'k, T> {
    fn send(&self, worker: usize, partition: u32, mut events: ParcelRef<'_, 'k, T>) {
        let Some(rank) = self.elsewhere(partition) else { return self.threads.send(worker, partition, events) };
        let len = parcel_len(events.reborrow());
        // Ordering: Relaxed; a count that publishes nothing.
        self.crossed.fetch_add(len as u64, Ordering::Relaxed);
        let mut begin = 0;
        let wait = |check: &mut dyn FnMut() -> bool| self.receive_until(worker, check);
        self.bundles.append_events(&*self.fabric, worker, rank, len, &wait, |bytes, room| {
            wire::write(&Frame::Events(partition, [0; 4]), room);
            let behind = room.len();
            let written = self.codec.write(events.reborrow(), begin..len, bytes, room);
            let count = u32::try_from(written).expect("a frame has few events");
            room.overwrite(behind - 4, &count.to_le_bytes());
            begin += written;
            written
        });
        parcel::clear(events);
    }

    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(ParcelRef<'_, 'k, T>)) {
        self.flush(worker);
        // A rank that sends malformed bytes breaks up the transport; the worker learns of it when it next
        // waits or asks.
        let _ = self.pump();
        self.threads.receive(worker, partition, all, accept);
    }

    fn settle(&self, homes: &[u32]) {
        *self.homes.write().unwrap_or_else(PoisonError::into_inner) = homes.to_vec();
    }

    fn allocated_bytes(&self, worker: usize, partition: u32) -> usize {
        self.bundles.allocated_bytes(worker) + self.threads.allocated_bytes(worker, partition)
    }

    fn shrink(&self, worker: usize) {
        self.bundles.shrink(worker);
        self.threads.shrink(worker);
    }
}

impl<T: Traffic> Meeting for Ranked<'_, T> {
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        if worker > 0 {
            self.flush(worker);
        }
        let of_rank = self.threads.exchange(worker, mine)?;
        if worker == 0 {
            self.send_to_others(worker, &Frame::Exchange(of_rank));
            *lock(&self.exchanged) = of_rank.and(self.wait_for(worker, Received::take_exchange)?);
        }
        self.threads.exchange(worker, &Summary::NOTHING)?;
        Ok(*lock(&self.exchanged))
    }

    fn offer(&self, worker: usize, mine: &Summary) {
        self.flush(worker);
        let of_rank = lock(&self.received).offers.of_worker(worker, mine);
        // This worker has not made its next offer, so no later offer of this rank can overtake.
        if let Some(of_rank) = of_rank {
            lock(&self.received).offers.of_rank(self.fabric.rank(), of_rank);
            self.send_to_others(worker, &Frame::Offer(of_rank));
            (0..self.workers).for_each(|worker| self.threads.notify(worker));
        }
    }

    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.threads.check(worker)?;
        self.flush(worker);
        self.pump()?;
        Ok(lock(&self.received).offers.outcome(worker))
    }

    fn news(&self, worker: usize) -> u64 {
        self.flush(worker);
        let seen = self.threads.news(worker);
        let _ = self.pump(); // As in `receive`.
        seen
    }

    fn notify(&self, worker: usize) {
        self.threads.notify(worker);
    }

    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken> {
        self.flush(worker);
        self.pump()?;
        if let Some(lost) = (0..self.fabric.ranks()).find_map(|rank| self.fabric.lost(rank)) {
            return Err(self.break_with(lost.to_string()));
        }
        self.sleep(worker, seen)
    }

    fn failure(&self) -> Option<String> {
        self.failure.get().cloned()
    }

    fn break_up(&self) {
        self.threads.break_up();
    }
}

impl<'k> Promising<'k> for Ranked<'k, Conservative> {
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        match self.elsewhere(clock.to) {
            None => clocks.set(clock, time),
            Some(rank) => self.send_frame(worker, rank, &Frame::Promise(self.set_of(clocks), clock, time)),
        }
    }

    fn request_promise(&self, clocks: &Arc<Clocks>, clock: ClockId, from: u32) {
        if let Some(rank) = self.elsewhere(from) {
            // A request need not keep its place among the frames of a worker.
            let mut bytes = Vec::new();
            wire::write(&Frame::Request(self.set_of(clocks), clock), &mut bytes);
            self.fabric.send(rank, &bytes);
        }
    }

    fn settle_clocks(&self, clocks: &[Arc<Clocks>]) {
        *self.clocks.write().unwrap_or_else(PoisonError::into_inner) = clocks.to_vec();
    }

    fn horizon(&self) -> Time {
        self.threads.horizon()
    }

    fn set_horizon(&self, time: Time) {
        self.threads.set_horizon(time);
    }

    fn lower_horizon(&self, worker: usize, time: Time) {
        self.threads.lower_horizon(worker, time);
        self.send_to_others(worker, &Frame::Horizon(time));
    }
}
