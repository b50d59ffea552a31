//! Static routes: next hops that are given, for packets to given destinations.

use super::RoutingError;
use super::equal::{Paths, choose};
use super::inner::Inner;
use super::search::Search;
use crate::{NodeId, Topology};
use std::collections::BTreeMap;

/// The given next hops of packets to one destination: at some nodes, the numbers of interfaces, ascending.
pub type Given = BTreeMap<NodeId, Box<[u32]>>;

/// Static routes. At its node, a static route replaces the shortest paths to its destination. Other nodes
/// know nothing of it. If all of its links are down, the shortest paths hold again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticRoutes(BTreeMap<NodeId, Given>);

impl StaticRoutes {
    /// Adds a route: packets to `destination` leave `node` by one of these interfaces. It replaces an earlier
    /// route for the same node and destination.
    pub fn add(&mut self, node: NodeId, destination: NodeId, mut interfaces: Vec<u32>) {
        interfaces.sort_unstable();
        self.0.entry(destination).or_default().insert(node, interfaces.into());
    }

    /// Returns the given next hops to a destination, if there are any.
    pub fn to(&self, destination: NodeId) -> Option<&Given> {
        self.0.get(&destination)
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// All next hops to one destination, by a search from its anchor that reached all nodes.
pub(super) struct Toward<'a> {
    pub(super) topology: &'a Topology,
    pub(super) inner: &'a Inner,
    pub(super) search: &'a Search<'a>,
    pub(super) destination: NodeId,
    pub(super) given: &'a Given,
    pub(super) paths: Paths,
}

impl Toward<'_> {
    /// Collects the interfaces by which packets to the destination may leave `node`, in order.
    pub(super) fn choices(&self, node: NodeId, into: &mut Vec<u32>) {
        into.clear();
        if let Some(given) = self.given.get(&node) {
            let interfaces = self.topology.interfaces(node);
            into.extend(given.iter().filter(|&&number| self.inner.is_up(interfaces[number as usize].link)));
        }
        if into.is_empty() {
            self.shortest(node, into);
        }
        if self.paths == Paths::One {
            into.truncate(1);
        }
    }

    fn shortest(&self, node: NodeId, into: &mut Vec<u32>) {
        let (anchor, inner) = (self.inner.anchor(self.destination), self.inner.anchor(node));
        if self.topology.is_leaf(node) {
            into.push(0);
        } else if inner != anchor {
            self.search.hops_nearer(inner).for_each(|hop| into.push(hop.interface));
        } else if self.topology.is_leaf(self.destination) {
            into.push(self.topology.interface_to_leaf(self.destination));
        }
    }

    /// Appends the path of a flow from `source`. Returns false if there is none. [`Toward::check`] must have
    /// found no loop.
    pub(super) fn append_path(&self, source: NodeId, flow: u32, hops: &mut Vec<u32>) -> bool {
        let (mut at, mut choices) = (source, Vec::new());
        while at != self.destination {
            self.choices(at, &mut choices);
            let count = u32::try_from(choices.len()).expect("interfaces are counted in 32 bits");
            let Some(&interface) = choices.get(choose(flow, at, count) as usize) else { return false };
            hops.push(interface);
            at = self.topology.interfaces(at)[interface as usize].neighbour;
        }
        true
    }

    /// Checks that no static route to the destination leads into a loop, and, if `must_arrive`, that each
    /// leads to the destination. Every loop leads through a static route, because each other hop leads nearer
    /// to the destination.
    pub(super) fn check(&self, must_arrive: bool) -> Result<(), RoutingError> {
        let mut is_done = vec![false; self.topology.nodes()];
        let mut choices = Vec::new();
        for &start in self.given.keys().filter(|&&node| node != self.destination) {
            // Depth first: the path to the current node, each with the neighbours that are left to visit.
            let mut path: Vec<(NodeId, Vec<NodeId>)> = Vec::new();
            let mut next = Some(start);
            while let Some(node) = next {
                if let Some(from) = path.iter().position(|(on_path, _)| *on_path == node) {
                    let nodes = path[from..].iter().map(|(node, _)| *node).chain([node]);
                    return Err(self.in_a_loop(nodes));
                }
                if !is_done[node.index()] && node != self.destination {
                    self.choices(node, &mut choices);
                    if choices.is_empty() && must_arrive {
                        return Err(self.dead_end(start, node));
                    }
                    let interfaces = self.topology.interfaces(node);
                    let neighbours = choices.iter().map(|&number| interfaces[number as usize].neighbour);
                    path.push((node, neighbours.collect()));
                }
                next = loop {
                    match path.last_mut().map(|(_, left)| left.pop()) {
                        None => break None,
                        Some(Some(neighbour)) => break Some(neighbour),
                        Some(None) => {
                            let (node, _) = path.pop().expect("there was a last one");
                            is_done[node.index()] = true;
                        }
                    }
                };
            }
        }
        Ok(())
    }

    fn in_a_loop(&self, nodes: impl Iterator<Item = NodeId>) -> RoutingError {
        let names: Vec<String> = nodes.map(|node| format!("`{}`", self.topology.name(node))).collect();
        let destination = self.topology.name(self.destination).to_owned();
        RoutingError::Loop { destination, nodes: names.join(", ") }
    }

    fn dead_end(&self, start: NodeId, end: NodeId) -> RoutingError {
        let [start, destination, end] = [start, self.destination, end].map(|node| self.topology.name(node).to_owned());
        RoutingError::DeadEnd { start, destination, end }
    }
}
