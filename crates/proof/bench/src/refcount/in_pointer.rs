//! A count for each thread, to which the pointers of that thread lead, and from there to the object.
//!
//! *Idea.* A pointer cloned by the thread that made it shares its count: a plain addition. Cloned by another thread, it gets a count of that
//! thread's own, which is one atomic addition to the object. A count that falls to zero takes one from the object.
//!
//! *Cost.* A pointer dropped by another thread than the count's is counted apart, by an atomic addition. Only the count's own thread compares
//! the two; if the last drop is another's, the object is never given back. (The paper's pointers were not dropped elsewhere.)

use crate::refcount::Counted;
use crate::refcount::pool::{Pool, Slot};
use parades_core::digest::{Digest, Payload};
use parades_packet::multicast::SharedData;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// A pointer; as large as a plain one.
pub struct InPointer(&'static Local);

/// What an object carries.
#[derive(Debug, Default)]
struct Holders {
    /// How many counts there are that are not zero.
    counts: AtomicU32,
    /// Counts that are not used.
    spare: Mutex<Vec<&'static Local>>,
}

/// The count of one thread. It belongs to one object for ever, to one thread after the other.
struct Local {
    slot: &'static Slot<Holders>,
    thread: AtomicU32,
    /// References made by the thread, less those it dropped.
    count: AtomicU32,
    /// References dropped by others.
    away: AtomicU32,
}

static POOL: Pool<Holders> = Pool::new();
static THREADS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    // Ordering: Relaxed; numbers need only differ.
    static THIS_THREAD: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
}

#[inline]
fn this_thread() -> u32 {
    THIS_THREAD.with(|number| *number)
}

/// A count of one for this thread.
#[cold]
fn first(slot: &'static Slot<Holders>) -> &'static Local {
    // Ordering: Relaxed; who clones has a reference, or the object is its own. A spare count comes through its lock.
    slot.count.counts.fetch_add(1, Ordering::Relaxed);
    let spare = slot.count.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let zero = || AtomicU32::new(0);
    let local =
        spare.unwrap_or_else(|| Box::leak(Box::new(Local { slot, thread: zero(), count: zero(), away: zero() })));
    local.thread.store(this_thread(), Ordering::Relaxed);
    local.count.store(1, Ordering::Relaxed);
    local.away.store(0, Ordering::Relaxed);
    local
}

/// Gives a count of zero back, and with the last one the object.
#[cold]
fn last(local: &'static Local) {
    let slot = local.slot;
    slot.count.spare.lock().unwrap_or_else(PoisonError::into_inner).push(local);
    // Ordering: Release, and Acquire at the last one: the uses of all others come before the object is used again.
    if slot.count.counts.fetch_sub(1, Ordering::Release) == 1 {
        fence(Ordering::Acquire);
        POOL.give_back(slot);
    }
}

// Ordering, for `thread` and `count`: Relaxed. Only the count's thread writes them; others compare the thread with themselves, and it is
// not changed while there is a reference.
impl Clone for InPointer {
    #[inline]
    fn clone(&self) -> InPointer {
        let local = self.0;
        if local.thread.load(Ordering::Relaxed) != this_thread() {
            return InPointer(first(local.slot));
        }
        local.count.store(local.count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        InPointer(local)
    }
}

impl Drop for InPointer {
    #[inline]
    fn drop(&mut self) {
        let local = self.0;
        if local.thread.load(Ordering::Relaxed) != this_thread() {
            // Ordering: Release; pairs with the Acquire below: this use comes before the object is used again.
            local.away.fetch_add(1, Ordering::Release);
            return;
        }
        let count = local.count.load(Ordering::Relaxed) - 1;
        local.count.store(count, Ordering::Relaxed);
        if count == local.away.load(Ordering::Acquire) {
            last(local);
        }
    }
}

impl fmt::Debug for InPointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data {:016x}", self.0.slot.digest())
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Local { slot, thread, count, away } = self;
        write!(f, "object {}: {count:?} by thread {thread:?}, {away:?} elsewhere", slot.number)
    }
}

impl Payload for InPointer {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.0.slot.digest());
    }
}

impl SharedData for InPointer {
    fn write(data: &[u8]) -> InPointer {
        let slot = POOL.take();
        slot.write(data);
        InPointer(first(slot))
    }

    #[inline]
    fn read(&self, to: &mut [u8]) {
        self.0.slot.read(to);
    }
}

impl Counted for InPointer {
    fn in_use() -> usize {
        POOL.in_use()
    }
}
