//! The network without its leaves: the only part that paths lead through.

use super::Metric;
use crate::{NodeId, Topology};

/// An interface to another inner node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    /// The inner node at the far end.
    pub(super) to: u32,
    /// The interface's number at its node in the whole network.
    pub(super) interface: u32,
    /// What the link costs, in picoseconds; 0 where only hops count.
    pub(super) cost: u64,
}

/// The nodes that are no leaves, numbered anew in the same order, with the interfaces between them, in the same order too.
#[derive(Debug)]
pub(super) struct Inner {
    // For every node of the network the number of its anchor, and whether it is a leaf.
    anchors: Vec<u32>,
    is_leaf: Vec<bool>,
    first: Vec<u32>,
    hops: Vec<Hop>,
}

impl Inner {
    /// The inner part of `topology`. A leaf is a node with one link, to a node that has more than one: two nodes that have
    /// only each other both stay, so that a leaf's neighbour is always an inner node.
    pub(super) fn of(topology: &Topology, metric: Metric) -> Inner {
        let degree = |node: NodeId| topology.interfaces(node).len();
        let is_leaf: Vec<bool> = topology
            .node_ids()
            .map(|node| matches!(topology.interfaces(node), [only] if degree(only.neighbour) > 1))
            .collect();
        let mut numbers = vec![u32::MAX; topology.nodes()];
        let inner: Vec<NodeId> = topology.node_ids().filter(|node| !is_leaf[node.index()]).collect();
        for (number, node) in (0..).zip(&inner) {
            numbers[node.index()] = number;
        }
        let mut first = vec![0];
        let mut hops = Vec::new();
        for &node in &inner {
            for (interface, end) in (0..).zip(topology.interfaces(node)) {
                if !is_leaf[end.neighbour.index()] {
                    let cost = match metric {
                        Metric::Hops => 0,
                        Metric::Delay => topology.link(end.link).delay.as_ps(),
                    };
                    hops.push(Hop { to: numbers[end.neighbour.index()], interface, cost });
                }
            }
            // At most the interfaces of the topology, whose count fits.
            first.push(u32::try_from(hops.len()).expect("a topology's interfaces are bounded"));
        }
        let anchors = topology
            .node_ids()
            .map(|node| match is_leaf[node.index()] {
                true => numbers[topology.interfaces(node)[0].neighbour.index()],
                false => numbers[node.index()],
            })
            .collect();
        Inner { anchors, is_leaf, first, hops }
    }

    /// How many inner nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.first.len() - 1
    }

    /// The inner node through which all paths to and from `node` lead: itself, or a leaf's neighbour.
    pub(super) fn anchor(&self, node: NodeId) -> u32 {
        self.anchors[node.index()]
    }

    /// The interfaces of an inner node to other inner nodes.
    #[inline]
    pub(super) fn hops(&self, node: u32) -> &[Hop] {
        &self.hops[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// The hop from `source` to its anchor, where there is one: a leaf has only interface 0.
    pub(super) fn enter(&self, source: NodeId, hops: &mut Vec<u32>) {
        if self.is_leaf[source.index()] {
            hops.push(0);
        }
    }

    /// The hop from its anchor to `destination`, where there is one.
    pub(super) fn leave(&self, topology: &Topology, destination: NodeId, hops: &mut Vec<u32>) {
        if self.is_leaf[destination.index()] {
            let anchor = topology.interfaces(destination)[0].neighbour;
            let interfaces = topology.interfaces(anchor);
            let number = interfaces.partition_point(|interface| interface.neighbour < destination);
            assert_eq!(interfaces[number].neighbour, destination, "a leaf's neighbour has an interface to it");
            hops.push(u32::try_from(number).expect("a topology's interfaces are bounded"));
        }
    }
}
