//! `sequential`: one pending event set, the definition of the right answer.
//!
//! *Idea.* Take the least event, execute it, put what it sent into the pending set; stop before the next global event, let that
//! happen, go on.
//!
//! *Invariants.* Events are executed in the order of [`parades_core::event::Event`]: by instant, then LP, then key. So the first error is the least one, and the
//! trace comes out in order.
//!
//! *Read next*: [`parades_core::pending`], which finds the least event.

use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Event, LpId};
use parades_core::global::{GlobalQueue, OneList};
use parades_core::lp::{Execution, Lp};
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::outbox::{Outbox, Pending};
use parades_core::pending::PendingSet;
use parades_core::run::{Control, Finished, Outcome, RunOptions, conclude};
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use parades_raw::huge_pages;
use parades_raw::prefetch::prefetch;

/// Events between two looks at the outside: progress, the wish to stop, memory.
const EVENTS_PER_POLL: u64 = 1 << 12;
/// How many events ahead of its execution the LP of an event is fetched into the cache.
const PREFETCH_DISTANCE: usize = 6;

/// Runs `model` event by event.
///
/// # Errors
///
/// The least error of the run, and what the model finds wrong at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    run_by::<M, Straight, Once>(model, options, Once)
}

/// Runs `model` on a pending set of the caller's choice; [`run`] takes the fastest, and its events go straight there.
///
/// # Errors
///
/// As [`run`].
pub fn run_on<M: Model, Q: PendingSet<M::Message>>(model: &M, options: RunOptions<'_>) -> Result<Outcome, Error> {
    run_by::<M, Through<Q>, Once>(model, options, Once)
}

/// Runs `model` with each event executed by `step`.
pub(crate) fn run_by<M: Model, Q: Queue<M::Message>, S: Step<M>>(
    model: &M,
    options: RunOptions<'_>,
    step: S,
) -> Result<Outcome, Error> {
    let mut run = Sequential::<M, Q, S>::start(model, options, step)?;
    loop {
        run.bound = run.next_global().min(run.until);
        run.execute_before_bound()?;
        run.execute_globals()?;
        if run.bound >= run.until || run.globals.stopped() {
            return run.conclude();
        }
        run.poll(run.bound)?;
    }
}

impl<M: Model, Q: Queue<M::Message>, S: Step<M>> Sequential<'_, M, Q, S> {
    /// Executes every event before the bound, in order.
    fn execute_before_bound(&mut self) -> Result<(), Error> {
        while let Some(event) = self.queue.set_mut(&mut self.effects.outbox).pop_before(self.bound) {
            if let Some(id) = self.queue.set(&self.effects.outbox).upcoming(PREFETCH_DISTANCE) {
                prefetch(&self.lps[id.index()]);
            }
            let lp = &mut self.lps[event.receiver.index()];
            let execution = self.step.execute(lp, (self.model, &self.world), &event, &mut self.effects)?;
            self.commit(event.receiver, Some((&event, execution)))?;
        }
        Ok(())
    }

    /// Makes what an execution did take effect.
    #[inline(always)]
    fn commit(&mut self, lp: LpId, executed: Option<(&Event<M::Message>, Execution)>) -> Result<(), Error> {
        if self.effects.beyond_sends {
            self.commit_beyond_sends(lp, executed.map(|(event, _)| event))?;
        }
        self.queue.accept(&mut self.effects.outbox);
        if let Some((event, Execution::Done)) = executed {
            self.events += 1;
            if self.options.tracer.is_some() {
                self.trace(event)?;
            }
            // An event may take long: the wish to stop is heard after each.
            let stopped = self.options.control.is_some_and(Control::is_stopped);
            if stopped || self.events.is_multiple_of(EVENTS_PER_POLL) {
                self.poll(event.time())?;
            }
        }
        Ok(())
    }

    /// Executes the global events at the bound.
    #[cold]
    #[inline(never)]
    fn execute_globals(&mut self) -> Result<(), Error> {
        let mut lps = OneList { lps: &mut self.lps, metrics: &mut self.metrics };
        let world = (self.model, &mut self.world);
        self.globals.execute_at(self.bound, world, &mut lps, &mut self.effects)?;
        for event in std::mem::take(&mut self.effects.outbox.buffer) {
            self.queue.set_mut(&mut self.effects.outbox).push(event);
        }
        Ok(())
    }
}

/// How the least event is found.
pub(crate) trait Queue<P>: Default {
    /// The outbox that goes with it.
    fn outbox() -> Outbox<P>;
    /// The set that events wait in.
    fn set<'a>(&'a self, outbox: &'a Outbox<P>) -> &'a impl PendingSet<P>;
    /// The set that events wait in.
    fn set_mut<'a>(&'a mut self, outbox: &'a mut Outbox<P>) -> &'a mut impl PendingSet<P>;
    /// Takes in what an execution sent.
    fn accept(&mut self, outbox: &mut Outbox<P>);
}

/// Events go straight to the outbox's own pending set.
#[derive(Default)]
struct Straight;

impl<P> Queue<P> for Straight {
    fn outbox() -> Outbox<P> {
        Outbox::straight()
    }
    #[inline(always)]
    fn set<'a>(&'a self, outbox: &'a Outbox<P>) -> &'a impl PendingSet<P> {
        let Pending::ByTime(pending) = &outbox.pending else { unreachable!("it was made so") };
        pending
    }
    #[inline(always)]
    fn set_mut<'a>(&'a mut self, outbox: &'a mut Outbox<P>) -> &'a mut impl PendingSet<P> {
        let Pending::ByTime(pending) = &mut outbox.pending else { unreachable!("it was made so") };
        pending
    }
    #[inline(always)]
    fn accept(&mut self, _: &mut Outbox<P>) {}
}

/// Events go through the outbox's buffer, where they can be looked at, to a pending set of any kind.
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

/// How an event is executed: once, or once more with checks around it (`rollback_check`).
pub(crate) trait Step<M: Model> {
    fn execute(
        &mut self,
        lp: &mut Lp<M::State>,
        of: (&M, &World),
        event: &Event<M::Message>,
        effects: &mut Effects<M>,
    ) -> Result<Execution, Error>;
}

/// Executes an event once, and that is all.
struct Once;

impl<M: Model> Step<M> for Once {
    #[inline(always)]
    fn execute(
        &mut self,
        lp: &mut Lp<M::State>,
        (model, world): (&M, &World),
        event: &Event<M::Message>,
        effects: &mut Effects<M>,
    ) -> Result<Execution, Error> {
        Ok(lp.execute(model, world, event, effects))
    }
}

/// A run under way.
struct Sequential<'a, M: Model, Q, S> {
    step: S,
    model: &'a M,
    world: World,
    options: RunOptions<'a>,
    lps: Vec<Lp<M::State>>,
    queue: Q,
    globals: GlobalQueue<M>,
    effects: Effects<M>,
    metrics: Metrics,
    events: u64,
    /// The most events that were pending whenever the outside was looked at.
    pending_max: usize,
    /// Events before this time may be executed: the next global event, or the end.
    bound: Time,
    /// The end; earlier than the options say once the run is stopped by hand.
    until: Time,
}

/// The start, what is rare, and the end.
impl<'a, M: Model, Q: Queue<M::Message>, S: Step<M>> Sequential<'a, M, Q, S> {
    fn start(model: &'a M, options: RunOptions<'a>, step: S) -> Result<Self, Error> {
        let world = World::new(model, &options)?;
        let until = options.until;
        let mut run = Sequential {
            step,
            lps: Vec::new(),
            model,
            world,
            queue: Q::default(),
            globals: GlobalQueue::new(model),
            effects: Effects::with(Q::outbox()),
            metrics: model.metrics(),
            events: 0,
            pending_max: 0,
            bound: Time::ZERO,
            until,
            options,
        };
        run.lps.reserve_exact(run.world.lps() as usize);
        huge_pages::ask_for(&run.lps);
        for id in (0..run.world.lps()).map(LpId) {
            let lp = Lp::start(model, &run.world, id, &mut run.effects);
            run.commit(id, None)?;
            run.lps.push(lp.expect("an LP that failed to start has ended the run"));
            run.check_memory()?;
            if run.options.control.is_some_and(|control| control.poll(Time::ZERO, 0)) {
                return Err(Error::new(ErrorKind::Stopped));
            }
        }
        run.pending_max = run.pending().len();
        Ok(run)
    }

    fn pending(&self) -> &impl PendingSet<M::Message> {
        self.queue.set(&self.effects.outbox)
    }

    fn next_global(&self) -> Time {
        self.globals.next_time().unwrap_or(Time::MAX)
    }

    /// Metrics, requests of controllers, failures.
    #[cold]
    #[inline(never)]
    fn commit_beyond_sends(&mut self, lp: LpId, event: Option<&Event<M::Message>>) -> Result<(), Error> {
        let effects = &mut self.effects;
        if let Some(kind) = effects.failure.take() {
            let (instant, key) = event.map_or_else(Default::default, |event| (event.instant(), Some(event.key())));
            return Err(self.world.error_at(kind, Place { instant, lp: Some(lp), event: key }));
        }
        effects.samples.drain(..).for_each(|sample| self.metrics.apply(lp, &sample));
        for request in effects.requests.drain(..) {
            self.bound = self.bound.min(request.key.instant.time);
            self.globals.add(request);
        }
        effects.beyond_sends = false;
        // Only an event that is traced takes its notes along.
        if event.is_none() || self.options.tracer.is_none() {
            effects.notes.clear();
        }
        Ok(())
    }

    fn trace(&mut self, event: &Event<M::Message>) -> Result<(), Error> {
        let Some(tracer) = &mut self.options.tracer else { return Ok(()) };
        let written = tracer.record(event, &self.effects.notes);
        self.effects.notes.clear();
        written.map_err(|error| Error::new(ErrorKind::Trace(error.to_string())))
    }

    /// Looks at the outside. A run stopped by hand ends just after the time it has reached.
    #[cold]
    fn poll(&mut self, time: Time) -> Result<(), Error> {
        self.pending_max = self.pending_max.max(self.pending().len());
        self.world.forget_rounds_before(time);
        if self.options.control.is_some_and(|control| control.poll(time, self.events)) {
            self.until = self.until.min(time.checked_add(Delay::from_ps(1)).unwrap_or(Time::MAX));
            self.bound = self.bound.min(self.until);
        }
        self.check_memory()
    }

    /// Whether the LPs' records and the pending events are within the limit.
    #[inline]
    fn check_memory(&self) -> Result<(), Error> {
        let lps = self.world.lps() as usize * size_of::<Lp<M::State>>();
        let needed = (lps + self.pending().allocated_bytes()) as u64;
        match self.options.memory_limit {
            Some(limit) if needed > limit => Err(Error::new(ErrorKind::Memory { limit, needed })),
            _ => Ok(()),
        }
    }

    fn conclude(self) -> Result<Outcome, Error> {
        let Sequential { model, options, lps, mut queue, mut effects, globals, metrics, events, pending_max, .. } =
            self;
        let end = self.bound;
        let pending = queue.set_mut(&mut effects.outbox);
        if let Some(control) = options.control {
            control.poll(end, events);
        }
        let engine_stats = vec![
            ("pending_bytes", pending.allocated_bytes() as f64),
            ("pending_events_max", pending_max as f64),
            ("lp_bytes", size_of::<Lp<M::State>>() as f64),
            ("state_bytes", size_of::<M::State>() as f64),
        ];
        let pending = pending.take_all();
        conclude(model, &options, lps.iter(), Finished { events, end, metrics, pending, globals, engine_stats })
    }
}
