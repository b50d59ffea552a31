//! Source routes: the path of each flow's direction, step by step.

use crate::line::Lines;
use parades_topology::routing::{Routes, RoutingError};
use parades_topology::{Interface, NodeId, Topology};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// The action of a node on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    /// The number of the interface by which the packet leaves, or [`ARRIVED`].
    pub(super) interface: u32,
    /// The kind of that interface's line. At the last step, the slot of the endpoint.
    pub(super) kind_or_slot: u32,
}

/// The interface of the last step.
pub(super) const ARRIVED: u32 = u32::MAX;

const UNUSED: Step = Step { interface: ARRIVED, kind_or_slot: 0 };

/// The routes of all directions. A packet reads one word at each hop, and the word of the next hop lies
/// beside it. Interfaces are numbered within their nodes, so routes in similar parts of a network are equal.
/// Equal routes are kept once, so that they stay in the caches.
#[derive(Debug)]
pub(crate) struct SourceRoutes {
    steps: Box<[Step]>,
    /// The first step of each flow, in two lists: to the destination, and back. A list is empty if no flow
    /// goes in that direction.
    first: [Box<[NonZeroU32]>; 2],
}

impl SourceRoutes {
    /// Returns the routes of a network that has none.
    pub(crate) fn none() -> SourceRoutes {
        SourceRoutes { steps: Box::new([UNUSED; 2]), first: Default::default() }
    }

    /// Lays out the routes of directions. `ends` has the source of each direction, and the slot of the
    /// endpoint at its end. The directions to the destinations of all `flows` come first, then the directions
    /// back, if there are any.
    pub(crate) fn new(
        topology: &Topology,
        lines: &Lines,
        flows: usize,
        routes: &Routes,
        ends: impl Iterator<Item = (NodeId, u32)>,
    ) -> Result<SourceRoutes, RoutingError> {
        // No route starts at places 0 and 1: a step is never 0, and step 1 stands for tables.
        let mut steps = vec![UNUSED; 2];
        let mut places: BTreeMap<Vec<Step>, NonZeroU32> = BTreeMap::new();
        let mut first = Vec::with_capacity(flows);
        for (number, (source, slot)) in ends.enumerate() {
            let route = routes.route(number);
            let kind = |end: Interface| lines.kind_by(topology, end);
            let hops = route.iter().zip(topology.follow(source, route));
            let hops = hops.map(|(&interface, end)| Step { interface, kind_or_slot: kind(end) });
            let route: Vec<Step> = hops.chain([Step { interface: ARRIVED, kind_or_slot: slot }]).collect();
            if let Some(&place) = places.get(&route) {
                first.push(place);
                continue;
            }
            let place = u32::try_from(steps.len()).ok().and_then(NonZeroU32::new).ok_or(RoutingError::TooLarge)?;
            first.push(place);
            steps.extend_from_slice(&route);
            places.insert(route, place);
        }
        let back = first.split_off(flows.min(first.len()));
        Ok(SourceRoutes { steps: steps.into(), first: [first.into(), back.into()] })
    }

    /// Returns a step; `None` beyond the last one.
    #[inline]
    pub(super) fn get(&self, step: NonZeroU32) -> Option<Step> {
        self.steps.get(step.get() as usize).copied()
    }

    /// Returns the first step of a direction.
    #[inline]
    pub(super) fn first(&self, direction: u32) -> NonZeroU32 {
        self.first[direction as usize % 2][direction as usize / 2]
    }

    /// Returns the memory that the routes take.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.steps) + self.first.iter().map(|first| size_of_val(&**first)).sum::<usize>()
    }

    /// Returns the number of steps.
    pub(super) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Returns the number of links of the route of a direction.
    pub(crate) fn hops(&self, direction: u32) -> usize {
        let first = self.first(direction).get() as usize;
        self.steps[first..].iter().take_while(|step| step.interface != ARRIVED).count()
    }
}
