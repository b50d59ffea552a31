//! The log of rounds: how the engine `rounds` executes each instant. No result depends on it.

use crate::time::Instant;
use std::fmt;
use std::io;
use std::time::Duration;

/// An executed round: all events of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The number of rounds that the log had before.
    pub id: u64,
    /// The instant.
    pub instant: Instant,
    /// The number of LPs that had events, or a timer that was set again for later, which is no event: nodes
    /// with their programs, and other LPs of the model.
    pub programs: u64,
    /// The number of events.
    pub events: u64,
    /// True if several threads executed it.
    pub parallel: bool,
    /// The wall time from the end of the round before, or from the begin of the run. It includes the writing
    /// of the log, and all that happens between two rounds. The times of all rounds add up to the run time.
    pub took: Duration,
}

/// The receiver of a log.
type Observer<'a> = dyn FnMut(&Round) -> io::Result<()> + 'a;

/// A log that is being written. Rounds are shown in the order of time.
///
/// ```
/// use parades_core::round_log::{Round, RoundLog};
/// use parades_core::time::{Instant, Time};
/// let mut parallel = Vec::new();
/// let mut log = RoundLog::new(|round| Ok(parallel.push(round.parallel)));
/// // As `RunOptions { rounds: Some(log), .. }` of a run.
/// let round = Round { id: 0, instant: Instant::at(Time::ZERO), programs: 1, events: 1, parallel: false, took: Default::default() };
/// log.record(round)?;
/// drop(log);
/// assert_eq!(parallel, [false]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct RoundLog<'a> {
    rounds: u64,
    observer: Box<Observer<'a>>,
}

impl fmt::Debug for RoundLog<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoundLog").field("rounds", &self.rounds).finish_non_exhaustive()
    }
}

impl<'a> RoundLog<'a> {
    /// Makes a log whose rounds are shown to `observer`.
    pub fn new(observer: impl FnMut(&Round) -> io::Result<()> + 'a) -> RoundLog<'a> {
        RoundLog { rounds: 0, observer: Box::new(observer) }
    }

    /// Shows a round, and numbers it.
    ///
    /// # Errors
    ///
    /// The error of the observer.
    pub fn record(&mut self, round: Round) -> io::Result<()> {
        let id = self.rounds;
        self.rounds += 1;
        (self.observer)(&Round { id, ..round })
    }
}
