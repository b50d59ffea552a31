//! What happens while all rest: global events, the trace, the end. One worker, the leader, does it.

use super::hand::Ledger;
use super::part::Part;
use super::plan::Plan;
use super::review::Reviewer;
use super::{Crew, Orders, lock};
use crate::stopwatch::Stopwatch;
use crate::transport::{Summary, Transport};
use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Event, LpId};
use parades_core::global::{AllLps, GlobalQueue, Visitor};
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::placement::Placement;
use parades_core::run::{Finished, Outcome, RunOptions, conclude};
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use std::sync::{Arc, MutexGuard, PoisonError};

/// Windows between two looks at memory, which also clear the notes on rounds.
const WINDOWS_PER_LOOK: u64 = 256;

/// What the leader alone knows.
pub(crate) struct Leader<'a, M: Model> {
    model: &'a M,
    options: RunOptions<'a>,
    globals: GlobalQueue<M>,
    /// What global events do.
    effects: Effects<M>,
    /// What global events record.
    metrics: Metrics,
    /// The end; earlier than the options say once the run is stopped by hand.
    until: Time,
    /// Everything before it has been executed, once the window is done.
    pub(crate) bound: Time,
    /// How the run ended.
    end: Option<Result<Time, Error>>,
    failure: Option<(Place, ErrorKind)>,
    /// The user wants the run to end.
    stopped: bool,
    windows: u64,
    rests: u64,
    reviewer: Reviewer,
    pub(super) stopwatch: Stopwatch,
    /// The next window before which memory is to be looked at.
    look: u64,
    lp_bytes: usize,
}

/// All LPs of a run, in their partitions.
struct Resting<'a, 'l, M: Model> {
    parts: &'a mut [MutexGuard<'l, Part<M>>],
    placement: &'a Placement,
    lps: u32,
    metrics: &'a mut Metrics,
}

impl<M: Model> AllLps<M> for Resting<'_, '_, M> {
    fn each(&mut self, visitor: &mut Visitor<'_, M>) {
        for id in (0..self.lps).map(LpId) {
            let Part { lps, metrics, .. } = &mut *self.parts[self.placement.partition(id) as usize];
            visitor(id, &mut lps[self.placement.index(id)], metrics);
        }
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
    }
}

impl<'a, M: Model> Leader<'a, M> {
    /// Of a run that goes on with one worker while that is faster, if it `retreats`.
    pub(crate) fn new(model: &'a M, options: RunOptions<'a>, world: &World, retreats: bool) -> Leader<'a, M> {
        Leader {
            model,
            globals: GlobalQueue::new(model),
            effects: Effects::new(),
            metrics: model.metrics(),
            until: options.until,
            bound: Time::ZERO,
            end: None,
            failure: None,
            stopped: false,
            windows: 0,
            rests: 0,
            reviewer: Reviewer::new(retreats, world.lps()),
            stopwatch: Stopwatch::new(),
            look: WINDOWS_PER_LOOK,
            lp_bytes: world.lps() as usize * size_of::<Lp<M::State>>(),
            options,
        }
    }

    /// Whether executions are to be traced.
    pub(crate) fn traces(&self) -> bool {
        self.options.tracer.is_some()
    }

    /// All are about to execute before `bound`.
    pub(crate) fn goes_to(&mut self, bound: Time, all: &Summary) {
        assert!(bound >= self.bound, "I2: the bound went back from {} to {bound}", self.bound);
        self.bound = bound;
        self.windows += 1;
        self.stopped |= self.options.control.is_some_and(|control| control.poll(all.next, all.events));
    }

    /// Whether there is something to do while all rest.
    pub(crate) fn wants_rest(&self) -> bool {
        self.stopped && self.until > self.bound
            || self.reviewer.is_due(self.windows, &self.stopwatch)
            || self.windows >= self.look
    }

    /// Does what needs every LP at rest, and gives new orders; when the next event is due.
    pub(crate) fn rest<T: Transport<M::Message>>(&mut self, crew: &Crew<'_, M, T>, all: &Summary) -> Time {
        self.rests += 1;
        self.look = self.windows + WINDOWS_PER_LOOK;
        let mut world = crew.world.write().unwrap_or_else(PoisonError::into_inner);
        let plan = Arc::clone(&lock(&crew.orders).plan);
        let mut parts: Vec<_> = crew.parts.iter().map(lock).collect();
        for part in &mut parts {
            let number = part.number;
            crew.transport.receive(0, number, true, &mut |event| part.push(event));
        }
        let left = crew.left.iter().filter_map(|left| lock(left).take()).collect();
        let gone = self.take_up(left).and_then(|()| self.go_on(&mut world, &plan, &mut parts, all.events));
        self.end = gone.map_or_else(|error| Some(Err(error)), |end| end.map(Ok));
        let next = parts.iter().map(|part| part.next).min().unwrap_or(Time::MAX);
        let failed = self.failure.as_ref().map_or(Time::MAX, |(place, _)| just_after(place.instant.time));
        let goes_on = self.end.is_none() && self.failure.is_none();
        let plan = if goes_on {
            let now = (self.windows, self.bound, &mut self.stopwatch);
            self.reviewer.review(crew, plan, &world, &mut parts, now)
        } else {
            plan
        };
        let horizon = self.horizon().min(failed);
        *lock(&crew.orders) = Orders { horizon, plan, over: self.end.is_some() };
        next
    }

    fn horizon(&self) -> Time {
        self.globals.next_time().unwrap_or(Time::MAX).min(self.until)
    }

    /// Takes up what the workers left.
    fn take_up(&mut self, left: Vec<Ledger<M>>) -> Result<(), Error> {
        let mut trace = Vec::new();
        for ledger in left {
            ledger.requests.into_iter().for_each(|request| self.globals.add(request));
            trace.extend(ledger.trace);
            if let Some(failure) = ledger.failure
                && self.failure.as_ref().is_none_or(|(least, _)| failure.0 < *least)
            {
                self.failure = Some(failure);
            }
        }
        trace.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let Some(tracer) = &mut self.options.tracer else { return Ok(()) };
        let place = |event: &Event<M::Message>| Place {
            instant: event.instant(),
            lp: Some(event.receiver),
            event: Some(event.key()),
        };
        trace
            .iter()
            .filter(|(event, _)| self.failure.as_ref().is_none_or(|(failed, _)| place(event) < *failed))
            .try_for_each(|(event, notes)| tracer.record(event, notes))
            .map_err(|error| Error::new(ErrorKind::Trace(error.to_string())))
    }

    /// Ends the run if it is at its end, or has failed; else executes the global events that are due. When the run ended.
    fn go_on(
        &mut self,
        world: &mut World,
        plan: &Plan,
        parts: &mut [MutexGuard<'_, Part<M>>],
        events: u64,
    ) -> Result<Option<Time>, Error> {
        let next = |parts: &[MutexGuard<'_, Part<M>>]| parts.iter().map(|part| part.next).min().unwrap_or(Time::MAX);
        self.check_memory(parts.iter().map(|part| part.allocated_bytes()).sum())?;
        if let Some((place, _)) = &self.failure
            && (next(parts) > place.instant.time || place.event.is_none())
        {
            // Where an LP could not start, no event is ever executed.
            let (place, kind) = self.failure.take().expect("it is there");
            return Err(world.error_at(kind, place));
        }
        if self.options.control.is_some_and(|control| control.poll(self.bound, events)) {
            if self.windows == 0 {
                return Err(Error::new(ErrorKind::Stopped));
            }
            self.until = self.until.min(self.bound);
        }
        world.forget_rounds_before(self.bound);
        while self.failure.is_none() && next(parts) >= self.horizon() {
            let time = self.horizon();
            self.bound = self.bound.max(time);
            let Leader { model, globals, effects, metrics, .. } = self;
            let mut lps = Resting { parts, placement: &plan.placement, lps: world.lps(), metrics };
            globals.execute_at(time, (*model, world), &mut lps, effects)?;
            for event in effects.outbox.buffer.drain(..) {
                parts[plan.placement.partition(event.receiver) as usize].push(event);
            }
            if time >= self.until || self.globals.stopped() {
                return Ok(Some(time));
            }
            // Global events alone may go on for ever.
            if self.options.control.is_some_and(|control| control.poll(time, events)) {
                self.until = self.until.min(just_after(time));
            }
        }
        Ok(None)
    }

    fn check_memory(&self, pending: usize) -> Result<(), Error> {
        let needed = (self.lp_bytes + pending) as u64;
        match self.options.memory_limit {
            Some(limit) if needed > limit => Err(Error::new(ErrorKind::Memory { limit, needed })),
            _ => Ok(()),
        }
    }

    /// The end of the run.
    pub(crate) fn conclude<T: Transport<M::Message>>(self, crew: &Crew<'_, M, T>) -> Result<Outcome, Error> {
        let end = self.end.expect("the workers have come to the end")?;
        let Leader { model, options, globals, mut metrics, windows, rests, reviewer, .. } = self;
        let turns = reviewer.turns();
        let plan = Arc::clone(&lock(&crew.orders).plan);
        let placement = &plan.placement;
        let mut parts: Vec<_> = crew.parts.iter().map(lock).collect();
        let (mut events, mut bytes, mut by_lp) = (0, 0, 0_u32);
        let mut pending = Vec::new();
        for part in &mut parts {
            events += part.events;
            bytes += part.allocated_bytes();
            by_lp += u32::from(part.is_by_lp());
            metrics.merge(std::mem::take(&mut part.metrics));
            pending.push(part.take_all());
        }
        if let Some(control) = options.control {
            control.poll(end, events);
        }
        let engine_stats = vec![
            ("windows", windows as f64),
            ("rests", rests as f64),
            ("turns", f64::from(turns)),
            ("partitions", f64::from(placement.partitions())),
            ("partitions_by_lp", f64::from(by_lp)),
            ("workers", crew.left.len() as f64),
            ("lookahead_s", plan.lookahead.map_or(f64::INFINITY, Delay::as_secs_f64)),
            ("pending_bytes", bytes as f64),
            ("lp_bytes", size_of::<Lp<M::State>>() as f64),
            ("state_bytes", size_of::<M::State>() as f64),
        ];
        let lps = super::ids(crew.lps).map(|id| &parts[placement.partition(id) as usize].lps[placement.index(id)]);
        let pending = Box::new(pending.into_iter().flatten());
        conclude(model, &options, lps, Finished { events, end, metrics, pending, globals, engine_stats })
    }
}

/// The next time that can be told from `time`.
fn just_after(time: Time) -> Time {
    time.checked_add(Delay::from_ps(1)).unwrap_or(Time::MAX)
}
