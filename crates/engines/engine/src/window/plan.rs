//! The plan: the partitions of a run, and the worker that executes each of them.

use super::Settings;
use super::bounds::{Distances, Reach};
use super::shared::SharedSet;
use crate::partition::{Partitioning, ranks};
use crate::travel::Places;
use crate::workers::imbalance;
use parades_core::event::LpId;
use parades_core::pending::Grid;
use parades_core::placement::Placement;
use parades_core::time::Delay;
use parades_core::world::World;
use std::sync::Arc;

/// The plan that the workers follow, until the leader makes another at a cut.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) placement: Placement,
    /// The least lookahead between partitions.
    pub(crate) lookahead: Option<Delay>,
    /// The distances by which partitions have bounds of their own, if they have.
    pub(super) distances: Option<Arc<Distances>>,
    /// The least delay after which a request of a controller takes effect.
    pub(crate) control_delay: Option<Delay>,
    /// The width of windows in which LPs of one partition cannot affect each other. `None` if the LPs have
    /// no lookahead.
    pub(crate) width: Option<Delay>,
    /// The windows of that width.
    pub(crate) grid: Option<Grid>,
    /// By partition: the rank that owns it.
    pub(crate) homes: Vec<u32>,
    /// The workers of the run, as this rank sees them.
    workers: Workers,
    /// By worker of this rank: the partitions dedicated to it, the costliest first.
    dedicated: Vec<Vec<u32>>,
    /// The sets of shared partitions, which any idle worker takes, the costliest first.
    shared: Vec<SharedSet>,
}

/// The workers of a run, as one rank sees them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Workers {
    /// The number of workers of this rank.
    pub(crate) here: usize,
    /// The number of this rank.
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
}

impl Workers {
    /// The workers of the only rank.
    pub(crate) fn alone(workers: usize) -> Workers {
        Workers { here: workers, rank: 0, ranks: 1 }
    }
}

impl Plan {
    /// Returns the plan to begin with, while nothing has been measured.
    pub(crate) fn first(partitioning: &Partitioning, workers: Workers, world: &World) -> Plan {
        let placement = partitioning.placement();
        let costs: Vec<u64> = (0..placement.partitions()).map(|number| placement.len(number).into()).collect();
        Plan::by_costs(partitioning, workers, world, &costs)
    }

    /// Returns the plan of the only rank for LPs whose weights have been measured.
    pub(crate) fn by_weights(partitioning: &Partitioning, workers: usize, world: &World, weights: &[u64]) -> Plan {
        let costs = costs_of(partitioning.placement(), weights);
        Plan::by_costs(partitioning, Workers::alone(workers), world, &costs)
    }

    /// Returns the plan that follows `before`, whose LPs have these measured weights, with other partitions
    /// on the same ranks. Each rank keeps as many of its LPs as possible.
    pub(super) fn after(before: &Plan, partitioning: &Partitioning, world: &World, weights: &[u64]) -> Plan {
        let costs = costs_of(partitioning.placement(), weights);
        let mut plan = Plan::by_costs(partitioning, before.workers, world, &costs);
        let home = |id| (plan.places().home_of(id), before.places().home_of(id));
        let rename = ranks::renaming(before.workers.ranks, super::ids(world.lps()).map(home));
        plan.homes.iter_mut().for_each(|home| *home = rename[*home as usize]);
        plan.dedicate(&costs, |_| true);
        plan
    }

    /// Returns the places of all LPs.
    pub(super) fn places(&self) -> Places<'_> {
        Places { placement: &self.placement, homes: &self.homes }
    }

    /// Returns the load of each rank, if the partitions have these costs.
    pub(super) fn rank_loads(&self, costs: &[u64]) -> Vec<u64> {
        let mut loads = vec![0; self.workers.ranks];
        self.homes.iter().zip(costs).for_each(|(&home, cost)| loads[home as usize] += cost);
        loads
    }

    /// Returns the same plan with other homes of the partitions, which have these costs.
    pub(super) fn with_homes(&self, homes: Vec<u32>, costs: &[u64], settings: &Settings) -> Plan {
        let mut plan = Plan { homes, ..self.unassigned() };
        plan.assign(costs, settings);
        plan
    }

    /// Moves partitions from the busiest rank to the least loaded one, as long as the busiest one then has
    /// less to do. Returns the new homes.
    pub(super) fn homes_evened(&self, costs: &[u64]) -> Vec<u32> {
        let mut of_ranks = vec![Vec::new(); self.workers.ranks];
        (0..).zip(&self.homes).for_each(|(number, &home)| of_ranks[home as usize].push(number));
        even_out(&mut of_ranks, costs, self.homes.len());
        let mut homes = self.homes.clone();
        for (rank, own) in (0..).zip(&of_ranks) {
            own.iter().for_each(|&number: &u32| homes[number as usize] = rank);
        }
        homes
    }

    /// Returns the cost of each partition, for LPs of these weights.
    pub(crate) fn costs_of(&self, weights: &[u64]) -> Vec<u64> {
        costs_of(&self.placement, weights)
    }

    fn by_costs(partitioning: &Partitioning, workers: Workers, world: &World, costs: &[u64]) -> Plan {
        let controllers = world.controllers();
        let least = world.channels().min_lookahead().unwrap_or(Delay::MAX);
        let width = (least >= Delay::from_ps(2)).then_some(least);
        let mut plan = Plan {
            placement: partitioning.placement().clone(),
            lookahead: partitioning.lookahead_of(world.channels()),
            distances: None,
            control_delay: (!controllers.lps.is_empty()).then_some(controllers.delay),
            width,
            grid: width.map(Grid::new),
            homes: ranks::assign(costs, workers.ranks, partitioning, world.channels()),
            workers,
            dedicated: vec![Vec::new(); workers.here],
            shared: Vec::new(),
        };
        plan.dedicate(costs, |_| true);
        plan
    }

    /// Returns the same plan after a change of lookahead, with the same partitions, and without any
    /// assignment of them to workers.
    pub(crate) fn with_lookahead(&self, world: &World) -> Plan {
        let partitioning = Partitioning::of_placement(world.lps(), &self.placement);
        let least = world.channels().min_lookahead().unwrap_or(Delay::MAX);
        let width = (least >= Delay::from_ps(2)).then_some(least);
        Plan {
            lookahead: partitioning.lookahead_of(world.channels()),
            distances: None,
            width,
            grid: width.map(Grid::new),
            ..self.unassigned()
        }
    }

    /// Returns the same plan after a change of lookahead. Each partition stays with its worker, or in its
    /// set.
    pub(crate) fn in_place(&self, world: &World, settings: &Settings) -> Plan {
        let shared = self.shared.iter().map(|set| SharedSet::new(set.members().to_vec(), settings.taking)).collect();
        let next = Plan { dedicated: self.dedicated.clone(), shared, ..self.with_lookahead(world) };
        next.reaching(settings.reach, world)
    }

    /// Returns a copy of the plan without any assignment of partitions to workers.
    pub(crate) fn unassigned(&self) -> Plan {
        let Plan { placement, lookahead, distances, control_delay, width, grid, homes, workers, dedicated, .. } = self;
        Plan {
            placement: placement.clone(),
            lookahead: *lookahead,
            distances: distances.clone(),
            control_delay: *control_delay,
            width: *width,
            grid: *grid,
            homes: homes.clone(),
            workers: *workers,
            dedicated: vec![Vec::new(); dedicated.len()],
            shared: Vec::new(),
        }
    }

    /// Gives the partitions bounds of their own, if `reach` asks for them and the ranks and partitions are
    /// few.
    pub(super) fn reaching(mut self, reach: Reach, world: &World) -> Plan {
        let partitions = self.placement.partitions();
        self.distances = (reach == Reach::Own && self.workers.ranks == 1 && Distances::suit(partitions)).then(|| {
            let partitioning = Partitioning::of_placement(world.lps(), &self.placement);
            Arc::new(Distances::find(partitions, &partitioning.between(world.channels())))
        });
        self
    }

    /// Returns true if there is only one partition, in a run of one rank. The leader executes it, while the
    /// other workers wait for another plan.
    pub(crate) fn has_one_partition(&self) -> bool {
        self.placement.partitions() == 1 && self.workers.ranks == 1
    }

    /// Returns the number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.dedicated.len()
    }

    /// Assigns the partitions. The costliest, up to a share of the work, are dedicated, each to the least
    /// loaded worker. The remainder goes to sets of shared partitions, each to the least loaded set.
    pub(crate) fn assign(&mut self, costs: &[u64], settings: &Settings) {
        let share = settings.dedicated * costs.iter().sum::<u64>() as f64;
        let remainder = self.dedicate(costs, |dedicated| settings.dedicated >= 1.0 || (dedicated as f64) < share);
        let mut sets = vec![Vec::new(); settings.sets.clamp(1, self.workers())];
        let mut loads = vec![0; sets.len()];
        for number in remainder {
            let least = least_loaded(&loads);
            loads[least] += costs[number as usize].max(1);
            sets[least].push(number);
        }
        let sets = sets.into_iter().filter(|set| !set.is_empty());
        self.shared = sets.map(|set| SharedSet::new(set, settings.taking)).collect();
    }

    /// Dedicates the costliest partitions to workers, while `continues` returns true for the cost dedicated
    /// so far. Returns the remainder.
    fn dedicate(&mut self, costs: &[u64], continues: impl Fn(u64) -> bool) -> Vec<u32> {
        let is_own = |number: &u32| self.homes[*number as usize] as usize == self.workers.rank;
        let mut partitions: Vec<u32> = (0..self.placement.partitions()).filter(is_own).collect();
        partitions.sort_by_key(|&number| (std::cmp::Reverse(costs[number as usize]), number));
        let mut loads = vec![0; self.dedicated.len()];
        self.dedicated.iter_mut().for_each(Vec::clear);
        let mut count = 0;
        while count < partitions.len() && continues(loads.iter().sum()) {
            let number = partitions[count];
            let least = least_loaded(&loads);
            loads[least] += costs[number as usize].max(1);
            self.dedicated[least].push(number);
            count += 1;
        }
        partitions.split_off(count)
    }

    /// Returns the load of the busiest worker of this rank over the average, if the partitions have these
    /// costs. All partitions are dedicated.
    pub(crate) fn unevenness(&self, costs: &[u64]) -> f64 {
        imbalance(self.dedicated.iter().map(|own| own.iter().map(|&number| costs[number as usize]).sum()))
    }

    /// Moves partitions from the busiest worker to the least loaded one, as long as the busiest one then has
    /// less to do. Returns the number of moves.
    pub(crate) fn rebalance(&mut self, costs: &[u64]) -> u64 {
        let cost = |number: u32| costs[number as usize];
        let moves = even_out(&mut self.dedicated, costs, self.placement.partitions() as usize);
        self.dedicated.iter_mut().for_each(|own| own.sort_by_key(|&number| (std::cmp::Reverse(cost(number)), number)));
        moves
    }

    /// Returns a copy of the plan, with its partitions dedicated as they are. It has no shared partitions.
    pub(crate) fn dedicated(&self) -> Plan {
        Plan { dedicated: self.dedicated.clone(), ..self.unassigned() }
    }

    /// Returns the partitions dedicated to `worker`.
    pub(crate) fn own(&self, worker: usize) -> &[u32] {
        &self.dedicated[worker]
    }

    /// Calls `execute` for each partition that `worker` takes in a window.
    pub(crate) fn take_each(&self, worker: usize, window: u64, mut execute: impl FnMut(u32)) {
        self.dedicated[worker].iter().for_each(|&number| execute(number));
        // Its own set first, then those of others.
        for step in 0..self.shared.len() {
            let set = &self.shared[(worker + step) % self.shared.len()];
            while let Some(number) = set.take(window) {
                execute(number);
            }
        }
    }

    /// Makes the shared partitions available in `window`, which no worker has begun.
    pub(crate) fn reset(&self, window: u64) {
        self.shared.iter().for_each(|set| set.reset(window));
    }
}

/// Returns the cost of each partition, for LPs of these weights.
fn costs_of(placement: &Placement, weights: &[u64]) -> Vec<u64> {
    let mut costs = vec![0; placement.partitions() as usize];
    for (id, weight) in (0..).map(LpId).zip(weights) {
        costs[placement.partition(id) as usize] += weight;
    }
    costs
}

/// Moves partitions from the group of the greatest cost to that of the least, as long as the greatest one
/// then has less to do, and at most `limit` times. Returns the number of moves.
fn even_out(groups: &mut [Vec<u32>], costs: &[u64], limit: usize) -> u64 {
    let cost = |number: u32| costs[number as usize];
    let mut loads: Vec<u64> = groups.iter().map(|own| own.iter().map(|&number| cost(number)).sum()).collect();
    let mut moves = 0;
    // Each move makes two loads more alike. The limit is against a long tail of small moves.
    while moves < limit as u64 {
        let busiest = (0..loads.len()).max_by_key(|&group| loads[group]).expect("there are groups");
        let least = least_loaded(&loads);
        let gap = loads[busiest] - loads[least];
        let fits = |index: &usize| (1..gap).contains(&cost(groups[busiest][*index]));
        let closest = |index: &usize| (2 * cost(groups[busiest][*index])).abs_diff(gap);
        let Some(index) = (0..groups[busiest].len()).filter(fits).min_by_key(closest) else { break };
        let number = groups[busiest].remove(index);
        loads[busiest] -= cost(number);
        loads[least] += cost(number);
        groups[least].push(number);
        moves += 1;
    }
    moves
}

/// Returns the index of the least load.
fn least_loaded(loads: &[u64]) -> usize {
    (0..loads.len()).min_by_key(|&index| loads[index]).expect("there is at least one load")
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::any_model::with_model;
    use parades_core::prelude::*;
    use parades_core::run::RunOptions;

    /// Eight LPs, any of which may send to any other.
    struct Eight;

    impl Model for Eight {
        type State = ();
        type Message = ();
        type Global = NoGlobal;
        fn lps(&self) -> u32 {
            8
        }
        fn channels(&self) -> Channels {
            Channels::whole(Delay::from_ms(1))
        }
        fn start(&self, _: &mut Context<'_, Self>) {}
        fn handle(&self, (): &mut (), _: Body<&()>, _: &mut Context<'_, Self>) {}
    }

    /// Returns a plan with a partition for each LP, and two workers. It is balanced for these costs.
    fn plan(costs: &[u64; 8]) -> Plan {
        let partitioning = Partitioning::of_placement(8, &Placement::ranges(8, 1));
        with_model(&Eight, RunOptions::until(Time::MAX), |model, options| {
            let world = World::new(model, &options).expect("the channels are in order");
            Plan::by_weights(&partitioning, 2, &world, costs)
        })
    }

    #[test]
    fn partitions_move_from_the_busiest_worker_until_both_have_the_same() {
        let mut plan = plan(&[1; 8]);
        assert_eq!((plan.own(0), plan.own(1)), (&[0, 2, 4, 6][..], &[1, 3, 5, 7][..]));
        // The even partitions have become costly.
        let costs = [9, 1, 9, 1, 9, 1, 9, 1];
        assert!((plan.unevenness(&costs) - 1.8).abs() < 1e-9);
        assert_eq!(plan.rebalance(&costs), 4);
        assert_eq!((plan.own(0), plan.own(1)), (&[4, 6, 1, 3][..], &[0, 2, 5, 7][..]));
        assert!((plan.unevenness(&costs) - 1.0).abs() < 1e-9);
        assert_eq!(plan.rebalance(&costs), 0, "no move makes them more alike");
    }

    #[test]
    fn partitions_move_from_the_busiest_rank_and_ranks_keep_most_of_their_lps() {
        let partitioning = Partitioning::of_placement(8, &Placement::ranges(8, 1));
        with_model(&Eight, RunOptions::until(Time::MAX), |model, options| {
            let world = World::new(model, &options).expect("the channels are in order");
            let workers = Workers { here: 1, rank: 0, ranks: 2 };
            let plan = Plan::by_costs(&partitioning, workers, &world, &[1; 8]);
            assert_eq!((plan.own(0), &plan.homes), (&[0, 1, 2, 3][..], &vec![0, 0, 0, 0, 1, 1, 1, 1]));
            let costs = [9, 1, 9, 1, 1, 1, 1, 1];
            assert_eq!(plan.rank_loads(&costs), [20, 4]);
            let homes = plan.homes_evened(&costs);
            assert_eq!(homes, [1, 0, 0, 0, 0, 1, 1, 1]);
            let evened = plan.with_homes(homes, &costs, &Settings::of_threads(1));
            assert_eq!((evened.rank_loads(&costs), evened.own(0)), (vec![12, 12], &[2, 1, 3, 4][..]));
            let swapped = plan.with_homes(vec![1, 1, 1, 1, 0, 0, 0, 0], &costs, &Settings::of_threads(1));
            assert_eq!(Plan::after(&swapped, &partitioning, &world, &[1; 8]).homes, swapped.homes);
        });
    }

    #[test]
    fn a_partition_that_is_costlier_than_the_gap_stays() {
        let costs = [100, 1, 1, 1, 1, 1, 1, 1];
        let mut plan = plan(&costs);
        assert_eq!(plan.own(0), [0]);
        assert_eq!(plan.rebalance(&costs), 0);
    }
}
