//! A thread that looks at a run now and then: at its progress, for the observer, and at the memory of this
//! process.

use crate::machine::rss_bytes;
use crate::observer::{Observer, Progress};
use parades_core::run::Control;
use parades_core::time::Time;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The time between two looks.
const PERIOD: Duration = Duration::from_millis(100);
/// Bytes that a process may take beyond the limit of its run. Stacks take them, as do freed memory that the
/// allocator keeps, and arrays that exist twice while they grow. An engine that keeps within its own limit
/// must not be stopped.
const BESIDE: u64 = 64 << 20;
/// The part of the limit that a process may take in addition, for the same reason: an eighth.
const SHARE_BESIDE: u64 = 8;

/// A run to be watched.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) control: &'a Control,
    /// The end of the run.
    pub(crate) until: Time,
    /// The bytes that events, history and logical processes may take.
    pub(crate) memory_limit: u64,
    /// The bytes that this process held before the run.
    pub(crate) before: u64,
}

impl Watched<'_> {
    /// Watches until the sender of `over` is gone. A run that takes too much memory is stopped; returns the
    /// bytes that it took then.
    pub(crate) fn watch(self, over: &Receiver<()>, observer: &mut dyn Observer) -> Option<u64> {
        let limit = self.memory_limit.saturating_add(self.memory_limit / SHARE_BESIDE).saturating_add(BESIDE);
        let (mut events_before, mut too_much) = (0, None);
        // Nothing is ever sent: the disconnection ends the loop.
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(PERIOD) {
            let (time, events) = self.control.progress();
            // Events may have been rolled back since the last look.
            let events_per_s = events.saturating_sub(events_before) as f64 / PERIOD.as_secs_f64();
            events_before = events;
            observer.progress(&Progress { time, until: self.until, events_per_s });
            let taken = rss_bytes().saturating_sub(self.before);
            if taken > limit && too_much.is_none() {
                too_much = Some(taken);
                self.control.stop();
            }
        }
        too_much
    }
}
