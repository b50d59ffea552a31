//! Timesheets of the workers. No result depends on them.

use parades_core::timesheet::{Spent, Timesheets};
use std::sync::Arc;
use std::time::Instant;

/// Records the time of the workers in the timesheets, if the run has timesheets.
#[derive(Clone, Debug, Default)]
pub struct Timekeeper(Option<(Arc<Timesheets>, Instant)>);

impl Timekeeper {
    /// Starts to measure now, or at the start of the run's first timekeeper.
    pub fn of(timesheets: Option<Arc<Timesheets>>) -> Timekeeper {
        Timekeeper(timesheets.map(|sheets| {
            let begin = sheets.begin(now());
            (sheets, begin)
        }))
    }

    /// Calls `on`, and records the time that it took.
    #[inline]
    pub fn spend<T>(&self, worker: usize, spent: Spent, on: impl FnOnce() -> T) -> T {
        let Some((sheets, begin)) = &self.0 else { return on() };
        let from = begin.elapsed();
        let result = on();
        sheets.write(worker, spent, from..begin.elapsed());
        result
    }
}

#[expect(clippy::disallowed_methods, reason = "timesheets record wall time, and no result depends on them")]
fn now() -> Instant {
    Instant::now()
}
