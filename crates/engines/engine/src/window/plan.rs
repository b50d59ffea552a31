//! Which partitions there are, and who executes them.

use super::Settings;
use super::shared::SharedSet;
use crate::partition::Partitioning;
use parades_core::pending::Grid;
use parades_core::placement::Placement;
use parades_core::time::Delay;
use parades_core::world::World;

/// What the workers follow from one rest to another that plans anew.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) placement: Placement,
    /// The least lookahead between partitions.
    pub(crate) lookahead: Option<Delay>,
    /// How soon a request of a controller's can take effect.
    pub(crate) control_delay: Option<Delay>,
    /// The width of windows in which LPs of one partition cannot reach each other; `None` where there is no lookahead between them.
    pub(crate) width: Option<Delay>,
    /// The windows of that width.
    pub(crate) grid: Option<Grid>,
    /// The partitions dedicated to each worker, longest first.
    dedicated: Vec<Vec<u32>>,
    /// Those taken by whoever is free, longest first.
    shared: Vec<SharedSet>,
}

impl Plan {
    /// The plan while nothing has been measured.
    pub(crate) fn first(partitioning: &Partitioning, workers: usize, world: &World) -> Plan {
        let placement = partitioning.placement();
        let costs: Vec<u64> = (0..placement.partitions()).map(|number| placement.len(number).into()).collect();
        Plan::by_costs(partitioning, workers, world, &costs)
    }

    /// The plan for LPs that have been measured.
    pub(crate) fn by_weights(partitioning: &Partitioning, workers: usize, world: &World, weights: &[u64]) -> Plan {
        let placement = partitioning.placement();
        let mut costs = vec![0; placement.partitions() as usize];
        for (id, weight) in super::ids(world.lps()).zip(weights) {
            costs[placement.partition(id) as usize] += weight;
        }
        Plan::by_costs(partitioning, workers, world, &costs)
    }

    fn by_costs(partitioning: &Partitioning, workers: usize, world: &World, costs: &[u64]) -> Plan {
        let controllers = world.controllers();
        let least = world.channels().min_lookahead().unwrap_or(Delay::MAX);
        let width = (least >= Delay::from_ps(2)).then_some(least);
        let mut plan = Plan {
            placement: partitioning.placement().clone(),
            lookahead: partitioning.lookahead_of(world.channels()),
            control_delay: (!controllers.lps.is_empty()).then_some(controllers.delay),
            width,
            grid: width.map(Grid::new),
            dedicated: vec![Vec::new(); workers],
            shared: Vec::new(),
        };
        plan.dedicate(costs, |_| true);
        plan
    }

    /// The same plan, to be dealt out anew.
    pub(crate) fn renewed(&self) -> Plan {
        let Plan { placement, lookahead, control_delay, width, grid, dedicated, .. } = self;
        Plan {
            placement: placement.clone(),
            lookahead: *lookahead,
            control_delay: *control_delay,
            width: *width,
            grid: *grid,
            dedicated: vec![Vec::new(); dedicated.len()],
            shared: Vec::new(),
        }
    }

    /// Whether there is but one partition. The first worker, which leads, executes it, and the others rest until there are more.
    pub(crate) fn is_of_one(&self) -> bool {
        self.placement.partitions() == 1
    }

    /// How many workers follow it.
    pub(crate) fn workers(&self) -> usize {
        self.dedicated.len()
    }

    /// Deals the partitions out: the longest ones, up to a share of the work, each to the worker that has least; the rest to sets, likewise, from which
    /// whoever is free takes them.
    pub(crate) fn assign(&mut self, costs: &[u64], settings: &Settings) {
        let share = settings.dedicated * costs.iter().sum::<u64>() as f64;
        let rest = self.dedicate(costs, |dealt| settings.dedicated >= 1.0 || (dealt as f64) < share);
        let mut sets = vec![Vec::new(); settings.sets.clamp(1, self.workers())];
        let mut load = vec![0; sets.len()];
        for number in rest {
            let least = least(&load);
            load[least] += costs[number as usize].max(1);
            sets[least].push(number);
        }
        let sets = sets.into_iter().filter(|set| !set.is_empty());
        self.shared = sets.map(|set| SharedSet::new(set, settings.taking)).collect();
    }

    /// Dedicates the longest partitions to workers, as long as `more` of what has been dealt so far says so; the rest.
    fn dedicate(&mut self, costs: &[u64], more: impl Fn(u64) -> bool) -> Vec<u32> {
        let mut longest: Vec<u32> = (0..self.placement.partitions()).collect();
        longest.sort_by_key(|&number| (std::cmp::Reverse(costs[number as usize]), number));
        let mut load = vec![0; self.dedicated.len()];
        self.dedicated.iter_mut().for_each(Vec::clear);
        let mut dealt = 0;
        while dealt < longest.len() && more(load.iter().sum()) {
            let number = longest[dealt];
            let least = least(&load);
            load[least] += costs[number as usize].max(1);
            self.dedicated[least].push(number);
            dealt += 1;
        }
        longest.split_off(dealt)
    }

    /// The partitions dedicated to `worker`.
    pub(crate) fn own(&self, worker: usize) -> &[u32] {
        &self.dedicated[worker]
    }

    /// Calls `execute` for each partition that `worker` takes of a window.
    pub(crate) fn each_of(&self, worker: usize, window: u64, mut execute: impl FnMut(u32)) {
        self.dedicated[worker].iter().for_each(|&number| execute(number));
        // Its own set first, then those of others.
        for step in 0..self.shared.len() {
            let set = &self.shared[(worker + step) % self.shared.len()];
            while let Some(number) = set.take(window) {
                execute(number);
            }
        }
    }

    /// Lets the shared partitions be taken anew in `window`, which nobody has begun.
    pub(crate) fn reset(&self, window: u64) {
        self.shared.iter().for_each(|set| set.reset(window));
    }
}

/// Who has least.
fn least(load: &[u64]) -> usize {
    (0..load.len()).min_by_key(|&who| load[who]).expect("there is somebody")
}
