//! The tables of a model whose rollbacks can be checked: each event is executed, undone, and executed again.

use super::restorable::lps_of;
use super::typed::{List, open};
use super::{AnyModel, Lps, Typed, Visit};
use crate::effects::HiddenEffects;
use crate::error::ErrorKind;
use crate::event::{Body, Header, LpId};
use crate::global::AnySummaries;
use crate::lp::{Execution, Lp};
use crate::metrics::Metrics;
use crate::restore::{Restorable, UndoLog};
use crate::run::End;
use crate::world::World;
use parades_raw::message::MessageRef;
use parades_raw::prefetch::Records;
use std::fmt::{self, Debug};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A model of any type whose rollbacks can be checked.
pub trait AnyChecked<'k>: AnyModel<'k> {
    /// Makes an empty list of LPs.
    fn new_checked_lps(&'k self) -> Box<dyn CheckedLps<'k> + 'k>;
}

/// A list of LPs whose rollbacks can be checked.
pub trait CheckedLps<'k>: Lps<'k> {
    /// Executes an event, undoes the execution, and executes the event again by the plain handler. The effects of the
    /// first execution go to `first`, which must be undoable, and those of the second to `second`.
    ///
    /// # Errors
    ///
    /// The first difference between two states that must be equal.
    fn execute_twice(
        &mut self,
        index: usize,
        event: (&Header, Body<MessageRef<'_, 'k>>),
        world: &World,
        first: HiddenEffects<'_, 'k>,
        second: HiddenEffects<'_, 'k>,
    ) -> Result<Execution, NotRestored>;
}

/// The reason why an execution is not undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRestored {
    /// Undoing it panicked, with this message.
    Panicked(ErrorKind),
    /// Undoing it left another LP.
    Undone(Difference),
    /// Executing the event again led to another LP.
    Repeated(Difference),
}

/// The part in which two LPs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The state, in its texts for debugging.
    State {
        /// The text of the state that should be there.
        expected: String,
        /// The text of the state that is there.
        found: String,
    },
    /// The kernel's part: random stream, count of sends, digest or timers.
    Kernel,
}

impl<'k, M: Restorable<State: Clone + PartialEq + Debug>> AnyChecked<'k> for Typed<'k, '_, M> {
    fn new_checked_lps(&'k self) -> Box<dyn CheckedLps<'k> + 'k> {
        Box::new(Checked { list: List::new(self) })
    }
}

struct Checked<'k, 'm, M: Restorable> {
    list: List<'k, 'm, M>,
}

impl<M: Restorable> Debug for Checked<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

impl<'k, M: Restorable<State: Clone + PartialEq + Debug>> CheckedLps<'k> for Checked<'k, '_, M> {
    fn execute_twice(
        &mut self,
        index: usize,
        (header, body): (&Header, Body<MessageRef<'_, 'k>>),
        world: &World,
        first: HiddenEffects<'_, 'k>,
        second: HiddenEffects<'_, 'k>,
    ) -> Result<Execution, NotRestored> {
        let List { of, lps } = &mut self.list;
        let (lp, kind, model) = (&mut lps[index], of.kind(), of.value().model);
        let body = open(kind, body);
        let before = lp.clone();
        // A start-up or a visit also leaves changes of timers, which are never undone.
        first.others.timer_changes.as_mut().expect("the effects are undoable").clear();
        let mut log = UndoLog::default();
        let checkpoint = lp.checkpoint_kernel();
        let sends = kind.view(first.outbox);
        let execution = lp.execute_undoable((model, world), (header, body), sends, first.others, Some(&mut log));
        if execution == Execution::Skipped {
            // The wake had no effect, and an earlier event may be executed next.
            lp.forget_wake(&checkpoint);
        }
        let after = lp.clone();
        let timers = first.others.timer_changes.as_mut().expect("the effects are undoable");
        let undo = || lp.undo(model, body, (execution, checkpoint), timers, Some(&mut log));
        catch_unwind(AssertUnwindSafe(undo))
            .map_err(|panic| NotRestored::Panicked(ErrorKind::of_panic(panic.as_ref())))?;
        same(&before, lp).map_err(NotRestored::Undone)?;
        let again = lp.execute((model, world), (header, body), kind.view(second.outbox), second.others);
        same(&after, lp).map_err(NotRestored::Repeated)?;
        assert!(again == execution, "whether a timer is due depends on the kernel's state, which is the same");
        Ok(again)
    }
}

/// Checks that two LPs are equal.
fn same<S: PartialEq + Debug>(expected: &Lp<S>, found: &Lp<S>) -> Result<(), Difference> {
    if expected.state() != found.state() {
        let [expected, found] = [expected, found].map(|lp| format!("{:?}", lp.state()));
        return Err(Difference::State { expected, found });
    }
    if expected.has_same_kernel(found) { Ok(()) } else { Err(Difference::Kernel) }
}

impl<'k, M: Restorable> Lps<'k> for Checked<'k, '_, M> {
    lps_of!(list);
}
