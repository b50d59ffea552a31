//! Gathers components into regions of equal weight, neighbours together. The regions become the partitions.
//!
//! A region grows from one component to its neighbours, until it has its share of the weight. Neighbours at
//! the shortest lookahead come first, and among these the one reached first. The next region begins at the
//! border of the oldest region that still has a free neighbour. So no isolated components are left behind.
//! A component of more than a fair share is a region by itself.

use super::graph::Edge;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// The region of a component that has none yet.
const NONE: u32 = u32::MAX;

/// Returns the class of an edge's lookahead. There are two classes for each power of two.
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
    /// Builds the table from edges in order. `number` is the component of each LP.
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

/// The components next to the growing region, by class and then in the order in which they were reached.
struct Frontier {
    /// By class.
    queues: Vec<VecDeque<u32>>,
    /// The lowest class whose queue may hold components.
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

/// Gathers components of these weights into `regions` regions. Returns the region of each component.
///
/// `number` is the component of each LP; `edges` are in order. Every region has at least one component.
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
    let heavy = growth.separate_heavy(regions);
    for region in heavy..regions {
        growth.fill(region, regions - region);
    }
    growth.region
}

struct Growth<'a> {
    weights: &'a [u64],
    neighbours: Neighbours,
    frontier: Frontier,
    /// The components next to the finished regions, the oldest first.
    border: VecDeque<u32>,
    /// Each component below this number has a region.
    scan: u32,
    /// By component.
    region: Vec<u32>,
    /// The number of components without a region.
    free: usize,
    /// The weight of the components without a region.
    free_weight: u64,
}

impl Growth<'_> {
    /// Adds a component to a region.
    fn take(&mut self, component: u32, region: u32) {
        self.region[component as usize] = region;
        self.free -= 1;
        self.free_weight -= self.weights[component as usize];
    }

    /// Makes a region of each component that has more than a fair share of the remaining weight. Leaves at
    /// least one region for the other components. Returns the number of regions made.
    fn separate_heavy(&mut self, regions: u32) -> u32 {
        let share = self.free_weight / u64::from(regions);
        if self.weights.iter().all(|&weight| weight <= share) {
            return 0;
        }
        let mut heaviest: Vec<u32> = (0..).take(self.weights.len()).collect();
        heaviest.sort_unstable_by_key(|&component| (Reverse(self.weights[component as usize]), component));
        let mut separated = 0;
        for component in heaviest {
            let left = regions - separated;
            if left == 1 || self.weights[component as usize] <= self.free_weight / u64::from(left) {
                break;
            }
            self.take(component, separated);
            for (neighbour, _) in self.neighbours.of(component) {
                self.border.push_back(neighbour);
            }
            separated += 1;
        }
        separated
    }

    /// Returns a component without a region from which a region can grow: at the oldest border if there is
    /// one.
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

    /// Grows a region. `left` regions remain, including this one.
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
