//! A number on which threads of several processes sleep until it changes.

#[cfg(test)]
pub(super) use modelled::Futex;
#[cfg(not(test))]
pub(super) use real::Futex;

#[cfg(not(test))]
mod real {
    use std::ptr::null;
    use std::sync::atomic::AtomicU32;

    #[derive(Debug, Default)]
    #[repr(C, align(64))]
    pub(in super::super) struct Futex {
        pub(in super::super) word: AtomicU32,
    }

    impl Futex {
        /// Sleeps while the number is `seen`. May return early, so callers check their condition again.
        pub(in super::super) fn wait(&self, seen: u32) {
            let no_limit = null::<libc::timespec>();
            // SAFETY: the word is a number of 32 bits that outlives the call. The operation without the flag
            // `FUTEX_PRIVATE_FLAG` identifies the number by its place in the file. Every error means that
            // this thread need not sleep.
            unsafe { libc::syscall(libc::SYS_futex, self.word.as_ptr(), libc::FUTEX_WAIT, seen, no_limit) };
        }

        /// Wakes all sleepers. The caller must have changed the number before.
        pub(in super::super) fn wake_all(&self) {
            // SAFETY: the system uses only the address of the word.
            unsafe { libc::syscall(libc::SYS_futex, self.word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
        }
    }
}

#[cfg(test)]
mod modelled {
    use loom::sync::atomic::{AtomicU32, Ordering};
    use loom::sync::{Condvar, Mutex};

    /// A model of the real futex. The operating system compares the number and falls asleep in one step; here
    /// the lock makes both one step.
    #[derive(Debug, Default)]
    pub(in super::super) struct Futex {
        pub(in super::super) word: AtomicU32,
        lock: Mutex<()>,
        woken: Condvar,
    }

    impl Futex {
        pub(in super::super) fn wait(&self, seen: u32) {
            let guard = self.lock.lock().expect("nothing panics under this lock");
            // Ordering: Relaxed. The operating system's read makes no other memory visible.
            if self.word.load(Ordering::Relaxed) == seen {
                drop(self.woken.wait(guard));
            }
        }

        pub(in super::super) fn wake_all(&self) {
            let _guard = self.lock.lock().expect("nothing panics under this lock");
            self.woken.notify_all();
        }
    }
}
