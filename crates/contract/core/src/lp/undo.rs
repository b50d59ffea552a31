//! Executions that may be undone.
//!
//! Engines keep everything that [`Lp::undo`] needs in their own logs.

use super::{Execution, Kernel, Lp};
use crate::digest::Digest;
use crate::effects::{OtherEffects, Sends};
use crate::event::{Body, Header};
use crate::random::Rng;
use crate::restore::{Restorable, UndoLog};
use crate::time::Time;
use crate::timer::TimerChange;
use crate::world::World;

/// The kernel's part of an LP before an event, without its timers. The changes of timers are logged one by
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCheckpoint {
    rng: Rng,
    sequence: u64,
    digest: Digest,
    last: Time,
}

impl KernelCheckpoint {
    /// Returns the checkpoint of no LP, for a place that is filled later.
    #[inline(always)]
    pub const fn unset() -> KernelCheckpoint {
        KernelCheckpoint { rng: Rng::unset(), sequence: 0, digest: Digest::START, last: Time::ZERO }
    }

    /// Returns the time of the last executed event. After an optimistic execution, the wake of a cancelled
    /// timer counts too.
    #[inline(always)]
    pub fn last(&self) -> Time {
        self.last
    }
}

impl<S> Lp<S> {
    /// Returns the present kernel part, without the timers.
    #[inline(always)]
    pub(crate) fn checkpoint_kernel(&self) -> KernelCheckpoint {
        let Kernel { ref rng, sequence, digest, last, .. } = self.kernel;
        KernelCheckpoint { rng: rng.clone(), sequence, digest, last }
    }

    /// Executes an event so that [`Lp::undo`] can undo it.
    ///
    /// Undoing needs three things: [`Lp::checkpoint_kernel`] from before, the changes of timers that this
    /// execution adds to the effects, and the records that the model adds to `log`. Without a log, the caller
    /// must restore the state by other means. The effects must come from
    /// [`Effects::undoable`](crate::effects::Effects::undoable). The caller must call [`World::note_round`]
    /// when it commits the execution.
    ///
    /// Used in one place, so that a handler and the code around it are compiled once.
    #[inline(always)]
    pub(crate) fn execute_undoable<M: Restorable<State = S>>(
        &mut self,
        model: &M,
        world: &World,
        header: &Header,
        body: Body<&M::Message>,
        sends: Sends<'_, M::Message>,
        effects: &mut OtherEffects,
        log: Option<&mut UndoLog<M::Undo>>,
    ) -> Execution {
        debug_assert!(effects.timer_changes.is_some(), "effects of an engine that rolls back are undoable");
        let execution = self.execute_by::<M>(world, header, body, sends, effects, |state, ctx| match log {
            Some(log) => model.handle_undoable(state, body, ctx, log),
            None => model.handle(state, body, ctx),
        });
        if execution == Execution::Skipped {
            // A rollback undoes this execution in its turn, like all others. Until then no earlier event may
            // be executed.
            self.kernel.last = header.time();
        }
        execution
    }

    /// Undoes the last execution that is not undone yet, from pieces that the caller has logged. These are
    /// the kernel's part, the changes of timers in their order, and the model's log, which is then empty.
    /// Without a log the state stays unchanged.
    pub(crate) fn undo<M: Restorable<State = S>>(
        &mut self,
        model: &M,
        body: Body<&M::Message>,
        execution: Execution,
        before: KernelCheckpoint,
        timers: &mut Vec<TimerChange>,
        log: Option<&mut UndoLog<M::Undo>>,
    ) {
        if execution == Execution::Done
            && let Some(log) = log
        {
            model.undo(&mut self.state, body, log);
            assert!(log.is_empty(), "the model's undo leaves its log empty");
        }
        for TimerChange(id, slot) in timers.drain(..).rev() {
            self.kernel.timers.restore(id, slot);
        }
        self.restore_kernel(before);
    }

    /// Forgets the time of a wake without effect, so that an earlier event may be executed. `before` is the
    /// kernel's part from before the wake.
    pub(crate) fn forget_wake(&mut self, before: &KernelCheckpoint) {
        self.kernel.last = before.last;
    }

    /// Restores the kernel's part, without the timers.
    pub(crate) fn restore_kernel(&mut self, before: KernelCheckpoint) {
        let KernelCheckpoint { rng, sequence, digest, last } = before;
        self.kernel.rng = rng;
        self.kernel.sequence = sequence;
        self.kernel.digest = digest;
        self.kernel.last = last;
    }
}
