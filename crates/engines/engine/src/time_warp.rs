//! `time-warp`: workers execute ahead of each other, and roll back.
//!
//! *Idea.* No worker waits for another: each executes its events in the order of time. It may turn out that
//! an event was missing from an LP's past: a *straggler*. Then the LP is rolled back to the straggler's
//! time, and anti-messages follow the events that it had sent. Everything below the global virtual time
//! (GVT) is committed, and its history freed.
//!
//! *Protocol.* A worker repeats these steps:
//!
//! 1. If there is an outcome of its last offer, it computes the new GVT, and *commits* everything below it.
//! 2. It *receives* the events that have arrived.
//! 3. It *offers* the earliest time of its pending events and of the events sent since its last offer. It
//!    does so if no offer of its own is outstanding, and if it has nothing else to do or has executed
//!    enough events since the last offer.
//! 4. It *executes* a batch of events, limited to some distance ahead of GVT.
//! 5. It *sends* the new events.
//!
//! An anti-message has the same key as its twin. So both are taken from the pending set together: the twin
//! is dropped, or its execution is rolled back. When GVT has reached the *horizon*, all workers meet in a
//! *cut*, where the leader executes global events. The horizon is the next global event or the end of the
//! run.
//!
//! *GVT without stopping.* GVT is the earliest of all offered times. A worker makes an offer only after it
//! has the outcome of its last offer, and after it has received. So the events that another worker sent
//! before its last offer but one have arrived: they are pending here, or executed. The events that the
//! other sent since then are covered by its own offer. An event sent after an offer is caused by an event
//! that was pending at the offer, and is not earlier than that event.
//!
//! *Invariants.* I2: a committed event is never rolled back. I3: keys increase along an LP's history. I4:
//! an anti-message annihilates exactly one event, of its key and execution. I5: at a cut everything before
//! the horizon has been committed, and nothing else has been executed.
//!
//! *Requests.* A worker executes nothing more than the control delay beyond GVT. It also executes nothing
//! from the earliest time on for which an execution, committed or not, has requested a global event. So no
//! worker has passed a request when the request is committed.
//!
//! *Loops.* Events that are executed too early may send around a cycle of LPs. Anti-messages follow them,
//! and restore each LP just before the events come round again. Without delay in the cycle, GVT then stays
//! where it is. With delay, such executions go on, without end if nothing limits their time. The remedy: if
//! many executions have been rolled back since the last commit, nothing is executed beyond GVT's round, and
//! so nothing is rolled back, until something is committed.
//!
//! *Failures.* An execution that failed sends nothing, and its LP executes nothing more. The failure is an
//! error if it is committed. Events pending behind a failure do not hold back GVT, because else the failure
//! would never be committed. A committed failure ends the run just after its time. The earliest failure is
//! the run's.
//!
//! *Timers.* Wakes are sent and annihilated like messages. A wake that comes too early, or for a timer that
//! was cancelled, changes its LP, and is rolled back like an execution. It does not count as an executed
//! event.
//!
//! *Memory.* Close to the memory limit, workers execute less far ahead. Beyond the limit, executions ahead
//! of GVT are rolled back, so that the events that they sent are annihilated (cancelback). If the rest is
//! still too large, because many events have one time, one worker goes on alone, without history. The run
//! ends with an error only if the LPs and their pending events alone do not fit.
//!
//! *One worker.* If several workers do less work than one would, the first worker goes on with all LPs,
//! while the others wait. Then no event can be late. So that worker executes as `sequential` does, and
//! commits each event at once.
//!
//! *Balance.* Workers measure the time of their executions, LP by LP, and count it as far as executions are
//! kept. Each offer has the load of its worker. If one worker has more to do than the others, all meet in a
//! cut, and LPs move by these costs. Between ranks, rank 0 alone asks for that cut. There the ranks share the
//! costs of all LPs, each makes the same decision, and LPs that change their rank travel (`travel.rs`).
//!
//! *References.* D. Jefferson, *Virtual time*, ACM TOPLAS 7, 1985, and *Virtual time II: storage management
//! in conservative and optimistic systems*, PODC, 1990 (cancelback); R. Fujimoto, M. Hybinette, *Computing
//! global virtual time in shared-memory multiprocessors*, ACM TOMACS 7, 1997; D. Nicol, X. Liu, *The dark
//! side of risk*, PADS, 1997 (loops); C. Carothers, D. Bauer, S. Pearce, *ROSS: a high-performance,
//! low-memory, modular Time Warp system*, JPDC 62, 2002; D. Glazer, C. Tropper, *On process migration and
//! load balancing in Time Warp*, IEEE TPDS 4, 1993 (balance by the time of useful work).
//!
//! *Read next*: [`parades_core::optimistic`], the pending events; `time_warp/steps.rs`, the protocol;
//! `time_warp/site.rs`, how a worker executes, rolls back and commits.

mod coast;
mod history;
mod leader;
mod optimism;
mod outcome;
mod reviewer;
mod site;
mod stalls;
mod steps;
mod view;
mod worker;

pub use parades_core::optimistic::{ExecutionId, Tagged};

use crate::balance::Balance;
use crate::course::Course;
use crate::ledger::{Ledger, Trace};
use crate::partition::{Partitioning, Placing, Wish, ranges};
use crate::peers::{Alone, OfRank, Ranks, Seat, on_ranked};
use crate::retreat::Retreats;
use crate::travel;
use crate::workers::lock;
use leader::Leader;
use parades_core::any_model::{AnyEvent, AnyRestorable, AnySave, AnyWire, MessageRef, Packed, WireModel, with_model};
use parades_core::cut::{Cut, Reached, Span};
use parades_core::error::Error;
use parades_core::event::{Body, LpId};
use parades_core::metrics::Metrics;
use parades_core::optimistic::{TaggedEvent, body_of};
use parades_core::placement::Placement;
use parades_core::restore::Restorable;
use parades_core::run::{Control, Outcome, RunOptions};
use parades_core::time::Time;
use parades_core::world::World;
use parades_sync::barrier::BarrierKind;
use parades_transport::{Fabric, Optimistic, Threads, Timekeeper, Transport};
use reviewer::Reviewer;
use site::{SiteBox, Wants};
use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use view::View;

/// The settings of a run. None of them changes the results.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Worker threads.
    pub threads: usize,
    /// The distance to which workers execute ahead of GVT.
    pub ahead: Ahead,
    /// The number of executions of an LP for each checkpoint of its state. By default the size of the state
    /// decides. It matters only if the model restores by copy and the run is not traced. After a rollback,
    /// the executions since the checkpoint are repeated (coast forward).
    pub copy_every: Option<u16>,
    /// The seed by which workers fall behind at random, so that there are more rollbacks. For tests.
    pub stalls: Option<u64>,
    /// The facts by which LPs are placed on workers.
    pub placing: Placing,
    /// The rule by which the run retreats to one worker, and returns to several. If the memory limit leaves
    /// no room for history, the run retreats in any case, and does not return.
    pub retreats: Retreats,
    /// The rule by which LPs move to other workers.
    pub balance: Balance,
    /// True if each worker is bound to a core of its own, as long as there are enough cores.
    pub pinned: bool,
}

/// The distance to which a worker executes ahead of GVT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// Adapts to the share of executions that are rolled back.
    Adaptive,
    /// About this number of events for each worker.
    Events(u32),
    /// No limit.
    Unbounded,
}

impl Settings {
    /// Returns the defaults for `threads` threads.
    pub fn of_threads(threads: usize) -> Settings {
        Settings {
            threads,
            ahead: Ahead::Adaptive,
            copy_every: None,
            stalls: None,
            placing: Placing::default(),
            retreats: Retreats::WhereFaster,
            balance: Balance::default(),
            pinned: false,
        }
    }
}

/// Runs `model` optimistically.
///
/// # Errors
///
/// The earliest error of the run, or an error that the model finds at its end.
pub fn run<M: Restorable>(model: &M, options: RunOptions<'_>, settings: &Settings) -> Result<Outcome, Error> {
    with_model(model, options, |model, options| run_any(model, options, settings))
}

/// Does the same as [`run`], for a model of any type.
///
/// # Errors
///
/// As [`run`].
pub fn run_any<'k>(
    model: &'k dyn AnyRestorable<'k>,
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
pub fn advance<'k>(
    model: &'k dyn AnyRestorable<'k>,
    span: Span<'k>,
    settings: &Settings,
) -> Result<Reached<'k>, Error> {
    let timesheets = span.options.timesheets.clone();
    advance_over(model, span, settings, &|workers| {
        let partitions = u32::try_from(workers).unwrap_or(u32::MAX);
        Arc::new(Threads::new(workers, partitions, BarrierKind::default()).timed(timesheets.clone()))
    })
}

/// Runs a model optimistically over a transport. `connect` makes the transport for a number of workers, which
/// is also the number of partitions.
///
/// # Errors
///
/// As [`run`].
pub fn run_over<'k>(
    model: &'k dyn AnyRestorable<'k>,
    options: RunOptions<'k>,
    settings: &Settings,
    connect: &dyn Fn(usize) -> Arc<dyn Transport<'k, Optimistic> + 'k>,
) -> Result<Outcome, Error> {
    advance_over(model, options.into(), settings, connect).map(Reached::end)
}

fn advance_over<'k>(
    model: &'k dyn AnyRestorable<'k>,
    span: Span<'k>,
    settings: &Settings,
    connect: &dyn Fn(usize) -> Arc<dyn Transport<'k, Optimistic> + 'k>,
) -> Result<Reached<'k>, Error> {
    let world = World::of_span(model, &span)?;
    let placement = place(&world, settings.threads, settings.placing, None);
    let workers = placement.partitions() as usize;
    let seat = Seat { transport: connect(workers), peers: Arc::new(Alone) };
    let reached = run_seated(model, span, world, placement, settings, seat, workers)?;
    Ok(reached.expect("the only rank has the outcome"))
}

/// Runs `model` optimistically as one of several ranks, each with `settings.threads` workers. `fabric`
/// connects the ranks. All ranks are given the same model, options and settings. The run does not retreat to
/// one worker. So if the memory limit leaves no room for history, the run ends with an error. LPs do not move
/// to other workers, since this function does not know how their states are written; see [`run_any_rank`].
///
/// Rank 0 returns the outcome; the other ranks return `None`.
///
/// # Errors
///
/// As [`run`], on every rank; a rank that is lost.
pub fn run_rank<M: Restorable + WireModel>(
    model: &M,
    options: RunOptions<'_>,
    settings: &Settings,
    fabric: Box<dyn Fabric>,
) -> OfRank {
    with_model(model, options, |model, options| run_any_rank(model, model, options.into(), settings, fabric))
}

/// Does the same as [`run_rank`], for a model of any type, which is both `model` and `wire`, from the start
/// or from a cut to the end. All ranks are given the same cut. With [`Span::save`], LPs move from the busiest
/// worker of all ranks to the least loaded one ([`Settings::balance`]).
///
/// # Errors
///
/// As [`run_rank`].
pub fn run_any_rank<'k>(
    model: &'k dyn AnyRestorable<'k>,
    wire: &'k dyn AnyWire<'k>,
    span: Span<'k>,
    settings: &Settings,
    fabric: Box<dyn Fabric>,
) -> OfRank {
    let all = settings.threads * fabric.ranks();
    let partitions = u32::try_from(all).unwrap_or(u32::MAX);
    let timesheets = span.options.timesheets.clone();
    let threads = Threads::new(settings.threads, partitions, BarrierKind::default());
    on_ranked::<Optimistic>(wire, fabric, threads, settings.threads, timesheets, |ranked| {
        let world = World::of_span(model, &span)?;
        let settings = Settings { retreats: Retreats::Never, ..*settings };
        let placement = place(&world, all, settings.placing, None);
        let peers = Arc::new(Ranks { group: Arc::clone(&ranked) as _, model: wire });
        let seat = Seat { transport: ranked, peers };
        let reached = run_seated(model, span, world, placement, &settings, seat, settings.threads)?;
        Ok(reached.map(Reached::end))
    })
}

/// Returns the body of an event that is no anti-message, for a table of functions.
#[inline(always)]
fn hide_tagged<'a, 'k, P: Packed<'k>>(event: &'a TaggedEvent<P>) -> Body<MessageRef<'a, 'k>> {
    let body = body_of(event).expect("anti-messages are not executed");
    body.map(P::bare_as_message)
}

/// Runs the workers of this rank, `workers` in number, and concludes the run.
fn run_seated<'k>(
    model: &'k dyn AnyRestorable<'k>,
    span: Span<'k>,
    world: World,
    placement: Placement,
    settings: &Settings,
    seat: Seat<'k, Optimistic>,
    workers: usize,
) -> Result<Option<Reached<'k>>, Error> {
    let control = span.options.control;
    let memory = Memory {
        limit: span.options.memory_limit.map(|limit| limit.saturating_mul(seat.peers.ranks() as u64)),
        lps: world.lps() as usize * model.lp_bytes(),
    };
    let (course, from) = Course::new(model, span);
    let (traces, travel) = travel::agree(&course, settings.balance, &seat)?;
    let ranks = seat.peers.ranks();
    let balance = if ranks == 1 || travel.is_some() { settings.balance } else { Balance::ByEvents };
    let settings = &Settings { balance, ..*settings };
    let decides = seat.peers.rank() == 0;
    let reviewer = Reviewer::new(settings, placement.partitions() as usize, world.lps(), decides);
    let costs = reviewer.measures();
    let (timekeeper, timesheets) = (course.timekeeper.clone(), course.options.timesheets.clone());
    let mut leader = Leader::new(course, reviewer, placement.clone());
    let all = u32::try_from(workers * ranks).unwrap_or(u32::MAX);
    let rank_of = |partition: u32| partition / u32::try_from(workers).unwrap_or(u32::MAX);
    let homes: Vec<u32> = (0..all).map(rank_of).collect();
    seat.transport.settle(&homes);
    let copy_every = coast::interval(model, settings.copy_every, traces);
    let wants = Wants { traces, costs, timesheets: timesheets.as_ref() };
    let site = |number| site::of_form(number, placement.clone(), model, wants, copy_every);
    let mut sites: Vec<SiteBox<'k>> = (0..all.max(placement.partitions())).map(site).collect();
    let first = workers * seat.peers.rank();
    let here = first..first + workers;
    let resumes = from.map(|cut| take_in_cut(model, cut, &placement, leader.metrics(), &mut sites, &here));
    let crew = Crew {
        model,
        settings: *settings,
        control,
        memory,
        timekeeper,
        first,
        homes,
        travel,
        seat,
        world: RwLock::new(world),
        sites: sites.into_iter().map(Mutex::new).collect(),
        resumes,
        ledgers: (0..workers).map(|_| Mutex::default()).collect(),
        traced: (0..workers).map(|_| Mutex::default()).collect(),
        worked_ns: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        orders: Mutex::new(Orders { horizon: Time::ZERO, over: false, alone: false }),
        placement,
    };
    crew.run(leader)
}

/// Deals a cut, from which the run goes on, to the sites. Returns, by site, the messages in transit. `of_globals`
/// has the metrics of global events. The range of this rank's workers is `here`.
fn take_in_cut<'k>(
    model: &'k dyn AnyRestorable<'k>,
    mut cut: Box<Cut<'k>>,
    placement: &Placement,
    of_globals: &mut Metrics,
    sites: &mut [SiteBox<'k>],
    here: &Range<usize>,
) -> Vec<Mutex<Option<Vec<AnyEvent<'k>>>>> {
    cut.distribute(model, placement);
    let of_sites = sites.iter_mut().map(|site| site.residents().1);
    let mut metrics: Vec<_> = std::iter::once(of_globals).chain(of_sites).collect();
    Metrics::redistribute(&mut metrics, &|id| 1 + placement.partition(id) as usize);
    let mut resumes: Vec<_> =
        cut.take_messages(placement).into_iter().map(|messages| Mutex::new(Some(messages))).collect();
    // Every rank has read the whole cut.
    for (number, site) in sites.iter_mut().enumerate().filter(|(number, _)| !here.contains(number)) {
        site.pick_up();
        let (lps, metrics) = site.residents();
        lps.clear();
        *metrics = metrics.declarations();
        resumes.get_mut(number).into_iter().for_each(|messages| *messages = Mutex::default());
    }
    resumes
}

/// Places each LP at a worker: neighbours together if channels declare them, else ranges of ids. If the weights
/// of the LPs have been measured, all workers have about the same.
/// A channel may be cut however short its lookahead is.
fn place(world: &World, threads: usize, placing: Placing, weights: Option<&[u64]>) -> Placement {
    let lps = world.lps();
    let workers = u32::try_from(threads).unwrap_or(u32::MAX).clamp(1, lps);
    let by_weights = weights.and_then(|weights| Placement::table(&ranges::shares(weights, workers)));
    if placing == Placing::Channels {
        let wish = Wish { partitions: Some(workers), weights, evenly: true, ..Wish::of_workers(workers) };
        let found = Partitioning::find(world.channels(), lps, &wish);
        let busiest = |placement| weights.map(|weights| Partitioning::busiest_share(placement, workers, weights));
        let is_even = match by_weights.as_ref().and_then(busiest) {
            Some(even) => busiest(found.placement()).is_some_and(|found| found <= even * reviewer::GAIN),
            None => true,
        };
        if found.partitions() == workers && is_even {
            return found.placement().clone();
        }
    }
    if let Some(placement) = by_weights {
        return placement;
    }
    let ranges = Placement::ranges(lps, lps.div_ceil(workers));
    if ranges.partitions() == workers && ranges.len(workers - 1) == ranges.len(0) {
        return ranges;
    }
    #[expect(clippy::cast_possible_truncation, reason = "below `workers`")]
    let range = |lp: u32| (u64::from(lp) * u64::from(workers) / u64::from(lps)) as u32;
    Placement::table(&(0..lps).map(range).collect::<Vec<_>>()).unwrap_or(ranges)
}

/// The orders that all workers follow until the next cut.
#[derive(Clone, Copy, Debug)]
struct Orders {
    /// The time of the next global event, or the end of the run.
    horizon: Time,
    /// True if the run is over.
    over: bool,
    /// True if the first worker executes all LPs, while the others wait.
    alone: bool,
}

/// The memory that a run may use.
#[derive(Clone, Copy, Debug)]
struct Memory {
    /// The limit in bytes, if there is one.
    limit: Option<u64>,
    /// Bytes of the LPs' records.
    lps: usize,
}

/// The state that the workers of a run share.
struct Crew<'k> {
    model: &'k dyn AnyRestorable<'k>,
    settings: Settings,
    /// By this the user stops the run while its LPs are set up.
    control: Option<&'k Control>,
    memory: Memory,
    timekeeper: Timekeeper,
    /// The place of each LP at the start.
    placement: Placement,
    /// The way to the workers of all ranks, and to their leaders.
    seat: Seat<'k, Optimistic>,
    /// The number of this rank's first worker among the workers of all ranks.
    first: usize,
    /// By worker of all ranks: its rank.
    homes: Vec<u32>,
    /// The table by which LPs are written that travel to other ranks, if they may.
    travel: Option<&'k dyn AnySave<'k>>,
    /// Changes only at a cut.
    world: RwLock<World>,
    /// By worker. The worker holds the lock except at a cut.
    sites: Vec<Mutex<SiteBox<'k>>>,
    /// By worker: the messages in transit, if the run goes on from a cut. `None` if the LPs start.
    resumes: Option<Vec<Mutex<Option<Vec<AnyEvent<'k>>>>>>,
    /// By worker: the ledger that it has deposited at the last cut.
    ledgers: Vec<Mutex<Option<Ledger<'k>>>>,
    /// By worker: the events that it has committed for the trace.
    traced: Vec<Mutex<Trace<'k>>>,
    /// By worker: the nanoseconds that all its executions had taken at its last outcome, as far as it
    /// measures them.
    worked_ns: Vec<AtomicU64>,
    orders: Mutex<Orders>,
}

impl<'k> Crew<'k> {
    /// Starts the LPs of a worker. The worker itself allocates their memory, which is then near its core.
    fn start(&self, worker: usize) {
        let mut site = lock(&self.sites[self.first + worker]);
        let world = self.read_world();
        let number = u32::try_from(self.first + worker).unwrap_or(u32::MAX);
        if let Some(messages) = &self.resumes {
            // There may be more workers than LPs.
            let messages = messages.get(number as usize).and_then(|messages| lock(messages).take());
            return site.resume(&world, messages.unwrap_or_default());
        }
        site.reserve(self.placement.len(number) as usize);
        for id in (0..world.lps()).map(LpId).filter(|id| self.placement.partition(*id) == number) {
            // If the user has stopped the run, the leader ends it. If an LP fails, the remaining LPs need
            // not start.
            if self.control.is_some_and(Control::is_stopped) || !site.start(&world, id) {
                break;
            }
        }
    }

    /// Returns the range of this rank's workers among the workers of all ranks.
    fn here(&self) -> Range<usize> {
        self.first..self.first + self.ledgers.len()
    }

    fn read_world(&self) -> std::sync::RwLockReadGuard<'_, World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner)
    }
}
