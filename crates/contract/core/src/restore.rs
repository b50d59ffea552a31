//! How a model's state is restored when an execution is taken back.
//!
//! There is one mechanism, a log of records that an execution leaves and that [`Restorable::undo`] takes back in reverse, and three
//! ways to use it: by *copy* ([`ByCopy`]: the record is the state before the event), by *undo log* (a record for each change), and by
//! *reverse handler* (a record of the few bits that reverse computation cannot recover, or none).
//!
//! The kernel's part of an LP (random stream, sequence, digest, timers) is restored by the kernel.

use crate::event::Body;
use crate::model::{Context, Model};
use crate::ring::Ring;

/// What executions leave behind so that they can be undone.
#[derive(Debug)]
pub struct UndoLog<U>(Ring<U>);

impl<U> Default for UndoLog<U> {
    fn default() -> UndoLog<U> {
        UndoLog(Ring::default())
    }
}

impl<U> UndoLog<U> {
    /// Leaves a record.
    #[inline]
    pub fn push(&mut self, record: U) {
        self.0.push(record);
    }

    /// Takes the latest record back.
    #[inline]
    pub fn pop(&mut self) -> Option<U> {
        self.0.pop()
    }

    /// Whether all has been taken back.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The records by position: an engine keeps those of many executions in one log.
    #[inline]
    pub fn records(&self) -> &Ring<U> {
        &self.0
    }

    /// As [`UndoLog::records`].
    #[inline]
    pub fn records_mut(&mut self) -> &mut Ring<U> {
        &mut self.0
    }
}

/// A model whose executions can be undone: what rollback asks for.
///
/// A model that is not is refused when it is compiled:
///
/// ```compile_fail,E0277
/// # use parades_core::prelude::*;
/// # use parades_core::{effects::Effects, lp::Lp, world::World};
/// struct Counter; // A model without `impl ByCopy for Counter {}`.
/// # impl Model for Counter {
/// #     type State = u64;
/// #     type Message = ();
/// #     type Global = NoGlobal;
/// #     fn lps(&self) -> u32 { 1 }
/// #     fn start(&self, _: &mut Context<'_, Self>) -> u64 { 0 }
/// #     fn handle(&self, count: &mut u64, _: Body<&()>, _: &mut Context<'_, Self>) { *count += 1; }
/// # }
/// fn ahead_of_time(lp: &mut Lp<u64>, world: &World, event: &Event<()>, effects: &mut Effects<Counter>) {
///     let _ = lp.execute_undoable(&Counter, world, event.parts(), effects);
/// }
/// ```
pub trait Restorable: Model {
    /// One record of the log.
    type Undo: Send;

    /// Does what [`Model::handle`] does, and leaves in the log what [`Restorable::undo`] will need.
    fn handle_undoable(
        &self,
        state: &mut Self::State,
        event: Body<&Self::Message>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Self::Undo>,
    );

    /// Whether [`Restorable::handle_undoable`] does no more than leave one record, a copy of the state, and then what [`Model::handle`] does. Then an
    /// engine may have only some executions leave one, and *coast forward*: restore an older copy, and execute anew what came between.
    fn copies(&self) -> bool {
        false
    }

    /// Puts the state back as it was before the event, and empties the log. The handler may have panicked midway: one that can leaves its
    /// records before it does.
    fn undo(&self, state: &mut Self::State, event: Body<&Self::Message>, log: &mut UndoLog<Self::Undo>);
}

/// A model restored by copying its state before each event. Fine for small states, and one line:
///
/// ```
/// # use parades_core::prelude::*;
/// # use parades_core::{effects::Effects, lp::Lp, world::World};
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
/// # fn ahead_of_time(lp: &mut Lp<u64>, world: &World, event: &Event<()>, effects: &mut Effects<Counter>) {
/// #     let _ = lp.execute_undoable(&Counter, world, event.parts(), effects);
/// # }
/// ```
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
