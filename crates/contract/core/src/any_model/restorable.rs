//! The tables of a model whose executions can be undone.

use super::typed::{List, open};
use super::{AnyModel, Lps, Typed, Visit};
use crate::effects::HiddenEffects;
use crate::error::ErrorKind;
use crate::event::{Body, Header, LpId};
use crate::global::AnySummaries;
use crate::lp::{Execution, KernelCheckpoint};
use crate::metrics::Metrics;
use crate::restore::{Restorable, UndoLog};
use crate::ring::positions;
use crate::run::End;
use crate::time::Time;
use crate::timer::TimerChange;
use crate::world::World;
use parades_raw::message::MessageRef;
use parades_raw::prefetch::Records;
use std::fmt::{self, Debug};

/// A model of any type whose executions can be undone.
pub trait AnyRestorable<'k>: AnyModel<'k> {
    /// See [`Restorable::copies`].
    fn copies(&self) -> bool;
    /// Returns the bytes of one undo record.
    fn undo_bytes(&self) -> usize;
    /// Makes an empty list of LPs.
    fn new_restorable_lps(&'k self) -> Box<dyn RestorableLps<'k> + 'k>;
}

/// An execution to undo.
#[derive(Debug)]
pub struct Undone<'a> {
    /// The result of the execution.
    pub execution: Execution,
    /// The kernel's part of the LP before the execution.
    pub before: KernelCheckpoint,
    /// The changes of timers, in their order. Empty afterwards.
    pub timers: &'a mut Vec<TimerChange>,
    /// The positions of the first undo record of the execution, and after the last. `None` to leave the state
    /// as it is.
    pub records: Option<(u32, u32)>,
}

/// The records that an execution keeps so that it can be undone.
#[derive(Debug)]
pub struct Kept<'a> {
    /// Receives the kernel's part of the LP before the execution.
    pub before: &'a mut KernelCheckpoint,
    /// True if the execution leaves undo records.
    pub records: bool,
}

/// A list of LPs, and the log of the undo records that their executions leave. Records have positions, which
/// rise.
pub trait RestorableLps<'k>: Lps<'k> {
    /// Returns the time of the last executed event of an LP. After an optimistic execution, the wake of a
    /// cancelled timer counts too.
    fn last(&self, index: usize) -> Time;

    /// Returns the kernel's part of an LP.
    fn checkpoint(&self, index: usize) -> KernelCheckpoint;

    /// Restores the kernel's part of an LP, without its timers.
    fn restore_kernel(&mut self, index: usize, before: KernelCheckpoint);

    /// Executes an event so that it can be undone. Returns also the position after its last undo record. The
    /// effects must be undoable. Call [`World::note_round`] when the execution is committed.
    fn execute_optimistically(
        &mut self,
        index: usize,
        event: (&Header, Body<MessageRef<'_, 'k>>),
        kept: Kept<'_>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> (Execution, u32);

    /// Executes an event again that has been undone. `record` is the position of the copy of the state that
    /// its first execution left. The new copy is put there. `None` if it left none.
    fn repeat(
        &mut self,
        index: usize,
        header: &Header,
        body: Body<MessageRef<'_, 'k>>,
        record: Option<u32>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> Execution;

    /// Undoes the last execution of an LP that is not undone yet.
    fn undo(&mut self, index: usize, event: (&Header, Body<MessageRef<'_, 'k>>), undone: Undone<'_>);

    /// Returns the position after the last undo record.
    fn undos_end(&self) -> u32;

    /// Drops the undo records before a position.
    fn release_undos_before(&mut self, position: u32);

    /// Frees memory of the log that is not in use.
    fn shrink_undos(&mut self);

    /// Returns the bytes that are allocated for undo records.
    fn undos_allocated_bytes(&self) -> usize;
}

impl<'k, M: Restorable> AnyRestorable<'k> for Typed<'k, '_, M> {
    fn copies(&self) -> bool {
        self.value().model.copies()
    }

    fn undo_bytes(&self) -> usize {
        size_of::<M::Undo>()
    }

    fn new_restorable_lps(&'k self) -> Box<dyn RestorableLps<'k> + 'k> {
        Box::new(Restored::new(self))
    }
}

/// A list of LPs with their undo records.
pub(super) struct Restored<'k, 'm, M: Restorable> {
    pub(super) list: List<'k, 'm, M>,
    log: UndoLog<M::Undo>,
    /// The undo records of the execution that is being undone. Empty at other times.
    undoing: UndoLog<M::Undo>,
}

impl<'k, 'm, M: Restorable> Restored<'k, 'm, M> {
    pub(super) fn new(of: &'k Typed<'k, 'm, M>) -> Restored<'k, 'm, M> {
        Restored { list: List::new(of), log: UndoLog::default(), undoing: UndoLog::default() }
    }
}

impl<M: Restorable> Debug for Restored<'_, '_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

impl<'k, M: Restorable> RestorableLps<'k> for Restored<'k, '_, M> {
    fn last(&self, index: usize) -> Time {
        self.list.lps[index].last()
    }

    fn checkpoint(&self, index: usize) -> KernelCheckpoint {
        self.list.lps[index].checkpoint_kernel()
    }

    fn restore_kernel(&mut self, index: usize, before: KernelCheckpoint) {
        self.list.lps[index].restore_kernel(before);
    }

    // Not inlined: `repeat` calls this function too, and needs no second copy of its code.
    #[inline(never)]
    fn execute_optimistically(
        &mut self,
        index: usize,
        (header, body): (&Header, Body<MessageRef<'_, 'k>>),
        kept: Kept<'_>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> (Execution, u32) {
        let HiddenEffects { outbox, others } = effects;
        let List { of, lps } = &mut self.list;
        let kind = of.kind();
        *kept.before = lps[index].checkpoint_kernel();
        let log = kept.records.then_some(&mut self.log);
        let (model, body) = (of.value().model, open(kind, body));
        let execution = lps[index].execute_undoable(model, world, header, body, kind.view(outbox), others, log);
        (execution, self.log.records().end())
    }

    fn repeat(
        &mut self,
        index: usize,
        header: &Header,
        body: Body<MessageRef<'_, 'k>>,
        record: Option<u32>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> Execution {
        let (mut before, records) = (KernelCheckpoint::unset(), record.is_some());
        let kept = Kept { before: &mut before, records };
        let end = self.undos_end();
        let (execution, after) = self.execute_optimistically(index, (header, body), kept, world, effects);
        // An execution that is skipped, or fails while it copies the state, leaves no record.
        if let Some(at) = record
            && after != end
            && let Some(copy) = self.log.pop()
        {
            self.log.records_mut().put(at, copy);
        }
        execution
    }

    fn undo(&mut self, index: usize, (_, body): (&Header, Body<MessageRef<'_, 'k>>), undone: Undone<'_>) {
        let Undone { execution, before, timers, records } = undone;
        let List { of, lps } = &mut self.list;
        let body = open(of.kind(), body);
        let log = records.map(|(begin, end)| {
            for at in positions(begin, end) {
                self.undoing.push(self.log.records_mut().take(at).expect("the execution left it there"));
            }
            &mut self.undoing
        });
        lps[index].undo(of.value().model, body, execution, before, timers, log);
    }

    fn undos_end(&self) -> u32 {
        self.log.records().end()
    }

    fn release_undos_before(&mut self, position: u32) {
        self.log.records_mut().release_before(position);
    }

    fn shrink_undos(&mut self) {
        self.log.records_mut().shrink();
    }

    fn undos_allocated_bytes(&self) -> usize {
        self.log.records().allocated_bytes()
    }
}

impl<'k, M: Restorable> Lps<'k> for Restored<'k, '_, M> {
    fn len(&self) -> usize {
        self.list.len()
    }

    fn reserve(&mut self, lps: usize) {
        self.list.reserve(lps);
    }

    fn start(&mut self, id: LpId, world: &World, effects: HiddenEffects<'_, 'k>) -> bool {
        self.list.start(id, world, effects)
    }

    fn execute(
        &mut self,
        index: usize,
        header: &Header,
        body: Body<MessageRef<'_, 'k>>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> Execution {
        self.list.execute(index, header, body, world, effects)
    }

    fn records(&self) -> Records {
        self.list.records()
    }

    fn fetch(&self, index: usize, step: usize) {
        self.list.fetch(index, step);
    }

    fn sequence(&self, index: usize) -> u64 {
        self.list.sequence(index)
    }

    fn visit(
        &mut self,
        index: usize,
        visit: &Visit<'_>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
        summaries: &mut AnySummaries,
    ) -> Result<(), ErrorKind> {
        self.list.visit(index, visit, world, effects, summaries)
    }

    fn finish(&self, index: usize, id: LpId, end: &End, metrics: &mut Metrics) {
        self.list.finish(index, id, end, metrics);
    }

    fn final_digest(&self, index: usize) -> u64 {
        self.list.final_digest(index)
    }

    fn put_down(&mut self, number: usize) {
        self.list.put_down(number);
    }

    fn pick_up(&mut self, number: usize) {
        self.list.pick_up(number);
    }

    fn clear(&mut self) {
        self.list.clear();
    }

    #[cfg(feature = "test-hooks")]
    fn skip_sequence(&mut self, index: usize) {
        self.list.skip_sequence(index);
    }

    fn renew_wakes(&mut self, index: usize, id: LpId, world: &World, effects: HiddenEffects<'_, 'k>) {
        self.list.renew_wakes(index, id, world, effects);
    }
}
