//! Links by router, for searches of least latencies.

use parades_core::time::Delay;
use parades_topology::routing::{Open, settle};
use parades_topology::{NodeId, Topology};

/// The number of routers up to which latencies between all of them are found by Floyd and Warshall's rule. It
/// takes n³ steps, each an addition and a minimum of neighbouring entries. A search from each router takes n
/// (m + n) steps in a heap, of n routers and m links, and each of them takes some twenty times as long.
const DENSE_MAX: usize = 64;

/// The distance of a router that no path leads to.
pub(super) const UNREACHED: Delay = Delay::MAX;

/// Links in compressed sparse rows: those of router `r` are `ends[first[r]..first[r + 1]]`.
#[derive(Debug)]
pub(super) struct Graph {
    first: Vec<u32>,
    ends: Vec<(u32, Delay)>,
}

impl Graph {
    /// Makes the graph of `routers` routers and these links, each from a router to another.
    pub(super) fn new(routers: usize, links: &[(u32, u32, Delay)]) -> Graph {
        let mut first = vec![0_u32; routers + 1];
        links.iter().for_each(|&(from, ..)| first[from as usize + 1] += 1);
        for router in 0..routers {
            first[router + 1] += first[router];
        }
        let mut free = first.clone();
        let mut ends = vec![(0, Delay::ZERO); links.len()];
        for &(from, to, delay) in links {
            let place = &mut free[from as usize];
            ends[*place as usize] = (to, delay);
            *place += 1;
        }
        Graph { first, ends }
    }

    /// Makes the graph of a range of a topology's routers and the links among them. Routers are numbered from
    /// 0 on.
    pub(super) fn of(topology: &Topology, routers: std::ops::Range<u32>) -> Graph {
        let links: Vec<_> = links(topology, routers.clone())
            .filter(|&(_, to, _)| routers.contains(&to))
            .map(|(from, to, delay)| (from - routers.start, to - routers.start, delay))
            .collect();
        Graph::new(routers.len(), &links)
    }

    /// Finds the least latencies between all routers: row by row, from a router to each of them.
    pub(super) fn search_all(&self, table: &mut Vec<Delay>, open: &mut Open<Delay>) {
        table.clear();
        if self.routers() <= DENSE_MAX {
            return self.relax_all(table);
        }
        let mut distances = Vec::new();
        for root in 0..u32::try_from(self.routers()).expect("routers are counted in 32 bits") {
            self.search(root, &mut distances, open);
            table.extend_from_slice(&distances);
        }
    }

    /// Does the same by Floyd and Warshall's rule: each router in turn may lie on the way between two others.
    fn relax_all(&self, table: &mut Vec<Delay>) {
        let n = self.routers();
        table.resize(n * n, UNREACHED);
        for (from, row) in table.chunks_exact_mut(n.max(1)).enumerate() {
            row[from] = Delay::ZERO;
            for &(to, delay) in &self.ends[self.first[from] as usize..self.first[from + 1] as usize] {
                let known = &mut row[to as usize];
                *known = delay.min(*known);
            }
        }
        let mut onward = [UNREACHED; DENSE_MAX];
        for middle in 0..n {
            let onward = &mut onward[..n];
            onward.copy_from_slice(&table[middle * n..][..n]);
            for row in table.chunks_exact_mut(n) {
                let first = row[middle];
                for (known, &rest) in row.iter_mut().zip(&*onward) {
                    *known = first.saturating_add(rest).min(*known);
                }
            }
        }
    }

    pub(super) fn routers(&self) -> usize {
        self.first.len() - 1
    }

    /// Finds the least latency from `root` to each router.
    pub(super) fn search(&self, root: u32, distances: &mut Vec<Delay>, open: &mut Open<Delay>) {
        distances.clear();
        distances.resize(self.routers(), UNREACHED);
        distances[root as usize] = Delay::ZERO;
        let edges = |router: u32, distance: Delay| {
            let row = self.first[router as usize] as usize..self.first[router as usize + 1] as usize;
            Some(self.ends[row].iter().map(move |&(to, delay)| (to, distance.saturating_add(delay))))
        };
        settle(root, distances, open, edges, |_, _, _, _| {});
    }
}

/// Returns the links that leave a range of a topology's routers: from, to, latency.
pub(super) fn links(
    topology: &Topology,
    routers: std::ops::Range<u32>,
) -> impl Iterator<Item = (u32, u32, Delay)> + '_ {
    routers.flat_map(move |from| {
        let interfaces = topology.interfaces(NodeId(from)).iter();
        interfaces.map(move |end| (from, end.neighbour.0, topology.link(end.link).delay))
    })
}
