//! Components are gathered into regions, the later partitions: neighbours together, of equal weight.
//!
//! A region grows from one component to its neighbours, those at the shortest lookahead first and among these the one reached first,
//! until it has its share of the weight. The next region begins at the border of the oldest one that still has a free neighbour, so
//! that no pockets are left behind. A component of more than a fair share is a region by itself.

use super::graph::Edge;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// No region yet.
const NONE: u32 = u32::MAX;

/// The class of an edge's lookahead: two for each power of two.
pub(super) fn class(edge: &Edge) -> u8 {
    let ps = edge.lookahead.as_ps().max(1);
    let exponent = ps.ilog2();
    let half = if exponent == 0 { 0 } else { ps >> (exponent - 1) & 1 };
    #[expect(clippy::cast_possible_truncation, reason = "at most 127")]
    let class = (2 * u64::from(exponent) + half) as u8;
    class
}

/// The neighbours of each component, those at the shortest lookahead first.
struct Neighbours {
    begin: Vec<u32>,
    component: Vec<u32>,
    class: Vec<u8>,
}

impl Neighbours {
    /// Of edges in order, `number` being the component of each LP.
    fn new(edges: &[Edge], number: &[u32], components: usize) -> Neighbours {
        let ends = |edge: &Edge| (number[edge.low as usize], number[edge.high as usize]);
        let mut begin = vec![0; components + 1];
        for (a, b) in edges.iter().map(ends).filter(|(a, b)| a != b) {
            begin[a as usize + 1] += 1;
            begin[b as usize + 1] += 1;
        }
        for component in 0..components {
            begin[component + 1] += begin[component];
        }
        let mut cursor = begin.clone();
        let all = begin[components] as usize;
        let (mut component, mut classes) = (vec![0; all], vec![0; all]);
        for edge in edges {
            let (a, b) = ends(edge);
            for (from, to) in [(a, b), (b, a)] {
                if a != b {
                    let cursor = &mut cursor[from as usize];
                    component[*cursor as usize] = to;
                    classes[*cursor as usize] = class(edge);
                    *cursor += 1;
                }
            }
        }
        Neighbours { begin, component, class: classes }
    }

    fn of(&self, component: u32) -> impl Iterator<Item = (u32, u8)> + '_ {
        let range = self.begin[component as usize] as usize..self.begin[component as usize + 1] as usize;
        range.map(|at| (self.component[at], self.class[at]))
    }
}

/// The components next to the region that grows, by class and then by the order in which they were reached.
struct Frontier {
    queues: Vec<VecDeque<u32>>,
    /// All queues below are empty.
    lowest: usize,
}

impl Frontier {
    fn push(&mut self, component: u32, class: u8) {
        self.queues[usize::from(class)].push_back(component);
        self.lowest = self.lowest.min(usize::from(class));
    }

    fn pop(&mut self) -> Option<u32> {
        while self.lowest < self.queues.len() {
            if let Some(component) = self.queues[self.lowest].pop_front() {
                return Some(component);
            }
            self.lowest += 1;
        }
        None
    }
}

/// Gathers components of these weights into so many regions; the region of each component.
///
/// `number` is the component of each LP, `edges` are in order. Every region has at least one component.
pub(super) fn grow(edges: &[Edge], number: &[u32], weights: &[u64], regions: u32) -> Vec<u32> {
    let mut growth = Growth {
        weights,
        neighbours: Neighbours::new(edges, number, weights.len()),
        frontier: Frontier { queues: vec![VecDeque::new(); 128], lowest: 0 },
        border: VecDeque::new(),
        scan: 0,
        region: vec![NONE; weights.len()],
        free: weights.len(),
        free_weight: weights.iter().sum(),
    };
    let alone = growth.settle_heavy(regions);
    for region in alone..regions {
        growth.fill(region, regions - region);
    }
    growth.region
}

struct Growth<'a> {
    weights: &'a [u64],
    neighbours: Neighbours,
    frontier: Frontier,
    /// What was next to the regions grown so far, oldest first.
    border: VecDeque<u32>,
    /// All components below have a region.
    scan: u32,
    region: Vec<u32>,
    /// How many components have no region, and their weight.
    free: usize,
    free_weight: u64,
}

impl Growth<'_> {
    fn take(&mut self, component: u32, region: u32) {
        self.region[component as usize] = region;
        self.free -= 1;
        self.free_weight -= self.weights[component as usize];
    }

    /// Makes a region of each component that has more than its share of what is left; how many there are. One region at least is left
    /// for the others.
    fn settle_heavy(&mut self, regions: u32) -> u32 {
        let share = self.free_weight / u64::from(regions);
        if self.weights.iter().all(|&weight| weight <= share) {
            return 0;
        }
        let mut heaviest: Vec<u32> = (0..).take(self.weights.len()).collect();
        heaviest.sort_unstable_by_key(|&component| (Reverse(self.weights[component as usize]), component));
        let mut settled = 0;
        for component in heaviest {
            let left = regions - settled;
            if left == 1 || self.weights[component as usize] <= self.free_weight / u64::from(left) {
                break;
            }
            self.take(component, settled);
            for (neighbour, _) in self.neighbours.of(component) {
                self.border.push_back(neighbour);
            }
            settled += 1;
        }
        settled
    }

    /// A component without a region to begin or go on with, at the oldest border if there is one.
    fn seed(&mut self) -> Option<u32> {
        while let Some(component) = self.border.pop_front() {
            if self.region[component as usize] == NONE {
                return Some(component);
            }
        }
        while self.region.get(self.scan as usize).is_some_and(|&region| region != NONE) {
            self.scan += 1;
        }
        ((self.scan as usize) < self.region.len()).then_some(self.scan)
    }

    /// Grows one of the `left` regions that are still to be made.
    fn fill(&mut self, region: u32, left: u32) {
        let share = self.free_weight / u64::from(left);
        let mut weight = 0;
        while let Some(component) = self.frontier.pop().or_else(|| self.seed()) {
            if self.region[component as usize] != NONE {
                continue;
            }
            let with = weight + self.weights[component as usize];
            let enough = with > share && with - share > share.saturating_sub(weight);
            if weight > 0 && left > 1 && (enough || self.free < left as usize) {
                self.border.push_back(component);
                break;
            }
            weight = with;
            self.take(component, region);
            for (neighbour, class) in self.neighbours.of(component) {
                if self.region[neighbour as usize] == NONE {
                    self.frontier.push(neighbour, class);
                }
            }
        }
        while let Some(component) = self.frontier.pop() {
            self.border.push_back(component);
        }
    }
}
