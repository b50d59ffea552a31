//! What happens while all rest: global events, the trace, the end. One worker, the leader, does it.

use super::part::Part;
use super::plan::Plan;
use super::review::Reviewer;
use super::{Crew, Orders};
use crate::course::{Course, just_after};
use crate::resting::{Home, Resting};
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

/// Windows between two looks at memory, which also clear the notes on rounds.
const WINDOWS_PER_LOOK: u64 = 256;

/// What the leader alone knows.
pub(crate) struct Leader<'a, M: Model> {
    pub(crate) course: Course<'a, M>,
    /// What global events do.
    effects: Effects<M>,
    /// How the run ended.
    end: Option<Result<Time, Error>>,
    /// The user wants the run to end.
    stopped: bool,
    windows: u64,
    rests: u64,
    reviewer: Reviewer,
    pub(crate) stopwatch: Stopwatch,
    /// The next window before which memory is to be looked at.
    look: u64,
}

impl<M: Model> Home<M> for Part<M> {
    fn next_due(&mut self) -> Time {
        self.next
    }
    fn put(&mut self, event: Event<M::Message>) {
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
            rests: 0,
            reviewer: Reviewer::new(retreats, workers),
            stopwatch: Stopwatch::new(),
            look: WINDOWS_PER_LOOK,
        }
    }

    /// As it is, but that workers are busy tells nothing, since they may be so without executing anything.
    pub(crate) fn with_idle_work(mut self) -> Leader<'a, M> {
        self.reviewer.always_tries();
        self
    }

    /// All are about to execute before `bound`.
    pub(crate) fn goes_to(&mut self, bound: Time, all: &Summary) {
        let before = std::mem::replace(&mut self.course.bound, bound);
        assert!(bound >= before, "I2: the bound went back from {before} to {bound}");
        self.windows += 1;
        self.stopped |= self.course.options.control.is_some_and(|control| control.poll(all.next, all.events));
    }

    /// Whether there is something to do while all rest.
    pub(crate) fn wants_rest(&self) -> bool {
        self.stopped && self.course.until > self.course.bound
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
            crew.transport.receive(0, number, true, &mut |arrived| part.push_all(arrived));
        }
        let left = crew.left.iter().filter_map(|left| lock(left).take());
        let gone = self.course.take_up(left).and_then(|()| self.go_on(&mut world, &plan, &mut parts, all.events));
        self.end = gone.map_or_else(|error| Some(Err(error)), |end| end.map(Ok));
        let next = next_time(&parts);
        let goes_on = self.end.is_none() && self.course.failure.place().is_none();
        let plan = if goes_on {
            let now = (self.windows, self.course.bound, &mut self.stopwatch);
            self.reviewer.review(crew, plan, &world, &mut parts, now)
        } else {
            plan
        };
        let horizon = self.course.horizon().min(just_after(self.course.failure.time()));
        *lock(&crew.orders) = Orders { horizon, plan, window: self.windows, over: self.end.is_some() };
        next
    }

    /// Ends the run if it is at its end, or has failed; else executes the global events that are due. When the run ended.
    fn go_on(
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
            // Where an LP could not start, no event is ever executed.
            let (place, kind) = course.failure.take().expect("it is there");
            return Err(world.error_at(kind, place));
        }
        if course.options.control.is_some_and(|control| control.poll(course.bound, events)) {
            if self.windows == 0 {
                return Err(Error::new(ErrorKind::Stopped));
            }
            course.until = course.until.min(course.bound);
        }
        world.forget_rounds_before(course.bound);
        let mut rest = Resting { homes: parts, placement: &plan.placement, lps: world.lps() };
        course.execute_globals_first(world, &mut rest, effects)
    }

    /// The end of the run.
    pub(crate) fn conclude<T: Transport<M::Message>>(self, crew: &Crew<'_, M, T>) -> Result<Outcome, Error> {
        let end = self.end.expect("the workers have come to the end")?;
        let Leader { mut course, windows, rests, reviewer, stopwatch, .. } = self;
        let turns = reviewer.turns();
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
            ("rests", rests as f64),
            ("turns", f64::from(turns)),
            ("partitions", f64::from(placement.partitions())),
            ("partitions_by_lp", f64::from(by_lp)),
            ("workers", crew.left.len() as f64),
            // Ordering: Relaxed; the workers have been joined.
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
