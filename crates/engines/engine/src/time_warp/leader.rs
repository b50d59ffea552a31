//! The leader of the workers. It writes the trace; at a cut it executes global events and ends the run.

use super::reviewer::Reviewer;
use super::site::Site;
use super::{Crew, Memory, Orders, View};
use crate::course::Course;
use crate::ledger::Trace;
use crate::quiescence::{Home, Homes};
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

/// The state that belongs to the leader alone.
pub(super) struct Leader<'a, M: Restorable> {
    /// Everything before its bound has been committed.
    course: Course<'a, M>,
    /// The effects of global events.
    effects: Effects<M>,
    /// The end of the run, once it has ended.
    end: Option<Result<Time, Error>>,
    /// A wish for a cut because the user has stopped the run.
    stop: Wish,
    /// A wish for a cut at which one worker takes over from several, or several from one.
    mode_switch: Wish,
    reviewer: Reviewer,
    /// The place where each LP lives now.
    placement: Placement,
    /// Events that are committed and not yet written to the trace.
    trace: Trace<M::Message>,
    /// All workers have committed everything before this time, as of the last outcome.
    committed: Time,
    /// By worker: the number of events committed before the last mode switch.
    committed_by: Vec<u64>,
    /// The number of events committed by all workers before the last mode switch.
    committed_before: u64,
    /// The number of times that GVT was computed.
    gvts: u64,
    cuts: u64,
}

/// A wish of the leader for a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    None,
    /// The other workers do not know of it.
    New,
    /// The other workers know, or will with the next offers.
    Announced,
}

impl<M: Restorable> Home<M> for Site<M> {
    fn earliest_time(&mut self) -> Time {
        self.next_time()
    }
    fn add(&mut self, event: Event<M::Message>) {
        self.push_unmarked(event);
    }
    fn residents(&mut self) -> (&mut [Lp<M::State>], &mut Metrics) {
        (&mut self.lps, &mut self.metrics)
    }
}

impl<'a, M: Restorable> Leader<'a, M> {
    /// Bytes of an LP's record.
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
            stop: Wish::None,
            mode_switch: Wish::None,
            reviewer,
            placement,
            trace: Vec::new(),
            committed: Time::ZERO,
            committed_by: Vec::new(),
            committed_before: 0,
            gvts: 0,
            cuts: 0,
        }
    }

    /// Returns true if executions must be traced.
    pub(super) fn traces(&self) -> bool {
        self.course.traces()
    }

    /// Returns true if the leader has a new wish for a cut, and marks the wish as announced.
    pub(super) fn announce_cut(&mut self) -> bool {
        let mut is_new = false;
        for wish in [&mut self.stop, &mut self.mode_switch] {
            if *wish == Wish::New {
                *wish = Wish::Announced;
                is_new = true;
            }
        }
        is_new
    }

    /// Handles an outcome, the combined summary `all` of the workers. About `pending` events are pending.
    pub(super) fn observe<T>(
        &mut self,
        (crew, world): (&Crew<'_, M, T>, &World),
        all: &Summary,
        view: &View,
        pending: usize,
    ) {
        self.gvts += 1;
        if all.wants_cut && self.stop == Wish::Announced {
            self.course.until = self.course.until.min(view.horizon);
        }
        let events = all.events - all.rolled_back;
        if self.course.options.control.is_some_and(|control| control.poll(view.gvt.min(view.horizon), events))
            && self.stop == Wish::None
        {
            self.stop = Wish::New;
        }
        if self.mode_switch == Wish::None && self.reviewer.should_switch(events, view.cost.ns(), pending) {
            self.mode_switch = Wish::New;
        }
        if self.gvts.is_multiple_of(GVTS_PER_CLEANUP) {
            world.forget_rounds_before(self.committed.min(all.failed));
        }
        if self.traces() {
            // All have committed up to the previous GVT, and have reported any failure before it.
            let bound = self.committed.min(all.failed);
            self.collect_trace(crew);
            self.write_trace_before(bound);
        }
        self.committed = view.gvt.min(view.horizon);
    }

    /// Collects the events that the workers have committed for the trace.
    fn collect_trace<T>(&mut self, crew: &Crew<'_, M, T>) {
        crew.traced.iter().for_each(|traced| self.trace.append(&mut super::lock(traced)));
    }

    /// Adds the events that each worker has committed since the last mode switch.
    fn count_committed(&mut self, sites: &[MutexGuard<'_, Site<M>>]) {
        self.committed_by.resize(sites.len(), 0);
        for (worker, (by, site)) in self.committed_by.iter_mut().zip(sites).enumerate() {
            // At a mode switch, the counts of all sites move to the first site.
            *by += site.counts.committed - if worker == 0 { self.committed_before } else { 0 };
        }
    }

    /// Writes the trace of the events before `bound`.
    fn write_trace_before(&mut self, bound: Time) {
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
            self.stop = Wish::New;
        }
    }

    /// Executes a cut: the work that needs every LP at rest. Gives new orders.
    pub(super) fn execute_cut<T: Transport<Tagged<M::Message>>>(&mut self, crew: &Crew<'_, M, T>, view: &View) {
        self.cuts += 1;
        let mut world = crew.world.write().unwrap_or_else(PoisonError::into_inner);
        let mut sites: Vec<_> = crew.sites.iter().map(super::lock).collect();
        for (number, site) in (0..).zip(&mut sites) {
            crew.transport.receive(0, number, true, &mut |arrived| arrived.for_each(|event| site.push(event)));
        }
        self.collect_trace(crew);
        let mut ledgers: Vec<_> = crew.ledgers.iter().filter_map(|ledger| super::lock(ledger).take()).collect();
        if let Some(first) = ledgers.first_mut() {
            first.trace.append(&mut self.trace);
        }
        if matches!(self.end, Some(Err(_))) {
            // Writing has failed before. The trace would have a gap.
            ledgers.iter_mut().for_each(|ledger| ledger.trace.clear());
        }
        let collected = self.course.collect_ledgers(ledgers);
        if self.end.is_none() {
            let end = collected.and_then(|()| self.execute_globals((crew, view), &mut world, &mut sites));
            self.end = end.transpose();
        }
        if self.mode_switch == Wish::Announced {
            self.mode_switch = Wish::None;
            self.count_committed(&sites);
            let places = (&self.placement, &crew.placement);
            self.placement = self.reviewer.switch_mode(places, world.lps(), &mut sites);
            self.committed_before = sites[0].counts.committed;
            (0..sites.len()).for_each(|worker| crew.transport.shrink(worker));
        }
        let (over, alone) = (self.end.is_some(), self.reviewer.is_alone());
        *super::lock(&crew.orders) = Orders { horizon: self.course.horizon(), over, alone };
    }

    /// Executes the global events that are due. Returns the end of the run if it is reached.
    ///
    /// # Errors
    ///
    /// The earliest failure; a stop before the run has begun; too little memory.
    fn execute_globals<T>(
        &mut self,
        (crew, view): (&Crew<'_, M, T>, &View),
        world: &mut World,
        sites: &mut [MutexGuard<'_, Site<M>>],
    ) -> Result<Option<Time>, Error> {
        let makes_room = view.excess.is_some() && !self.reviewer.is_alone();
        if makes_room {
            self.reviewer.retreat_for_memory();
            self.mode_switch = Wish::Announced;
        } else if let Some(needed) = view.excess {
            crew.memory.check(needed - crew.memory.lps as u64)?;
        }
        if let Some((place, kind)) = self.course.failure.take() {
            return Err(world.error_at(kind, place));
        }
        let bytes = |sites: &[MutexGuard<'_, Site<M>>]| sites.iter().map(|site| site.allocated_bytes() as u64).sum();
        // When all LPs move to one worker, anti-messages and their twins annihilate each other.
        // That worker then checks whether the remainder fits.
        if !makes_room && crew.memory.check(bytes(sites)).is_err() {
            sites.iter_mut().for_each(|site| site.compact());
            crew.memory.check(bytes(sites))?;
        }
        let Leader { course, effects, placement, .. } = self;
        course.events = sites.iter().map(|site| site.counts.committed).sum();
        let reached = view.gvt.min(view.horizon);
        if course.options.control.is_some_and(|control| control.poll(reached, course.events)) {
            if self.cuts == 1 {
                return Err(Error::new(ErrorKind::Stopped));
            }
            course.until = course.until.min(course.bound.max(reached));
        }
        let mut homes = Homes { homes: sites, placement, lps: world.lps() };
        course.execute_globals_first(world, &mut homes, effects)
    }

    /// Ends the run, once all workers have returned.
    pub(super) fn conclude<T>(mut self, crew: &Crew<'_, M, T>) -> Result<Outcome, Error> {
        let end = self.end.take().expect("the workers have come to the end")?;
        let mut sites: Vec<_> = crew.sites.iter().map(super::lock).collect();
        self.count_committed(&sites);
        let Leader { mut course, gvts, cuts, placement, reviewer, committed_by, .. } = self;
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
            ("undone", sum(&|counts| counts.rolled_back) as f64),
            ("anti_messages", sum(&|counts| counts.anti_messages) as f64),
            ("coasted", sum(&|counts| counts.coasted) as f64),
            ("efficiency", if executed == 0 { 1.0 } else { events as f64 / executed as f64 }),
            ("gvts", gvts as f64),
            ("rests", cuts as f64),
            ("turns", f64::from(reviewer.switches())),
            ("alone_for_memory", f64::from(u8::from(reviewer.has_retreated_for_memory()))),
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

/// GVTs between two clean-ups of the notes on rounds.
const GVTS_PER_CLEANUP: u64 = 256;

impl Memory {
    /// Checks that the LPs' records and `other` bytes fit into the memory limit.
    pub(super) fn check(&self, other: u64) -> Result<(), Error> {
        let needed = self.lps as u64 + other;
        match self.limit {
            Some(limit) if needed > limit => Err(Error::new(ErrorKind::Memory { limit, needed })),
            _ => Ok(()),
        }
    }
}
