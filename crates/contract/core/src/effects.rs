//! What an execution did, until the engine commits it or takes it back.

use crate::error::ErrorKind;
use crate::event::EventKey;
use crate::global::Scheduled;
use crate::metrics::Sample;
use crate::model::Model;
use crate::outbox::{Outbox, Pending};
use crate::timer::TimerChange;
use crate::trace::Note;
use serde::{Deserialize, Serialize};
use std::any::Any;

/// A global event that a controller asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request<G> {
    /// When it happens, and its place among those of that time.
    pub key: EventKey,
    /// What happens.
    pub global: Scheduled<G>,
}

/// The outbox of an execution and all else that takes effect at commit. One is reused for execution after execution.
#[derive(Debug)]
pub struct Effects<M: Model> {
    /// Messages, and wakes of timers.
    pub outbox: Outbox<M::Message>,
    /// Whether anything of what follows is not empty: engines look at this one flag after each event.
    pub beyond_sends: bool,
    /// Metrics to apply at commit.
    pub samples: Vec<Sample>,
    /// What the trace shall have besides the event.
    pub notes: Vec<Note>,
    /// Global events asked for.
    pub requests: Vec<Request<M::Global>>,
    /// Why the run cannot go on from here, if this execution is committed.
    pub failure: Option<ErrorKind>,
    /// Timers as they were before each change, kept only for engines that roll back.
    pub timer_changes: Option<Vec<TimerChange>>,
}

impl<M: Model> Effects<M> {
    /// For an engine that looks at what was sent before it hands it on.
    pub fn new() -> Effects<M> {
        Effects::with(Outbox::buffered())
    }

    /// For an engine that sends by `outbox`.
    pub fn with(outbox: Outbox<M::Message>) -> Effects<M> {
        Effects {
            outbox,
            beyond_sends: false,
            samples: Vec::new(),
            notes: Vec::new(),
            requests: Vec::new(),
            failure: None,
            timer_changes: None,
        }
    }

    /// For an engine that may take back what it executes.
    pub fn undoable(outbox: Outbox<M::Message>) -> Effects<M> {
        Effects { timer_changes: Some(Vec::new()), ..Effects::with(outbox) }
    }

    /// Those of the LPs of `partition`, whose events wait in `pending`, until [`Effects::reclaim`]: these are no use meanwhile.
    ///
    /// Who executes many events has them on its own stack frame so, where a field that was written a moment ago is read without delay: processors know such
    /// places by their distance from the stack pointer.
    #[inline(always)]
    pub fn lend(&mut self, partition: u32, pending: &mut Pending<M::Message>) -> Effects<M> {
        Effects {
            outbox: self.outbox.lend(partition, pending),
            beyond_sends: self.beyond_sends,
            samples: std::mem::take(&mut self.samples),
            notes: std::mem::take(&mut self.notes),
            requests: std::mem::take(&mut self.requests),
            failure: self.failure.take(),
            timer_changes: self.timer_changes.take(),
        }
    }

    /// Takes back what it has lent, piece by piece, and leaves what waits in `pending`: the largest piece is then copied once, not twice.
    #[inline(always)]
    pub fn reclaim(&mut self, lent: Effects<M>, pending: &mut Pending<M::Message>) {
        let Effects { outbox, beyond_sends, samples, notes, requests, failure, timer_changes } = lent;
        self.outbox.reclaim(outbox, pending);
        self.beyond_sends = beyond_sends;
        self.samples = samples;
        self.notes = notes;
        self.requests = requests;
        self.failure = failure;
        self.timer_changes = timer_changes;
    }

    /// Takes up a panic of the model's.
    #[cold]
    pub(crate) fn set_panic(&mut self, panic: &(dyn Any + Send)) {
        self.failure.get_or_insert_with(|| ErrorKind::of_panic(panic));
        self.beyond_sends = true;
    }

    /// Forgets everything but the sends.
    pub fn clear_beyond_sends(&mut self) {
        self.beyond_sends = false;
        self.samples.clear();
        self.notes.clear();
        self.requests.clear();
        self.failure = None;
    }
}

impl<M: Model> Default for Effects<M> {
    fn default() -> Effects<M> {
        Effects::new()
    }
}
