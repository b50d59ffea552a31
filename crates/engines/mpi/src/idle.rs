//! The wait of a thread that polls.

use parades_sync::patience::Patience;
use std::time::Duration;

/// The first sleep.
const FIRST: Duration = Duration::from_micros(10);
/// The longest sleep. It bounds how long a message waits for a thread that sleeps.
const LONGEST: Duration = Duration::from_micros(200);

/// Waits by polling, so that ranks may share a core.
///
/// A wait begins with yields, as [`Patience`] says: on a machine that is busy with other programs, a yield
/// costs a time slice, and the thread sleeps at once. After the yields, each sleep is longer than the last.
#[derive(Debug)]
pub(crate) struct Idle(Patience);

impl Idle {
    pub(crate) fn new() -> Idle {
        // Workers need the cores, so the thread does not spin.
        Idle(Patience::for_threads(usize::MAX))
    }

    /// Calls `poll` until it returns true. Another thread ends a sleep by unparking this one.
    pub(crate) fn until(&self, mut poll: impl FnMut() -> bool) {
        if self.0.watch(|| poll().then_some(())).is_some() {
            return;
        }
        let mut sleep = FIRST;
        while !poll() {
            std::thread::park_timeout(sleep);
            sleep = LONGEST.min(2 * sleep);
        }
    }
}
