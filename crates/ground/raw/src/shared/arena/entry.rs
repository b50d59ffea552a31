//! The counts of a slot, and the list of freed slots. These are the parts of an arena that several processes
//! change.
//!
//! *Why a slot is written only when nobody can read it.*
//! 1. A holder's reads come before its `release`, which has Release order. The release that finds the last
//!    count has an Acquire fence after it. So all reads of all holders come before the `push`.
//! 2. A `push` is a Release operation on the head of the list. Later pushes are read-modify-write operations,
//!    so they continue its release sequence. `take` has Acquire order, so it comes after every push
//!    whose slot it takes. The owner writes the slot after `take`.
//!
//! *Why a reader sees what was written.* The creator writes the bytes before `send`, which has Release order.
//! Every change of the counts is a read-modify-write operation, so `adopt`, with Acquire order, reads from
//! the release sequence of a `send`. Adopting needs a count in flight, so that `send` was after the last
//! `publish`.
//!
//! *Why there is no ABA problem.* A `push` compares the head only to link to it, and does not read the slot
//! behind the head. If the slot has been taken and pushed again in between, the link is still right. Nobody
//! pops a single slot: the owner takes the whole list.

#[cfg(test)]
use loom::sync::atomic::{AtomicU32, AtomicU64, fence};
use std::sync::atomic::Ordering;
#[cfg(not(test))]
use std::sync::atomic::{AtomicU32, AtomicU64, fence};

/// A count of one sent reference, which no process has adopted yet.
const IN_FLIGHT: u64 = 1 << 32;
/// A count of one holder.
const HELD: u64 = 1;
/// The most references in flight to one block. More would have to come from frames that nobody reads.
const IN_FLIGHT_MAX: u64 = 1 << 30;

/// The facts about a slot that all processes share. Memory of zeros is the entry of a free slot. It has a
/// cache line of its own: holders of neighbouring slots are in different processes.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(super) struct Entry {
    /// The number of holders in the lower half, and the number of references in flight in the upper half.
    counts: AtomicU64,
    /// The position of the slot's bytes in the memory. Written once, by the owner.
    pub(super) offset: AtomicU64,
    /// The length of the block, in bytes. Written while the slot is free.
    pub(super) length: AtomicU32,
    /// The size class. Written once, by the owner.
    pub(super) class: AtomicU32,
    /// The next slot of a list of freed slots, plus one; 0 at its end.
    next: AtomicU32,
}

impl Entry {
    /// Returns the slot after this one in a list of freed slots that [`Freed::take`] has returned.
    pub(super) fn next(&self) -> Option<u32> {
        // Ordering: Relaxed; the link was written before the push, and the list belongs to the owner.
        self.next.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Makes a free slot a block of one holder, before its bytes are written.
    pub(super) fn publish(&self, length: u32) {
        // Ordering: Relaxed; only the owner knows this slot until the first `send`, which has Release order.
        self.length.store(length, Ordering::Relaxed);
        self.counts.store(HELD, Ordering::Relaxed);
    }

    /// Adds a reference in flight. Only a holder may call it. Returns false if there are too many.
    pub(super) fn send(&self) -> bool {
        // Ordering: Release; pairs with the Acquire in `adopt`, which makes the bytes visible.
        let before = self.counts.fetch_add(IN_FLIGHT, Ordering::Release);
        let is_allowed = before / IN_FLIGHT < IN_FLIGHT_MAX;
        if !is_allowed {
            // Ordering: Relaxed; the caller is still a holder, so nothing is freed.
            self.counts.fetch_sub(IN_FLIGHT, Ordering::Relaxed);
        }
        is_allowed
    }

    /// Makes a reference in flight a holder. Returns false if none is in flight.
    pub(super) fn adopt(&self) -> bool {
        let moved = |counts: u64| (counts >= IN_FLIGHT).then(|| counts - IN_FLIGHT + HELD);
        // Ordering: Acquire; pairs with the Release in `send`.
        self.counts.fetch_update(Ordering::Acquire, Ordering::Relaxed, moved).is_ok()
    }

    /// Removes a holder. Returns true if the slot is free now.
    pub(super) fn release(&self) -> bool {
        // Ordering: Release; this holder's reads come before the release of the last holder.
        let is_last = self.counts.fetch_sub(HELD, Ordering::Release) == HELD;
        if is_last {
            // Ordering: Acquire; all other holders' reads come before what this process does next.
            fence(Ordering::Acquire);
        }
        is_last
    }
}

/// A list of freed slots of one size class, on a cache line of its own. Every process pushes; only the owner
/// takes.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Freed {
    /// The first slot, plus one; 0 if the list is empty.
    head: AtomicU32,
}

impl Freed {
    /// Adds a slot. `entry` is its entry.
    pub(super) fn push(&self, slot: u32, entry: &Entry) {
        // Ordering: Relaxed; the slot behind the head is not read.
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            // Ordering: Relaxed; the exchange below makes the link visible.
            entry.next.store(head, Ordering::Relaxed);
            // Ordering: Release; pairs with the Acquire in `take`.
            match self.head.compare_exchange_weak(head, slot + 1, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(changed) => head = changed,
            }
        }
    }

    /// Takes all slots. Returns the first, which [`Entry::next`] leads to the others: the slot that was freed
    /// last.
    pub(super) fn take(&self) -> Option<u32> {
        // Ordering: Acquire; pairs with the Release in `push`.
        self.head.swap(0, Ordering::Acquire).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    /// Slots as in an arena, with a cell each in place of bytes. Loom reports a cell that is read and
    /// written at the same time.
    struct Slots {
        freed: Freed,
        entries: [Entry; 2],
        bytes: [UnsafeCell<u32>; 2],
    }

    impl Slots {
        fn new() -> Arc<Slots> {
            let bytes = [UnsafeCell::new(0), UnsafeCell::new(0)];
            Arc::new(Slots { freed: Freed::default(), entries: Default::default(), bytes })
        }

        fn write(&self, slot: usize, value: u32) {
            self.entries[slot].publish(4);
            // SAFETY: loom checks that no other thread has access now.
            self.bytes[slot].with_mut(|bytes| unsafe { *bytes = value });
        }

        fn read(&self, slot: usize) -> u32 {
            // SAFETY: loom checks that no other thread writes now.
            self.bytes[slot].with(|bytes| unsafe { *bytes })
        }

        fn release(&self, slot: usize) {
            if self.entries[slot].release() {
                self.freed.push(u32::try_from(slot).unwrap(), &self.entries[slot]);
            }
        }

        fn taken(&self) -> Vec<u32> {
            std::iter::successors(self.freed.take(), |&slot| self.entries[slot as usize].next()).collect()
        }
    }

    #[test]
    fn a_slot_is_written_again_only_after_all_its_readers() {
        loom::model(|| {
            let slots = Slots::new();
            slots.write(0, 7);
            assert!(slots.entries[0].send() && slots.entries[0].send());
            let reader = || {
                let slots = Arc::clone(&slots);
                thread::spawn(move || {
                    assert!(slots.entries[0].adopt());
                    assert_eq!(slots.read(0), 7);
                    slots.release(0);
                })
            };
            let readers = [reader(), reader()];
            slots.release(0);
            let mut taken = slots.taken();
            if taken == [0] {
                slots.write(0, 8);
                slots.release(0);
                taken.clear();
            }
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            assert_eq!(slots.taken(), [0]);
        });
    }

    #[test]
    fn a_reader_sees_the_bytes_by_the_counts_alone() {
        loom::model(|| {
            let slots = Slots::new();
            let reader = {
                let slots = Arc::clone(&slots);
                thread::spawn(move || {
                    if slots.entries[0].adopt() {
                        assert_eq!(slots.read(0), 7);
                        slots.release(0);
                    }
                })
            };
            slots.write(0, 7);
            assert!(slots.entries[0].send());
            slots.release(0);
            reader.join().unwrap();
        });
    }

    #[test]
    fn no_freed_slot_is_lost_or_taken_twice() {
        loom::model(|| {
            let slots = Slots::new();
            (0..2).for_each(|slot| slots.write(slot, 0));
            let other = {
                let slots = Arc::clone(&slots);
                thread::spawn(move || slots.release(0))
            };
            let another = {
                let slots = Arc::clone(&slots);
                thread::spawn(move || slots.release(1))
            };
            let mut taken = slots.taken();
            [other, another].into_iter().for_each(|thread| thread.join().unwrap());
            taken.extend(slots.taken());
            taken.sort_unstable();
            assert_eq!(taken, [0, 1]);
        });
    }

    #[test]
    fn a_reference_is_adopted_once() {
        loom::model(|| {
            let slots = Slots::new();
            slots.write(0, 7);
            assert!(!slots.entries[0].adopt(), "nothing is in flight");
            assert!(slots.entries[0].send());
            let other = {
                let slots = Arc::clone(&slots);
                thread::spawn(move || slots.entries[0].adopt())
            };
            let here = slots.entries[0].adopt();
            assert!(here != other.join().unwrap());
        });
    }
}
