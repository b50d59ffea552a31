//! The plan: the partitions of a run, and the worker that executes each of them.

use super::Settings;
use super::bounds::{Distances, Reach};
use super::shared::SharedSet;
use crate::partition::{Partitioning, ranks};
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
        let placement = partitioning.placement();
        let mut costs = vec![0; placement.partitions() as usize];
        for (id, weight) in super::ids(world.lps()).zip(weights) {
            costs[placement.partition(id) as usize] += weight;
        }
        Plan::by_costs(partitioning, Workers::alone(workers), world, &costs)
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

    /// Gives the partitions bounds of their own, if `reach` asks for them and the ranks and partitions are few.
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

/// Returns the index of the least load.
fn least_loaded(loads: &[u64]) -> usize {
    (0..loads.len()).min_by_key(|&index| loads[index]).expect("there is at least one load")
}
