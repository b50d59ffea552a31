//! An event count, on which a worker sleeps until another worker notifies it.
//!
//! *Use.* The worker reads the count, and then checks every condition that would let it continue. If none
//! holds, it waits for the count to change. A thread that changes one of these conditions notifies the worker
//! afterwards.
//!
//! *Why no wake-up is lost.* The worker waits with the value `seen` of the count. Consider a notification
//! that the worker must not miss.
//!
//! 1. If the worker read the count after the notification raised it, the worker's check saw the changed
//!    condition. The notification raises the count with Release, and the worker reads it with Acquire.
//! 2. Otherwise the count differs from `seen` from then on. Before it sleeps, the worker sets `is_asleep`,
//!    fences, and reads the count again, with the lock held. The notifier raises the count, fences, and reads
//!    `is_asleep`. Both fences are SeqCst, so one of them comes first:
//!    - If the notifier's fence comes first, the worker reads the raised count and does not sleep.
//!    - If the worker's fence comes first, the notifier reads that the worker sleeps. It then takes the lock.
//!      The lock becomes free only when the worker waits on the condition variable, so the notifier wakes it.
//!
//! *Cost.* A notification is one addition to a cache line that the worker reads, and a system call if the
//! worker sleeps. Before it sleeps, the worker is patient for a while ([`Patience`]).
//!
//! *Reference.* D. Reed, R. Kanodia, *Synchronization with eventcounts and sequencers*, CACM 22, 1979.

use crate::barrier::Broken;
use crate::padded::CachePadded;
use crate::patience::Patience;
use crate::shim::{AtomicBool, AtomicU64, Condvar, Mutex, fence};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The number of notifications that one worker has received.
///
/// ```
/// use parades_sync::event_count::EventCount;
/// let news = EventCount::new(2);
/// let seen = news.count();
/// news.notify();
/// assert_eq!(news.wait(seen), Ok(())); // returns at once, because of the notification since
/// ```
#[derive(Debug)]
#[repr(C)] // Puts the count first, where a prefetch of the whole structure loads it.
pub struct EventCount {
    count: CachePadded<AtomicU64>,
    patience: Patience,
    is_asleep: AtomicBool,
    broken: AtomicBool,
    sleep_lock: Mutex<()>,
    woken: Condvar,
}

impl EventCount {
    /// Creates the event count of one of `workers` workers, without any notification.
    pub fn new(workers: usize) -> EventCount {
        EventCount::with_patience(Patience::for_threads(workers))
    }

    pub(crate) fn with_patience(patience: Patience) -> EventCount {
        EventCount {
            count: CachePadded::default(),
            patience,
            is_asleep: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            sleep_lock: Mutex::default(),
            woken: Condvar::new(),
        }
    }

    /// Returns the number of notifications. Everything written before each of them is visible to the caller.
    pub fn count(&self) -> u64 {
        // Ordering: Acquire; pairs with the Release in `notify`.
        self.count.load(Ordering::Acquire)
    }

    /// Raises the count and wakes the worker.
    pub fn notify(&self) {
        // Ordering: Release. It pairs with the Acquire in `count`, which makes visible what this thread
        // changed.
        self.count.fetch_add(1, Ordering::Release);
        // Ordering: SeqCst. It pairs with the fence in `wait`, as the module's proof says.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed. The fence orders this read after the addition.
        if self.is_asleep.load(Ordering::Relaxed) {
            drop(self.sleep_lock.lock());
            self.woken.notify_one();
        }
    }

    /// Waits until the count differs from `seen`. Only one worker may wait.
    ///
    /// # Errors
    ///
    /// Returns [`Broken`] after a call of [`EventCount::break_up`].
    pub fn wait(&self, seen: u64) -> Result<(), Broken> {
        if self.patience.watch(|| (self.count() != seen).then_some(())).is_some() {
            return self.check();
        }
        let mut locked = self.sleep_lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Ordering: Relaxed. The fence orders this write before the reads of the count. It pairs with the
        // fence in `notify`.
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while self.count() == seen && self.check().is_ok() {
            locked = self.woken.wait(locked).unwrap_or_else(PoisonError::into_inner);
        }
        // Ordering: Relaxed. A notifier that still reads `true` only makes a needless wake-up call.
        self.is_asleep.store(false, Ordering::Relaxed);
        drop(locked);
        self.check()
    }

    /// Ends the present wait of the worker, and every later one.
    pub fn break_up(&self) {
        // Ordering: Relaxed. The notification publishes it.
        self.broken.store(true, Ordering::Relaxed);
        self.notify();
    }

    /// Returns an error if the event count has been broken up. This is for a worker that has no need to wait.
    ///
    /// # Errors
    ///
    /// Returns [`Broken`] after a call of [`EventCount::break_up`].
    pub fn check(&self) -> Result<(), Broken> {
        // Ordering: Relaxed. A thread that has seen the notification sees this write too, and a thread that
        // reads repeatedly sees it in the end.
        if self.broken.load(Ordering::Relaxed) { Err(Broken) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::under_the_model;
    use loom::thread;
    use std::sync::Arc;

    /// Waits until `done` is set, as engines do: checks it, and waits if it is not set.
    fn work(news: &EventCount, done: &AtomicBool) -> Result<(), Broken> {
        loop {
            let seen = news.count();
            // Ordering: Relaxed. The count publishes it.
            if done.load(Ordering::Relaxed) {
                return Ok(());
            }
            news.wait(seen)?;
        }
    }

    #[test]
    fn no_notification_is_lost() {
        for spins in [0, 1] {
            under_the_model(4, move || {
                let news = Arc::new(EventCount::with_patience(Patience::new(spins, 0)));
                let done = Arc::new(AtomicBool::new(false));
                let worker = {
                    let (news, done) = (news.clone(), done.clone());
                    thread::spawn(move || work(&news, &done))
                };
                // A notification of no change.
                news.notify();
                done.store(true, Ordering::Relaxed);
                news.notify();
                assert_eq!(worker.join().expect("no panic"), Ok(()));
            });
        }
    }

    #[test]
    fn a_break_releases_the_waiting_worker() {
        under_the_model(4, || {
            let news = Arc::new(EventCount::with_patience(Patience::new(0, 0)));
            let worker = {
                let news = news.clone();
                thread::spawn(move || work(&news, &AtomicBool::new(false)))
            };
            news.break_up();
            assert_eq!(worker.join().expect("no panic"), Err(Broken));
        });
    }
}
