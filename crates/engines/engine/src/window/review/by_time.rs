//! Reviews by time: partitions, or LPs, move when workers are unequally busy by the clock.

use super::super::part::Part;
use super::super::plan::Plan;
use super::super::{Crew, Settings};
use super::{Reviewer, measured_weights, total_load};
use crate::balance::{Balance, GAIN, uneven_from};
use crate::partition::Partitioning;
use crate::stopwatch::{now, timed};
use parades_core::time::Time;
use parades_core::world::World;
use std::sync::{Arc, MutexGuard};

impl Reviewer {
    /// Returns true if partitions move by the time that workers measure. Shared partitions need not: idle
    /// workers take them.
    pub(super) fn is_by_time(&self, settings: &Settings, parts: &[MutexGuard<'_, Part<'_>>]) -> bool {
        self.balance == Balance::Measured && settings.dedicated >= 1.0 && total_load(parts).is_measured()
    }

    /// Moves partitions, or LPs, if the workers are unequally busy. Returns the next plan, if anything moves.
    pub(super) fn balance<'k>(
        &mut self,
        crew: &Crew<'k>,
        plan: &Plan,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        bound: Time,
    ) -> Option<Arc<Plan>> {
        #[cfg(feature = "test-hooks")]
        if let Balance::Forced { every, seed } = self.balance {
            return self.force(crew, plan, world, parts, bound, Force { every, seed });
        }
        let moved = self.move_partitions(plan, &crew.settings, parts);
        let next = moved.as_ref().unwrap_or(plan);
        if !self.should_move_lps(next, &crew.settings, parts) {
            return moved.map(Arc::new);
        }
        let (found, took) = timed(|| {
            let weights = measured_weights(plan, world.lps(), parts);
            let found = self.measured_partitioning(crew, world, &weights, self.events_per_second(parts, bound), true);
            let workers = u32::try_from(plan.workers()).unwrap_or(u32::MAX);
            let busiest = Partitioning::busiest_share(found.placement(), workers, &weights) * plan.workers() as f64;
            let before = next.unevenness(&plan.costs_of(&weights));
            (found.partitions() > 1 && busiest * GAIN < before).then(|| {
                let new = Plan::by_weights(&found, plan.workers(), world, &weights);
                Self::move_to(crew, world, plan, new, parts, bound)
            })
        });
        self.balancer.note_search(took, found.is_some());
        found.or(moved.map(Arc::new))
    }

    /// Moves partitions to other workers, if a review by time is due and the workers are unequally busy.
    /// Returns the next plan, if anything moves.
    pub(super) fn move_partitions(
        &mut self,
        plan: &Plan,
        settings: &Settings,
        parts: &mut [MutexGuard<'_, Part<'_>>],
    ) -> Option<Plan> {
        if self.balance != Balance::Measured || !self.balancer.is_due(now()) {
            return None;
        }
        let (next, took) = timed(|| {
            let by_time = self.is_by_time(settings, parts);
            let next = by_time.then(|| self.partitions_moved(plan, parts)).flatten();
            parts.iter_mut().for_each(|part| part.costs.age());
            next
        });
        self.balancer.note_review(took);
        next
    }

    fn partitions_moved(&mut self, plan: &Plan, parts: &[MutexGuard<'_, Part<'_>>]) -> Option<Plan> {
        if plan.has_one_partition() {
            return None;
        }
        let costs = costs_by_time(parts);
        let before = plan.unevenness(&costs);
        if before < uneven_from(GAIN, plan.workers(), total_load(parts)) {
            self.balancer.note_balance();
            return None;
        }
        let mut next = plan.dedicated();
        let moves = next.rebalance(&costs);
        let is_better = next.unevenness(&costs) * GAIN < before;
        self.balancer.partition_moves += if is_better { moves } else { 0 };
        is_better.then_some(next)
    }

    /// Returns true if LPs must move to other partitions, because the workers of `plan` are unequally busy.
    fn should_move_lps(&self, plan: &Plan, settings: &Settings, parts: &[MutexGuard<'_, Part<'_>>]) -> bool {
        let may_cut = !self.retreat.alone && plan.workers() > 1 && !plan.has_one_partition();
        may_cut
            && self.is_by_time(settings, parts)
            && self.balancer.may_move_lps(now())
            && plan.unevenness(&costs_by_time(parts)) >= uneven_from(GAIN, plan.workers(), total_load(parts))
    }

    /// Returns the random stream of the next review.
    #[cfg(feature = "test-hooks")]
    pub(super) fn next_draws(&mut self, seed: u64) -> parades_core::random::Rng {
        self.reviews += 1;
        parades_core::random::Rng::shared(seed, self.reviews)
    }

    /// Moves LPs to partitions that are drawn at random, and these to workers, each `every` reviews.
    #[cfg(feature = "test-hooks")]
    fn force<'k>(
        &mut self,
        crew: &Crew<'k>,
        plan: &Plan,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        bound: Time,
        force: Force,
    ) -> Option<Arc<Plan>> {
        let rng = self.next_draws(force.seed);
        parts.iter_mut().for_each(|part| part.costs.age());
        if self.retreat.alone || !self.reviews.is_multiple_of(force.every.max(1)) {
            return None;
        }
        let most = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let floor = crew.settings.least_lookahead.unwrap_or_default();
        let found = Partitioning::at_random(world.channels(), world.lps(), floor, most, &rng);
        let weights: Vec<u64> = (0..world.lps()).map(|_| rng.below(1_000)).collect();
        let next = Plan::by_weights(&found, plan.workers(), world, &weights);
        self.balancer.lp_moves += 1;
        Some(Self::move_to(crew, world, plan, next, parts, bound))
    }
}

/// Returns the cost of each partition, in nanoseconds.
fn costs_by_time(parts: &[MutexGuard<'_, Part<'_>>]) -> Vec<u64> {
    parts.iter().map(|part| part.costs.load().whole_ns()).collect()
}

/// The moves that a test asks for; see [`Balance::Forced`].
#[cfg(feature = "test-hooks")]
#[derive(Clone, Copy, Debug)]
struct Force {
    every: u32,
    seed: u64,
}
