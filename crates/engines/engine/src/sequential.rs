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
use parades_core::effects::Effects;
use parades_core::error::Error;
use parades_core::event::{Body, EventKey, Header, LpId};
use parades_core::global::OneList;
use parades_core::lp::{Execution, Lp};
use parades_core::model::Model;
use parades_core::outbox::Outbox;
use parades_core::pending::PendingSet;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::world::World;
use parades_raw::huge_pages;

/// Runs `model` event by event.
///
/// # Errors
///
/// The earliest error of the run, or an error that the model finds at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    run_by::<M, Direct, Once>(model, options, Once)
}

/// Runs `model` on a pending set of the caller's choice. [`run`] uses the fastest set, and writes events
/// directly into it.
///
/// # Errors
///
/// As [`run`].
pub fn run_on<M: Model, Q: PendingSet<M::Message>>(model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    run_by::<M, Through<Q>, Once>(model, options, Once)
}

/// Runs `model`, and executes each event by `step`.
pub(crate) fn run_by<M: Model, Q: Queue<M::Message>, S: Step<M>>(
    model: &M,
    options: RunOptions<'_>,
    step: S,
) -> Result<Outcome, Error> {
    let mut run = Sequential::<M, Q, S>::start(model, options, step)?;
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

impl<M: Model, Q: Queue<M::Message>, S: Step<M>> Sequential<'_, M, Q, S> {
    /// Executes every event before the bound, in order. Always inlined into the frame that holds the
    /// effects; see [`Effects::lend`] for the reason.
    #[inline(always)]
    fn execute_before_bound(&mut self) -> Result<(), Error> {
        let mut fetcher = Fetcher::of(self.course.model, self.lps.len());
        while let Some(event) = self.queue.set_mut(&mut self.effects.outbox).pop_before(self.course.bound) {
            let set = self.queue.set(&self.effects.outbox);
            let lp_of = |id: LpId| &self.lps[id.index()];
            fetcher.records(self.course.model, |ahead| set.upcoming(ahead), lp_of);
            let (header, body) = event.into_parts();
            let lp = &mut self.lps[header.receiver().index()];
            let of = (self.course.model, &self.world);
            let execution = self.step.execute(lp, of, (header, body.as_ref()), &mut self.effects)?;
            self.commit(header.receiver(), Some(header.key()))?;
            let done = execution == Execution::Done;
            if done && self.course.record_event(header, body, &mut self.effects.notes)? {
                self.poll(header.time())?;
            }
        }
        Ok(())
    }

    /// Commits the effects of an LP that executed an event or started up.
    #[inline(always)]
    fn commit(&mut self, lp: LpId, event: Option<EventKey>) -> Result<(), Error> {
        if self.effects.beyond_sends {
            self.course.apply_other_effects(&self.world, (lp, event), &mut self.effects, None)?;
        }
        self.queue.accept(&mut self.effects.outbox);
        Ok(())
    }

    /// Executes the global events at the bound.
    #[cold]
    #[inline(never)]
    fn execute_globals(&mut self) -> Result<(), Error> {
        let Course { model, globals, metrics, bound, .. } = &mut self.course;
        let mut lps = OneList { lps: &mut self.lps, metrics };
        globals.execute_at(*bound, (*model, &mut self.world), &mut lps, &mut self.effects)?;
        for event in std::mem::take(&mut self.effects.outbox.buffer) {
            self.queue.set_mut(&mut self.effects.outbox).push(event);
        }
        Ok(())
    }
}

/// The place of the pending set: inside the outbox, or beside it.
pub(crate) trait Queue<P>: Default {
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

impl<P> Queue<P> for Direct {
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

impl<P, Q: PendingSet<P>> Queue<P> for Through<Q> {
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

/// The way to execute an event: once, or twice with checks (`rollback_check`).
pub(crate) trait Step<M: Model> {
    fn execute(
        &mut self,
        lp: &mut Lp<M::State>,
        of: (&M, &World),
        event: (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
    ) -> Result<Execution, Error>;
}

/// Executes each event once.
struct Once;

impl<M: Model> Step<M> for Once {
    #[inline(always)]
    fn execute(
        &mut self,
        lp: &mut Lp<M::State>,
        (model, world): (&M, &World),
        event: (Header, Body<&M::Message>),
        effects: &mut Effects<M>,
    ) -> Result<Execution, Error> {
        Ok(lp.execute(model, world, event, effects))
    }
}

/// The state of a run.
struct Sequential<'a, M: Model, Q, S> {
    step: S,
    course: Course<'a, M>,
    world: World,
    lps: Vec<Lp<M::State>>,
    queue: Q,
    effects: Effects<M>,
    /// The most pending events at any poll.
    pending_max: usize,
}

/// The start, the polls, and the end.
impl<'a, M: Model, Q: Queue<M::Message>, S: Step<M>> Sequential<'a, M, Q, S> {
    fn start(model: &'a M, options: RunOptions<'a>, step: S) -> Result<Self, Error> {
        let world = World::new(model, &options)?;
        let mut run = Sequential {
            step,
            course: Course::new(model, options),
            lps: Vec::with_capacity(world.lps() as usize),
            world,
            queue: Q::default(),
            effects: Effects::with(Q::outbox()),
            pending_max: 0,
        };
        huge_pages::ask_for(&run.lps);
        for id in (0..run.world.lps()).map(LpId) {
            let lp = Lp::start(model, &run.world, id, &mut run.effects);
            run.commit(id, None)?;
            run.lps.push(lp.expect("an LP that failed to start has ended the run"));
            run.course.check_memory(&run.world, run.pending().allocated_bytes())?;
            run.course.check_not_stopped()?;
        }
        run.pending_max = run.pending().len();
        Ok(run)
    }

    fn pending(&self) -> &impl PendingSet<M::Message> {
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
        let Sequential { course, lps, mut queue, mut effects, pending_max, .. } = self;
        let pending = queue.set_mut(&mut effects.outbox);
        let engine_stats =
            vec![("pending_bytes", pending.allocated_bytes() as f64), ("pending_events_max", pending_max as f64)];
        let pending = pending.take_all();
        let end = course.bound;
        course.conclude(end, lps.iter(), pending, engine_stats)
    }
}
