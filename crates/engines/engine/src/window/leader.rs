//! The leader of the workers. At a cut it executes global events, writes the trace, and ends the run.

use super::part::Part;
use super::plan::Plan;
use super::review::Reviewer;
use super::{Crew, Orders};
use crate::course::{Course, just_after};
use crate::quiescence::{Home, Homes};
use crate::retreat::Retreats;
use crate::stopwatch::Stopwatch;
use crate::transport::{Summary, Transport};
use crate::workers::{imbalance, lock};
use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind};
use parades_core::event::Event;
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};

/// Windows between two checks of the memory. Each check also frees the notes on rounds.
const WINDOWS_PER_CHECK: u64 = 256;

/// The state that belongs to the leader alone.
pub(crate) struct Leader<'a, M: Model> {
    pub(crate) course: Course<'a, M>,
    /// The effects of global events.
    effects: Effects<M>,
    /// The end of the run, once it has ended.
    end: Option<Result<Time, Error>>,
    /// True once the user has stopped the run.
    stopped: bool,
    windows: u64,
    cuts: u64,
    reviewer: Reviewer,
    pub(crate) stopwatch: Stopwatch,
    /// The number of the window before which the memory is checked next.
    next_check: u64,
}

impl<M: Model> Home<M> for Part<M> {
    fn earliest_time(&mut self) -> Time {
        self.next
    }
    fn add(&mut self, event: Event<M::Message>) {
        self.push(event);
    }
    fn residents(&mut self) -> (&mut [Lp<M::State>], &mut Metrics) {
        (&mut self.lps, &mut self.metrics)
    }
}

fn next_time<M: Model>(parts: &[MutexGuard<'_, Part<M>>]) -> Time {
    parts.iter().map(|part| part.next).min().unwrap_or(Time::MAX)
}

impl<'a, M: Model> Leader<'a, M> {
    pub(crate) fn new(model: &'a M, options: RunOptions<'a>, (workers, retreats): (usize, Retreats)) -> Leader<'a, M> {
        Leader {
            course: Course::new(model, options),
            effects: Effects::new(),
            end: None,
            stopped: false,
            windows: 0,
            cuts: 0,
            reviewer: Reviewer::new(retreats, workers),
            stopwatch: Stopwatch::new(),
            next_check: WINDOWS_PER_CHECK,
        }
    }

    /// Makes the leader ignore how busy the workers are, for engines whose workers may be busy without
    /// executing events.
    pub(crate) fn ignoring_busyness(mut self) -> Leader<'a, M> {
        self.reviewer.always_try();
        self
    }

    /// Raises the bound: all workers are about to execute before `bound`.
    pub(crate) fn advance_to(&mut self, bound: Time, all: &Summary) {
        let before = std::mem::replace(&mut self.course.bound, bound);
        assert!(bound >= before, "I2: the bound went back from {before} to {bound}");
        self.windows += 1;
        self.stopped |= self.course.options.control.is_some_and(|control| control.poll(all.next, all.events));
    }

    /// Returns true if the leader wants a cut.
    pub(crate) fn wants_cut(&self) -> bool {
        self.stopped && self.course.until > self.course.bound
            || self.reviewer.is_due(self.windows, &self.stopwatch)
            || self.windows >= self.next_check
    }

    /// Executes a cut: the work that needs every LP at rest. Gives new orders, and returns the time of the
    /// next event.
    pub(crate) fn execute_cut<T: Transport<M::Message>>(&mut self, crew: &Crew<'_, M, T>, all: &Summary) -> Time {
        self.cuts += 1;
        self.next_check = self.windows + WINDOWS_PER_CHECK;
        let mut world = crew.world.write().unwrap_or_else(PoisonError::into_inner);
        let plan = Arc::clone(&lock(&crew.orders).plan);
        let mut parts: Vec<_> = crew.parts.iter().map(lock).collect();
        for part in &mut parts {
            let number = part.number;
            crew.transport.receive(0, number, true, &mut |arrived| part.push_all(arrived));
        }
        let ledgers = crew.ledgers.iter().filter_map(|ledger| lock(ledger).take());
        let collected = self.course.collect_ledgers(ledgers);
        let end = collected.and_then(|()| self.execute_globals(&mut world, &plan, &mut parts, all.events));
        self.end = end.transpose();
        let next = next_time(&parts);
        let continues = self.end.is_none() && self.course.failure.place().is_none();
        let plan = if continues {
            let now = (self.windows, self.course.bound, &mut self.stopwatch);
            self.reviewer.review(crew, plan, &world, &mut parts, now)
        } else {
            plan
        };
        let horizon = self.course.horizon().min(just_after(self.course.failure.time()));
        *lock(&crew.orders) = Orders { horizon, plan, window: self.windows, over: self.end.is_some() };
        next
    }

    /// Executes the global events that are due. Returns the end of the run if it is reached.
    ///
    /// # Errors
    ///
    /// The earliest failure, once no event before it is pending; a stop before the run has begun; too
    /// little memory.
    fn execute_globals(
        &mut self,
        world: &mut World,
        plan: &Plan,
        parts: &mut [MutexGuard<'_, Part<M>>],
        events: u64,
    ) -> Result<Option<Time>, Error> {
        let Leader { course, effects, .. } = self;
        course.events = events;
        course.check_memory(world, parts.iter().map(|part| part.allocated_bytes()).sum())?;
        if let Some(&place) = course.failure.place() {
            if next_time(parts) <= place.instant.time && place.event.is_some() {
                return Ok(None);
            }
            // If an LP could not start, no event is ever executed.
            let (place, kind) = course.failure.take().expect("`place` is its place");
            return Err(world.error_at(kind, place));
        }
        if course.options.control.is_some_and(|control| control.poll(course.bound, events)) {
            if self.windows == 0 {
                return Err(Error::new(ErrorKind::Stopped));
            }
            course.until = course.until.min(course.bound);
        }
        world.forget_rounds_before(course.bound);
        let mut homes = Homes { homes: parts, placement: &plan.placement, lps: world.lps() };
        course.execute_globals_first(world, &mut homes, effects)
    }

    /// Ends the run, once all workers have returned.
    pub(crate) fn conclude<T: Transport<M::Message>>(self, crew: &Crew<'_, M, T>) -> Result<Outcome, Error> {
        let end = self.end.expect("the workers have come to the end")?;
        let Leader { mut course, windows, cuts, reviewer, stopwatch, .. } = self;
        let switches = reviewer.switches();
        let plan = Arc::clone(&lock(&crew.orders).plan);
        let placement = &plan.placement;
        let mut parts: Vec<_> = crew.parts.iter().map(lock).collect();
        course.events = 0;
        let (mut bytes, mut by_lp) = (0, 0_u32);
        let mut pending = Vec::new();
        for part in &mut parts {
            course.events += part.events;
            bytes += part.allocated_bytes();
            by_lp += u32::from(part.is_by_lp());
            course.metrics.merge(std::mem::take(&mut part.metrics));
            pending.push(part.take_all());
        }
        let engine_stats = vec![
            ("windows", windows as f64),
            ("rests", cuts as f64),
            ("turns", f64::from(switches)),
            ("partitions", f64::from(placement.partitions())),
            ("partitions_by_lp", f64::from(by_lp)),
            ("workers", crew.ledgers.len() as f64),
            // Ordering: Relaxed; the worker threads have been joined.
            ("imbalance", imbalance(crew.executed.iter().map(|events| events.load(Ordering::Relaxed)))),
            ("waiting_share", stopwatch.share_waited()),
            ("lookahead_s", plan.lookahead.map_or(f64::INFINITY, Delay::as_secs_f64)),
            ("pending_bytes", bytes as f64),
        ];
        let lps = super::ids(crew.lps).map(|id| &parts[placement.partition(id) as usize].lps[placement.index(id)]);
        let pending = Box::new(pending.into_iter().flatten());
        course.conclude(end, lps, pending, engine_stats)
    }
}
