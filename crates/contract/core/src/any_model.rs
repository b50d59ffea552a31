//! A model behind a table of functions: the part of a model that engines know.
//!
//! Engines see a model as [`AnyModel`], and its LPs as lists ([`Lps`]). [`with_model`] makes such a view of a
//! [`Model`](crate::model::Model). The loops of engines are compiled once for each form in which messages are
//! stored ([`parades_raw::message`]), and not for each model. All other code of engines is compiled once; it
//! holds events with a message of any form ([`AnyEvent`]).
//!
//! Abilities that only some models have are in tables of their own: [`AnyRestorable`] for engines that roll
//! back, [`AnyChecked`] for `rollback-check`, and [`AnyWire`] for runs of several processes. So the type of a
//! model decides which engines can run it.
//!
//! *The lifetime `'k`* is that of a run. It ties a run's stored messages to its model, so that no function of
//! one model ever reads a message of another.
//!
//! *Cost*: one call through a table for each executed event. A handler's sends go into the pending set
//! without another call ([`crate::effects::HiddenEffects`]).
//!
//! *Read next*: `any_model/typed.rs`, the tables of a model.

mod checked;
pub mod parcel;
mod restorable;
mod save;
mod typed;
mod wire;

pub use checked::{AnyChecked, CheckedLps, Difference, NotRestored};
pub use parades_raw::message::{
    AnyMessage, Container, Empty, Form, Hidden, InForm, MessageRef, Owned, Packed, Plain, Taggable,
};
pub use parades_raw::{in_form, with_form};
pub use restorable::{AnyRestorable, Kept, RestorableLps, Undone};
pub use save::{AnySave, SaveModel};
pub use typed::{InRun, Typed, execute_alone, with_model};
pub use wire::{AnyWire, Codec, WireModel};

use crate::capture::CapturePoint;
use crate::channel::Channels;
use crate::effects::HiddenEffects;
use crate::error::{ErrorKind, Failure};
use crate::event::{Body, Event, Header, LpId};
use crate::global::{Acting, AnyGlobal, AnySummaries};
use crate::lp::Execution;
use crate::metrics::Metrics;
use crate::pending::Leftover;
use crate::placement::Placement;
use crate::run::End;
use crate::time::Time;
use crate::trace::{Note, TraceObserver};
use crate::world::{Controllers, World};
use parades_raw::prefetch::Records;
use std::any::Any;
use std::fmt::Debug;
use std::io;

// The form of a message is no larger than a message with a tag of its own.
const _: () = assert!(size_of::<Body<Empty<'_>>>() == size_of::<Body<()>>());
const _: () = assert!(size_of::<Body<Plain<'_, 24>>>() == size_of::<Body<[u64; 3]>>());
const _: () = assert!(size_of::<Body<Owned<'_, 8>>>() == size_of::<Body<Box<u8>>>());

/// A model of any type. Functions with the name of one of
/// [`Model`](crate::model::Model) do the same as that function.
pub trait AnyModel<'k>: Sync {
    /// Returns the form in which the messages of the model are stored.
    fn form(&self) -> Form;
    /// Returns the number of LPs.
    fn lps(&self) -> u32;
    /// Returns the declared channels.
    fn channels(&self) -> Channels;
    /// Returns the declared controllers.
    fn controllers(&self) -> Controllers;
    /// Returns the declared metrics.
    fn metrics(&self) -> Metrics;
    /// Returns the global events that are known from the start.
    fn globals(&self) -> Vec<(Time, AnyGlobal)>;
    /// Returns the number of rounds that one time may have.
    fn round_limit(&self) -> u32;
    /// As [`crate::model::Model::stays_on_threads`].
    fn stays_on_threads(&self) -> bool;
    /// Returns the places where packets can be captured.
    fn capture_points(&self) -> Vec<CapturePoint>;
    /// Returns the name of an LP.
    fn lp_name(&self, lp: LpId) -> Option<String>;
    /// Returns the name of the kind of an LP.
    fn lp_kind(&self, lp: LpId) -> String;

    /// Returns the bytes of an LP's record, without the memory that its state points to.
    fn lp_bytes(&self) -> usize;
    /// Returns the bytes of an LP's state, without the memory that it points to.
    fn state_bytes(&self) -> usize;
    /// Returns the number of steps of [`Lps::fetch`]; 0 if they are not worth their time.
    fn fetch_steps(&self) -> usize;
    /// Makes an empty list of LPs.
    fn new_lps(&'k self) -> Box<dyn Lps<'k> + 'k>;
    /// Deals the LPs that lists have put down ([`Lps::put_down`]) to other lists, which can then pick them
    /// up. `lens` has the number of LPs of each new list. `moves` has, for each LP here in the order of ids,
    /// the list that has put it down, and its new list. An LP without a new list is dropped. `moves` must not
    /// call the model.
    ///
    /// # Panics
    ///
    /// If `moves` names more LPs of a list than it has, or a new list without a length.
    fn deal(&self, lens: &[usize], moves: &mut dyn Iterator<Item = (usize, Option<usize>)>);
    /// Distributes the LPs that lists have put down ([`Lps::put_down`]). List `n` has the LPs of partition
    /// `n` of `old`; afterwards it can pick up those of partition `n` of `new`. `lps` is the number of LPs of
    /// the run.
    fn distribute(&self, old: &Placement, new: &Placement, lps: u32) {
        let lens: Vec<usize> = (0..new.partitions()).map(|number| new.len(number) as usize).collect();
        let list = |placement: &Placement, id| placement.partition(id) as usize;
        self.deal(&lens, &mut (0..lps).map(LpId).map(|id| (list(old, id), Some(list(new, id)))));
    }

    /// Makes the summaries of a global event, of no LP yet. `is_whole` is true if all LPs of the run are
    /// visited here.
    fn new_summaries(&self, is_whole: bool) -> AnySummaries;
    /// Joins the summaries of all processes.
    ///
    /// # Errors
    ///
    /// The panic of the model that folds them.
    fn join_summaries(&self, global: &AnyGlobal, all: Vec<AnySummaries>) -> Result<AnySummaries, ErrorKind>;
    /// Lets a global event act on the summaries of all LPs.
    ///
    /// # Errors
    ///
    /// The failure of the global event.
    fn act(&self, global: &AnyGlobal, summaries: AnySummaries, acting: Acting<'_, 'k>) -> Result<(), Failure>;

    /// Shows a committed event to the observer of a trace.
    ///
    /// # Errors
    ///
    /// The error of the observer.
    fn trace(
        &self,
        event: &Event<MessageRef<'_, 'k>>,
        notes: &[Note],
        observer: &mut TraceObserver<'_>,
    ) -> io::Result<()>;
    /// Stores a message from outside the run. Returns `None` if it is no message of the model.
    fn pack(&self, message: Box<dyn Any + Send>) -> Option<AnyMessage<'k>>;
    /// Returns a number that identifies a message: its digest.
    fn digest(&self, message: MessageRef<'_, 'k>) -> u64;
    /// Calls `act` with the message, which can be shown for debugging.
    fn show(&self, message: MessageRef<'_, 'k>, act: &mut dyn FnMut(&dyn Debug));

    /// Returns true if [`AnyModel::unfinished`] may be called once in each process.
    fn splits_unfinished(&self) -> bool;
    /// Shows the model the events that are pending at the end.
    fn unfinished(&self, pending: AnyLeftover<'k>, metrics: &mut Metrics);
    /// Lets the model conclude its metrics.
    ///
    /// # Errors
    ///
    /// One sentence about a condition that does not hold.
    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String>;
}

/// A visit of a global event.
#[derive(Debug)]
pub struct Visit<'a> {
    /// The LP that is visited.
    pub id: LpId,
    /// The time of the global event.
    pub time: Time,
    /// The global event.
    pub global: &'a AnyGlobal,
}

/// A list of LPs: those of a partition, in the order of their ids. An LP is named by its index in the list.
///
/// # Panics
///
/// Functions that take an index panic if there is no such LP.
pub trait Lps<'k>: Send + Debug {
    /// Returns the number of LPs.
    fn len(&self) -> usize;

    /// True if there are no LPs.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reserves room for `lps` LPs more, in large pages if the system has them.
    fn reserve(&mut self, lps: usize);

    /// Starts the LP `id`, and adds it to the list. Its start-up events are among the effects. Returns false
    /// if it failed; then there is no new LP.
    fn start(&mut self, id: LpId, world: &World, effects: HiddenEffects<'_, 'k>) -> bool;

    /// Executes an event for its receiver. The event is a message, or else the wake of a timer.
    fn execute(
        &mut self,
        index: usize,
        header: &Header,
        body: Body<MessageRef<'_, 'k>>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> Execution;

    /// Returns the places of the LPs' records, until the list changes.
    fn records(&self) -> Records;

    /// Takes a step of [`Model::fetch`](crate::model::Model::fetch) for an LP.
    fn fetch(&self, index: usize, step: usize);

    /// Returns the number of sends, timer settings and requests of an LP so far. It is a measure of its load.
    fn sequence(&self, index: usize) -> u64;

    /// Lets a global event visit an LP, and adds its summary to `summaries`.
    ///
    /// # Errors
    ///
    /// The failure of folding the summaries. A failure of the visit is among the effects.
    fn visit(
        &mut self,
        index: usize,
        visit: &Visit<'_>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
        summaries: &mut AnySummaries,
    ) -> Result<(), ErrorKind>;

    /// Records metrics from the final state of an LP.
    fn finish(&self, index: usize, id: LpId, end: &End, metrics: &mut Metrics);

    /// Returns the digest of everything that an LP executed, and of its final state.
    fn final_digest(&self, index: usize) -> u64;

    /// Removes all LPs, for [`AnyModel::distribute`]. The list is that of partition `number`.
    fn put_down(&mut self, number: usize);

    /// Takes the LPs of partition `number`, after [`AnyModel::distribute`].
    fn pick_up(&mut self, number: usize);

    /// Drops all LPs.
    fn clear(&mut self);

    /// Plants a fault for the tests of the tests: a sequence number that a rollback did not restore.
    #[cfg(feature = "test-hooks")]
    fn skip_sequence(&mut self, index: usize);

    /// Sends the wakes that the timers of an LP need after a rollback, as an engine needs them whose pending
    /// set tells events apart by key.
    fn renew_wakes(&mut self, index: usize, id: LpId, world: &World, effects: HiddenEffects<'_, 'k>);
}

/// An event with a message of any form, where speed does not matter.
pub type AnyEvent<'k> = Event<AnyMessage<'k>>;

/// Pending events of any form, which have left their set.
pub type AnyLeftover<'k> = Leftover<'k, AnyMessage<'k>>;

/// Returns an event as one of any form.
pub fn any_event<'k, P: Packed<'k>>(event: Event<P>) -> AnyEvent<'k> {
    let (header, body) = event.into_parts();
    header.with(body.map(AnyMessage::new))
}

/// Returns an event of any form as one of its own form.
///
/// # Panics
///
/// If `P` is not the type of its form.
pub fn event_of<'k, P: Packed<'k>>(event: AnyEvent<'k>) -> Event<P> {
    let (header, body) = event.into_parts();
    header.with(body.map(AnyMessage::into_of))
}

/// Returns the body of an event of any form with the message by reference.
pub fn body_ref<'a, 'k>(event: &'a AnyEvent<'k>) -> Body<MessageRef<'a, 'k>> {
    event.body.as_ref().map(AnyMessage::as_message)
}

/// Returns a body with the message by reference, for a table of functions.
#[inline(always)]
pub fn hide_body<'a, 'k, P: Packed<'k>>(body: &'a Body<P>) -> Body<MessageRef<'a, 'k>> {
    body.as_ref().map(Packed::as_message)
}
