//! `time-warp`: workers execute ahead of each other, and roll back.
//!
//! *Idea.* Nobody waits: a worker executes what it has, in the order of time. If an event turns out to be missing from an LP's past (a *straggler*), the LP
//! is rolled back to it, and what it sent is chased by anti-messages. What lies below the global virtual time (GVT) is committed, and its history forgotten.
//!
//! *Protocol.* A worker goes round: (1) if there is an outcome of the last offer, take it and *commit* below the new GVT; (2) *receive*; (3) if no offer is
//! out, and the worker has found nothing else to do or has executed so many events since the last, *offer* the least time of what waits here, and of what
//! was sent since the last offer; (4) *execute* a batch, at most so far ahead of GVT; (5) *send*. An anti-message is an event of the same key as its twin,
//! so the two come together when it is their turn: the twin is dropped, or its execution taken back. (6) When GVT has reached the *horizon*, the next
//! global event or the end, all *rest*: the leader executes global events.
//!
//! *GVT without stopping.* It is the least of all that is offered. A worker makes an offer only with the outcome of its last one in hand, and after it has
//! received. So what another sent before its last offer but one has arrived, and waits here or has been executed; what that one sent since is in
//! its own offer. What is sent after an offer comes of something that waited then, and is not before it.
//!
//! *Invariants.* I2: what is committed is never rolled back. I3: keys increase along an LP's history. I4: an anti-message annihilates exactly one event, of
//! its key and mark. I5: at a cut all has been committed, nothing from the horizon on has been executed, and nothing before it waits.
//!
//! *Requests.* Nothing is executed more than the control delay beyond GVT, nor from the least time on for which an execution, committed or not, has asked
//! for a global event. So nobody has passed a request when it is committed.
//!
//! *Loops.* What is executed ahead of what it lacks may send without delay in a circle, where anti-messages chase it and restore each LP just before it
//! comes round again. So where GVT stays at one time for long, nothing is executed beyond its round, and hence nothing taken back.
//!
//! *Failures.* An execution that failed sends nothing, and its LP waits behind it; it is an error if it comes to be committed. What waits behind it
//! does not hold back GVT, or that would never be. A committed failure ends the run just after its time; the least is the run's.
//!
//! *Timers.* Wakes are sent, and annihilated, like messages. A wake that came too early, or for nothing, changes its LP, and is taken back like an
//! execution, but does not count as one.
//!
//! *Memory.* Close to the limit workers execute less far ahead; beyond it what is ahead is rolled back, so that what it sent is annihilated
//! (cancelback). Only where the LPs and what has been sent for good do not fit does the run end.
//!
//! *One worker.* Where several do less than one would, the first goes on with all LPs while the others rest.
//!
//! *References.* D. Jefferson, *Virtual time*, ACM TOPLAS 7, 1985, and *Virtual time II: storage management in conservative and optimistic systems*, PODC,
//! 1990 (cancelback); R. Fujimoto, M. Hybinette, *Computing global virtual time in shared-memory multiprocessors*, ACM TOMACS 7, 1997; D. Nicol, X. Liu,
//! *The dark side of risk*, PADS, 1997 (loops); C. Carothers, D. Bauer, S. Pearce, *ROSS: a high-performance, low-memory, modular Time Warp system*, JPDC
//! 62, 2002.
//!
//! *Read next*: [`parades_core::ahead`], what waits; `time_warp/site.rs`, how one worker executes, takes back and commits.

mod coast;
mod history;
mod leader;
mod optimism;
mod reviewer;
mod site;

pub use parades_core::ahead::{Mark, Marked};
pub use reviewer::Retreats;

use crate::course::just_after;
use crate::ledger::{Ledger, Trace};
use crate::partition::{Partitioning, Wish};
use crate::seats;
use crate::stopwatch::{Timekeeper, timed};
use crate::transport::{Summary, Threads, Transport};
use crate::window::{Alarm, lock, on_all_workers};
use coast::Coast;
use leader::Leader;
use optimism::Optimism;
use parades_core::ahead::NEVER;
use parades_core::error::Error;
use parades_core::event::LpId;
use parades_core::placement::Placement;
use parades_core::random::Rng;
use parades_core::restore::Restorable;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::{Instant, Time};
use parades_core::timesheet::Spent;
use parades_core::world::World;
use parades_sync::barrier::{BarrierKind, Broken};
use reviewer::{Cost, Reviewer};
use site::Site;
use std::sync::{Mutex, PoisonError, RwLock};

/// How a run is executed. Nothing of it changes the answer.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Worker threads.
    pub threads: usize,
    /// How far ahead of GVT they execute.
    pub ahead: Ahead,
    /// How many executions of an LP one copy of its state has to do for, where the model restores by copy and nothing is traced: after a rollback those
    /// since the copy are executed anew (coast forward). As many as pay where there is no wish.
    pub copy_every: Option<u16>,
    /// Makes chosen workers fall behind now and then, by this seed, so that there is more to roll back: for tests.
    pub stalls: Option<u64>,
    /// Whether the run goes on with one worker while that is faster than with several.
    pub retreats: Retreats,
    /// Whether each worker is bound to a core of its own, where there are enough.
    pub pinned: bool,
}

/// How far ahead of GVT a worker executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// As far as pays, by what has to be taken back.
    Adaptive,
    /// So far that about so many events for each worker lie between.
    Events(u32),
    /// As far as there is something to execute.
    Unbounded,
}

impl Settings {
    /// The defaults, on so many threads.
    pub fn of_threads(threads: usize) -> Settings {
        Settings {
            threads,
            ahead: Ahead::Adaptive,
            copy_every: None,
            stalls: None,
            retreats: Retreats::WhereFaster,
            pinned: false,
        }
    }
}

/// Runs `model` optimistically.
///
/// # Errors
///
/// The least error of the run, and what the model finds wrong at its end.
pub fn run<M: Restorable>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    let timesheets = options.timesheets.clone();
    let transport =
        |workers, partitions| Threads::new(workers, partitions, BarrierKind::default()).timed(timesheets.clone());
    run_over(model, options, settings, &transport)
}

/// Runs `model` optimistically over a transport, made for so many workers and as many partitions.
///
/// # Errors
///
/// As [`run`].
pub fn run_over<M: Restorable, T: Transport<Marked<M::Message>>>(
    model: &M,
    options: RunOptions<'_>,
    settings: &Settings,
    transport: &dyn Fn(usize, u32) -> T,
) -> Result<Outcome, Error> {
    let world = World::new(model, &options)?;
    let control = options.control;
    let timekeeper = Timekeeper::of(options.timesheets.clone());
    let placement = place(&world, settings.threads);
    let memory = Memory { limit: options.memory_limit, lps: world.lps() as usize * Leader::<M>::LP_BYTES };
    let reviewer = Reviewer::new(settings.retreats, placement.partitions() as usize, world.lps());
    let leader = Leader::new(model, options, (reviewer, placement.clone()));
    let traces = leader.traces();
    // A trace needs what is committed whole, wherever it lies in the history.
    let coasts = model.copies() && !traces;
    let copy_every = if coasts { settings.copy_every.unwrap_or_else(coast::usual::<M::State>) } else { 1 };
    let site =
        |number| Mutex::new(Site::new(number, placement.clone(), model.metrics(), (traces, Coast::new(copy_every))));
    let workers = placement.partitions() as usize;
    let crew = Crew {
        model,
        settings: *settings,
        control,
        memory,
        timekeeper,
        transport: transport(workers, placement.partitions()),
        world: RwLock::new(world),
        sites: (0..placement.partitions()).map(site).collect(),
        left: (0..workers).map(|_| Mutex::default()).collect(),
        traced: (0..workers).map(|_| Mutex::default()).collect(),
        orders: Mutex::new(Orders { horizon: Time::ZERO, over: false, alone: false }),
        placement,
    };
    crew.run(leader)
}

/// Which worker executes each LP: neighbours together where channels say who they are, else ranges of ids. No channel is too short to be cut.
fn place(world: &World, threads: usize) -> Placement {
    let lps = world.lps();
    let workers = u32::try_from(threads).unwrap_or(u32::MAX).clamp(1, lps);
    let wish = Wish { partitions: Some(workers), ..Wish::of_workers(workers) };
    let found = Partitioning::find(world.channels(), lps, &wish);
    if found.partitions() == workers {
        return found.placement().clone();
    }
    let ranges = Placement::ranges(lps, lps.div_ceil(workers));
    if ranges.partitions() == workers && ranges.len(workers - 1) == ranges.len(0) {
        return ranges;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below `workers`")]
    let range = |lp: u32| (u64::from(lp) * u64::from(workers) / u64::from(lps)) as u32;
    Placement::table(&(0..lps).map(range).collect::<Vec<_>>())
}

/// What all workers follow until they rest again.
#[derive(Clone, Copy, Debug)]
struct Orders {
    /// The next global event, or the end.
    horizon: Time,
    /// The run is over.
    over: bool,
    /// The first worker executes all, and the others rest.
    alone: bool,
}

/// How much of it there is.
#[derive(Clone, Copy, Debug)]
struct Memory {
    limit: Option<u64>,
    /// Bytes of the LPs' records.
    lps: usize,
}

/// What the workers of a run share.
struct Crew<'a, M: Restorable, T> {
    model: &'a M,
    settings: Settings,
    /// How the run is stopped while its LPs are set up.
    control: Option<&'a Control>,
    memory: Memory,
    timekeeper: Timekeeper,
    /// Where each LP lives while all work.
    placement: Placement,
    transport: T,
    /// Changed only while all rest.
    world: RwLock<World>,
    /// By worker, who holds the lock except while all rest.
    sites: Vec<Mutex<Site<M>>>,
    /// What each worker left behind when it came to rest.
    left: Vec<Mutex<Option<Ledger<M>>>>,
    /// What each worker has committed that is to be traced.
    traced: Vec<Mutex<Trace<M::Message>>>,
    orders: Mutex<Orders>,
}

/// What a worker knows of the others.
struct View {
    gvt: Time,
    horizon: Time,
    /// Before which time it may execute.
    limit: Time,
    /// Whether it has made an offer whose outcome it does not have yet.
    offered: bool,
    /// What it has executed since then.
    since: u32,
    /// Whether it has nothing to do before there is another.
    is_due: bool,
    /// The round that GVT has reached at its time, and how many outcomes in a row have had that time.
    round: u32,
    stays: u32,
    /// The least instant of what it sent since its last offer.
    sent: Instant,
    optimism: Optimism,
    /// Whether this worker executes all, and need not ask the others.
    alone: bool,
    cost: Cost,
    /// Outcomes in a row with which memory was short.
    short: u32,
    /// Bytes that were needed when there was no more to be done about it.
    too_much: Option<u64>,
}

/// Events between two looks at what others have sent: at least, and at most.
const BATCH_MIN: u32 = 80;
const BATCH_MAX: u32 = 512;
/// One in so many of those that wait, lest many come late: the fewer there are, the further in virtual time does a batch reach.
const BATCH_SHARE: usize = 16;
/// And no more than take so long, in nanoseconds.
const BATCH_NS: f64 = 25_000.0;
/// How many events before the end of a batch a worker hints that it will soon send and receive.
const BATCH_LAST: u32 = 8;
/// Outcomes in a row with GVT at one time after which nothing is executed beyond its round.
const STAYS: u32 = 256;
/// Turns between two measurements of what an execution costs.
const TURNS_PER_LOOK: u32 = 16;
/// Outcomes in a row with too much memory in use after which what waits is put together anew, since it takes time.
const SHORT: u32 = 16;
/// And after which there is nothing left to be tried.
const HOPELESS: u32 = 64;

impl<M: Restorable, T: Transport<Marked<M::Message>>> Crew<'_, M, T> {
    /// Runs all workers.
    fn run(&self, mut leader: Leader<'_, M>) -> Result<Outcome, Error> {
        on_all_workers((self.sites.len(), self.settings.pinned), &mut leader, |worker, leader| {
            self.work(worker, leader)
        });
        leader.conclude(self)
    }

    /// A worker's life.
    fn work(&self, worker: usize, mut leader: Option<&mut Leader<'_, M>>) -> Result<(), Broken> {
        let _alarm = Alarm(&self.transport, std::marker::PhantomData);
        self.start(worker);
        let mut view = View {
            gvt: Time::ZERO,
            horizon: Time::ZERO,
            limit: Time::ZERO,
            offered: false,
            since: 0,
            is_due: true,
            round: 0,
            stays: 0,
            sent: NEVER,
            optimism: Optimism::new(self.sites.len(), self.settings.ahead),
            alone: false,
            cost: Cost::default(),
            short: 0,
            too_much: None,
        };
        let mut stalls = self.settings.stalls.map(|seed| Stalls::new(seed, worker));
        loop {
            let mut site = lock(&self.sites[worker]);
            assert!(site.uncommitted() == 0, "I5: at a cut everything is committed or taken back");
            *lock(&self.left[worker]) = Some(site.leave());
            drop(site);
            self.transport.exchange(worker, &Summary::NOTHING)?;
            if let Some(leader) = &mut leader {
                leader.rest(self, &view);
            }
            self.transport.exchange(worker, &Summary::NOTHING)?;
            let orders = *lock(&self.orders);
            if orders.over {
                return Ok(());
            }
            // Global events may have sent to the very time of the cut.
            view.gvt = view.gvt.min(view.horizon);
            (view.round, view.stays) = (0, 0);
            // Whatever was on its way has been received.
            (view.since, view.sent) = (0, NEVER);
            if view.alone != orders.alone {
                view.alone = orders.alone;
                let workers = if view.alone { 1 } else { self.sites.len() };
                view.optimism = Optimism::new(workers, self.settings.ahead);
            }
            view.horizon = orders.horizon;
            view.limit = orders.horizon.min(view.limit);
            if view.alone && worker > 0 {
                continue;
            }
            self.go(worker, &mut view, stalls.as_mut(), leader.as_deref_mut())?;
        }
    }

    /// Sets up the LPs of a worker; its memory is then near it.
    fn start(&self, worker: usize) {
        let mut site = lock(&self.sites[worker]);
        let world = self.read_world();
        let number = u32::try_from(worker).unwrap_or(u32::MAX);
        site.reserve(self.placement.len(number) as usize);
        for id in (0..world.lps()).map(LpId).filter(|id| self.placement.partition(*id) == number) {
            // If it was stopped the leader ends the run; if an LP failed those after it need not start.
            if self.control.is_some_and(Control::is_stopped) || !site.start((self.model, &world), id) {
                break;
            }
        }
    }

    fn read_world(&self) -> std::sync::RwLockReadGuard<'_, World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Goes round until GVT has reached the horizon.
    fn go(
        &self,
        worker: usize,
        view: &mut View,
        mut stalls: Option<&mut Stalls>,
        mut leader: Option<&mut Leader<'_, M>>,
    ) -> Result<(), Broken> {
        let mut site = lock(&self.sites[worker]);
        let site = &mut *site;
        let world = self.read_world();
        let of = (self.model, &*world);
        let number = u32::try_from(worker).unwrap_or(u32::MAX);
        let mut turns = 0_u32;
        loop {
            seats::free_if_begun();
            let seen = self.transport.news(worker);
            let mut idle = true;
            // Who never waits hears here that another has failed. Sooner or later it has an offer out: after so many steps; and who takes none is idle, except
            // while it receives what others send in theirs.
            if view.offered
                && let Some(all) = self.transport.outcome(worker)?
            {
                idle = false;
                view.offered = false;
                if self.take_up(worker, &all, view, (site, &world), leader.as_deref_mut()) {
                    return Ok(());
                }
            }
            if !view.alone {
                self.transport.receive(worker, number, false, &mut |arrived| {
                    idle &= arrived.is_empty();
                    site.push_all(arrived);
                });
            }
            let stalled = stalls.as_deref_mut().is_some_and(Stalls::stalls);
            // Each reduction costs every worker something, so there is none before some worker waits for it.
            if !view.offered && (view.is_due || view.since >= view.optimism.events_per_offer()) {
                view.sent = view.sent.min(site.flush(&self.transport));
                let rest = leader.as_deref_mut().is_some_and(|leader| leader.wants_rest());
                let mine = self.summary(site, view, rest);
                (view.offered, view.is_due) = (!view.alone, false);
                (view.since, view.sent) = (0, NEVER);
                // It may have been the last.
                idle = false;
                if !view.alone {
                    self.transport.offer(worker, &mine);
                } else if self.take_up(worker, &mine, view, (site, &world), leader.as_deref_mut()) {
                    return Ok(());
                }
            }
            if stalled {
                std::thread::yield_now();
                continue;
            }
            turns = turns.wrapping_add(1);
            let executed = if turns.is_multiple_of(TURNS_PER_LOOK) {
                let (executed, took) = timed(|| self.execute(worker, site, of, view));
                if executed > BATCH_MIN / 2 {
                    view.cost.note(took.as_nanos() as f64 / f64::from(executed));
                }
                executed
            } else {
                self.execute(worker, site, of, view)
            };
            idle &= executed == 0;
            view.since += executed;
            site.end_turn(executed, view.optimism.most_uncommitted());
            view.sent = view.sent.min(site.flush(&self.transport));
            if idle && view.offered {
                view.optimism.waits();
                self.transport.wait(worker, seen)?;
                view.optimism.works();
            } else {
                view.is_due |= idle;
            }
        }
    }

    /// Takes in what all workers together know, and commits; whether all are to rest now.
    fn take_up(
        &self,
        worker: usize,
        all: &Summary,
        view: &mut View,
        (site, world): (&mut Site<M>, &World),
        leader: Option<&mut Leader<'_, M>>,
    ) -> bool {
        self.timekeeper.spend(worker, Spent::Gvt, || {
            self.take_in(all, view, site, world);
            if let Some(leader) = leader {
                leader.watch((self, world), all, view);
            }
            if view.gvt >= view.horizon {
                site.close_stretch();
            }
            site.commit_before(world, view.gvt.min(view.horizon));
            if site.ledger.traces {
                lock(&self.traced[worker]).append(&mut site.ledger.trace);
            }
        });
        view.gvt >= view.horizon || view.too_much.is_some()
    }

    /// Takes in what all workers together know: the same on all of them.
    fn take_in(&self, all: &Summary, view: &mut View, site: &mut Site<M>, world: &World) {
        let gvt = all.next.min(all.in_flight);
        assert!(gvt >= view.gvt, "I2: GVT went back from {} to {gvt}", view.gvt);
        view.stays = if gvt > view.gvt { 0 } else { view.stays.saturating_add(1) };
        view.round = if all.in_flight > gvt { all.round } else { 0 };
        view.gvt = gvt;
        // Nobody has passed what was asked for; but where the run is to end now, what lies beyond has never been.
        view.horizon = view.horizon.min(all.asked);
        let of = (self.model, world);
        let end = just_after(all.failed).min(if all.rest { just_after(view.gvt) } else { Time::MAX });
        if end < view.horizon {
            view.horizon = end;
            site.take_back_from(of, end);
        }
        view.optimism.take_in(all, view.gvt);
        if let Some(limit) = self.memory.limit {
            let needed = all.bytes + self.memory.lps as u64;
            // A log doubles when it is full.
            let room = limit.saturating_sub(needed) / (2 * self.sites.len() * Site::<M>::EXECUTION_BYTES) as u64;
            let room = u32::try_from(room).unwrap_or(u32::MAX).saturating_add(site.uncommitted());
            view.optimism.press(if needed > limit { 0 } else { room });
            view.short = if needed > limit { view.short + 1 } else { 0 };
            view.too_much = (view.short > HOPELESS).then_some(needed);
            if needed > limit {
                let committed = view.gvt.min(view.horizon);
                // At the end nothing that is not committed may be left.
                site.take_back_from(of, if view.too_much.is_some() { committed } else { just_after(view.gvt) });
                site.commit_before(world, committed);
                if view.short.is_multiple_of(SHORT) {
                    site.compact()
                } else {
                    site.shrink()
                }
                self.transport.shrink(site.number as usize);
            }
        }
        let controllers = world.controllers();
        let asked = match controllers.lps.is_empty() {
            true => Time::MAX,
            false => view.gvt.checked_add(controllers.delay).unwrap_or(Time::MAX),
        };
        view.limit = view.optimism.limit(view.gvt).min(asked).min(view.horizon);
    }

    /// Executes a batch; how many events.
    fn execute(&self, worker: usize, site: &mut Site<M>, of: (&M, &World), view: &View) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is meant")]
        let soon = (BATCH_NS / view.cost.ns()) as u32;
        let some = u32::try_from(site.waiting() / BATCH_SHARE).unwrap_or(u32::MAX);
        let batch = some.min(soon).clamp(BATCH_MIN, BATCH_MAX);
        let bound = just_after(view.gvt).min(view.horizon);
        if view.stays > STAYS {
            return site.execute_round(of, Instant { time: view.gvt, round: view.round }, bound, batch);
        }
        let most = batch.min(view.optimism.most_uncommitted().saturating_sub(site.uncommitted()));
        let last = most.min(BATCH_LAST);
        let mut executed = site.execute_before(of, view.limit, most - last);
        if executed == most - last {
            if !view.alone {
                self.transport.approach(worker, &mut site.full_parcels());
            }
            executed += site.execute_before(of, view.limit, last);
        }
        // What GVT waits for is executed whatever the bounds.
        if site.next_time() <= view.gvt { executed + site.execute_before(of, bound, batch) } else { executed }
    }

    fn summary(&self, site: &mut Site<M>, view: &View, rest: bool) -> Summary {
        let least = site.next_instant().min(view.sent);
        Summary {
            next: least.time,
            round: least.round,
            failed: site.failed_before(view.gvt),
            asked: site.asked(),
            events: site.executed(),
            undone: site.counts.undone,
            bytes: match self.memory.limit {
                Some(_) => (site.allocated_bytes() + self.transport.allocated_bytes(site.number as usize)) as u64,
                None => 0,
            },
            rest,
            ..Summary::NOTHING
        }
    }
}

/// Lets a worker fall behind now and then.
#[derive(Debug)]
struct Stalls {
    rng: Rng,
    left: u64,
}

impl Stalls {
    fn new(seed: u64, worker: usize) -> Stalls {
        Stalls { rng: Rng::shared(seed, u32::try_from(worker).unwrap_or(u32::MAX)), left: 0 }
    }

    /// Whether the worker executes nothing this time round.
    fn stalls(&mut self) -> bool {
        if self.left == 0 && self.rng.chance(0.1) {
            self.left = self.rng.below(30);
        }
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}
