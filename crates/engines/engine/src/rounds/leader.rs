//! The leader of the workers. It executes rounds event by event, and has the large ones executed in parallel.

use super::Round;
use super::stripes::{AllStripes, Reading, Stripes};
use super::threshold::Judge;
use crate::course::Course;
use crate::fetch::Fetcher;
use crate::stopwatch::now;
use crate::workers::lock;
use parades_core::any_model::{Packed, Taggable, hide_body};
use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind};
use parades_core::event::{Event, LpId};
use parades_core::lp::Execution;
use parades_core::outbox::Outbox;
use parades_core::pending::{PendingSet, WindowedPending};
use parades_core::run::Outcome;
use parades_core::time::{Instant, Time};
use parades_core::world::World;
use parades_raw::prefetch::Records;
use parades_sync::pool::Pool;
use std::sync::RwLock;

/// The state of the leader's thread, which directs the run.
pub(super) struct Leader<'w, 's, 'k, P: Taggable> {
    course: Course<'k>,
    pub(super) stripes: &'s Stripes<'s, 'k, P>,
    /// The locks of all stripes, except during a parallel round.
    pub(super) held: AllStripes<'s, 'k, P>,
    world: Reading<'s>,
    /// The workers, once a round has been worth starting them.
    pub(super) pool: Option<&'s Pool>,
    /// True if the leader works along in parallel rounds.
    works_along: bool,
    /// True if all metrics are sums of integers, so that an LP's samples may go to any of them.
    are_sums: bool,
    judge: Judge,
    effects: Effects<P>,
    /// The most pending events at any poll.
    pending_max: usize,
    round: SerialRound,
    /// The first event of a parallel round, if the workers have not started yet.
    pub(super) opening: Option<Event<P>>,
    counts: Counts,
    watch: Option<&'w mut dyn FnMut(Round)>,
    pub(super) end: Option<Result<(), Error>>,
}

/// The current round, which the leader executes event by event.
#[derive(Debug, Default)]
struct SerialRound {
    instant: Option<Instant>,
    /// The number of events executed before the round.
    before: u64,
    /// The time when the round began, if it is timed.
    since: Option<std::time::Instant>,
    /// True if the judge chose how to execute the round.
    chosen: bool,
}

#[derive(Debug, Default)]
struct Counts {
    rounds: u64,
    parallel_rounds: u64,
    parallel_events: u64,
    /// The number of events of the largest round.
    events_max: u64,
}

impl<'w, 's, 'k, P: Packed<'k>> Leader<'w, 's, 'k, P> {
    /// Makes the leader of a run that begins with one stripe, `alone`. It works along in parallel rounds if
    /// `works_along` is true.
    pub(super) fn new(
        course: Course<'k>,
        alone: &'s Stripes<'s, 'k, P>,
        world: &'s RwLock<World>,
        judge: Judge,
        works_along: bool,
        watch: Option<&'w mut dyn FnMut(Round)>,
    ) -> Self {
        Leader {
            are_sums: course.metrics.are_integers(),
            course,
            held: alone.hold_all(),
            world: Reading::of(world),
            stripes: alone,
            pool: None,
            works_along,
            judge,
            effects: Effects::with(Outbox::direct()),
            pending_max: 0,
            round: SerialRound::default(),
            opening: None,
            counts: Counts::default(),
            watch,
            end: None,
        }
    }

    /// Runs until the run is over, or until workers are needed.
    pub(super) fn run(&mut self) -> Result<(), Error> {
        if let (Some(event), Some(pool)) = (self.opening.take(), self.pool) {
            self.round.since = self.round.since.map(|_| now());
            self.execute_parallel_round(event, pool)?;
        }
        loop {
            self.course.advance_to_horizon();
            self.execute_before_bound()?;
            if self.opening.is_some() {
                return Ok(());
            }
            self.end_round();
            self.execute_globals()?;
            if self.course.is_over() {
                return Ok(());
            }
            self.poll(self.course.bound)?;
        }
    }

    pub(super) fn start(&mut self) -> Result<(), Error> {
        for id in (0..self.world.lps()).map(LpId) {
            let stripe = self.held.of(id);
            let has_started = stripe.lps.start(id, &self.world, self.effects.hide());
            if self.effects.others.any {
                let metrics = Some(&mut stripe.metrics);
                self.course.apply_other_effects(&self.world, id, None, &mut self.effects.others, metrics)?;
            }
            assert!(has_started, "an LP that failed to start has ended the run");
            self.course.check_memory(&self.world, self.pending().allocated_bytes())?;
            self.course.check_not_stopped()?;
        }
        self.pending_max = self.pending().len();
        Ok(())
    }

    /// Executes every event before the bound, or up to the first round that needs workers.
    fn execute_before_bound(&mut self) -> Result<(), Error> {
        let mut fetcher = Fetcher::of(self.course.model, self.course.model.lps() as usize);
        let records = self.held.records();
        loop {
            let bound = self.course.bound;
            let Some(event) = self.pending_mut().pop_before(bound) else { return Ok(()) };
            if self.round.instant != Some(event.instant()) && self.opens_parallel_round(&event) {
                let Some(pool) = self.pool else {
                    self.opening = Some(event);
                    return Ok(());
                };
                self.execute_parallel_round(event, pool)?;
            } else {
                self.execute(event, &mut fetcher, &records)?;
            }
        }
    }

    /// Executes one event as `sequential` does.
    #[inline(always)]
    fn execute(&mut self, event: Event<P>, fetcher: &mut Fetcher, records: &[Records]) -> Result<(), Error> {
        let id = event.receiver();
        let (pending, placement) = (self.effects.outbox.direct_ref(), &self.stripes.placement);
        let fetch = |id| records[placement.partition(id) as usize].prefetch(placement.index(id));
        fetcher.each(|ahead| pending.upcoming(ahead), fetch);
        fetcher.steps(|ahead| pending.upcoming(ahead), |id, step| self.held.fetch(id, step));
        let stripe = self.held.of(id);
        let index = placement.index(id);
        let body = hide_body(&event.body);
        let execution = stripe.lps.execute(index, event.header_ref(), body, &self.world, self.effects.hide());
        if self.effects.others.any {
            // If possible, one set of metrics is used for all stripes, so that one thread's cache need not
            // hold them all.
            let metrics = (!self.are_sums).then_some(&mut stripe.metrics);
            let key = Some(event.key());
            self.course.apply_other_effects(&self.world, id, key, &mut self.effects.others, metrics)?;
        }
        let done = execution == Execution::Done;
        if done && self.course.record_event(&event, &mut self.effects.others.notes)? {
            self.poll(event.time())?;
        }
        Ok(())
    }

    /// Ends the last round, and opens the one that begins with `event`. Returns true if it must be executed
    /// in parallel.
    #[inline(always)]
    fn opens_parallel_round(&mut self, event: &Event<P>) -> bool {
        if self.round.since.is_some() {
            self.end_round();
        }
        self.counts.rounds += 1;
        self.counts.events_max = self.counts.events_max.max(self.course.events - self.round.before);
        self.round =
            SerialRound { instant: Some(event.instant()), before: self.course.events, since: None, chosen: false };
        if self.watch.is_some() {
            self.round.since = Some(now());
        }
        self.judge.may_choose() && self.pending().has_more_now() && self.judge_round()
    }

    /// Judges the round that is being opened, if it has enough events. Returns true if it must be executed
    /// in parallel.
    #[inline(never)]
    fn judge_round(&mut self) -> bool {
        let Some(others) = self.pending().count_now(self.judge.events_min() - 1) else { return false };
        self.round.chosen = true;
        self.round.since = Some(now());
        self.judge.chooses_parallel(1 + others as u64)
    }

    /// Ends a round that was executed event by event.
    fn end_round(&mut self) {
        let events = self.course.events - self.round.before;
        self.record_round(events, false);
        self.round.instant = None;
    }

    /// Records a finished round of `events` events.
    fn record_round(&mut self, events: u64, parallel: bool) {
        self.counts.events_max = self.counts.events_max.max(events);
        self.round.before = self.course.events;
        let Some(since) = self.round.since.take() else { return };
        let round = Round { events, parallel, took: since.elapsed() };
        if self.round.chosen {
            self.judge.record(round);
        }
        if let Some(watch) = &mut self.watch {
            watch(round);
        }
    }

    /// Executes the round that begins with `event` in parallel.
    #[inline(never)]
    fn execute_parallel_round(&mut self, event: Event<P>, pool: &Pool) -> Result<(), Error> {
        let instant = event.instant();
        let Leader { held, effects, stripes, .. } = self;
        let pending = effects.outbox.direct_mut();
        let mut tasks = 0;
        let mut next = Some(event);
        while let Some(event) = next {
            let stripe = stripes.placement.partition(event.receiver());
            let inbox = &mut held.stripe(stripe).inbox;
            if inbox.is_empty() {
                stripes.set_task(tasks, stripe);
                tasks += 1;
            }
            inbox.push(event);
            next = if pending.next_instant() == Some(instant) { pending.pop() } else { None };
        }
        (0..tasks).for_each(|task| held.release(stripes.task(task)));
        let done = match self.works_along {
            true => pool.round(tasks, |task| stripes.execute(task, 0)),
            false => pool.delegate(tasks),
        };
        // If a worker panics, that is the engine's mistake. The panic is passed on when its thread is joined.
        done.map_err(|_| Error::new(ErrorKind::Model("a worker failed".into())))?;
        (0..tasks).for_each(|task| self.held.hold(self.stripes.task(task)));
        self.collect_effects(instant)
    }

    /// Collects the effects of a parallel round.
    fn collect_effects(&mut self, instant: Instant) -> Result<(), Error> {
        let mut executed = 0;
        let mut ledgers = Vec::new();
        for results in self.stripes.results() {
            let mut results = lock(results);
            executed += std::mem::take(&mut results.events);
            let pending = self.effects.outbox.direct_mut();
            results.effects.outbox.buffer.drain(..).for_each(|event| pending.push(event));
            ledgers.push(results.ledger.take());
        }
        self.course.collect_ledgers(ledgers)?;
        self.course.bound = self.course.bound.min(self.course.horizon());
        if let Some((place, kind)) = self.course.failure.take() {
            return Err(self.world.error_at(kind, place));
        }
        let poll_is_due = self.course.count_events(executed);
        self.counts.parallel_rounds += 1;
        self.counts.parallel_events += executed;
        self.record_round(executed, true);
        if poll_is_due { self.poll(instant.time) } else { Ok(()) }
    }

    /// Executes the global events at the bound.
    #[cold]
    #[inline(never)]
    fn execute_globals(&mut self) -> Result<(), Error> {
        let Leader { course, held, effects, world, .. } = self;
        if course.globals.next_time() == Some(course.bound) {
            let Course { model, globals, metrics, bound, .. } = course;
            world.change(|world| globals.execute_at(*bound, *model, world, &mut held.with(metrics), effects.hide()))?;
        }
        for event in std::mem::take(&mut self.effects.outbox.buffer) {
            self.pending_mut().push(event);
        }
        Ok(())
    }

    fn pending(&self) -> &WindowedPending<P> {
        self.effects.outbox.direct_ref()
    }

    fn pending_mut(&mut self) -> &mut WindowedPending<P> {
        self.effects.outbox.direct_mut()
    }

    /// Polls at `time`.
    #[cold]
    fn poll(&mut self, time: Time) -> Result<(), Error> {
        self.pending_max = self.pending_max.max(self.pending().len());
        let bytes = self.pending().allocated_bytes();
        self.course.poll(&self.world, time, bytes)
    }

    /// Ends the run.
    pub(super) fn conclude(self) -> Result<Outcome, Error> {
        let Leader { mut course, mut held, mut effects, pending_max, counts, judge, .. } = self;
        let pending = effects.outbox.direct_mut();
        let engine_stats = vec![
            ("rounds", counts.rounds as f64),
            ("parallel_rounds", counts.parallel_rounds as f64),
            ("parallel_events", counts.parallel_events as f64),
            ("round_events_max", counts.events_max as f64),
            ("workers", (judge.workers() + 1) as f64),
            ("pending_bytes", pending.allocated_bytes() as f64),
            ("pending_events_max", pending_max as f64),
        ];
        held.each_stripe(|stripe| course.metrics.merge(std::mem::take(&mut stripe.metrics)));
        let end = course.bound;
        course.conclude(end, &mut held.lps(), pending.take_all(), engine_stats)
    }
}
