//! The patience of a thread that polls.

use std::time::Duration;

/// Polls without a sleep after the last message. Each gives the core to another thread.
const POLLS: u32 = 64;
/// The first sleep.
const FIRST: Duration = Duration::from_micros(10);
/// The longest sleep. It bounds how long a message waits for a thread that sleeps.
const LONGEST: Duration = Duration::from_micros(200);

/// Waits a little longer each time, so that ranks may share a core.
#[derive(Debug)]
pub(crate) struct Idle {
    polls: u32,
    sleep: Duration,
}

impl Idle {
    pub(crate) const fn new() -> Idle {
        Idle { polls: 0, sleep: FIRST }
    }

    /// Waits. Another thread ends a sleep by unparking this one.
    pub(crate) fn wait(&mut self) {
        if self.polls < POLLS {
            self.polls += 1;
            std::thread::yield_now();
        } else {
            std::thread::park_timeout(self.sleep);
            self.sleep = LONGEST.min(2 * self.sleep);
        }
    }
}
