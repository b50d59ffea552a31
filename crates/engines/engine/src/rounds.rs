//! `rounds`: all events of one instant at once, on a pool of workers; instants with few events one by one.
//!
//! *Idea.* A cause is strictly before its effect, zero delay included. So what happens at one instant at different LPs is independent, and may be executed in
//! parallel without any lookahead. What follows from it is put into one pending set, by one thread, the leader. That pays where many LPs have something to
//! do at the very same time, or their handlers take long; elsewhere the leader is as fast as `sequential`.
//!
//! *Protocol.* The leader takes the least event. If it opens a round, an instant, that seems to be worth it ([`Threshold`]), then
//!
//! 1. the leader takes all other events of the instant, and puts each into the *shard* of its receiver, a range of LPs with a lock;
//! 2. the workers, and the leader if it [works along](Main), take shard after shard, and execute each one's events in order;
//! 3. the leader takes up what they did: sends into the pending set, requests, the trace in the order of events, the least failure.
//!
//! Else the leader executes the round as `sequential` does. It is alone, and all LPs are in one shard, until a round seems to be worth more: a
//! short run may need no other thread, and many shards cost one thread some of its cache.
//!
//! *Invariants.* I3: keys increase along an LP's history. What a round sends arrives at a later instant, except the wake of a timer that was set anew for this
//! very instant, which goes to the LP itself with a greater key, and is executed in its turn. The leader holds the locks of all shards but those of a round
//! under way.
//!
//! *References.* M. Quinson, C. Rosa, C. Thiéry, *Parallel Simulation of Peer-to-Peer Systems*, CCGrid 2012: user processes in parallel, the rest in sequence.
//! C. Hernández, *Parallel optimizations for SimGrid's large scale P2P simulations*: the ways of waiting, and the adaptive threshold.
//!
//! *Read next*: `rounds/threshold.rs`, when a round is worth it; [`parades_sync::pool`], how workers take part.

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

/// What the thread that leads does in a parallel round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Main {
    /// It works along with one worker less than there are threads.
    #[default]
    Works,
    /// It sleeps, and leaves the round to one worker less than there are threads.
    Sleeps,
    /// It sleeps, and leaves the round to as many workers as there are threads.
    Extra,
}

/// How the engine runs. No setting changes the answer.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Threads, the leader's included.
    pub threads: usize,
    /// Which rounds are executed in parallel.
    pub threshold: Threshold,
    /// How those wait who have nothing to do.
    pub waiting: Waiting,
    /// What the leader does in a parallel round.
    pub main: Main,
    /// Whether each thread is bound to a core of its own, where there are enough.
    pub pinned: bool,
}

impl Settings {
    /// The defaults, on so many threads.
    ///
    /// # Panics
    ///
    /// If there are none.
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

    /// Workers beside the leader.
    fn workers(&self) -> usize {
        match self.main {
            Main::Works | Main::Sleeps => self.threads - 1,
            Main::Extra if self.threads > 1 => self.threads,
            Main::Extra => 0,
        }
    }
}

/// A round, for those who watch.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Its events.
    pub events: u64,
    /// Whether it was executed in parallel.
    pub parallel: bool,
    /// How long it took.
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
/// The least error of the run, and what the model finds wrong at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    run_watched(model, options, settings, None)
}

/// As [`run`], with each round shown to `watch` when it is over; then all are timed.
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
        leads_along: settings.main == Main::Works,
        judge: Judge::new(settings.threshold, workers),
        effects: Effects::with(Outbox::direct()),
        pending_max: 0,
        round: UnderWay::default(),
        opening: None,
        counts: Counts::default(),
        watch,
        end: None,
    };
    leader.start()?;
    leader.go_on()?;
    if leader.opening.is_none() {
        return leader.conclude();
    }

    let (lps, metrics) = leader.held.take_one();
    let shards: &Shards<'_, M> = cut.get_or_init(|| Shards::cut(model, &world, (lps, metrics), (workers + 1, traces)));
    (leader.shards, leader.held, leader.pool) = (shards, shards.hold_all(), Some(&pool));
    let (begun, begins) = mpsc::channel();
    let mut lead = || {
        seats::unbind();
        let _closing = Closing(&pool);
        // Rounds are timed once all workers take part.
        begins.iter().take(workers).for_each(drop);
        leader.end = Some(leader.go_on());
        Ok(())
    };
    let follow = |worker: usize| {
        seats::unbind();
        // The leader waits for this message.
        let _ = begun.send(());
        pool.work(worker - 1, |task| shards.execute(task, worker, model));
        Ok(())
    };
    on_all_workers((workers + 1, settings.pinned), &|| pool.close(), &mut lead, &follow)?;
    leader.end.take().expect("the leader has come to the end")?;
    leader.conclude()
}

/// Lets the workers go home, however the leader ends.
struct Closing<'a>(&'a Pool);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The thread that directs the run.
struct Leader<'a, 's, M: Model> {
    course: Course<'a, M>,
    shards: &'s Shards<'s, M>,
    /// The locks of all shards, whenever no round is executed in parallel.
    held: AllShards<'s, M>,
    world: Reading<'s>,
    /// The workers, once a round has been worth calling them.
    pool: Option<&'s Pool>,
    leads_along: bool,
    /// Whether the samples of an LP may go to any metrics.
    are_sums: bool,
    judge: Judge,
    effects: Effects<M>,
    /// The most events that were pending whenever the outside was looked at.
    pending_max: usize,
    round: UnderWay,
    /// The first event of a round that is to be executed in parallel, by workers who are not there yet.
    opening: Option<Event<M::Message>>,
    counts: Counts,
    watch: Option<&'a mut dyn FnMut(Round)>,
    end: Option<Result<(), Error>>,
}

/// A round that the leader executes event by event.
#[derive(Debug, Default)]
struct UnderWay {
    instant: Option<Instant>,
    /// Events executed before it.
    before: u64,
    /// When it began, if it is timed.
    since: Option<std::time::Instant>,
    /// Whether there was a choice.
    chosen: bool,
}

#[derive(Debug, Default)]
struct Counts {
    rounds: u64,
    parallel_rounds: u64,
    parallel_events: u64,
    /// Events of the largest.
    most: u64,
}

impl<M: Model> Leader<'_, '_, M> {
    /// Goes on until the run is over, or workers are needed.
    fn go_on(&mut self) -> Result<(), Error> {
        if let (Some(event), Some(pool)) = (self.opening.take(), self.pool) {
            self.round.since = self.round.since.map(|_| now());
            self.execute_at_once(event, pool)?;
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

    /// Executes every event before the bound, or those before the first round that needs workers.
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
                self.execute_at_once(event, pool)?;
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
            // One thread's caches need not hold those of all shards.
            let metrics = (!self.are_sums).then_some(&mut shard.metrics);
            self.course.apply_other_effects(&self.world, (id, Some(header.key())), &mut self.effects, metrics)?;
        }
        let done = execution == Execution::Done;
        if done && self.course.record_event(header, body, &mut self.effects.notes)? {
            self.poll(header.time())?;
        }
        Ok(())
    }

    /// Ends the round before, and opens the one that begins with `event`; whether it is to be executed in parallel.
    #[inline(always)]
    fn opens_parallel_round(&mut self, event: &Event<M::Message>) -> bool {
        if self.round.since.is_some() {
            self.end_round();
        }
        self.counts.rounds += 1;
        self.counts.most = self.counts.most.max(self.course.events - self.round.before);
        self.round =
            UnderWay { instant: Some(event.instant()), before: self.course.events, since: None, chosen: false };
        if self.watch.is_some() {
            self.round.since = Some(now());
        }
        self.judge.may_choose() && self.pending().has_more_now() && self.opens_crowd()
    }

    /// As [`Leader::opens_parallel_round`], where there may be a choice.
    #[inline(never)]
    fn opens_crowd(&mut self) -> bool {
        let Some(others) = self.pending().count_now(self.judge.least_crowd() - 1) else { return false };
        self.round.chosen = true;
        self.round.since = Some(now());
        self.judge.chooses_parallel(1 + others as u64)
    }

    /// Ends a round that was executed event by event.
    fn end_round(&mut self) {
        let events = self.course.events - self.round.before;
        self.note_round(events, false);
        self.round.instant = None;
    }

    /// Takes note of a round of so many events that is over.
    fn note_round(&mut self, events: u64, parallel: bool) {
        self.counts.most = self.counts.most.max(events);
        self.round.before = self.course.events;
        let Some(since) = self.round.since.take() else { return };
        let round = Round { events, parallel, took: since.elapsed() };
        if self.round.chosen {
            self.judge.note(round);
        }
        if let Some(watch) = &mut self.watch {
            watch(round);
        }
    }

    /// Executes the round that begins with `event` in parallel.
    #[inline(never)]
    fn execute_at_once(&mut self, event: Event<M::Message>, pool: &Pool) -> Result<(), Error> {
        let instant = event.instant();
        let Leader { held, effects, shards, .. } = self;
        let Pending::ByTime(pending) = &mut effects.outbox.pending else { unreachable!("it was made so") };
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
        let done = match self.leads_along {
            true => pool.round(tasks, |task| shards.execute(task, 0, model)),
            false => pool.delegate(tasks),
        };
        // A worker that panics is the engine's mistake, and the panic is passed on when it is joined.
        done.map_err(|_| Error::new(ErrorKind::Model("a worker failed".into())))?;
        (0..tasks).for_each(|task| self.held.hold(self.shards.task(task)));
        self.take_up(instant)
    }

    /// Takes up what a parallel round did.
    fn take_up(&mut self, instant: Instant) -> Result<(), Error> {
        let mut executed = 0;
        let mut ledgers = Vec::new();
        for left in self.shards.left() {
            let mut left = lock(left);
            executed += std::mem::take(&mut left.events);
            let Pending::ByTime(pending) = &mut self.effects.outbox.pending else { unreachable!("it was made so") };
            left.effects.outbox.buffer.drain(..).for_each(|event| pending.push(event));
            ledgers.push(left.ledger.take());
        }
        self.course.collect_ledgers(ledgers)?;
        self.course.bound = self.course.bound.min(self.course.horizon());
        if let Some((place, kind)) = self.course.failure.take() {
            return Err(self.world.error_at(kind, place));
        }
        let looks = self.course.count_events(executed);
        self.counts.parallel_rounds += 1;
        self.counts.parallel_events += executed;
        self.note_round(executed, true);
        if looks { self.poll(instant.time) } else { Ok(()) }
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
        let Pending::ByTime(pending) = &self.effects.outbox.pending else { unreachable!("it was made so") };
        pending
    }

    fn pending_mut(&mut self) -> &mut WindowedPending<M::Message> {
        let Pending::ByTime(pending) = &mut self.effects.outbox.pending else { unreachable!("it was made so") };
        pending
    }

    /// Looks at the outside.
    #[cold]
    fn poll(&mut self, time: Time) -> Result<(), Error> {
        self.pending_max = self.pending_max.max(self.pending().len());
        let bytes = self.pending().allocated_bytes();
        self.course.poll(&self.world, time, bytes)
    }

    /// The end of the run.
    fn conclude(self) -> Result<Outcome, Error> {
        let Leader { mut course, mut held, mut effects, pending_max, counts, judge, .. } = self;
        let Pending::ByTime(pending) = &mut effects.outbox.pending else { unreachable!("it was made so") };
        let engine_stats = vec![
            ("rounds", counts.rounds as f64),
            ("parallel_rounds", counts.parallel_rounds as f64),
            ("parallel_events", counts.parallel_events as f64),
            ("round_events_max", counts.most as f64),
            ("workers", (judge.workers() + 1) as f64),
            ("pending_bytes", pending.allocated_bytes() as f64),
            ("pending_events_max", pending_max as f64),
        ];
        held.each_shard(|shard| course.metrics.merge(std::mem::take(&mut shard.metrics)));
        let end = course.bound;
        course.conclude(end, held.lps(), pending.take_all(), engine_stats)
    }
}
