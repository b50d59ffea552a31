//! Reviews of the ranks: LPs and partitions move to other ranks where these are unequally busy.
//!
//! *Who decides.* A cut of all ranks takes long, so rank 0 alone asks for a review, by its own clock. At the
//! cut the ranks share the costs of their partitions, and each rank makes the same decision from the same
//! numbers. Clocks decide when something moves, and never what is executed.
//!
//! *Moves.* Partitions move from the busiest rank to the least loaded one. If that is not enough, because
//! partitions are few or one of them holds the costly LPs, the ranks share the costs of all LPs. The LPs are
//! then gathered into other partitions. LPs that change their rank travel (`travel.rs`), for which their
//! states must be written.
//!
//! *Cost.* The time of reviews and of moves is measured, and bounds how often they happen. Each takes a
//! fiftieth of the run at most.

use super::part::Part;
use super::plan::Plan;
use super::review::Position;
use super::{Crew, partition};
use crate::balance::{Balance, Balancer, GAIN, uneven_from};
use crate::costs::{CostsById, Load};
use crate::partition::Wish;
use crate::stopwatch::timed;
use crate::travel::{Arrivals, Travel};
use crate::workers::imbalance;
use parades_core::any_model::AnySave;
use parades_core::effects::AnyEffects;
use parades_core::time::Time;
use parades_core::world::World;
use parades_sync::barrier::Broken;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

/// The time of a cut with a review, over that of the collective operation that [`RankReviewer::review`]
/// measures. A cut has five such operations, and two exchanges of all workers, which take less.
const EXCHANGES: u32 = 6;
/// The number of reviews over which their time is averaged. A rank that waits for a core makes one review
/// long.
const REVIEWS_AVERAGED: u32 = 4;

/// The extent of a review: which moves it may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// None: there is no review.
    Nothing,
    /// Workers of a rank may change their partitions. Nothing moves to another rank.
    Workers,
    /// LPs and partitions may move to other ranks, too.
    Ranks,
    /// LPs and partitions move at random.
    #[cfg(feature = "test-hooks")]
    Forced,
}

impl Extent {
    /// Returns the number by which rank 0 tells it.
    pub(super) fn word(self) -> u64 {
        match self {
            Extent::Nothing => 0,
            Extent::Workers => 1,
            Extent::Ranks => 2,
            #[cfg(feature = "test-hooks")]
            Extent::Forced => 3,
        }
    }

    /// Returns the extent of this number.
    pub(super) fn of_word(word: u64) -> Extent {
        match word {
            1 => Extent::Workers,
            2 => Extent::Ranks,
            #[cfg(feature = "test-hooks")]
            3 => Extent::Forced,
            _ => Extent::Nothing,
        }
    }
}

/// Decides when the ranks are reviewed, and what moves.
#[derive(Debug)]
pub(super) struct RankReviewer {
    balance: Balance,
    /// True on rank 0, which decides when there is a review.
    decides: bool,
    balancer: Balancer,
    /// The average time of a review, once there was one.
    took: Option<Duration>,
    /// The number of windows before the last review.
    windows: u64,
    /// Everything before this time had been executed at the last move, and this number of events.
    at: (Time, u64),
    /// The number of LPs that have come to this rank from others.
    pub(super) arrived: usize,
    /// The number of reviews at which LPs were forced to move.
    #[cfg(feature = "test-hooks")]
    forced: u32,
}

/// The costs that the ranks share at a review.
struct Shared {
    /// False if a rank has come to the end of the run.
    continues: bool,
    /// By partition, in nanoseconds.
    costs: Vec<u64>,
    load: Load,
    /// The number of events executed by all ranks.
    events: u64,
}

/// The run at a cut, as one rank sees it.
pub(super) struct AtCut<'a, 'g, 'k> {
    pub(super) crew: &'a Crew<'k>,
    pub(super) save: &'k dyn AnySave<'k>,
    pub(super) plan: &'a Arc<Plan>,
    pub(super) world: &'a World,
    pub(super) parts: &'a mut [MutexGuard<'g, Part<'k>>],
    pub(super) reached: Position,
}

impl RankReviewer {
    /// Makes the reviewer of a rank, which decides when there is a review if it `decides`.
    pub(super) fn new(balance: Balance, decides: bool) -> RankReviewer {
        RankReviewer {
            balance,
            decides,
            balancer: Balancer::new(),
            took: None,
            windows: 0,
            at: (Time::ZERO, 0),
            arrived: 0,
            #[cfg(feature = "test-hooks")]
            forced: 0,
        }
    }

    /// Returns the extent of the review that is due after `windows` windows, if this rank decides.
    pub(super) fn due(&self, windows: u64, at: std::time::Instant) -> Extent {
        match self.balance {
            _ if !self.decides => Extent::Nothing,
            Balance::ByEvents => Extent::Nothing,
            Balance::Measured if windows == self.windows || !self.balancer.is_due(at) => Extent::Nothing,
            Balance::Measured if self.balancer.may_move_lps(at) => Extent::Ranks,
            Balance::Measured => Extent::Workers,
            #[cfg(feature = "test-hooks")]
            Balance::Forced { every, .. } if windows - self.windows >= every.into() => Extent::Forced,
            #[cfg(feature = "test-hooks")]
            Balance::Forced { .. } => Extent::Nothing,
        }
    }

    /// Reviews the work of all ranks. Returns the next plan, if there is another. `continues` is false if
    /// this rank has come to the end of the run. All ranks call this together.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a rank is lost.
    pub(super) fn review(
        &mut self,
        mut cut: AtCut<'_, '_, '_>,
        extent: Extent,
        continues: bool,
    ) -> Result<Option<Arc<Plan>>, Broken> {
        self.windows = cut.reached.windows;
        let (shared, took) = timed(|| cut.share(continues));
        let shared = shared?;
        let next = if shared.continues { self.next_plan(&mut cut, &shared, extent)? } else { None };
        let took = EXCHANGES * took;
        let before = self.took.unwrap_or(took);
        let average = (before * (REVIEWS_AVERAGED - 1) + took) / REVIEWS_AVERAGED;
        self.took = Some(average);
        self.balancer.note_review(average);
        Ok(next.map(Arc::new))
    }

    fn next_plan(
        &mut self,
        cut: &mut AtCut<'_, '_, '_>,
        shared: &Shared,
        extent: Extent,
    ) -> Result<Option<Plan>, Broken> {
        #[cfg(feature = "test-hooks")]
        if let (Extent::Forced, Balance::Forced { seed, .. }) = (extent, self.balance) {
            return self.force(cut, seed).map(Some);
        }
        let Shared { costs, load, .. } = shared;
        if !load.is_measured() {
            return Ok(None);
        }
        let loads = cut.plan.rank_loads(costs);
        let before = imbalance(loads.iter().copied());
        if before < uneven_from(GAIN, loads.len(), *load) {
            self.balancer.note_balance();
        } else if extent == Extent::Ranks {
            let (next, took) = timed(|| self.move_between_ranks(cut, shared, before));
            let next = next?;
            self.balancer.note_search(took, next.is_some());
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(cut.move_between_workers(shared))
    }

    /// Moves partitions or LPs to other ranks, whose busiest has `before` times the average load. Returns the
    /// next plan, unless none is better.
    fn move_between_ranks(
        &mut self,
        cut: &mut AtCut<'_, '_, '_>,
        shared: &Shared,
        before: f64,
    ) -> Result<Option<Plan>, Broken> {
        let Shared { costs, load, .. } = shared;
        let next = cut.plan.with_homes(cut.plan.homes_evened(costs), costs, &cut.crew.settings);
        let after = imbalance(next.rank_loads(costs).into_iter());
        let is_better = after * GAIN < before;
        if is_better && after < uneven_from(GAIN, cut.crew.seat.peers.ranks(), *load) {
            return self.travel(cut, next, false, shared.events).map(Some);
        }
        if let Some(regrouped) = self.regroup(cut, shared, before.min(after))? {
            return self.travel(cut, regrouped, true, shared.events).map(Some);
        }
        if is_better { self.travel(cut, next, false, shared.events).map(Some) } else { Ok(None) }
    }

    /// Returns a plan with other partitions, under which the busiest rank has less than `before` times the
    /// average load by enough to be worth a move.
    fn regroup(&self, cut: &AtCut<'_, '_, '_>, shared: &Shared, before: f64) -> Result<Option<Plan>, Broken> {
        let AtCut { crew, plan, world, reached, .. } = cut;
        let weights = cut.share_weights()?;
        let span = reached.bound.since(self.at.0).as_secs_f64();
        let executed = shared.events - self.at.1;
        let events_per_second = (executed > 0 && span > 0.0).then(|| executed as f64 / span);
        let workers = u32::try_from(crew.settings.threads * crew.seat.peers.ranks()).unwrap_or(u32::MAX);
        let wish = Wish { events_per_second, weights: Some(&weights), evenly: true, ..Wish::of_workers(workers) };
        let found = partition(world, &crew.settings, wish);
        if found.partitions() <= 1 || found.partitions() as usize > cut.parts.len() {
            return Ok(None);
        }
        let mut next = Plan::after(plan, &found, world, &weights);
        let costs = next.costs_of(&weights);
        next.assign(&costs, &crew.settings);
        let is_better = imbalance(next.rank_loads(&costs).into_iter()) * GAIN < before;
        Ok(is_better.then_some(next))
    }

    /// Moves LPs to the partitions and ranks of the plan `next`. Unless the plan regroups LPs, it only has
    /// other homes of partitions. All ranks have executed this number of events.
    fn travel(&mut self, cut: &mut AtCut<'_, '_, '_>, next: Plan, regroups: bool, events: u64) -> Result<Plan, Broken> {
        let found = cut.parts.iter().max_by_key(|part| part.events).and_then(|part| part.found_by_lp());
        let AtCut { crew, save, plan, parts, reached, .. } = cut;
        let is_touched = |number| regroups || plan.homes.get(number) != next.homes.get(number);
        let travel = Travel {
            save: *save,
            peers: &*crew.seat.peers,
            lps: crew.lps,
            old: plan.places(),
            new: next.places(),
            touched: (0..parts.len()).map(is_touched).collect(),
            time: reached.bound,
        };
        let arrivals = travel.execute(parts)?;
        self.arrived += arrivals.count();
        self.at = (reached.bound, events);
        cut.take_in(arrivals, &travel.touched, &next, found);
        Ok(next)
    }

    /// Moves LPs to partitions, and these to ranks, that are drawn at random.
    #[cfg(feature = "test-hooks")]
    fn force(&mut self, cut: &mut AtCut<'_, '_, '_>, seed: u64) -> Result<Plan, Broken> {
        use crate::partition::Partitioning;
        self.forced += 1;
        let rng = parades_core::random::Rng::shared(seed, self.forced);
        let AtCut { crew, plan, world, parts, .. } = cut;
        let regroups = rng.chance(0.7);
        let drawn = regroups.then(|| {
            let most = u32::try_from(parts.len()).unwrap_or(u32::MAX);
            let floor = crew.settings.least_lookahead.unwrap_or_default();
            let found = Partitioning::at_random(world.channels(), world.lps(), floor, most, &rng);
            Plan::after(plan, &found, world, &vec![1; world.lps() as usize])
        });
        let from = drawn.as_ref().unwrap_or(plan);
        let ranks = u64::try_from(crew.seat.peers.ranks()).unwrap_or(u64::MAX);
        let draw = || u32::try_from(rng.below(ranks)).expect("ranks are few");
        let homes: Vec<u32> = from.homes.iter().map(|_| draw()).collect();
        let costs: Vec<u64> = homes.iter().map(|_| rng.below(1_000)).collect();
        let next = from.with_homes(homes, &costs, &crew.settings);
        self.travel(cut, next, regroups, 0)
    }
}

impl<'k> AtCut<'_, '_, 'k> {
    /// Lets the partitions that LPs have left or joined take in the arrivals. `found` is the faster order of
    /// events that a partition has found, if one has.
    fn take_in(&mut self, arrivals: Arrivals<'k>, touched: &[bool], next: &Plan, found: Option<bool>) {
        let AtCut { crew, world, parts, reached, .. } = self;
        let touched = || (0..touched.len()).filter(|&number| touched[number]);
        for number in touched() {
            let part = &mut parts[number];
            part.restart(reached.bound);
            if !next.placement.is_empty(part.number) {
                part.set_order(crew.settings.order, next, found);
            }
            part.lps.pick_up(number);
        }
        for event in arrivals.events {
            parts[next.placement.partition(event.receiver()) as usize].push(event);
        }
        let mut effects = AnyEffects::partitioned(crew.model.form(), &next.placement);
        for (part, arrived) in parts.iter_mut().zip(&arrivals.lps).filter(|(_, arrived)| !arrived.is_empty()) {
            part.renew_wakes(arrived, world, &mut effects);
            part.update_next();
        }
        for part in parts.iter_mut() {
            // Costs of LPs that have come are not known, and those of one rank alone would mislead the next
            // review.
            let lps = part.lps.len();
            part.costs.reset(lps);
        }
        touched().for_each(|number| parts[number].guess_order());
    }

    /// Shares the costs of all ranks, which then count less than later ones.
    fn share(&mut self, continues: bool) -> Result<Shared, Broken> {
        let AtCut { crew, plan, parts, .. } = self;
        let peers = &crew.seat.peers;
        let load = parts.iter().map(|part| part.costs.load()).fold(Load::default(), |all, part| all + part);
        let events = parts.iter().map(|part| part.events).sum();
        let own = (0..).zip(&plan.homes).filter(|(_, home)| **home as usize == peers.rank());
        let costs = own.flat_map(|(number, _)| [number as u64, parts[number].costs.load().whole_ns()]);
        let mine = [u64::from(continues), load.ns.to_bits(), load.squares.to_bits(), events];
        let all = peers.share_words(&mine.into_iter().chain(costs).collect::<Vec<u64>>())?;
        parts.iter_mut().for_each(|part| part.costs.age());
        let mut shared = Shared { continues: true, costs: vec![0; plan.homes.len()], load: Load::default(), events: 0 };
        for of_rank in &all {
            shared.continues &= of_rank[0] > 0;
            shared.load = shared.load + Load { ns: f64::from_bits(of_rank[1]), squares: f64::from_bits(of_rank[2]) };
            shared.events += of_rank[3];
            for pair in of_rank[4..].chunks_exact(2) {
                shared.costs[usize::try_from(pair[0]).expect("partitions are counted in 32 bits")] = pair[1];
            }
        }
        Ok(shared)
    }

    /// Returns the weights of the LPs of all ranks ([`CostsById::weights`]).
    fn share_weights(&self) -> Result<Vec<u64>, Broken> {
        let AtCut { crew, plan, parts, .. } = self;
        let part = |number: u32| &parts[number as usize];
        let mut costs = CostsById::collect(|number| &part(number).costs, |_| 1.0, &plan.placement, crew.lps);
        let sent = |id| part(plan.placement.partition(id)).lps.sequence(plan.placement.index(id));
        let events = costs.share(plan.places(), &*crew.seat.peers, sent)?;
        Ok(costs.weights(events))
    }

    /// Returns the plan under which partitions have moved between the workers of this rank, if those are
    /// unequally busy.
    fn move_between_workers(&self, shared: &Shared) -> Option<Plan> {
        let AtCut { crew, plan, .. } = self;
        let Shared { costs, load, .. } = shared;
        let before = plan.unevenness(costs);
        let share = 1.0 / crew.seat.peers.ranks() as f64;
        let is_uneven = before >= uneven_from(GAIN, plan.workers(), load.times(share));
        if plan.workers() == 1 || crew.settings.dedicated < 1.0 || !is_uneven {
            return None;
        }
        let mut next = plan.dedicated();
        next.rebalance(costs);
        (next.unevenness(costs) * GAIN < before).then_some(next)
    }
}
