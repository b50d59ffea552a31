//! One search from one root, and the paths that it finds to or from it.
//!
//! A search labels nodes with their distance from the root. By the distances alone a path *to* the root is read off: from its start,
//! take at each node the first interface whose far end lies nearer by just that link. Paths *from* the root need to know the node
//! before each: nodes are visited by hops and, among those of equal hops, in the order of their paths, and the first to reach a node is on
//! its path. Where hops are the metric, that is the order of the search itself; else it is a second pass. Both ways give the path that
//! [`super`] defines, so the choice of roots cannot be seen in the routes.

use super::inner::{Hop, Inner};
use super::{Job, Metric};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a search knows of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label {
    /// Cost of the way from the root.
    cost: u64,
    /// Hops of that way.
    hops: u32,
    /// The node before this one on the path from the root, and the interface there; `NONE` where that is not known.
    before: u32,
    interface: u32,
}

const NONE: u32 = u32::MAX;
const UNSEEN: Label = Label { cost: u64::MAX, hops: u32::MAX, before: NONE, interface: 0 };

impl Label {
    /// How far from the root: by cost, then by hops.
    #[inline]
    fn distance(&self) -> (u64, u32) {
        (self.cost, self.hops)
    }

    /// The distance at the far end of a hop from here. It never overflows, for a topology's delays add up to a `u64`.
    #[inline]
    fn beyond(&self, hop: &Hop) -> (u64, u32) {
        (self.cost + hop.cost, self.hops + 1)
    }
}

/// The labels of the last search, and scratch space that all searches share.
#[derive(Debug)]
pub(super) struct Search<'a> {
    inner: &'a Inner,
    metric: Metric,
    labels: Vec<Label>,
    wanted: Vec<bool>,
    /// The nodes with a label, so that clearing costs no more than the search did.
    labelled: Vec<u32>,
    /// Nodes by cost, then by hops, then by number.
    queue: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Nodes in the order of the second pass.
    visited: Vec<u32>,
}

impl<'a> Search<'a> {
    pub(super) fn new(inner: &'a Inner, metric: Metric) -> Search<'a> {
        Search {
            inner,
            metric,
            labels: vec![UNSEEN; inner.nodes()],
            wanted: vec![false; inner.nodes()],
            labelled: Vec::new(),
            queue: BinaryHeap::new(),
            visited: Vec::new(),
        }
    }

    /// Searches from `root` until the far ends of all `jobs` are reached.
    pub(super) fn run(&mut self, root: u32, jobs: &[Job]) {
        for &node in &self.labelled {
            self.labels[node as usize] = UNSEEN;
        }
        let mut missing = 0;
        for job in jobs {
            missing += usize::from(!std::mem::replace(&mut self.wanted[job.far as usize], true));
        }
        self.labels[root as usize] = Label { cost: 0, hops: 0, ..UNSEEN };
        self.labelled.clear();
        self.labelled.push(root);
        match self.metric {
            Metric::Hops => self.breadth_first(missing),
            Metric::Delay => {
                self.cheapest_first(root, missing);
                if jobs.iter().any(|job| job.forward) {
                    self.trace_forward(root);
                }
            }
        }
        for job in jobs {
            self.wanted[job.far as usize] = false;
        }
    }

    /// Labels nodes by hops, every cost being 0, in the order of their paths.
    fn breadth_first(&mut self, mut missing: usize) {
        let mut next = 0;
        while let Some(&node) = self.labelled.get(next) {
            next += 1;
            missing -= usize::from(self.wanted[node as usize]);
            if missing == 0 {
                return;
            }
            let hops = self.labels[node as usize].hops + 1;
            for hop in self.inner.hops(node) {
                let there = &mut self.labels[hop.to as usize];
                if there.hops == UNSEEN.hops {
                    *there = Label { cost: 0, hops, before: node, interface: hop.interface };
                    self.labelled.push(hop.to);
                }
            }
        }
    }

    /// Dijkstra's algorithm, by cost and then by hops.
    fn cheapest_first(&mut self, root: u32, mut missing: usize) {
        self.queue.clear();
        self.queue.push(Reverse((0, 0, root)));
        while let Some(Reverse((cost, hops, node))) = self.queue.pop() {
            let label = self.labels[node as usize];
            if (cost, hops) != label.distance() {
                continue; // A shorter way was found since.
            }
            missing -= usize::from(self.wanted[node as usize]);
            if missing == 0 {
                return;
            }
            for hop in self.inner.hops(node) {
                let (distance, there) = (label.beyond(hop), &mut self.labels[hop.to as usize]);
                if distance < there.distance() {
                    if *there == UNSEEN {
                        self.labelled.push(hop.to);
                    }
                    (there.cost, there.hops) = distance;
                    self.queue.push(Reverse((distance.0, distance.1, hop.to)));
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
            let label = self.labels[node as usize];
            for hop in self.inner.hops(node) {
                let there = &mut self.labels[hop.to as usize];
                if there.before == NONE && there.distance() == label.beyond(hop) {
                    (there.before, there.interface) = (node, hop.interface);
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
                let label = &self.labels[node as usize];
                hops.push(label.interface);
                node = label.before;
            }
            hops[start..].reverse();
        } else {
            let mut node = job.far;
            while node != job.root {
                let hop = self.first_hop_nearer(node);
                hops.push(hop.interface);
                node = hop.to;
            }
        }
    }

    /// The first interface of a labelled node that starts a shortest way to the root.
    fn first_hop_nearer(&self, node: u32) -> &Hop {
        let distance = self.labels[node as usize].distance();
        let nearer = |hop: &&Hop| {
            let there = &self.labels[hop.to as usize];
            *there != UNSEEN && there.beyond(hop) == distance
        };
        self.inner.hops(node).iter().find(nearer).expect("a labelled node has a neighbour nearer to the root")
    }
}
