//! An event count: how a worker sleeps until another has news for it.
//!
//! *Use.* The worker reads the count, looks at all that could let it go on, and if there is nothing waits for the count to change. Who changes
//! what it looks at notifies afterwards.
//!
//! *Why no wake-up is lost.* If the notification comes before the worker has read the count, the worker sees in its look what was changed. Else
//! the count is not what it has read. It looks at the count again with the lock held, after it has said that it sleeps, and fenced; the notifier raises
//! the count, fences, and looks for sleepers. The fences have one order. Either that look of the worker's comes after the notifier's fence, and it sees the
//! count raised; or the notifier finds that one sleeps. Then it takes the lock, which it gets only once the worker waits, and wakes it.
//!
//! *Cost.* A notification is one addition to a line that the worker watches; while it sleeps, also a call to the operating system. The worker
//! is patient for a while ([`Patience`]) before it sleeps.
//!
//! *Reference.* D. Reed, R. Kanodia, *Synchronization with eventcounts and sequencers*, CACM 22, 1979.

use crate::barrier::{Broken, Line};
use crate::patience::Patience;
use crate::shim::{AtomicBool, AtomicU64, Condvar, Mutex, fence};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// How often one worker was notified.
///
/// ```
/// use parades_sync::event_count::EventCount;
/// let news = EventCount::new(2);
/// let seen = news.count();
/// news.notify();
/// assert_eq!(news.wait(seen), Ok(())); // at once: there has been a notification since
/// ```
#[derive(Debug)]
#[repr(C)] // So that the count is what a prefetch of it brings.
pub struct EventCount {
    count: Line<AtomicU64>,
    patience: Patience,
    sleeps: AtomicBool,
    broken: AtomicBool,
    bed: Mutex<()>,
    bell: Condvar,
}

impl EventCount {
    /// One that has never been notified, for one of so many workers.
    pub fn new(workers: usize) -> EventCount {
        EventCount::with(Patience::of_threads(workers))
    }

    pub(crate) fn with(patience: Patience) -> EventCount {
        EventCount {
            count: Line::default(),
            patience,
            sleeps: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            bed: Mutex::default(),
            bell: Condvar::new(),
        }
    }

    /// The count: what was changed before each notification that it counts is visible after.
    pub fn count(&self) -> u64 {
        // Ordering: Acquire; pairs with the Release in `notify`.
        self.count.load(Ordering::Acquire)
    }

    /// Lets the worker look again.
    pub fn notify(&self) {
        // Ordering: Release; what was changed is visible to who sees the count.
        self.count.fetch_add(1, Ordering::Release);
        // Ordering: SeqCst; pairs with the fence in `wait`, as the module's doc says.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed; ordered by the fence.
        if self.sleeps.load(Ordering::Relaxed) {
            drop(self.bed.lock());
            self.bell.notify_one();
        }
    }

    /// Waits until the count is not `seen` any more. Only one worker waits.
    ///
    /// # Errors
    ///
    /// [`Broken`] once [`EventCount::break_up`] was called.
    pub fn wait(&self, seen: u64) -> Result<(), Broken> {
        if self.patience.watch(|| (self.count() != seen).then_some(())).is_some() {
            return self.check();
        }
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        // Ordering: Relaxed; the fence orders it before the looks at the count. Pairs with the fence in `notify`.
        self.sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while self.count() == seen && self.check().is_ok() {
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        // Ordering: Relaxed; who still sees a sleeper notifies it needlessly.
        self.sleeps.store(false, Ordering::Relaxed);
        drop(bed);
        self.check()
    }

    /// Lets the worker wait no longer, now or later.
    pub fn break_up(&self) {
        // Ordering: Relaxed; the notification releases it.
        self.broken.store(true, Ordering::Relaxed);
        self.notify();
    }

    /// Whether the worker may still wait, for one that has no need to.
    ///
    /// # Errors
    ///
    /// [`Broken`] once [`EventCount::break_up`] was called.
    pub fn check(&self) -> Result<(), Broken> {
        // Ordering: Relaxed; who has seen the notification sees it, and who looks again and again comes to see it.
        if self.broken.load(Ordering::Relaxed) { Err(Broken) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::under_the_model;
    use loom::thread;
    use std::sync::Arc;

    /// The worker looks at `done`, and waits where it does not find it, as engines do.
    fn work(news: &EventCount, done: &AtomicBool) -> Result<(), Broken> {
        loop {
            let seen = news.count();
            // Ordering: Relaxed; the count publishes it.
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
                let news = Arc::new(EventCount::with(Patience::new(spins, 0)));
                let done = Arc::new(AtomicBool::new(false));
                let worker = {
                    let (news, done) = (news.clone(), done.clone());
                    thread::spawn(move || work(&news, &done))
                };
                news.notify(); // Of nothing.
                done.store(true, Ordering::Relaxed);
                news.notify();
                assert_eq!(worker.join().expect("no panic"), Ok(()));
            });
        }
    }

    #[test]
    fn who_waits_is_released_when_it_is_broken_up() {
        under_the_model(4, || {
            let news = Arc::new(EventCount::with(Patience::new(0, 0)));
            let worker = {
                let news = news.clone();
                thread::spawn(move || work(&news, &AtomicBool::new(false)))
            };
            news.break_up();
            assert_eq!(worker.join().expect("no panic"), Err(Broken));
        });
    }
}
