//! A flag line for each party; those who wait spin while that pays, then yield, then sleep.
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
//! *References.* J. Mellor-Crummey, M. Scott, *Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors*, ACM TOCS, 1991; A. Karlin, K. Li,
//! M. Manasse, S. Owicki, *Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor*, SOSP, 1991.

use super::{Barrier, Broken, Line};
use crate::shim::{AtomicBool, AtomicU32, AtomicU64, Futex, fence, spin_loop, yield_now};
use std::sync::atomic::Ordering;

/// How long a party watches before it sleeps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Looks at the flags with a pause of the processor after each, at most.
    pub(super) spins_max: u32,
    /// Looks at the flags with the core offered to others after each.
    pub(super) yields: u32,
}

/// What is always tried where spinning is allowed, so that it is found out when it pays again.
const SPINS_MIN: u32 = 16;

impl Patience {
    /// With fewer cores than parties, the one that is waited for may need this very core: no spins. The yields take some tens of microseconds where nobody wants
    /// the core, as falling asleep and being woken does: that is at most twice what the best choice would cost.
    pub(super) fn on(cores: usize, parties: usize) -> Patience {
        Patience { spins_max: if cores < parties { 0 } else { 256 }, yields: 256 }
    }

    /// The next number of spins, when the last wait needed so many looks, or when they were in vain: then the other may have been waiting for this core.
    fn adapt(self, spins: u32, looks: Option<u32>) -> u32 {
        let next = looks.map_or(spins / 2, |looks| spins.max(2 * looks));
        next.max(SPINS_MIN).min(self.spins_max)
    }
}

#[derive(Debug)]
pub(super) struct Adaptive {
    parties: Box<[Party]>,
    patience: Patience,
    broken: Line<AtomicBool>,
    bed: Line<Bed>,
}

#[derive(Debug)]
struct Party {
    /// The crossing that this party has come to: the line that others watch.
    flag: Line<AtomicU64>,
    /// How often it spins at present. Only its own thread uses it, so the model checker need not know.
    spins: Line<std::sync::atomic::AtomicU32>,
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
    pub(super) fn new(parties: usize, patience: Patience) -> Adaptive {
        let party = |_| Party { flag: Line::default(), spins: Line(patience.spins_max.into()) };
        Adaptive { parties: (0..parties).map(party).collect(), patience, broken: Line::default(), bed: Line::default() }
    }

    fn check(&self) -> Result<(), Broken> {
        // Ordering: Acquire; pairs with the Release in `break_up`.
        if self.broken.load(Ordering::Acquire) { Err(Broken) } else { Ok(()) }
    }

    /// Watches until all have come, or patience is at an end: then false.
    fn watch(&self, crossing: &mut Crossing<'_>) -> Result<bool, Broken> {
        let mine = &self.parties[crossing.party].spins;
        // Ordering: Relaxed, here and below; only this party's thread uses it.
        let spins = mine.load(Ordering::Relaxed);
        let mut needed = None;
        for look in 0..spins {
            if crossing.is_complete() {
                needed = Some(look);
                break;
            }
            self.check()?;
            spin_loop();
        }
        let next = self.patience.adapt(spins, needed);
        if next != spins {
            mine.store(next, Ordering::Relaxed);
        }
        for _ in 0..self.patience.yields {
            if crossing.is_complete() {
                return Ok(true);
            }
            self.check()?;
            yield_now();
        }
        Ok(crossing.is_complete())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spins_in_vain_become_fewer_and_come_back_when_they_pay() {
        let patience = Patience::on(4, 2);
        let mut spins = patience.spins_max;
        for _ in 0..10 {
            spins = patience.adapt(spins, None);
        }
        assert_eq!(spins, SPINS_MIN);
        for _ in 0..10 {
            spins = patience.adapt(spins, Some(spins - 1));
        }
        assert_eq!(spins, patience.spins_max);
        assert_eq!(patience.adapt(spins, Some(1)), spins, "more than is needed costs nothing");
        assert_eq!(Patience::on(1, 2).adapt(0, None), 0, "with fewer cores than parties, none");
    }
}
