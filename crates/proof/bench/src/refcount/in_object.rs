//! A count for each thread and object, and in the object the number of threads whose count is above zero.
//!
//! *Idea.* A thread adds to its own count, which nobody else touches; only when that rises above zero, or falls back to it, there is an
//! atomic addition to the object's. The counts of a thread are a list by the object's number (the paper had one key of thread-local
//! storage for each object, of which POSIX grants 1024).
//!
//! *Why it is correct.* A reference that one thread makes and another drops counts +1 there and -1 here. The counts of all threads add up
//! to the references alive; so while there is one, some thread's count is above zero, and the object is not given back. When none is
//! above zero, the sum is not either, so all are zero.
//!
//! *Cost.* That converse does not hold: what is dropped elsewhere than it was made may leave a count of +1 in one thread and of -1 in
//! another, and then the object is never given back. A thread that ends keeps its counts to itself, with the same effect.

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::{Pool, Slot};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// The scheme.
#[derive(Debug)]
pub struct InObject;

static POOL: Pool<AtomicU32> = Pool::new();

thread_local! {
    /// This thread's counts, by the number of the object.
    static COUNTS: RefCell<Vec<i32>> = const { RefCell::new(Vec::new()) };
}

/// Adds to this thread's count of an object; what it is then.
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
            // Ordering: Relaxed; who clones has a reference, so the count is not zero, or the object is its own.
            slot.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[inline]
    fn decrement(slot: &'static Slot<AtomicU32>) {
        // Ordering: Release, and Acquire at the last one: the uses of all others come before the object is used again.
        if add(slot, -1) == 0 && slot.count.fetch_sub(1, Ordering::Release) == 1 {
            fence(Ordering::Acquire);
            POOL.give_back(slot);
        }
    }

    fn in_use() -> usize {
        POOL.in_use()
    }
}
