//! `sequential`: one pending event set. This engine defines the right result.
//!
//! *Idea.* Take the earliest event, execute it, and put the events that it sent into the pending set. Stop
//! before the next global event, execute that, and go on.
//!
//! *Invariants.* Events are executed in the order of [`parades_core::event::Event`]: by instant, then LP,
//! then key. So the first error is the earliest, and the trace comes out in order.
//!
//! *Read next*: [`parades_core::pending`], which finds the earliest event.

mod events;

pub(crate) use events::{AnyEvents, Direct, Events, Queue, Through};

use crate::course::Course;
use crate::fetch::Fetcher;
use crate::handlers::new_lps;
use parades_core::any_model::{AnyModel, Lps, Packed, Taggable, hide_body, in_form, with_model};
use parades_core::cut::{Reached, Span, Whole};
use parades_core::effects::Effects;
use parades_core::error::Error;
use parades_core::event::{Event, LpId};
use parades_core::global::OneList;
use parades_core::lp::Execution;
use parades_core::model::Model;
use parades_core::pending::{HeapPending, PendingSet};
use parades_core::placement::Placement;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::timesheet::Spent;
use parades_core::world::World;

/// Runs `model` event by event.
///
/// # Errors
///
/// The earliest error of the run, or an error that the model finds at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| run_any(model, options))
}

/// Does the same as [`run`], for a model of any type.
///
/// # Errors
///
/// As [`run`].
pub fn run_any<'k>(model: &'k dyn AnyModel<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
    advance(model, options.into()).map(Reached::end)
}

/// Runs a span of a run: from its start or a cut to the next cut at which it ends, or to its end.
///
/// # Errors
///
/// As [`run`].
pub fn advance<'k>(model: &'k dyn AnyModel<'k>, span: Span<'k>) -> Result<Reached<'k>, Error> {
    fn advance_in<'k, P: Packed<'k>>(model: &'k dyn AnyModel<'k>, span: Span<'k>) -> Result<Reached<'k>, Error> {
        let lps = new_lps(model, span.options.timesheets.as_ref());
        run_by::<P, Direct, _>(model, span, Once(lps))
    }
    in_form!(model.form(), advance_in(model, span))
}

/// Runs `model` on a [`HeapPending`]. [`run`] uses a faster set, and writes events directly into it.
///
/// # Errors
///
/// As [`run`].
pub fn run_on_heap<M: Model>(model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| run_any_on_heap(model, options))
}

/// Does the same as [`run_on_heap`], for a model of any type.
///
/// # Errors
///
/// As [`run`].
pub fn run_any_on_heap<'k>(model: &'k dyn AnyModel<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
    fn run_in<'k, P: Packed<'k>>(model: &'k dyn AnyModel<'k>, options: RunOptions<'k>) -> Result<Outcome, Error> {
        let step = Once(new_lps(model, options.timesheets.as_ref()));
        run_by::<P, Through<HeapPending<P>>, _>(model, options.into(), step).map(Reached::end)
    }
    in_form!(model.form(), run_in(model, options))
}

/// Runs `model`, and executes each event by `step`, which has an empty list of its LPs.
///
/// Its frame holds the effects; see [`Effects::lend`] for the reason. So it is inlined nowhere.
#[inline(never)]
pub(crate) fn run_by<'k, P: Packed<'k>, Q: Queue<P>, S: Step<'k, P>>(
    model: &'k dyn AnyModel<'k>,
    span: Span<'k>,
    mut step: S,
) -> Result<Reached<'k>, Error> {
    let mut events = Events::<P, Q>::new();
    let mut run = Sequential::start(model, span, step.lps_mut(), &mut events)?;
    loop {
        run.course.advance_to_horizon();
        execute_before_bound(&mut run, &mut step, &mut events)?;
        run.reach_cut(step.lps_mut(), &mut events);
        if run.course.has_left {
            return Ok(run.leave(step.lps_mut(), &mut events));
        }
        run.execute_globals(step.lps_mut(), &mut events)?;
        if run.course.is_over() {
            return run.conclude(step.lps(), &mut events).map(Reached::End);
        }
        run.poll(run.course.bound, &events)?;
    }
}

/// Executes every event before the bound, in order. Always inlined into the frame that holds the effects.
#[inline(always)]
fn execute_before_bound<'k, P: Packed<'k>, Q: Queue<P>, S: Step<'k, P>>(
    run: &mut Sequential<'k>,
    step: &mut S,
    events: &mut Events<P, Q>,
) -> Result<(), Error> {
    let (mut fetcher, records) = (Fetcher::of(run.course.model, step.lps().len()), step.lps().records());
    while let Some(event) = events.set_mut().pop_before(run.course.bound) {
        let set = events.set();
        fetcher.each(|ahead| set.upcoming(ahead), |id| records.prefetch(id.index()));
        fetcher.steps(|ahead| set.upcoming(ahead), |id, at| step.lps().fetch(id.index(), at));
        let execution = step.execute(&event, &run.world, &mut events.effects)?;
        let others = &mut events.effects.others;
        if others.any {
            run.course.apply_other_effects(&run.world, event.receiver(), Some(event.key()), others, None)?;
        }
        events.accept();
        let done = execution == Execution::Done;
        if done && run.course.record_event(&event, &mut events.effects.others.notes)? {
            run.poll(event.time(), events)?;
        }
    }
    Ok(())
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

/// The state of a run without its LPs and pending events. It does not depend on the form of messages.
struct Sequential<'k> {
    course: Course<'k>,
    world: World,
    /// The most pending events at any poll.
    pending_max: usize,
}

/// The start, the global events, the polls, and the end.
impl<'k> Sequential<'k> {
    fn start(
        model: &'k dyn AnyModel<'k>,
        span: Span<'k>,
        lps: &mut (dyn Lps<'k> + 'k),
        events: &mut dyn AnyEvents<'k>,
    ) -> Result<Self, Error> {
        let world = World::of_span(model, &span)?;
        let (course, from) = Course::new(model, span);
        let mut run = Sequential { course, world, pending_max: 0 };
        if let Some(mut cut) = from {
            cut.distribute(model, &Placement::one(run.world.lps()));
            lps.pick_up(0);
            (0..lps.len()).for_each(|index| {
                lps.renew_wakes(index, LpId::from_index(index), &run.world, events.effects());
                events.accept_sent();
            });
            cut.messages.into_iter().for_each(|event| events.push(event));
            run.pending_max = events.len();
            return Ok(run);
        }
        lps.reserve(run.world.lps() as usize);
        for id in (0..run.world.lps()).map(LpId) {
            let has_started = lps.start(id, &run.world, events.effects());
            let others = events.effects().others;
            if others.any {
                run.course.apply_other_effects(&run.world, id, None, others, None)?;
            }
            events.accept_sent();
            assert!(has_started, "an LP that failed to start has ended the run");
            run.course.check_memory(&run.world, events.allocated_bytes())?;
            run.course.check_not_stopped()?;
        }
        run.pending_max = events.len();
        Ok(run)
    }

    /// Comes to a cut at the bound, if one is due there.
    #[cold]
    fn reach_cut(&mut self, lps: &mut (dyn Lps<'k> + 'k), events: &mut dyn AnyEvents<'k>) {
        let timekeeper = self.course.timekeeper.clone();
        timekeeper.spend(0, Spent::Cut, || self.course.reach_cut(&self.world, &mut Whole { lps, events }));
    }

    /// Executes the global events at the bound.
    #[cold]
    fn execute_globals(&mut self, lps: &mut (dyn Lps<'k> + 'k), events: &mut dyn AnyEvents<'k>) -> Result<(), Error> {
        let Course { model, globals, metrics, bound, timekeeper, .. } = &mut self.course;
        timekeeper.spend(0, Spent::Cut, || {
            globals.execute_at(*bound, *model, &mut self.world, &mut OneList { lps, metrics }, events.effects())
        })?;
        events.accept_sent();
        Ok(())
    }

    /// Polls at `time`.
    #[cold]
    fn poll(&mut self, time: Time, events: &dyn AnyEvents<'k>) -> Result<(), Error> {
        self.pending_max = self.pending_max.max(events.len());
        self.course.poll(&self.world, time, events.allocated_bytes())
    }

    /// Ends this span at a cut.
    #[cold]
    fn leave(self, lps: &mut (dyn Lps<'k> + 'k), events: &mut dyn AnyEvents<'k>) -> Reached<'k> {
        lps.put_down(0);
        let mut all = self.course.model.new_lps();
        all.pick_up(0);
        self.course.leave(&self.world, all, events.take_all())
    }

    #[cold]
    fn conclude(self, lps: &(dyn Lps<'k> + 'k), events: &mut dyn AnyEvents<'k>) -> Result<Outcome, Error> {
        let Sequential { course, pending_max, .. } = self;
        let engine_stats =
            vec![("pending_bytes", events.allocated_bytes() as f64), ("pending_events_max", pending_max as f64)];
        let end = course.bound;
        let mut all = (0..lps.len()).map(|index| (LpId::from_index(index), lps, index));
        course.conclude(end, &mut all, events.take_all(), engine_stats)
    }
}
