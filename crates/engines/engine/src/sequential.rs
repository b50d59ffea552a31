//! `sequential`: one pending event set. This engine defines the right result.
//!
//! *Idea.* Take the earliest event, execute it, and put the events that it sent into the pending set. Stop
//! before the next global event, execute that, and go on.
//!
//! *Invariants.* Events are executed in the order of [`parades_core::event::Event`]: by instant, then LP,
//! then key. So the first error is the earliest, and the trace comes out in order.
//!
//! *Read next*: [`parades_core::pending`], which finds the earliest event.

use crate::course::Course;
use crate::fetch::Fetcher;
use parades_core::any_model::{AnyModel, Lps, Packed, Taggable, hide_body, in_form, with_model};
use parades_core::effects::Effects;
use parades_core::error::Error;
use parades_core::event::{Event, EventKey, LpId};
use parades_core::global::OneList;
use parades_core::lp::Execution;
use parades_core::model::Model;
use parades_core::outbox::Outbox;
use parades_core::pending::{HeapPending, PendingSet};
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::world::World;

/// Runs `model` event by event.
///
/// # Errors
///
/// The earliest error of the run, or an error that the model finds at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| run_any(model, options))
}

// Not generic, so that it is compiled once, here, and not again for each model.
fn run_any<'k>(model: &'k dyn AnyModel<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
    fn run_in<'k, P: Packed<'k>>(model: &'k dyn AnyModel<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
        run_by::<P, Direct, _>(model, options, Once(model.new_lps()))
    }
    in_form!(model.form(), run_in(model, options))
}

/// Runs `model` on a [`HeapPending`]. [`run`] uses a faster set, and writes events directly into it.
///
/// # Errors
///
/// As [`run`].
pub fn run_on_heap<M: Model>(model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| run_any_on_heap(model, options))
}

fn run_any_on_heap<'k>(model: &'k dyn AnyModel<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
    fn run_in<'k, P: Packed<'k>>(model: &'k dyn AnyModel<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
        run_by::<P, Through<HeapPending<P>>, _>(model, options, Once(model.new_lps()))
    }
    in_form!(model.form(), run_in(model, options))
}

/// Runs `model`, and executes each event by `step`, which has an empty list of its LPs.
pub(crate) fn run_by<'k, P: Packed<'k>, Q: Queue<P>, S: Step<'k, P>>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    step: S,
) -> Result<Outcome, Error> {
    let mut run = Sequential::<P, Q, S>::start(model, options, step)?;
    loop {
        run.course.advance_to_horizon();
        run.execute_before_bound()?;
        run.execute_globals()?;
        if run.course.is_over() {
            return run.conclude();
        }
        run.poll(run.course.bound)?;
    }
}

impl<'k, P: Packed<'k>, Q: Queue<P>, S: Step<'k, P>> Sequential<'k, P, Q, S> {
    /// Executes every event before the bound, in order. Always inlined into the frame that holds the
    /// effects; see [`Effects::lend`] for the reason.
    #[inline(always)]
    fn execute_before_bound(&mut self) -> Result<(), Error> {
        let (mut fetcher, records) = (Fetcher::of(self.course.model, self.step.lps().len()), self.step.lps().records());
        while let Some(event) = self.queue.set_mut(&mut self.effects.outbox).pop_before(self.course.bound) {
            let set = self.queue.set(&self.effects.outbox);
            fetcher.each(|ahead| set.upcoming(ahead), |id| records.prefetch(id.index()));
            fetcher.steps(|ahead| set.upcoming(ahead), |id, step| self.step.lps().fetch(id.index(), step));
            let execution = self.step.execute(&event, &self.world, &mut self.effects)?;
            self.commit(event.receiver(), Some(event.key()))?;
            let done = execution == Execution::Done;
            if done && self.course.record_event(&event, &mut self.effects.others.notes)? {
                self.poll(event.time())?;
            }
        }
        Ok(())
    }

    /// Commits the effects of an LP that executed an event or started up.
    #[inline(always)]
    fn commit(&mut self, lp: LpId, event: Option<EventKey>) -> Result<(), Error> {
        if self.effects.others.any {
            self.course.apply_other_effects(&self.world, lp, event, &mut self.effects.others, None)?;
        }
        self.queue.accept(&mut self.effects.outbox);
        Ok(())
    }

    /// Executes the global events at the bound.
    #[cold]
    #[inline(never)]
    fn execute_globals(&mut self) -> Result<(), Error> {
        let Course { model, globals, metrics, bound, .. } = &mut self.course;
        let mut lps = OneList { lps: self.step.lps_mut(), metrics };
        globals.execute_at(*bound, *model, &mut self.world, &mut lps, self.effects.hide())?;
        for event in std::mem::take(&mut self.effects.outbox.buffer) {
            self.queue.set_mut(&mut self.effects.outbox).push(event);
        }
        Ok(())
    }
}

/// The place of the pending set: inside the outbox, or beside it.
pub(crate) trait Queue<P: Taggable>: Default {
    /// Makes the outbox.
    fn outbox() -> Outbox<P>;
    /// Returns the pending set.
    fn set<'a>(&'a self, outbox: &'a Outbox<P>) -> &'a impl PendingSet<P>;
    /// Returns the pending set.
    fn set_mut<'a>(&'a mut self, outbox: &'a mut Outbox<P>) -> &'a mut impl PendingSet<P>;
    /// Moves the events that an execution sent into the pending set.
    fn accept(&mut self, outbox: &mut Outbox<P>);
}

/// Sends write events directly into the outbox's own pending set.
#[derive(Default)]
struct Direct;

impl<P: Taggable> Queue<P> for Direct {
    fn outbox() -> Outbox<P> {
        Outbox::direct()
    }
    #[inline(always)]
    fn set<'a>(&'a self, outbox: &'a Outbox<P>) -> &'a impl PendingSet<P> {
        outbox.direct_ref()
    }
    #[inline(always)]
    fn set_mut<'a>(&'a mut self, outbox: &'a mut Outbox<P>) -> &'a mut impl PendingSet<P> {
        outbox.direct_mut()
    }
    #[inline(always)]
    fn accept(&mut self, _: &mut Outbox<P>) {}
}

/// Sends write events into the outbox's buffer, where they can be compared. From there they move to any
/// pending set.
#[derive(Default)]
pub(crate) struct Through<Q>(Q);

impl<P: Taggable, Q: PendingSet<P>> Queue<P> for Through<Q> {
    fn outbox() -> Outbox<P> {
        Outbox::buffered()
    }
    #[inline(always)]
    fn set<'a>(&'a self, _: &'a Outbox<P>) -> &'a impl PendingSet<P> {
        &self.0
    }
    #[inline(always)]
    fn set_mut<'a>(&'a mut self, _: &'a mut Outbox<P>) -> &'a mut impl PendingSet<P> {
        &mut self.0
    }
    #[inline(always)]
    fn accept(&mut self, outbox: &mut Outbox<P>) {
        outbox.buffer.drain(..).for_each(|event| self.0.push(event));
    }
}

/// The LPs of a run, and the way to execute an event: once, or twice with checks (`rollback_check`).
pub(crate) trait Step<'k, P: Taggable> {
    /// Returns the LPs.
    fn lps(&self) -> &(dyn Lps<'k> + 'k);
    /// Returns the LPs.
    fn lps_mut(&mut self) -> &mut (dyn Lps<'k> + 'k);
    /// Executes an event.
    fn execute(&mut self, event: &Event<P>, world: &World, effects: &mut Effects<P>) -> Result<Execution, Error>;
}

/// Executes each event once.
struct Once<'k>(Box<dyn Lps<'k> + 'k>);

impl<'k, P: Packed<'k>> Step<'k, P> for Once<'k> {
    #[inline(always)]
    fn lps(&self) -> &(dyn Lps<'k> + 'k) {
        &*self.0
    }

    #[inline(always)]
    fn lps_mut(&mut self) -> &mut (dyn Lps<'k> + 'k) {
        &mut *self.0
    }

    #[inline(always)]
    fn execute(&mut self, event: &Event<P>, world: &World, effects: &mut Effects<P>) -> Result<Execution, Error> {
        let (index, body) = (event.receiver().index(), hide_body(&event.body));
        Ok(self.0.execute(index, event.header_ref(), body, world, effects.hide()))
    }
}

/// The state of a run.
struct Sequential<'k, P: Taggable, Q, S> {
    step: S,
    course: Course<'k>,
    world: World,
    queue: Q,
    effects: Effects<P>,
    /// The most pending events at any poll.
    pending_max: usize,
}

/// The start, the polls, and the end.
impl<'k, P: Packed<'k>, Q: Queue<P>, S: Step<'k, P>> Sequential<'k, P, Q, S> {
    fn start(model: &'k dyn AnyModel<'k>, options: RunOptions<'k>, step: S) -> Result<Self, Error> {
        let world = World::new(model, &options)?;
        let mut run = Sequential {
            step,
            course: Course::new(model, options),
            world,
            queue: Q::default(),
            effects: Effects::with(Q::outbox()),
            pending_max: 0,
        };
        run.step.lps_mut().reserve(run.world.lps() as usize);
        for id in (0..run.world.lps()).map(LpId) {
            let has_started = run.step.lps_mut().start(id, &run.world, run.effects.hide());
            run.commit(id, None)?;
            assert!(has_started, "an LP that failed to start has ended the run");
            run.course.check_memory(&run.world, run.pending().allocated_bytes())?;
            run.course.check_not_stopped()?;
        }
        run.pending_max = run.pending().len();
        Ok(run)
    }

    fn pending(&self) -> &impl PendingSet<P> {
        self.queue.set(&self.effects.outbox)
    }

    /// Polls at `time`.
    #[cold]
    fn poll(&mut self, time: Time) -> Result<(), Error> {
        self.pending_max = self.pending_max.max(self.pending().len());
        let bytes = self.pending().allocated_bytes();
        self.course.poll(&self.world, time, bytes)
    }

    fn conclude(self) -> Result<Outcome, Error> {
        let Sequential { course, step, mut queue, mut effects, pending_max, .. } = self;
        let pending = queue.set_mut(&mut effects.outbox);
        let engine_stats =
            vec![("pending_bytes", pending.allocated_bytes() as f64), ("pending_events_max", pending_max as f64)];
        let pending = pending.take_all();
        let end = course.bound;
        let lps = step.lps();
        let mut all = (0..lps.len()).map(|index| (LpId::from_index(index), lps, index));
        course.conclude(end, &mut all, pending, engine_stats)
    }
}
