//! Each thread puts its increments and decrements into buffers, and hands full ones over; they are applied by one thread at a time, so
//! counts are plain integers.
//!
//! *Protocol.*
//! 1. A clone goes into the thread's buffer of increments, a drop into that of decrements. When one is full, both are handed over as a
//!    [`Batch`] with the next number.
//! 2. Whoever applies a batch (`Ledger::apply`) applies its increments at once, and notes its number as its thread's last.
//! 3. The decrements of a batch are applied when its number is at most the last of every thread.
//!
//! *Why an object is not given back too early.* Suppose a count falls to zero though some reference lives or its increment is not yet
//! applied. All references whose increments are applied have had their decrements applied, else the count were above zero. So some increment
//! is not applied; follow its reference to the one that it was cloned from, and so on, up to one, Q, whose own increment is applied (the first
//! reference counts from the start). A thread cloned Q after the last of its batches that are applied, v. Then Q was dropped, and the
//! number x of the batch with that decrement was drawn later than v: x > v. But by 3 it was not applied before x was at most v.
//!
//! A thread takes part from its first operation on, with the number drawn last as its own, and until a batch marked so is applied. One
//! that idles in between keeps everyone's decrements waiting; [`Counted::settle`] hands over what it has and lets it go.
//!
//! How batches are handed over is the parameter: [`Immediate`], [`ByThread`], [`LockFree`], [`AtBarrier`].
//!
//! [`Counted::settle`]: crate::refcount::Counted::settle

mod hand_over;

pub use hand_over::{AtBarrier, ByThread, Immediate, LockFree};

use crate::refcount::pointer::Scheme;
use crate::refcount::pool::{Pool, Slot};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::LocalKey;

type Object = &'static Slot<AtomicU32>;

/// The scheme: buffers of `SIZE` operations, handed over as `H` does.
#[derive(Debug)]
pub struct Buffered<H, const SIZE: usize>(PhantomData<H>);

/// How full buffers are handed over, and to whom.
pub trait HandOver: Send + Sync + Sized + 'static {
    /// The buffers of this thread.
    fn buffers() -> &'static LocalKey<RefCell<Buffers<Self>>>;
    /// Who applies them.
    fn ledger() -> &'static Ledger;
    /// Hands a batch over.
    fn hand_over(batch: Batch);
    /// Applies what was handed over and waits for someone who does that.
    fn apply_waiting() {}
    /// Called by each thread when it reaches a barrier.
    fn at_barrier() {}
}

/// For all of them: they differ in who counts, and not in what.
static POOL: Pool<AtomicU32> = Pool::new();

/// What one thread has put off.
#[derive(Debug)]
pub struct Buffers<H: HandOver> {
    /// `None` until the first operation, and after the thread was let go.
    thread: Option<u64>,
    /// How many operations a buffer takes; none before the thread takes part.
    room: usize,
    increments: Vec<Object>,
    decrements: Vec<Object>,
    by: PhantomData<H>,
}

impl<H: HandOver> Buffers<H> {
    pub(crate) const fn new() -> Buffers<H> {
        Buffers { thread: None, room: 0, increments: Vec::new(), decrements: Vec::new(), by: PhantomData }
    }

    /// Makes room for an operation more.
    #[cold]
    fn make_room(&mut self, size: usize) {
        if self.thread.is_none() {
            self.thread = Some(H::ledger().join());
            self.room = size;
        } else {
            self.hand_over(false);
        }
        self.increments.reserve_exact(size);
        self.decrements.reserve_exact(size);
    }

    fn hand_over(&mut self, is_leaving: bool) {
        let Some(thread) = self.thread else { return };
        let increments = std::mem::take(&mut self.increments);
        let decrements = std::mem::take(&mut self.decrements);
        H::hand_over(Batch { number: H::ledger().next_number(), thread, is_leaving, increments, decrements });
        if is_leaving {
            (self.thread, self.room) = (None, 0);
        }
    }
}

/// A thread that ends takes part no longer.
impl<H: HandOver> Drop for Buffers<H> {
    fn drop(&mut self) {
        self.hand_over(true);
    }
}

/// The two buffers of a thread, handed over.
#[derive(Debug)]
pub struct Batch {
    number: u64,
    thread: u64,
    /// Whether it is the last of its thread.
    is_leaving: bool,
    increments: Vec<Object>,
    decrements: Vec<Object>,
}

/// Who applies batches, and what is known of them.
#[derive(Debug)]
pub struct Ledger {
    /// The number drawn last.
    number: AtomicU64,
    state: Mutex<State>,
    /// Signalled when a thread has left.
    left: Condvar,
}

#[derive(Debug)]
struct State {
    /// The number of the last batch applied of each thread that takes part.
    last: BTreeMap<u64, u64>,
    threads: u64,
    /// Decrements that must wait, by the number of their batch.
    waiting: BTreeMap<u64, Vec<Object>>,
}

impl Ledger {
    pub(crate) const fn new() -> Ledger {
        let state = State { last: BTreeMap::new(), threads: 0, waiting: BTreeMap::new() };
        Ledger { number: AtomicU64::new(0), state: Mutex::new(state), left: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_number(&self) -> u64 {
        // Ordering: AcqRel; a number drawn after another one's use of an object is the greater one.
        self.number.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// A thread takes part from now on: its number.
    fn join(&self) -> u64 {
        let mut state = self.state();
        state.threads += 1;
        let thread = state.threads;
        // Ordering: Acquire; pairs with the drawing of numbers.
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

    /// Waits until a thread has left.
    fn wait_for(&self, thread: u64) {
        let state = self.state();
        let waited = self.left.wait_while(state, |state| state.last.contains_key(&thread));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Adds to a count, modulo 2^32.
#[inline]
fn add(slot: Object, amount: u32) -> u32 {
    // Ordering: Relaxed, and no atomic addition; whoever does this holds the ledger's lock.
    let count = slot.count.load(Ordering::Relaxed).wrapping_add(amount);
    slot.count.store(count, Ordering::Relaxed);
    count
}

impl<H: HandOver, const SIZE: usize> Buffered<H, SIZE> {
    /// Puts an operation into the buffer that `of` chooses.
    #[inline]
    fn put(slot: Object, of: impl Fn(&mut Buffers<H>) -> &mut Vec<Object>) {
        H::buffers().with_borrow_mut(|buffers| {
            let room = buffers.room;
            if of(buffers).len() >= room {
                buffers.make_room(SIZE);
            }
            of(buffers).push(slot);
        });
    }
}

impl<H: HandOver, const SIZE: usize> Scheme for Buffered<H, SIZE> {
    type Count = AtomicU32;

    fn take() -> Object {
        let slot = POOL.take();
        // Ordering: Relaxed; nobody else has it yet.
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
            buffers.hand_over(true);
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
