//! The timers of a node's connections.

use super::Name;
use parades_core::time::Time;
use parades_tcp::environment::Timer;
use std::collections::BTreeSet;

/// The timers of a connection, in the order of their numbers.
pub(super) const TIMERS: [Timer; 4] = [Timer::Retransmit, Timer::DelayedAck, Timer::Pacing, Timer::Reordering];

/// The timers that are set, in the order of their times.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Time, Name, u8)>);

/// The times to which the timers of a connection are set; [`Time::MAX`] if one is not set.
pub(super) type Armed = [Time; TIMERS.len()];

impl Timers {
    /// Sets a timer of a connection to a time; [`Time::MAX`] cancels it.
    pub(super) fn set(&mut self, name: Name, armed: &mut Armed, timer: Timer, due: Time) {
        let old = std::mem::replace(&mut armed[timer as usize], due);
        if old == due {
            return;
        }
        if old < Time::MAX {
            self.0.remove(&(old, name, timer as u8));
        }
        if due < Time::MAX {
            self.0.insert((due, name, timer as u8));
        }
    }

    /// Returns the first time at which a timer is due; [`Time::MAX`] without a timer.
    pub(super) fn next(&self) -> Time {
        self.0.first().map_or(Time::MAX, |(due, ..)| *due)
    }

    /// Returns the timers that are due by `now`. They stay set until they are handled.
    pub(super) fn due(&self, now: Time) -> Vec<(Name, Timer)> {
        let due = self.0.iter().take_while(|(due, ..)| *due <= now);
        due.map(|&(_, name, timer)| (name, TIMERS[usize::from(timer)])).collect()
    }
}
