//! A pool of workers that help one thread, the leader, with one round of tasks after another.
//!
//! *Idea.* The leader opens a round of `n` tasks. Every free thread takes the next task by one addition. The
//! leader takes tasks too, or sleeps, and continues when all tasks are done. A worker may be late, because it
//! sleeps or lost its core. It then finds no task left, and no thread has waited for it. With a pair of
//! barriers around each round, all threads would wait for the latest worker.
//!
//! *Protocol.* One word, the *ticket*, holds the number of tasks in its upper half and the next task in its
//! lower half.
//!
//! 1. `open` sets `done` to zero, sets the ticket to `(n, 0)`, and rings for the workers.
//! 2. `take_all` adds one to the ticket. The old value holds both halves, so a thread never takes a task that
//!    does not belong to the round.
//! 3. After each task, the thread adds one to `done`. The thread that finishes the last task rings for the
//!    leader.
//!
//! *Invariants.*
//!
//! - A round is opened only when all tasks of the previous round are done. So `done` counts tasks of one
//!   round only.
//! - The lower half never overflows into the upper half. Beyond the tasks, it grows by one for each
//!   unsuccessful attempt. A worker makes one such attempt for each ring, and `open` resets the ticket.
//!
//! *Reference.* The *parmap* of SimGrid: M. Quinson, C. Rosa, C. Thiéry, *Parallel Simulation of Peer-to-Peer
//! Systems*, CCGrid 2012.

use crate::barrier::Broken;
use crate::padded::CachePadded;
use crate::patience::Patience;
use crate::shim::{AtomicBool, AtomicU64, Condvar, Futex, Mutex, fence, spin_loop};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The way in which threads without a task wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// Watches for a while, then sleeps ([`Patience`]).
    #[default]
    Adaptive,
    /// Sleeps at once, on a futex of the operating system.
    Futex,
    /// Sleeps at once, with a mutex and a condition variable.
    Posix,
    /// Never sleeps, and keeps the core busy.
    Busy,
}

/// The tasks of the present round, and the threads that execute them.
///
/// # Examples
///
/// ```
/// use parades_sync::pool::{Pool, Waiting};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// let pool = Pool::new(1, Waiting::default());
/// let sum = AtomicU64::new(0);
/// let add = |task: u32| { sum.fetch_add(u64::from(task), Ordering::Relaxed); };
/// std::thread::scope(|scope| {
///     scope.spawn(|| pool.work(0, add));
///     for _ in 0..3 {
///         pool.round(5, add).unwrap(); // This thread executes tasks too.
///     }
///     pool.close();
/// });
/// assert_eq!(sum.into_inner(), 3 * (0 + 1 + 2 + 3 + 4));
/// ```
#[derive(Debug)]
pub struct Pool {
    ticket: CachePadded<AtomicU64>,
    done: CachePadded<AtomicU64>,
    /// True if no further round will be opened.
    closed: AtomicBool,
    /// True if a worker has failed.
    broken: AtomicBool,
    workers: Box<[Bell]>,
    leader: Bell,
}

const TASKS: u32 = u32::BITS;

impl Pool {
    /// Creates a pool for `workers` workers beside the leader.
    pub fn new(workers: usize, waiting: Waiting) -> Pool {
        let bell = || Bell::new(waiting, workers + 1);
        Pool {
            ticket: CachePadded::default(),
            done: CachePadded::default(),
            closed: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            workers: (0..workers).map(|_| bell()).collect(),
            leader: bell(),
        }
    }

    /// Returns the number of workers beside the leader.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// Executes tasks of one round after another, until the pool is closed. Each worker calls this once.
    pub fn work(&self, worker: usize, mut execute: impl FnMut(u32)) {
        let _alarm = Alarm(self);
        let bell = &self.workers[worker];
        loop {
            let seen = bell.count();
            // Ordering: Acquire. It pairs with the Release in `close`.
            if self.closed.load(Ordering::Acquire) {
                return;
            }
            self.take_all(&mut execute);
            bell.wait(seen);
        }
    }

    /// Opens a round of `tasks` tasks, executes some of them in this thread, the leader, and returns when all
    /// tasks are done.
    ///
    /// # Errors
    ///
    /// Returns [`Broken`] if a worker has failed. Some of the tasks may then never be done.
    pub fn round(&self, tasks: u32, execute: impl FnMut(u32)) -> Result<(), Broken> {
        self.open(tasks, tasks.saturating_sub(1));
        self.take_all(execute);
        self.wait_for(tasks)
    }

    /// Opens a round as [`Pool::round`] does, but leaves all tasks to the workers.
    ///
    /// # Errors
    ///
    /// Returns [`Broken`] where [`Pool::round`] does.
    ///
    /// # Panics
    ///
    /// Panics if there are no workers.
    pub fn delegate(&self, tasks: u32) -> Result<(), Broken> {
        assert!(self.workers() > 0, "there is no worker to delegate {tasks} tasks to");
        self.open(tasks, tasks);
        self.wait_for(tasks)
    }

    /// Opens a round, and rings for `wanted` workers, or for all if there are fewer.
    fn open(&self, tasks: u32, wanted: u32) {
        // Ordering: Relaxed. A thread adds to `done` only after it has taken a task, and the ticket below
        // publishes this write to that thread.
        self.done.store(0, Ordering::Relaxed);
        // Ordering: Release. It pairs with the Acquire of a thread that takes a task. This is a swap rather
        // than a store, because the model checker handles the order of a store among additions less
        // precisely.
        self.ticket.swap(u64::from(tasks) << TASKS, Ordering::Release);
        self.workers.iter().take(wanted as usize).for_each(Bell::ring);
    }

    fn take_all(&self, mut execute: impl FnMut(u32)) {
        loop {
            // Ordering: Acquire. It pairs with the Release in `open`. The value read may come from another
            // thread's addition, which continues the release sequence of that swap.
            let ticket = self.ticket.fetch_add(1, Ordering::Acquire);
            let (tasks, task) = (ticket >> TASKS, ticket & u64::from(u32::MAX));
            if task >= tasks {
                return;
            }
            #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
            execute(task as u32);
            // Ordering: AcqRel. The last addition reads from all earlier ones, so the leader that it wakes
            // sees the effects of all tasks.
            if self.done.fetch_add(1, Ordering::AcqRel) + 1 == tasks {
                self.leader.ring();
            }
        }
    }

    fn wait_for(&self, tasks: u32) -> Result<(), Broken> {
        loop {
            let seen = self.leader.count();
            // Ordering: Acquire. It pairs with the Release in `Alarm`.
            if self.broken.load(Ordering::Acquire) {
                return Err(Broken);
            }
            // Ordering: Acquire. It pairs with the additions in `take_all`.
            if self.done.load(Ordering::Acquire) == u64::from(tasks) {
                return Ok(());
            }
            self.leader.wait(seen);
        }
    }

    /// Lets the workers return from [`Pool::work`]. The leader must call this even when it fails. Otherwise
    /// the workers wait forever.
    pub fn close(&self) {
        // Ordering: Release. A worker that reads `true` sees what the leader wrote before.
        self.closed.store(true, Ordering::Release);
        self.workers.iter().for_each(Bell::ring);
    }
}

/// Reports to the leader that a worker has panicked, so that the leader does not wait for it.
struct Alarm<'a>(&'a Pool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Ordering: Release. It pairs with the Acquire in `wait_for`.
            self.0.broken.store(true, Ordering::Release);
            self.0.leader.ring();
        }
    }
}

/// The place where one thread waits until others ring for it. `count` is the number of rings.
///
/// *Why no ring is lost.* The proof is that of the [event count](crate::event_count). A ring raises the
/// count, fences, and reads `is_asleep`. The waiting thread sets `is_asleep`, fences, and reads the count
/// again. The lock, or the operating system's comparison, makes that last read and falling asleep one step.
#[derive(Debug)]
struct Bell {
    waiting: Waiting,
    patience: Patience,
    count: CachePadded<AtomicU64>,
    is_asleep: AtomicBool,
    futex: Futex,
    sleep_lock: Mutex<()>,
    woken: Condvar,
}

impl Bell {
    fn new(waiting: Waiting, threads: usize) -> Bell {
        Bell {
            waiting,
            patience: Patience::for_threads(threads),
            count: CachePadded::default(),
            is_asleep: AtomicBool::new(false),
            futex: Futex::default(),
            sleep_lock: Mutex::default(),
            woken: Condvar::new(),
        }
    }

    fn count(&self) -> u64 {
        // Ordering: Acquire. It pairs with the Release in `ring`.
        self.count.load(Ordering::Acquire)
    }

    fn ring(&self) {
        // Ordering: Release. A thread that reads the new count sees what was done before the ring.
        self.count.fetch_add(1, Ordering::Release);
        if self.waiting == Waiting::Busy {
            return;
        }
        // Ordering: SeqCst. It pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed. The fence orders this read after the addition.
        if self.is_asleep.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        match self.waiting {
            Waiting::Posix => {
                drop(self.sleep_lock.lock());
                self.woken.notify_one();
            }
            _ => {
                // Ordering: Release. It pairs with the Acquire in `sleep`.
                self.futex.word.fetch_add(1, Ordering::Release);
                self.futex.wake_one();
            }
        }
    }

    /// Waits until the count differs from `seen`.
    fn wait(&self, seen: u64) {
        let has_rung = || (self.count() != seen).then_some(());
        match self.waiting {
            Waiting::Busy => {
                while has_rung().is_none() {
                    spin_loop();
                }
            }
            // A worker sleeps at once if no ring has come yet. It may never be needed, and it may have
            // started on the leader's core.
            Waiting::Adaptive if seen > 0 && self.patience.watch(has_rung).is_some() => {}
            _ => self.sleep(seen),
        }
    }

    #[cold]
    fn sleep(&self, seen: u64) {
        // Ordering: Relaxed, here and at the end. The fence orders this write before the reads of the count,
        // and pairs with the fence in `ring`. A thread that still reads `true` afterwards only makes a
        // needless wake-up call.
        self.is_asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.waiting == Waiting::Posix {
            let mut locked = self.sleep_lock.lock().unwrap_or_else(PoisonError::into_inner);
            while self.count() == seen {
                locked = self.woken.wait(locked).unwrap_or_else(PoisonError::into_inner);
            }
        } else {
            loop {
                // Ordering: Acquire. It pairs with the Release in `wake`.
                let word = self.futex.word.load(Ordering::Acquire);
                if self.count() != seen {
                    break;
                }
                self.futex.wait(word);
            }
        }
        self.is_asleep.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::under_the_model;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;
    use loom::thread;

    /// Creates a pool without patience. Patience would only give the model checker more interleavings.
    fn pool(workers: usize, waiting: Waiting) -> Pool {
        let mut pool = Pool::new(workers, waiting);
        for bell in pool.workers.iter_mut().chain([&mut pool.leader]) {
            bell.patience = Patience::new(0, 0);
        }
        pool
    }

    /// Leads two rounds, of two tasks and of one. Checks that each task is executed once, in its own round.
    fn two_rounds(waiting: Waiting, leader_takes_part: bool) {
        under_the_model(2, move || {
            let pool = Arc::new(pool(1, waiting));
            let executed: Arc<[AtomicU32; 2]> = Arc::new([0, 0].map(AtomicU32::new));
            let execute = |executed: &[AtomicU32; 2], task: u32| {
                executed[task as usize].fetch_add(1, Ordering::Relaxed);
            };
            let worker = {
                let (pool, executed) = (pool.clone(), executed.clone());
                thread::spawn(move || pool.work(0, |task| execute(&executed, task)))
            };
            for (round, tasks) in [(1, 2), (2, 1)] {
                let ended = if leader_takes_part {
                    pool.round(tasks, |task| execute(&executed, task))
                } else {
                    pool.delegate(tasks)
                };
                assert_eq!(ended, Ok(()));
                // The worker's writes are visible.
                let counts = [0, 1].map(|task: usize| executed[task].load(Ordering::Relaxed));
                assert_eq!(counts, [round, 1]);
            }
            pool.close();
            worker.join().expect("no panic");
        });
    }

    #[test]
    fn each_task_is_executed_once_and_before_the_leader_continues() {
        for waiting in [Waiting::Futex, Waiting::Posix, Waiting::Busy] {
            two_rounds(waiting, true);
        }
    }

    #[test]
    fn the_leader_may_delegate_all_tasks_to_the_workers() {
        for waiting in [Waiting::Futex, Waiting::Posix] {
            two_rounds(waiting, false);
        }
    }
}
