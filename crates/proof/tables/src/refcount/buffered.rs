//! Each thread puts its increments and decrements into buffers, and delivers full ones. One thread at a time
//! applies them, so counts are plain integers.
//!
//! *Protocol.*
//! 1. A clone goes into the thread's buffer of increments, a drop into its buffer of decrements. When one
//!    buffer is full, both are delivered as a [`Batch`] with the next number.
//! 2. The thread that applies a batch (`Ledger::apply`) applies its increments at once, and notes its number
//!    as the last one of the batch's thread.
//! 3. The decrements of a batch are applied when its number is at most the last of every thread.
//!
//! *Why no object is returned to the pool too early.* Suppose a count falls to zero although a reference R
//! lives, or the increment of R is not applied yet.
//!
//! - The count is zero. So each reference whose increment is applied has had its decrement applied as well,
//!   and the increment of R is not applied.
//! - R was cloned from another reference, that one from another, and so on. Let Q be the first reference on
//!   this path whose increment is applied. There is one: the first reference of all is counted from the
//!   start.
//! - Some thread cloned Q after the last of its applied batches, whose number is v. Q was dropped after that,
//!   so the number x of the batch with its decrement was drawn later: x > v.
//! - By the first step, the decrement of Q is applied. By rule 3 that happens only when x is at most v: a
//!   contradiction.
//!
//! A thread takes part from its first operation on. Its number is then the number drawn last. It takes part
//! until a batch that is marked as its last one is applied. A thread that does nothing in between keeps the
//! decrements of all threads waiting; [`Counted::settle`] delivers its buffers and releases it.
//!
//! The parameter says how batches are delivered: [`Immediate`], [`ByThread`], [`LockFree`], [`AtBarrier`].
//!
//! [`Counted::settle`]: crate::refcount::Counted::settle

mod delivery;

pub use delivery::{AtBarrier, ByThread, Immediate, LockFree};

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::{Pool, Slot};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::LocalKey;

type Object = &'static Slot<AtomicU32>;

/// The scheme: buffers of operations, delivered as `H` does it.
#[derive(Debug)]
pub struct Buffered<H>(PhantomData<H>);

/// The number of operations that a buffer holds before [`Buffered::set_size`]: the least of the paper.
const SIZE: usize = 1_000;

/// The way in which full buffers are delivered.
pub trait Delivery: Send + Sync + Sized + 'static {
    /// Returns the buffers of this thread.
    fn buffers() -> &'static LocalKey<RefCell<Buffers<Self>>>;
    /// Returns the ledger in which batches are applied.
    fn ledger() -> &'static Ledger;
    /// Delivers a batch.
    fn deliver(batch: Batch);
    /// Applies all delivered batches, or waits until another thread has applied them.
    fn apply_waiting() {}
    /// Called by each thread when it reaches a barrier.
    fn at_barrier() {}
}

/// One pool for all ways of delivering: they differ in the thread that counts, and not in the objects.
static POOL: Pool<AtomicU32> = Pool::new();

/// The operations of one thread that are not delivered yet.
#[derive(Debug)]
pub struct Buffers<H: Delivery> {
    /// The number of the thread; `None` before its first operation, and after it was released.
    thread: Option<u64>,
    /// The number of operations that a buffer holds; 0 before the thread takes part.
    room: usize,
    increments: Vec<Object>,
    decrements: Vec<Object>,
    by: PhantomData<H>,
}

impl<H: Delivery> Buffers<H> {
    pub(crate) const fn new() -> Buffers<H> {
        Buffers { thread: None, room: 0, increments: Vec::new(), decrements: Vec::new(), by: PhantomData }
    }

    /// Makes room for another operation.
    #[cold]
    fn make_room(&mut self) {
        if self.thread.is_none() {
            self.thread = Some(H::ledger().join());
            // Ordering: Relaxed; the size is set before the threads begin.
            self.room = H::ledger().size.load(Ordering::Relaxed);
        } else {
            self.deliver(false);
        }
        self.increments.reserve_exact(self.room);
        self.decrements.reserve_exact(self.room);
    }

    fn deliver(&mut self, is_leaving: bool) {
        let Some(thread) = self.thread else { return };
        let increments = std::mem::take(&mut self.increments);
        let decrements = std::mem::take(&mut self.decrements);
        H::deliver(Batch { number: H::ledger().next_number(), thread, is_leaving, increments, decrements });
        if is_leaving {
            (self.thread, self.room) = (None, 0);
        }
    }
}

/// A thread that ends takes part no more.
impl<H: Delivery> Drop for Buffers<H> {
    fn drop(&mut self) {
        self.deliver(true);
    }
}

/// The two buffers of a thread, to be applied.
#[derive(Debug)]
pub struct Batch {
    number: u64,
    thread: u64,
    /// True if it is the last batch of its thread.
    is_leaving: bool,
    increments: Vec<Object>,
    decrements: Vec<Object>,
}

/// The place where batches are applied.
#[derive(Debug)]
pub struct Ledger {
    /// The number of a batch that was drawn last.
    number: AtomicU64,
    /// The number of operations that the buffers of a thread hold, from its first operation on.
    size: AtomicUsize,
    state: Mutex<State>,
    /// Signalled when a thread takes part no more.
    left: Condvar,
}

#[derive(Debug)]
struct State {
    /// The number of the last applied batch of each thread that takes part.
    last: BTreeMap<u64, u64>,
    threads: u64,
    /// Decrements that cannot be applied yet, by the number of their batch.
    waiting: BTreeMap<u64, Vec<Object>>,
}

impl Ledger {
    pub(crate) const fn new() -> Ledger {
        let state = State { last: BTreeMap::new(), threads: 0, waiting: BTreeMap::new() };
        Ledger {
            number: AtomicU64::new(0),
            size: AtomicUsize::new(SIZE),
            state: Mutex::new(state),
            left: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_number(&self) -> u64 {
        // Ordering: AcqRel; a number drawn after another thread's use of an object is greater than the
        // numbers drawn before.
        self.number.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Lets a thread take part from now on. Returns its number.
    fn join(&self) -> u64 {
        let mut state = self.state();
        state.threads += 1;
        let thread = state.threads;
        // Ordering: Acquire; pairs with the AcqRel where numbers are drawn.
        state.last.insert(thread, self.number.load(Ordering::Acquire));
        thread
    }

    /// Applies a batch.
    pub(crate) fn apply(&self, batch: Batch) {
        let Batch { number, thread, is_leaving, increments, decrements } = batch;
        let mut state = self.state();
        for slot in increments {
            add(slot, 1);
        }
        if is_leaving {
            state.last.remove(&thread);
            self.left.notify_all();
        } else {
            state.last.insert(thread, number);
        }
        state.waiting.insert(number, decrements);
        let safe = state.last.values().min().copied().unwrap_or(u64::MAX);
        while let Some(first) = state.waiting.first_entry()
            && *first.key() <= safe
        {
            for slot in first.remove() {
                if add(slot, u32::MAX) == 0 {
                    POOL.give_back(slot);
                }
            }
        }
    }

    /// Waits until a thread takes part no more.
    fn wait_for(&self, thread: u64) {
        let state = self.state();
        let waited = self.left.wait_while(state, |state| state.last.contains_key(&thread));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Adds to a count, modulo 2^32.
#[inline]
fn add(slot: Object, amount: u32) -> u32 {
    // Ordering: Relaxed, and no atomic addition; the caller holds the ledger's lock.
    let count = slot.count.load(Ordering::Relaxed).wrapping_add(amount);
    slot.count.store(count, Ordering::Relaxed);
    count
}

impl<H: Delivery> Buffered<H> {
    /// Sets the number of operations that a buffer holds, for threads that take part from now on.
    pub fn set_size(size: usize) {
        // Ordering: Relaxed; threads that begin later see it.
        H::ledger().size.store(size, Ordering::Relaxed);
    }

    /// Puts an operation into the buffer that `of` chooses.
    #[inline]
    fn put(slot: Object, of: impl Fn(&mut Buffers<H>) -> &mut Vec<Object>) {
        H::buffers().with_borrow_mut(|buffers| {
            let room = buffers.room;
            if of(buffers).len() >= room {
                buffers.make_room();
            }
            of(buffers).push(slot);
        });
    }
}

impl<H: Delivery> Scheme for Buffered<H> {
    type Count = AtomicU32;

    fn take() -> Object {
        let slot = POOL.take();
        // Ordering: Relaxed; no other thread has the object yet.
        slot.count.store(1, Ordering::Relaxed);
        slot
    }

    #[inline]
    fn increment(slot: Object) {
        Self::put(slot, |buffers| &mut buffers.increments);
    }

    #[inline]
    fn decrement(slot: Object) {
        Self::put(slot, |buffers| &mut buffers.decrements);
    }

    fn settle() {
        let thread = H::buffers().with_borrow_mut(|buffers| {
            let thread = buffers.thread;
            buffers.deliver(true);
            thread
        });
        H::apply_waiting();
        if let Some(thread) = thread {
            H::ledger().wait_for(thread);
        }
    }

    #[inline]
    fn at_barrier() {
        H::at_barrier();
    }

    fn in_use() -> usize {
        POOL.in_use()
    }
}
