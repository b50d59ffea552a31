//! `window`: partitions execute every event below a bound, and then exchange events.
//!
//! *Idea.* An event executed at *t* sends nothing to another partition before *t* + lookahead. So each
//! partition may execute by itself all events below the earliest such time. Inside a partition the same
//! holds between LPs, whose lookahead is shorter. In a window no wider than that, the LPs are executed one
//! after another. This order suits the cache better than the order of time.
//!
//! *Protocol.*
//!
//! 1. *Exchange*: a barrier, and a reduction to the LBTS, the earliest of all pending events and events sent.
//! 2. The *bound* is the earliest of four times: LBTS + lookahead; LBTS + control delay, if there are
//!    controllers; events that the transport holds back; and the *horizon*, which is the next global event
//!    or the end of the run.
//! 3. Each worker takes partitions, receives the events that have arrived for them, and *executes before*
//!    the bound.
//! 4. When no event is left before the horizon, or some work needs every LP at rest, all workers meet in a
//!    *cut*. There the leader executes global events, writes the trace, and may make a new plan.
//!
//! *Invariants.* I1: no event arrives below a bound that was executed to. I2: bounds never decrease. I3:
//! keys increase along an LP's history.
//!
//! *Why it is correct.* By I1, the events that a partition holds before the bound are all that it will ever
//! have there. So its LPs see the sequential order. The earliest pending event is before the bound, unless
//! the transport holds something back; the transport does so for finitely many steps. So the run makes
//! progress.
//!
//! *One worker.* A plan has a single partition if several workers do not pay. The leader then goes on
//! alone: it exchanges with nobody, and executes cuts by itself, until there is another plan or the run is
//! over. Meanwhile the others wait in the exchange that ends a cut.
//!
//! *Failures.* The first failure of a partition stops that partition, and lowers the horizon to just after
//! the failure. The events that others execute until then may fail at an earlier place. The earliest
//! failure is the run's.
//!
//! *References.* B. Lubachevsky, *Efficient distributed event-driven simulations of multiple-loop
//! networks*, CACM 32, 1989 (bounded lag); D. Nicol, *The cost of conservative synchronization in parallel
//! discrete event simulations*, JACM 40, 1993; G. Seguin, *Multi-core parallelism for ns-3 simulator*,
//! INRIA, 2009.
//!
//! *Read next*: `window/leader.rs`, the work at a cut; `window/part.rs`, the loop that executes.

pub(crate) mod hand;
pub(crate) mod leader;
mod order;
mod pace;
pub(crate) mod part;
pub(crate) mod plan;
mod review;
mod shared;

pub use shared::Taking;

use crate::ledger::Ledger;
use crate::partition::{Partitioning, Wish};
use crate::peers::{Alone, Ranks, Seat, WireModel, lost, sum};
use crate::retreat::Retreats;
use crate::seats;
use crate::workers::{Alarm, lock, on_all_workers};
use hand::Hand;
use leader::Leader;
use pace::Pace;
use parades_core::error::{Error, Place};
use parades_core::event::LpId;
use parades_core::lp::Lp;
use parades_core::model::Model;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::{Delay, Instant, Time};
use parades_core::world::World;
use parades_sync::barrier::{BarrierKind, Broken};
use parades_transport::{Group, Summary, Threads, Transport};
use part::Part;
use plan::{Plan, Workers};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The settings of a run. None of them changes the results.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Worker threads.
    pub threads: usize,
    /// The kind of barrier by which the workers wait for each other.
    pub barrier: BarrierKind,
    /// The most partitions. By default the channels and the number of threads decide.
    pub partitions: Option<u32>,
    /// Channels of a shorter lookahead than this are never cut.
    pub least_lookahead: Option<Delay>,
    /// The order in which a partition executes its events.
    pub order: Order,
    /// The share of the work whose partitions are dedicated to workers, from 0 to 1. The other partitions
    /// are shared.
    pub dedicated: f64,
    /// The number of sets of shared partitions, at most the number of workers. A worker takes from its own
    /// set first.
    pub sets: usize,
    /// The way in which a worker takes a partition from a set.
    pub taking: Taking,
    /// The rule by which the run retreats to one partition and one worker, and returns to several.
    pub retreats: Retreats,
    /// True if each worker is bound to a core of its own, as long as there are enough cores.
    pub pinned: bool,
}

/// The order in which a partition executes the events of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order that is measured to be faster.
    Measured,
    /// The order of time.
    Time,
    /// LP by LP, wherever lookahead allows this order.
    Lp,
    /// By time and LP by LP in turn, each for this number of visits to the partition. For tests.
    Every(u32),
}

impl Settings {
    /// Returns the defaults for `threads` threads.
    pub fn of_threads(threads: usize) -> Settings {
        Settings {
            threads,
            barrier: BarrierKind::default(),
            partitions: None,
            least_lookahead: None,
            order: Order::Measured,
            dedicated: 1.0,
            sets: threads,
            taking: Taking::default(),
            retreats: Retreats::WhereFaster,
            pinned: false,
        }
    }
}

/// Runs `model` in windows.
///
/// # Errors
///
/// The earliest error of the run, or an error that the model finds at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    let partitions = partitions_max(settings);
    let timesheets = options.timesheets.clone();
    run_over(model, options, settings, &|workers| {
        Box::new(Threads::new(workers, partitions, settings.barrier).timed(timesheets.clone()))
    })
}

/// Returns the most partitions that a run with these settings can have.
pub fn partitions_max(settings: &Settings) -> u32 {
    let usual = workers_at_most(settings).saturating_mul(crate::partition::MOST_PER_WORKER);
    settings.partitions.unwrap_or(0).max(usual)
}

/// Runs `model` in windows over a transport. `transport` is called with the number of workers.
///
/// # Errors
///
/// As [`run`].
pub fn run_over<M: Model>(
    model: &M,
    options: RunOptions<'_>,
    settings: &Settings,
    transport: &dyn Fn(usize) -> Box<dyn Transport<M::Message>>,
) -> Result<Outcome, Error> {
    let world = World::new(model, &options)?;
    let partitioning = first_partition(&world, settings, 1);
    let workers = settings.threads.min(partitioning.partitions() as usize).max(1);
    let transport = transport(workers);
    let seat = Seat { transport: &*transport, peers: &Alone };
    let (crew, leader) = assemble(model, options, (world, &partitioning), settings, (seat, workers))?;
    crew.run(leader).map(|outcome| outcome.expect("the only rank has the outcome"))
}

/// Runs `model` in windows as one of several ranks, each with `settings.threads` workers.
///
/// All ranks are given the same model, settings and options. Only rank 0 is given a tracer and the control of the
/// run. `transport` carries events between all workers of all ranks, and `group` is its other face: both are
/// usually one [`Ranked`](parades_transport::Ranked). LPs do not move between ranks, and the run does not retreat
/// to one worker.
///
/// Rank 0 returns the outcome; the other ranks return `None`.
///
/// # Errors
///
/// As [`run`], on every rank; a rank that is lost.
pub fn run_rank<M: WireModel>(
    model: &M,
    options: RunOptions<'_>,
    settings: &Settings,
    transport: &dyn Transport<M::Message>,
    group: &dyn Group,
) -> Result<Option<Outcome>, Error> {
    let world = World::new(model, &options)?;
    let partitioning = first_partition(&world, settings, group.ranks());
    let settings = Settings { retreats: Retreats::Never, ..*settings };
    let seat = Seat { transport, peers: &Ranks(group) };
    let (crew, leader) = assemble(model, options, (world, &partitioning), &settings, (seat, settings.threads))?;
    crew.run(leader)
}

/// Prepares a run: the state that its workers share, and its leader.
pub(crate) fn assemble<'a, M: Model>(
    model: &'a M,
    options: RunOptions<'a>,
    (world, partitioning): (World, &Partitioning),
    settings: &Settings,
    (seat, workers): (Seat<'a, M, M::Message>, usize),
) -> Result<(Crew<'a, M>, Leader<'a, M>), Error> {
    let control = options.control;
    let leader = Leader::new(model, options, (workers, settings.retreats));
    // Every rank keeps the trace of its LPs if rank 0 writes one.
    let traces = seat.peers.share_words(&[u64::from(leader.course.traces())]).map_err(|Broken| lost(seat.transport))?;
    let mut members = partitioning.members().into_iter();
    let part = |number| Mutex::new(Part::new(number, members.next().unwrap_or_default(), model.metrics()));
    let parts = (0..partitions_max(settings).max(partitioning.partitions()).min(world.lps())).map(part).collect();
    let crew_of = Workers { here: workers, rank: seat.peers.rank(), ranks: seat.peers.ranks() };
    let plan = Arc::new(Plan::first(partitioning, crew_of, &world));
    seat.transport.settle(&plan.homes, &[]);
    let orders = Orders { horizon: Time::ZERO, plan, window: 0, over: false };
    let crew = Crew {
        model,
        lps: world.lps(),
        settings: *settings,
        traces: sum(&traces, 0) > 0,
        control,
        seat,
        world: RwLock::new(world),
        parts,
        ledgers: (0..workers).map(|_| Mutex::default()).collect(),
        executed: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        orders: Mutex::new(orders),
    };
    Ok((crew, leader))
}

fn workers_at_most(settings: &Settings) -> u32 {
    u32::try_from(settings.threads).unwrap_or(u32::MAX)
}

/// Returns the first partitioning. One worker needs no more than one partition. Partitions that fit its
/// cache take time to find, which only a long run is worth.
pub(crate) fn first_partition(world: &World, settings: &Settings, ranks: usize) -> Partitioning {
    match (settings.threads * ranks, settings.partitions) {
        (1, None) => Partitioning::one(world.lps()),
        (workers, _) => partition(world, settings, Wish::of_workers(u32::try_from(workers).unwrap_or(u32::MAX))),
    }
}

/// Returns the partitioning that suits the channels, the number of workers, and the measurements.
fn partition(world: &World, settings: &Settings, measured: Wish<'_>) -> Partitioning {
    let controllers = world.controllers();
    let wish = Wish {
        partitions: settings.partitions,
        least_lookahead: settings.least_lookahead,
        longest_window: (!controllers.lps.is_empty()).then_some(controllers.delay),
        ..measured
    };
    Partitioning::find(world.channels(), world.lps(), &wish)
}

/// The orders that all workers follow until the next cut.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    /// The time of the next global event, or the end of the run.
    pub(crate) horizon: Time,
    pub(crate) plan: Arc<Plan>,
    /// The number of the next window.
    pub(crate) window: u64,
    /// True if the run is over.
    pub(crate) over: bool,
}

/// The state that the workers of a run share.
pub(crate) struct Crew<'a, M: Model> {
    pub(crate) model: &'a M,
    pub(crate) lps: u32,
    pub(crate) settings: Settings,
    pub(crate) traces: bool,
    /// By this the user stops the run while its LPs are set up.
    pub(crate) control: Option<&'a Control>,
    /// The way to the workers of all ranks, and to their leaders.
    pub(crate) seat: Seat<'a, M, M::Message>,
    /// Changes only at a cut.
    world: RwLock<World>,
    pub(crate) parts: Vec<Mutex<Part<M>>>,
    /// By worker: the ledger that it has deposited at the last cut.
    pub(crate) ledgers: Vec<Mutex<Option<Ledger<M>>>>,
    /// By worker: the number of events that it had executed at the last cut.
    pub(crate) executed: Vec<AtomicU64>,
    pub(crate) orders: Mutex<Orders>,
}

/// The next step of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Executes before the bound.
    Execute(Time),
    /// Comes to a cut: the leader does the work that needs every LP at rest, and the others wait.
    Cut,
}

impl Orders {
    /// Returns true if the leader goes on alone, while the others wait.
    pub(crate) fn are_for_one(&self) -> bool {
        self.plan.has_one_partition() && !self.over
    }

    /// Returns the step that follows from an exchange. It is the same for all workers, unless the leader
    /// goes on alone.
    fn step(&self, all: &Summary, pace: &mut Pace) -> Step {
        let ps = Delay::from_ps(1);
        let horizon = self.horizon.min(all.failed.checked_add(ps).unwrap_or(Time::MAX));
        let lbts = all.next.min(all.in_flight);
        if all.wants_cut || lbts >= horizon {
            return Step::Cut;
        }
        let after = |delay: Option<Delay>| delay.and_then(|delay| lbts.checked_add(delay)).unwrap_or(Time::MAX);
        let free = after(self.plan.lookahead)
            .min(after(self.plan.control_delay))
            .min(after(Some(pace.next(all.events, self.plan.width))));
        // A bound on the grid spares the partitions from opening one of their windows twice.
        let even = self.plan.grid.map_or(free, |grid| grid.floor(free));
        let free = if even > lbts { even } else { free };
        let bound = free.min(all.in_flight).min(horizon);
        pace.width = bound.since(lbts);
        Step::Execute(bound)
    }
}

impl<M: Model> Crew<'_, M> {
    /// Runs all workers.
    fn run(&self, mut leader: Leader<'_, M>) -> Result<Option<Outcome>, Error> {
        let workers = (self.ledgers.len(), self.settings.pinned);
        let Seat { transport, .. } = self.seat;
        on_all_workers(workers, &|| transport.break_up(), &mut || self.work(0, Some(&mut leader)), &|worker| {
            self.work(worker, None)
        })?
        .map_err(|Broken| lost(transport))?;
        leader.conclude(self)
    }

    /// Runs one worker, from its start to the end of the run.
    fn work(&self, worker: usize, mut leader: Option<&mut Leader<'_, M>>) -> Result<(), Broken> {
        let Seat { transport, .. } = self.seat;
        let _alarm = Alarm(transport);
        let mut orders = lock(&self.orders).clone();
        let mut hand = Hand::new(worker, orders.plan.placement.clone(), self.traces);
        let mut mine = self.start(&mut hand, &orders.plan);
        mine.wants_cut = true;
        let mut pace = Pace::of(&orders.plan, 0);
        let mut window = 0;
        let mut events_of_others = 0;
        loop {
            seats::unbind_if_due();
            mine.wants_cut |= leader.as_deref().is_some_and(Leader::wants_cut);
            let alone = orders.plan.has_one_partition();
            let all = match &leader {
                _ if !alone => transport.exchange(worker, &mine)?,
                Some(_) => Summary { events: mine.events + events_of_others, ..mine },
                None => Summary { wants_cut: true, ..mine },
            };
            mine = match orders.step(&all, &mut pace) {
                Step::Execute(bound) => {
                    if let Some(leader) = &mut leader {
                        leader.stopwatch.start_work();
                        leader.advance_to(bound, &all);
                        orders.plan.reset(window + 1);
                    }
                    let mine = self.execute(bound, window, &orders.plan, &mut hand);
                    if let Some(leader) = &mut leader {
                        leader.stopwatch.start_wait();
                    }
                    window += 1;
                    mine
                }
                Step::Cut => {
                    self.deposit_ledger(&mut hand);
                    if !alone {
                        transport.exchange(worker, &Summary::NOTHING)?;
                    }
                    let mut mine = Summary { events: hand.events, ..Summary::NOTHING };
                    let mut stays_alone = false;
                    if let Some(leader) = &mut leader {
                        leader.stopwatch.start_work();
                        mine.next = leader.execute_cut(self, &all)?;
                        stays_alone = alone && lock(&self.orders).are_for_one();
                    }
                    if !stays_alone {
                        let counts = Summary { events: hand.events, ..Summary::NOTHING };
                        events_of_others = transport.exchange(worker, &counts)?.events - hand.events;
                    }
                    let plan = Arc::clone(&orders.plan);
                    orders = lock(&self.orders).clone();
                    if orders.over {
                        return Ok(());
                    }
                    if !Arc::ptr_eq(&plan, &orders.plan) {
                        hand.set_placement(&orders.plan.placement);
                    }
                    if alone != orders.plan.has_one_partition() {
                        // The leader must not go on alone before all have read the orders.
                        if !alone {
                            transport.exchange(worker, &Summary::NOTHING)?;
                        }
                        pace = Pace::of(&orders.plan, hand.events + events_of_others);
                    }
                    window = orders.window;
                    leader.iter_mut().for_each(|leader| leader.stopwatch.resume());
                    mine
                }
            };
        }
    }

    /// Deposits the worker's ledger, which the leader collects at the cut.
    pub(crate) fn deposit_ledger(&self, hand: &mut Hand<M>) {
        *lock(&self.ledgers[hand.worker]) = Some(hand.ledger.take());
        // Ordering: Relaxed; the reader has exchanged with this worker since, or has joined its thread.
        self.executed[hand.worker].store(hand.events, Ordering::Relaxed);
    }

    /// Starts the LPs of the partitions that the first plan dedicates to this worker.
    /// The worker itself allocates their memory, which is then near its core.
    pub(crate) fn start(&self, hand: &mut Hand<M>, plan: &Plan) -> Summary {
        let world = self.read_world();
        let mut next = Time::MAX;
        for &number in plan.own(hand.worker) {
            let mut part = lock(&self.parts[number as usize]);
            self.start_part(&mut part, &world, plan, hand);
            next = next.min(part.next);
        }
        self.summary(next, hand)
    }

    fn start_part(&self, part: &mut Part<M>, world: &World, plan: &Plan, hand: &mut Hand<M>) {
        let members = std::mem::take(&mut part.members);
        part.set_order(self.settings.order, plan, None);
        let mut effects = hand.effects.lend(part.number, &mut part.pending);
        part.reserve(members.len());
        for id in members {
            if self.control.is_some_and(Control::is_stopped) {
                break; // The leader ends the run.
            }
            part.lps.extend(Lp::start(self.model, world, id, &mut effects));
            let place = Place { instant: Instant::START, lp: Some(id), event: None };
            if effects.beyond_sends && hand.ledger.collect_at(place, id, &mut effects, &mut part.metrics) {
                break; // The failure ends the run. The remaining LPs need not start.
            }
            effects.notes.clear();
        }
        hand.effects.reclaim(effects, &mut part.pending);
        part.guess_order();
        part.update_next();
    }

    pub(crate) fn read_world(&self) -> std::sync::RwLockReadGuard<'_, World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a window: this worker's dedicated partitions, and the shared partitions that it takes.
    fn execute(&self, bound: Time, window: u64, plan: &Plan, hand: &mut Hand<M>) -> Summary {
        let world = self.read_world();
        let mut next = Time::MAX;
        plan.take_each(hand.worker, window, |number| {
            let mut part = lock(&self.parts[number as usize]);
            part.visit(|part| {
                self.seat.transport.receive(hand.worker, number, false, &mut |arrived| part.push_all(arrived));
                part.execute_before(bound, (self.model, &world), hand);
            });
            next = next.min(part.next);
        });
        let sent = hand.flush(self.seat.transport);
        self.summary(next.min(sent), hand)
    }

    fn summary(&self, next: Time, hand: &Hand<M>) -> Summary {
        Summary {
            next,
            failed: hand.ledger.failure.time(),
            events: hand.events,
            wants_cut: !hand.ledger.trace.is_empty() || !hand.ledger.requests.is_empty(),
            ..Summary::NOTHING
        }
    }
}

/// Returns the ids of all LPs.
fn ids(lps: u32) -> impl Iterator<Item = LpId> {
    (0..lps).map(LpId)
}
