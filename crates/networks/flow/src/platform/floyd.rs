//! Shortest paths over declared routes between all pairs of members, by the algorithm of Floyd and Warshall.
//! The cost of a path is its number of links.

use super::Table;

/// The greatest number of members of such a zone. Computing all paths takes time proportional to its cube.
pub(crate) const FLOYD_MEMBERS_MAX: usize = 2048;

/// The cost of a pair without a path, and the predecessor of a member that cannot be reached.
const NONE: u32 = u32::MAX;

/// The declared routes (legs) of a zone. For each pair of members, the member before the second on the
/// shortest path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floyd {
    pub(crate) table: Table,
    members: usize,
    /// By source and then destination, in one list.
    predecessors: Vec<u32>,
}

impl Floyd {
    /// Computes all shortest paths.
    ///
    /// Intermediate members are tried in ascending order. Of several shortest paths the first that is found
    /// stays.
    pub(crate) fn compute(&mut self, members: usize) {
        assert!(members <= FLOYD_MEMBERS_MAX, "checked when the zone ends");
        let at = |from: usize, to: usize| from * members + to;
        let mut costs = vec![NONE; members * members];
        self.members = members;
        self.predecessors = vec![NONE; members * members];
        for (&(from, to), leg) in &self.table.legs {
            let pair = at(from as usize, to as usize);
            costs[pair] = u32::try_from(leg.links.len()).unwrap_or(NONE - 1);
            self.predecessors[pair] = from;
        }
        for middle in 0..members {
            for from in 0..members {
                let first = costs[at(from, middle)];
                if first == NONE {
                    continue;
                }
                for to in 0..members {
                    let second = costs[at(middle, to)];
                    if second != NONE && first.saturating_add(second) < costs[at(from, to)] {
                        costs[at(from, to)] = first.saturating_add(second);
                        self.predecessors[at(from, to)] = self.predecessors[at(middle, to)];
                    }
                }
            }
        }
    }

    /// Returns the legs of the shortest path between two members, the last leg first. `None` if there is no
    /// path.
    pub(crate) fn legs(&self, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
        let mut legs = Vec::new();
        let mut member = to;
        loop {
            let predecessor = *self.predecessors.get(from as usize * self.members + member as usize)?;
            if predecessor == NONE || legs.len() > self.members {
                return None;
            }
            legs.push((predecessor, member));
            member = predecessor;
            if member == from {
                return Some(legs);
            }
        }
    }
}
