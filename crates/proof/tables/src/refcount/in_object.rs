//! A count for each thread and object, and in the object the number of threads whose count is above zero.
//!
//! *Idea.* A thread adds to its own count, which no other thread touches. Only when that count rises above
//! zero, or falls back to zero, is there an atomic addition to the object's count. The counts of a thread are
//! a list by the number of the object. (The paper had a key of thread-local storage for each object, of which
//! POSIX grants 1024.)
//!
//! *Why it is correct.* A reference that one thread makes and another drops counts +1 in the one and -1 in
//! the other. So the counts of all threads together are the number of references. While there is a reference,
//! the count of some thread is above zero, and the object is not returned to the pool. When no count is above
//! zero, the sum is not above zero either, so there is no reference, and all counts are zero.
//!
//! *Cost.* The opposite does not hold. If one thread makes a reference and another drops it, a count of +1
//! may remain in the first and one of -1 in the second. Then the object is never returned. A thread that ends
//! takes its counts with it, with the same effect.

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::{Pool, Slot};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// The scheme.
#[derive(Debug)]
pub struct InObject;

static POOL: Pool<AtomicU32> = Pool::new();

thread_local! {
    /// The counts of this thread, by the number of the object.
    static COUNTS: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) };
}

/// Adds to this thread's count of an object. Returns the new count.
#[inline]
fn add(slot: &Slot<AtomicU32>, amount: i32) -> i32 {
    COUNTS.with_borrow_mut(|counts| {
        let number = slot.number as usize;
        if number >= counts.len() {
            counts.resize(number + 1, 0);
        }
        counts[number] += amount;
        counts[number]
    })
}

impl Scheme for InObject {
    type Count = AtomicU32;

    fn take() -> &'static Slot<AtomicU32> {
        let slot = POOL.take();
        InObject::increment(slot);
        slot
    }

    #[inline]
    fn increment(slot: &'static Slot<AtomicU32>) {
        if add(slot, 1) == 1 {
            // Ordering: Relaxed; the reference that is cloned keeps the count above zero, or the object is
            // new.
            slot.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[inline]
    fn decrement(slot: &'static Slot<AtomicU32>) {
        // Ordering: Release, and Acquire at the last reference: all uses by other threads happen before the
        // object is used again.
        if add(slot, -1) == 0 && slot.count.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            POOL.give_back(slot);
        }
    }

    fn in_use() -> usize {
        POOL.in_use()
    }
}
