//! The history: the effects of uncommitted executions, by which they can be undone.

use parades_core::any_model::Taggable;
use parades_core::effects::Request;
use parades_core::error::Failure;
use parades_core::event::{Body, Event, EventKey, LpId};
use parades_core::lp::{Execution, KernelCheckpoint};
use parades_core::metrics::Sample;
use parades_core::optimistic::{Tagged, TaggedEvent};
use parades_core::ring::Ring;
use parades_core::timer::TimerChange;
use parades_core::trace::Note;
use std::collections::BTreeMap;

/// The position of no execution.
pub(super) const NONE: u32 = u32::MAX;

/// The record of an execution. Its other effects lie in the other logs, up to the begin of the next
/// execution's.
#[derive(Debug)]
pub(super) struct Record<P: Taggable> {
    /// The event; `None` once the execution has been undone. The events that it sent are tagged with its
    /// position.
    pub(super) event: Option<TaggedEvent<P>>,
    /// The position of the LP's previous execution.
    pub(super) previous: u32,
    pub(super) execution: Execution,
    /// The kernel's part of the LP before the execution. Unset until the execution.
    pub(super) before: KernelCheckpoint,
    pub(super) begins: Begins,
    /// The number of executions of this LP since the one that left a checkpoint. 0 if this one did, or can
    /// be undone by itself. [`NO_CHECKPOINT`](super::coast::NO_CHECKPOINT) for a wake without effect at
    /// which one was due.
    pub(super) since_checkpoint: u16,
    /// True if the execution has [`RareEffects`].
    pub(super) has_rare: bool,
}

/// The positions in each log at which the effects of an execution begin. The log of sends is kept in the
/// pending set, and the log of undo records with the LPs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begins {
    pub(super) sends: u32,
    pub(super) undos: u32,
    pub(super) timers: u32,
    pub(super) samples: u32,
}

/// The positions after the last send and after the last undo record, in the logs that are kept elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogEnds {
    pub(super) sends: u32,
    pub(super) undos: u32,
}

/// Effects that few executions have.
#[derive(Debug)]
pub(super) struct RareEffects {
    pub(super) notes: Vec<Note>,
    pub(super) requests: Vec<Request>,
    pub(super) failure: Option<Failure>,
}

/// The uncommitted executions of a worker's LPs, in the order in which they were executed.
#[derive(Debug)]
pub(super) struct History<P: Taggable> {
    pub(super) records: Ring<Record<P>>,
    pub(super) timers: Ring<TimerChange>,
    pub(super) samples: Ring<Sample>,
    /// By position.
    pub(super) rares: BTreeMap<u32, RareEffects>,
}

impl<P: Taggable> History<P> {
    pub(super) fn new() -> History<P> {
        History { records: Ring::default(), timers: Ring::default(), samples: Ring::default(), rares: BTreeMap::new() }
    }

    /// Adds the execution of `event`, by an LP whose last execution is at `head`. The LP has executed
    /// `since_checkpoint` events since its last checkpoint, as in [`Record::since_checkpoint`].
    ///
    /// A message is built again from its parts. If it were copied as a whole, its tag and the bytes beside
    /// it would be written and read in pieces that overlap. The reads would then wait until the writes have
    /// left the store buffer.
    #[inline(always)]
    pub(super) fn add(&mut self, event: TaggedEvent<P>, head: &mut u32, since_checkpoint: u16, ends: LogEnds) {
        let (key, receiver) = (event.key(), event.receiver());
        match event.body {
            Body::Message(Tagged::Message(execution, message)) => {
                let body = Body::Message(Tagged::Message(execution, message));
                self.add_record(Event::new(key, receiver, body), head, since_checkpoint, ends);
            }
            wake => self.add_wake(Event::new(key, receiver, wake), head, since_checkpoint, ends),
        }
    }

    /// Does the same as [`History::add`], for a wake.
    #[inline(never)]
    fn add_wake(&mut self, event: TaggedEvent<P>, head: &mut u32, since_checkpoint: u16, ends: LogEnds) {
        self.add_record(event, head, since_checkpoint, ends);
    }

    #[inline(always)]
    fn add_record(&mut self, event: TaggedEvent<P>, head: &mut u32, since_checkpoint: u16, ends: LogEnds) {
        let position = self.records.end();
        let begins = self.ends(ends);
        let previous = std::mem::replace(head, position);
        let execution = Execution::Done;
        let before = KernelCheckpoint::unset();
        let record = Record { event: None, previous, execution, before, begins, since_checkpoint, has_rare: false };
        self.records.push(record).event = Some(event);
    }

    /// Returns the begins of the next execution.
    #[inline]
    pub(super) fn ends(&self, LogEnds { sends, undos }: LogEnds) -> Begins {
        Begins { sends, undos, timers: self.timers.end(), samples: self.samples.end() }
    }

    /// Returns the positions at which the effects of the execution at `position` end.
    #[inline]
    pub(super) fn ends_of(&self, position: u32, ends: LogEnds) -> Begins {
        self.records.get(position.wrapping_add(1)).map_or_else(|| self.ends(ends), |next| next.begins)
    }

    /// Returns the execution at `position` if it is one of `lp`'s that is neither committed nor undone.
    #[inline]
    pub(super) fn find(&self, position: u32, lp: LpId) -> Option<&Record<P>> {
        let of_lp = |record: &&Record<P>| record.event.as_ref().is_some_and(|event| event.receiver() == lp);
        self.records.get(position).filter(of_lp)
    }

    /// Returns the key of `lp`'s execution at `position`, its last, if it can be undone.
    #[inline]
    pub(super) fn last_key(&self, position: u32, lp: LpId) -> Option<EventKey> {
        self.find(position, lp).and_then(|record| record.event.as_ref()).map(Event::key)
    }

    /// Removes and returns the rare effects of the execution at `position`.
    pub(super) fn take_rare(&mut self, position: u32) -> Option<RareEffects> {
        let record = self.records.get_mut(position).filter(|record| record.has_rare)?;
        record.has_rare = false;
        self.rares.remove(&position)
    }

    /// Frees the history before `position`, whose effects begin at `begins` (fossil collection). The list of
    /// LPs frees undo records.
    pub(super) fn release_before(&mut self, position: u32, begins: Begins) {
        self.records.release_before(position);
        self.timers.release_before(begins.timers);
        self.samples.release_before(begins.samples);
    }

    /// Frees memory that is not in use.
    pub(super) fn shrink(&mut self) {
        self.records.shrink();
        self.timers.shrink();
        self.samples.shrink();
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.records.allocated_bytes() + self.timers.allocated_bytes() + self.samples.allocated_bytes()
    }
}
