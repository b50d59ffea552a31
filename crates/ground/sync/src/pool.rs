//! A pool of workers who help one thread, the leader, with a round of tasks, again and again.
//!
//! *Idea.* The leader opens a round of `n` tasks. Whoever is free takes the next task by one addition; the leader takes tasks too, or sleeps. It goes on when
//! all are done. A worker that is late, because its core was taken or it sleeps deeply, finds no task left, and nobody has waited for it: that is why this is
//! not a pair of barriers.
//!
//! *Protocol.* One word, the *ticket*, has the number of tasks in its upper half and the next task in its lower half.
//!
//! 1. `open`: set `done` to zero, make the ticket `(n, 0)`, ring for the workers.
//! 2. `take`: add one to the ticket; the old value has both halves, so a task is never taken in a round to which it does not belong.
//! 3. After each task, add one to `done`; who adds the last rings for the leader.
//!
//! *Invariants.* A round is opened only when all tasks of the last one are done, so `done` counts tasks of one round. The lower half grows by one for each look
//! of each worker in vain; workers look once for each time that they are rung for.
//!
//! *Reference.* The *parmap* of SimGrid: M. Quinson, C. Rosa, C. Thiéry, *Parallel Simulation of Peer-to-Peer Systems*, CCGrid 2012.

use crate::barrier::{Broken, Line};
use crate::patience::Patience;
use crate::shim::{AtomicBool, AtomicU64, Condvar, Futex, Mutex, fence, spin_loop};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// How those wait who have nothing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// Patient for a while, then asleep ([`Patience`]).
    #[default]
    Adaptive,
    /// Asleep at once, on a word of the operating system's.
    Futex,
    /// Asleep at once, with a mutex and a condition variable.
    Posix,
    /// Never asleep: the core is kept busy.
    Busy,
}

/// The tasks of the present round, and those who execute them.
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
///         pool.round(5, add).unwrap(); // This thread works along.
///     }
///     pool.close();
/// });
/// assert_eq!(sum.into_inner(), 3 * (0 + 1 + 2 + 3 + 4));
/// ```
#[derive(Debug)]
pub struct Pool {
    ticket: Line<AtomicU64>,
    done: Line<AtomicU64>,
    /// No round will be opened any more.
    closed: AtomicBool,
    /// A worker has failed.
    broken: AtomicBool,
    workers: Box<[Bell]>,
    leader: Bell,
}

const TASKS: u32 = u32::BITS;

impl Pool {
    /// For so many workers beside the leader.
    pub fn new(workers: usize, waiting: Waiting) -> Pool {
        let bell = || Bell::new(waiting, workers + 1);
        Pool {
            ticket: Line::default(),
            done: Line::default(),
            closed: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            workers: (0..workers).map(|_| bell()).collect(),
            leader: bell(),
        }
    }

    /// How many workers there are beside the leader.
    pub fn workers(&self) -> usize {
        self.workers.len()
    }

    /// A worker's life: executes tasks of round after round, until the pool is closed.
    pub fn work(&self, worker: usize, mut execute: impl FnMut(u32)) {
        let _alarm = Alarm(self);
        let bell = &self.workers[worker];
        loop {
            let seen = bell.count();
            // Ordering: Acquire; pairs with the Release in `close`.
            if self.closed.load(Ordering::Acquire) {
                return;
            }
            self.take_all(&mut execute);
            bell.wait(seen);
        }
    }

    /// The leader's part: opens a round of so many tasks, works along, and goes on when all are done.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed: some of the tasks may not be done, then or later.
    pub fn round(&self, tasks: u32, execute: impl FnMut(u32)) -> Result<(), Broken> {
        self.open(tasks, tasks.saturating_sub(1));
        self.take_all(execute);
        self.wait_for(tasks)
    }

    /// As [`Pool::round`], but leaves all to the workers.
    ///
    /// # Errors
    ///
    /// As [`Pool::round`].
    ///
    /// # Panics
    ///
    /// If there are no workers.
    pub fn leave(&self, tasks: u32) -> Result<(), Broken> {
        assert!(self.workers() > 0, "nobody to leave {tasks} tasks to");
        self.open(tasks, tasks);
        self.wait_for(tasks)
    }

    /// Opens a round, and rings for so many workers, if there are so many.
    fn open(&self, tasks: u32, wanted: u32) {
        // Ordering: Relaxed; nobody adds to it before having taken a task of the round that the ticket below opens.
        self.done.store(0, Ordering::Relaxed);
        // Ordering: Release; pairs with the Acquire of who takes a task. A swap, so that all changes of the ticket are in one order plainly; the model checker
        // would not see that of a store among additions.
        self.ticket.swap(u64::from(tasks) << TASKS, Ordering::Release);
        self.workers.iter().take(wanted as usize).for_each(Bell::ring);
    }

    fn take_all(&self, mut execute: impl FnMut(u32)) {
        loop {
            // Ordering: Acquire; pairs with the Release in `open`, be it of an earlier addition's value: they are all of one release sequence.
            let ticket = self.ticket.fetch_add(1, Ordering::Acquire);
            let (tasks, task) = (ticket >> TASKS, ticket & u64::from(u32::MAX));
            if task >= tasks {
                return;
            }
            #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
            execute(task as u32);
            // Ordering: AcqRel; the last one's addition has seen all others', so the leader whom it wakes sees what all did.
            if self.done.fetch_add(1, Ordering::AcqRel) + 1 == tasks {
                self.leader.ring();
            }
        }
    }

    fn wait_for(&self, tasks: u32) -> Result<(), Broken> {
        loop {
            let seen = self.leader.count();
            // Ordering: Acquire; pairs with the Release in `Alarm`.
            if self.broken.load(Ordering::Acquire) {
                return Err(Broken);
            }
            // Ordering: Acquire; pairs with the additions in `take_all`.
            if self.done.load(Ordering::Acquire) == u64::from(tasks) {
                return Ok(());
            }
            self.leader.wait(seen);
        }
    }

    /// Lets the workers go home. To be called however the leader ends, or they wait for ever.
    pub fn close(&self) {
        // Ordering: Release; what the leader wrote before is visible to who sees it.
        self.closed.store(true, Ordering::Release);
        self.workers.iter().for_each(Bell::ring);
    }
}

/// Tells the leader if a worker panics, so that it does not wait for it.
struct Alarm<'a>(&'a Pool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Ordering: Release; pairs with the Acquire in `wait_for`.
            self.0.broken.store(true, Ordering::Release);
            self.0.leader.ring();
        }
    }
}

/// Where one thread waits to be rung for, by a count of how often it was.
///
/// *Why no ring is lost.* As for the event count: the count is raised, then fenced, then sleepers are looked for; who sleeps says so, fences, and looks at the
/// count again with whatever makes falling asleep and that look one step: the lock, or the operating system's comparison.
#[derive(Debug)]
struct Bell {
    waiting: Waiting,
    patience: Patience,
    count: Line<AtomicU64>,
    sleeps: AtomicBool,
    futex: Futex,
    bed: Mutex<()>,
    woken: Condvar,
}

impl Bell {
    fn new(waiting: Waiting, threads: usize) -> Bell {
        Bell {
            waiting,
            patience: Patience::of_threads(threads),
            count: Line::default(),
            sleeps: AtomicBool::new(false),
            futex: Futex::default(),
            bed: Mutex::default(),
            woken: Condvar::new(),
        }
    }

    fn count(&self) -> u64 {
        // Ordering: Acquire; pairs with the Release in `ring`.
        self.count.load(Ordering::Acquire)
    }

    fn ring(&self) {
        // Ordering: Release; what was done before is visible to who sees the count.
        self.count.fetch_add(1, Ordering::Release);
        if self.waiting == Waiting::Busy {
            return;
        }
        // Ordering: SeqCst; pairs with the fence in `sleep`.
        fence(Ordering::SeqCst);
        // Ordering: Relaxed; ordered by the fence.
        if self.sleeps.load(Ordering::Relaxed) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        match self.waiting {
            Waiting::Posix => {
                drop(self.bed.lock());
                self.woken.notify_one();
            }
            _ => {
                // Ordering: Release; pairs with the Acquire in `sleep`.
                self.futex.word.fetch_add(1, Ordering::Release);
                self.futex.wake_one();
            }
        }
    }

    /// Waits until the count is not `seen` any more.
    fn wait(&self, seen: u64) {
        let has_rung = || (self.count() != seen).then_some(());
        match self.waiting {
            Waiting::Busy => {
                while has_rung().is_none() {
                    spin_loop();
                }
            }
            // Who has never been rung for may never be, and may have begun on the leader's own core, which it would take from it.
            Waiting::Adaptive if seen > 0 && self.patience.watch(has_rung).is_some() => {}
            _ => self.sleep(seen),
        }
    }

    #[cold]
    fn sleep(&self, seen: u64) {
        // Ordering: Relaxed, here and at the end; the fence orders it before the looks at the count. Pairs with the fence in `ring`. Who still sees a
        // sleeper when there is none wakes it needlessly.
        self.sleeps.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.waiting == Waiting::Posix {
            let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
            while self.count() == seen {
                bed = self.woken.wait(bed).unwrap_or_else(PoisonError::into_inner);
            }
        } else {
            loop {
                // Ordering: Acquire; pairs with the Release in `wake`.
                let word = self.futex.word.load(Ordering::Acquire);
                if self.count() != seen {
                    break;
                }
                self.futex.wait(word);
            }
        }
        self.sleeps.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shim::under_the_model;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU32;
    use loom::thread;

    /// A pool without patience, which the model checker would only multiply interleavings by.
    fn pool(workers: usize, waiting: Waiting) -> Pool {
        let mut pool = Pool::new(workers, waiting);
        for bell in pool.workers.iter_mut().chain([&mut pool.leader]) {
            bell.patience = Patience::new(0, 0);
        }
        pool
    }

    /// Two rounds, of two tasks and of one, led by this thread; each task is executed once, in its own round.
    fn two_rounds(waiting: Waiting, leads_along: bool) {
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
                let ended =
                    if leads_along { pool.round(tasks, |task| execute(&executed, task)) } else { pool.leave(tasks) };
                assert_eq!(ended, Ok(()));
                // What the worker did is visible.
                let counts = [0, 1].map(|task: usize| executed[task].load(Ordering::Relaxed));
                assert_eq!(counts, [round, 1]);
            }
            pool.close();
            worker.join().expect("no panic");
        });
    }

    #[test]
    fn each_task_is_executed_once_and_before_the_leader_goes_on() {
        for waiting in [Waiting::Futex, Waiting::Posix, Waiting::Busy] {
            two_rounds(waiting, true);
        }
    }

    #[test]
    fn the_leader_may_leave_all_to_the_workers() {
        for waiting in [Waiting::Futex, Waiting::Posix] {
            two_rounds(waiting, false);
        }
    }
}
