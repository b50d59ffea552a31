//! Routes composed from those given, by Dijkstra's algorithm from each source that is asked for; the cost is the number of links.

use super::Table;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The memory that the ways of a zone may take which are kept, in bytes.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// The legs given, as a graph whose nodes are the members that have any, in the order in which routes name them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dijkstra {
    pub(crate) table: Table,
    /// Members by node, and nodes by member.
    nodes: Vec<u32>,
    by_member: BTreeMap<u32, u32>,
    /// For each node the nodes that legs lead to, in the order of the legs, with their costs.
    edges: Vec<Vec<(u32, u32)>>,
    kept: Kept,
}

/// For sources that were asked for, the node before each on the way from it: a memoised pure function of the rest.
#[derive(Debug, Default)]
struct Kept(Mutex<Ways>);

#[derive(Debug, Default)]
struct Ways {
    from: BTreeMap<u32, Box<[u32]>>,
    /// The sources, the oldest first.
    order: VecDeque<u32>,
}

/// A copy finds its ways anew.
impl Clone for Kept {
    fn clone(&self) -> Kept {
        Kept::default()
    }
}

impl Ways {
    /// Those from a source, which `search` finds unless they are kept. At most `max` are; the oldest is dropped first.
    fn from(&mut self, source: u32, max: usize, search: impl FnOnce() -> Box<[u32]>) -> &[u32] {
        self.from.entry(source).or_insert_with(|| {
            self.order.push_back(source);
            search()
        });
        if self.order.len() > max.max(1)
            && let Some(oldest) = self.order.pop_front()
        {
            self.from.remove(&oldest);
        }
        &self.from[&source]
    }
}

impl Dijkstra {
    fn node(&mut self, member: u32) -> u32 {
        *self.by_member.entry(member).or_insert_with(|| {
            self.nodes.push(member);
            self.edges.push(Vec::new());
            u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 members")
        })
    }

    /// Adds the edge of a leg that is in the table.
    pub(crate) fn connect(&mut self, from: u32, to: u32, links: usize) {
        let (from, to) = (self.node(from), self.node(to));
        self.edges[from as usize].push((to, u32::try_from(links).unwrap_or(u32::MAX)));
    }

    /// The members that have any legs.
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
        let max = KEPT_BYTES_MAX / (self.nodes.len() * size_of::<u32>());
        let mut ways = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = ways.from(from, max, || self.search(from));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_ways_are_kept_and_the_oldest_is_dropped_first() {
        let mut ways = Ways::default();
        let mut found = Vec::new();
        for source in [1, 2, 1, 3, 2, 1, 3] {
            let before = ways.from(source, 2, || {
                found.push(source);
                [source; 4].into()
            });
            assert_eq!(before, [source; 4]);
            assert!(ways.from.len() <= 2 && ways.from.len() == ways.order.len());
        }
        assert_eq!(found, [1, 2, 3, 1]);
        assert_eq!(ways.from(7, 0, || [7].into()), [7], "that which is asked for is there");
    }
}
