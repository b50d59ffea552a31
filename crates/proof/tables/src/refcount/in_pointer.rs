//! A count for each thread and object. The pointers of a thread lead to its count, and from there to the
//! object.
//!
//! *Idea.* A pointer that is cloned by the thread that made it shares the count of that thread: a plain
//! addition. A pointer that is cloned by another thread gets a count of that thread's own, which is one
//! atomic addition to the object. When a thread's count falls to zero, the object's count is lowered by one.
//!
//! *Cost.* A pointer dropped by another thread than the one of its count is counted apart, by an atomic
//! addition. Only the thread of the count compares the two numbers. Where another thread drops the last
//! pointer, the object is never returned to the pool. (The paper's pointers were dropped only by their own
//! threads.)

use crate::refcount::Counted;
use crate::refcount::pool::{Pool, Slot};
use parades_core::digest::{Digest, Payload};
use parades_packet::record::SharedData;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// A pointer, as large as a plain one.
pub struct InPointer(&'static Local);

/// The counts of an object.
#[derive(Debug, Default)]
struct Holders {
    /// The number of counts that are not zero.
    counts: AtomicU32,
    /// Counts that are not in use.
    spare: Mutex<Vec<&'static Local>>,
}

/// The count of one thread. It belongs to one object as long as the process runs, and to one thread after
/// another.
struct Local {
    slot: &'static Slot<Holders>,
    thread: AtomicU32,
    /// The references that the thread has made, less those that it has dropped.
    count: AtomicU32,
    /// The references that other threads have dropped.
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

/// Returns a count of one for this thread.
#[cold]
fn first(slot: &'static Slot<Holders>) -> &'static Local {
    // Ordering: Relaxed; the reference that is cloned keeps the count above zero, or the object is new. A
    // spare count comes through its lock.
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

/// Returns a count of zero to its object, and with the last count the object to the pool.
#[cold]
fn last(local: &'static Local) {
    let slot = local.slot;
    slot.count.spare.lock().unwrap_or_else(PoisonError::into_inner).push(local);
    // Ordering: Release, and Acquire at the last count: all uses by other threads happen before the object is
    // used again.
    if slot.count.counts.fetch_sub(1, Ordering::Release) == 1 {
        fence(Ordering::Acquire);
        POOL.give_back(slot);
    }
}

// Ordering, for `thread` and `count`: Relaxed. Only the thread of the count writes them. Another thread
// compares `thread` with itself; the value does not change while there is a reference.
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
            // Ordering: Release; pairs with the Acquire below: this use happens before the object is used
            // again.
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
