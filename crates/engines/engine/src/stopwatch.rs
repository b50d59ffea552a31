//! Clocks of the engines: working and waiting, time on a core, timesheets. No result depends on them.

use std::time::{Duration, Instant};

/// Measures the time that a worker works, and the time that it waits for the others.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    /// The time when the worker last began to work or to wait.
    since: Instant,
    worked: Duration,
    waited: Duration,
    /// The time waited, and the time measured in all, before the last reset.
    before_reset: (Duration, Duration),
}

impl Stopwatch {
    pub(crate) fn new() -> Stopwatch {
        Stopwatch {
            since: now(),
            worked: Duration::ZERO,
            waited: Duration::ZERO,
            before_reset: (Duration::ZERO, Duration::ZERO),
        }
    }

    /// Begins to measure work: the worker has waited until now.
    pub(crate) fn start_work(&mut self) {
        let now = now();
        self.waited += now - self.since;
        self.since = now;
    }

    /// Begins to measure waiting: the worker has worked until now.
    pub(crate) fn start_wait(&mut self) {
        let now = now();
        self.worked += now - self.since;
        self.since = now;
    }

    /// Discards the time since the last call, and begins to measure waiting.
    pub(crate) fn resume(&mut self) {
        self.since = now();
    }

    /// Returns the time when the worker last began to work or to wait.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Returns the time worked and waited since the last reset.
    pub(crate) fn time(&self) -> Duration {
        self.worked + self.waited
    }

    /// Returns the share of that time in which the worker worked.
    pub(crate) fn share_worked(&self) -> f64 {
        if self.time().is_zero() { 1.0 } else { self.worked.as_secs_f64() / self.time().as_secs_f64() }
    }

    /// Returns the share of all time, from before resets too, in which the worker waited.
    pub(crate) fn share_waited(&self) -> f64 {
        let (waited, all) = (self.before_reset.0 + self.waited, self.before_reset.1 + self.time());
        if all.is_zero() { 0.0 } else { waited.as_secs_f64() / all.as_secs_f64() }
    }

    /// Sets the measured times to zero, and begins to measure waiting.
    pub(crate) fn reset(&mut self) {
        let before_reset = (self.before_reset.0 + self.waited, self.before_reset.1 + self.time());
        *self = Stopwatch { before_reset, ..Stopwatch::new() };
    }
}

/// Measures the time that this thread has had a core. It is less than the time passed if other threads took
/// the core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreClock {
    since: Instant,
    /// The thread's processor time at `since`; `None` if the system does not report it.
    at_start: Option<Duration>,
}

impl CoreClock {
    /// Starts to measure the calling thread.
    pub(crate) fn start() -> CoreClock {
        CoreClock { since: now(), at_start: core_time() }
    }

    /// Returns the share of the time since the start in which the thread had a core; 1 if the system does
    /// not report it. The thread that started the clock must call this.
    pub(crate) fn share(self) -> f64 {
        let passed = self.since.elapsed().as_secs_f64();
        match (self.at_start, core_time()) {
            (Some(start), Some(now)) if passed > 0.0 => (now.saturating_sub(start).as_secs_f64() / passed).min(1.0),
            _ => 1.0,
        }
    }
}

/// Returns the processor time of the calling thread. `None` if the system does not report it.
pub(crate) fn core_time() -> Option<Duration> {
    #[cfg(all(unix, not(miri)))]
    return rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime).try_into().ok();
    #[cfg(not(all(unix, not(miri))))]
    None
}

/// Calls `what`. Returns its result and the time that it took.
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
