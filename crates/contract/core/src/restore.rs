//! Restoring a model's state when an execution is rolled back.
//!
//! There is one mechanism: an execution leaves records in an [`UndoLog`], and [`Restorable::undo`] undoes
//! them in reverse order. There are four ways to use it:
//!
//! - by *copy* ([`ByCopy`]): the record is the state before the event. One line; right for small states.
//! - by *record* ([`ByRecord`]): the state records each change by itself, and the undo function is generated.
//!   Two derives; right for states that are large or own collections.
//! - by a *hand-written undo log*: the model implements [`Restorable`], and chooses its records.
//! - by a *reverse handler*: the record is the few bits that reverse computation cannot recover, or nothing.
//!
//! The kernel's part of an LP (random stream, sequence, digest, timers) is restored by the kernel.
//!
//! # Generated undo
//!
//! The state is plain data. `#[derive(Undoable)]` generates two types: a *view* of the state, and the
//! *record* of a change. The handler gets the view instead of `&mut State`. It reads fields as usual
//! (`desk.served`). It writes through methods with the names of the fields (`*desk.served() += 1`), which
//! record the old value first. So a change that is not recorded does not compile.
//!
//! Parts of parts are reached step by step, and their records are composed. A write to
//! `*node.ports().at(2).packets()` leaves one record, "port 2, packets, old value". The record is a plain
//! enum without allocation.
//!
//! A server with a queue, restored in this way:
//!
//! ```
//! use parades_core::prelude::*;
//! use parades_engine::{rollback_check, sequential, time_warp};
//! use std::collections::VecDeque;
//!
//! /// Plain data, which is recorded whole.
//! #[derive(Clone, Copy, Debug, PartialEq, Eq, Undoable)]
//! #[undoable(whole)]
//! struct Customer {
//!     arrived: Time,
//! }
//!
//! #[derive(Clone, Debug, PartialEq, Eq, Undoable)]
//! struct Desk {
//!     #[undoable(constant)]
//!     places: usize,
//!     waiting: VecDeque<Customer>,
//!     served: u64,
//!     turned_away: u64,
//!     waited: Delay,
//! }
//!
//! // The methods of a desk are written on its view.
//! impl<R: Recorder<DeskUndo>> DeskMut<'_, R> {
//!     /// Lets a customer in. Returns true if the desk was idle.
//!     fn arrive(&mut self, arrived: Time) -> bool {
//!         if self.waiting.len() == self.places {
//!             *self.turned_away() += 1;
//!             return false;
//!         }
//!         self.waiting().push_back(Customer { arrived });
//!         self.waiting.len() == 1
//!     }
//!
//!     /// Lets the first customer go. Returns true if another one waits.
//!     fn leave(&mut self, now: Time) -> bool {
//!         let customer = self.waiting().pop_front().expect("a customer is served");
//!         *self.served() += 1;
//!         *self.waited() = self.waited.saturating_add(now.since(customer.arrived));
//!         !self.waiting.is_empty()
//!     }
//! }
//!
//! /// Desks in a row: a customer goes from each desk to the next.
//! #[derive(Restorable)]
//! struct Desks(u32);
//!
//! /// The end of a service.
//! const SERVED: TimerId = TimerId(0);
//!
//! impl Model for Desks {
//!     type State = Desk;
//!     type Message = ();
//!     type Global = NoGlobal;
//!
//!     fn lps(&self) -> u32 {
//!         self.0
//!     }
//!     fn channels(&self) -> Channels {
//!         Channels::whole(Delay::ZERO)
//!     }
//!     fn start(&self, ctx: &mut Context<'_, Self>) -> Desk {
//!         if ctx.id() == LpId(0) {
//!             ctx.send_self(Delay::ZERO, ());
//!         }
//!         Desk { places: 3, waiting: VecDeque::new(), served: 0, turned_away: 0, waited: Delay::ZERO }
//!     }
//!     fn handle(&self, desk: &mut Desk, event: Body<&()>, ctx: &mut Context<'_, Self>) {
//!         self.execute(desk.unrecorded(), event, ctx);
//!     }
//!     fn fold(&self, desk: &Desk, digest: &mut Digest) {
//!         digest.word(desk.served);
//!         digest.word(desk.waited.as_ps());
//!     }
//! }
//!
//! impl ByRecord for Desks {
//!     fn execute<R: Recorder<DeskUndo>>(&self, mut desk: DeskMut<'_, R>, event: Body<&()>, ctx: &mut Context<'_, Self>) {
//!         let (me, mean) = (ctx.id().0, Delay::from_ms(1));
//!         let serves_next = match event {
//!             Body::Message(()) => {
//!                 if ctx.sender() == Some(Sender::lp(ctx.id())) {
//!                     let pause = ctx.rng().exponential_delay(mean);
//!                     ctx.send_self(pause, ());
//!                 }
//!                 desk.arrive(ctx.now())
//!             }
//!             Body::Timer(_) => {
//!                 if me + 1 < self.0 {
//!                     ctx.send_to(LpId(me + 1), Delay::ZERO, ());
//!                 }
//!                 desk.leave(ctx.now())
//!             }
//!         };
//!         if serves_next {
//!             let service = ctx.rng().exponential_delay(mean);
//!             ctx.set_timer(SERVED, service);
//!         }
//!     }
//! }
//!
//! let until = || RunOptions::until(Time::try_from_secs_f64(1.0).unwrap());
//! let expected = sequential::run(&Desks(4), until())?;
//! assert!(expected.events > 4_000);
//! assert_eq!(rollback_check::run(&Desks(4), until())?.digest, expected.digest);
//! let two_workers = time_warp::Settings::of_threads(2);
//! assert_eq!(time_warp::run(&Desks(4), until(), &two_workers)?.digest, expected.digest);
//! # Ok::<(), parades_core::error::Error>(())
//! ```
//!
//! *Types of fields*: numbers, times, ids; `Option`, `Box`, arrays, `Box<[T]>`, `Vec`, `VecDeque`,
//! `BTreeMap`, `BTreeSet`; structs and enums that derive [`Undoable`]. They nest to any depth. A field of
//! another type does not compile, unless it is declared constant:
//!
//! ```compile_fail,E0277
//! # use parades_core::prelude::*;
//! #[derive(Undoable)]
//! struct Node {
//!     packets: u64,
//!     route: std::cell::Cell<u32>, // Nothing could undo this.
//! }
//! ```
//!
//! ```
//! # use parades_core::prelude::*;
//! #[derive(Undoable)]
//! struct Node {
//!     packets: u64,
//!     #[undoable(constant)]
//!     rate: std::num::Wrapping<u32>,
//! }
//! ```
//!
//! A change that is not recorded does not compile, nor does a change of a constant:
//!
//! ```compile_fail,E0594
//! # use parades_core::prelude::*;
//! #[derive(Undoable)]
//! struct Node { packets: u64 }
//! fn receive<R: Recorder<NodeUndo>>(mut node: NodeMut<'_, R>) {
//!     node.packets += 1; // *node.packets() += 1 records the old value.
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use parades_core::prelude::*;
//! #[derive(Undoable)]
//! struct Node { packets: u64, #[undoable(constant)] rate: u64 }
//! fn receive<R: Recorder<NodeUndo>>(mut node: NodeMut<'_, R>) {
//!     *node.rate() += 1;
//! }
//! ```
//!
//! *Parts side by side*: a view borrows the state like any reference. Where two fields are changed in turn,
//! `split` returns the views of all fields at once:
//!
//! ```
//! # use parades_core::prelude::*;
//! # use std::collections::VecDeque;
//! #[derive(Undoable)]
//! struct Lanes { left: VecDeque<u32>, right: VecDeque<u32> }
//! let mut lanes = Lanes { left: [1, 2, 3].into(), right: [].into() };
//! let mut view = lanes.unrecorded();
//! let LanesParts { mut left, mut right } = view.split();
//! while let Some(car) = left.pop_front() {
//!     right.push_back(car);
//! }
//! assert_eq!(lanes.right, [1, 2, 3]);
//! ```
//!
//! *Views that are kept*: `node.ports().at(2)` borrows from a temporary view, so it lasts to the end of the
//! statement. To keep it, write `let mut port = node.ports().into_at(2)`.
//!
//! *Many changes of one value*: each mutable borrow of a value records it. Where a handler changes several
//! fields of one plain value, [`Tracked::into_mut`] records the value once for all changes.
//!
//! *Cost*: without rollback, a view compiles to a plain reference. With rollback, each change costs its
//! record. All records of a model have the size of the largest, so check that size (`size_of::<NodeUndo>()`).
//! A large value that is rarely replaced belongs in a `Box`, which the record then holds; or its field is
//! marked `#[undoable(boxed)]`.
//!
//! *Panics*: a record is made before its change, or right after it, with no code of the model between the
//! two. So a handler that panics midway is undone like any other.
//!
//! *Why views, and not cells*: the alternative was fields of cell types, which record themselves. Then every
//! read, comparison, digest and report must go through the cells, and a plain assignment can still overwrite
//! a cell. Views need no special types in the state, and leave no way for a plain assignment.

mod by_record;
mod deque;
mod list;
mod map;
mod option;
mod recorder;
mod tracked;
mod undo_log;
mod undoable;

pub use by_record::ByRecord;
pub use deque::DequeUndo;
pub use list::{At, Element, ElementMut, VecUndo};
pub use map::{EntryMut, Key, MapUndo, SetUndo};
pub use option::{Inside, InsideMut, OptionUndo};
pub use parades_derive::{Restorable, Undoable};
pub use recorder::{Nth, Recorder, Recording, Step, Unrecorded, Within};
pub use tracked::Tracked;
pub use undo_log::UndoLog;
pub use undoable::{PartMut, Undoable, Whole};

use crate::event::Body;
use crate::model::{Context, Model};

/// A model whose executions can be undone. Engines that roll back require it.
///
/// A model without it does not compile with such an engine:
///
/// ```compile_fail,E0277
/// # use parades_core::prelude::*;
/// # use parades_core::any_model::{AnyRestorable, with_model};
/// struct Counter; // A model without `impl ByCopy for Counter {}`.
/// # impl Model for Counter {
/// #     type State = u64;
/// #     type Message = ();
/// #     type Global = NoGlobal;
/// #     fn lps(&self) -> u32 { 1 }
/// #     fn start(&self, _: &mut Context<'_, Self>) -> u64 { 0 }
/// #     fn handle(&self, count: &mut u64, _: Body<&()>, _: &mut Context<'_, Self>) { *count += 1; }
/// # }
/// fn ahead_of_time<'k>(_: &'k dyn AnyRestorable<'k>) {}
/// with_model(&Counter, RunOptions::until(Time::ZERO), |model, _| ahead_of_time(model));
/// ```
pub trait Restorable: Model {
    /// One record of the log.
    type Undo: Send;

    /// Executes an event as [`Model::handle`] does, and logs the records that [`Restorable::undo`] will need.
    fn handle_undoable(
        &self,
        state: &mut Self::State,
        event: Body<&Self::Message>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Self::Undo>,
    );

    /// Returns true if [`Restorable::handle_undoable`] only adds a copy of the state and then calls
    /// [`Model::handle`]. Then an engine may let only some executions make a copy, and *coast forward*:
    /// restore an older copy, and execute again the events after it.
    fn copies(&self) -> bool {
        false
    }

    /// Restores the state from before the event, and empties the log. The handler may have panicked midway.
    /// So a handler that can panic adds each record before its change.
    fn undo(&self, state: &mut Self::State, event: Body<&Self::Message>, log: &mut UndoLog<Self::Undo>);
}

/// A model restored by copying its state before each event. Right for small states, and one line:
///
/// ```
/// # use parades_core::prelude::*;
/// # use parades_core::any_model::{AnyRestorable, with_model};
/// # struct Counter;
/// # impl Model for Counter {
/// #     type State = u64;
/// #     type Message = ();
/// #     type Global = NoGlobal;
/// #     fn lps(&self) -> u32 { 1 }
/// #     fn start(&self, _: &mut Context<'_, Self>) -> u64 { 0 }
/// #     fn handle(&self, count: &mut u64, _: Body<&()>, _: &mut Context<'_, Self>) { *count += 1; }
/// # }
/// impl ByCopy for Counter {}
/// # fn ahead_of_time<'k>(_: &'k dyn AnyRestorable<'k>) {}
/// # with_model(&Counter, RunOptions::until(Time::ZERO), |model, _| ahead_of_time(model));
/// ```
///
/// A program that offers every engine (`parades::Simulation::restorable`) also needs `PartialEq` and `Debug`
/// of the state: `rollback-check` compares states, and shows those that differ.
pub trait ByCopy: Model<State: Clone> {}

impl<M: ByCopy> Restorable for M {
    type Undo = M::State;

    #[inline]
    fn handle_undoable(
        &self,
        state: &mut M::State,
        event: Body<&M::Message>,
        ctx: &mut Context<'_, M>,
        log: &mut UndoLog<M::State>,
    ) {
        log.push(state.clone());
        self.handle(state, event, ctx);
    }

    #[inline]
    fn copies(&self) -> bool {
        true
    }

    #[inline]
    fn undo(&self, state: &mut M::State, _: Body<&M::Message>, log: &mut UndoLog<M::State>) {
        *state = log.pop().expect("the handler left a copy");
    }
}
