//! The summaries that workers reduce: bounds and counts.

use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// The report of a worker at an exchange, or the reports of all workers combined.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// A lower bound on the times of pending events and of events sent.
    pub next: Time,
    /// A lower bound on the rounds of pending and sent events at time `next`.
    pub round: u32,
    /// A lower bound on the times of events that the transport still holds back.
    pub in_flight: Time,
    /// The time of the earliest execution that failed.
    pub failed: Time,
    /// The earliest time of a global event requested by an execution that may still be rolled back.
    pub requested: Time,
    /// The number of events executed so far.
    pub events: u64,
    /// The number of executions rolled back so far.
    pub rolled_back: u64,
    /// The number of events committed so far.
    pub committed: u64,
    /// Bytes taken by pending events and by the history, if the engine keeps one.
    pub bytes: u64,
    /// The load of the workers by the clock, in nanoseconds, if the engine measures it.
    pub load_ns: f64,
    /// The sum of the squares of the samples by which the load was estimated, in square nanoseconds.
    pub load_squares: f64,
    /// The load of the busiest worker, in nanoseconds.
    pub busiest_ns: f64,
    /// True if a worker wants a cut, for work during which no LP may execute.
    pub wants_cut: bool,
    /// True if the user has stopped the run, and it has not come to its last cut yet.
    pub wants_stop: bool,
}

impl Summary {
    /// The summary of a worker with nothing to report.
    pub const NOTHING: Summary = Summary {
        next: Time::MAX,
        round: u32::MAX,
        in_flight: Time::MAX,
        failed: Time::MAX,
        requested: Time::MAX,
        events: 0,
        rolled_back: 0,
        committed: 0,
        bytes: 0,
        load_ns: 0.0,
        load_squares: 0.0,
        busiest_ns: 0.0,
        wants_cut: false,
        wants_stop: false,
    };

    /// Returns this summary of one worker with its load, in nanoseconds. `squares` is the sum of the squares of
    /// the samples.
    #[must_use]
    pub fn with_load(self, ns: f64, squares: f64) -> Summary {
        Summary { load_ns: ns, load_squares: squares, busiest_ns: ns, ..self }
    }

    /// Combines two summaries: the minimum of each bound, the sum of each count.
    #[must_use]
    pub fn and(self, other: Summary) -> Summary {
        let (next, round) = (self.next, self.round).min((other.next, other.round));
        Summary {
            next,
            round,
            in_flight: self.in_flight.min(other.in_flight),
            failed: self.failed.min(other.failed),
            requested: self.requested.min(other.requested),
            events: self.events + other.events,
            rolled_back: self.rolled_back + other.rolled_back,
            committed: self.committed + other.committed,
            bytes: self.bytes + other.bytes,
            load_ns: self.load_ns + other.load_ns,
            load_squares: self.load_squares + other.load_squares,
            busiest_ns: self.busiest_ns.max(other.busiest_ns),
            wants_cut: self.wants_cut || other.wants_cut,
            wants_stop: self.wants_stop || other.wants_stop,
        }
    }
}

/// The number of words that encode a summary.
pub(crate) const WORDS: usize = 11;

/// Encodes a summary in words. Between threads no event is in flight.
pub(crate) fn to_words(mine: &Summary) -> [u64; WORDS] {
    let Summary { next, round, failed, requested, events, rolled_back, committed, bytes, .. } = *mine;
    let wishes = u64::from(mine.wants_stop) << 1 | u64::from(mine.wants_cut);
    let round_and_wishes = u64::from(round) << 2 | wishes;
    let [load, squares, busiest] = [mine.load_ns, mine.load_squares, mine.busiest_ns].map(f64::to_bits);
    let [next, failed, requested] = [next, failed, requested].map(Time::as_ps);
    [next, round_and_wishes, failed, requested, events, rolled_back, committed, bytes, load, squares, busiest]
}

/// Decodes a summary.
fn from_words(words: [u64; WORDS]) -> Summary {
    let [next, round_and_wishes, failed, requested, events, rolled_back, committed, bytes, loads @ ..] = words;
    let [load_ns, load_squares, busiest_ns] = loads.map(f64::from_bits);
    Summary {
        next: Time::from_ps(next),
        round: u32::try_from(round_and_wishes >> 2).expect("it was encoded from 32 bits"),
        in_flight: Time::MAX,
        failed: Time::from_ps(failed),
        requested: Time::from_ps(requested),
        events,
        rolled_back,
        committed,
        bytes,
        load_ns,
        load_squares,
        busiest_ns,
        wants_cut: round_and_wishes & 1 != 0,
        wants_stop: round_and_wishes & 2 != 0,
    }
}

/// Combines the encoded summaries of all workers.
pub(crate) fn combine(reports: impl Iterator<Item = [u64; WORDS]>) -> Summary {
    reports.map(from_words).fold(Summary::NOTHING, Summary::and)
}
