//! The workers of a run, which execute stripes in parallel rounds, and help with large events between them.

use super::{Main, Settings};
use parades_core::timesheet::Spent;
use parades_sync::barrier::Broken;
use parades_sync::help::{Helpers, Tasks};
use parades_sync::pool::Pool;
use parades_transport::Timekeeper;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The pool of the workers, and the tasks of the event with which they help.
pub(super) struct Crowd {
    pub(super) pool: Pool,
    /// True if the leader works along.
    works_along: bool,
    /// True once the workers have started.
    has_started: AtomicBool,
    /// True if an event would have been helped before that.
    is_wanted: AtomicBool,
    /// The tasks with which workers help; `None` in a parallel round.
    tasks: RwLock<Option<Arc<dyn Tasks>>>,
    helped: AtomicU64,
    timekeeper: Timekeeper,
}

impl Crowd {
    pub(super) fn new(workers: usize, settings: &Settings, timekeeper: Timekeeper) -> Crowd {
        Crowd {
            pool: Pool::new(workers, settings.waiting),
            works_along: settings.main == Main::Works,
            has_started: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
            tasks: RwLock::new(None),
            helped: AtomicU64::new(0),
            timekeeper,
        }
    }

    /// Says that the workers have started.
    pub(super) fn start(&self) {
        // Ordering: Relaxed, here and below. The leader alone reads and writes these; they are atomic only
        // because workers share the rest.
        self.has_started.store(true, Ordering::Relaxed);
    }

    /// Returns true if the workers must start because an event wants their help.
    pub(super) fn must_start(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed) && !self.has_started.load(Ordering::Relaxed)
    }

    /// Returns the number of times that workers have helped.
    pub(super) fn helped(&self) -> u64 {
        self.helped.load(Ordering::Relaxed)
    }

    /// Opens a round of `tasks` tasks for the workers and the leader, who executes some of them by `execute`.
    pub(super) fn round(&self, tasks: u32, mut execute: impl FnMut(u32)) -> Result<(), Broken> {
        self.timekeeper.spend(0, Spent::Waiting, || {
            self.open(tasks, |task| self.timekeeper.spend(0, Spent::Executing, || execute(task)))
        })
    }

    /// Does the same as [`Crowd::round`]. The leader's time counts as that of the event that it executes.
    fn open(&self, tasks: u32, execute: impl FnMut(u32)) -> Result<(), Broken> {
        if self.works_along { self.pool.round(tasks, execute) } else { self.pool.delegate(tasks) }
    }

    /// Executes a task on a worker: one of an event that is helped, or else one of a round, by `execute`.
    pub(super) fn work_on(&self, worker: usize, task: u32, execute: impl FnOnce(u32)) {
        let helped = self.tasks.read().unwrap_or_else(PoisonError::into_inner).clone();
        match helped {
            Some(tasks) => self.timekeeper.spend(worker, Spent::Helping, || tasks.execute(task)),
            None => self.timekeeper.spend(worker, Spent::Executing, || execute(task)),
        }
    }

    fn set_tasks(&self, tasks: Option<Arc<dyn Tasks>>) {
        *self.tasks.write().unwrap_or_else(PoisonError::into_inner) = tasks;
    }
}

impl Helpers for Crowd {
    fn threads(&self) -> usize {
        if !self.has_started.load(Ordering::Relaxed) {
            self.is_wanted.store(self.pool.workers() > 0, Ordering::Relaxed);
            return 1;
        }
        self.pool.workers() + usize::from(self.works_along)
    }

    fn execute(&self, count: u32, tasks: Arc<dyn Tasks>) {
        if self.threads() == 1 {
            return (0..count).for_each(|task| tasks.execute(task));
        }
        self.helped.fetch_add(1, Ordering::Relaxed);
        self.set_tasks(Some(Arc::clone(&tasks)));
        let done = self.open(count, |task| tasks.execute(task));
        self.set_tasks(None);
        // If a worker panics, its panic is passed on when its thread is joined.
        assert!(done.is_ok(), "a worker failed while it helped");
    }
}
