//! What this crate is built of, from std and the operating system; under test from the model checker `loom`.

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

    /// Tells whether something takes longer than the project's own threads would make it take.
    pub(crate) struct Stopwatch(std::time::Instant);

    #[expect(clippy::disallowed_methods, reason = "only how threads wait for each other depends on it")]
    impl Stopwatch {
        pub(crate) fn start() -> Stopwatch {
            Stopwatch(std::time::Instant::now())
        }

        pub(crate) fn shows_long(self) -> bool {
            // Between a long window and the time slice of an operating system.
            self.0.elapsed() > std::time::Duration::from_micros(500)
        }
    }

    /// A number on whose change threads can sleep.
    #[derive(Debug, Default)]
    pub(crate) struct Futex {
        pub(crate) word: AtomicU32,
    }

    impl Futex {
        /// Sleeps while the number is `seen`. May return early: callers look again.
        pub(crate) fn wait(&self, seen: u32) {
            atomic_wait::wait(&self.word, seen);
        }

        /// Wakes one sleeper. The number must have been changed before.
        pub(crate) fn wake_one(&self) {
            atomic_wait::wake_one(&self.word);
        }

        /// Wakes all sleepers. The number must have been changed before.
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

    /// Spins of a thread in one execution whose interleavings are all tried.
    const SPINS: u32 = 4;

    loom::thread_local! {
        static SPUN: Cell<u32> = Cell::new(0);
    }

    /// Runs a test in every interleaving with up to so many preemptions.
    pub(crate) fn under_the_model(preemptions: usize, test: impl Fn() + Send + Sync + 'static) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(preemptions);
        model.check(test);
    }

    /// Loom is not fair: two threads that spin can hand the turn to each other for ever while the third could go on. So an execution with many spins is run
    /// to its end, where turns are taken fairly, but not varied any more.
    pub(crate) fn spin_loop() {
        let spun = SPUN.with(|spun| spun.replace(spun.get() + 1));
        if spun >= SPINS {
            loom::skip_branch();
        }
        loom::thread::yield_now();
    }

    pub(crate) fn yield_now() {
        spin_loop();
    }

    /// In the model no time passes.
    pub(crate) struct Stopwatch;

    impl Stopwatch {
        pub(crate) fn start() -> Stopwatch {
            Stopwatch
        }

        pub(crate) fn shows_long(self) -> bool {
            false
        }
    }

    /// As the real one. The lock is what makes comparing and falling asleep one step, as the operating system does.
    #[derive(Debug, Default)]
    pub(crate) struct Futex {
        pub(crate) word: AtomicU32,
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Futex {
        pub(crate) fn wait(&self, seen: u32) {
            let guard = self.lock.lock().expect("nothing panics under this lock");
            // Ordering: Relaxed; what the operating system reads publishes nothing, callers look again.
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
