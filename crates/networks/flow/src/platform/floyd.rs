//! Routes composed from those given, by the algorithm of Floyd and Warshall over all pairs; the cost of a route is the number of its links.

use super::Table;

/// The most members of such a zone: finding all routes takes time in proportion to their cube.
pub(crate) const LEAVES_MAX: usize = 2048;

const NONE: u32 = u32::MAX;

/// The legs given, and for each pair of members the last stop before the second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floyd {
    pub(crate) table: Table,
    members: usize,
    before: Vec<u32>,
}

impl Floyd {
    /// Finds all routes. Of equally long ones the first found counts, intermediate members being tried in order.
    pub(crate) fn seal(&mut self, members: usize) {
        assert!(members <= LEAVES_MAX, "checked when the zone ends");
        let at = |from: usize, to: usize| from * members + to;
        let mut cost = vec![NONE; members * members];
        self.members = members;
        self.before = vec![NONE; members * members];
        for (&(from, to), leg) in &self.table.legs {
            let place = at(from as usize, to as usize);
            cost[place] = u32::try_from(leg.links.len()).unwrap_or(NONE - 1);
            self.before[place] = from;
        }
        for middle in 0..members {
            for from in 0..members {
                let first = cost[at(from, middle)];
                if first == NONE {
                    continue;
                }
                for to in 0..members {
                    let second = cost[at(middle, to)];
                    if second != NONE && first.saturating_add(second) < cost[at(from, to)] {
                        cost[at(from, to)] = first.saturating_add(second);
                        self.before[at(from, to)] = self.before[at(middle, to)];
                    }
                }
            }
        }
    }

    /// The stops from one member to another, from the last to the first; `None` where there is no way.
    pub(crate) fn stops(&self, from: u32, to: u32) -> Option<Vec<(u32, u32)>> {
        let mut stops = Vec::new();
        let mut stop = to;
        loop {
            let before = *self.before.get(from as usize * self.members + stop as usize)?;
            if before == NONE || stops.len() > self.members {
                return None;
            }
            stops.push((before, stop));
            stop = before;
            if stop == from {
                return Some(stops);
            }
        }
    }
}
