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
//! 2. The *bound* is the earliest of four times: LBTS + lookahead, or the bound that the distances of
//!    partitions give each of them (`window/bounds.rs`); LBTS + control delay, if there are
//!    controllers; events that the transport holds back; and the *horizon*, which is the next global event
//!    or the end of the run.
//! 3. Each worker takes partitions, receives the events that have arrived for them, and *executes before*
//!    the bound.
//!    A partition whose window holds very many events executes a part of them. The next windows then have
//!    the same bound, until none is left.
//! 4. When no event is left before the horizon, or some work needs every LP at rest, all workers meet in a
//!    *cut*. If partitions have bounds of their own, some windows bring them up to the furthest partition
//!    first. At the cut the leader executes global events, writes the trace, and may make a new plan.
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
//! *A stop.* If the user stops the run, partitions leave their windows where they are, and all workers meet
//! in a cut. The leader ends the run at the earliest time that no partition has passed, and those that are
//! behind execute up to there.
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
//! *Read next*: `window/worker.rs`, the loops of the workers; `window/leader.rs`, the work at a cut;
//! `window/part.rs`, a partition; `window/bounds.rs`, how far each may execute.

mod bounds;
mod crew;
pub(crate) mod hand;
pub(crate) mod leader;
mod order;
mod pace;
pub(crate) mod part;
pub(crate) mod plan;
mod review;
mod review_ranks;
mod shared;
mod worker;

pub use bounds::Reach;
pub use shared::Taking;

pub(crate) use crew::{Crew, assemble};

use crate::balance::Balance;
use crate::partition::{Partitioning, Placing, Wish};
use crate::peers::{Alone, OfRank, Ranks, Seat, on_ranked};
use crate::retreat::Retreats;
use crew::Orders;
use parades_core::any_model::{AnyModel, AnyWire, WireModel, with_model};
use parades_core::cut::{Reached, Span};
use parades_core::error::Error;
use parades_core::event::LpId;
use parades_core::model::Model;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::Delay;
use parades_core::world::World;
use parades_sync::barrier::BarrierKind;
use parades_transport::{Conservative, Fabric, Threads, Transport};
use std::sync::Arc;

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
    /// The facts by which LPs are placed on partitions, and partitions on ranks.
    pub placing: Placing,
    /// The order in which a partition executes its events.
    pub order: Order,
    /// The bounds of partitions. Those of several ranks, and of a run with a trace, have a common one.
    pub reach: Reach,
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
    /// The rule by which LPs and partitions move to other workers.
    pub balance: Balance,
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
    /// By time and LP by LP in turn, each for this number of visits to the partition.
    #[cfg(feature = "test-hooks")]
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
            placing: Placing::default(),
            order: Order::Measured,
            reach: Reach::Own,
            dedicated: 1.0,
            sets: threads,
            taking: Taking::default(),
            retreats: Retreats::WhereFaster,
            balance: Balance::default(),
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

/// Returns the most partitions that a run with these settings can have.
pub fn partitions_max(settings: &Settings) -> u32 {
    let usual = workers_at_most(settings).saturating_mul(crate::partition::MOST_PER_WORKER);
    settings.partitions.unwrap_or(0).max(usual)
}

/// Runs a model in windows over a transport, which `connect` makes for a number of workers.
///
/// # Errors
///
/// As [`run`].
pub fn run_over<'k>(
    model: &'k dyn AnyModel<'k>,
    options: RunOptions<'k>,
    settings: &Settings,
    connect: &dyn Fn(usize) -> Arc<dyn Transport<'k, Conservative> + 'k>,
) -> Result<Outcome, Error> {
    advance_over(model, options.into(), settings, connect).map(Reached::end)
}

/// Runs a span of a run, as [`sequential::advance`](crate::sequential::advance).
///
/// # Errors
///
/// As [`run`].
pub fn advance<'k>(model: &'k dyn AnyModel<'k>, span: Span<'k>, settings: &Settings) -> Result<Reached<'k>, Error> {
    let (partitions, timesheets) = (partitions_max(settings), span.options.timesheets.clone());
    advance_over(model, span, settings, &|workers| {
        Arc::new(Threads::new(workers, partitions, settings.barrier).timed(timesheets.clone()))
    })
}

fn advance_over<'k>(
    model: &'k dyn AnyModel<'k>,
    span: Span<'k>,
    settings: &Settings,
    connect: &dyn Fn(usize) -> Arc<dyn Transport<'k, Conservative> + 'k>,
) -> Result<Reached<'k>, Error> {
    let world = World::of_span(model, &span)?;
    let partitioning = first_partition(&world, settings, 1);
    let workers = settings.threads.min(partitioning.partitions() as usize).max(1);
    let seat = Seat { transport: connect(workers), peers: Arc::new(Alone) };
    let (crew, leader) = assemble(model, span, world, &partitioning, settings, seat, workers)?;
    crew.run(leader).map(|reached| reached.expect("the only rank has the outcome"))
}

/// Runs `model` in windows as one of several ranks, each with `settings.threads` workers. `fabric` connects
/// the ranks.
///
/// All ranks are given the same model, settings and options, and cuts at the same times. Only rank 0 is given
/// a tracer. The run does not retreat to one worker. LPs do not move between ranks, since this function does
/// not know how their states are written; see [`run_any_rank`].
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
    fabric: Box<dyn Fabric>,
) -> OfRank {
    with_model(model, options, |model, options| run_any_rank(model, options.into(), settings, fabric))
}

/// Does the same as [`run_rank`], for a model of any type, from the start or from a cut to the end. All ranks
/// are given the same cut. With [`Span::save`], LPs move from the busiest rank to the least loaded one
/// ([`Settings::balance`]).
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
    run_rank_over(model, span, settings, fabric, &|transport| transport)
}

/// Does the same as [`run_rank`]. `wrap` may replace the transport of this rank, for measurements and tests.
pub fn run_rank_over<'k>(
    model: &'k dyn AnyWire<'k>,
    span: Span<'k>,
    settings: &Settings,
    fabric: Box<dyn Fabric>,
    wrap: &dyn Fn(Arc<dyn Transport<'k, Conservative> + 'k>) -> Arc<dyn Transport<'k, Conservative> + 'k>,
) -> OfRank {
    let of_all = Settings { threads: settings.threads * fabric.ranks(), ..*settings };
    let threads = Threads::new(settings.threads, partitions_max(&of_all), settings.barrier);
    let timesheets = span.options.timesheets.clone();
    on_ranked::<Conservative>(model, fabric, threads, settings.threads, timesheets, |ranked| {
        let peers = Arc::new(Ranks { group: Arc::clone(&ranked) as _, model });
        run_seated(model, span, settings, Seat { transport: wrap(ranked), peers })
    })
}

/// Runs the workers of this rank, and concludes the run.
fn run_seated<'k>(
    model: &'k dyn AnyWire<'k>,
    span: Span<'k>,
    settings: &Settings,
    seat: Seat<'k, Conservative>,
) -> Result<Option<Outcome>, Error> {
    let world = World::of_span(model, &span)?;
    let partitioning = first_partition(&world, settings, seat.peers.ranks());
    let settings = Settings { retreats: Retreats::Never, ..*settings };
    let (crew, leader) = assemble(model, span, world, &partitioning, &settings, seat, settings.threads)?;
    crew.run(leader).map(|reached| reached.map(Reached::end))
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
        placing: settings.placing,
        longest_window: (!controllers.lps.is_empty()).then_some(controllers.delay),
        ..measured
    };
    Partitioning::find(world.channels(), world.lps(), &wish)
}

/// Returns the ids of all LPs.
fn ids(lps: u32) -> impl Iterator<Item = LpId> {
    (0..lps).map(LpId)
}
