//! A barrier with a master and two alternating semaphores, as in the paper's section 3.2.
//!
//! Party 0, the master, takes one permit from each other party, then gives one to each. With a single
//! semaphore for the release, a fast party could take a slow one's permit and cross twice. So two semaphores
//! are used alternately.

use super::{Barrier, Broken};
use crate::padded::CachePadded;
use crate::shim::{AtomicBool, Futex};
use std::sync::atomic::Ordering;

#[derive(Debug)]
pub(super) struct SemaphoreBarrier {
    slaves: usize,
    master: CachePadded<Semaphore>,
    released: [CachePadded<Semaphore>; 2],
    /// The index of the semaphore that releases the present crossing.
    turn: CachePadded<AtomicBool>,
}

impl SemaphoreBarrier {
    pub(super) fn new(parties: usize) -> SemaphoreBarrier {
        SemaphoreBarrier {
            slaves: parties - 1,
            master: CachePadded::default(),
            released: Default::default(),
            turn: CachePadded::default(),
        }
    }
}

impl Barrier for SemaphoreBarrier {
    fn wait(&self, party: usize) -> Result<(), Broken> {
        // Ordering: Relaxed. The master writes the index after taking the others' permits and before giving
        // them new ones. The permits order this write with every read.
        let turn = self.turn.load(Ordering::Relaxed);
        let released = &self.released[usize::from(turn)];
        if party > 0 {
            self.master.post()?;
            return released.wait();
        }
        // A master without other parties would not notice a break below.
        self.master.check()?;
        for _ in 0..self.slaves {
            self.master.wait()?;
        }
        // Ordering: as above.
        self.turn.store(!turn, Ordering::Relaxed);
        for _ in 0..self.slaves {
            released.post()?;
        }
        Ok(())
    }

    fn break_up(&self) {
        for semaphore in self.released.iter().chain([&self.master]) {
            semaphore.break_up();
        }
    }
}

/// A counting semaphore in one word, so that no post can miss a waiter. The low half counts permits, the bits
/// above count waiters, and the highest bit means broken.
#[derive(Debug, Default)]
struct Semaphore(Futex);

const PERMIT: u32 = 1;
const PERMITS: u32 = WAITER - 1;
const WAITER: u32 = 1 << 16;
const BROKEN: u32 = 1 << 31;

impl Semaphore {
    fn check(&self) -> Result<(), Broken> {
        // Ordering: Acquire. It pairs with the Release in `break_up`.
        if self.0.word.load(Ordering::Acquire) & BROKEN != 0 { Err(Broken) } else { Ok(()) }
    }

    fn post(&self) -> Result<(), Broken> {
        let add = |word| (word & BROKEN == 0).then_some(word + PERMIT);
        // Ordering: Release. It pairs with the Acquire of the thread that takes the permit. Acquire on
        // failure pairs with `break_up`.
        let before = self.0.word.fetch_update(Ordering::Release, Ordering::Acquire, add).map_err(|_| Broken)?;
        if before >= WAITER {
            self.0.wake_one();
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), Broken> {
        // Ordering: Acquire, here and below. It pairs with the Release in `post` and in `break_up`.
        let mut word = self.0.word.load(Ordering::Acquire);
        let mut registered = 0;
        loop {
            if word & BROKEN != 0 {
                return Err(Broken);
            }
            let take = word & PERMITS > 0;
            if !take && registered > 0 {
                self.0.wait(word);
                // Ordering: as above.
                word = self.0.word.load(Ordering::Acquire);
                continue;
            }
            let next = if take { word - PERMIT - registered } else { word + WAITER };
            // Ordering: as above.
            match self.0.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) if take => return Ok(()),
                Ok(_) => (registered, word) = (WAITER, next),
                Err(now) => word = now,
            }
        }
    }

    fn break_up(&self) {
        // Ordering: Release. Parties that see the break also see what was written before it.
        self.0.word.fetch_or(BROKEN, Ordering::Release);
        self.0.wake_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn neither_permits_nor_waiters_are_left_over() {
        loom::model(|| {
            let semaphore = Arc::new(Semaphore::default());
            let taker = {
                let semaphore = semaphore.clone();
                loom::thread::spawn(move || semaphore.wait())
            };
            assert_eq!(semaphore.post(), Ok(()));
            assert_eq!(taker.join().expect("no panic"), Ok(()));
            assert_eq!(semaphore.0.word.load(Ordering::Relaxed), 0);
        });
    }
}
