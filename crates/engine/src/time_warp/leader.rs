//! What one worker, the leader, does for all: global events while they rest, the trace, the end.

use super::reviewer::Reviewer;
use super::site::Site;
use super::{Crew, Memory, Orders, Trace, View, just_after};
use crate::transport::{Summary, Transport};
use parades_core::ahead::{Marked, UNMARKED, with_mark};
use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind, Place};
use parades_core::event::{Event, LpId};
use parades_core::global::{AllLps, GlobalQueue, Visitor};
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::placement::Placement;
use parades_core::restore::Restorable;
use parades_core::run::{Finished, Outcome, RunOptions, conclude};
use parades_core::time::Time;
use parades_core::world::World;
use std::sync::{MutexGuard, PoisonError};

/// What the leader alone knows.
pub(super) struct Leader<'a, M: Restorable> {
    model: &'a M,
    options: RunOptions<'a>,
    globals: GlobalQueue<M>,
    /// What global events do.
    effects: Effects<M>,
    /// What global events record.
    metrics: Metrics,
    /// The end; earlier than the options say once the run is stopped by hand.
    until: Time,
    /// Everything before it has been committed.
    bound: Time,
    /// How the run ended.
    end: Option<Result<Time, Error>>,
    failure: Option<(Place, ErrorKind)>,
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

/// All LPs of a run, at their sites.
struct Resting<'a, 'l, M: Restorable> {
    sites: &'a mut [MutexGuard<'l, Site<M>>],
    placement: &'a Placement,
    lps: u32,
    metrics: &'a mut Metrics,
}

impl<M: Restorable> AllLps<M> for Resting<'_, '_, M> {
    fn each(&mut self, visitor: &mut Visitor<'_, M>) {
        for id in (0..self.lps).map(LpId) {
            let Site { lps, metrics, .. } = &mut *self.sites[self.placement.partition(id) as usize];
            visitor(id, &mut lps[self.placement.index(id)], metrics);
        }
    }
    fn metrics(&mut self) -> &mut Metrics {
        self.metrics
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
            model,
            globals: GlobalQueue::new(model),
            effects: Effects::new(),
            metrics: model.metrics(),
            until: options.until,
            bound: Time::ZERO,
            end: None,
            failure: None,
            stop: Stop::No,
            turn: Stop::No,
            reviewer,
            placement,
            trace: Vec::new(),
            committed: Time::ZERO,
            gvts: 0,
            rests: 0,
            options,
        }
    }

    /// Whether executions are to be traced.
    pub(super) fn traces(&self) -> bool {
        self.options.tracer.is_some()
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

    /// Looks at what all workers together know.
    pub(super) fn watch<T>(&mut self, (crew, world): (&Crew<'_, M, T>, &World), all: &Summary, view: &View) {
        self.gvts += 1;
        if all.rest && self.stop == Stop::Told {
            self.until = self.until.min(view.horizon);
        }
        let events = all.events - all.undone;
        if self.options.control.is_some_and(|control| control.poll(view.gvt.min(view.horizon), events))
            && self.stop == Stop::No
        {
            self.stop = Stop::Wanted;
        }
        if self.turn == Stop::No && self.reviewer.turns_after(events, view.cost.ns()) {
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

    /// Writes the trace of what was executed before `bound`.
    fn write_before(&mut self, bound: Time) {
        let (mut before, after) =
            std::mem::take(&mut self.trace).into_iter().partition::<Vec<_>, _>(|(event, _)| event.time() < bound);
        self.trace = after;
        before.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.write(before);
    }

    fn write(&mut self, trace: Trace<M::Message>) {
        let Some(tracer) = &mut self.options.tracer else { return };
        let written = trace.iter().try_for_each(|(event, notes)| tracer.record(event, notes));
        if let Err(error) = written
            && self.end.is_none()
        {
            self.end = Some(Err(Error::new(ErrorKind::Trace(error.to_string()))));
            self.stop = Stop::Wanted;
        }
    }

    /// Does what needs every LP at rest, and gives new orders.
    pub(super) fn rest<T: Transport<Marked<M::Message>>>(&mut self, crew: &Crew<'_, M, T>, view: &View) {
        self.rests += 1;
        let mut world = crew.world.write().unwrap_or_else(PoisonError::into_inner);
        let mut sites: Vec<_> = crew.sites.iter().map(super::lock).collect();
        for (number, site) in (0..).zip(&mut sites) {
            crew.transport.receive(0, number, true, &mut |event| site.push(event));
        }
        for left in &crew.left {
            let Some(ledger) = super::lock(left).take() else { continue };
            ledger.requests.into_iter().for_each(|request| self.globals.add(request));
            self.trace.extend(ledger.trace);
            if let Some(failure) = ledger.failure
                && self.failure.as_ref().is_none_or(|(least, _)| failure.0 < *least)
            {
                self.failure = Some(failure);
            }
        }
        self.gather(crew);
        self.write_up_to_failure();
        if self.end.is_none() {
            let gone = self.go_on((crew, view), &mut world, &mut sites);
            self.end = gone.map_or_else(|error| Some(Err(error)), |end| end.map(Ok));
        }
        if self.turn == Stop::Told {
            self.turn = Stop::No;
            let places = (&self.placement, &crew.placement);
            self.placement = self.reviewer.turn(places, world.lps(), &mut sites);
        }
        let (over, alone) = (self.end.is_some(), self.reviewer.is_alone());
        *super::lock(&crew.orders) = Orders { horizon: self.horizon(), over, alone };
    }

    /// Everything before the horizon has been committed; what is to be traced of it comes before the failure, if there is one.
    fn write_up_to_failure(&mut self) {
        let mut trace = std::mem::take(&mut self.trace);
        let place = |event: &Event<M::Message>| Place {
            instant: event.instant(),
            lp: Some(event.receiver),
            event: Some(event.key()),
        };
        trace.retain(|(event, _)| self.failure.as_ref().is_none_or(|(failed, _)| place(event) < *failed));
        trace.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        self.write(trace);
    }

    fn horizon(&self) -> Time {
        self.globals.next_time().unwrap_or(Time::MAX).min(self.until)
    }

    /// Ends the run if it is at its end, or has failed; else executes the global events that are due. When the run ended.
    fn go_on<T>(
        &mut self,
        (crew, view): (&Crew<'_, M, T>, &View),
        world: &mut World,
        sites: &mut [MutexGuard<'_, Site<M>>],
    ) -> Result<Option<Time>, Error> {
        if let Some(needed) = view.too_much {
            crew.memory.check(needed - crew.memory.lps as u64)?;
        }
        if let Some((place, kind)) = self.failure.take() {
            return Err(world.error_at(kind, place));
        }
        let bytes = |sites: &[MutexGuard<'_, Site<M>>]| sites.iter().map(|site| site.allocated_bytes() as u64).sum();
        if crew.memory.check(bytes(sites)).is_err() {
            sites.iter_mut().for_each(|site| site.compact());
        }
        crew.memory.check(bytes(sites))?;
        let events = sites.iter().map(|site| site.counts.committed).sum();
        let reached = view.gvt.min(view.horizon);
        if self.options.control.is_some_and(|control| control.poll(reached, events)) {
            if self.rests == 1 {
                return Err(Error::new(ErrorKind::Stopped));
            }
            self.until = self.until.min(self.bound.max(reached));
        }
        let next = |sites: &mut [MutexGuard<'_, Site<M>>]| {
            sites.iter_mut().map(|site| site.next_time()).min().unwrap_or(Time::MAX)
        };
        while next(sites) >= self.horizon() {
            let time = self.horizon();
            self.bound = self.bound.max(time);
            let Leader { model, globals, effects, metrics, placement, .. } = self;
            let mut lps = Resting { sites, placement, lps: world.lps(), metrics };
            globals.execute_at(time, (*model, world), &mut lps, effects)?;
            for event in effects.outbox.buffer.drain(..) {
                let site = &mut sites[placement.partition(event.receiver) as usize];
                site.push(with_mark(UNMARKED, event));
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

    /// The end of the run.
    pub(super) fn conclude<T>(self, crew: &Crew<'_, M, T>) -> Result<Outcome, Error> {
        let end = self.end.expect("the workers have come to the end")?;
        let Leader { model, options, globals, mut metrics, gvts, rests, placement, reviewer, .. } = self;
        let mut sites: Vec<_> = crew.sites.iter().map(super::lock).collect();
        let bytes: usize = sites.iter().map(|site| site.allocated_bytes()).sum();
        let mut pending = Vec::new();
        for site in &mut sites {
            metrics.merge(std::mem::take(&mut site.metrics));
            pending.push(site.take_all());
        }
        let sum = |of: &dyn Fn(&super::site::Counts) -> u64| sites.iter().map(|site| of(&site.counts)).sum::<u64>();
        let events = sum(&|counts| counts.committed);
        let executed = sum(&|counts| counts.executed);
        let history = sites.iter().map(|site| site.counts.history_max).max().unwrap_or(0);
        if let Some(control) = options.control {
            control.poll(end, events);
        }
        let engine_stats = vec![
            ("rollbacks", sum(&|counts| counts.rollbacks) as f64),
            ("undone", sum(&|counts| counts.undone) as f64),
            ("anti_messages", sum(&|counts| counts.anti_messages) as f64),
            ("efficiency", if executed == 0 { 1.0 } else { events as f64 / executed as f64 }),
            ("gvts", gvts as f64),
            ("rests", rests as f64),
            ("turns", f64::from(reviewer.turns())),
            ("history_max", f64::from(history)),
            ("workers", sites.len() as f64),
            ("pending_bytes", bytes as f64),
            ("lp_bytes", Self::LP_BYTES as f64),
            ("state_bytes", size_of::<M::State>() as f64),
        ];
        let lps = crew.world.read().unwrap_or_else(PoisonError::into_inner).lps();
        let lps = (0..lps).map(LpId).map(|id| &sites[placement.partition(id) as usize].lps[placement.index(id)]);
        let pending = Box::new(pending.into_iter().flatten());
        conclude(model, &options, lps, Finished { events, end, metrics, pending, globals, engine_stats })
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
