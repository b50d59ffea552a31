//! `null-message`: a clock for each channel between partitions, and no barrier (Chandy, Misra, Bryant).
//!
//! *Idea.* The sender of a channel promises its receiver that nothing will arrive on the channel before
//! some time, the channel's *clock*. A partition executes the events before all clocks that lead to it. If
//! a partition executes nothing before time *t*, it sends nothing that arrives before *t* + lookahead. That
//! is a promise of its own.
//!
//! *Protocol.* A worker visits its partitions in turn. For each partition it
//!
//! 1. reads the clocks that lead there, and then the *horizon*;
//! 2. *receives* the events that have arrived;
//! 3. *executes before* the earliest of these times;
//! 4. *sends* the new events, and then *promises* on each channel: the earliest of its next event and its
//!    clocks, plus the lookahead. A promise without an event is a null message.
//!
//! When a worker has visited all its partitions without progress, it waits for a notification. At the
//! horizon all workers meet in a *cut*, where the leader does the same as under `window`. The horizon is
//! the next global event, the end of the run, or the time that `null_message/pace.rs` sets, whichever is
//! earliest.
//!
//! *How far.* At a time, a partition executes no further than the lookahead to other workers. They then
//! have promises to continue by; else two workers could alternate, each waiting while the other executes.
//! If possible, a partition stops between the windows in which partitions execute LP by LP.
//!
//! *When promises are made.* Each promise on a channel is later than the last, and none follows a promise
//! of the horizon. With [`Nulls::Lazy`], a partition promises after each visit; it then has nothing left
//! that it could execute. With [`Nulls::Demand`], it promises in three cases: together with events; when
//! the receiver is blocked by this channel and has requested a promise; and to promise the horizon.
//!
//! *Controllers.* A global event that a controller requests at *t* happens at *t* + control delay, at a
//! cut. So a partition with a controller promises all other partitions the earliest time of such a global
//! event. The partition itself executes no further than the control delay past its next event. A request
//! lowers the horizon before the promise is made that would let others pass the request. A request sends no
//! event. So these promises bound how far the others execute, but not what they promise.
//!
//! *Invariants.* I1: no event arrives at a partition below the bound that the partition has executed to.
//! I2: between cuts, promises on a channel only rise. I3: keys increase along an LP's history. I4: a
//! request never lowers the horizon below a time that some partition has executed to; a stop does.
//!
//! *Why it is correct.* A partition executes nothing before the earliest of its next event and its clocks.
//! Its events arrive at least the lookahead later. Events are sent before the promise that covers them, and
//! clocks are read before the arrived events are received. So I1 holds.
//!
//! *Why it does not stop.* Suppose that all workers wait and some partitions are short of the horizon. Take
//! the partition whose next event or earliest clock is lowest.
//!
//! - If the lowest is an event, no control promise is in its way, because those lie a control delay above
//!   the lowest time of all. So the partition can execute the event.
//! - Else the partition waits for a clock. The sender of that channel has nothing lower, and has seen any
//!   request. It has promised that time, or the start of its window, plus the lookahead. That is more than
//!   the clock shows, because no window is wider than the lookahead.
//!
//! A waiting worker has been notified of all clocks, requests and changes of the horizon that it has not
//! seen; the doc of [`EventCount`](parades_sync::event_count::EventCount) gives the reason. So the lowest
//! time rises by a lookahead at a time, up to the horizon.
//!
//! *One worker.* If there is a single partition, the leader goes from cut to cut alone, as under `window`.
//!
//! *A stop.* If the user stops the run, a worker lowers the horizon to zero. All workers then meet in a cut,
//! in which partitions differ in how far they have executed. The leader ends the run at the earliest time
//! that no partition has passed, and those that are behind execute up to there.
//!
//! *Failures.* A partition that has failed executes nothing more, and promises like an idle partition. The
//! horizon drops to just after the failure. The events that others execute until then may fail at an
//! earlier place. The earliest failure is the run's.
//!
//! *Cost.* An idle time *T* costs up to *T/L* null messages on each channel of lookahead *L*: *n·T/L* for
//! *n* partitions in a ring, fewer if one worker owns several neighbours. `window` skips idle time at once.
//! If any LP may send to any other, there is a channel for each pair of partitions. So there each worker
//! has one partition, unless the settings ask for more. Channels of lookahead zero are inside partitions.
//!
//! *References.* K. M. Chandy, J. Misra, *Distributed simulation: a case study in design and verification
//! of distributed programs*, IEEE TSE 5, 1979; R. Bryant, *Simulation of packet communication architecture
//! computer systems*, MIT, 1977; W. Su, C. Seitz, *Variants of the Chandy-Misra-Bryant distributed
//! discrete-event simulation algorithm*, SCS Multiconference on Distributed Simulation, 1989 (lazy and
//! demanded null messages).
//!
//! *Read next*: `null_message/visit.rs`, the steps; [`parades_sync::event_count`], how workers wait.

mod pace;
mod routes;
mod visit;
mod worker;

use crate::balance::Balance;
use crate::partition::{Partitioning, Placing};
use crate::peers::{Alone, OfRank, Peers, Ranks, Seat, lost, on_ranked, sum};
use crate::retreat::Retreats;
use crate::window::leader::Leader;
use crate::window::plan::Plan;
use crate::window::{self, Crew, Order};
use crate::workers::{Alarm, lock, on_all_workers};
use pace::Pace;
use parades_core::any_model::{AnyModel, AnyWire, WireModel, with_model};
use parades_core::cut::{Reached, Span};
use parades_core::error::Error;
use parades_core::event::LpId;
use parades_core::model::Model;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use parades_sync::barrier::{BarrierKind, Broken};
use parades_transport::{Conservative, Fabric, Promising, Summary, Threads};
use routes::Routes;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use worker::Worker;

/// The settings of a run. None of them changes the results.
///
/// ```
/// use parades_engine::null_message::{Nulls, Settings};
/// assert_eq!(Settings::of_threads(2).nulls, Nulls::default());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Worker threads.
    pub threads: usize,
    /// The most partitions. By default the channels and the number of threads decide.
    pub partitions: Option<u32>,
    /// Channels of a shorter lookahead than this are never cut.
    pub least_lookahead: Option<Delay>,
    /// The facts by which LPs are placed on partitions, and partitions on ranks.
    pub placing: Placing,
    /// The order in which a partition executes its events.
    pub order: Order,
    /// The time when null messages are sent.
    pub nulls: Nulls,
    /// The rule by which the run retreats to one partition and one worker, and returns to several.
    pub retreats: Retreats,
    /// The rule by which LPs and partitions move to other workers.
    pub balance: Balance,
    /// True if each worker is bound to a core of its own, as long as there are enough cores.
    pub pinned: bool,
}

/// The time when null messages are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nulls {
    /// When a partition has nothing left to execute.
    #[default]
    Lazy,
    /// When the receiver asks, because it has nothing left to execute.
    Demand,
}

/// The most partitions of a worker, if channels are declared by pair and the settings name no number.
const PARTITIONS_PER_WORKER: u32 = 4;

impl Settings {
    /// Returns the defaults for `threads` threads.
    pub fn of_threads(threads: usize) -> Settings {
        Settings {
            threads,
            partitions: None,
            least_lookahead: None,
            placing: Placing::default(),
            order: Order::Measured,
            nulls: Nulls::default(),
            retreats: Retreats::WhereFaster,
            balance: Balance::default(),
            pinned: false,
        }
    }

    /// Returns the settings of the parts that are shared with `window`.
    fn for_window(&self, partitions: Option<u32>) -> window::Settings {
        let Settings { threads, least_lookahead, placing, order, retreats, balance, pinned, .. } = *self;
        let defaults = window::Settings::of_threads(threads);
        let reach = window::Reach::Common; // Each partition waits for the promises made to it, not for a bound.
        window::Settings { partitions, least_lookahead, placing, order, reach, retreats, balance, pinned, ..defaults }
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
/// The earliest error of the run, or an error that the model finds at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| run_any(model, options, settings))
}

/// Does the same as [`run`], for a model of any type.
///
/// # Errors
///
/// As [`run`].
pub fn run_any<'k>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    settings: &Settings,
) -> Result<Outcome, Error> {
    advance(model, options.into(), settings).map(Reached::end)
}

/// Runs a span of a run, as [`sequential::advance`](crate::sequential::advance).
///
/// # Errors
///
/// As [`run`].
pub fn advance<'k>(model: &'k dyn AnyModel<'k>, span: Span<'k>, settings: &Settings) -> Result<Reached<'k>, Error> {
    let (partitions, timesheets) = (partitions_max(settings), span.options.timesheets.clone());
    advance_over(model, span, settings, &|workers| {
        Arc::new(Threads::new(workers, partitions, BarrierKind::default()).timed(timesheets.clone()))
    })
}

/// Returns the most partitions that a run with these settings can have.
pub fn partitions_max(settings: &Settings) -> u32 {
    window::partitions_max(&settings.for_window(settings.partitions))
}

/// Runs a model by null messages over a transport, as [`window::run_over`] does in windows.
///
/// # Errors
///
/// As [`run`].
pub fn run_over<'k>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    settings: &Settings,
    connect: &dyn Fn(usize) -> Arc<dyn Promising<'k> + 'k>,
) -> Result<Outcome, Error> {
    advance_over(model, options.into(), settings, connect).map(Reached::end)
}

fn advance_over<'k>(
    model: &'k dyn AnyModel<'k>,
    span: Span<'k>,
    settings: &Settings,
    connect: &dyn Fn(usize) -> Arc<dyn Promising<'k> + 'k>,
) -> Result<Reached<'k>, Error> {
    let world = World::of_span(model, &span)?;
    let (shared, partitioning) = partition(&world, settings, 1);
    let workers = settings.threads.min(partitioning.partitions() as usize).max(1);
    let transport = connect(workers);
    let seat = Seat { transport: Arc::clone(&transport) as _, peers: Arc::new(Alone) };
    let (crew, leader) = window::assemble(model, span, world, &partitioning, &shared, seat, workers)?;
    run_crew(crew, transport, leader, settings.nulls).map(|reached| reached.expect("the only rank has the outcome"))
}

/// Runs `model` by null messages as one of several ranks, as [`window::run_rank`] does in windows.
///
/// # Errors
///
/// As [`run`], on every rank; a rank that is lost.
pub fn run_rank<M: WireModel>(
    model: &M,
    options: RunOptions<'_>,
    settings: &Settings,
    fabric: Box<dyn Fabric>,
) -> OfRank {
    with_model(model, options, |model, options| run_any_rank(model, options.into(), settings, fabric))
}

/// Does the same as [`run_rank`], for a model of any type, from the start or from a cut to the end. All ranks
/// are given the same cut.
///
/// # Errors
///
/// As [`run_rank`].
pub fn run_any_rank<'k>(
    model: &'k dyn AnyWire<'k>,
    span: Span<'k>,
    settings: &Settings,
    fabric: Box<dyn Fabric>,
) -> OfRank {
    let of_all = Settings { threads: settings.threads * fabric.ranks(), ..*settings };
    let threads = Threads::new(settings.threads, partitions_max(&of_all), BarrierKind::default());
    let timesheets = span.options.timesheets.clone();
    on_ranked::<Conservative>(model, fabric, threads, settings.threads, timesheets, |ranked| {
        let world = World::of_span(model, &span)?;
        let settings = Settings { retreats: Retreats::Never, ..*settings };
        let peers = Arc::new(Ranks { group: Arc::clone(&ranked) as _, model });
        let (shared, partitioning) = partition(&world, &settings, peers.ranks());
        let seat = Seat { transport: Arc::clone(&ranked) as _, peers };
        let (crew, leader) = window::assemble(model, span, world, &partitioning, &shared, seat, settings.threads)?;
        run_crew(crew, ranked, leader, settings.nulls).map(|reached| reached.map(Reached::end))
    })
}

/// Returns the partitions to begin with, and the settings of the parts that are shared with `window`.
fn partition(world: &World, settings: &Settings, ranks: usize) -> (window::Settings, Partitioning) {
    let all = Settings { threads: settings.threads * ranks, ..*settings };
    let partitions = settings.partitions.unwrap_or_else(|| usual_partitions(world, &all));
    let shared = settings.for_window(Some(partitions));
    let partitioning = window::first_partition(world, &shared, ranks);
    (shared, partitioning)
}

/// Runs the workers of this rank, and concludes the run.
fn run_crew<'k>(
    crew: Crew<'k>,
    transport: Arc<dyn Promising<'k> + 'k>,
    leader: Leader<'k>,
    nulls: Nulls,
) -> Result<Option<Reached<'k>>, Error> {
    // A worker may be busy with promises alone.
    let leader = leader.ignoring_busyness();
    let plan = Arc::clone(&lock(&crew.orders).plan);
    let routes = Arc::new(Routes::new(&plan, &crew.read_world()));
    transport.settle_clocks(&routes.clocks());
    let run = Run {
        nulls,
        transport,
        leg: Mutex::new(Leg { plan, routes, from: Time::ZERO, horizon: Time::ZERO, ending: false }),
        pace: Mutex::new(Pace::new(&crew, leader.course.has_umpire())),
        counts: Counts::default(),
        crew,
    };
    run.all(leader)
}

/// Returns the greatest number of partitions for settings that do not give one.
fn usual_partitions(world: &World, settings: &Settings) -> u32 {
    let threads = u32::try_from(settings.threads).unwrap_or(u32::MAX).max(1);
    let anyone = (0..world.lps()).any(|lp| world.channels().lookahead_to_anyone(LpId(lp)).is_some());
    if anyone || threads == 1 { threads } else { threads.saturating_mul(PARTITIONS_PER_WORKER) }
}

/// The state that the workers of a run share.
struct Run<'k> {
    crew: Crew<'k>,
    /// The same transport as the crew's.
    transport: Arc<dyn Promising<'k> + 'k>,
    nulls: Nulls,
    leg: Mutex<Leg>,
    pace: Mutex<Pace>,
    counts: Counts,
}

/// The state that is fixed from one cut to the next.
#[derive(Clone, Debug)]
struct Leg {
    plan: Arc<Plan>,
    routes: Arc<Routes>,
    /// The time of the last cut: everything before it has been executed.
    from: Time,
    /// The horizon that the leader has set.
    horizon: Time,
    /// True if the user has stopped the run, and the leader knows its end.
    ending: bool,
}

/// The horizon that brings all workers to a cut, wherever they are, since the user has stopped the run.
const STOPPED: Time = Time::ZERO;

/// Counts of all workers together. A worker adds its own when it comes to a cut.
#[derive(Debug, Default)]
struct Counts {
    null_messages: AtomicU64,
    messages: AtomicU64,
    blocked: AtomicU64,
    cuts: AtomicU64,
}

impl<'k> Run<'k> {
    /// Runs all workers.
    fn all(&self, leader: Leader<'k>) -> Result<Option<Reached<'k>>, Error> {
        let (workers, transport) = (self.crew.ledgers.len(), &*self.crew.seat.transport);
        let (mut leader, mut reached) = (Some(leader), None);
        // All workers begin by this plan. A leader that goes on alone may have another plan before the thread
        // of the last worker has begun.
        let first = &Arc::clone(&lock(&self.crew.orders).plan);
        let mut lead = || {
            let _alarm = Alarm(transport);
            let mut leader = leader.take().expect("it leads once");
            Worker::start(self, 0, first).lead(&mut leader)?;
            reached = Some(leader.conclude(&self.crew));
            self.crew.drop_own_lps(0)
        };
        let follow = |number| {
            let _begun = self.crew.timekeeper.begin(number);
            let _alarm = Alarm(transport);
            Worker::start(self, number, first).follow()?;
            self.crew.drop_own_lps(number)
        };
        let end = on_all_workers(workers, self.crew.settings.pinned, &|| transport.break_up(), &mut lead, &follow)?;
        end.map_err(|Broken| lost(transport))?;
        let mut outcome = match reached.expect("the leader has come to the end")? {
            Some(Reached::End(outcome)) => outcome,
            other => return Ok(other),
        };
        // Ordering: Relaxed; the other threads have been joined.
        let counts = &self.counts;
        let count = |name, count: &AtomicU64| (name, count.load(Ordering::Relaxed) as f64);
        outcome.engine_stats.retain(|(name, _)| *name != "windows");
        outcome.engine_stats.push(count("null_messages", &counts.null_messages));
        outcome.engine_stats.push(count("messages", &counts.messages));
        outcome.engine_stats.push(count("blocked", &counts.blocked));
        Ok(Some(Reached::End(outcome)))
    }

    /// Executes a cut as the leader: does the same as under `window`, and sets the next horizon.
    fn execute_cut(&self, leader: &mut Leader<'k>, all: &Summary) -> Result<(), Broken> {
        let Run { transport, crew, .. } = self;
        let reached = match transport.horizon() {
            STOPPED => lock(&self.leg).horizon,
            horizon => horizon,
        };
        // Ordering: Relaxed, here and below. All other workers are at the cut. The exchanges before and
        // after the cut publish the stores of each.
        if self.counts.cuts.fetch_add(1, Ordering::Relaxed) > 0 {
            // Until now the leader has waited for the last of the others.
            leader.stopwatch.start_work();
            leader.advance_to(reached, &Summary { next: reached, ..*all });
        }
        leader.execute_cut(&self.crew, all)?;
        let orders = lock(&self.crew.orders).clone();
        if orders.over {
            return Ok(());
        }
        let mut leg = lock(&self.leg);
        if !Arc::ptr_eq(&leg.plan, &orders.plan) {
            leg.routes = Arc::new(Routes::new(&orders.plan, &self.crew.read_world()));
            lock(&self.pace).restart(&self.crew);
            leg.plan = orders.plan;
            transport.settle_clocks(&leg.routes.clocks());
        }
        (leg.from, leg.ending) = (leader.course.bound, orders.ending);
        leg.routes.reset(leg.from);
        let nulls = sum(&crew.seat.peers.share_words(&[self.counts.null_messages.load(Ordering::Relaxed)])?, 0);
        let horizon = lock(&self.pace).next(leg.from, reached, all.events, nulls).min(orders.horizon);
        leg.horizon = horizon;
        transport.set_horizon(horizon);
        Ok(())
    }
}
