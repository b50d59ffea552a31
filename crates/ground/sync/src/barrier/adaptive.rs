//! A flag line for each party; those who wait are patient for a while ([`Patience`]), then sleep.
//!
//! *Idea.* A party raises its own flag and watches the flags of the others, so a crossing costs one transfer of a cache line each way and no contended
//! counter. Who has waited for long sleeps on one word, the gate.
//!
//! *Protocol.*
//!
//! 1. `wait` stores the number of the crossing in the party's flag and looks at the others' until all have that number.
//! 2. If that takes long, `sleep`: count itself among the sleepers, fence, then sleep on the gate while some flag is missing.
//! 3. Who has seen all flags fences, and if there are sleepers, `wake`s them: the first to do so at this crossing changes the gate and wakes all.
//!
//! *Why no wake-up is lost.* All parties have come, and party *w* counts itself a sleeper. The fences have one order. Someone sees all flags: who fences last
//! does, at the latest. Take any such party *c*. If *w*'s fence is before *c*'s, then *c* sees a sleeper, and it or another who has seen all flags changes the
//! gate. Else *w* looks at the flags after *c*'s fence, and so sees all that *c* saw. When the gate changes after *w* has read it, *w* does not fall asleep on
//! it, or is woken; when before, *w*'s reading it acquires all flags.
//!
//! *Cost.* Each party reads each other's line, and the reads overlap: made for tens of parties, not for hundreds.
//!
//! *Reference.* J. Mellor-Crummey, M. Scott, *Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors*, ACM TOCS, 1991.

use super::{Barrier, Broken, Line};
use crate::patience::Patience;
use crate::shim::{AtomicBool, AtomicU32, AtomicU64, Futex, fence};
use std::sync::atomic::Ordering;

#[derive(Debug)]
pub(super) struct Adaptive {
    parties: Box<[Party]>,
    broken: Line<AtomicBool>,
    bed: Line<Bed>,
}

#[derive(Debug)]
struct Party {
    /// The crossing that this party has come to: the line that others watch.
    flag: Line<AtomicU64>,
    patience: Line<Patience>,
}

/// What only sleeping and waking touch.
#[derive(Debug, Default)]
struct Bed {
    sleepers: AtomicU32,
    /// Changes whenever sleepers must look again.
    gate: Futex,
    /// The last crossing whose sleepers were woken: once is enough.
    woken: AtomicU64,
}

impl Adaptive {
    /// For so many parties, each as patient as `patience` says.
    pub(super) fn new(parties: usize, patience: impl Fn() -> Patience) -> Adaptive {
        let party = |_| Party { flag: Line::default(), patience: Line(patience()) };
        Adaptive { parties: (0..parties).map(party).collect(), broken: Line::default(), bed: Line::default() }
    }

    fn check(&self) -> Result<(), Broken> {
        // Ordering: Acquire; pairs with the Release in `break_up`.
        if self.broken.load(Ordering::Acquire) { Err(Broken) } else { Ok(()) }
    }

    /// Watches until all have come, or patience is at an end: then false.
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
        // Ordering: Relaxed; the fence orders it before the looks at the flags. Pairs with the fence in `wait`.
        self.bed.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let result = loop {
            // Ordering: Acquire; pairs with the Release of who changed it, who had seen all flags, or had set `broken`.
            let gate = self.bed.gate.word.load(Ordering::Acquire);
            if self.check().is_err() {
                break Err(Broken);
            }
            if crossing.is_complete() {
                break Ok(());
            }
            self.bed.gate.wait(gate);
        };
        // Ordering: Relaxed; a count that is too high for a while costs a needless wake-up.
        self.bed.sleepers.fetch_sub(1, Ordering::Relaxed);
        result
    }

    #[cold]
    fn wake(&self, crossing: u64) {
        // Ordering: Relaxed; decides only who wakes. Who does, has itself seen all flags, and releases them by the gate.
        if self.bed.woken.fetch_max(crossing, Ordering::Relaxed) < crossing {
            self.open_gate();
        }
    }

    fn open_gate(&self) {
        // Ordering: Release; pairs with the Acquire in `sleep`. Only ever added to, so each change heads on what the earlier ones released.
        self.bed.gate.word.fetch_add(1, Ordering::Release);
        self.bed.gate.wake_all();
    }
}

impl Barrier for Adaptive {
    fn wait(&self, party: usize) -> Result<(), Broken> {
        self.check()?;
        if self.parties.len() == 1 {
            return Ok(());
        }
        let flag = &self.parties[party].flag;
        // Ordering: Relaxed; only this party writes its flag.
        let number = flag.load(Ordering::Relaxed) + 1;
        // Ordering: Release; pairs with the look at it in `is_complete` and the fence below.
        flag.store(number, Ordering::Release);
        let mut crossing = Crossing { parties: &self.parties, party, number, seen: 1 };
        if !self.watch(&mut crossing)? {
            self.sleep(&mut crossing)?;
        }
        // After the look at the flags rather than before it: meanwhile this party's own store has left the core, so the fence is short.
        // Ordering: SeqCst; pairs with the fence in `sleep`, and acquires what all parties wrote before they raised their flags.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed; ordered by the fence.
        if self.bed.sleepers.load(Ordering::Relaxed) > 0 {
            self.wake(number);
        }
        Ok(())
    }

    fn break_up(&self) {
        // Ordering: Release; what was written before the break is visible to those who see it.
        self.broken.store(true, Ordering::Release);
        self.open_gate();
    }
}

/// One party's look at one crossing.
struct Crossing<'a> {
    parties: &'a [Party],
    party: usize,
    number: u64,
    /// Parties known to have come: so many from this one on, round the ring, so that not all watch the same line.
    seen: usize,
}

impl Crossing<'_> {
    fn is_complete(&mut self) -> bool {
        let parties = self.parties.len();
        while self.seen < parties {
            let next = self.party + self.seen;
            let next = if next < parties { next } else { next - parties };
            // Ordering: Relaxed; the fence in `wait` acquires what the flags release. A flag may be one crossing ahead, never more.
            if self.parties[next].flag.load(Ordering::Relaxed) < self.number {
                return false;
            }
            self.seen += 1;
        }
        true
    }
}
