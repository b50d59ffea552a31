//! Trees: the paths of multicast groups.
//!
//! The shortest paths from a source to its receivers are a tree. The reason is that each part of such a path
//! is itself the path between its ends ([`parades_topology::routing`]). Where the tree branches, a node sends
//! a copy down each branch. A receiver keeps a copy.

use crate::line::Lines;
use parades_topology::routing::{Routes, RoutingError};
use parades_topology::{Interface, NodeId, Topology};

/// A node's place in the tree of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its branches are `hops[first..end]`.
    first: u32,
    end: u32,
    /// The slot of the receiver here, or [`NONE`].
    slot: u32,
    /// The flow that ends here, or [`NONE`].
    flow: u32,
}

/// The value of a slot or flow that a place does not have.
const NONE: u32 = u32::MAX;

const EMPTY: Place = Place { first: 0, end: 0, slot: NONE, flow: NONE };

impl Place {
    /// Returns the slot of the receiver at this place.
    #[inline]
    pub(crate) fn receiver(&self) -> Option<u32> {
        (self.slot != NONE).then_some(self.slot)
    }
}

/// A branch: the port by which copies leave, the kind of the port's line, and the neighbour's place in the
/// tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hop {
    pub(crate) port: u32,
    pub(crate) kind: u32,
    pub(crate) to: u32,
}

/// The trees of all groups, place by place.
#[derive(Debug)]
pub(crate) struct Trees {
    places: Box<[Place]>,
    hops: Box<[Hop]>,
    /// The place of each group's source.
    roots: Box<[u32]>,
    /// The direction of the first group.
    first_group: u32,
}

/// A group, to make a tree of.
#[derive(Debug)]
pub(crate) struct Members {
    pub(crate) source: NodeId,
    /// For each receiver: its flow, and the slot of the endpoint there. Their routes are in the same order.
    pub(crate) receivers: Vec<(u32, u32)>,
}

impl Trees {
    /// Grows the trees of all groups. `routes` are the routes of all their receivers, in order. Directions of
    /// groups begin at `first_group`.
    pub(crate) fn new(
        topology: &Topology,
        lines: &Lines,
        groups: &[Members],
        routes: &Routes,
        first_group: u32,
    ) -> Result<Trees, RoutingError> {
        let place_of_node = if groups.is_empty() { Vec::new() } else { vec![NONE; topology.nodes()] };
        let mut growing = Growing { places: Vec::new(), branches: Vec::new(), place_of_node, reached: Vec::new() };
        let mut roots = Vec::with_capacity(groups.len());
        let mut numbers = 0..;
        for Members { source, receivers } in groups {
            let root = growing.place(*source)?;
            roots.push(root);
            for (&(flow, slot), number) in receivers.iter().zip(&mut numbers) {
                let mut at = root;
                let route = routes.route(number);
                for (&port, end) in route.iter().zip(topology.follow(*source, route)) {
                    at = growing.step(at, port, end.neighbour, lines.kind_by(topology, end))?;
                }
                let place = &mut growing.places[at as usize];
                (place.slot, place.flow) = (slot, flow);
            }
            growing.finish_tree();
        }
        growing.into_trees(roots, first_group)
    }

    /// Returns a place and its branches.
    #[inline]
    pub(crate) fn at(&self, place: u32) -> (&Place, &[Hop]) {
        let place = &self.places[place as usize];
        (place, &self.hops[place.first as usize..place.end as usize])
    }

    /// Returns the place of the source of a group; `None` for the direction of a flow.
    #[inline]
    pub(crate) fn root(&self, direction: u32) -> Option<u32> {
        let group = direction.checked_sub(self.first_group)?;
        Some(self.roots[group as usize])
    }

    /// Returns the number of places of all trees.
    pub(crate) fn places(&self) -> usize {
        self.places.len()
    }

    /// Returns the number of links of all trees.
    pub(crate) fn links(&self) -> usize {
        self.hops.len()
    }

    /// Calls `visit` with the path to each receiver of a group, which starts at `source`.
    pub(super) fn each_path(
        &self,
        topology: &Topology,
        direction: u32,
        source: NodeId,
        mut visit: impl FnMut(&[(NodeId, Interface)]),
    ) {
        let Some(root) = self.root(direction) else { return };
        let mut path = Vec::new();
        // A place, its node, and the hop to it, which is the last of a number of hops.
        let mut to_visit = vec![(root, source, None, 0)];
        while let Some((place, node, hop, hops)) = to_visit.pop() {
            path.truncate(hops);
            path.extend(hop);
            let (own, branches) = self.at(place);
            if own.flow != NONE {
                visit(&path);
            }
            for branch in branches {
                let end = topology.interfaces(node)[branch.port as usize];
                to_visit.push((branch.to, end.neighbour, Some((node, end)), path.len()));
            }
        }
    }

    /// Returns the flows that end at a place or below it in the tree.
    pub(crate) fn flows_from(&self, place: u32) -> impl Iterator<Item = u32> {
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
    /// The branches of each place.
    branches: Vec<Vec<Hop>>,
    /// The place of each node in the tree that grows; [`NONE`] if the tree has not reached the node.
    place_of_node: Vec<u32>,
    /// The nodes of the tree that grows.
    reached: Vec<NodeId>,
}

impl Growing {
    /// Adds a place, for a node that has none in this tree.
    fn place(&mut self, node: NodeId) -> Result<u32, RoutingError> {
        let place = count(self.places.len())?;
        self.places.push(EMPTY);
        self.branches.push(Vec::new());
        self.place_of_node[node.index()] = place;
        self.reached.push(node);
        Ok(place)
    }

    /// Returns the place of the neighbour at a port of the node at `at`. Adds it if there is none.
    fn step(&mut self, at: u32, port: u32, neighbour: NodeId, kind: u32) -> Result<u32, RoutingError> {
        let known = self.place_of_node[neighbour.index()];
        if known != NONE {
            let is_branch = |hop: &Hop| (hop.port, hop.to) == (port, known);
            debug_assert!(self.branches[at as usize].iter().any(is_branch), "shortest paths from a node are a tree");
            return Ok(known);
        }
        let to = self.place(neighbour)?;
        self.branches[at as usize].push(Hop { port, kind, to });
        Ok(to)
    }

    fn finish_tree(&mut self) {
        for node in self.reached.drain(..) {
            self.place_of_node[node.index()] = NONE;
        }
    }

    fn into_trees(self, roots: Vec<u32>, first_group: u32) -> Result<Trees, RoutingError> {
        let Growing { mut places, branches, .. } = self;
        let mut hops = Vec::new();
        for (place, mut branches) in places.iter_mut().zip(branches) {
            // Copies leave in the order of ports, whatever the order of receivers.
            branches.sort_unstable();
            place.first = count(hops.len())?;
            hops.extend(branches);
            place.end = count(hops.len())?;
        }
        Ok(Trees { places: places.into(), hops: hops.into(), roots: roots.into(), first_group })
    }
}

/// Checks that a count fits 32 bits.
fn count(of: usize) -> Result<u32, RoutingError> {
    u32::try_from(of).ok().filter(|&n| n < NONE).ok_or(RoutingError::TooLarge)
}
