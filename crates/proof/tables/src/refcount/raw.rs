//! Plain additions, for one thread: the least cost that counting can have, and the yardstick of all other
//! schemes.
//!
//! With more than one thread, counts get lost.

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::{Pool, Slot};
use std::sync::atomic::{AtomicU32, Ordering};

/// The scheme.
#[derive(Debug)]
pub struct Raw;

static POOL: Pool<AtomicU32> = Pool::new();

// Ordering: Relaxed, and a load and a store instead of one addition: the same instructions as for a plain
// integer.
impl Scheme for Raw {
    type Count = AtomicU32;

    fn take() -> &'static Slot<AtomicU32> {
        let slot = POOL.take();
        slot.count.store(1, Ordering::Relaxed);
        slot
    }

    #[inline]
    fn increment(slot: &'static Slot<AtomicU32>) {
        slot.count.store(slot.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    #[inline]
    fn decrement(slot: &'static Slot<AtomicU32>) {
        let left = slot.count.load(Ordering::Relaxed) - 1;
        slot.count.store(left, Ordering::Relaxed);
        if left == 0 {
            POOL.give_back(slot);
        }
    }

    fn in_use() -> usize {
        POOL.in_use()
    }
}
