//! A thread that looks at a run now and then: at its progress, for the observer, and at the memory of this
//! process.

use crate::machine::{BESIDE, held_bytes, program_bytes};
use crate::observer::{Observer, Progress};
use crate::saved::{Found, lock};
use parades_core::run::Control;
use parades_core::time::Time;
use parades_raw::memory::return_free_memory;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The time between two reports of progress, and the longest time between two looks at the memory.
const PERIOD: Duration = Duration::from_millis(100);
/// The shortest time between two looks at the memory. A look takes some microseconds.
const PERIOD_MIN: Duration = Duration::from_millis(1);
/// The bytes that a process is expected to take at most in a millisecond: the system clears new pages at a
/// few gigabytes a second.
const BYTES_PER_MS: u64 = 4 << 20;

/// A run to be watched.
#[derive(Debug)]
pub(crate) struct Watched<'a> {
    pub(crate) control: &'a Control,
    /// The end of the run.
    pub(crate) until: Time,
    /// The bytes that the model, events, history and results may take.
    pub(crate) memory_limit: u64,
    /// The wall time after which the run is saved each time, if it is.
    pub(crate) save_every: Option<Duration>,
    /// The findings of the run's cuts, which are told before the run is stopped.
    pub(crate) found: Option<&'a Mutex<Found>>,
}

impl Watched<'_> {
    /// Watches until the sender of `over` is gone. A run that takes too much memory is stopped; returns the
    /// bytes that it took then.
    pub(crate) fn watch(self, over: &Receiver<()>, observer: &mut dyn Observer) -> Option<u64> {
        let limit = self.memory_limit.saturating_add(BESIDE);
        let (mut events_before, mut too_much) = (0, None);
        let (mut period, mut since_report, mut since_save) = (PERIOD_MIN, Duration::ZERO, Duration::ZERO);
        // Nothing is ever sent: the disconnection ends the loop.
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(period) {
            since_report += period;
            since_save += period;
            if self.save_every.is_some_and(|every| since_save >= every) {
                since_save = Duration::ZERO;
                self.control.ask_for_cut();
            }
            if since_report >= PERIOD {
                let (time, events) = self.control.progress();
                // Events may have been rolled back since the last report.
                let events_per_s = events.saturating_sub(events_before) as f64 / since_report.as_secs_f64();
                (events_before, since_report) = (events, Duration::ZERO);
                observer.progress(&Progress { time, until: self.until, events_per_s });
            }
            let taken = taken_above(limit);
            if taken > limit && too_much.is_none() {
                too_much = Some(taken);
                self.found.into_iter().for_each(|found| lock(found).is_out_of_memory = true);
                self.control.stop();
            }
            period = if too_much.is_some() { PERIOD } else { period_for(limit.saturating_sub(taken)) };
        }
        too_much
    }
}

/// Returns the bytes that this process takes beside the program itself. If they are above `limit`, freed
/// memory is returned to the system first.
fn taken_above(limit: u64) -> u64 {
    let taken = || held_bytes().saturating_sub(program_bytes());
    if taken() > limit {
        return_free_memory();
    }
    taken()
}

/// Returns the time to the next look, given the bytes that are left of the limit.
fn period_for(left: u64) -> Duration {
    Duration::from_millis(left / BYTES_PER_MS).clamp(PERIOD_MIN, PERIOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_looked_at_more_often_near_its_limit() {
        assert_eq!(period_for(u64::MAX), PERIOD);
        assert_eq!(period_for(80 << 20), Duration::from_millis(20));
        assert_eq!(period_for(0), PERIOD_MIN);
    }
}
