//! The tables of a model whose rollbacks can be checked: each event is executed, undone, and executed again.

use super::restorable::Restored;
use super::{AnyModel, Kept, Lps, RestorableLps, Typed, Undone};
use crate::effects::HiddenEffects;
use crate::error::text_of_panic;
use crate::event::{Body, Header};
use crate::lp::{Execution, KernelCheckpoint, Lp};
use crate::restore::Restorable;
use crate::world::World;
use parades_raw::message::MessageRef;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A model of any type whose rollbacks can be checked.
pub trait AnyChecked<'k>: AnyModel<'k> {
    /// Makes an empty list of LPs.
    fn new_checked_lps(&'k self) -> Box<dyn CheckedLps<'k> + 'k>;
}

/// A list of LPs whose rollbacks can be checked.
pub trait CheckedLps<'k>: Lps<'k> {
    /// Executes an event, undoes the execution, and executes the event again by the plain handler. The
    /// effects of the first execution go to `first`, which must be undoable, and those of the second to
    /// `second`.
    ///
    /// # Errors
    ///
    /// The first difference between two states that must be equal.
    fn execute_twice(
        &mut self,
        index: usize,
        header: &Header,
        body: Body<MessageRef<'_, 'k>>,
        world: &World,
        first: HiddenEffects<'_, 'k>,
        second: HiddenEffects<'_, 'k>,
    ) -> Result<Execution, NotRestored>;
}

/// The reason why an execution is not undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRestored {
    /// Undoing it panicked, with this message.
    Panicked(String),
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
        Box::new(Restored::new(self))
    }
}

impl<'k, M: Restorable<State: Clone + PartialEq + Debug>> CheckedLps<'k> for Restored<'k, '_, M> {
    fn execute_twice(
        &mut self,
        index: usize,
        header: &Header,
        body: Body<MessageRef<'_, 'k>>,
        world: &World,
        mut first: HiddenEffects<'_, 'k>,
        second: HiddenEffects<'_, 'k>,
    ) -> Result<Execution, NotRestored> {
        let before = self.list.lps[index].clone();
        // A start-up or a visit also leaves changes of timers, which are never undone.
        first.others.timer_changes.as_mut().expect("the effects are undoable").clear();
        let (mut checkpoint, begin) = (KernelCheckpoint::unset(), self.undos_end());
        let kept = Kept { before: &mut checkpoint, records: true };
        let (execution, end) = self.execute_optimistically(index, (header, body), kept, world, first.reborrow());
        if execution == Execution::Skipped {
            // The wake had no effect, and an earlier event may be executed next.
            self.list.lps[index].forget_wake(&checkpoint);
        }
        let after = self.list.lps[index].clone();
        let timers = first.others.timer_changes.as_mut().expect("the effects are undoable");
        let undone = Undone { execution, before: checkpoint, timers, records: Some((begin, end)) };
        catch_unwind(AssertUnwindSafe(|| self.undo(index, (header, body), undone)))
            .map_err(|panic| NotRestored::Panicked(text_of_panic(panic.as_ref())))?;
        self.release_undos_before(end);
        same(&before, &self.list.lps[index]).map_err(NotRestored::Undone)?;
        let again = self.list.execute(index, header, body, world, second);
        same(&after, &self.list.lps[index]).map_err(NotRestored::Repeated)?;
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
