//! A barrier with a flag for each party. A party that waits is patient for a while ([`Patience`]), then
//! sleeps.
//!
//! *Idea.* A party raises its own flag and watches the flags of the others. So a crossing costs one transfer
//! of a cache line in each direction, and no shared counter. A party that has waited long sleeps on one word,
//! the gate.
//!
//! *Protocol.*
//!
//! 1. `wait` stores the number of the crossing in the party's flag. It then reads the flags of the others
//!    until all have that number.
//! 2. If that takes long, the party calls `sleep`. There it counts itself among the sleepers, fences, and
//!    sleeps on the gate while a flag is missing.
//! 3. A party that has seen all flags fences. If it then finds sleepers, it calls `wake`. The first party to
//!    do so at this crossing changes the gate and wakes all.
//!
//! *Why no wake-up is lost.* Suppose that all parties have arrived at a crossing, and that party *w* has
//! counted itself a sleeper there.
//!
//! 1. The fences are SeqCst, so they have one order. At least one party sees all flags: either before it
//!    would sleep, or else the party whose fence in `sleep` is the last. That party reads the flags after its
//!    fence, and every flag was stored before its owner's fence.
//! 2. Let *c* be any party that has seen all flags.
//!    - If *w*'s fence comes before *c*'s, then *c* finds a sleeper. So *c*, or another party that has seen
//!      all flags, changes the gate.
//!    - Otherwise *w* reads the flags after *c*'s fence. It sees all the flags that *c* saw, and does not
//!      sleep.
//! 3. If the gate changes after *w* has read it, *w* does not fall asleep on it, or is woken. If the gate
//!    changes before, *w*'s Acquire read of the gate makes all flags visible, and *w* does not sleep.
//!
//! *Cost.* Each party reads the line of each other party, and the reads overlap. This suits tens of parties,
//! not hundreds.
//!
//! *Reference.* J. Mellor-Crummey, M. Scott, *Algorithms for Scalable Synchronization on Shared-Memory
//! Multiprocessors*, ACM TOCS, 1991.

use super::{Barrier, Broken};
use crate::padded::CachePadded;
use crate::patience::Patience;
use crate::shim::{AtomicBool, AtomicU32, AtomicU64, Futex, fence};
use std::sync::atomic::Ordering;

#[derive(Debug)]
pub(super) struct Adaptive {
    parties: Box<[Party]>,
    broken: CachePadded<AtomicBool>,
    sleeping: CachePadded<Sleeping>,
}

#[derive(Debug)]
struct Party {
    /// The number of the crossing at which this party has arrived. The other parties watch this line.
    flag: CachePadded<AtomicU64>,
    patience: CachePadded<Patience>,
}

/// The state that only sleeping and waking use.
#[derive(Debug, Default)]
struct Sleeping {
    sleepers: AtomicU32,
    /// A number that changes whenever sleepers must check again.
    gate: Futex,
    /// The last crossing whose sleepers were woken. Waking them once suffices.
    woken: AtomicU64,
}

impl Adaptive {
    /// Creates a barrier for `parties` parties. `patience` makes the patience of each.
    pub(super) fn new(parties: usize, patience: impl Fn() -> Patience) -> Adaptive {
        let party = |_| Party { flag: CachePadded::default(), patience: CachePadded(patience()) };
        Adaptive {
            parties: (0..parties).map(party).collect(),
            broken: CachePadded::default(),
            sleeping: CachePadded::default(),
        }
    }

    fn check(&self) -> Result<(), Broken> {
        // Ordering: Acquire. It pairs with the Release in `break_up`.
        if self.broken.load(Ordering::Acquire) { Err(Broken) } else { Ok(()) }
    }

    /// Watches the flags. Returns true when all parties have arrived, and false when patience ends first.
    fn watch(&self, crossing: &mut Crossing<'_>) -> Result<bool, Broken> {
        let looked = self.parties[crossing.party].patience.watch(|| {
            if crossing.is_complete() {
                return Some(Ok(true));
            }
            self.check().err().map(Err)
        });
        looked.unwrap_or(Ok(false))
    }

    #[cold]
    fn sleep(&self, crossing: &mut Crossing<'_>) -> Result<(), Broken> {
        // Ordering: Relaxed. The fence orders this write before the reads of the flags. It pairs with the
        // fence in `wait`.
        self.sleeping.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let result = loop {
            // Ordering: Acquire. It pairs with the Release of the thread that changed the gate. Before, that
            // thread had seen all flags or set `broken`.
            let gate = self.sleeping.gate.word.load(Ordering::Acquire);
            if self.check().is_err() {
                break Err(Broken);
            }
            if crossing.is_complete() {
                break Ok(());
            }
            self.sleeping.gate.wait(gate);
        };
        // Ordering: Relaxed. While the count is too high, it costs a needless wake-up.
        self.sleeping.sleepers.fetch_sub(1, Ordering::Relaxed);
        result
    }

    #[cold]
    fn wake(&self, crossing: u64) {
        // Ordering: Relaxed. This only decides which party wakes the sleepers. That party has seen all flags
        // itself, and the gate publishes them.
        if self.sleeping.woken.fetch_max(crossing, Ordering::Relaxed) < crossing {
            self.open_gate();
        }
    }

    fn open_gate(&self) {
        // Ordering: Release. It pairs with the Acquire in `sleep`. The gate changes by additions only, so
        // each change also publishes the data that earlier changes published.
        self.sleeping.gate.word.fetch_add(1, Ordering::Release);
        self.sleeping.gate.wake_all();
    }
}

impl Barrier for Adaptive {
    fn wait(&self, party: usize) -> Result<(), Broken> {
        self.check()?;
        if self.parties.len() == 1 {
            return Ok(());
        }
        let flag = &self.parties[party].flag;
        // Ordering: Relaxed. Only this party writes its flag.
        let number = flag.load(Ordering::Relaxed) + 1;
        // Ordering: Release. It pairs with the read in `is_complete` together with the fence below.
        flag.store(number, Ordering::Release);
        let mut crossing = Crossing { parties: &self.parties, party, number, seen: 1 };
        if !self.watch(&mut crossing)? {
            self.sleep(&mut crossing)?;
        }
        // The fence comes after the flags were read, not before. By then this party's own store has left the
        // core, so the fence takes little time.
        // Ordering: SeqCst. It pairs with the fence in `sleep`, and makes visible what all parties wrote
        // before they raised their flags.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed. The fence orders this read after those of the flags.
        if self.sleeping.sleepers.load(Ordering::Relaxed) > 0 {
            self.wake(number);
        }
        Ok(())
    }

    fn break_up(&self) {
        // Ordering: Release. Parties that see the break also see what was written before it.
        self.broken.store(true, Ordering::Release);
        self.open_gate();
    }
}

/// The reading of all flags by one party at one crossing.
struct Crossing<'a> {
    parties: &'a [Party],
    party: usize,
    number: u64,
    /// The number of parties known to have arrived: this one and those that follow it. Each party begins with
    /// its own successor, so that not all read the same line at once.
    seen: usize,
}

impl Crossing<'_> {
    fn is_complete(&mut self) -> bool {
        let parties = self.parties.len();
        while self.seen < parties {
            let next = self.party + self.seen;
            let next = if next < parties { next } else { next - parties };
            // Ordering: Relaxed. The fence in `wait` makes visible what the flags publish. A flag may be one
            // crossing ahead, never more.
            if self.parties[next].flag.load(Ordering::Relaxed) < self.number {
                return false;
            }
            self.seen += 1;
        }
        true
    }
}
