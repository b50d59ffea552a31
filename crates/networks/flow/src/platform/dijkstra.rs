//! Shortest paths over declared routes, by Dijkstra's algorithm from each source that is asked for. The cost
//! of a path is its number of links.

use super::Table;
use parades_topology::routing::{Open, settle};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

/// The memory that the cached predecessor lists of one zone may take, in bytes.
const CACHE_BYTES_MAX: usize = 256 << 20;

/// The predecessor of a node that cannot be reached, and of the source.
const NO_NODE: u32 = u32::MAX;

/// The declared routes (legs) of a zone, as a graph. Its nodes are the members that have a leg, in the order
/// in which the legs name them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dijkstra {
    pub(crate) table: Table,
    /// The member of each node.
    members: Vec<u32>,
    /// The node of each member.
    nodes: BTreeMap<u32, u32>,
    /// For each node the ends of its legs with their costs, in the order of the legs.
    edges: Vec<Vec<(u32, u32)>>,
    cache: Cache,
}

/// The predecessor lists that were computed before. They are a pure function of the graph, so they are not
/// state.
#[derive(Debug, Default)]
struct Cache(Mutex<PredecessorLists>);

/// For some sources, the predecessor of each node on the shortest path from the source.
#[derive(Debug, Default)]
struct PredecessorLists {
    by_source: BTreeMap<u32, Box<[u32]>>,
    /// The sources, the oldest list first.
    order: VecDeque<u32>,
}

/// A copy begins with an empty cache.
impl Clone for Cache {
    fn clone(&self) -> Cache {
        Cache::default()
    }
}

impl PredecessorLists {
    /// Returns the list of a source. If the list is not cached, `search` computes it.
    ///
    /// At most `max` lists are kept, and always the returned one. The oldest is dropped first.
    fn from(&mut self, source: u32, max: usize, search: impl FnOnce() -> Box<[u32]>) -> &[u32] {
        self.by_source.entry(source).or_insert_with(|| {
            self.order.push_back(source);
            search()
        });
        if self.order.len() > max.max(1)
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_source.remove(&oldest);
        }
        &self.by_source[&source]
    }
}

impl Dijkstra {
    /// Returns the node of a member. Adds the node if there is none.
    fn node(&mut self, member: u32) -> u32 {
        *self.nodes.entry(member).or_insert_with(|| {
            self.members.push(member);
            self.edges.push(Vec::new());
            u32::try_from(self.members.len() - 1).expect("fewer than 2^32 members")
        })
    }

    /// Adds the edge of a leg of the table. Its cost is the number of the leg's links.
    pub(crate) fn connect(&mut self, from: u32, to: u32, links: usize) {
        let (from, to) = (self.node(from), self.node(to));
        self.edges[from as usize].push((to, u32::try_from(links).unwrap_or(u32::MAX)));
    }

    /// Returns the members that have a leg.
    pub(crate) fn members(&self) -> &[u32] {
        &self.members
    }

    /// Returns the legs of the shortest path between two members, the last leg first. `None` if there is no
    /// path.
    pub(crate) fn legs(&self, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
        let (from, to) = (*self.nodes.get(&from)?, *self.nodes.get(&to)?);
        let member = |node: u32| self.members[node as usize];
        if from == to {
            return Some(vec![(member(from), member(from))]);
        }
        let max = CACHE_BYTES_MAX / (self.members.len() * size_of::<u32>());
        let mut lists = self.cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        let predecessors = lists.from(from, max, || self.search(from));
        let mut legs = Vec::new();
        let mut node = to;
        while node != from {
            let predecessor = predecessors[node as usize];
            if predecessor == NO_NODE {
                return None;
            }
            legs.push((member(predecessor), member(node)));
            node = predecessor;
        }
        Some(legs)
    }

    /// Returns the predecessor of each node on the shortest path from `source`.
    ///
    /// Of several shortest paths, the one through the node that is settled first wins: the node of lower
    /// cost, then of lower number.
    fn search(&self, source: u32) -> Box<[u32]> {
        let mut predecessors = vec![NO_NODE; self.members.len()];
        let mut costs = vec![u64::MAX; self.members.len()];
        costs[source as usize] = 0;
        let edges = |node: u32, cost: u64| {
            Some(self.edges[node as usize].iter().map(move |&(next, links)| (next, cost + u64::from(links))))
        };
        settle(source, &mut costs, &mut Open::new(), edges, |node, _, next, _| predecessors[next as usize] = node);
        predecessors.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_keeps_at_most_max_lists_and_drops_the_oldest_first() {
        let mut lists = PredecessorLists::default();
        let mut computed = Vec::new();
        for source in [1, 2, 1, 3, 2, 1, 3] {
            let list = lists.from(source, 2, || {
                computed.push(source);
                [source; 4].into()
            });
            assert_eq!(list, [source; 4]);
            assert!(lists.by_source.len() <= 2 && lists.by_source.len() == lists.order.len());
        }
        assert_eq!(computed, [1, 2, 3, 1]);
        assert_eq!(lists.from(7, 0, || [7].into()), [7], "the list asked for is kept even if max is 0");
    }
}
