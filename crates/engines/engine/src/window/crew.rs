//! The state that the workers of a run share, and the steps that they take with it.

use super::bounds::{Bounds, Fronts, Reach};
use super::hand::Hand;
use super::leader::Leader;
use super::part::{Part, Stop};
use super::plan::{Plan, Workers};
use super::{Settings, partitions_max};
use crate::balance::Balance;
use crate::course::Course;
use crate::grace::Grace;
use crate::ledger::Ledger;
use crate::partition::Partitioning;
use crate::peers::Seat;
use crate::travel;
use crate::workers::lock;
use parades_core::any_model::{AnyModel, AnySave};
use parades_core::cut::Span;
use parades_core::error::Error;
use parades_core::metrics::Metrics;
use parades_core::run::Control;
use parades_core::time::Time;
use parades_core::world::World;
use parades_transport::{Conservative, Summary, Timekeeper};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// The orders that all workers follow until the next cut.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    /// The time of the next global event, or the end of the run.
    pub(crate) horizon: Time,
    pub(crate) plan: Arc<Plan>,
    /// The number of the next window.
    pub(crate) window: u64,
    /// True if the user has stopped the run, and the horizon is its end.
    pub(crate) ending: bool,
    /// True if the run is over.
    pub(crate) over: bool,
}

impl Orders {
    /// Returns true if the leader goes on alone, while the others wait.
    pub(crate) fn are_for_one(&self) -> bool {
        self.plan.has_one_partition() && !self.over
    }
}

/// The state that the workers of a run share.
pub(crate) struct Crew<'k> {
    pub(crate) model: &'k dyn AnyModel<'k>,
    pub(crate) lps: u32,
    pub(crate) settings: Settings,
    pub(crate) traces: bool,
    /// By this the user stops the run.
    pub(crate) control: Option<&'k Control>,
    pub(crate) grace: Arc<Grace<'k>>,
    /// The way to the workers of all ranks, and to their leaders.
    pub(crate) seat: Seat<'k, Conservative>,
    /// Changes only at a cut.
    pub(super) world: RwLock<World>,
    pub(crate) parts: Vec<Mutex<Part<'k>>>,
    /// By worker: the ledger that it has deposited at the last cut.
    pub(crate) ledgers: Vec<Mutex<Option<Ledger<'k>>>>,
    /// By worker: the number of events that it had executed at the last cut.
    pub(crate) executed: Vec<AtomicU64>,
    /// By worker: the nanoseconds that its events had taken at the last cut, as far as it measures them.
    pub(crate) worked_ns: Vec<AtomicU64>,
    pub(crate) orders: Mutex<Orders>,
    /// The fronts of the partitions, if they have bounds of their own.
    pub(super) fronts: Fronts,
    /// The bounds that the partitions of this run have.
    pub(super) reach: Reach,
    /// The table by which LPs are written that travel to other ranks, if they may.
    pub(super) travel: Option<&'k dyn AnySave<'k>>,
    pub(crate) timekeeper: Timekeeper,
}

/// Prepares a run: the state that its workers share, and its leader.
pub(crate) fn assemble<'k>(
    model: &'k dyn AnyModel<'k>,
    span: Span<'k>,
    world: World,
    partitioning: &Partitioning,
    settings: &Settings,
    seat: Seat<'k, Conservative>,
    workers: usize,
) -> Result<(Crew<'k>, Leader<'k>), Error> {
    let control = span.options.control;
    let (course, from) = Course::new(model, span);
    let (traces, travel) = travel::agree(&course, settings.balance, &seat)?;
    let mut leader = Leader::new(course, workers, settings, &*seat.peers, travel.is_some());
    let of_all = Settings { threads: settings.threads * seat.peers.ranks(), ..*settings };
    let mut members = partitioning.members().into_iter();
    let timesheets = leader.course.options.timesheets.clone();
    let part = |number| Part::new(number, members.next().unwrap_or_default(), model, timesheets.as_ref());
    let mut parts: Vec<Part<'k>> =
        (0..partitions_max(&of_all).max(partitioning.partitions()).min(world.lps())).map(part).collect();
    let resumes = from.is_some();
    if let Some(mut cut) = from {
        let placement = partitioning.placement();
        cut.distribute(model, placement);
        parts.iter_mut().zip(cut.take_messages(placement)).for_each(|(part, messages)| part.resumes = Some(messages));
        let of_parts = parts.iter_mut().map(|part| &mut part.metrics);
        let mut metrics: Vec<_> = std::iter::once(&mut leader.course.metrics).chain(of_parts).collect();
        Metrics::redistribute(&mut metrics, &|id| 1 + placement.partition(id) as usize);
    }
    let crew_of = Workers { here: workers, rank: seat.peers.rank(), ranks: seat.peers.ranks() };
    // The trace is collected at a cut after each window. Partitions with bounds of their own come to a cut
    // only after several.
    let reach = if traces { Reach::Common } else { settings.reach };
    let plan = Arc::new(Plan::first(partitioning, crew_of, &world).reaching(reach, &world));
    if resumes && crew_of.ranks > 1 {
        // Every rank has read the whole cut.
        let rank = u32::try_from(crew_of.rank).expect("ranks are few");
        let others =
            parts.iter_mut().filter(|part| plan.homes.get(part.number as usize).is_some_and(|&home| home != rank));
        others.for_each(|part| part.forget());
    }
    seat.transport.settle(&plan.homes);
    let orders = Orders { horizon: Time::ZERO, plan, window: 0, ending: false, over: false };
    let fronts = Fronts::new(workers, if reach == Reach::Own { parts.len() } else { 0 });
    let crew = Crew {
        model,
        lps: world.lps(),
        settings: *settings,
        traces,
        control,
        grace: Arc::clone(&leader.course.grace),
        seat,
        world: RwLock::new(world),
        parts: parts.into_iter().map(Mutex::new).collect(),
        ledgers: (0..workers).map(|_| Mutex::default()).collect(),
        executed: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        worked_ns: (0..workers).map(|_| AtomicU64::new(0)).collect(),
        orders: Mutex::new(orders),
        fronts,
        reach,
        travel,
        timekeeper: leader.course.timekeeper.clone(),
    };
    Ok((crew, leader))
}

impl<'k> Crew<'k> {
    /// Returns true if the workers measure the cost of events. A single worker has nothing to balance, and
    /// neither have ranks between which nothing moves.
    pub(crate) fn samples(&self) -> bool {
        let may_move = if self.seat.peers.ranks() == 1 { self.ledgers.len() > 1 } else { self.travel.is_some() };
        may_move && self.settings.balance != Balance::ByEvents
    }

    /// Deposits the worker's ledger, which the leader collects at the cut.
    pub(crate) fn deposit_ledger(&self, hand: &mut Hand<'k>) {
        // The leader leaves a ledger where it is if it comes to a cut in the middle of a window.
        lock(&self.ledgers[hand.worker]).get_or_insert_with(|| Ledger::new(self.traces)).merge(hand.ledger.take());
        // Ordering: Relaxed; the reader has exchanged with this worker since, or has joined its thread.
        self.executed[hand.worker].store(hand.events, Ordering::Relaxed);
        self.worked_ns[hand.worker].store(hand.sampler.worked_ns(), Ordering::Relaxed);
    }

    /// Starts the LPs of the partitions that the first plan dedicates to this worker.
    /// The worker itself allocates their memory, which is then near its core.
    pub(crate) fn start(&self, hand: &mut Hand<'k>, plan: &Plan) -> Summary {
        let world = self.read_world();
        let mut next = Time::MAX;
        for &number in plan.own(hand.worker) {
            let mut part = lock(&self.parts[number as usize]);
            self.start_part(&mut part, &world, plan, hand);
            next = next.min(part.next);
        }
        self.summary(next, hand)
    }

    fn start_part(&self, part: &mut Part<'k>, world: &World, plan: &Plan, hand: &mut Hand<'k>) {
        part.set_order(self.settings.order, plan, None);
        part.start(world, hand, self.control);
        if self.samples() {
            part.costs.reset(part.lps.len());
        }
        part.guess_order();
        part.update_next();
    }

    pub(crate) fn read_world(&self) -> RwLockReadGuard<'_, World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes a window, or as much of it as does not take long: this worker's dedicated partitions, and the
    /// shared partitions that it takes. Raises `furthest` to their greatest bound, and sets the fronts of
    /// those partitions that `fronts` has.
    pub(super) fn execute(
        &self,
        bounds: &Bounds<'_>,
        window: u64,
        orders: &Orders,
        hand: &mut Hand<'k>,
        fronts: &mut [u64],
        furthest: &mut Time,
    ) -> Summary {
        let (world, plan, stop) = (self.read_world(), &orders.plan, self.stop(orders.ending));
        let mut next = Time::MAX;
        fronts.fill(u64::MAX);
        plan.take_each(hand.worker, window, |number| {
            let bound = bounds.of(number);
            *furthest = bound.max(*furthest);
            let mut part = lock(&self.parts[number as usize]);
            part.visit(|part| {
                self.seat.transport.receive(hand.worker, number, false, &mut |arrived| part.receive(arrived));
                part.execute_before(bound, self.model, &world, hand, stop);
            });
            next = next.min(part.next);
            if let Some(front) = fronts.get_mut(number as usize) {
                *front = part.next.as_ps();
            }
        });
        let sent = hand.flush(&*self.seat.transport, fronts);
        self.summary(next.min(sent), hand)
    }

    /// Returns the ways by which visits end early. If the run is `ending` because the user has stopped it,
    /// the stop itself is none of them.
    pub(crate) fn stop(&self, ending: bool) -> Stop<'_, 'k> {
        Stop { control: self.control.filter(|_| !ending), grace: &self.grace }
    }

    fn summary(&self, next: Time, hand: &Hand<'k>) -> Summary {
        Summary {
            next,
            failed: hand.ledger.failure.time(),
            events: hand.events,
            wants_cut: !hand.ledger.trace.is_empty() || !hand.ledger.requests.is_empty(),
            ..Summary::NOTHING
        }
    }
}
