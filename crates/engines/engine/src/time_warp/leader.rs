//! What one worker, the leader, does for all: global events while they rest, the trace, the end.

use super::reviewer::Reviewer;
use super::site::Site;
use super::{Crew, Memory, Orders, View};
use crate::course::Course;
use crate::ledger::Trace;
use crate::resting::{Home, Resting};
use crate::transport::{Summary, Transport};
use crate::workers::imbalance;
use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind};
use parades_core::event::{Event, LpId};
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::optimistic::Tagged;
use parades_core::placement::Placement;
use parades_core::restore::Restorable;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::world::World;
use std::sync::{MutexGuard, PoisonError};

/// What the leader alone knows.
pub(super) struct Leader<'a, M: Restorable> {
    /// Everything before its bound has been committed.
    course: Course<'a, M>,
    /// What global events do.
    effects: Effects<M>,
    /// How the run ended.
    end: Option<Result<Time, Error>>,
    /// The user wants the run to end, and whether all know.
    stop: Stop,
    /// So many workers do not pay, or do again.
    turn: Stop,
    reviewer: Reviewer,
    /// Where each LP lives now.
    placement: Placement,
    /// Committed, and not yet written to the trace.
    trace: Trace<M::Message>,
    /// Everything before it has been committed by all, as of the last outcome.
    committed: Time,
    /// What each worker has committed before the last turn, and all together had by then.
    committed_by: Vec<u64>,
    before: u64,
    /// How often GVT was computed, and how often all rested.
    gvts: u64,
    rests: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    No,
    Wanted,
    Told,
}

impl<M: Restorable> Home<M> for Site<M> {
    fn next_due(&mut self) -> Time {
        self.next_time()
    }
    fn put(&mut self, event: Event<M::Message>) {
        self.push_unmarked(event);
    }
    fn residents(&mut self) -> (&mut [Lp<M::State>], &mut Metrics) {
        (&mut self.lps, &mut self.metrics)
    }
}

impl<'a, M: Restorable> Leader<'a, M> {
    /// What an LP takes.
    pub(super) const LP_BYTES: usize = size_of::<Lp<M::State>>();

    pub(super) fn new(
        model: &'a M,
        options: RunOptions<'a>,
        (reviewer, placement): (Reviewer, Placement),
    ) -> Leader<'a, M> {
        Leader {
            course: Course::new(model, options),
            effects: Effects::new(),
            end: None,
            stop: Stop::No,
            turn: Stop::No,
            reviewer,
            placement,
            trace: Vec::new(),
            committed: Time::ZERO,
            committed_by: Vec::new(),
            before: 0,
            gvts: 0,
            rests: 0,
        }
    }

    /// Whether executions are to be traced.
    pub(super) fn traces(&self) -> bool {
        self.course.traces()
    }

    /// Whether the others must be told that all are to rest.
    pub(super) fn wants_rest(&mut self) -> bool {
        let mut wanted = false;
        for wish in [&mut self.stop, &mut self.turn] {
            if *wish == Stop::Wanted {
                *wish = Stop::Told;
                wanted = true;
            }
        }
        wanted
    }

    /// Looks at what all workers together know; about so many events wait.
    pub(super) fn watch<T>(
        &mut self,
        (crew, world): (&Crew<'_, M, T>, &World),
        all: &Summary,
        view: &View,
        waiting: usize,
    ) {
        self.gvts += 1;
        if all.rest && self.stop == Stop::Told {
            self.course.until = self.course.until.min(view.horizon);
        }
        let events = all.events - all.undone;
        if self.course.options.control.is_some_and(|control| control.poll(view.gvt.min(view.horizon), events))
            && self.stop == Stop::No
        {
            self.stop = Stop::Wanted;
        }
        if self.turn == Stop::No && self.reviewer.turns_after(events, view.cost.ns(), waiting) {
            self.turn = Stop::Wanted;
        }
        if self.gvts.is_multiple_of(GVTS_PER_LOOK) {
            world.forget_rounds_before(self.committed.min(all.failed));
        }
        if self.traces() {
            // All have committed up to the GVT before this, and told what failed on the way.
            let bound = self.committed.min(all.failed);
            self.gather(crew);
            self.write_before(bound);
        }
        self.committed = view.gvt.min(view.horizon);
    }

    /// Takes up what the workers have committed.
    fn gather<T>(&mut self, crew: &Crew<'_, M, T>) {
        crew.traced.iter().for_each(|traced| self.trace.append(&mut super::lock(traced)));
    }

    /// Adds what each worker has committed since the last turn.
    fn tally(&mut self, sites: &[MutexGuard<'_, Site<M>>]) {
        self.committed_by.resize(sites.len(), 0);
        for (worker, (by, site)) in self.committed_by.iter_mut().zip(sites).enumerate() {
            // At a turn, all counts move to the first.
            *by += site.counts.committed - if worker == 0 { self.before } else { 0 };
        }
    }

    /// Writes the trace of what was executed before `bound`.
    fn write_before(&mut self, bound: Time) {
        if matches!(self.end, Some(Err(_))) {
            return self.trace.clear();
        }
        let (mut before, after) =
            std::mem::take(&mut self.trace).into_iter().partition::<Vec<_>, _>(|(event, _)| event.time() < bound);
        self.trace = after;
        before.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let written = before.iter().try_for_each(|(event, notes)| self.course.trace(event, notes));
        if let (Err(error), None) = (written, &self.end) {
            self.end = Some(Err(error));
            self.stop = Stop::Wanted;
        }
    }

    /// Does what needs every LP at rest, and gives new orders.
    pub(super) fn rest<T: Transport<Tagged<M::Message>>>(&mut self, crew: &Crew<'_, M, T>, view: &View) {
        self.rests += 1;
        let mut world = crew.world.write().unwrap_or_else(PoisonError::into_inner);
        let mut sites: Vec<_> = crew.sites.iter().map(super::lock).collect();
        for (number, site) in (0..).zip(&mut sites) {
            crew.transport.receive(0, number, true, &mut |arrived| arrived.for_each(|event| site.push(event)));
        }
        self.gather(crew);
        let mut left: Vec<_> = crew.left.iter().filter_map(|left| super::lock(left).take()).collect();
        if let Some(first) = left.first_mut() {
            first.trace.append(&mut self.trace);
        }
        if matches!(self.end, Some(Err(_))) {
            // It could not be written before, and would have a hole.
            left.iter_mut().for_each(|ledger| ledger.trace.clear());
        }
        let taken = self.course.take_up(left);
        if self.end.is_none() {
            let gone = taken.and_then(|()| self.go_on((crew, view), &mut world, &mut sites));
            self.end = gone.map_or_else(|error| Some(Err(error)), |end| end.map(Ok));
        }
        if self.turn == Stop::Told {
            self.turn = Stop::No;
            self.tally(&sites);
            let places = (&self.placement, &crew.placement);
            self.placement = self.reviewer.turn(places, world.lps(), &mut sites);
            self.before = sites[0].counts.committed;
            (0..sites.len()).for_each(|worker| crew.transport.shrink(worker));
        }
        let (over, alone) = (self.end.is_some(), self.reviewer.is_alone());
        *super::lock(&crew.orders) = Orders { horizon: self.course.horizon(), over, alone };
    }

    /// Ends the run if it is at its end, or has failed; else executes the global events that are due. When the run ended.
    fn go_on<T>(
        &mut self,
        (crew, view): (&Crew<'_, M, T>, &View),
        world: &mut World,
        sites: &mut [MutexGuard<'_, Site<M>>],
    ) -> Result<Option<Time>, Error> {
        let makes_room = view.too_much.is_some() && !self.reviewer.is_alone();
        if makes_room {
            self.reviewer.retreats_for_memory();
            self.turn = Stop::Told;
        } else if let Some(needed) = view.too_much {
            crew.memory.check(needed - crew.memory.lps as u64)?;
        }
        if let Some((place, kind)) = self.course.failure.take() {
            return Err(world.error_at(kind, place));
        }
        let bytes = |sites: &[MutexGuard<'_, Site<M>>]| sites.iter().map(|site| site.allocated_bytes() as u64).sum();
        // Anti-messages and their twins annihilate each other when all move to one worker, who sees whether the rest fits.
        if !makes_room && crew.memory.check(bytes(sites)).is_err() {
            sites.iter_mut().for_each(|site| site.compact());
            crew.memory.check(bytes(sites))?;
        }
        let Leader { course, effects, placement, .. } = self;
        course.events = sites.iter().map(|site| site.counts.committed).sum();
        let reached = view.gvt.min(view.horizon);
        if course.options.control.is_some_and(|control| control.poll(reached, course.events)) {
            if self.rests == 1 {
                return Err(Error::new(ErrorKind::Stopped));
            }
            course.until = course.until.min(course.bound.max(reached));
        }
        let mut rest = Resting { homes: sites, placement, lps: world.lps() };
        course.execute_globals_first(world, &mut rest, effects)
    }

    /// The end of the run.
    pub(super) fn conclude<T>(mut self, crew: &Crew<'_, M, T>) -> Result<Outcome, Error> {
        let end = self.end.take().expect("the workers have come to the end")?;
        let mut sites: Vec<_> = crew.sites.iter().map(super::lock).collect();
        self.tally(&sites);
        let Leader { mut course, gvts, rests, placement, reviewer, committed_by, .. } = self;
        let bytes: usize = sites.iter().map(|site| site.allocated_bytes()).sum();
        let mut pending = Vec::new();
        for site in &mut sites {
            course.metrics.merge(std::mem::take(&mut site.metrics));
            pending.push(site.take_all());
        }
        let sum = |of: &dyn Fn(&super::site::Counts) -> u64| sites.iter().map(|site| of(&site.counts)).sum::<u64>();
        course.events = sum(&|counts| counts.committed);
        let executed = sum(&|counts| counts.executed);
        let history = sites.iter().map(|site| site.counts.history_max).max().unwrap_or(0);
        let events = course.events;
        let engine_stats = vec![
            ("rollbacks", sum(&|counts| counts.rollbacks) as f64),
            ("undone", sum(&|counts| counts.undone) as f64),
            ("anti_messages", sum(&|counts| counts.anti_messages) as f64),
            ("coasted", sum(&|counts| counts.coasted) as f64),
            ("efficiency", if executed == 0 { 1.0 } else { events as f64 / executed as f64 }),
            ("gvts", gvts as f64),
            ("rests", rests as f64),
            ("turns", f64::from(reviewer.turns())),
            ("alone_for_memory", f64::from(u8::from(reviewer.is_for_memory()))),
            ("history_max", f64::from(history)),
            ("workers", sites.len() as f64),
            ("imbalance", imbalance(committed_by.into_iter())),
            ("pending_bytes", bytes as f64),
        ];
        let lps = crew.world.read().unwrap_or_else(PoisonError::into_inner).lps();
        let lps = (0..lps).map(LpId).map(|id| &sites[placement.partition(id) as usize].lps[placement.index(id)]);
        let pending = Box::new(pending.into_iter().flatten());
        course.conclude(end, lps, pending, engine_stats)
    }
}

/// GVTs between two looks at the notes on rounds.
const GVTS_PER_LOOK: u64 = 256;

impl Memory {
    /// Whether the LPs and so much beside them fit.
    pub(super) fn check(&self, beside: u64) -> Result<(), Error> {
        let needed = self.lps as u64 + beside;
        match self.limit {
            Some(limit) if needed > limit => Err(Error::new(ErrorKind::Memory { limit, needed })),
            _ => Ok(()),
        }
    }
}
