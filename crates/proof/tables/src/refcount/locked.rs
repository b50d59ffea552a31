//! Additions under a lock, one for each object.

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::{Pool, Slot};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The scheme.
#[derive(Debug)]
pub struct Locked;

static POOL: Pool<Mutex<u32>> = Pool::new();

fn count(slot: &Slot<Mutex<u32>>) -> MutexGuard<'_, u32> {
    slot.count.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scheme for Locked {
    type Count = Mutex<u32>;

    fn take() -> &'static Slot<Mutex<u32>> {
        let slot = POOL.take();
        *count(slot) = 1;
        slot
    }

    #[inline]
    fn increment(slot: &'static Slot<Mutex<u32>>) {
        *count(slot) += 1;
    }

    #[inline]
    fn decrement(slot: &'static Slot<Mutex<u32>>) {
        let mut count = count(slot);
        *count -= 1;
        if *count == 0 {
            drop(count);
            POOL.give_back(slot);
        }
    }

    fn in_use() -> usize {
        POOL.in_use()
    }
}
