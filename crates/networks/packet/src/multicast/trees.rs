//! The forwarding tables of all groups: at each place of a tree, where copies go from there.

use super::Group;
use crate::layout::Wires;
use crate::network::NetworkError;
use parades_topology::routing::{Routes, RoutingError};
use parades_topology::{NodeId, Topology};
use std::num::NonZeroU32;

/// A node's place in the tree of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its branches are `hops[first..end]`.
    first: u32,
    end: u32,
    /// The slot and the number of the flow that ends here, or [`NONE`].
    pub(super) slot: u32,
    flow: u32,
}

/// No flow ends here.
const NONE: u32 = u32::MAX;

impl Place {
    #[inline]
    pub(super) fn receives(&self) -> bool {
        self.slot != NONE
    }
}

/// A branch: the interface that it leaves by, the kind of that, and the place of the neighbour there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hop {
    pub(super) interface: u32,
    pub(super) kind: u32,
    pub(super) to: NonZeroU32,
}

/// The trees of all groups, place by place.
#[derive(Debug)]
pub(super) struct Trees {
    /// None is at place 0, so that places have a niche.
    places: Box<[Place]>,
    hops: Box<[Hop]>,
    /// The first place of each group, its source's.
    roots: Box<[NonZeroU32]>,
}

impl Trees {
    /// `routes` are those of all receivers of all groups, in order.
    pub(super) fn new(
        topology: &Topology,
        groups: &[Group],
        routes: &Routes,
        (wires, slots): (&Wires, &[u32]),
    ) -> Result<Trees, NetworkError> {
        let mut growing = Growing {
            places: vec![Place { first: 0, end: 0, slot: NONE, flow: NONE }],
            branches: vec![Vec::new()],
            place_of_node: vec![None; topology.nodes()],
            reached: Vec::new(),
        };
        let mut roots = Vec::with_capacity(groups.len());
        let mut flow = 0_usize;
        for group in groups {
            let root = growing.place(group.source)?;
            roots.push(root);
            for _ in &group.receivers {
                let mut at = root;
                let route = routes.route(flow);
                for (&interface, end) in route.iter().zip(topology.follow(group.source, route)) {
                    at = growing.step(at, interface, (end.neighbour, wires.kind_of_link[end.link.index()]))?;
                }
                let place = &mut growing.places[at.get() as usize];
                place.slot = slots[flow];
                place.flow = count(flow)?;
                flow += 1;
            }
            growing.finish_tree();
        }
        growing.into_trees(roots)
    }

    /// A place and its branches.
    #[inline]
    pub(super) fn at(&self, place: NonZeroU32) -> (&Place, &[Hop]) {
        let place = &self.places[place.get() as usize];
        (place, &self.hops[place.first as usize..place.end as usize])
    }

    pub(super) fn root(&self, group: u32) -> NonZeroU32 {
        self.roots[group as usize]
    }

    pub(super) fn links(&self) -> usize {
        self.hops.len()
    }

    /// The flows that end at a place or beyond.
    pub(super) fn flows_from(&self, place: NonZeroU32) -> impl Iterator<Item = u32> {
        let mut to_visit = vec![place];
        std::iter::from_fn(move || {
            let (place, hops) = self.at(to_visit.pop()?);
            to_visit.extend(hops.iter().map(|hop| hop.to));
            Some(place.flow)
        })
        .filter(|&flow| flow != NONE)
    }
}

/// Trees while they grow.
struct Growing {
    places: Vec<Place>,
    /// By place.
    branches: Vec<Vec<Hop>>,
    /// In the tree that grows.
    place_of_node: Vec<Option<NonZeroU32>>,
    /// The nodes that this one has.
    reached: Vec<NodeId>,
}

impl Growing {
    /// A new place, for a node that has none in this tree.
    fn place(&mut self, node: NodeId) -> Result<NonZeroU32, NetworkError> {
        let place = NonZeroU32::new(count(self.places.len())?).ok_or(RoutingError::TooLarge)?;
        self.places.push(Place { first: 0, end: 0, slot: NONE, flow: NONE });
        self.branches.push(Vec::new());
        self.place_of_node[node.index()] = Some(place);
        self.reached.push(node);
        Ok(place)
    }

    /// The place of the neighbour at an interface of the node at `at`.
    fn step(
        &mut self,
        at: NonZeroU32,
        interface: u32,
        (neighbour, kind): (NodeId, u32),
    ) -> Result<NonZeroU32, NetworkError> {
        let known = self.place_of_node[neighbour.index()];
        let is_branch =
            |to| self.branches[at.get() as usize].iter().any(|hop| (hop.interface, hop.to) == (interface, to));
        match known {
            Some(to) => {
                debug_assert!(is_branch(to), "shortest paths from one node are a tree");
                Ok(to)
            }
            None => {
                let to = self.place(neighbour)?;
                self.branches[at.get() as usize].push(Hop { interface, kind, to });
                Ok(to)
            }
        }
    }

    fn finish_tree(&mut self) {
        for node in self.reached.drain(..) {
            self.place_of_node[node.index()] = None;
        }
    }

    fn into_trees(self, roots: Vec<NonZeroU32>) -> Result<Trees, NetworkError> {
        let Growing { mut places, branches, .. } = self;
        let mut hops = Vec::new();
        for (place, mut branches) in places.iter_mut().zip(branches) {
            // Copies leave in the order of interfaces, whatever the order of receivers.
            branches.sort_unstable();
            place.first = count(hops.len())?;
            hops.extend(branches);
            place.end = count(hops.len())?;
        }
        Ok(Trees { places: places.into(), hops: hops.into(), roots: roots.into() })
    }
}

/// A count that must fit 32 bits.
fn count(of: usize) -> Result<u32, NetworkError> {
    Ok(u32::try_from(of).ok().filter(|&n| n < NONE).ok_or(RoutingError::TooLarge)?)
}
