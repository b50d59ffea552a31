//! What executions left that are not committed yet, so that they can be taken back.

use parades_core::effects::Request;
use parades_core::error::ErrorKind;
use parades_core::event::{Body, Event, EventKey, LpId};
use parades_core::lp::{Execution, KernelCheckpoint};
use parades_core::metrics::Sample;
use parades_core::optimistic::{Tagged, TaggedEvent};
use parades_core::restore::{Restorable, UndoLog};
use parades_core::ring::Ring;
use parades_core::timer::TimerChange;
use parades_core::trace::Note;
use std::collections::BTreeMap;

/// The position in the history of an execution that there never was.
pub(super) const NONE: u32 = u32::MAX;

/// An execution. What it left beside this lies in the other logs, up to where the next execution's begins.
#[derive(Debug)]
pub(super) struct Record<M: Restorable> {
    /// `None` once it has been taken back. What this execution sent is marked with its position.
    pub(super) event: Option<TaggedEvent<M::Message>>,
    /// The execution of this LP before this one.
    pub(super) previous: u32,
    pub(super) execution: Execution,
    pub(super) before: KernelCheckpoint,
    pub(super) begins: Begins,
    /// How many executions of this LP ago one left a copy of its state: 0 for that one, and for all where each leaves what taking it back needs;
    /// [`NO_COPY`](super::coast::NO_COPY) for a wake for nothing that would have left one.
    pub(super) since_copy: u16,
    /// Whether there is a [`Rare`] of it.
    pub(super) is_rare: bool,
}

/// Where what an execution left begins in each log; that of what it sent is kept where that waits.
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
    pub(super) notes: Vec<Note>,
    pub(super) requests: Vec<Request<M::Global>>,
    pub(super) failure: Option<ErrorKind>,
}

/// The executions of a worker's LPs that are not committed, in the order in which they were made.
#[derive(Debug)]
pub(super) struct History<M: Restorable> {
    pub(super) records: Ring<Record<M>>,
    pub(super) undos: UndoLog<M::Undo>,
    pub(super) timers: Ring<TimerChange>,
    pub(super) samples: Ring<Sample>,
    /// By position.
    pub(super) rares: BTreeMap<u32, Rare<M>>,
}

impl<M: Restorable> History<M> {
    pub(super) fn new() -> History<M> {
        History {
            records: Ring::default(),
            undos: UndoLog::default(),
            timers: Ring::default(),
            samples: Ring::default(),
            rares: BTreeMap::new(),
        }
    }

    /// Adds the execution of `event`, by an LP whose last execution is at `head`.
    ///
    /// A message is made anew from its parts. Copied whole, its mark and what lies beside it would go through memory in pieces that overlap, and be read
    /// before these have left the core's store buffer.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        event: TaggedEvent<M::Message>,
        of_lp: (&mut u32, u16),
        before: KernelCheckpoint,
        sends: u32,
    ) {
        let (key, receiver) = (event.key(), event.receiver);
        match event.body {
            Body::Message(Tagged::Message(execution, message)) => {
                let body = Body::Message(Tagged::Message(execution, message));
                self.add_made(Event::new(key, receiver, body), of_lp, before, sends);
            }
            other => self.add_other(Event::new(key, receiver, other), of_lp, before, sends),
        }
    }

    /// As [`History::add`], of a wake.
    #[inline(never)]
    fn add_other(
        &mut self,
        event: TaggedEvent<M::Message>,
        of_lp: (&mut u32, u16),
        before: KernelCheckpoint,
        sends: u32,
    ) {
        self.add_made(event, of_lp, before, sends);
    }

    #[inline(always)]
    fn add_made(
        &mut self,
        event: TaggedEvent<M::Message>,
        (head, since_copy): (&mut u32, u16),
        before: KernelCheckpoint,
        sends: u32,
    ) {
        let position = self.records.end();
        let begins = self.ends(sends);
        let previous = std::mem::replace(head, position);
        let execution = Execution::Done;
        let record = Record { event: None, previous, execution, before, begins, since_copy, is_rare: false };
        self.records.push(record).event = Some(event);
    }

    /// Where what comes next begins, given where it does among the sends.
    #[inline]
    pub(super) fn ends(&self, sends: u32) -> Begins {
        Begins { sends, undos: self.undos.records().end(), timers: self.timers.end(), samples: self.samples.end() }
    }

    /// Where what the execution at `position` left ends.
    #[inline]
    pub(super) fn ends_of(&self, position: u32, sends: u32) -> Begins {
        self.records.get(position.wrapping_add(1)).map_or_else(|| self.ends(sends), |next| next.begins)
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

    /// Takes out what is rare of the execution at a position.
    pub(super) fn take_rare(&mut self, position: u32) -> Option<Rare<M>> {
        let record = self.records.get_mut(position).filter(|record| record.is_rare)?;
        record.is_rare = false;
        self.rares.remove(&position)
    }

    /// Forgets all before `position`.
    pub(super) fn release_before(&mut self, position: u32, begins: Begins) {
        self.records.release_before(position);
        self.undos.records_mut().release_before(begins.undos);
        self.timers.release_before(begins.timers);
        self.samples.release_before(begins.samples);
    }

    /// Gives back memory that is not needed now.
    pub(super) fn shrink(&mut self) {
        self.records.shrink();
        self.undos.records_mut().shrink();
        self.timers.shrink();
        self.samples.shrink();
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.records.allocated_bytes()
            + self.undos.records().allocated_bytes()
            + self.timers.allocated_bytes()
            + self.samples.allocated_bytes()
    }
}
