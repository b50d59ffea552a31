//! An event count: how a worker sleeps until another has news for it.
//!
//! *Use.* The worker reads the count, looks at all that could let it go on, and if there is nothing waits for the count to change. Who changes
//! what it looks at notifies afterwards.
//!
//! *Why no wake-up is lost.* If the notification comes before the worker has read the count, the worker sees in its look what was changed. Else
//! the count is not what it has read. It looks at the count again with the lock held, after it has said that it sleeps. In the one order of all
//! sequentially consistent operations, either that look comes after the notifier has raised the count, and the worker does not sleep; or the
//! notifier, who looks for sleepers after raising it, finds that one sleeps. Then it takes the lock, which it gets only once the worker waits,
//! and wakes it.
//!
//! *Cost.* A notification is one addition to a line that the worker watches; while it sleeps, also a call to the operating system. The worker
//! spins and then yields for some tens of microseconds before it sleeps. Spins in vain become fewer, as the one it waits for may need this very
//! core; with fewer cores than workers there are none.
//!
//! *Reference.* D. Reed, R. Kanodia, *Synchronization with eventcounts and sequencers*, CACM 22, 1979.

use parades_sync::barrier::Broken;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Looks at the count with a pause of the processor after each, at most.
const SPINS: u32 = 256;
/// At least, where spinning is allowed, so that it is found out when it pays again.
const SPINS_MIN: u32 = 16;
/// Looks at the count with the core offered to others after each.
const YIELDS: u32 = 256;

/// How often one worker was notified.
///
/// ```
/// use parades_engine::transport::EventCount;
/// let news = EventCount::new(2);
/// let seen = news.count();
/// news.notify();
/// assert_eq!(news.wait(seen), Ok(())); // at once: there has been a notification since
/// ```
#[derive(Debug, Default)]
pub struct EventCount {
    count: super::Apart<AtomicU64>,
    spins_max: u32,
    /// How often the worker spins at present. Only its own thread uses it.
    spins: AtomicU32,
    sleeps: AtomicBool,
    broken: AtomicBool,
    bed: Mutex<()>,
    bell: Condvar,
}

impl EventCount {
    /// One that has never been notified, for one of so many workers.
    pub fn new(workers: usize) -> EventCount {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spins_max = if cores < workers { 0 } else { SPINS };
        EventCount { spins_max, spins: spins_max.into(), ..EventCount::default() }
    }

    /// The count: what was changed before each notification that it counts is visible after.
    pub fn count(&self) -> u64 {
        // Ordering: SeqCst; the module's doc says why. Acquires what was written before the notifications.
        self.count.0.load(Ordering::SeqCst)
    }

    /// Lets the worker look again.
    pub fn notify(&self) {
        // Ordering: SeqCst, both; the module's doc says why. Releases what was written before.
        self.count.0.fetch_add(1, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) {
            drop(self.bed());
            self.bell.notify_one();
        }
    }

    /// Waits until the count is not `seen` any more. Only one worker waits.
    ///
    /// # Errors
    ///
    /// [`Broken`] once [`EventCount::break_up`] was called.
    pub fn wait(&self, seen: u64) -> Result<(), Broken> {
        if self.watch(seen) {
            return self.check();
        }
        let mut bed = self.bed();
        // Ordering: SeqCst; the module's doc says why.
        self.sleeps.store(true, Ordering::SeqCst);
        while self.count() == seen && self.check().is_ok() {
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        // Ordering: Relaxed; who still sees a sleeper notifies it needlessly.
        self.sleeps.store(false, Ordering::Relaxed);
        drop(bed);
        self.check()
    }

    /// Watches until the count is not `seen` any more, or patience is at an end: then false.
    fn watch(&self, seen: u64) -> bool {
        // Ordering: Relaxed, here and below; only this worker's thread uses it.
        let spins = self.spins.load(Ordering::Relaxed);
        for look in 0..spins {
            if self.count() != seen {
                self.spins.store(spins.max(2 * look).min(self.spins_max), Ordering::Relaxed);
                return true;
            }
            std::hint::spin_loop();
        }
        self.spins.store((spins / 2).max(SPINS_MIN).min(self.spins_max), Ordering::Relaxed);
        (0..YIELDS).any(|_| {
            std::thread::yield_now();
            self.count() != seen
        })
    }

    /// Lets the worker wait no longer, now or later.
    pub fn break_up(&self) {
        // Ordering: SeqCst; comes before the notification for who sees that.
        self.broken.store(true, Ordering::SeqCst);
        self.notify();
    }

    fn check(&self) -> Result<(), Broken> {
        // Ordering: SeqCst; as in `break_up`.
        if self.broken.load(Ordering::SeqCst) { Err(Broken) } else { Ok(()) }
    }

    fn bed(&self) -> MutexGuard<'_, ()> {
        self.bed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
