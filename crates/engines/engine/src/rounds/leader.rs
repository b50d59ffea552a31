//! The leader of the workers. It executes rounds event by event, and has the large ones executed in parallel.

use super::Round;
use super::crowd::Crowd;
use super::one_by_one::{self, RoundEvents};
use super::stripes::{AllStripes, Reading, Stripe, Stripes};
use super::threshold::Judge;
use crate::course::Course;
use crate::sequential::AnyEvents;
use crate::stopwatch::now;
use crate::workers::lock;
use parades_core::any_model::AnyEvent;
use parades_core::cut::{Cut, Reached, Resting};
use parades_core::error::{Error, ErrorKind};
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::placement::Placement;
use parades_core::round_log;
use parades_core::time::{Instant, Time};
use parades_core::timesheet::Spent;
use parades_core::world::World;
use parades_raw::prefetch::Records;
use parades_sync::help::{self, Helpers};
use std::sync::{Arc, RwLock};

/// The leader's thread, which directs the run.
pub(super) struct Leader<'s, 'k> {
    pub(super) state: State<'s, 'k>,
    events: Box<dyn RoundEvents<'k> + 'k>,
    /// True once a round has been worth starting the workers.
    has_workers: bool,
    /// The first event of a parallel round, if the workers have not started yet.
    opening: Option<AnyEvent<'k>>,
}

/// The state of the leader, without the pending events.
pub(super) struct State<'s, 'k> {
    pub(super) course: Course<'k>,
    pub(super) stripes: &'s Stripes<'s, 'k>,
    /// The locks of all stripes, except during a parallel round.
    pub(super) held: AllStripes<'s, 'k>,
    /// The places of the LPs' records, by stripe.
    pub(super) records: Vec<Records>,
    pub(super) world: Reading<'s>,
    /// True if all metrics are sums of integers, so that an LP's samples may go to any of them.
    pub(super) are_sums: bool,
    pub(super) judge: Judge,
    pub(super) crowd: Arc<Crowd>,
    /// The most pending events at any poll.
    pending_max: usize,
    pub(super) round: SerialRound,
    /// The LP that last had all events of a round large enough to be judged.
    pub(super) last_alone: Option<LpId>,
    pub(super) counts: Counts,
    /// The LPs of the current round, if there is a log of rounds.
    pub(super) tally: Option<Tally>,
}

/// The current round, which the leader executes event by event.
#[derive(Debug)]
pub(super) struct SerialRound {
    pub(super) instant: Option<Instant>,
    /// The LP of its first event.
    pub(super) first: LpId,
    /// True if other LPs have events too.
    pub(super) has_several: bool,
    /// The number of events executed before the round.
    pub(super) before: u64,
    /// The time when the round began, if it is timed.
    pub(super) since: Option<std::time::Instant>,
    /// True if the judge chose how to execute the round.
    pub(super) chosen: bool,
}

/// Counts the LPs that execute events in a round.
#[derive(Debug)]
pub(super) struct Tally {
    /// By LP, the last round in which it was counted.
    counted_in: Vec<u64>,
    round: u64,
    lps: u64,
    /// The end of the last round in the log, or the begin of the run. The next round in the log begins there,
    /// so that the rounds add up to the run time.
    since: Option<std::time::Instant>,
}

impl Tally {
    fn of(lps: u32) -> Tally {
        Tally { counted_in: vec![0; lps as usize], round: 0, lps: 0, since: None }
    }

    /// Begins with the next round.
    pub(super) fn begin(&mut self) {
        (self.round, self.lps) = (self.round + 1, 0);
    }

    /// Counts an LP, unless it is counted already.
    pub(super) fn count(&mut self, lp: LpId) {
        let last = std::mem::replace(&mut self.counted_in[lp.index()], self.round);
        self.lps += u64::from(last != self.round);
    }
}

impl SerialRound {
    /// Makes the round before the first one.
    fn none() -> SerialRound {
        SerialRound { instant: None, first: LpId(0), has_several: false, before: 0, since: None, chosen: false }
    }
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) rounds: u64,
    parallel_rounds: u64,
    parallel_events: u64,
    /// The number of events of the largest round.
    pub(super) events_max: u64,
}

impl<'s, 'k> Leader<'s, 'k> {
    /// Makes the leader of a run that begins with one stripe, `alone`, and of a crowd that has not started.
    pub(super) fn new(
        course: Course<'k>,
        alone: &'s Stripes<'s, 'k>,
        world: &'s RwLock<World>,
        judge: Judge,
        crowd: Arc<Crowd>,
    ) -> Self {
        let events = one_by_one::of_form(course.model.form());
        let state = State {
            are_sums: course.metrics.are_integers(),
            tally: course.options.rounds.is_some().then(|| Tally::of(course.model.lps())),
            course,
            held: alone.hold_all(),
            records: Vec::new(),
            world: Reading::of(world),
            stripes: alone,
            judge,
            crowd,
            pending_max: 0,
            round: SerialRound::none(),
            last_alone: None,
            counts: Counts::default(),
        };
        Leader { state, events, has_workers: false, opening: None }
    }

    /// Returns true if the next round needs workers, which must be started.
    pub(super) fn needs_workers(&self) -> bool {
        self.opening.is_some()
    }

    /// Gives the leader the stripes of all workers, who start now.
    pub(super) fn join(&mut self, stripes: &'s Stripes<'s, 'k>) {
        (self.state.stripes, self.state.held, self.has_workers) = (stripes, stripes.hold_all(), true);
        self.state.crowd.start();
    }

    /// Executes rounds up to the first parallel one, whose first event it returns. Workers that have nothing
    /// to do meanwhile help.
    fn execute_before_bound(&mut self) -> Result<Option<AnyEvent<'k>>, Error> {
        let Leader { state, events, .. } = self;
        if !state.judge.may_choose() {
            return events.execute_before_bound(state);
        }
        let helpers = Arc::clone(&state.crowd) as Arc<dyn Helpers>;
        help::with(helpers, || events.execute_before_bound(state))
    }

    /// Runs until the run is over, or until workers are needed.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        self.state.records = self.state.held.records();
        if let Some(tally) = &mut self.state.tally {
            tally.since.get_or_insert_with(now);
        }
        if let Some(event) = self.opening.take() {
            self.state.round.since = self.state.round.since.map(|_| now());
            self.execute_parallel_round(event)?;
        }
        loop {
            self.state.course.advance_to_horizon();
            while let Some(event) = self.execute_before_bound()? {
                if !self.has_workers {
                    self.opening = Some(event);
                    return Ok(());
                }
                self.execute_parallel_round(event)?;
            }
            self.state.end_round()?;
            let timekeeper = self.state.course.timekeeper.clone();
            timekeeper.spend(0, Spent::Cut, || self.execute_cut())?;
            if self.state.course.has_left {
                return Ok(());
            }
            if self.state.course.is_over() {
                return Ok(());
            }
            self.state.poll(self.state.course.bound, &*self.events)?;
        }
    }

    pub(super) fn start(&mut self) -> Result<(), Error> {
        let Leader { state: State { course, held, world, pending_max, .. }, events, .. } = self;
        for id in (0..world.lps()).map(LpId) {
            let stripe = held.of(id);
            let has_started = stripe.lps.start(id, world, events.effects());
            let others = events.effects().others;
            if others.any {
                course.apply_other_effects(world, id, None, others, Some(&mut stripe.metrics))?;
            }
            assert!(has_started, "an LP that failed to start has ended the run");
            course.check_memory(world, events.allocated_bytes())?;
            course.check_not_stopped()?;
        }
        *pending_max = events.len();
        Ok(())
    }

    /// Goes on from a cut.
    pub(super) fn go_on_from(&mut self, mut cut: Cut<'k>) {
        let Leader { state: State { course, held, world, pending_max, .. }, events, .. } = self;
        cut.distribute(course.model, &Placement::one(world.lps()));
        let Stripe { lps, metrics, .. } = held.stripe(0);
        lps.pick_up(0);
        Metrics::redistribute(&mut [&mut course.metrics, metrics], &|_| 1);
        for index in 0..lps.len() {
            lps.renew_wakes(index, LpId::from_index(index), world, events.effects());
            events.accept_sent();
        }
        cut.messages.into_iter().for_each(|event| events.push(event));
        *pending_max = events.len();
    }

    /// Executes the round that begins with `event` in parallel.
    fn execute_parallel_round(&mut self, event: AnyEvent<'k>) -> Result<(), Error> {
        let instant = event.instant();
        let tasks = self.events.distribute(event, &mut self.state);
        let State { held, stripes, crowd, round, .. } = &mut self.state;
        round.has_several = tasks > 1;
        (0..tasks).for_each(|task| held.release(stripes.task(task)));
        let done = crowd.round(tasks, |task| stripes.execute(task, 0));
        // If a worker panics, that is the engine's mistake. The panic is passed on when its thread is joined.
        done.map_err(|_| Error::new(ErrorKind::Model("a worker failed".into())))?;
        (0..tasks).for_each(|task| held.hold(stripes.task(task)));
        let mut is_left = false;
        (0..tasks).for_each(|task| is_left |= self.events.take_back(&mut held.stripe(stripes.task(task)).inbox));
        self.collect_effects(instant)?;
        if is_left {
            self.state.course.give_up(instant.time);
        }
        Ok(())
    }

    /// Collects the effects of a parallel round.
    fn collect_effects(&mut self, instant: Instant) -> Result<(), Error> {
        let Leader { state, events, .. } = self;
        let mut executed = 0;
        let mut ledgers = Vec::new();
        for results in state.stripes.results() {
            let mut results = lock(results);
            executed += std::mem::take(&mut results.events);
            events.take_sent(&mut results.effects);
            ledgers.push(results.ledger.take());
        }
        state.course.collect_ledgers(ledgers)?;
        state.course.bound = state.course.bound.min(state.course.horizon());
        if let Some((place, failure)) = state.course.failure.take() {
            return Err(state.world.error_at(failure, place));
        }
        let poll_is_due = state.course.count_events(executed);
        state.counts.parallel_rounds += 1;
        state.counts.parallel_events += executed;
        state.record_round(executed, true)?;
        if poll_is_due { state.poll(instant.time, &**events) } else { Ok(()) }
    }

    /// Comes to a cut at the bound, if one is due there, and executes the global events at the bound.
    fn execute_cut(&mut self) -> Result<(), Error> {
        let Leader { state: State { course, held, world, .. }, events, .. } = self;
        course.reach_cut(world, &mut Striped { held, events: &mut **events });
        if !course.has_left && course.globals.next_time() == Some(course.bound) {
            let Course { model, globals, metrics, bound, .. } = course;
            let mut lps = held.with(metrics);
            world.change(|world| globals.execute_at(*bound, *model, world, &mut lps, events.effects()))?;
        }
        Ok(())
    }

    /// Ends the run, or this span of it.
    pub(super) fn conclude(self) -> Result<Reached<'k>, Error> {
        let Leader { state, mut events, .. } = self;
        let State { mut course, mut held, pending_max, counts, judge, crowd, world, .. } = state;
        held.each_stripe(|stripe| course.metrics.merge(std::mem::take(&mut stripe.metrics)));
        if course.has_left {
            let placement = Striped { held: &mut held, events: &mut *events }.put_down();
            let mut all = course.model.new_lps();
            course.model.distribute(&placement, &Placement::one(world.lps()), world.lps());
            all.pick_up(0);
            return Ok(course.leave(&world, all, events.take_all()));
        }
        let is_alone = course.model.stays_on_threads();
        let engine_stats = vec![
            ("rounds", counts.rounds as f64),
            ("parallel_rounds", counts.parallel_rounds as f64),
            ("parallel_events", counts.parallel_events as f64),
            ("round_events_max", counts.events_max as f64),
            ("events_helped", crowd.helped() as f64),
            ("workers", if is_alone { 1.0 } else { (judge.workers() + 1) as f64 }),
            ("alone_for_stacks", f64::from(u8::from(is_alone))),
            ("pending_bytes", events.allocated_bytes() as f64),
            ("pending_events_max", pending_max as f64),
        ];
        let end = course.bound;
        course.conclude(end, &mut held.lps(), events.take_all(), engine_stats).map(Reached::End)
    }
}

/// The LPs of all stripes, and the pending events of the leader.
struct Striped<'a, 's, 'k> {
    held: &'a mut AllStripes<'s, 'k>,
    events: &'a mut (dyn RoundEvents<'k> + 'k),
}

impl<'k> Resting<'k> for Striped<'_, '_, 'k> {
    fn put_down(&mut self) -> Placement {
        let mut numbers = 0..;
        self.held.each_stripe(|stripe| stripe.lps.put_down(numbers.next().expect("there are few stripes")));
        self.held.placement().clone()
    }
    fn pick_up(&mut self) {
        let mut numbers = 0..;
        self.held.each_stripe(|stripe| stripe.lps.pick_up(numbers.next().expect("there are few stripes")));
    }
    fn take_pending(&mut self) -> Vec<AnyEvent<'k>> {
        self.events.take_all().collect()
    }
    fn push(&mut self, event: AnyEvent<'k>) {
        self.events.push(event);
    }
    fn digests(&mut self) -> Vec<u64> {
        self.held.lps().map(|(_, lps, index)| lps.final_digest(index)).collect()
    }
    fn add_metrics(&mut self, to: &mut Metrics) {
        self.held.each_stripe(|stripe| to.merge(stripe.metrics.clone()));
    }
    fn ids(&mut self) -> Vec<LpId> {
        self.held.lps().map(|(id, ..)| id).collect()
    }
}

impl<'k> State<'_, 'k> {
    /// Ends a round that was executed event by event.
    pub(super) fn end_round(&mut self) -> Result<(), Error> {
        let events = self.course.events - self.round.before;
        self.record_round(events, false)?;
        self.round.instant = None;
        Ok(())
    }

    /// Records a finished round of `events` events.
    fn record_round(&mut self, events: u64, parallel: bool) -> Result<(), Error> {
        self.counts.events_max = self.counts.events_max.max(events);
        self.round.before = self.course.events;
        let Some(since) = self.round.since.take() else { return Ok(()) };
        let end = now();
        let round = Round { events, parallel, took: end - since };
        match self.round.chosen {
            true if self.round.has_several => self.judge.record(round),
            // It says nothing about other rounds of its size.
            true => self.last_alone = Some(self.round.first),
            false => {}
        }
        self.log_round(round, end)
    }

    /// Shows a round that finished at `end` to the log of rounds, if there is one.
    fn log_round(&mut self, round: Round, end: std::time::Instant) -> Result<(), Error> {
        let Round { events, parallel, .. } = round;
        let (Some(log), Some(tally)) = (&mut self.course.options.rounds, &mut self.tally) else { return Ok(()) };
        let took = tally.since.replace(end).map_or(round.took, |since| end - since);
        let instant = self.round.instant.expect("a round that is timed has begun");
        let round = round_log::Round { id: 0, instant, programs: tally.lps, events, parallel, took };
        log.record(round).map_err(|error| Error::new(ErrorKind::Trace(error.to_string())))
    }

    /// Polls at `time`.
    #[cold]
    pub(super) fn poll(&mut self, time: Time, events: &dyn AnyEvents<'k>) -> Result<(), Error> {
        self.pending_max = self.pending_max.max(events.len());
        self.course.poll(&self.world, time, events.allocated_bytes())
    }
}
