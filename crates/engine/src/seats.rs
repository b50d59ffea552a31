//! Workers that come to share a core, though there is one for each.
//!
//! A system may wake a thread on the core of who wakes it, and take tens of milliseconds to notice that another is free: a virtual machine whose idle core
//! has been given back to its host does, since that core does not look free. The two then take turns, and each waits for the other, and learns not to
//! be patient. So workers are bound to cores while they begin, when they often wait for each other; and later look now and then where they are, and
//! one that finds another on its core moves to a free one, without being bound to it.

use crate::stopwatch::now;
use crate::transport::Apart;
use parades_raw::affinity::{self, Bound};
use parades_sync::patience::has_waited_long;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The least time between two moves of a worker: moving takes some microseconds, and the cache stays behind.
const REST: Duration = Duration::from_millis(2);

/// How long a worker is bound at first.
const BEGINNING: Duration = Duration::from_millis(20);

thread_local! {
    /// What binds this thread, and since when.
    static BOUND: RefCell<Option<(Bound, Instant)>> = const { RefCell::new(None) };
    /// Whether something does.
    static IS_BOUND: Cell<bool> = const { Cell::new(false) };
}

/// Binds this thread to a core while it begins; at most until what this returns is dropped.
pub(crate) fn begin_on(core: usize) -> Beginning {
    BOUND.set(Some((affinity::bind_to(core), now())));
    IS_BOUND.set(true);
    Beginning
}

/// The time in which a thread may be bound.
pub(crate) struct Beginning;

impl Drop for Beginning {
    fn drop(&mut self) {
        set_free();
    }
}

/// Ends the time in which this thread may be bound: for workers that do not look where they are.
pub(crate) fn set_free() {
    BOUND.take();
    IS_BOUND.set(false);
}

/// Whether this thread is bound; frees it when it has begun.
fn is_bound() -> bool {
    let is_over = |&mut (_, since): &mut (Bound, Instant)| since.elapsed() >= BEGINNING;
    if IS_BOUND.get() && BOUND.with_borrow_mut(|bound| bound.take_if(is_over).is_some()) {
        IS_BOUND.set(false);
    }
    IS_BOUND.get()
}

/// Which cores workers are on. Only hints: they may have been moved since they looked.
#[derive(Debug)]
pub(crate) struct Seats {
    /// Those there are; none where there are too few, or where the system does not tell.
    cores: Vec<usize>,
    by_worker: Vec<Apart<Seat>>,
    begin: Instant,
}

#[derive(Debug)]
struct Seat {
    core: AtomicUsize,
    /// When it moved last, in nanoseconds since the beginning.
    moved: AtomicU64,
}

impl Seats {
    pub(crate) fn new(workers: usize) -> Seats {
        let mut cores = if workers > 1 { affinity::cores() } else { Vec::new() };
        if cores.len() < workers {
            cores.clear();
        }
        let seat = || Apart(Seat { core: AtomicUsize::new(usize::MAX), moved: AtomicU64::new(0) });
        Seats { cores, by_worker: std::iter::repeat_with(seat).take(workers).collect(), begin: now() }
    }

    /// Sees to it that this worker shares no core for long: looks where it is if it may have been moved, and moves it if one before it is there.
    #[inline]
    pub(crate) fn mind(&self, worker: usize) {
        if has_waited_long() || IS_BOUND.get() {
            self.look(worker);
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&self, worker: usize) {
        if is_bound() || self.cores.is_empty() {
            return;
        }
        let Some(here) = affinity::here() else { return };
        // Ordering: Relaxed throughout; nothing depends on it but where a thread runs.
        let mine = &self.by_worker[worker].0.core;
        if mine.load(Ordering::Relaxed) != here {
            mine.store(here, Ordering::Relaxed);
        }
        if self.is_taken(here, 0..worker) {
            self.move_away(worker);
        }
    }

    /// Whether one of these workers is on a core.
    fn is_taken(&self, core: usize, mut workers: std::ops::Range<usize>) -> bool {
        workers.any(|worker| self.by_worker[worker].0.core.load(Ordering::Relaxed) == core)
    }

    #[cold]
    fn move_away(&self, worker: usize) {
        let Seat { core, moved } = &self.by_worker[worker].0;
        let now = u64::try_from(self.begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let last = moved.load(Ordering::Relaxed);
        if last > 0 && u128::from(now - last) < REST.as_nanos() {
            return;
        }
        moved.store(now, Ordering::Relaxed);
        let is_free = |core: &&usize| !self.is_taken(**core, 0..self.by_worker.len());
        if let Some(&free) = self.cores.iter().find(is_free) {
            drop(affinity::bind_to(free));
            core.store(free, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_leaves_the_core_of_another() {
        let all = affinity::cores();
        let seats = Seats::new(2);
        let Some((here, _)) = affinity::here().zip(all.get(1)) else { return };
        let bound = affinity::bind_to(here);
        seats.look(0);
        drop(bound);
        seats.by_worker[1].0.core.store(here, Ordering::Relaxed);
        seats.move_away(1);
        let there = seats.by_worker[1].0.core.load(Ordering::Relaxed);
        assert!(there != here && all.contains(&there));
        assert_eq!(affinity::cores(), all, "it is free again");
        assert!(!seats.is_taken(here, 1..2) && seats.is_taken(here, 0..1));
    }

    #[test]
    fn a_worker_is_bound_only_while_it_begins() {
        let all = affinity::cores();
        let Some(&core) = all.first() else { return };
        let beginning = begin_on(core);
        assert!(is_bound() && affinity::cores() == [core]);
        drop(beginning);
        assert!(!is_bound() && affinity::cores() == all);
        let _beginning = begin_on(core);
        std::thread::sleep(BEGINNING);
        assert!(!is_bound() && affinity::cores() == all, "that was long enough");
    }

    #[test]
    fn where_there_are_too_few_cores_nobody_moves() {
        let seats = Seats::new(affinity::cores().len() + 1);
        assert!(seats.cores.is_empty());
        (0..2).for_each(|worker| seats.look(worker));
    }
}
