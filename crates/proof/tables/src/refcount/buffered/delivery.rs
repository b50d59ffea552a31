//! The ways in which full buffers are delivered.

use super::{Batch, Buffers, Delivery, Ledger};
use parades_raw::affinity::while_unbound;
use std::cell::RefCell;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::LocalKey;

/// The thread whose buffer is full applies it, under the ledger's lock.
#[derive(Debug)]
pub struct Immediate;

/// A thread of its own applies batches, which it takes from a list behind a lock.
#[derive(Debug)]
pub struct ByThread;

/// A thread of its own applies batches, which it receives from the standard library's channel: senders take
/// no lock.
#[derive(Debug)]
pub struct LockFree;

/// The first thread that reaches a barrier applies the batches of all threads.
#[derive(Debug)]
pub struct AtBarrier;

thread_local! {
    static IMMEDIATE: RefCell<Buffers<Immediate>> = const { RefCell::new(Buffers::new()) };
    static BY_THREAD: RefCell<Buffers<ByThread>> = const { RefCell::new(Buffers::new()) };
    static LOCK_FREE: RefCell<Buffers<LockFree>> = const { RefCell::new(Buffers::new()) };
    static AT_BARRIER: RefCell<Buffers<AtBarrier>> = const { RefCell::new(Buffers::new()) };
}

/// The ledgers, one for each way of delivering: a thread that takes part in one way does not take part in
/// another.
static LEDGERS: [Ledger; 4] = [const { Ledger::new() }; 4];

impl Delivery for Immediate {
    fn buffers() -> &'static LocalKey<RefCell<Buffers<Immediate>>> {
        &IMMEDIATE
    }

    fn ledger() -> &'static Ledger {
        &LEDGERS[0]
    }

    fn deliver(batch: Batch) {
        Immediate::ledger().apply(batch);
    }
}

/// A list of batches behind a lock.
type Store = Mutex<Vec<Batch>>;

fn open(store: &'static Store) -> MutexGuard<'static, Vec<Batch>> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

static FOR_THREAD: Store = Mutex::new(Vec::new());
static DELIVERED: Condvar = Condvar::new();

/// Applies batches as long as the process runs. This is the code of the thread of [`ByThread`].
fn apply_what_is_stored() {
    loop {
        let batches = DELIVERED.wait_while(open(&FOR_THREAD), |batches| batches.is_empty());
        let batches = std::mem::take(&mut *batches.unwrap_or_else(PoisonError::into_inner));
        batches.into_iter().for_each(|batch| ByThread::ledger().apply(batch));
    }
}

impl Delivery for ByThread {
    fn buffers() -> &'static LocalKey<RefCell<Buffers<ByThread>>> {
        &BY_THREAD
    }

    fn ledger() -> &'static Ledger {
        &LEDGERS[1]
    }

    fn deliver(batch: Batch) {
        static STARTED: Once = Once::new();
        STARTED.call_once(|| drop(while_unbound(|| std::thread::spawn(apply_what_is_stored))));
        open(&FOR_THREAD).push(batch);
        DELIVERED.notify_one();
    }
}

impl Delivery for LockFree {
    fn buffers() -> &'static LocalKey<RefCell<Buffers<LockFree>>> {
        &LOCK_FREE
    }

    fn ledger() -> &'static Ledger {
        &LEDGERS[2]
    }

    fn deliver(batch: Batch) {
        static SENDER: OnceLock<Sender<Batch>> = OnceLock::new();
        let sender = SENDER.get_or_init(|| {
            let (sender, batches) = channel();
            let apply = move || batches.into_iter().for_each(|batch| LockFree::ledger().apply(batch));
            drop(while_unbound(|| std::thread::spawn(apply)));
            sender
        });
        sender.send(batch).expect("the thread that applies batches waits for them until the process ends");
    }
}

static FOR_BARRIER: Store = Mutex::new(Vec::new());

impl Delivery for AtBarrier {
    fn buffers() -> &'static LocalKey<RefCell<Buffers<AtBarrier>>> {
        &AT_BARRIER
    }

    fn ledger() -> &'static Ledger {
        &LEDGERS[3]
    }

    fn deliver(batch: Batch) {
        open(&FOR_BARRIER).push(batch);
    }

    fn apply_waiting() {
        apply_in_order(open(&FOR_BARRIER));
    }

    /// A thread that comes while another one applies the batches has nothing to do.
    fn at_barrier() {
        if let Ok(stored) = FOR_BARRIER.try_lock() {
            apply_in_order(stored);
        }
    }
}

/// Applies batches under a lock of their own: the last batch of a thread must not overtake an earlier one
/// that another thread has taken from the list.
fn apply_in_order(mut stored: MutexGuard<'_, Vec<Batch>>) {
    stored.drain(..).for_each(|batch| AtBarrier::ledger().apply(batch));
}
