//! How much of its time a worker works, and how much it waits for the others. No result depends on it.

use parades_core::timesheet::{Spent, Timesheets};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tells working from waiting.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    /// When the present spell began.
    since: Instant,
    worked: Duration,
    waited: Duration,
    /// How long it had waited, and been at either, when it last began anew.
    before: (Duration, Duration),
}

impl Stopwatch {
    pub(crate) fn new() -> Stopwatch {
        Stopwatch {
            since: now(),
            worked: Duration::ZERO,
            waited: Duration::ZERO,
            before: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// From now on it works.
    pub(crate) fn works(&mut self) {
        let now = now();
        self.waited += now - self.since;
        self.since = now;
    }

    /// From now on it waits.
    pub(crate) fn waits(&mut self) {
        let now = now();
        self.worked += now - self.since;
        self.since = now;
    }

    /// It has been at neither, and waits from now on.
    pub(crate) fn goes_on(&mut self) {
        self.since = now();
    }

    /// How long it has worked and waited.
    pub(crate) fn time(&self) -> Duration {
        self.worked + self.waited
    }

    /// The share of that in which it worked.
    pub(crate) fn share_worked(&self) -> f64 {
        if self.time().is_zero() { 1.0 } else { self.worked.as_secs_f64() / self.time().as_secs_f64() }
    }

    /// The share of all its time, however often it began anew, in which it waited.
    pub(crate) fn share_waited(&self) -> f64 {
        let (waited, all) = (self.before.0 + self.waited, self.before.1 + self.time());
        if all.is_zero() { 0.0 } else { waited.as_secs_f64() / all.as_secs_f64() }
    }

    /// Begins anew.
    pub(crate) fn reset(&mut self) {
        let before = (self.before.0 + self.waited, self.before.1 + self.time());
        *self = Stopwatch { before, ..Stopwatch::new() };
    }
}

/// How long this thread has had a core, from some moment on: for less than has passed where others took it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreClock {
    since: Instant,
    /// How long it had by then; `None` where the system does not tell.
    had: Option<Duration>,
}

impl CoreClock {
    /// From now on.
    pub(crate) fn start() -> CoreClock {
        CoreClock { since: now(), had: Self::read() }
    }

    /// For what share of the time since; for all of it where the system does not tell. Asked of the thread that began.
    pub(crate) fn share(self) -> f64 {
        let passed = self.since.elapsed().as_secs_f64();
        match (self.had, Self::read()) {
            (Some(had), Some(has)) if passed > 0.0 => (has.saturating_sub(had).as_secs_f64() / passed).min(1.0),
            _ => 1.0,
        }
    }

    fn read() -> Option<Duration> {
        #[cfg(all(unix, not(miri)))]
        return rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().ok();
        #[cfg(not(all(unix, not(miri))))]
        None
    }
}

/// Writes down what workers spend their time on, where somebody wants to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timekeeper(Option<(Arc<Timesheets>, Instant)>);

impl Timekeeper {
    /// From now on, or from when another of the run's began.
    pub(crate) fn of(timesheets: Option<Arc<Timesheets>>) -> Timekeeper {
        Timekeeper(timesheets.map(|sheets| {
            let begin = sheets.begin(now());
            (sheets, begin)
        }))
    }

    /// Does something, and writes down how long it took.
    #[inline]
    pub(crate) fn spend<T>(&self, worker: usize, spent: Spent, on: impl FnOnce() -> T) -> T {
        let Some((sheets, begin)) = &self.0 else { return on() };
        let from = begin.elapsed();
        let result = on();
        sheets.write(worker, spent, from..begin.elapsed());
        result
    }
}

/// How long something takes, and what it gives.
pub(crate) fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let begin = now();
    let result = what();
    (result, begin.elapsed())
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the choice of how to execute depends on it, never what is executed"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
