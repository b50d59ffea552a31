//! The network without its leaves: the only part that paths lead through.

use crate::{LinkId, NodeId, Topology};

/// An interface to another inner node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    /// The inner node at the far end.
    pub(super) to: u32,
    /// The interface's number at its node in the whole network.
    pub(super) interface: u32,
    /// The cost of the link: picoseconds, or 0 if only hops count.
    pub(super) cost: u64,
}

/// Hops by node, in compressed sparse rows.
#[derive(Debug)]
struct Rows {
    first: Vec<u32>,
    hops: Vec<Hop>,
}

impl Rows {
    #[inline]
    fn of(&self, node: u32) -> &[Hop] {
        &self.hops[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }
}

/// The nodes that are not leaves, renumbered in the same order, and the usable interfaces between them, in
/// the same order too.
#[derive(Debug)]
pub(super) struct Inner {
    /// For every node of the network, the number of its anchor.
    anchors: Vec<u32>,
    /// The inner nodes.
    nodes: Vec<NodeId>,
    /// For every link, true if it is up.
    is_up: Vec<bool>,
    forward: Rows,
    /// For each inner node, hops from that node to the nodes that send to it. `None` if the network is
    /// symmetric: then `forward` serves both directions.
    backward: Option<Rows>,
}

impl Inner {
    /// Returns the inner part of `topology`. `cost` returns the cost of a link, `None` if the link is down.
    pub(super) fn of(topology: &Topology, cost: impl Fn(LinkId) -> Option<u64>) -> Inner {
        let mut numbers = vec![u32::MAX; topology.nodes()];
        let inner: Vec<NodeId> = topology.node_ids().filter(|&node| !topology.is_leaf(node)).collect();
        for (number, node) in (0..).zip(&inner) {
            numbers[node.index()] = number;
        }
        let mut first = vec![0];
        let mut hops = Vec::new();
        for &node in &inner {
            for (interface, end) in (0..).zip(topology.interfaces(node)) {
                if let Some(cost) = cost(end.link).filter(|_| !topology.is_leaf(end.neighbour)) {
                    hops.push(Hop { to: numbers[end.neighbour.index()], interface, cost });
                }
            }
            // At most the interfaces of the topology, whose count fits.
            first.push(u32::try_from(hops.len()).expect("a topology's interfaces are bounded"));
        }
        let anchors = topology
            .node_ids()
            .map(|node| match topology.is_leaf(node) {
                true => numbers[topology.interfaces(node)[0].neighbour.index()],
                false => numbers[node.index()],
            })
            .collect();
        let forward = Rows { first, hops };
        let backward = (!topology.is_symmetric()).then(|| reversed(&forward));
        let is_up = (0..).map(LinkId).take(topology.links().len()).map(|link| cost(link).is_some()).collect();
        Inner { anchors, nodes: inner, is_up, forward, backward }
    }

    /// Returns the number of inner nodes.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the id of an inner node in the whole network.
    #[inline]
    pub(super) fn id(&self, node: u32) -> NodeId {
        self.nodes[node as usize]
    }

    /// Returns true if all links are up.
    pub(super) fn all_up(&self) -> bool {
        self.is_up.iter().all(|&is_up| is_up)
    }

    /// Returns true if a link is up.
    pub(super) fn is_up(&self, link: LinkId) -> bool {
        self.is_up[link.index()]
    }

    /// Returns the inner node through which all paths to and from `node` lead: `node` itself, or a leaf's
    /// neighbour.
    pub(super) fn anchor(&self, node: NodeId) -> u32 {
        self.anchors[node.index()]
    }

    /// Returns true if each hop has an equal hop back, so that a search from a node serves both directions.
    pub(super) fn is_symmetric(&self) -> bool {
        self.backward.is_none()
    }

    /// Returns the hops of an inner node to other inner nodes.
    #[inline]
    pub(super) fn hops(&self, node: u32) -> &[Hop] {
        self.forward.of(node)
    }

    /// Returns hops from an inner node to the inner nodes that send to it, with the costs of sending.
    #[inline]
    pub(super) fn hops_back(&self, node: u32) -> &[Hop] {
        self.backward.as_ref().unwrap_or(&self.forward).of(node)
    }
}

/// Returns all hops, each in the row of the node at its far end. Interface numbers keep their meaning.
fn reversed(rows: &Rows) -> Rows {
    let nodes = rows.first.len() - 1;
    let mut first = vec![0_u32; nodes + 1];
    rows.hops.iter().for_each(|hop| first[hop.to as usize + 1] += 1);
    for node in 0..nodes {
        first[node + 1] += first[node];
    }
    let mut free = first.clone();
    let mut hops = vec![Hop { to: 0, interface: 0, cost: 0 }; rows.hops.len()];
    for node in (0..).take(nodes) {
        for hop in rows.of(node) {
            let place = &mut free[hop.to as usize];
            hops[*place as usize] = Hop { to: node, ..*hop };
            *place += 1;
        }
    }
    Rows { first, hops }
}
