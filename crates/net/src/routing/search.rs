//! One search from one root, and the paths that it finds to or from it.
//!
//! A search labels nodes with their distance from the root. By the labels alone a path *to* the root is read off: from its start,
//! take at each node the first interface whose far end lies nearer by just that link. Paths *from* the root need a second pass, which
//! visits nodes by hops and, among those of equal hops, in the order of their paths; the first to reach a node is on its path. Both
//! give the path that [`super`] defines, so the choice of roots cannot be seen in the routes.

use super::inner::{Hop, Inner};
use super::{Job, Metric};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How far from the root: by cost, then by hops.
type Distance = (u64, u32);

const FAR: Distance = (u64::MAX, u32::MAX);
const NONE: u32 = u32::MAX;

/// The labels of the last search, and scratch space that all searches share.
#[derive(Debug)]
pub(super) struct Search<'a> {
    inner: &'a Inner,
    metric: Metric,
    distances: Vec<Distance>,
    /// On the path from the root to each node: the node before it, and the interface there. Filled by the second pass alone.
    before: Vec<(u32, u32)>,
    wanted: Vec<bool>,
    /// The nodes with a label, so that clearing costs no more than the search did.
    labelled: Vec<u32>,
    queue: BinaryHeap<Reverse<(Distance, u32)>>,
    /// Nodes in the order of the second pass.
    visited: Vec<u32>,
}

impl<'a> Search<'a> {
    pub(super) fn new(inner: &'a Inner, metric: Metric) -> Search<'a> {
        let nodes = inner.nodes();
        Search {
            inner,
            metric,
            distances: vec![FAR; nodes],
            before: vec![(NONE, 0); nodes],
            wanted: vec![false; nodes],
            labelled: Vec::new(),
            queue: BinaryHeap::new(),
            visited: Vec::new(),
        }
    }

    /// Searches from `root` until the far ends of all `jobs` are reached.
    pub(super) fn run(&mut self, root: u32, jobs: &[Job]) {
        for &node in &self.labelled {
            self.distances[node as usize] = FAR;
            self.before[node as usize] = (NONE, 0);
        }
        self.labelled.clear();
        let mut missing = 0;
        for job in jobs {
            missing += usize::from(!std::mem::replace(&mut self.wanted[job.far as usize], true));
        }
        self.distances[root as usize] = (0, 0);
        self.labelled.push(root);
        match self.metric {
            Metric::Hops => self.breadth_first(missing),
            Metric::Delay => self.cheapest_first(root, missing),
        }
        if jobs.iter().any(|job| job.forward) {
            self.trace_forward(root);
        }
        for job in jobs {
            self.wanted[job.far as usize] = false;
        }
    }

    /// The distance at the far end of a hop from a node at this distance. Never overflows: a topology's delays add up to a `u64`.
    #[inline]
    fn beyond((cost, hops): Distance, hop: &Hop) -> Distance {
        (cost + hop.cost, hops + 1)
    }

    /// Labels nodes by hops; every cost is 0.
    fn breadth_first(&mut self, mut missing: usize) {
        let mut next = 0;
        while let Some(&node) = self.labelled.get(next) {
            next += 1;
            missing -= usize::from(self.wanted[node as usize]);
            if missing == 0 {
                return;
            }
            let distance = self.distances[node as usize];
            for hop in self.inner.hops(node) {
                if self.distances[hop.to as usize] == FAR {
                    self.distances[hop.to as usize] = Search::beyond(distance, hop);
                    self.labelled.push(hop.to);
                }
            }
        }
    }

    /// Dijkstra's algorithm, by cost and then by hops.
    fn cheapest_first(&mut self, root: u32, mut missing: usize) {
        self.queue.clear();
        self.queue.push(Reverse(((0, 0), root)));
        while let Some(Reverse((distance, node))) = self.queue.pop() {
            if distance > self.distances[node as usize] {
                continue; // A shorter way was found since.
            }
            missing -= usize::from(self.wanted[node as usize]);
            if missing == 0 {
                return;
            }
            for hop in self.inner.hops(node) {
                let (there, known) = (Search::beyond(distance, hop), self.distances[hop.to as usize]);
                if there < known {
                    if known == FAR {
                        self.labelled.push(hop.to);
                    }
                    self.distances[hop.to as usize] = there;
                    self.queue.push(Reverse((there, hop.to)));
                }
            }
        }
    }

    /// The second pass: along shortest hops only, so that a node is first reached by the path to it that is first in order. Nodes whose
    /// label is not final, because the search stopped before, are on no path that is asked for.
    fn trace_forward(&mut self, root: u32) {
        self.visited.clear();
        self.visited.push(root);
        let mut next = 0;
        while let Some(&node) = self.visited.get(next) {
            next += 1;
            let distance = self.distances[node as usize];
            for hop in self.inner.hops(node) {
                let there = hop.to as usize;
                if self.distances[there] == Search::beyond(distance, hop) && self.before[there].0 == NONE {
                    self.before[there] = (node, hop.interface);
                    self.visited.push(hop.to);
                }
            }
        }
    }

    /// Appends the path of a job of the last search.
    pub(super) fn append_path(&self, job: &Job, hops: &mut Vec<u32>) {
        if job.forward {
            let start = hops.len();
            let mut node = job.far;
            while node != job.root {
                let (before, interface) = self.before[node as usize];
                hops.push(interface);
                node = before;
            }
            hops[start..].reverse();
        } else {
            let mut node = job.far;
            while node != job.root {
                let distance = self.distances[node as usize];
                let nearer = |hop: &&Hop| self.distances[hop.to as usize] != FAR && Search::beyond(self.distances[hop.to as usize], hop) == distance;
                let hop = self.inner.hops(node).iter().find(nearer).expect("a labelled node has a neighbour nearer to the root");
                hops.push(hop.interface);
                node = hop.to;
            }
        }
    }
}
