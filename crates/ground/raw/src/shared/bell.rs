//! Waking the threads of another process, but only if one of them has asked for it.
//!
//! *Use.* A thread that wants to sleep reads [`Bell::seen`], makes a [`Request`], checks its condition, and
//! waits if the condition does not hold. A thread that changes the condition takes the request afterwards,
//! and rings if there was one.
//!
//! *Why no wake-up is lost.* The sleeper writes the request, fences, and checks the condition. The other
//! thread changes the condition, fences, and reads the request. Both fences are SeqCst, so one of them comes
//! first:
//! - If the sleeper's fence comes first, the other thread reads the request. Either it takes the request and
//!   rings, or a third thread has taken it and rings. The sleeper read `seen` before its request, so the ring
//!   changes the number that the sleeper waits for.
//! - If the other fence comes first, the sleeper's check finds the changed condition.
//!
//! Several threads may wait on one bell. A ring wakes all of them, and each checks its condition again.

use super::futex::Futex;
#[cfg(test)]
use loom::sync::atomic::{AtomicU32, fence};
use std::sync::atomic::Ordering;
#[cfg(not(test))]
use std::sync::atomic::{AtomicU32, fence};

/// A request to be woken.
#[derive(Debug, Default)]
#[cfg_attr(not(test), repr(C, align(64)))]
pub(super) struct Request(AtomicU32);

const NONE: u32 = 0;
/// A request for one ring.
const ONCE: u32 = 1;
/// A request for a ring at every change.
const ALWAYS: u32 = 2;

impl Request {
    /// Requests a ring at every change. Only for memory that no other thread uses yet.
    pub(super) fn make_lasting(&self) {
        // Ordering: Relaxed; whoever passes the memory on publishes it.
        self.0.store(ALWAYS, Ordering::Relaxed);
    }

    /// Requests one ring, unless there is a lasting request. The caller checks its condition afterwards.
    pub(super) fn make(&self) {
        // Ordering: Relaxed, then a SeqCst fence; the module's proof rests on the fence.
        if self.0.load(Ordering::Relaxed) != ALWAYS {
            self.0.store(ONCE, Ordering::Relaxed);
        }
        fence(Ordering::SeqCst);
    }

    /// Requests one ring, and ends the lasting request. The caller checks its condition afterwards.
    pub(super) fn make_only(&self) {
        // Ordering: as in `make`.
        self.0.store(ONCE, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Returns true if the caller, which has changed the condition, must ring.
    #[must_use]
    pub(super) fn take(&self) -> bool {
        // Ordering: a SeqCst fence, then Relaxed; the module's proof rests on the fence.
        fence(Ordering::SeqCst);
        match self.0.load(Ordering::Relaxed) {
            NONE => false,
            ALWAYS => true,
            _ => self.0.swap(NONE, Ordering::Relaxed) != NONE,
        }
    }
}

/// The number of rings, on which threads sleep.
#[derive(Debug, Default)]
#[cfg_attr(not(test), repr(transparent))]
pub(super) struct Bell(Futex);

impl Bell {
    /// Returns the number of rings so far. Everything written before each of them is visible to the caller.
    pub(super) fn seen(&self) -> u32 {
        // Ordering: Acquire; pairs with the Release in `ring`.
        self.0.word.load(Ordering::Acquire)
    }

    /// Sleeps until the number of rings differs from `seen`. May return early.
    pub(super) fn wait(&self, seen: u32) {
        self.0.wait(seen);
    }

    /// Wakes all threads that wait.
    pub(super) fn ring(&self) {
        // Ordering: Release; pairs with the Acquire in `seen`.
        self.0.word.fetch_add(1, Ordering::Release);
        self.0.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::thread;
    use std::sync::Arc;

    #[derive(Default)]
    struct Shared {
        bell: Bell,
        request: Request,
        /// By changing thread. Relaxed accesses: only the fences order them.
        changed: [AtomicU32; 2],
    }

    impl Shared {
        fn change(&self, at: usize) {
            self.changed[at].store(1, Ordering::Relaxed);
            if self.request.take() {
                self.bell.ring();
            }
        }

        fn sleep_until_all(&self, changes: usize, request: fn(&Request)) {
            loop {
                let seen = self.bell.seen();
                request(&self.request);
                if self.changed[..changes].iter().all(|changed| changed.load(Ordering::Relaxed) == 1) {
                    return;
                }
                self.bell.wait(seen);
            }
        }
    }

    /// Runs a sleeper, and `changes` threads that each make a change. A lost wake-up is a deadlock, which
    /// fails the model.
    fn check(changes: usize, preemptions: usize, lasting: bool, request: fn(&Request)) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(move || {
            let shared = Arc::new(Shared::default());
            if lasting {
                shared.request.make_lasting();
            }
            let changing: Vec<_> = (0..changes)
                .map(|at| {
                    let shared = shared.clone();
                    thread::spawn(move || shared.change(at))
                })
                .collect();
            shared.sleep_until_all(changes, request);
            changing.into_iter().for_each(|thread| thread.join().expect("no panic"));
        });
    }

    #[test]
    fn a_sleeper_is_woken_by_a_change() {
        check(1, 5, false, Request::make);
        check(1, 5, true, Request::make);
        check(1, 5, true, Request::make_only);
    }

    #[test]
    fn a_sleeper_is_woken_by_the_last_of_two_changes() {
        check(2, 2, false, Request::make);
    }
}
