//! `rounds`: all events of one instant at once, on a pool of workers. Instants with few events are executed
//! one by one.
//!
//! *Idea.* A cause is strictly before its effect, even with zero delay. So the events of one instant at
//! different LPs are independent, and can be executed in parallel without any lookahead. One thread, the
//! leader, puts the events that they send into one pending set. This pays if many LPs have events at the
//! very same time, or if their handlers take long. Otherwise the leader is as fast as `sequential`.
//!
//! *Protocol.* The leader takes the earliest event. Suppose that this event opens a round, an instant, that
//! seems to be worth executing in parallel ([`Threshold`]). Then:
//!
//! 1. The leader takes all other events of the instant. It puts each into the *shard* of its receiver, a
//!    range of LPs with a lock.
//! 2. The workers take shard after shard, and execute its events in order. The leader does so too if it
//!    [works along](Main).
//! 3. The leader collects their effects: sends into the pending set, requests, the trace in the order of
//!    events, and the earliest failure.
//!
//! Otherwise the leader executes the round as `sequential` does. Until the first parallel round there are
//! no workers, and all LPs are in one shard. A short run may never need another thread, and many shards use
//! up some of one thread's cache.
//!
//! *Invariants.* I3: keys increase along an LP's history. The events that a round sends arrive at a later
//! instant. The one exception is the wake of a timer that was set again for this very instant. It goes to
//! the LP itself with a greater key, and is executed after the others. The leader holds the locks of all
//! shards, except for the shards of a parallel round.
//!
//! *References.* M. Quinson, C. Rosa, C. Thiéry, *Parallel Simulation of Peer-to-Peer Systems*, CCGrid
//! 2012: user processes in parallel, the rest in sequence. C. Hernández, *Parallel optimizations for
//! SimGrid's large scale P2P simulations*: the ways of waiting, and the adaptive threshold.
//!
//! *Read next*: `rounds/threshold.rs`, the choice of rounds; [`parades_sync::pool`], how workers take part.

mod adaptive;
mod shards;
mod threshold;

pub use threshold::Threshold;

use crate::course::Course;
use crate::fetch::Fetcher;
use crate::seats;
use crate::stopwatch::now;
use crate::workers::{lock, on_all_workers};
use parades_core::effects::Effects;
use parades_core::error::{Error, ErrorKind};
use parades_core::event::{Event, LpId};
use parades_core::lp::{Execution, Lp};
use parades_core::model::Model;
use parades_core::outbox::{Outbox, Pending};
use parades_core::pending::{PendingSet, WindowedPending};
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Instant, Time};
use parades_core::world::World;
use parades_sync::pool::{Pool, Waiting};
use shards::{AllShards, Reading, Shards};
use std::cell::OnceCell;
use std::sync::{RwLock, mpsc};
use std::time::Duration;
use threshold::Judge;

/// The work of the leader's thread in a parallel round. *n* is the number of threads in the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Main {
    /// The leader works along with *n* - 1 workers.
    #[default]
    Works,
    /// The leader sleeps, while *n* - 1 workers execute the round.
    Sleeps,
    /// The leader sleeps, while *n* workers execute the round.
    Extra,
}

/// The settings of a run. None of them changes the results.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The number of threads, including the leader's.
    pub threads: usize,
    /// The rule that decides which rounds are executed in parallel.
    pub threshold: Threshold,
    /// The way in which idle workers wait.
    pub waiting: Waiting,
    /// The work of the leader in a parallel round.
    pub main: Main,
    /// True if each thread is bound to a core of its own, as long as there are enough cores.
    pub pinned: bool,
}

impl Settings {
    /// Returns the defaults for `threads` threads.
    ///
    /// # Panics
    ///
    /// Panics if `threads` is zero.
    pub fn of_threads(threads: usize) -> Settings {
        assert!(threads > 0, "a run on no thread");
        Settings {
            threads,
            threshold: Threshold::default(),
            waiting: Waiting::default(),
            main: Main::default(),
            pinned: false,
        }
    }

    /// Returns the number of workers besides the leader.
    fn workers(&self) -> usize {
        match self.main {
            Main::Works | Main::Sleeps => self.threads - 1,
            Main::Extra if self.threads > 1 => self.threads,
            Main::Extra => 0,
        }
    }
}

/// An executed round, as shown to an observer.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// The number of its events.
    pub events: u64,
    /// True if it was executed in parallel.
    pub parallel: bool,
    /// The wall-clock time that it took.
    pub took: Duration,
}

/// Runs `model` round by round.
///
/// # Examples
///
/// No lookahead is needed:
///
/// ```
/// use parades_core::{run::RunOptions, time::Time};
/// use parades_engine::{rounds, sequential};
/// # use parades_core::prelude::*;
/// struct Echo;
///
/// impl Model for Echo {
///     type State = u64;
///     type Message = u32;
///     type Global = NoGlobal;
///     fn lps(&self) -> u32 { 64 }
///     fn channels(&self) -> Channels { Channels::whole(Delay::ZERO) }
///     fn start(&self, ctx: &mut Context<'_, Self>) -> u64 { ctx.send_self(Delay::from_ms(1), 9); 0 }
///     fn handle(&self, state: &mut u64, event: Body<&u32>, ctx: &mut Context<'_, Self>) {
///         let Body::Message(&left) = event else { return };
///         *state += u64::from(left);
///         if left > 0 { ctx.send_to(LpId(ctx.id().0 * 7 % 64), Delay::ZERO, left - 1); }
///     }
/// }
/// let until = Time::ZERO.checked_add(Delay::from_ms(100)).unwrap();
/// let one = sequential::run(&Echo, RunOptions::until(until)).unwrap();
/// let settings = rounds::Settings { threshold: rounds::Threshold::Fixed(2), ..rounds::Settings::of_threads(2) };
/// let two = rounds::run(&Echo, RunOptions::until(until), &settings).unwrap();
/// assert_eq!(one.digest, two.digest);
/// assert!(two.engine_stats.contains(&("parallel_rounds", 10.0)));
/// ```
///
/// # Errors
///
/// The earliest error of the run, or an error that the model finds at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    run_watched(model, options, settings, None)
}

/// Runs `model` round by round, and calls `watch` after each round. All rounds are then timed.
///
/// # Errors
///
/// As [`run`].
pub fn run_watched<'a, M: Model>(
    model: &'a M,
    options: RunOptions<'a>,
    settings: &Settings,
    watch: Option<&'a mut dyn FnMut(Round)>,
) -> Result<Outcome, Error> {
    let world = World::new(model, &options)?;
    let workers = settings.workers().min(world.lps() as usize - 1);
    let traces = options.tracer.is_some();
    let world = RwLock::new(world);
    let (alone, cut, pool) =
        (Shards::one(model, &world, traces), OnceCell::new(), Pool::new(workers, settings.waiting));
    let course = Course::new(model, options);
    let mut leader = Leader {
        are_sums: course.metrics.are_integers(),
        course,
        held: alone.hold_all(),
        world: Reading::of(&world),
        shards: &alone,
        pool: None,
        works_along: settings.main == Main::Works,
        judge: Judge::new(settings.threshold, workers),
        effects: Effects::with(Outbox::direct()),
        pending_max: 0,
        round: SerialRound::default(),
        opening: None,
        counts: Counts::default(),
        watch,
        end: None,
    };
    leader.start()?;
    leader.run()?;
    if leader.opening.is_none() {
        return leader.conclude();
    }

    let (lps, metrics) = leader.held.take_one();
    let shards: &Shards<'_, M> = cut.get_or_init(|| Shards::cut(model, &world, (lps, metrics), (workers + 1, traces)));
    (leader.shards, leader.held, leader.pool) = (shards, shards.hold_all(), Some(&pool));
    let (report_start, starts) = mpsc::channel();
    let mut lead = || {
        seats::unbind();
        let _closing = Closing(&pool);
        // Rounds are timed once all workers take part.
        starts.iter().take(workers).for_each(drop);
        leader.end = Some(leader.run());
        Ok(())
    };
    let follow = |worker: usize| {
        seats::unbind();
        // The leader waits for this message.
        let _ = report_start.send(());
        pool.work(worker - 1, |task| shards.execute(task, worker, model));
        Ok(())
    };
    let led = on_all_workers((workers + 1, settings.pinned), &|| pool.close(), &mut lead, &follow)?;
    led.expect("no part of a pool breaks up");
    leader.end.take().expect("the leader has come to the end")?;
    leader.conclude()
}

/// Closes the pool when dropped, so that the workers return, even if the leader panics.
struct Closing<'a>(&'a Pool);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The state of the leader's thread, which directs the run.
struct Leader<'a, 's, M: Model> {
    course: Course<'a, M>,
    shards: &'s Shards<'s, M>,
    /// The locks of all shards, except during a parallel round.
    held: AllShards<'s, M>,
    world: Reading<'s>,
    /// The workers, once a round has been worth starting them.
    pool: Option<&'s Pool>,
    /// True if the leader works along in parallel rounds.
    works_along: bool,
    /// True if all metrics are sums of integers, so that an LP's samples may go to any of them.
    are_sums: bool,
    judge: Judge,
    effects: Effects<M>,
    /// The most pending events at any poll.
    pending_max: usize,
    round: SerialRound,
    /// The first event of a parallel round, if the workers have not started yet.
    opening: Option<Event<M::Message>>,
    counts: Counts,
    watch: Option<&'a mut dyn FnMut(Round)>,
    end: Option<Result<(), Error>>,
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

impl<M: Model> Leader<'_, '_, M> {
    /// Runs until the run is over, or until workers are needed.
    fn run(&mut self) -> Result<(), Error> {
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

    fn start(&mut self) -> Result<(), Error> {
        for id in (0..self.world.lps()).map(LpId) {
            let lp = Lp::start(self.course.model, &self.world, id, &mut self.effects);
            let shard = self.held.of(id);
            if self.effects.beyond_sends {
                let metrics = Some(&mut shard.metrics);
                self.course.apply_other_effects(&self.world, (id, None), &mut self.effects, metrics)?;
            }
            shard.lps.push(lp.expect("an LP that failed to start has ended the run"));
            self.course.check_memory(&self.world, self.pending().allocated_bytes())?;
            self.course.check_not_stopped()?;
        }
        self.pending_max = self.pending().len();
        Ok(())
    }

    /// Executes every event before the bound, or up to the first round that needs workers.
    fn execute_before_bound(&mut self) -> Result<(), Error> {
        let mut fetcher = Fetcher::of(self.course.model, self.course.model.lps() as usize);
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
                self.execute(event, &mut fetcher)?;
            }
        }
    }

    /// Executes one event as `sequential` does.
    #[inline(always)]
    fn execute(&mut self, event: Event<M::Message>, fetcher: &mut Fetcher) -> Result<(), Error> {
        let (header, body) = event.into_parts();
        let id = header.receiver();
        let lp_of = |id| self.held.lp(id);
        fetcher.records(self.course.model, |ahead| self.pending().upcoming(ahead), lp_of);
        let shard = self.held.of(id);
        let lp = &mut shard.lps[self.shards.placement.index(id)];
        let execution = lp.execute(self.course.model, &self.world, (header, body.as_ref()), &mut self.effects);
        if self.effects.beyond_sends {
            // If possible, one set of metrics is used for all shards, so that one thread's cache need not
            // hold them all.
            let metrics = (!self.are_sums).then_some(&mut shard.metrics);
            self.course.apply_other_effects(&self.world, (id, Some(header.key())), &mut self.effects, metrics)?;
        }
        let done = execution == Execution::Done;
        if done && self.course.record_event(header, body, &mut self.effects.notes)? {
            self.poll(header.time())?;
        }
        Ok(())
    }

    /// Ends the last round, and opens the one that begins with `event`. Returns true if it must be executed
    /// in parallel.
    #[inline(always)]
    fn opens_parallel_round(&mut self, event: &Event<M::Message>) -> bool {
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
    fn execute_parallel_round(&mut self, event: Event<M::Message>, pool: &Pool) -> Result<(), Error> {
        let instant = event.instant();
        let Leader { held, effects, shards, .. } = self;
        let Pending::ByTime(pending) = &mut effects.outbox.pending else { unreachable!("`run_watched` makes it so") };
        let mut tasks = 0;
        let mut next = Some(event);
        while let Some(event) = next {
            let shard = shards.placement.partition(event.receiver);
            let inbox = &mut held.shard(shard).inbox;
            if inbox.is_empty() {
                shards.set_task(tasks, shard);
                tasks += 1;
            }
            inbox.push(event);
            next = if pending.next_instant() == Some(instant) { pending.pop() } else { None };
        }
        (0..tasks).for_each(|task| held.release(shards.task(task)));
        let model = self.course.model;
        let done = match self.works_along {
            true => pool.round(tasks, |task| shards.execute(task, 0, model)),
            false => pool.delegate(tasks),
        };
        // If a worker panics, that is the engine's mistake. The panic is passed on when its thread is joined.
        done.map_err(|_| Error::new(ErrorKind::Model("a worker failed".into())))?;
        (0..tasks).for_each(|task| self.held.hold(self.shards.task(task)));
        self.collect_effects(instant)
    }

    /// Collects the effects of a parallel round.
    fn collect_effects(&mut self, instant: Instant) -> Result<(), Error> {
        let mut executed = 0;
        let mut ledgers = Vec::new();
        for results in self.shards.results() {
            let mut results = lock(results);
            executed += std::mem::take(&mut results.events);
            let Pending::ByTime(pending) = &mut self.effects.outbox.pending else {
                unreachable!("`run_watched` makes it so")
            };
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
            world.change(|world| globals.execute_at(*bound, (*model, world), &mut held.with(metrics), effects))?;
        }
        for event in std::mem::take(&mut self.effects.outbox.buffer) {
            self.pending_mut().push(event);
        }
        Ok(())
    }

    fn pending(&self) -> &WindowedPending<M::Message> {
        let Pending::ByTime(pending) = &self.effects.outbox.pending else { unreachable!("`run_watched` makes it so") };
        pending
    }

    fn pending_mut(&mut self) -> &mut WindowedPending<M::Message> {
        let Pending::ByTime(pending) = &mut self.effects.outbox.pending else {
            unreachable!("`run_watched` makes it so")
        };
        pending
    }

    /// Polls at `time`.
    #[cold]
    fn poll(&mut self, time: Time) -> Result<(), Error> {
        self.pending_max = self.pending_max.max(self.pending().len());
        let bytes = self.pending().allocated_bytes();
        self.course.poll(&self.world, time, bytes)
    }

    /// Ends the run.
    fn conclude(self) -> Result<Outcome, Error> {
        let Leader { mut course, mut held, mut effects, pending_max, counts, judge, .. } = self;
        let Pending::ByTime(pending) = &mut effects.outbox.pending else { unreachable!("`run_watched` makes it so") };
        let engine_stats = vec![
            ("rounds", counts.rounds as f64),
            ("parallel_rounds", counts.parallel_rounds as f64),
            ("parallel_events", counts.parallel_events as f64),
            ("round_events_max", counts.events_max as f64),
            ("workers", (judge.workers() + 1) as f64),
            ("pending_bytes", pending.allocated_bytes() as f64),
            ("pending_events_max", pending_max as f64),
        ];
        held.each_shard(|shard| course.metrics.merge(std::mem::take(&mut shard.metrics)));
        let end = course.bound;
        course.conclude(end, held.lps(), pending.take_all(), engine_stats)
    }
}
