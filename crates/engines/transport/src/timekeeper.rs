//! Timesheets of the workers. No result depends on them.

use parades_core::timesheet::{Spent, Timesheets};
use std::sync::Arc;
use std::time::Instant;

/// Records the time of the workers in the timesheets, if the run has timesheets.
#[derive(Clone, Debug, Default)]
pub struct Timekeeper(Option<Arc<Timesheets>>);

impl Timekeeper {
    /// Makes the timekeeper of a run with these timesheets.
    pub fn of(timesheets: Option<Arc<Timesheets>>) -> Timekeeper {
        Timekeeper(timesheets)
    }

    /// Calls `on`, and records the time that it takes as time that `worker` has spent in this way.
    #[inline]
    pub fn spend<T>(&self, worker: usize, spent: Spent, on: impl FnOnce() -> T) -> T {
        let Some(sheets) = &self.0 else { return on() };
        let before = sheets.turn(worker, spent, now());
        let result = on();
        sheets.turn(worker, before, now());
        result
    }

    /// Says that a worker has a thread from now on, until the result is dropped. Worker 0 always has one.
    #[must_use]
    pub fn begin(&self, worker: usize) -> Begun<'_> {
        let Timekeeper(sheets) = self;
        if let Some(sheets) = sheets {
            sheets.turn(worker, Spent::Executing, now());
        }
        Begun { sheets: sheets.as_deref(), worker }
    }
}

/// A worker that has a thread.
#[derive(Debug)]
pub struct Begun<'a> {
    sheets: Option<&'a Timesheets>,
    worker: usize,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        if let Some(sheets) = self.sheets {
            sheets.turn(self.worker, Spent::Away, now());
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "timesheets record wall time, and no result depends on them")]
fn now() -> Instant {
    Instant::now()
}
