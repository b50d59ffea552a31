//! The effects of an execution, until the engine commits or undoes it.

use crate::any_model::{AnyEvent, any_event};
use crate::error::{ErrorKind, Failure};
use crate::event::{Body, EventKey, LpId, TimerId};
use crate::global::Scheduled;
use crate::metrics::Sample;
use crate::outbox::{Outbox, Pending};
use crate::placement::Placement;
use crate::timer::TimerChange;
use crate::trace::Note;
use parades_raw::message::{Container, Form, Hidden, InForm, Kind, Packed, Taggable, Use, View};
use parades_raw::{in_form, with_form};
use std::any::Any;

/// A global event that a controller asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The instant of the global event, and its position among the global events of that time.
    pub key: EventKey,
    /// The global event.
    pub global: Scheduled,
}

/// The outbox of an execution, and all its effects that wait for the commit. An engine uses one value for
/// many executions. `P` is the form in which messages are stored.
#[derive(Debug)]
pub struct Effects<P: Taggable> {
    /// Messages, and wakes of timers.
    pub outbox: Outbox<P>,
    /// All other effects.
    pub others: OtherEffects,
}

/// The effects of an execution other than its sends.
#[derive(Debug, Default)]
pub struct OtherEffects {
    /// True if any field below has an entry. Engines check this one flag after each event.
    pub any: bool,
    /// Samples to apply at commit.
    pub samples: Vec<Sample>,
    /// Notes for the trace of the event.
    pub notes: Vec<Note>,
    /// Global events that the handler asked for.
    pub requests: Vec<Request>,
    /// The error of the run, if this execution is committed.
    pub failure: Option<Failure>,
    /// The timers as they were before each change. Only engines that roll back keep them.
    pub timer_changes: Option<Vec<TimerChange>>,
}

/// [`Effects`] for a table of functions, which does not know the form of messages.
#[derive(Debug)]
pub struct HiddenEffects<'a, 'k> {
    /// The outbox.
    pub outbox: Hidden<'a, 'k, Outboxes>,
    /// All other effects.
    pub others: &'a mut OtherEffects,
}

/// The container [`Outbox`].
#[derive(Debug)]
pub enum Outboxes {}

impl Container for Outboxes {
    type Of<P: Taggable> = Outbox<P>;
}

/// The container [`Effects`].
#[derive(Debug)]
enum OfEffects {}

impl Container for OfEffects {
    type Of<P: Taggable> = Effects<P>;
}

/// [`Effects`] of any form.
#[derive(Debug)]
pub struct AnyEffects<'k>(InForm<'k, OfEffects>);

impl<'k> AnyEffects<'k> {
    /// Makes effects of any form.
    pub fn new<P: Packed<'k>>(effects: Effects<P>) -> AnyEffects<'k> {
        AnyEffects(InForm::new::<P>(effects))
    }

    /// Makes effects for global events. Their sends are in the buffer.
    pub fn buffered(form: Form) -> AnyEffects<'k> {
        fn buffered<'k, P: Packed<'k>>() -> AnyEffects<'k> {
            AnyEffects::new::<P>(Effects::new())
        }
        in_form!(form, buffered())
    }

    /// Makes effects whose outbox collects events for other partitions in parcels.
    pub fn partitioned(form: Form, placement: &Placement) -> AnyEffects<'k> {
        fn partitioned<'k, P: Packed<'k>>(placement: &Placement) -> AnyEffects<'k> {
            AnyEffects::new::<P>(Effects::with(Outbox::partitioned(placement.clone())))
        }
        in_form!(form, partitioned(placement))
    }

    /// Returns the form of the messages.
    pub fn form(&self) -> Form {
        self.0.form()
    }

    /// Returns the effects for a table of functions.
    #[inline]
    pub fn hide(&mut self) -> HiddenEffects<'_, 'k> {
        with_form!(&mut self.0, effects => effects.hide())
    }

    /// Returns the effects for code that knows their form.
    ///
    /// # Panics
    ///
    /// If `P` is not the type of their form.
    #[inline(always)]
    pub fn of_mut<P: Packed<'k>>(&mut self) -> &mut Effects<P> {
        self.0.of_mut()
    }

    /// Removes and returns the events in the buffer.
    pub fn take_buffer(&mut self) -> Vec<AnyEvent<'k>> {
        with_form!(&mut self.0, effects => effects.outbox.buffer.drain(..).map(any_event).collect())
    }
}

/// The outbox of a model whose messages have type `T`.
pub(crate) type Sends<'a, T> = View<'a, T, Outboxes>;

/// Sends a message.
pub(crate) struct SendMessage<T> {
    pub(crate) key: EventKey,
    pub(crate) receiver: LpId,
    pub(crate) message: T,
}

impl<T: Send + 'static> Use<T, Outboxes> for SendMessage<T> {
    type Out = ();

    #[inline(always)]
    fn with<'k, P: Packed<'k>>(self, outbox: &mut Outbox<P>, kind: Kind<'k, T>) {
        outbox.push(self.key, self.receiver, Body::Message(kind.pack(self.message)));
    }
}

/// Sends the wake of a timer to its LP.
pub(crate) struct SendWake {
    pub(crate) key: EventKey,
    pub(crate) lp: LpId,
    pub(crate) timer: TimerId,
}

impl<T: Send + 'static> Use<T, Outboxes> for SendWake {
    type Out = ();

    #[inline(always)]
    fn with<'k, P: Packed<'k>>(self, outbox: &mut Outbox<P>, _: Kind<'k, T>) {
        outbox.push_wake(self.key, self.lp, self.timer);
    }
}

impl<P: Taggable> Effects<P> {
    /// Makes effects for an engine that looks at sent events before it delivers them.
    pub fn new() -> Effects<P> {
        Effects::with(Outbox::buffered())
    }

    /// Makes effects with this outbox.
    pub fn with(outbox: Outbox<P>) -> Effects<P> {
        Effects { outbox, others: OtherEffects::default() }
    }

    /// Makes effects for an engine that may undo its executions.
    pub fn undoable(outbox: Outbox<P>) -> Effects<P> {
        Effects { outbox, others: OtherEffects { timer_changes: Some(Vec::new()), ..OtherEffects::default() } }
    }

    /// Returns these effects for a table of functions.
    #[inline(always)]
    pub fn hide<'k>(&mut self) -> HiddenEffects<'_, 'k>
    where
        P: Packed<'k>,
    {
        HiddenEffects { outbox: Hidden::new(&mut self.outbox), others: &mut self.others }
    }

    /// Lends these effects to the LPs of `partition`, whose pending set is `pending`. These effects must not
    /// be used until [`Effects::reclaim`].
    ///
    /// The borrower keeps the lent value in its own stack frame while it executes many events. Processors
    /// recognise such memory by its distance from the stack pointer, and read a field that was just written
    /// without delay.
    #[inline(always)]
    pub fn lend(&mut self, partition: u32, pending: &mut Pending<P>) -> Effects<P> {
        Effects { outbox: self.outbox.lend(partition, pending), others: std::mem::take(&mut self.others) }
    }

    /// Ends [`Effects::lend`], and returns the pending set to `pending`. The fields are moved one by one, so
    /// that the largest is copied once, not twice.
    #[inline(always)]
    pub fn reclaim(&mut self, lent: Effects<P>, pending: &mut Pending<P>) {
        let Effects { outbox, others } = lent;
        self.outbox.reclaim(outbox, pending);
        self.others = others;
    }
}

impl<'k> HiddenEffects<'_, 'k> {
    /// Returns the same effects, for a shorter time.
    #[inline(always)]
    pub fn reborrow(&mut self) -> HiddenEffects<'_, 'k> {
        HiddenEffects { outbox: self.outbox.reborrow(), others: self.others }
    }
}

impl OtherEffects {
    /// Makes a panic of the model the failure of the execution.
    #[cold]
    pub(crate) fn set_panic(&mut self, panic: &(dyn Any + Send)) {
        self.failure.get_or_insert_with(|| ErrorKind::of_panic(panic).into());
        self.any = true;
    }

    /// Clears everything, except the changes of timers.
    pub fn clear(&mut self) {
        self.any = false;
        self.samples.clear();
        self.notes.clear();
        self.requests.clear();
        self.failure = None;
    }
}

impl<P: Taggable> Default for Effects<P> {
    fn default() -> Effects<P> {
        Effects::new()
    }
}
