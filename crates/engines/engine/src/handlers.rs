//! Lists of LPs that measure their handlers, for the profile of a run ([`parades_core::profile`]).
//!
//! *Idea.* Each engine executes events through a list of LPs, which is a table of functions. A measured list
//! stands before the list of the model: it counts each execution, and times some of them. So no engine knows
//! of it, and a run without a profile pays nothing.
//!
//! *Estimates.* Messages and timers of each kind of LP are sampled apart, as in [`crate::costs`], but more
//! often. Costly handlers are timed each time.

use crate::costs::{Sampler, core_reading};
use parades_core::any_model::{AnyModel, AnyRestorable, Kept, Lps, MessageRef, RestorableLps, Undone, Visit};
use parades_core::effects::HiddenEffects;
use parades_core::error::ErrorKind;
use parades_core::event::{Body, Header, LpId};
use parades_core::global::AnySummaries;
use parades_core::lp::{Execution, KernelCheckpoint};
use parades_core::metrics::Metrics;
use parades_core::profile::{Handlers, Work};
use parades_core::run::End;
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::world::World;
use parades_raw::prefetch::Records;
use std::fmt;
use std::sync::Arc;
use std::thread::{self, ThreadId};

/// The share of a worker's time in which a profile reads the clock.
const CLOCK_SHARE: f64 = 1.0 / 50.0;

/// Makes an empty list of LPs, which measures its handlers if the timesheets want it.
pub(crate) fn new_lps<'k>(model: &'k dyn AnyModel<'k>, timesheets: Option<&Arc<Timesheets>>) -> Box<dyn Lps<'k> + 'k> {
    match timesheets.and_then(|sheets| sheets.handlers()) {
        Some(handlers) => Box::new(Measured { lps: model.new_lps(), meter: Meter::of(model, handlers) }),
        None => model.new_lps(),
    }
}

/// Does the same as [`new_lps`], for an engine that rolls back.
pub(crate) fn new_restorable_lps<'k>(
    model: &'k dyn AnyRestorable<'k>,
    timesheets: Option<&Arc<Timesheets>>,
) -> Box<dyn RestorableLps<'k> + 'k> {
    match timesheets.and_then(|sheets| sheets.handlers()) {
        Some(handlers) => Box::new(Measured { lps: model.new_restorable_lps(), meter: Meter::of(model, handlers) }),
        None => model.new_restorable_lps(),
    }
}

/// A list of LPs that measures its handlers.
struct Measured<L: ?Sized> {
    meter: Meter,
    lps: Box<L>,
}

impl<L: ?Sized + fmt::Debug> fmt::Debug for Measured<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lps.fmt(f)
    }
}

/// Measures the executions of a list of LPs, by row of the profile.
struct Meter {
    handlers: Arc<Handlers>,
    /// The rows of the profile. One more is for executions that are undone and repeated.
    rows: Vec<Row>,
    /// The thread that was timed last. A list may move to another one.
    thread: ThreadId,
}

/// The measurements of a row.
#[derive(Clone, Debug)]
struct Row {
    sampler: Sampler,
    /// The number of calls, and of those that executed a handler.
    calls: u64,
    executed: u64,
    undone: u64,
    repeated: u64,
    /// The sum of the weights of the timed calls; of their times by weight; and the variance of the latter.
    weight: f64,
    ns: f64,
    variance: f64,
}

impl Row {
    fn new() -> Row {
        let sampler = Sampler::with_share(true, CLOCK_SHARE);
        Row { sampler, calls: 0, executed: 0, undone: 0, repeated: 0, weight: 0.0, ns: 0.0, variance: 0.0 }
    }

    /// Adds the call that has been timed, which counts for all since the one before.
    #[cold]
    #[inline(never)]
    fn add_timed(&mut self) {
        let (ns, weight) = self.sampler.finish();
        self.weight += weight;
        self.ns += ns * weight;
        // The variance of a sum over samples drawn with the probability 1/weight (D. Horvitz, D. Thompson,
        // JASA 47, 1952).
        self.variance += ns * ns * weight * (weight - 1.0);
    }

    /// Returns the time of all calls, and its variance.
    fn time(&self) -> (f64, f64) {
        // The calls since the last sample took as long as the others.
        let scale = if self.weight > 0.0 { self.calls as f64 / self.weight } else { 0.0 };
        (self.ns * scale, self.variance * scale * scale)
    }

    fn work(&self) -> Work {
        let (ns, variance) = self.time();
        let rolled_back = self.undone.saturating_sub(self.repeated);
        let events = self.executed.saturating_sub(rolled_back);
        Work { events, rolled_back, repeated: self.repeated, ns, variance, undo_ns: 0.0 }
    }
}

impl Meter {
    fn of<'k>(model: &'k dyn AnyModel<'k>, handlers: &Arc<Handlers>) -> Meter {
        let rows = vec![Row::new(); handlers.kinds(model).rows() + 1];
        Meter { handlers: Arc::clone(handlers), rows, thread: this_thread() }
    }

    /// Calls `execute`, which executes an event, and measures it.
    #[inline(always)]
    fn measure<T>(
        &mut self,
        header: &Header,
        is_timer: bool,
        execute: impl FnOnce() -> (Execution, T),
    ) -> (Execution, T) {
        let row = self.handlers.row(header.receiver(), is_timer);
        let result = self.time(row, execute);
        self.rows[row].executed += u64::from(result.0 == Execution::Done);
        result
    }

    /// Calls `undo`, which undoes or repeats an execution, and measures it.
    fn measure_undo<T>(&mut self, undo: impl FnOnce() -> T) -> T {
        self.time(self.rows.len() - 1, undo)
    }

    /// Counts a call of this row, and times it if it is one of those that are timed.
    #[inline(always)]
    fn time<T>(&mut self, row: usize, call: impl FnOnce() -> T) -> T {
        let is_timed = self.rows[row].sampler.counts();
        if is_timed {
            self.begin_timed(row);
        }
        let result = call();
        let row = &mut self.rows[row];
        row.calls += 1;
        if is_timed {
            row.add_timed();
        }
        result
    }

    #[cold]
    #[inline(never)]
    fn begin_timed(&mut self, row: usize) {
        let thread = this_thread();
        if thread != self.thread {
            self.thread = thread;
            let reading = core_reading();
            self.rows.iter_mut().for_each(|row| row.sampler.move_to_thread(reading));
        }
        self.rows[row].sampler.begin();
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let (undo_ns, _) = self.rows.pop().expect("the last row is that of undoing").time();
        // The time of undoing is that of the whole list: it stands in the first row.
        let undo_ns = std::iter::once(undo_ns).chain(std::iter::repeat(0.0));
        let work = self.rows.iter().zip(undo_ns).map(|(row, undo_ns)| Work { undo_ns, ..row.work() });
        self.handlers.add(work);
    }
}

#[expect(clippy::disallowed_methods, reason = "only the measurement of times depends on it")]
fn this_thread() -> ThreadId {
    thread::current().id()
}

/// True if a body is the wake of a timer.
#[inline(always)]
fn is_timer(body: &Body<MessageRef<'_, '_>>) -> bool {
    matches!(body, Body::Timer(_))
}

impl<'k, L: Lps<'k> + ?Sized> Lps<'k> for Measured<L> {
    fn execute(
        &mut self,
        index: usize,
        header: &Header,
        body: Body<MessageRef<'_, 'k>>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> Execution {
        let Measured { lps, meter } = self;
        meter.measure(header, is_timer(&body), || (lps.execute(index, header, body, world, effects), ())).0
    }

    fn len(&self) -> usize {
        self.lps.len()
    }
    fn reserve(&mut self, lps: usize) {
        self.lps.reserve(lps);
    }
    fn start(&mut self, id: LpId, world: &World, effects: HiddenEffects<'_, 'k>) -> bool {
        self.lps.start(id, world, effects)
    }
    fn records(&self) -> Records {
        self.lps.records()
    }
    fn fetch(&self, index: usize, step: usize) {
        self.lps.fetch(index, step);
    }
    fn sequence(&self, index: usize) -> u64 {
        self.lps.sequence(index)
    }
    fn visit(
        &mut self,
        index: usize,
        visit: &Visit<'_>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
        summaries: &mut AnySummaries,
    ) -> Result<(), ErrorKind> {
        self.lps.visit(index, visit, world, effects, summaries)
    }
    fn finish(&self, index: usize, id: LpId, end: &End, metrics: &mut Metrics) {
        self.lps.finish(index, id, end, metrics);
    }
    fn final_digest(&self, index: usize) -> u64 {
        self.lps.final_digest(index)
    }
    fn put_down(&mut self, number: usize) {
        self.lps.put_down(number);
    }
    fn pick_up(&mut self, number: usize) {
        self.lps.pick_up(number);
    }
    fn clear(&mut self) {
        self.lps.clear();
    }
    #[cfg(feature = "test-hooks")]
    fn skip_sequence(&mut self, index: usize) {
        self.lps.skip_sequence(index);
    }
    fn renew_wakes(&mut self, index: usize, id: LpId, world: &World, effects: HiddenEffects<'_, 'k>) {
        self.lps.renew_wakes(index, id, world, effects);
    }
}

impl<'k> RestorableLps<'k> for Measured<dyn RestorableLps<'k> + 'k> {
    fn execute_optimistically(
        &mut self,
        index: usize,
        (header, body): (&Header, Body<MessageRef<'_, 'k>>),
        kept: Kept<'_>,
        world: &World,
        effects: HiddenEffects<'_, 'k>,
    ) -> (Execution, u32) {
        let Measured { lps, meter } = self;
        let execute = || lps.execute_optimistically(index, (header, body), kept, world, effects);
        meter.measure(header, is_timer(&body), execute)
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
        let Measured { lps, meter } = self;
        let row = meter.handlers.row(header.receiver(), is_timer(&body));
        let execution = meter.measure_undo(|| lps.repeat(index, header, body, record, world, effects));
        meter.rows[row].repeated += u64::from(execution == Execution::Done);
        execution
    }

    fn undo(&mut self, index: usize, (header, body): (&Header, Body<MessageRef<'_, 'k>>), undone: Undone<'_>) {
        let Measured { lps, meter } = self;
        let row = meter.handlers.row(header.receiver(), is_timer(&body));
        meter.rows[row].undone += u64::from(undone.execution == Execution::Done);
        meter.measure_undo(|| lps.undo(index, (header, body), undone));
    }

    fn last(&self, index: usize) -> Time {
        self.lps.last(index)
    }
    fn checkpoint(&self, index: usize) -> KernelCheckpoint {
        self.lps.checkpoint(index)
    }
    fn restore_kernel(&mut self, index: usize, before: KernelCheckpoint) {
        self.lps.restore_kernel(index, before);
    }
    fn undos_end(&self) -> u32 {
        self.lps.undos_end()
    }
    fn release_undos_before(&mut self, position: u32) {
        self.lps.release_undos_before(position);
    }
    fn shrink_undos(&mut self) {
        self.lps.shrink_undos();
    }
    fn undos_allocated_bytes(&self) -> usize {
        self.lps.undos_allocated_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_thread_is_read_once_for_all_rows() {
        let rows = vec![Row::new(); 3];
        let mut meter = Meter { handlers: Arc::default(), rows, thread: this_thread() };
        meter.begin_timed(0);
        let here = meter.rows[2].sampler.core();
        std::thread::scope(|scope| scope.spawn(|| meter.begin_timed(0)).join().expect("no panic"));
        let there: Vec<_> = meter.rows.iter().map(|row| row.sampler.core()).collect();
        assert!(there[2].0 > here.0, "the row that is not timed has moved too");
        assert!(there.iter().all(|reading| *reading == there[0]), "{there:?}");
    }
}
