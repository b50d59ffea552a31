//! The pending events of a run with one pending set, and the effects of its executions.

use parades_core::any_model::{AnyEvent, AnyLeftover, Packed, Taggable, any_event, event_of};
use parades_core::cut::Pending;
use parades_core::effects::{Effects, HiddenEffects};
use parades_core::outbox::Outbox;
use parades_core::pending::{PendingSet, WindowedPending};

/// The pending events of a run and the effects of an execution, behind a table of functions. `sequential` and
/// `rounds` are compiled for each form of messages only where they execute events. Everything else is
/// compiled once, over this table.
pub(crate) trait AnyEvents<'k>: Pending<'k> {
    /// Returns the effects.
    fn effects(&mut self) -> HiddenEffects<'_, 'k>;
    /// Moves the events that were sent into the pending set.
    fn accept_sent(&mut self);
    /// Returns the number of pending events.
    fn len(&self) -> usize;
    /// Returns the bytes of memory that the pending set holds, not counting memory that payloads own.
    fn allocated_bytes(&self) -> usize;
}

/// The pending events of a run, and the effects of an execution.
pub(crate) struct Events<P: Taggable, Q> {
    pub(crate) effects: Effects<P>,
    queue: Q,
}

impl<P: Taggable, Q: Queue<P>> Events<P, Q> {
    pub(crate) fn new() -> Events<P, Q> {
        Events { effects: Effects::with(Q::outbox()), queue: Q::default() }
    }

    /// Returns the pending set.
    #[inline(always)]
    pub(crate) fn set(&self) -> &Q::Set {
        self.queue.set(&self.effects.outbox)
    }

    /// Returns the pending set.
    #[inline(always)]
    pub(crate) fn set_mut(&mut self) -> &mut Q::Set {
        self.queue.set_mut(&mut self.effects.outbox)
    }

    /// Moves the events that an execution sent into the pending set.
    #[inline(always)]
    pub(crate) fn accept(&mut self) {
        self.queue.accept(&mut self.effects.outbox);
    }
}

impl<'k, P: Packed<'k>, Q: Queue<P>> AnyEvents<'k> for Events<P, Q> {
    fn effects(&mut self) -> HiddenEffects<'_, 'k> {
        self.effects.hide()
    }
    fn accept_sent(&mut self) {
        self.accept();
    }
    fn len(&self) -> usize {
        self.set().len()
    }
    fn allocated_bytes(&self) -> usize {
        self.set().allocated_bytes()
    }
}

impl<'k, P: Packed<'k>, Q: Queue<P>> Pending<'k> for Events<P, Q> {
    fn push(&mut self, event: AnyEvent<'k>) {
        self.set_mut().push(event_of(event));
    }
    fn take_all(&mut self) -> AnyLeftover<'k> {
        Box::new(self.set_mut().take_all().map(any_event))
    }
}

/// The place of the pending set: inside the outbox, or beside it.
pub(crate) trait Queue<P: Taggable>: Default {
    /// The type of the pending set.
    type Set: PendingSet<P>;
    /// Makes the outbox.
    fn outbox() -> Outbox<P>;
    /// Returns the pending set.
    fn set<'a>(&'a self, outbox: &'a Outbox<P>) -> &'a Self::Set;
    /// Returns the pending set.
    fn set_mut<'a>(&'a mut self, outbox: &'a mut Outbox<P>) -> &'a mut Self::Set;
    /// Moves the events that an execution sent into the pending set.
    fn accept(&mut self, outbox: &mut Outbox<P>);
}

/// Sends write events directly into the outbox's own pending set.
#[derive(Default)]
pub(crate) struct Direct;

impl<P: Taggable> Queue<P> for Direct {
    type Set = WindowedPending<P>;
    fn outbox() -> Outbox<P> {
        Outbox::direct()
    }
    #[inline(always)]
    fn set<'a>(&'a self, outbox: &'a Outbox<P>) -> &'a WindowedPending<P> {
        outbox.direct_ref()
    }
    #[inline(always)]
    fn set_mut<'a>(&'a mut self, outbox: &'a mut Outbox<P>) -> &'a mut WindowedPending<P> {
        outbox.direct_mut()
    }
    #[inline(always)]
    fn accept(&mut self, _: &mut Outbox<P>) {}
}

/// Sends write events into the outbox's buffer, where they can be compared. From there they move to any
/// pending set.
#[derive(Default)]
pub(crate) struct Through<Q>(Q);

impl<P: Taggable, Q: PendingSet<P>> Queue<P> for Through<Q> {
    type Set = Q;
    fn outbox() -> Outbox<P> {
        Outbox::buffered()
    }
    #[inline(always)]
    fn set<'a>(&'a self, _: &'a Outbox<P>) -> &'a Q {
        &self.0
    }
    #[inline(always)]
    fn set_mut<'a>(&'a mut self, _: &'a mut Outbox<P>) -> &'a mut Q {
        &mut self.0
    }
    #[inline(always)]
    fn accept(&mut self, outbox: &mut Outbox<P>) {
        outbox.buffer.drain(..).for_each(|event| self.0.push(event));
    }
}
