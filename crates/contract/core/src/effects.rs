//! The effects of an execution, until the engine commits or undoes it.

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
    /// The instant of the global event, and its position among the global events of that time.
    pub key: EventKey,
    /// The global event.
    pub global: Scheduled<G>,
}

/// The outbox of an execution, and all its effects that wait for the commit. An engine uses one value for
/// many executions.
#[derive(Debug)]
pub struct Effects<M: Model> {
    /// Messages, and wakes of timers.
    pub outbox: Outbox<M::Message>,
    /// True if any field below has an entry. Engines check this one flag after each event.
    pub beyond_sends: bool,
    /// Samples to apply at commit.
    pub samples: Vec<Sample>,
    /// Notes for the trace of the event.
    pub notes: Vec<Note>,
    /// Global events that the handler asked for.
    pub requests: Vec<Request<M::Global>>,
    /// The error of the run, if this execution is committed.
    pub failure: Option<ErrorKind>,
    /// The timers as they were before each change. Only engines that roll back keep them.
    pub timer_changes: Option<Vec<TimerChange>>,
}

impl<M: Model> Effects<M> {
    /// Makes effects for an engine that looks at sent events before it delivers them.
    pub fn new() -> Effects<M> {
        Effects::with(Outbox::buffered())
    }

    /// Makes effects with this outbox.
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

    /// Makes effects for an engine that may undo its executions.
    pub fn undoable(outbox: Outbox<M::Message>) -> Effects<M> {
        Effects { timer_changes: Some(Vec::new()), ..Effects::with(outbox) }
    }

    /// Lends these effects to the LPs of `partition`, whose pending set is `pending`. These effects must not
    /// be used until [`Effects::reclaim`].
    ///
    /// The borrower keeps the lent value in its own stack frame while it executes many events. Processors
    /// recognise such memory by its distance from the stack pointer, and read a field that was just written
    /// without delay.
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

    /// Ends [`Effects::lend`], and returns the pending set to `pending`. The fields are moved one by one, so
    /// that the largest is copied once, not twice.
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

    /// Makes a panic of the model the failure of the execution.
    #[cold]
    pub(crate) fn set_panic(&mut self, panic: &(dyn Any + Send)) {
        self.failure.get_or_insert_with(|| ErrorKind::of_panic(panic));
        self.beyond_sends = true;
    }

    /// Clears everything except the sent events.
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
