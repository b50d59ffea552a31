//! The primitives that this crate is built of: those of `std` and the operating system, and in tests those of
//! the model checker `loom`.

#[cfg(test)]
pub(crate) use modelled::*;
#[cfg(not(test))]
pub(crate) use real::*;

#[cfg(not(test))]
mod real {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
    pub(crate) use std::sync::{Condvar, Mutex};
    pub(crate) use std::thread::yield_now;

    /// A measurement of the time that some yields take.
    pub(crate) struct Stopwatch(std::time::Instant);

    #[expect(clippy::disallowed_methods, reason = "only how threads wait for each other depends on it")]
    impl Stopwatch {
        pub(crate) fn start() -> Stopwatch {
            Stopwatch(std::time::Instant::now())
        }

        pub(crate) fn took_long(self) -> bool {
            // The limit is more than a long window of an engine, and less than a time slice of the operating
            // system.
            self.0.elapsed() > std::time::Duration::from_micros(500)
        }
    }

    /// A number on which threads can sleep until it changes.
    #[derive(Debug, Default)]
    pub(crate) struct Futex {
        pub(crate) word: AtomicU32,
    }

    impl Futex {
        /// Sleeps while the number is `seen`. May return early, so callers check their condition again.
        pub(crate) fn wait(&self, seen: u32) {
            atomic_wait::wait(&self.word, seen);
        }

        /// Wakes one sleeper. The caller must have changed the number before.
        pub(crate) fn wake_one(&self) {
            atomic_wait::wake_one(&self.word);
        }

        /// Wakes all sleepers. The caller must have changed the number before.
        pub(crate) fn wake_all(&self) {
            atomic_wait::wake_all(&self.word);
        }
    }
}

#[cfg(test)]
mod modelled {
    use loom::sync::atomic::Ordering;
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, fence};
    pub(crate) use loom::sync::{Condvar, Mutex};
    use std::cell::Cell;

    /// Largest number of spins of one thread in an execution whose interleavings are all tried.
    const SPINS_MAX: u32 = 4;

    loom::thread_local! {
        static SPUN: Cell<u32> = Cell::new(0);
    }

    /// Runs `test` in every interleaving with at most `preemptions` preemptions.
    pub(crate) fn under_the_model(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(test);
    }

    /// Yields to the other threads of the model.
    ///
    /// Loom is not fair: it also tries executions in which two spinning threads run alternately forever,
    /// while a third could continue. So an execution with more than [`SPINS_MAX`] spins is only run to its
    /// end, with fair scheduling, and its interleavings are not varied any more.
    pub(crate) fn spin_loop() {
        let spun = SPUN.with(|spun| spun.replace(spun.get() + 1));
        if spun >= SPINS_MAX {
            loom::skip_branch();
        }
        loom::thread::yield_now();
    }

    pub(crate) fn yield_now() {
        spin_loop();
    }

    /// A measurement in which no time passes, as in the model.
    pub(crate) struct Stopwatch;

    impl Stopwatch {
        pub(crate) fn start() -> Stopwatch {
            Stopwatch
        }

        pub(crate) fn took_long(self) -> bool {
            false
        }
    }

    /// A model of the real futex. The operating system compares the number and falls asleep in one step; here
    /// the lock makes both one step.
    #[derive(Debug, Default)]
    pub(crate) struct Futex {
        pub(crate) word: AtomicU32,
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Futex {
        pub(crate) fn wait(&self, seen: u32) {
            let guard = self.lock.lock().expect("nothing panics under this lock");
            // Ordering: Relaxed. The operating system's read makes no other memory visible, and callers check
            // their condition again.
            if self.word.load(Ordering::Relaxed) == seen {
                drop(self.woken.wait(guard));
            }
        }

        pub(crate) fn wake_one(&self) {
            let _guard = self.lock.lock().expect("nothing panics under this lock");
            self.woken.notify_one();
        }

        pub(crate) fn wake_all(&self) {
            let _guard = self.lock.lock().expect("nothing panics under this lock");
            self.woken.notify_all();
        }
    }
}
