//! Atomic operations on one counter: additions, as in the standard library's `Arc`, and the paper's variant
//! of them.

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::{Pool, Slot};
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// The scheme of an atomic addition for each clone and each drop.
#[derive(Debug)]
pub struct Add;

static ADD: Pool<AtomicU32> = Pool::new();

fn take(pool: &'static Pool<AtomicU32>) -> &'static Slot<AtomicU32> {
    let slot = pool.take();
    // Ordering: Relaxed; no other thread has the object yet.
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
        // Ordering: Relaxed; the reference that is cloned keeps the count above zero.
        slot.count.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn decrement(slot: &'static Slot<AtomicU32>) {
        // Ordering: Release, and Acquire at the last reference: all uses by other threads happen before the
        // object is used again.
        if slot.count.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            ADD.give_back(slot);
        }
    }

    fn in_use() -> usize {
        ADD.in_use()
    }
}

/// The scheme in which a drop reads the count first. If the count is one, no other thread has a reference,
/// and there is nothing to write. Otherwise the drop lowers the count by a compare-and-exchange. This
/// scheme is cheaper than [`Add`] for objects that have only one or two references in their life.
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
        // Ordering: Acquire where the last reference is seen, and Release where a reference is dropped; as
        // for `Add`.
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
