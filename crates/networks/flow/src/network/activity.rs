//! Activities: flows and computations.

use super::{AMOUNT_PRECISION, HostId};
use crate::solver::VariableId;
use parades_core::time::{Delay, Time};

/// An activity that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActivityId {
    pub(super) slot: u32,
    pub(super) serial: u64,
}

impl ActivityId {
    /// The activity's slot: below the greatest number of activities that existed at one time. It is reused after the activity has ended.
    pub fn slot(self) -> usize {
        self.slot as usize
    }

    /// Counts the network's activities from 0, in the order in which they started.
    pub fn number(self) -> u64 {
        self.serial
    }
}

/// How an activity ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did all that it had to do.
    Done,
    /// A link or host that it needs failed, or was off when it started.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// An activity that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Which.
    pub id: ActivityId,
    /// When.
    pub at: Time,
    /// How.
    pub outcome: Outcome,
}

/// What an activity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Flow { source: HostId, destination: HostId },
    Execution { host: HostId, cores: u32 },
}

/// How far an activity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It waits for its latency, and will then share.
    Waiting,
    /// It takes part in what it uses, where nothing holds it back; its place among those.
    Free(u32),
    /// It takes part in what it uses.
    Sharing(VariableId),
    /// It shares nothing, and ends at a known date.
    Ending,
    /// It has ended; its place is free.
    Over,
}

/// A flow or a computation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Activity {
    pub(super) serial: u64,
    pub(super) kind: Kind,
    pub(super) stage: Stage,
    /// Bytes or flops that were left at `updated`.
    pub(super) remaining: f64,
    pub(super) updated: Time,
    /// Bytes or flops per second since then.
    pub(super) rate: f64,
    /// What the rate that is shared out is multiplied by.
    pub(super) factor: f64,
    /// Constraints and weights.
    pub(super) uses: Vec<(u32, f64)>,
    /// Seconds.
    pub(super) latency: f64,
    /// Whether it started without latency: its penalty knows no link.
    pub(super) timeless: bool,
    /// What its way adds up to. The system is told [`Activity::penalty`].
    pub(super) penalty: f64,
    /// The least bandwidth on the way when it started, or the speed of its cores.
    pub(super) width: f64,
}

impl Default for Activity {
    fn default() -> Activity {
        let kind = Kind::Execution { host: HostId(0), cores: 1 };
        let (remaining, rate, factor, latency, penalty, width) = (0.0, 0.0, 1.0, 0.0, 1.0, 0.0);
        let (serial, stage, updated, uses, timeless) = (0, Stage::Over, Time::ZERO, Vec::new(), false);
        Activity { serial, kind, stage, remaining, updated, rate, factor, uses, latency, timeless, penalty, width }
    }
}

impl Activity {
    /// Becomes a new activity, with the memory of the one before.
    pub(super) fn begin(&mut self, serial: u64, kind: Kind, amount: f64, now: Time) {
        // Field by field: what is written small and then moved whole waits for the writes.
        let Activity { uses, latency, timeless, penalty, width, .. } = self;
        uses.clear();
        (*latency, *timeless, *penalty, *width) = (0.0, false, 1.0, 0.0);
        (self.serial, self.kind, self.stage) = (serial, kind, Stage::Ending);
        self.remaining = if amount < AMOUNT_PRECISION { 0.0 } else { amount };
        (self.updated, self.rate, self.factor) = (now, 0.0, 1.0);
    }

    /// Its penalty; where its way takes no time any more, that of a flow which started without latency.
    #[inline]
    pub(super) fn penalty(&self) -> f64 {
        if self.penalty > 0.0 { self.penalty } else { 1.0 }
    }

    /// Takes off what was done since the last time.
    #[inline]
    pub(super) fn bring_up_to(&mut self, now: Time) {
        if now == self.updated {
            return;
        }
        self.remaining -= self.rate * now.since(self.updated).as_secs_f64();
        if self.remaining < AMOUNT_PRECISION {
            self.remaining = 0.0;
        }
        self.updated = now;
    }

    /// When it will end at its rate; `None` where it will not.
    #[inline]
    pub(super) fn end_from(&self, now: Time) -> Option<Time> {
        if self.remaining <= 0.0 {
            return Some(now);
        }
        // A rate of zero gives infinity, and so no date.
        now.checked_add(Delay::from_secs_f64(self.remaining / self.rate)?)
    }
}
