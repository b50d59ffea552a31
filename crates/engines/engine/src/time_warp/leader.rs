//! The leader of the workers. It writes the trace; at a cut it executes global events and ends the run.

use super::reviewer::{AtCut, Reviewer};
use super::site::{AnySite, Counts, SiteBox};
use super::{Crew, Memory, Orders, View};
use crate::balance::imbalance_by_time;
use crate::course::Course;
use crate::ledger::{self, Ledger, Trace};
use crate::peers::{Seat, agree_on_failure, error_at, greatest, lost, sum};
use crate::quiescence::{Home, Homes, leave};
use crate::workers::imbalance;
use parades_core::any_model::{AnyEvent, AnyLeftover, Lps};
use parades_core::cut::Reached;
use parades_core::effects::AnyEffects;
use parades_core::error::{Error, ErrorKind};
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::placement::Placement;
use parades_core::time::Time;
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::Summary;
use std::sync::{MutexGuard, PoisonError};

/// The state that belongs to the leader alone.
pub(super) struct Leader<'k> {
    /// Everything before its bound has been committed.
    course: Course<'k>,
    /// The effects of global events.
    effects: AnyEffects<'k>,
    /// The end of the run, once it has ended.
    end: Option<Result<Time, Error>>,
    /// A wish for a cut because the user has stopped the run.
    stop: Wish,
    /// A wish for a cut at which one worker takes over from several, or several from one.
    mode_switch: Wish,
    /// A wish for a cut at which LPs move to other workers.
    balance: Wish,
    /// A wish for a cut because the user has asked for one.
    user_cut: Wish,
    reviewer: Reviewer,
    /// The place where each LP lives now.
    placement: Placement,
    /// The place where each LP lives while several workers execute.
    several: Placement,
    /// Events that are committed and not yet written to the trace.
    trace: Trace<'k>,
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

/// The wishes of the leader, for the other workers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    /// The leader wants a cut.
    pub(super) cut: bool,
    /// The user has stopped the run.
    pub(super) stop: bool,
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

/// Facts that the leaders of all ranks share at a cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Bytes that pending events and histories take, of all ranks.
    bytes: u64,
    /// The number of events committed by all ranks.
    events: u64,
    /// True if the user has stopped the run.
    stopped: bool,
    /// True if the user has asked for a cut, on any rank.
    user_cut: bool,
    /// True if rank 0 wants LPs to move.
    moves: bool,
}

impl Cut {
    fn of<'k>(
        leader: &Leader<'k>,
        crew: &Crew<'k>,
        sites: &[MutexGuard<'_, SiteBox<'k>>],
        view: &View,
    ) -> Result<Cut, Broken> {
        let Leader { course, reviewer, balance, .. } = leader;
        let committed = sites.iter().map(|site| site.counts().committed).sum();
        let reached = view.gvt.min(view.horizon);
        let stopped = course.publish_progress(reached, committed);
        let moves = *balance == Wish::Announced && !reviewer.is_alone();
        let [stopped, user_cut, moves] = [stopped, course.wants_cut(), moves].map(u64::from);
        let all = crew.seat.peers.share_words(&[allocated(sites), committed, stopped, user_cut, moves])?;
        let [stopped, user_cut] = [2, 3].map(|word| greatest(&all, word) > 0);
        Ok(Cut { bytes: sum(&all, 0), events: sum(&all, 1), stopped, user_cut, moves: all[0][4] > 0 })
    }
}

/// The bytes that pending events and histories take.
fn allocated<'k>(sites: &[MutexGuard<'_, SiteBox<'k>>]) -> u64 {
    sites.iter().map(|site| site.allocated_bytes() as u64).sum()
}

impl<'k> Home<'k> for SiteBox<'k> {
    fn earliest_time(&mut self) -> Time {
        self.next_time()
    }
    fn add(&mut self, event: AnyEvent<'k>) {
        self.push_unmarked(event);
    }
    fn take_all(&mut self) -> AnyLeftover<'k> {
        AnySite::take_all(&mut **self)
    }
    fn residents(&mut self) -> (&mut (dyn Lps<'k> + 'k), &mut Metrics) {
        AnySite::residents(&mut **self)
    }
}

impl<'k> Leader<'k> {
    pub(super) fn new(course: Course<'k>, reviewer: Reviewer, placement: Placement) -> Leader<'k> {
        Leader {
            effects: AnyEffects::buffered(course.model.form()),
            course,
            end: None,
            stop: Wish::None,
            mode_switch: Wish::None,
            balance: Wish::None,
            user_cut: Wish::None,
            reviewer,
            several: placement.clone(),
            placement,
            trace: Vec::new(),
            committed: Time::ZERO,
            committed_by: Vec::new(),
            committed_before: 0,
            gvts: 0,
            cuts: 0,
        }
    }

    /// Returns the metrics of global events.
    pub(super) fn metrics(&mut self) -> &mut Metrics {
        &mut self.course.metrics
    }

    /// Returns true if executions must be traced.
    pub(super) fn traces(&self) -> bool {
        self.course.traces()
    }

    /// Returns whether the leader has a new wish for a cut, and whether the user has stopped the run. Marks
    /// the wishes as announced.
    pub(super) fn announce_cut(&mut self) -> Wishes {
        let mut is_new = false;
        for wish in [&mut self.stop, &mut self.mode_switch, &mut self.balance, &mut self.user_cut] {
            if *wish == Wish::New {
                *wish = Wish::Announced;
                is_new = true;
            }
        }
        Wishes { cut: is_new, stop: self.stop != Wish::None }
    }

    /// Returns true if the user has stopped the run, and one worker that goes on alone does not come to the
    /// end of an instant in time.
    pub(super) fn gives_up(&self) -> bool {
        self.stop == Wish::Announced && self.course.grace.is_over()
    }

    /// Handles an outcome, the combined summary `all` of the workers. About `pending` events are pending.
    pub(super) fn observe(&mut self, crew: &Crew<'k>, world: &World, all: &Summary, view: &View, pending: usize) {
        self.gvts += 1;
        // Whichever rank was asked to stop.
        if all.wants_cut && all.wants_stop {
            self.course.until = self.course.until.min(view.horizon);
        }
        let events = all.events - all.rolled_back;
        if self.course.note_progress(view.gvt.min(view.horizon), events, || false) && self.stop == Wish::None {
            self.stop = Wish::New;
        }
        if self.user_cut == Wish::None && self.course.wants_rest() {
            self.user_cut = Wish::New;
        }
        if self.mode_switch == Wish::None && self.reviewer.should_switch(events, view.cost.ns(), pending) {
            self.mode_switch = Wish::New;
        }
        if self.balance == Wish::None && self.reviewer.wants_balance(all, &crew.worked_ns) {
            self.balance = Wish::New;
        }
        if self.gvts.is_multiple_of(GVTS_PER_CLEANUP) {
            world.forget_rounds_before(self.committed.min(all.failed));
        }
        if self.traces() {
            // All have committed up to the previous GVT, and have reported any failure before it.
            let bound = self.committed.min(all.failed);
            self.collect_trace(crew);
            // The traces of several ranks are merged at cuts.
            if crew.seat.peers.ranks() == 1 {
                self.write_trace_before(bound);
            }
        }
        self.committed = view.gvt.min(view.horizon);
    }

    /// Collects the events that the workers have committed for the trace.
    fn collect_trace(&mut self, crew: &Crew<'k>) {
        crew.traced.iter().for_each(|traced| self.trace.append(&mut super::lock(traced)));
    }

    /// Adds the events that each worker has committed since the last mode switch.
    fn count_committed(&mut self, sites: &[MutexGuard<'_, SiteBox<'k>>]) {
        self.committed_by.resize(sites.len(), 0);
        for (worker, (by, site)) in self.committed_by.iter_mut().zip(sites).enumerate() {
            // At a mode switch, the counts of all sites move to the first site.
            *by += site.counts().committed - if worker == 0 { self.committed_before } else { 0 };
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
        ledger::sort(&mut before);
        let written = before.iter().try_for_each(|(event, notes)| self.course.trace_any(event, notes));
        if let (Err(error), None) = (written, &self.end) {
            self.end = Some(Err(error));
            self.stop = Wish::New;
        }
    }

    /// Executes a cut: the work that needs every LP at rest. Gives new orders.
    pub(super) fn execute_cut(&mut self, crew: &Crew<'k>, view: &View) -> Result<(), Broken> {
        self.cuts += 1;
        let mut world = crew.world.write().unwrap_or_else(PoisonError::into_inner);
        let mut sites: Vec<_> = crew.sites.iter().map(super::lock).collect();
        for site in &mut sites[crew.here()] {
            let number = site.number();
            crew.seat.transport.receive(0, number, true, &mut |arrived| {
                site.receive(arrived);
            });
        }
        self.collect_trace(crew);
        let mut mine = Ledger::new(self.traces());
        crew.ledgers.iter().filter_map(|ledger| super::lock(ledger).take()).for_each(|ledger| mine.merge(ledger));
        mine.trace.append(&mut self.trace);
        let mut ledgers = crew.seat.peers.share_ledger(mine)?;
        if matches!(self.end, Some(Err(_))) {
            // Writing has failed before. The trace would have a gap.
            ledgers.iter_mut().for_each(|ledger| ledger.trace.clear());
        }
        let collected = self.course.collect_ledgers(ledgers);
        // The leaders agree on failures before global events and after them, as they execute those together.
        if let (Err(error), None) = (collected, &self.end) {
            self.end = Some(Err(error));
        }
        agree_on_failure(&*crew.seat.peers, &mut self.end)?;
        let cut = Cut::of(self, crew, &sites, view)?;
        if self.end.is_none() {
            self.end = self.execute_globals(crew, view, &mut world, &mut sites, cut).transpose();
        }
        agree_on_failure(&*crew.seat.peers, &mut self.end)?;
        if self.mode_switch == Wish::Announced {
            self.mode_switch = Wish::None;
            self.count_committed(&sites);
            let (old, several) = (&self.placement, &self.several);
            self.placement = self.reviewer.switch_mode(crew.model, old, several, world.lps(), &mut sites);
            self.committed_before = sites[0].counts().committed;
            (0..sites.len()).for_each(|worker| crew.seat.transport.shrink(worker));
        } else if cut.moves && self.end.is_none() {
            self.move_lps(crew, view, &world, &mut sites)?;
        }
        if self.balance == Wish::Announced {
            self.balance = Wish::None;
        }
        let (over, alone) = (self.end.is_some(), self.reviewer.is_alone());
        *super::lock(&crew.orders) = Orders { horizon: self.course.horizon(), over, alone };
        Ok(())
    }

    /// Moves LPs to other workers, if these are more equally busy then.
    fn move_lps(
        &mut self,
        crew: &Crew<'k>,
        view: &View,
        world: &World,
        sites: &mut [MutexGuard<'_, SiteBox<'k>>],
    ) -> Result<(), Broken> {
        let time = view.gvt.min(view.horizon).max(self.course.bound);
        let cut = AtCut { crew, world, placement: &self.placement, sites, time };
        if let Some(next) = self.reviewer.review(cut)? {
            (self.placement, self.several) = (next.clone(), next);
        }
        Ok(())
    }

    /// Executes the global events that are due. Returns the end of the run if it is reached.
    ///
    /// # Errors
    ///
    /// The earliest failure; a stop before the run has begun; too little memory.
    fn execute_globals(
        &mut self,
        crew: &Crew<'k>,
        view: &View,
        world: &mut World,
        sites: &mut [MutexGuard<'_, SiteBox<'k>>],
        cut: Cut,
    ) -> Result<Option<Time>, Error> {
        let Seat { peers, transport } = &crew.seat;
        let (peers, transport) = (&**peers, &**transport);
        let makes_room = view.excess.is_some() && !self.reviewer.is_alone() && peers.ranks() == 1;
        if makes_room {
            self.reviewer.retreat_for_memory();
            self.mode_switch = Wish::Announced;
        } else if let Some(needed) = view.excess {
            crew.memory.check(needed - crew.memory.lps as u64)?;
        }
        if let Some((place, failure)) = self.course.failure.take() {
            return Err(error_at(&crew.seat, world, place, failure));
        }
        // When all LPs move to one worker, anti-messages and their twins annihilate each other.
        // That worker then checks whether the remainder fits.
        if !makes_room && !cut.stopped && crew.memory.check(cut.bytes).is_err() {
            sites.iter_mut().for_each(|site| site.compact());
            let bytes = peers.share_words(&[allocated(sites)]).map_err(|Broken| lost(transport))?;
            crew.memory.check(sum(&bytes, 0))?;
        }
        let gives_up = self.reviewer.is_alone() && self.gives_up();
        let Leader { course, effects, placement, user_cut, .. } = self;
        course.set_events(cut.events);
        course.note_bytes(crew.memory.lps as u64 + cut.bytes);
        let reached = view.gvt.min(view.horizon);
        if cut.user_cut {
            course.come_to_cut(reached.max(course.bound));
        }
        *user_cut = Wish::None;
        if cut.stopped {
            if self.cuts == 1 && course.begun_at.is_none() {
                return Err(Error::new(ErrorKind::Stopped));
            }
            course.until = course.until.min(course.bound.max(reached));
            if gives_up {
                course.give_up(reached);
            }
        }
        let mut homes = Homes { homes: sites, placement, lps: world.lps(), peers };
        course.execute_globals_first(world, &mut homes, effects)
    }

    /// Ends the run, or this span of it, once all workers have returned.
    pub(super) fn conclude(mut self, crew: &Crew<'k>) -> Result<Option<Reached<'k>>, Error> {
        let end = self.end.take().expect("the workers have come to the end")?;
        let mut sites: Vec<_> = crew.sites.iter().map(super::lock).collect();
        self.count_committed(&sites);
        let Leader { mut course, gvts, cuts, placement, mut reviewer, committed_by, .. } = self;
        if course.has_left {
            return Ok(Some(leave(course, &crew.read_world(), &placement, &mut sites)));
        }
        let (mut metrics, mut pending) = (course.metrics.declarations(), Vec::new());
        let bytes = allocated(&sites);
        for site in &mut sites {
            metrics.merge(std::mem::take(site.residents().1));
            pending.push(site.take_all());
        }
        let history = sites.iter().map(|site| site.counts().history_max).max().unwrap_or(0);
        let sum_of = |count: fn(&Counts) -> u64| sites.iter().map(|site| count(site.counts())).sum::<u64>();
        let counts: [fn(&Counts) -> u64; 6] = [
            |counts| counts.committed,
            |counts| counts.executed,
            |counts| counts.rollbacks,
            |counts| counts.rolled_back,
            |counts| counts.anti_messages,
            |counts| counts.coasted,
        ];
        let counts: Vec<u64> = counts.into_iter().map(sum_of).chain([bytes]).collect();
        let [busiest_ns, all_ns] = reviewer.work(&crew.worked_ns);
        let words = [counts[0], busiest_ns, all_ns, reviewer.arrived as u64];
        let words: Vec<u64> = words.into_iter().chain(committed_by[crew.here()].iter().copied()).collect();
        let committed = crew.seat.peers.share_words(&words).map_err(|Broken| lost(&*crew.seat.transport))?;
        course.set_events(sum(&committed, 0));
        let workers = crew.ledgers.len() * crew.seat.peers.ranks();
        let by_events = imbalance(committed.iter().flat_map(|of_rank| of_rank[4..].iter().copied()));
        let by_time = imbalance_by_time(committed.iter().map(|of_rank| [of_rank[1], of_rank[2]]), workers);
        let mut engine_stats = |counts: &[u64]| {
            let [events, executed, rollbacks, rolled_back, anti_messages, coasted, bytes] =
                counts.try_into().expect("they are the counts above");
            let mut all = vec![
                ("rollbacks", rollbacks as f64),
                ("undone", rolled_back as f64),
                ("anti_messages", anti_messages as f64),
                ("coasted", coasted as f64),
                ("efficiency", if executed == 0 { 1.0 } else { events as f64 / executed as f64 }),
                ("gvts", gvts as f64),
                ("rests", cuts as f64),
                ("turns", f64::from(reviewer.switches())),
                ("alone_for_memory", f64::from(u8::from(reviewer.has_retreated_for_memory()))),
                ("history_max", f64::from(history)),
                ("workers", workers as f64),
                ("imbalance", by_events),
                ("imbalance_by_time", by_time),
                ("lp_moves", reviewer.lp_moves() as f64),
                ("pending_bytes", bytes as f64),
            ];
            all.extend(crew.travel.map(|_| ("rank_moves", sum(&committed, 3) as f64)));
            all
        };
        let lps = crew.world.read().unwrap_or_else(PoisonError::into_inner).lps();
        let here = |id| {
            let lps: &(dyn Lps<'k> + 'k) = sites[placement.partition(id) as usize].lps();
            Some((id, lps, placement.index(id))).filter(|(_, lps, index)| *index < lps.len())
        };
        let mut lps = (0..lps).map(LpId).filter_map(here);
        let pending = Box::new(pending.into_iter().flatten());
        let mine = course.finish_rank(end, &*crew.seat.peers, &mut lps, metrics, pending as AnyLeftover<'k>, counts);
        sites.iter_mut().for_each(|site| site.residents().0.clear());
        let lost = || lost(&*crew.seat.transport);
        let outcome = course.conclude_ranks(end, &*crew.seat.peers, &lost, mine, &mut engine_stats)?;
        Ok(outcome.map(Reached::End))
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
