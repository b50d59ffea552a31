//! Copying through MPI: each byte string is one message, sent by `MPI_Isend` and completed before the next.
//!
//! The worker of the rank calls MPI itself, as in the paper. So a rank has one worker.

use parades_mpi::{Messenger, System};
use parades_transport::{Bell, Fabric, Lost};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

thread_local! {
    /// MPI, on the thread that has initialised it.
    static SYSTEM: RefCell<Option<System>> = const { RefCell::new(None) };
}

/// The fabric of one rank. All its functions are called by the thread that opened it.
pub(super) struct PlainMpi {
    rank: usize,
    ranks: usize,
    /// Messages that arrived while this rank sent.
    stash: Mutex<VecDeque<(usize, Vec<u8>)>>,
    bell: Mutex<Option<Bell>>,
}

/// The content of each of these locks is consistent whenever the lock is free.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with_system<T>(call: impl FnOnce(&System) -> T) -> T {
    SYSTEM.with_borrow(|system| call(system.as_ref().expect("this thread has opened MPI")))
}

impl PlainMpi {
    /// Initialises MPI on this thread.
    pub(super) fn open() -> Result<PlainMpi, String> {
        let system = System::open()?;
        let (rank, ranks) = (system.rank(), system.ranks());
        SYSTEM.set(Some(system));
        Ok(PlainMpi { rank, ranks, stash: Mutex::default(), bell: Mutex::default() })
    }
}

/// Waits for all ranks, and finalises MPI on this thread.
pub(super) fn close() {
    with_system(|system| system.gather_all(&[]));
    SYSTEM.take();
}

impl Fabric for PlainMpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        with_system(|system| {
            system.send_all(&[(to, bytes)], &mut |is_sent| {
                while !is_sent() {
                    lock(&self.stash).extend(std::iter::from_fn(|| system.receive()));
                }
            });
        });
    }

    fn receive(&self, accept: &mut dyn FnMut(usize, &[u8])) {
        lock(&self.stash).drain(..).for_each(|(from, bytes)| accept(from, &bytes));
        with_system(|system| std::iter::from_fn(|| system.receive()).for_each(|(from, bytes)| accept(from, &bytes)));
    }

    fn set_bell(&self, bell: Bell) {
        *lock(&self.bell) = Some(bell);
    }

    /// Rings at once: nobody else could notice the next message. The worker then looks again, after other
    /// ranks had the chance to run.
    fn request_bell(&self) {
        std::thread::yield_now();
        let bell = lock(&self.bell).clone();
        bell.inspect(|bell| bell());
    }

    /// MPI ends all ranks if one of them ends.
    fn lost(&self, _: usize) -> Option<Lost> {
        None
    }
}
