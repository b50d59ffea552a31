//! Several timers of one machine.

use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// The timers of a machine, numbered from 0. A machine waits until [`Timers::next`], and then handles each
/// timer that [`Timers::pop_due`] returns.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_p2p::driver::Timers;
///
/// let at = |seconds: u64| Time::from_ps(seconds * 1_000_000_000_000);
/// let mut timers = Timers::<3>::new();
/// timers.set(2, at(5));
/// timers.set(1, at(5));
/// timers.set(0, at(9));
/// assert_eq!(timers.next(), at(5));
/// assert_eq!([timers.pop_due(at(5)), timers.pop_due(at(5)), timers.pop_due(at(5))], [Some(1), Some(2), None]);
/// timers.set(0, Time::MAX); // no longer set
/// assert_eq!(timers.next(), Time::MAX);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Time>", into = "Vec<Time>")]
pub struct Timers<const N: usize>([Time; N]);

impl<const N: usize> Timers<N> {
    /// Makes timers of which none is set.
    pub const fn new() -> Timers<N> {
        Timers([Time::MAX; N])
    }

    /// Sets a timer. [`Time::MAX`] cancels it.
    #[inline]
    pub fn set(&mut self, timer: usize, due: Time) {
        self.0[timer] = due;
    }

    /// Sets a timer to `due` if that is earlier than its present time, or if it is not set.
    #[inline]
    pub fn set_earlier(&mut self, timer: usize, due: Time) {
        self.0[timer] = self.0[timer].min(due);
    }

    /// Returns the time at which the first timer is due; [`Time::MAX`] if none is set.
    #[inline]
    pub fn next(&self) -> Time {
        self.0.iter().copied().min().unwrap_or(Time::MAX)
    }

    /// Returns the timer with the least number that is due at `now`, and cancels it.
    #[inline]
    pub fn pop_due(&mut self, now: Time) -> Option<usize> {
        let timer = self.0.iter().position(|&due| due <= now && due < Time::MAX)?;
        self.0[timer] = Time::MAX;
        Some(timer)
    }
}

impl<const N: usize> Default for Timers<N> {
    fn default() -> Timers<N> {
        Timers::new()
    }
}

impl<const N: usize> From<Timers<N>> for Vec<Time> {
    fn from(Timers(times): Timers<N>) -> Vec<Time> {
        times.into()
    }
}

impl<const N: usize> TryFrom<Vec<Time>> for Timers<N> {
    type Error = String;

    fn try_from(times: Vec<Time>) -> Result<Timers<N>, String> {
        let times = <[Time; N]>::try_from(times);
        times.map(Timers).map_err(|times| format!("a machine has {N} timers, not {}", times.len()))
    }
}
