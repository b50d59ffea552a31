//! Routes composed from those given, by Dijkstra's algorithm from each source that is asked for; the cost is the number of links.

use super::Table;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::OnceLock;

/// The legs given, as a graph whose nodes are the members that have any, in the order in which routes name them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dijkstra {
    pub(crate) table: Table,
    /// Members by node, and nodes by member.
    nodes: Vec<u32>,
    by_member: BTreeMap<u32, u32>,
    /// For each node the nodes that legs lead to, in the order of the legs, with their costs.
    edges: Vec<Vec<(u32, u32)>>,
    /// For each node, once it is asked for, the node before each on the way from it. A memoised pure function of the rest.
    before: Vec<OnceLock<Box<[u32]>>>,
}

impl Dijkstra {
    fn node(&mut self, member: u32) -> u32 {
        *self.by_member.entry(member).or_insert_with(|| {
            self.nodes.push(member);
            self.edges.push(Vec::new());
            self.before.push(OnceLock::new());
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 members")
        })
    }

    /// Adds the edge of a leg that is in the table.
    pub(crate) fn connect(&mut self, from: u32, to: u32, links: usize) {
        let (from, to) = (self.node(from), self.node(to));
        self.edges[from as usize].push((to, u32::try_from(links).unwrap_or(u32::MAX)));
    }

    /// Whether the graph has this member.
    pub(crate) fn members(&self) -> &[u32] {
        &self.nodes
    }

    /// The stops from one member to another, from the last to the first; `None` where there is no way.
    pub(crate) fn stops(&self, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
        let (from, to) = (*self.by_member.get(&from)?, *self.by_member.get(&to)?);
        let member = |node: u32| self.nodes[node as usize];
        if from == to {
            return Some(vec![(member(from), member(from))]);
        }
        let before = self.before[from as usize].get_or_init(|| self.search(from));
        let mut stops = Vec::new();
        let mut stop = to;
        while stop != from {
            let earlier = before[stop as usize];
            if earlier == u32::MAX {
                return None;
            }
            stops.push((member(earlier), member(stop)));
            stop = earlier;
        }
        Some(stops)
    }

    /// The node before each on the shortest way from `source`. Ties go to the node that is settled first: that of least cost, then number.
    fn search(&self, source: u32) -> Box<[u32]> {
        let mut before = vec![u32::MAX; self.nodes.len()];
        let mut cost = vec![u64::MAX; self.nodes.len()];
        cost[source as usize] = 0;
        let mut open = BinaryHeap::from([Reverse((0u64, source))]);
        while let Some(Reverse((reached, node))) = open.pop() {
            if reached > cost[node as usize] {
                continue;
            }
            for &(next, links) in &self.edges[node as usize] {
                let sum = reached + u64::from(links);
                if sum < cost[next as usize] {
                    cost[next as usize] = sum;
                    before[next as usize] = node;
                    open.push(Reverse((sum, next)));
                }
            }
        }
        before.into()
    }
}
