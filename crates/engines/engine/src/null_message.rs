//! `null-message`: a clock for each channel between partitions, and no barrier (Chandy, Misra, Bryant).
//!
//! *Idea.* The sender of a channel promises its receiver that nothing will arrive on it before some time, the channel's *clock*. A
//! partition executes what is before all clocks that lead to it. What it does not execute before some time, it does not send before that time and the
//! lookahead: a promise of its own.
//!
//! *Protocol.* For each of its partitions in turn, a worker (1) reads the clocks that lead there, then the *horizon*; (2) receives what has
//! arrived; (3) *executes before* the least of these; (4) *sends*, and then *promises* on each channel: the least of its next event and its
//! clocks, and the lookahead. A promise without an event is a null message. When it has gone round in vain, it waits for news. (5) At the
//! horizon, which is the next global event, the end, or far enough, all meet in a *cut*, where the leader does what it does for `window`.
//!
//! *How far.* A partition executes no further at a time than the lookahead to other workers: they then have promises to go on by, where two
//! might take turns else. Where it can, it stops between the windows in which partitions execute LP by LP.
//!
//! *When promises are made.* Each lies above the last, and none follows one for the horizon. [`Nulls::Lazy`]: after each visit, which leaves
//! nothing that could be executed yet. [`Nulls::Demand`]: with events; when the receiver is blocked by this channel, and has asked; and for the horizon.
//!
//! *Controllers.* What one asks for at t happens at t + control delay, with all at rest. So a partition with a controller promises all others
//! when it may ask at the earliest, and itself executes no further than the control delay past its next event. A request lowers the horizon before
//! the promise is made that would let others pass it. Nothing is sent by it, so these promises bound what others execute, not what they promise.
//!
//! *Invariants.* I1: no event arrives at a partition below the bound that it has executed to. I2: between cuts, promises on a channel only
//! rise. I3: keys increase along an LP's history. I4: a request never lowers the horizon below what somebody has executed to.
//!
//! *Why it is correct.* A partition executes nothing before its next event and its clocks, and what it executes sends no sooner than the
//! lookahead after. Events are sent before the promise that they lie below, and clocks are read before what has arrived is received: I1.
//!
//! *Why it does not stop.* Suppose that all wait and some are short of the horizon. Take the partition whose next event or least clock is lowest. If that is an
//! event, no control promise is in its way, as they lie a control delay above the lowest of all; so it can execute. Else it waits for a clock, whose sender has
//! nothing lower, has seen whatever was asked of it, and has promised that time, or the start of its window, and the lookahead: more than the clock, as windows
//! are no wider than lookaheads. Who waits has been notified of all clocks, wishes and changes of the horizon that it has not seen: the doc of
//! [`EventCount`](parades_sync::event_count::EventCount) says why. So the lowest time rises by a lookahead at a time up to the horizon.
//!
//! *One worker.* Where there is a single partition, the leader goes from cut to cut alone, as under `window`.
//!
//! *Failures.* A partition that has failed executes no more, and goes on promising like an idle one. The horizon drops to just after the
//! failure: what others execute until then may fail at a lesser place. The least is the run's.
//!
//! *Cost.* Idle time T passes by up to T/L null messages on each channel of lookahead L: n·T/L for n partitions in a ring, fewer where
//! one worker owns several in a row. `window` passes it at once. Where anyone may send to anyone there is a channel for each pair of
//! partitions, so there each worker has one partition, unless more are asked for. Channels of lookahead zero are inside partitions.
//!
//! *References.* K. M. Chandy, J. Misra, *Distributed simulation: a case study in design and verification of distributed programs*, IEEE TSE 5,
//! 1979; R. Bryant, *Simulation of packet communication architecture computer systems*, MIT, 1977; W. Su, C. Seitz, *Variants of the
//! Chandy-Misra-Bryant distributed discrete-event simulation algorithm*, SCS Multiconference on Distributed Simulation, 1989 (lazy and demanded null messages).
//!
//! *Read next*: `null_message/visit.rs`, the steps; [`parades_sync::event_count`], how workers wait.

mod pace;
mod routes;
mod visit;

use crate::retreat::Retreats;
use crate::transport::{Summary, Threads, Transport};
use crate::window::hand::Hand;
use crate::window::leader::Leader;
use crate::window::plan::Plan;
use crate::window::{self, Crew, Order};
use crate::workers::{Alarm, lock, on_all_workers};
use pace::Pace;
use parades_core::error::Error;
use parades_core::event::LpId;
use parades_core::model::Model;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use parades_sync::barrier::{BarrierKind, Broken};
use routes::Routes;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use visit::Round;

/// How a run is executed. Nothing of it changes the answer.
///
/// ```
/// use parades_engine::null_message::{Nulls, Settings};
/// assert_eq!(Settings::of_threads(2).nulls, Nulls::default());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Worker threads.
    pub threads: usize,
    /// Partitions at most; by default as many as the channels and the threads suggest.
    pub partitions: Option<u32>,
    /// Channels of a shorter lookahead than this are never cut.
    pub least_lookahead: Option<Delay>,
    /// In what order a partition executes.
    pub order: Order,
    /// When promises are made that no event comes with.
    pub nulls: Nulls,
    /// Whether the run goes on in one partition, with one worker, while that is faster than with several.
    pub retreats: Retreats,
    /// Whether each worker is bound to a core of its own, where there are enough.
    pub pinned: bool,
}

/// When null messages are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nulls {
    /// When a partition has nothing left to execute.
    #[default]
    Lazy,
    /// When the receiver asks, because it has nothing left to execute.
    Demand,
}

/// Partitions that a worker has at most, unless more are wished for, where channels are by pair.
const PARTITIONS_PER_WORKER: u32 = 4;

impl Settings {
    /// The defaults, on so many threads.
    pub fn of_threads(threads: usize) -> Settings {
        Settings {
            threads,
            partitions: None,
            least_lookahead: None,
            order: Order::Measured,
            nulls: Nulls::default(),
            retreats: Retreats::WhereFaster,
            pinned: false,
        }
    }

    /// What the parts shared with `window` need.
    fn of_parts(&self, partitions: Option<u32>) -> window::Settings {
        let Settings { threads, least_lookahead, order, retreats, pinned, .. } = *self;
        let defaults = window::Settings::of_threads(threads);
        window::Settings { partitions, least_lookahead, order, retreats, pinned, ..defaults }
    }
}

/// Runs `model` by null messages.
///
/// # Examples
///
/// ```
/// use parades_core::{run::RunOptions, time::Time};
/// use parades_engine::{null_message, sequential};
/// # use parades_core::prelude::*;
/// # struct Ring;
/// # impl Model for Ring {
/// #     type State = u64;
/// #     type Message = ();
/// #     type Global = NoGlobal;
/// #     fn lps(&self) -> u32 { 4 }
/// #     fn channels(&self) -> Channels { Channels::whole(Delay::from_ms(1)) }
/// #     fn start(&self, ctx: &mut Context<'_, Self>) -> u64 { ctx.send_self(Delay::from_ms(3), ()); 0 }
/// #     fn handle(&self, state: &mut u64, _: Body<&()>, ctx: &mut Context<'_, Self>) {
/// #         *state += 1;
/// #         ctx.send_to(LpId((ctx.id().0 + 1) % 4), Delay::from_ms(2), ());
/// #     }
/// # }
/// let until = Time::ZERO.checked_add(Delay::from_ms(100)).unwrap();
/// let one = sequential::run(&Ring, RunOptions::until(until)).unwrap();
/// let two = null_message::run(&Ring, RunOptions::until(until), &null_message::Settings::of_threads(2)).unwrap();
/// assert_eq!(one.digest, two.digest);
/// ```
///
/// # Errors
///
/// The least error of the run, and what the model finds wrong at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    let partitions = partitions_max(settings);
    let timesheets = options.timesheets.clone();
    let transport = |workers| Threads::new(workers, partitions, BarrierKind::default()).timed(timesheets.clone());
    run_over(model, options, settings, &transport)
}

/// The most partitions that a run with these settings can have.
pub fn partitions_max(settings: &Settings) -> u32 {
    window::partitions_max(&settings.of_parts(settings.partitions))
}

/// Runs `model` by null messages over a transport, made for as many workers as there is work for.
///
/// # Errors
///
/// As [`run`].
pub fn run_over<M: Model, T: Transport<M::Message>>(
    model: &M,
    options: RunOptions<'_>,
    settings: &Settings,
    transport: &dyn Fn(usize) -> T,
) -> Result<Outcome, Error> {
    let world = World::new(model, &options)?;
    let partitions = settings.partitions.unwrap_or_else(|| usual_partitions(&world, settings));
    let shared = settings.of_parts(Some(partitions));
    let (crew, leader) = window::assemble(model, options, world, &shared, transport);
    let leader = leader.with_idle_work();
    let plan = Arc::clone(&lock(&crew.orders).plan);
    let routes = Arc::new(Routes::new(&plan, &crew.read_world()));
    let run = Run {
        nulls: settings.nulls,
        horizon: AtomicU64::new(0),
        leg: Mutex::new(Leg { plan, routes, from: Time::ZERO }),
        pace: Mutex::new(Pace::new(&crew)),
        counts: Counts::default(),
        crew,
    };
    run.all(leader)
}

/// How many partitions there are at most if nobody says.
fn usual_partitions(world: &World, settings: &Settings) -> u32 {
    let threads = u32::try_from(settings.threads).unwrap_or(u32::MAX).max(1);
    let anyone = (0..world.lps()).any(|lp| world.channels().lookahead_to_anyone(LpId(lp)).is_some());
    if anyone || threads == 1 { threads } else { threads.saturating_mul(PARTITIONS_PER_WORKER) }
}

/// What the workers of a run share.
struct Run<'a, M: Model, T> {
    crew: Crew<'a, M, T>,
    nulls: Nulls,
    /// All stop there. It is only lowered between two cuts: by requests of controllers and by failures.
    horizon: AtomicU64,
    leg: Mutex<Leg>,
    pace: Mutex<Pace>,
    counts: Counts,
}

/// What is fixed from one cut to the next.
#[derive(Clone, Debug)]
struct Leg {
    plan: Arc<Plan>,
    routes: Arc<Routes>,
    /// The cut: everything before it has been executed.
    from: Time,
}

/// What has been counted, as all workers together know it since the last cut.
#[derive(Debug, Default)]
struct Counts {
    null_messages: AtomicU64,
    messages: AtomicU64,
    blocked: AtomicU64,
    cuts: AtomicU64,
}

impl<M: Model, T: Transport<M::Message>> Run<'_, M, T> {
    /// Runs all workers.
    fn all(&self, mut leader: Leader<'_, M>) -> Result<Outcome, Error> {
        let workers = (self.crew.left.len(), self.crew.settings.pinned);
        let release = || self.crew.transport.break_up();
        on_all_workers(workers, &release, &mut || self.work(0, Some(&mut leader)), &|worker| self.work(worker, None))?;
        let mut outcome = leader.conclude(&self.crew)?;
        // Ordering: Relaxed; the other workers have been joined.
        let counts = &self.counts;
        let count = |name, count: &AtomicU64| (name, count.load(Ordering::Relaxed) as f64);
        outcome.engine_stats.retain(|(name, _)| *name != "windows");
        outcome.engine_stats.push(count("null_messages", &counts.null_messages));
        outcome.engine_stats.push(count("messages", &counts.messages));
        outcome.engine_stats.push(count("blocked", &counts.blocked));
        Ok(outcome)
    }

    /// A worker's life: from cut to cut.
    fn work(&self, worker: usize, mut leader: Option<&mut Leader<'_, M>>) -> Result<(), Broken> {
        let Crew { transport, orders, traces, .. } = &self.crew;
        let _alarm = Alarm::of(transport);
        let mut plan = Arc::clone(&lock(orders).plan);
        let mut hand = Hand::new(worker, plan.placement.clone(), *traces);
        self.crew.start(&mut hand, &plan);
        let mut events_of_others = 0;
        loop {
            let alone = plan.is_of_one();
            self.crew.leave(&mut hand);
            let mut all = Summary { events: hand.events, ..Summary::NOTHING };
            if alone {
                all.events += events_of_others;
            } else {
                all = transport.exchange(worker, &all)?;
                events_of_others = all.events - hand.events;
            }
            let mut stays_alone = false;
            if let Some(leader) = &mut leader {
                self.cut(leader, &all);
                stays_alone = alone && lock(orders).are_for_one();
            }
            if !stays_alone {
                transport.exchange(worker, &Summary::NOTHING)?;
            }
            if lock(orders).over {
                return Ok(());
            }
            let leg = lock(&self.leg).clone();
            if !alone && leg.plan.is_of_one() {
                // Who goes on alone does so once all know.
                transport.exchange(worker, &Summary::NOTHING)?;
            }
            if !Arc::ptr_eq(&plan, &leg.plan) {
                plan = Arc::clone(&leg.plan);
                hand.rehome(&plan.placement);
            }
            if leader.is_none() && plan.is_of_one() {
                continue; // Nothing is to be done, nor is the world to be held, which the leader may change.
            }
            leader.iter_mut().for_each(|leader| leader.stopwatch.goes_on());
            let world = self.crew.read_world();
            let round = Round::new(self, &leg, &world, &mut hand);
            round.go_on_to_horizon(leader.as_deref_mut().map(|leader| &mut leader.stopwatch))?;
        }
    }

    /// What the leader does while all rest: what `window`'s does, and the next leg.
    fn cut(&self, leader: &mut Leader<'_, M>, all: &Summary) {
        // Ordering: Relaxed, here and below; all others rest, and the exchanges before and after publish what each has written.
        let reached = Time::from_ps(self.horizon.load(Ordering::Relaxed));
        if self.counts.cuts.fetch_add(1, Ordering::Relaxed) > 0 {
            // It has waited for the last of the others.
            leader.stopwatch.works();
            leader.goes_to(reached, &Summary { next: reached, ..*all });
        }
        leader.rest(&self.crew, all);
        let orders = lock(&self.crew.orders).clone();
        if orders.over {
            return;
        }
        let mut leg = lock(&self.leg);
        if !Arc::ptr_eq(&leg.plan, &orders.plan) {
            leg.routes = Arc::new(Routes::new(&orders.plan, &self.crew.read_world()));
            lock(&self.pace).restart(&self.crew);
            leg.plan = orders.plan;
        }
        leg.from = leader.course.bound;
        leg.routes.reset(leg.from);
        let nulls = self.counts.null_messages.load(Ordering::Relaxed);
        let horizon = lock(&self.pace).next((leg.from, reached), (all.events, nulls)).min(orders.horizon);
        self.horizon.store(horizon.as_ps(), Ordering::Relaxed);
    }
}
