//! How much of its time the leader works, and how much it waits for the others. No result depends on it.

use std::time::{Duration, Instant};

/// Tells working from waiting.
#[derive(Debug)]
pub(super) struct Stopwatch {
    /// When the present spell began.
    since: Instant,
    worked: Duration,
    waited: Duration,
}

impl Stopwatch {
    pub(super) fn new() -> Stopwatch {
        Stopwatch { since: now(), worked: Duration::ZERO, waited: Duration::ZERO }
    }

    /// From now on it works.
    pub(super) fn works(&mut self) {
        let now = now();
        self.waited += now - self.since;
        self.since = now;
    }

    /// From now on it waits.
    pub(super) fn waits(&mut self) {
        let now = now();
        self.worked += now - self.since;
        self.since = now;
    }

    /// The share of the time since it was last asked that it worked.
    pub(super) fn take_share(&mut self) -> f64 {
        let worked = std::mem::take(&mut self.worked).as_secs_f64();
        let all = worked + std::mem::take(&mut self.waited).as_secs_f64();
        if all > 0.0 { worked / all } else { 1.0 }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the choice of how to execute depends on it, never what is executed"
)]
fn now() -> Instant {
    Instant::now()
}
