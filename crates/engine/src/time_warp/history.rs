//! What executions left that are not committed yet, so that they can be taken back.

use super::marked::Mark;
use parades_core::effects::Request;
use parades_core::error::ErrorKind;
use parades_core::event::{Event, EventKey, LpId, Sender};
use parades_core::lp::{Before, Execution};
use parades_core::metrics::Sample;
use parades_core::restore::{Restorable, UndoLog};
use parades_core::ring::Ring;
use parades_core::time::{Instant, Time};
use parades_core::timer::TimerChange;
use std::num::NonZeroU32;

/// The position in the history of an execution that there never was.
pub(super) const NONE: u32 = u32::MAX;

/// An execution. What it left beside this lies in the other logs, up to where the next execution's begins.
#[derive(Debug)]
pub(super) struct Record<M: Restorable> {
    /// `None` once it has been taken back.
    pub(super) event: Option<Event<M::Message>>,
    /// Of the event. What this execution sent is marked with its position.
    pub(super) mark: Mark,
    /// The execution of this LP before this one.
    pub(super) previous: u32,
    pub(super) execution: Execution,
    pub(super) before: Before,
    pub(super) begins: Begins,
    /// What is rare.
    pub(super) rare: Option<Box<Rare<M>>>,
}

/// Where what an execution left begins in each log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begins {
    pub(super) sends: u32,
    pub(super) undos: u32,
    pub(super) timers: u32,
    pub(super) samples: u32,
}

/// What few executions leave.
#[derive(Debug)]
pub(super) struct Rare<M: Restorable> {
    pub(super) notes: Vec<String>,
    pub(super) requests: Vec<Request<M::Global>>,
    pub(super) failure: Option<ErrorKind>,
}

/// What is kept of an event that was sent: all that an anti-message says, but the sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    time: Time,
    sequence: u64,
    round: u32,
    tie: u32,
    /// The rank of the receiver as a sender, which is not zero: so an empty slot of the log takes no more room than a full one.
    receiver: NonZeroU32,
}

impl Sent {
    #[inline]
    pub(super) fn of(key: &EventKey, receiver: LpId) -> Sent {
        let EventKey { instant: Instant { time, round }, tie, sequence, .. } = *key;
        Sent { time, sequence, round, tie, receiver: NonZeroU32::MIN.saturating_add(receiver.0) }
    }

    pub(super) fn key(&self, sender: Sender) -> EventKey {
        let instant = Instant { time: self.time, round: self.round };
        EventKey { instant, tie: self.tie, sender, sequence: self.sequence }
    }

    pub(super) fn receiver(&self) -> LpId {
        LpId(self.receiver.get() - 1)
    }
}

/// The executions of a worker's LPs that are not committed, in the order in which they were made.
#[derive(Debug)]
pub(super) struct History<M: Restorable> {
    pub(super) records: Ring<Record<M>>,
    pub(super) sends: Ring<Sent>,
    pub(super) undos: UndoLog<M::Undo>,
    pub(super) timers: Ring<TimerChange>,
    pub(super) samples: Ring<Sample>,
}

impl<M: Restorable> History<M> {
    pub(super) fn new() -> History<M> {
        History {
            records: Ring::default(),
            sends: Ring::default(),
            undos: UndoLog::default(),
            timers: Ring::default(),
            samples: Ring::default(),
        }
    }

    /// Where what comes next begins.
    #[inline]
    pub(super) fn ends(&self) -> Begins {
        Begins {
            sends: self.sends.end(),
            undos: self.undos.records().end(),
            timers: self.timers.end(),
            samples: self.samples.end(),
        }
    }

    /// Where what the execution at `position` left ends.
    #[inline]
    pub(super) fn ends_of(&self, position: u32) -> Begins {
        self.records.get(position.wrapping_add(1)).map_or_else(|| self.ends(), |next| next.begins)
    }

    /// The execution at `position` if it is one of `lp`'s that is neither committed nor taken back.
    #[inline]
    pub(super) fn live(&self, position: u32, lp: LpId) -> Option<&Record<M>> {
        let of_lp = |record: &&Record<M>| record.event.as_ref().is_some_and(|event| event.receiver == lp);
        self.records.get(position).filter(of_lp)
    }

    /// The key of the last execution of `lp`, which is at `position`, if it can be taken back.
    #[inline]
    pub(super) fn last_key(&self, position: u32, lp: LpId) -> Option<EventKey> {
        self.live(position, lp).and_then(|record| record.event.as_ref()).map(Event::key)
    }

    /// Forgets all before `position`.
    pub(super) fn release_before(&mut self, position: u32, begins: Begins) {
        self.records.release_before(position);
        self.sends.release_before(begins.sends);
        self.undos.records_mut().release_before(begins.undos);
        self.timers.release_before(begins.timers);
        self.samples.release_before(begins.samples);
    }

    /// Gives back memory that is not needed now.
    pub(super) fn shrink(&mut self) {
        self.records.shrink();
        self.sends.shrink();
        self.undos.records_mut().shrink();
        self.timers.shrink();
        self.samples.shrink();
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.records.allocated_bytes()
            + self.sends.allocated_bytes()
            + self.undos.records().allocated_bytes()
            + self.timers.allocated_bytes()
            + self.samples.allocated_bytes()
    }
}
