//! `window`: partitions execute every event below a bound, then exchange.
//!
//! *Idea.* An event executed at t makes no event for another partition before t + lookahead. So each partition may execute by itself all
//! that lies below the least such time. Inside a partition the same holds between LPs, whose lookahead is shorter: within a window no wider than
//! that, the LPs are executed one after another, which the cache likes better than the order of time.
//!
//! *Protocol.* (1) *Exchange*: a barrier, and a reduction to the least next event (LBTS), sent ones included. (2) The *bound* is the least of
//! LBTS + lookahead, LBTS + control delay if there are controllers, what the transport holds back, and the *horizon*: the next global event or the
//! end. (3) The workers take partitions, receive what has arrived for them, and *execute before the bound*. (4) When nothing is left before the
//! horizon, or something needs every LP at rest, all *rest*: the leader executes global events, writes the trace, plans anew.
//!
//! *Invariants.* I1: no event arrives below a bound that was executed to. I2: bounds never decrease. I3: keys increase along an LP's history.
//!
//! *Why it is correct.* What a partition executes before the bound is all that it will ever have to, by I1; so its LPs see the sequential order.
//! The least pending event is before the bound unless the transport holds something back, which it does for finitely many steps.
//!
//! *One worker.* A plan may have a single partition, where several workers do not pay. The leader then goes on alone: it exchanges with nobody, and rests by
//! itself, until there is another plan, or the run is over. The others wait for that in the exchange that ends a rest.
//!
//! *Failures.* The first failure of a partition ends the partition, and lowers the horizon to just after it: what others execute until then may
//! fail at a lesser place. The least is the run's.
//!
//! *References.* B. Lubachevsky, *Efficient distributed event-driven simulations of multiple-loop networks*, CACM 32, 1989 (bounded lag); D. Nicol, *The
//! cost of conservative synchronization in parallel discrete event simulations*, JACM 40, 1993; G. Seguin, *Multi-core parallelism for ns-3
//! simulator*, INRIA, 2009.
//!
//! *Read next*: `window/leader.rs`, what happens while all rest; `window/part.rs`, the loop that executes.

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
use crate::retreat::Retreats;
use crate::seats;
use crate::transport::{Summary, Threads, Transport};
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
use part::Part;
use plan::Plan;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// How a run is executed. Nothing of it changes the answer.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Worker threads.
    pub threads: usize,
    /// How they wait for each other.
    pub barrier: BarrierKind,
    /// Partitions at most; by default as many as the channels and the threads suggest.
    pub partitions: Option<u32>,
    /// Channels of a shorter lookahead than this are never cut.
    pub least_lookahead: Option<Delay>,
    /// In what order a partition executes.
    pub order: Order,
    /// The share of the work that is dedicated to workers; the rest is taken by whoever is free. From 0 to 1.
    pub dedicated: f64,
    /// How many sets the rest is in; a worker takes from its own first. At most as many as workers.
    pub sets: usize,
    /// How it is taken from a set.
    pub taking: Taking,
    /// Whether the run goes on in one partition, with one worker, while that is faster than with several.
    pub retreats: Retreats,
    /// Whether each worker is bound to a core of its own, where there are enough.
    pub pinned: bool,
}

/// In what order a partition executes the events of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whichever is found to be faster.
    Measured,
    /// By time.
    Time,
    /// LP by LP wherever lookahead allows it.
    Lp,
    /// By time, then LP by LP, and so on, a partition having been visited so often each time: for tests.
    Every(u32),
}

impl Settings {
    /// The defaults, on so many threads.
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
/// The least error of the run, and what the model finds wrong at its end.
pub fn run<M: Model>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    let partitions = partitions_max(settings);
    let timesheets = options.timesheets.clone();
    let transport = |workers| Threads::new(workers, partitions, settings.barrier).timed(timesheets.clone());
    run_over(model, options, settings, &transport)
}

/// The most partitions that a run with these settings can have.
pub fn partitions_max(settings: &Settings) -> u32 {
    let usual = workers_at_most(settings).saturating_mul(crate::partition::MOST_PER_WORKER);
    settings.partitions.unwrap_or(0).max(usual)
}

/// Runs `model` in windows over a transport, made for as many workers as there is work for.
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
    let (crew, leader) = assemble(model, options, world, settings, transport);
    crew.run(leader)
}

/// The workers of a run, and what the leader knows.
pub(crate) fn assemble<'a, M: Model, T>(
    model: &'a M,
    options: RunOptions<'a>,
    world: World,
    settings: &Settings,
    transport: &dyn Fn(usize) -> T,
) -> (Crew<'a, M, T>, Leader<'a, M>) {
    let control = options.control;
    let partitioning = first_partition(&world, settings);
    let workers = settings.threads.min(partitioning.partitions() as usize).max(1);
    let leader = Leader::new(model, options, (workers, settings.retreats));
    let mut members = partitioning.members().into_iter();
    let part = |number| Mutex::new(Part::new(number, members.next().unwrap_or_default(), model.metrics()));
    let parts = (0..partitions_max(settings).min(world.lps())).map(part).collect();
    let plan = Arc::new(Plan::first(&partitioning, workers, &world));
    let orders = Orders { horizon: Time::ZERO, plan, window: 0, over: false };
    let crew = Crew {
        model,
        lps: world.lps(),
        settings: *settings,
        traces: leader.course.traces(),
        control,
        transport: transport(workers),
        world: RwLock::new(world),
        parts,
        ledgers: (0..workers).map(|_| Mutex::default()).collect(),
        executed: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        orders: Mutex::new(orders),
    };
    (crew, leader)
}

fn workers_at_most(settings: &Settings) -> u32 {
    u32::try_from(settings.threads).unwrap_or(u32::MAX)
}

/// The partitions to begin with. One worker needs no others, and to look for some that fit its cache takes time: only a long run is worth it.
fn first_partition(world: &World, settings: &Settings) -> Partitioning {
    match (settings.threads, settings.partitions) {
        (1, None) => Partitioning::one(world.lps()),
        _ => partition(world, settings, Wish::of_workers(workers_at_most(settings))),
    }
}

/// The partitions that suit the channels, the number of workers, and what has been measured.
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

/// What all workers follow until they rest again.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    /// The next global event, or the end.
    pub(crate) horizon: Time,
    pub(crate) plan: Arc<Plan>,
    /// The next window's number.
    pub(crate) window: u64,
    /// The run is over.
    pub(crate) over: bool,
}

/// What the workers of a run share.
pub(crate) struct Crew<'a, M: Model, T> {
    pub(crate) model: &'a M,
    pub(crate) lps: u32,
    pub(crate) settings: Settings,
    pub(crate) traces: bool,
    /// How the run is stopped while its LPs are set up.
    pub(crate) control: Option<&'a Control>,
    pub(crate) transport: T,
    /// Changed only while all rest.
    world: RwLock<World>,
    pub(crate) parts: Vec<Mutex<Part<M>>>,
    /// What each worker left behind when it came to rest.
    pub(crate) ledgers: Vec<Mutex<Option<Ledger<M>>>>,
    /// How many events each worker had executed when it came to rest.
    pub(crate) executed: Vec<AtomicU64>,
    pub(crate) orders: Mutex<Orders>,
}

/// What a worker does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Executes before the bound.
    Execute(Time),
    /// Waits until the leader has seen to what needs every LP at rest.
    Cut,
}

impl Orders {
    /// Whether the leader goes on alone: the others wait until that is no longer so.
    pub(crate) fn are_for_one(&self) -> bool {
        self.plan.is_of_one() && !self.over
    }

    /// What follows from an exchange: the same for all, unless the leader goes on alone.
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
        // Windows that end with those of the partitions are not opened twice.
        let even = self.plan.grid.map_or(free, |grid| grid.floor(free));
        let free = if even > lbts { even } else { free };
        let bound = free.min(all.in_flight).min(horizon);
        pace.width = bound.since(lbts);
        Step::Execute(bound)
    }
}

impl<M: Model, T: Transport<M::Message>> Crew<'_, M, T> {
    /// Runs all workers.
    fn run(&self, mut leader: Leader<'_, M>) -> Result<Outcome, Error> {
        let workers = (self.ledgers.len(), self.settings.pinned);
        on_all_workers(workers, &|| self.transport.break_up(), &mut || self.work(0, Some(&mut leader)), &|worker| {
            self.work(worker, None)
        })?;
        leader.conclude(self)
    }

    /// A worker's life.
    fn work(&self, worker: usize, mut leader: Option<&mut Leader<'_, M>>) -> Result<(), Broken> {
        let _alarm = Alarm::of(&self.transport);
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
            let alone = orders.plan.is_of_one();
            let all = match &leader {
                _ if !alone => self.transport.exchange(worker, &mine)?,
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
                        self.transport.exchange(worker, &Summary::NOTHING)?;
                    }
                    let mut mine = Summary { events: hand.events, ..Summary::NOTHING };
                    let mut stays_alone = false;
                    if let Some(leader) = &mut leader {
                        leader.stopwatch.start_work();
                        mine.next = leader.execute_cut(self, &all);
                        stays_alone = alone && lock(&self.orders).are_for_one();
                    }
                    if !stays_alone {
                        let told = Summary { events: hand.events, ..Summary::NOTHING };
                        events_of_others = self.transport.exchange(worker, &told)?.events - hand.events;
                    }
                    let plan = Arc::clone(&orders.plan);
                    orders = lock(&self.orders).clone();
                    if orders.over {
                        return Ok(());
                    }
                    if !Arc::ptr_eq(&plan, &orders.plan) {
                        hand.set_placement(&orders.plan.placement);
                    }
                    if alone != orders.plan.is_of_one() {
                        // Who goes on alone does so once all know.
                        if !alone {
                            self.transport.exchange(worker, &Summary::NOTHING)?;
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

    /// Leaves what the leader sees to while all rest.
    pub(crate) fn deposit_ledger(&self, hand: &mut Hand<M>) {
        *lock(&self.ledgers[hand.worker]) = Some(hand.ledger.take());
        // Ordering: Relaxed; who reads it has met this worker since, or joined it.
        self.executed[hand.worker].store(hand.events, Ordering::Relaxed);
    }

    /// Sets up the LPs of the partitions that are this worker's to begin with; its memory is then near it.
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
        part.order_by(self.settings.order, plan, None);
        let mut effects = hand.effects.lend(part.number, &mut part.pending);
        part.make_room(members.len());
        for id in members {
            if self.control.is_some_and(Control::is_stopped) {
                break; // The leader ends the run.
            }
            part.lps.extend(Lp::start(self.model, world, id, &mut effects));
            let place = Place { instant: Instant::START, lp: Some(id), event: None };
            if effects.beyond_sends && hand.ledger.collect_at(place, id, &mut effects, &mut part.metrics) {
                break; // It has ended the run; those after it need not start.
            }
            effects.notes.clear();
        }
        hand.effects.reclaim(effects, &mut part.pending);
        part.suit();
        part.look();
    }

    pub(crate) fn read_world(&self) -> std::sync::RwLockReadGuard<'_, World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes what this worker takes of a window.
    fn execute(&self, bound: Time, window: u64, plan: &Plan, hand: &mut Hand<M>) -> Summary {
        let world = self.read_world();
        let mut next = Time::MAX;
        plan.each_of(hand.worker, window, |number| {
            let mut part = lock(&self.parts[number as usize]);
            part.visit(|part| {
                self.transport.receive(hand.worker, number, false, &mut |arrived| part.push_all(arrived));
                part.execute_before(bound, (self.model, &world), hand);
            });
            next = next.min(part.next);
        });
        let sent = hand.flush(&self.transport);
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

/// The ids of all LPs.
fn ids(lps: u32) -> impl Iterator<Item = LpId> {
    (0..lps).map(LpId)
}
