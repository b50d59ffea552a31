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
//! its key and execution. I5: at a cut all has been committed, nothing from the horizon on has been executed, and nothing before it waits.
//!
//! *Requests.* Nothing is executed more than the control delay beyond GVT, nor from the least time on for which an execution, committed or not, has asked
//! for a global event. So nobody has passed a request when it is committed.
//!
//! *Loops.* What is executed ahead of what it lacks may send in a circle, where anti-messages chase it and restore each LP just before it comes round again.
//! Without delay GVT stays where it is; with delay it goes on, and without end where no time is set for that. So where much has been taken back since anything
//! was committed, nothing is executed beyond GVT's round, and hence nothing taken back, until something is.
//!
//! *Failures.* An execution that failed sends nothing, and its LP waits behind it; it is an error if it comes to be committed. What waits behind it
//! does not hold back GVT, or that would never be. A committed failure ends the run just after its time; the least is the run's.
//!
//! *Timers.* Wakes are sent, and annihilated, like messages. A wake that came too early, or for nothing, changes its LP, and is taken back like an
//! execution, but does not count as one.
//!
//! *Memory.* Close to the limit workers execute less far ahead; beyond it what is ahead is rolled back, so that what it sent is annihilated
//! (cancelback). Where that is still too much, since much happens at one time, one worker goes on alone, without history. Only where the LPs and
//! what waits do not fit does the run end.
//!
//! *One worker.* Where several do less than one would, the first goes on with all LPs while the others rest. Nothing can come late then, so it executes as
//! `sequential` does, and what it executes is committed at once.
//!
//! *References.* D. Jefferson, *Virtual time*, ACM TOPLAS 7, 1985, and *Virtual time II: storage management in conservative and optimistic systems*, PODC,
//! 1990 (cancelback); R. Fujimoto, M. Hybinette, *Computing global virtual time in shared-memory multiprocessors*, ACM TOMACS 7, 1997; D. Nicol, X. Liu,
//! *The dark side of risk*, PADS, 1997 (loops); C. Carothers, D. Bauer, S. Pearce, *ROSS: a high-performance, low-memory, modular Time Warp system*, JPDC
//! 62, 2002.
//!
//! *Read next*: [`parades_core::optimistic`], what waits; `time_warp/worker.rs`, the protocol; `time_warp/site.rs`, how one executes, takes back and commits.

mod coast;
mod history;
mod leader;
mod optimism;
mod reviewer;
mod site;
mod worker;

pub use parades_core::optimistic::{ExecutionId, Tagged};

use crate::ledger::{Ledger, Trace};
use crate::partition::{Partitioning, Wish};
use crate::retreat::Retreats;
use crate::stopwatch::Timekeeper;
use crate::transport::{Summary, Threads, Transport};
use crate::workers::{Alarm, lock, on_all_workers};
use coast::Coast;
use leader::Leader;
use optimism::Optimism;
use parades_core::error::Error;
use parades_core::event::LpId;
use parades_core::optimistic::NEVER;
use parades_core::placement::Placement;
use parades_core::random::Rng;
use parades_core::restore::Restorable;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::world::World;
use parades_sync::barrier::{BarrierKind, Broken};
use reviewer::Reviewer;
use site::Site;
use std::sync::{Mutex, PoisonError, RwLock};
use worker::View;

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
    /// Whether the run goes on with one worker while that is faster than with several. Where the memory limit leaves no room for history, it does so in any
    /// case, and for good.
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
pub fn run_over<M: Restorable, T: Transport<Tagged<M::Message>>>(
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
        ledgers: (0..workers).map(|_| Mutex::default()).collect(),
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
    ledgers: Vec<Mutex<Option<Ledger<M>>>>,
    /// What each worker has committed that is to be traced.
    traced: Vec<Mutex<Trace<M::Message>>>,
    orders: Mutex<Orders>,
}

impl<M: Restorable, T: Transport<Tagged<M::Message>>> Crew<'_, M, T> {
    /// Runs all workers.
    fn run(&self, mut leader: Leader<'_, M>) -> Result<Outcome, Error> {
        let workers = (self.sites.len(), self.settings.pinned);
        on_all_workers(workers, &|| self.transport.break_up(), &mut || self.work(0, Some(&mut leader)), &|worker| {
            self.work(worker, None)
        })?;
        leader.conclude(self)
    }

    /// A worker's life.
    fn work(&self, worker: usize, mut leader: Option<&mut Leader<'_, M>>) -> Result<(), Broken> {
        let _alarm = Alarm::of(&self.transport);
        self.start(worker);
        let mut view = View::new(Optimism::new(self.sites.len(), self.settings.ahead));
        let mut stalls = self.settings.stalls.map(|seed| Stalls::new(seed, worker));
        loop {
            let mut site = lock(&self.sites[worker]);
            assert!(site.uncommitted() == 0, "I5: at a cut everything is committed or taken back");
            *lock(&self.ledgers[worker]) = Some(site.take_ledger());
            drop(site);
            self.transport.exchange(worker, &Summary::NOTHING)?;
            if let Some(leader) = &mut leader {
                leader.execute_cut(self, &view);
            }
            self.transport.exchange(worker, &Summary::NOTHING)?;
            let orders = *lock(&self.orders);
            if orders.over {
                return Ok(());
            }
            // Global events may have sent to the very time of the cut.
            view.gvt = view.gvt.min(view.horizon);
            (view.round, view.circles) = (0, false);
            // While one goes on alone, the others do not count along.
            (view.short, view.too_much) = (0, None);
            // Whatever was on its way has been received.
            (view.since, view.sent) = (0, NEVER);
            if view.alone != orders.alone {
                view.alone = orders.alone;
                view.optimism = Optimism::new(self.sites.len(), self.settings.ahead);
            }
            view.horizon = orders.horizon;
            view.limit = orders.horizon.min(view.limit);
            match &mut leader {
                Some(leader) if view.alone => self.go_alone(&mut view, leader),
                None if view.alone => {}
                leader => self.go(worker, &mut view, stalls.as_mut(), leader.as_deref_mut())?,
            }
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
