//! A ring of slot numbers, with one producer and one consumer.
//!
//! *Why a ring never overflows.* A lane has *n* slots and two rings of *n* places: one for the numbers of
//! filled slots, one for those of free slots. Each number is in one of the rings, or held by the sender or
//! the receiver. The sender holds the numbers of slots that were never used. The producer of a ring holds the
//! number that it pushes. So at most *n* - 1 numbers are in the ring.
//!
//! *Why no number is overwritten before it is read.* Push number *e* of a ring, counted from 0, uses the
//! place of push *e* - *n*. Its producer has popped *e* + 1 numbers from the other ring, or holds some of the
//! *n* at the start. So it has popped at least *e* + 1 - *n* numbers that the consumer pushed there. The
//! consumer pushed the last of them after its pop *e* - *n* of this ring. That push has Release order and the
//! producer's pop has Acquire order. So the read of the place comes before the write.
//!
//! *Why slots are exclusive.* The sender writes a slot before the push of its number, which has Release
//! order. The receiver pops the number with Acquire order, and reads the slot afterwards. The way back
//! through the other ring is the same. So reads and writes of a slot never overlap.

#[cfg(test)]
use loom::sync::atomic::AtomicU32;
#[cfg(not(test))]
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;

/// The number of pops or pushes so far, on a cache line of its own. It wraps.
#[derive(Debug, Default)]
#[cfg_attr(not(test), repr(C, align(64)))]
pub(super) struct Index(pub(super) AtomicU32);

/// The two ends of a ring: the index of level 1.
#[derive(Debug, Default)]
#[cfg_attr(not(test), repr(C))]
pub(super) struct Ends {
    /// The number of pops.
    pub(super) begin: Index,
    /// The number of pushes.
    pub(super) end: Index,
}

/// A ring of slot numbers. The number of places is a power of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring<'a> {
    pub(super) ends: &'a Ends,
    /// The numbers: the index of level 2.
    pub(super) numbers: &'a [AtomicU32],
}

impl Ring<'_> {
    fn place(&self, index: u32) -> &AtomicU32 {
        &self.numbers[index as usize % self.numbers.len()]
    }

    /// Appends a number that the caller holds. Only the producer calls this.
    pub(super) fn push(&self, number: u32) {
        // Ordering: Relaxed. Only the producer changes `end`.
        let end = self.ends.end.0.load(Ordering::Relaxed);
        // Ordering: Relaxed. The store of `end` publishes the number.
        self.place(end).store(number, Ordering::Relaxed);
        // Ordering: Release; pairs with the Acquire in `pop`.
        self.ends.end.0.store(end.wrapping_add(1), Ordering::Release);
    }

    /// Removes the first number, which the caller then holds. Only the consumer calls this.
    pub(super) fn pop(&self) -> Option<u32> {
        // Ordering: Relaxed. Only the consumer uses `begin`.
        let begin = self.ends.begin.0.load(Ordering::Relaxed);
        if self.is_empty() {
            return None;
        }
        // Ordering: Relaxed. The load of `end` in `is_empty` has made the number visible.
        let number = self.place(begin).load(Ordering::Relaxed);
        self.ends.begin.0.store(begin.wrapping_add(1), Ordering::Relaxed);
        Some(number)
    }

    /// Returns true if there is no number to pop. Only the consumer calls this.
    pub(super) fn is_empty(&self) -> bool {
        // Ordering: Acquire; pairs with the Release in `push`.
        let end = self.ends.end.0.load(Ordering::Acquire);
        // Ordering: Relaxed. Only the consumer uses `begin`.
        self.ends.begin.0.load(Ordering::Relaxed) == end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::thread;
    use std::sync::Arc;

    const SLOTS: u32 = 2;

    /// The memory of a lane. `UnsafeCell` fails the model if a read and a write of a slot are not ordered.
    struct Memory {
        filled: (Ends, Vec<AtomicU32>),
        free: (Ends, Vec<AtomicU32>),
        slots: Vec<UnsafeCell<u32>>,
    }

    impl Memory {
        fn new() -> Memory {
            let numbers = || (0..SLOTS).map(|_| AtomicU32::new(0)).collect();
            let memory = Memory {
                filled: (Ends::default(), numbers()),
                free: (Ends::default(), numbers()),
                slots: (0..SLOTS).map(|_| UnsafeCell::new(0)).collect(),
            };
            (0..SLOTS).for_each(|slot| memory.free().push(slot));
            memory
        }

        fn filled(&self) -> Ring<'_> {
            Ring { ends: &self.filled.0, numbers: &self.filled.1 }
        }

        fn free(&self) -> Ring<'_> {
            Ring { ends: &self.free.0, numbers: &self.free.1 }
        }
    }

    // SAFETY: the model checks every access of the cells.
    unsafe impl Send for Memory {}
    // SAFETY: as above.
    unsafe impl Sync for Memory {}

    #[test]
    fn messages_arrive_once_and_in_order_though_there_are_fewer_slots() {
        const MESSAGES: u32 = 5;
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(4);
        model.check(|| {
            let memory = Arc::new(Memory::new());
            let sender = {
                let memory = memory.clone();
                thread::spawn(move || {
                    for message in 0..MESSAGES {
                        let slot = loop {
                            if let Some(slot) = memory.free().pop() {
                                break slot;
                            }
                            thread::yield_now();
                        };
                        // SAFETY: the model checks that nobody else accesses the cell.
                        memory.slots[slot as usize].with_mut(|cell| unsafe { *cell = message });
                        memory.filled().push(slot);
                    }
                })
            };
            for expected in 0..MESSAGES {
                let slot = loop {
                    if let Some(slot) = memory.filled().pop() {
                        break slot;
                    }
                    thread::yield_now();
                };
                // SAFETY: the model checks that nobody writes the cell.
                let found = memory.slots[slot as usize].with(|cell| unsafe { *cell });
                assert_eq!(found, expected);
                memory.free().push(slot);
            }
            sender.join().expect("no panic");
            assert!(memory.filled().is_empty());
        });
    }
}
