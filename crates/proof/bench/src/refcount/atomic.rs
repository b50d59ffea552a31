//! Atomic operations on one counter: additions, as the standard library's `Arc` does them; and the paper's variant.

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::{Pool, Slot};
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// An addition for each clone and each drop.
#[derive(Debug)]
pub struct Add;

static ADD: Pool<AtomicU32> = Pool::new();

fn take(pool: &'static Pool<AtomicU32>) -> &'static Slot<AtomicU32> {
    let slot = pool.take();
    // Ordering: Relaxed; nobody else has it yet.
    slot.count.store(1, Ordering::Relaxed);
    slot
}

impl Scheme for Add {
    type Count = AtomicU32;

    fn take() -> &'static Slot<AtomicU32> {
        take(&ADD)
    }

    #[inline]
    fn increment(slot: &'static Slot<AtomicU32>) {
        // Ordering: Relaxed; who clones has a reference, so the count is not zero.
        slot.count.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn decrement(slot: &'static Slot<AtomicU32>) {
        // Ordering: Release, and Acquire at the last one: the uses of all others come before the object is used again.
        if slot.count.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            ADD.give_back(slot);
        }
    }

    fn in_use() -> usize {
        ADD.in_use()
    }
}

/// A drop reads the count first. Where it is one, nobody else has a reference, and there is nothing to write; else it exchanges the count
/// for one less. Cheaper for objects that are dropped once or twice.
#[derive(Debug)]
pub struct Compare;

static COMPARE: Pool<AtomicU32> = Pool::new();

impl Scheme for Compare {
    type Count = AtomicU32;

    fn take() -> &'static Slot<AtomicU32> {
        take(&COMPARE)
    }

    #[inline]
    fn increment(slot: &'static Slot<AtomicU32>) {
        // Ordering: Relaxed; as for `Add`.
        slot.count.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn decrement(slot: &'static Slot<AtomicU32>) {
        // Ordering: Acquire where the one left is seen, and Release where one is taken; as for `Add`.
        let mut count = slot.count.load(Ordering::Acquire);
        while count > 1 {
            match slot.count.compare_exchange_weak(count, count - 1, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return,
                Err(found) => count = found,
            }
        }
        COMPARE.give_back(slot);
    }

    fn in_use() -> usize {
        COMPARE.in_use()
    }
}
