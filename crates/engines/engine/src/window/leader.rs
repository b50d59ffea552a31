//! The leader of the workers. At a cut it executes global events, writes the trace, and ends the run.

use super::part::Part;
use super::plan::Plan;
use super::review::{Position, Reviewer};
use super::review_ranks::{AtCut, Extent, RankReviewer};
use super::{Crew, Orders, Settings};
use crate::balance::{Balancer, imbalance_by_time};
use crate::course::{Course, just_after};
use crate::ledger::Ledger;
use crate::peers::{Peers, Seat, agree_on_failure, error_at, greatest, least, lost, sum};
use crate::quiescence::{Home, Homes, leave};
use crate::stopwatch::{Stopwatch, now};
use crate::workers::{imbalance, lock};
use parades_core::any_model::{AnyEvent, AnyLeftover, Lps};
use parades_core::cut::Reached;
use parades_core::effects::AnyEffects;
use parades_core::error::{Error, ErrorKind};
use parades_core::metrics::Metrics;
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::Summary;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Instant;

/// Windows between two checks of the memory. Each check also frees the notes on rounds.
const WINDOWS_PER_CHECK: u64 = 256;

/// The state that belongs to the leader alone.
pub(crate) struct Leader<'k> {
    pub(crate) course: Course<'k>,
    /// The effects of global events.
    effects: AnyEffects<'k>,
    /// The end of the run, once it has ended.
    end: Option<Result<Time, Error>>,
    /// True once the user has stopped the run.
    stopped: bool,
    /// True once the run has the end that follows from that.
    ending: bool,
    windows: u64,
    cuts: u64,
    reviewer: Reviewer,
    /// Reviews the ranks, if LPs can move between them.
    rank_reviewer: Option<RankReviewer>,
    pub(crate) stopwatch: Stopwatch,
    /// The number of the window before which the memory is checked next.
    next_check: u64,
}

/// Facts that the leaders of all ranks share at a cut.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The time of the next event on any rank.
    next: Time,
    /// The greatest number of bytes that pending events take on a rank.
    bytes: usize,
    /// A time that is later than each event that any rank has executed.
    executed_to: Time,
    /// True if the user has stopped the run.
    stopped: bool,
    /// True if the run ends here, among its events.
    gives_up: bool,
    /// True if the user has asked for a cut, on any rank.
    user_cut: bool,
    /// The review of all ranks that rank 0 asks for.
    review: Extent,
}

impl Cut {
    fn of<'k>(leader: &Leader<'k>, crew: &Crew<'k>, parts: &[MutexGuard<'_, Part<'k>>]) -> Result<Cut, Broken> {
        let Course { options, bound, events, .. } = &leader.course;
        let stopped = options.control.is_some_and(|control| control.poll(*bound, *events));
        let bytes: usize = parts.iter().map(|part| part.allocated_bytes()).sum();
        let executed_to = parts.iter().map(|part| part.executed_to).max().unwrap_or_default();
        let [gives_up, user_cut] = [leader.gives_up(), leader.course.wants_cut()].map(u64::from);
        let review = leader.rank_review(now()).word();
        let mine = [
            next_time(parts).as_ps(),
            bytes as u64,
            u64::from(stopped),
            executed_to.as_ps(),
            gives_up,
            user_cut,
            review,
        ];
        let all = crew.seat.peers.share_words(&mine)?;
        let bytes = usize::try_from(greatest(&all, 1)).unwrap_or(usize::MAX);
        let (next, executed_to) = (Time::from_ps(least(&all, 0)), Time::from_ps(greatest(&all, 3)));
        let [stopped, gives_up, user_cut] = [2, 4, 5].map(|word| greatest(&all, word) > 0);
        let review = Extent::of_word(all[0][6]);
        Ok(Cut { next, bytes, executed_to, stopped, gives_up, user_cut, review })
    }
}

impl<'k> Home<'k> for Part<'k> {
    fn earliest_time(&mut self) -> Time {
        self.next
    }
    fn add(&mut self, event: AnyEvent<'k>) {
        self.push(event);
    }
    fn take_all(&mut self) -> AnyLeftover<'k> {
        Part::take_all(self)
    }
    fn residents(&mut self) -> (&mut (dyn Lps<'k> + 'k), &mut Metrics) {
        (&mut *self.lps, &mut self.metrics)
    }
}

fn next_time(parts: &[MutexGuard<'_, Part<'_>>]) -> Time {
    parts.iter().map(|part| part.next).min().unwrap_or(Time::MAX)
}

impl<'k> Leader<'k> {
    /// Makes the leader of a rank with `workers` workers. LPs move between the ranks if they `travel`.
    pub(crate) fn new(
        course: Course<'k>,
        workers: usize,
        settings: &Settings,
        peers: &dyn Peers<'k>,
        travel: bool,
    ) -> Leader<'k> {
        let form = course.model.form();
        let balance = if peers.ranks() == 1 { settings.balance } else { settings.balance.of_ranks() };
        let of_workers = Settings { balance, ..*settings };
        Leader {
            course,
            effects: AnyEffects::buffered(form),
            end: None,
            stopped: false,
            ending: false,
            windows: 0,
            cuts: 0,
            reviewer: Reviewer::new(&of_workers, workers),
            rank_reviewer: travel.then(|| RankReviewer::new(settings.balance, peers.rank() == 0)),
            stopwatch: Stopwatch::new(),
            next_check: WINDOWS_PER_CHECK,
        }
    }

    /// Makes the leader ignore how busy the workers are, for engines whose workers may be busy without
    /// executing events.
    pub(crate) fn ignoring_busyness(mut self) -> Leader<'k> {
        self.reviewer.always_try();
        self
    }

    /// Raises the bound: all workers are about to execute before `bound`.
    pub(crate) fn advance_to(&mut self, bound: Time, all: &Summary) {
        let before = std::mem::replace(&mut self.course.bound, bound);
        assert!(bound >= before, "I2: the bound went back from {before} to {bound}");
        self.windows += 1;
        let Leader { course, reviewer, stopwatch, windows, stopped, .. } = self;
        let is_busy = || reviewer.is_busy(*windows, all.events, stopwatch);
        *stopped |= course.note_progress(all.next, all.events, is_busy);
    }

    /// Returns true if the leader wants a cut.
    pub(crate) fn wants_cut(&self) -> bool {
        self.wants_stop()
            || self.course.wants_rest()
            || self.reviewer.is_due(self.windows, &self.stopwatch)
            || self.rank_review(self.stopwatch.since()) != Extent::Nothing
            || self.windows >= self.next_check
    }

    /// Returns the review of all ranks that is due at this time, by the clock of this rank.
    fn rank_review(&self, at: Instant) -> Extent {
        self.rank_reviewer.as_ref().map_or(Extent::Nothing, |reviewer| reviewer.due(self.windows, at))
    }

    /// Returns true if the user has stopped the run, and the run must come to a cut for that.
    pub(crate) fn wants_stop(&self) -> bool {
        (self.stopped && !self.ending) || self.gives_up()
    }

    /// Returns true if the run, which the user has stopped, does not come to its end in time.
    fn gives_up(&self) -> bool {
        self.ending && self.course.grace.is_over()
    }

    /// Executes a cut: the work that needs every LP at rest. Gives new orders, and returns the time of the
    /// next event.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a rank is lost.
    pub(crate) fn execute_cut(&mut self, crew: &Crew<'k>, all: &Summary) -> Result<Time, Broken> {
        self.cuts += 1;
        self.next_check = self.windows + WINDOWS_PER_CHECK;
        let mut world = crew.world.write().unwrap_or_else(PoisonError::into_inner);
        let plan = Arc::clone(&lock(&crew.orders).plan);
        let mut parts: Vec<_> = crew.parts.iter().map(lock).collect();
        for part in &mut parts {
            let number = part.number;
            crew.seat.transport.receive(0, number, true, &mut |arrived| part.receive(arrived));
        }
        self.course.set_events(all.events);
        let cut = Cut::of(self, crew, &parts)?;
        if cut.stopped && !self.ending && cut.next < self.course.bound {
            return Ok(self.end_window_early(crew, plan, cut));
        }
        let mut mine = Ledger::new(crew.traces);
        crew.ledgers.iter().filter_map(|ledger| lock(ledger).take()).for_each(|ledger| mine.merge(ledger));
        let collected = self.course.collect_ledgers(crew.seat.peers.share_ledger(mine)?);
        self.end = collected.err().map(Err);
        // The leaders agree on failures before global events and after them, as they execute those together.
        agree_on_failure(&*crew.seat.peers, &mut self.end)?;
        if self.end.is_none() && cut.gives_up {
            self.course.give_up(cut.next);
            self.end = Some(Ok(cut.next));
        }
        if self.end.is_none() {
            self.end = self.execute_globals(&mut world, crew, &plan, &mut parts, cut).transpose();
        }
        let next = next_time(&parts);
        let before = Arc::clone(&plan);
        let plan = self.next_plan(crew, plan, &world, &mut parts, cut.review)?;
        if !Arc::ptr_eq(&before, &plan) {
            crew.seat.transport.settle(&plan.homes);
        }
        agree_on_failure(&*crew.seat.peers, &mut self.end)?;
        let horizon = self.course.horizon().min(just_after(self.course.failure.time()));
        *lock(&crew.orders) =
            Orders { horizon, plan, window: self.windows, ending: self.ending, over: self.end.is_some() };
        Ok(next)
    }

    /// Returns the plan to follow from now on. All ranks are reviewed if rank 0 asks for it by `review`.
    fn next_plan(
        &mut self,
        crew: &Crew<'k>,
        plan: Arc<Plan>,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        review: Extent,
    ) -> Result<Arc<Plan>, Broken> {
        let continues = self.end.is_none() && self.course.failure.place().is_none();
        self.reviewer.measure_work(crew, &plan);
        let reached = Position { windows: self.windows, bound: self.course.bound };
        let reviewed = match crew.seat.peers.ranks() {
            _ if !continues => Ok(Arc::clone(&plan)),
            _ if crew.model.stays_on_threads() => {
                self.reviewer.review_in_place(Arc::clone(&plan), world, &crew.settings, parts)
            }
            1 => Ok(self.reviewer.review(crew, Arc::clone(&plan), world, parts, reached, &mut self.stopwatch)),
            _ => self.reviewer.review_rank(Arc::clone(&plan), world, &crew.settings, parts, reached),
        };
        let plan = reviewed.unwrap_or_else(|error| {
            self.end = Some(Err(error));
            plan
        });
        match (&mut self.rank_reviewer, crew.travel) {
            (Some(reviewer), Some(save)) if review != Extent::Nothing => {
                // Once the user has stopped the run, some partitions may be past the bound.
                let continues = continues && self.end.is_none() && !self.ending;
                let at_cut = AtCut { crew, save, plan: &plan, world, parts, reached };
                Ok(reviewer.review(at_cut, review, continues)?.unwrap_or(plan))
            }
            _ => Ok(plan),
        }
    }

    /// Ends the run where the user has stopped it in the middle of a window: at the earliest time that no
    /// partition has passed. The partitions that are behind execute up to there. Ledgers, whose traces go as
    /// far as the partitions, are left to the last cut. Returns the time of the next event.
    fn end_window_early(&mut self, crew: &Crew<'k>, plan: Arc<Plan>, cut: Cut) -> Time {
        self.ending = true;
        let Course { bound, until, .. } = &mut self.course;
        *bound = cut.next;
        *until = (*until).min(cut.executed_to.max(cut.next));
        let horizon = self.course.horizon().min(just_after(self.course.failure.time()));
        *lock(&crew.orders) = Orders { horizon, plan, window: self.windows, ending: true, over: false };
        cut.next
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
        crew: &Crew<'k>,
        plan: &Plan,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        cut: Cut,
    ) -> Result<Option<Time>, Error> {
        let Leader { course, effects, ending, .. } = self;
        course.check_memory(world, cut.bytes)?;
        if let Some(&place) = course.failure.place() {
            if cut.next <= place.instant.time && place.event.is_some() {
                return Ok(None);
            }
            // If an LP could not start, no event is ever executed.
            let (place, failure) = course.failure.take().expect("`place` is its place");
            return Err(error_at(&crew.seat, world, place, failure));
        }
        if cut.stopped && !*ending {
            if self.windows == 0 && course.begun_at.is_none() {
                return Err(Error::new(ErrorKind::Stopped));
            }
            course.until = course.until.min(course.bound);
            *ending = true;
        }
        world.forget_rounds_before(course.bound);
        if cut.user_cut {
            course.come_to_cut(course.bound);
        }
        let Seat { peers, .. } = &crew.seat;
        let peers = &**peers;
        let mut homes = Homes { homes: parts, placement: &plan.placement, lps: world.lps(), peers };
        course.execute_globals_first(world, &mut homes, effects)
    }

    /// Ends the run, or this span of it, once all workers have come to its end.
    ///
    /// # Errors
    ///
    /// An error that the model finds at its end; a lost rank.
    pub(crate) fn conclude(self, crew: &Crew<'k>) -> Result<Option<Reached<'k>>, Error> {
        let end = self.end.expect("the workers have come to the end")?;
        let Leader { mut course, windows, cuts, mut reviewer, rank_reviewer, stopwatch, .. } = self;
        let switches = reviewer.switches();
        let plan = Arc::clone(&lock(&crew.orders).plan);
        let placement = &plan.placement;
        let mut parts: Vec<_> = crew.parts.iter().map(lock).collect();
        if course.has_left {
            return Ok(Some(leave(course, &crew.read_world(), placement, &mut parts)));
        }
        let (mut events, mut bytes, mut by_lp) = (0, 0, 0);
        let (mut metrics, mut pending) = (course.metrics.declarations(), Vec::new());
        for part in &mut parts {
            events += part.events;
            bytes += part.allocated_bytes() as u64;
            by_lp += u64::from(part.is_by_lp() && !part.lps.is_empty());
            metrics.merge(std::mem::take(&mut part.metrics));
            pending.push(part.take_all());
        }
        // Ordering: Relaxed; the leader has exchanged with the workers since.
        let by_worker = crew.executed.iter().map(|events| events.load(Ordering::Relaxed));
        let [busiest_ns, all_ns] = reviewer.work(crew, &plan);
        let arrived = rank_reviewer.map_or(0, |reviewer| reviewer.arrived as u64);
        let Balancer { partition_moves, lp_moves, .. } = *reviewer.balancer();
        let words = [events, busiest_ns, all_ns, partition_moves, lp_moves, arrived];
        let words: Vec<u64> = words.into_iter().chain(by_worker).collect();
        let all = crew.seat.peers.share_words(&words).map_err(|Broken| lost(&*crew.seat.transport))?;
        course.set_events(sum(&all, 0));
        let workers = crew.ledgers.len() * crew.seat.peers.ranks();
        let by_events = imbalance(all.iter().flat_map(|of_rank| of_rank[6..].iter().copied()));
        let by_time = imbalance_by_time(all.iter().map(|of_rank| [of_rank[1], of_rank[2]]), workers);
        let moves = [3, 4, 5].map(|word| sum(&all, word));
        let mut engine_stats = |counts: &[u64]| {
            let mut all = vec![
                ("windows", windows as f64),
                ("rests", cuts as f64),
                ("turns", f64::from(switches)),
                ("partitions", f64::from(placement.partitions())),
                ("partitions_by_lp", counts[1] as f64),
                ("workers", workers as f64),
                ("imbalance", by_events),
                ("imbalance_by_time", by_time),
                ("partition_moves", moves[0] as f64),
                ("lp_moves", moves[1] as f64),
                ("waiting_share", stopwatch.share_waited()),
                ("own_bounds", f64::from(u8::from(plan.distances.is_some()))),
                ("lookahead_s", plan.lookahead.map_or(f64::INFINITY, Delay::as_secs_f64)),
                ("pending_bytes", counts[0] as f64),
            ];
            if crew.travel.is_some() {
                all.push(("rank_moves", moves[2] as f64));
            }
            all
        };
        let here = |id| {
            let lps = &*parts[placement.partition(id) as usize].lps;
            Some((id, lps, placement.index(id))).filter(|(_, lps, index)| *index < lps.len())
        };
        let mut lps = super::ids(crew.lps).filter_map(here);
        let pending = Box::new(pending.into_iter().flatten());
        let counts = vec![bytes, by_lp];
        let mine = course.finish_rank(end, &*crew.seat.peers, &mut lps, metrics, pending as AnyLeftover<'k>, counts);
        if !crew.model.stays_on_threads() {
            parts.iter_mut().for_each(|part| part.lps.clear());
        }
        let lost = || lost(&*crew.seat.transport);
        let outcome = course.conclude_ranks(end, &*crew.seat.peers, &lost, mine, &mut engine_stats)?;
        Ok(outcome.map(Reached::End))
    }
}
