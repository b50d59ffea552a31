//! The tables of a model whose rollbacks can be checked: each event is executed, undone, and executed again.

use super::restorable::{Restored, lps_of};
use super::{AnyModel, Kept, Lps, RestorableLps, Typed, Undone, Visit};
use crate::effects::HiddenEffects;
use crate::error::ErrorKind;
use crate::event::{Body, Header, LpId};
use crate::global::AnySummaries;
use crate::lp::{Execution, KernelCheckpoint, Lp};
use crate::metrics::Metrics;
use crate::restore::Restorable;
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
        Box::new(Checked { restored: Restored::new(self) })
    }
}

struct Checked<'k, 'm, M: Restorable> {
    restored: Restored<'k, 'm, M>,
}

impl<M: Restorable> Debug for Checked<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.restored.fmt(f)
    }
}

impl<'k, M: Restorable<State: Clone + PartialEq + Debug>> CheckedLps<'k> for Checked<'k, '_, M> {
    fn execute_twice(
        &mut self,
        index: usize,
        event: (&Header, Body<MessageRef<'_, 'k>>),
        world: &World,
        mut first: HiddenEffects<'_, 'k>,
        second: HiddenEffects<'_, 'k>,
    ) -> Result<Execution, NotRestored> {
        let restored = &mut self.restored;
        let before = restored.list.lps[index].clone();
        // A start-up or a visit also leaves changes of timers, which are never undone.
        first.others.timer_changes.as_mut().expect("the effects are undoable").clear();
        let (mut checkpoint, begin) = (KernelCheckpoint::unset(), restored.undos_end());
        let kept = Kept { before: &mut checkpoint, records: true };
        let (execution, end) = restored.execute_optimistically(index, event, kept, world, first.reborrow());
        if execution == Execution::Skipped {
            // The wake had no effect, and an earlier event may be executed next.
            restored.list.lps[index].forget_wake(&checkpoint);
        }
        let after = restored.list.lps[index].clone();
        let timers = first.others.timer_changes.as_mut().expect("the effects are undoable");
        let undone = Undone { execution, before: checkpoint, timers, records: Some((begin, end)) };
        catch_unwind(AssertUnwindSafe(|| restored.undo(index, event.1, undone)))
            .map_err(|panic| NotRestored::Panicked(ErrorKind::of_panic(panic.as_ref())))?;
        restored.release_undos_before(end);
        same(&before, &restored.list.lps[index]).map_err(NotRestored::Undone)?;
        let again = restored.list.execute(index, event.0, event.1, world, second);
        same(&after, &restored.list.lps[index]).map_err(NotRestored::Repeated)?;
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
    lps_of!(restored);
}
