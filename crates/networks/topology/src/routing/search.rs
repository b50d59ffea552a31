//! One search from one root, and the paths that it finds to or from the root.
//!
//! A search finds the distance of each node. The distances alone give the path *to* the root: from its start,
//! take at each node the first hop whose far end is nearer by just that hop. A path *from* the root needs the
//! node before each node. So a second pass visits nodes by hops and, among nodes of equal hops, in the order
//! of their paths. The first visit to a node is on its path. If hops are the metric, the search itself visits
//! nodes in that order. Both ways give the path that [`super`] defines, so the choice of roots cannot be seen
//! in the routes.
//!
//! *All shortest paths.* The next hops of a node on the way *to* the root are all hops whose far ends are
//! nearer by just that hop. On the way *from* the root, the nodes of all shortest paths to the far end are
//! marked first, from the far end on. Then the path follows marked nodes. Both give the same next hops.
//!
//! In a network with one-way links, a search follows hops backwards, and finds paths to the root only.

use super::dijkstra::{Open, settle};
use super::equal::choose;
use super::inner::{Hop, Inner};
use super::{Job, Metric};
use crate::NodeId;

/// The cost and the hops of a path. Fewer hops break a tie of costs.
type Distance = (u64, u32);

const UNREACHED: Distance = (u64::MAX, u32::MAX);

/// Returns the distance of the far end of a hop from a node at `distance`.
#[inline]
fn beyond(distance: Distance, hop: &Hop) -> Distance {
    (distance.0.saturating_add(hop.cost), distance.1 + 1)
}

/// The node before another one on the path from the root, and the interface there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Before {
    node: u32,
    interface: u32,
}

/// No such node is known.
const UNKNOWN: Before = Before { node: u32::MAX, interface: 0 };

/// The result of the last search, and scratch memory that all searches share.
#[derive(Debug)]
pub(super) struct Search<'a> {
    inner: &'a Inner,
    metric: Metric,
    distances: Vec<Distance>,
    before: Vec<Before>,
    wanted: Vec<bool>,
    /// The nodes that the last search reached, so that clearing costs no more than the search did.
    reached: Vec<u32>,
    open: Open<Distance>,
    /// Nodes in the order of the second pass.
    visited: Vec<u32>,
    /// The far end whose shortest paths from the root are marked, and the marked nodes.
    marked_for: Option<u32>,
    marked: Vec<u32>,
    is_marked: Vec<bool>,
}

impl<'a> Search<'a> {
    pub(super) fn new(inner: &'a Inner, metric: Metric) -> Search<'a> {
        let nodes = inner.nodes();
        Search {
            inner,
            metric,
            distances: vec![UNREACHED; nodes],
            before: vec![UNKNOWN; nodes],
            wanted: vec![false; nodes],
            reached: Vec::new(),
            open: Open::new(),
            visited: Vec::new(),
            marked_for: None,
            marked: Vec::new(),
            is_marked: vec![false; nodes],
        }
    }

    /// Searches from `root` until the far ends of all `jobs` are reached, and traces the first path to each.
    pub(super) fn run(&mut self, root: u32, jobs: &[Job]) {
        self.reach(root, jobs);
        if self.metric == Metric::Delay && jobs.iter().any(|job| job.forward) {
            self.trace_forward(root);
        }
    }

    /// Searches from `root` until the far ends of all `jobs` are reached.
    pub(super) fn reach(&mut self, root: u32, jobs: &[Job]) {
        let mut missing = 0;
        for job in jobs {
            missing += usize::from(!std::mem::replace(&mut self.wanted[job.far as usize], true));
        }
        self.search(root, missing);
        for job in jobs {
            self.wanted[job.far as usize] = false;
        }
    }

    /// Searches from `root` until all nodes that can send to it are reached.
    pub(super) fn run_to_all(&mut self, root: u32) {
        self.search(root, usize::MAX);
    }

    fn search(&mut self, root: u32, missing: usize) {
        for &node in &self.reached {
            self.distances[node as usize] = UNREACHED;
            self.before[node as usize] = UNKNOWN;
        }
        self.marked_for = None;
        self.distances[root as usize] = (0, 0);
        self.reached.clear();
        self.reached.push(root);
        match self.metric {
            Metric::Hops => self.breadth_first(missing),
            Metric::Delay => self.cheapest_first(root, missing),
        }
    }

    /// Finds distances by hops, every cost being 0, in the order of paths.
    fn breadth_first(&mut self, mut missing: usize) {
        let mut next = 0;
        while let Some(&node) = self.reached.get(next) {
            next += 1;
            missing -= usize::from(self.wanted[node as usize]);
            if missing == 0 {
                return;
            }
            let hops = self.distances[node as usize].1 + 1;
            for hop in self.inner.hops_back(node) {
                if self.distances[hop.to as usize] == UNREACHED {
                    self.distances[hop.to as usize] = (0, hops);
                    self.before[hop.to as usize] = Before { node, interface: hop.interface };
                    self.reached.push(hop.to);
                }
            }
        }
    }

    /// Finds distances by cost, then by hops.
    fn cheapest_first(&mut self, root: u32, mut missing: usize) {
        let Search { inner, distances, wanted, reached, open, .. } = self;
        let edges = |node: u32, distance: Distance| {
            missing -= usize::from(wanted[node as usize]);
            (missing > 0).then(|| inner.hops_back(node).iter().map(move |hop| (hop.to, beyond(distance, hop))))
        };
        let improved = |_, _, to, before: Distance| {
            if before == UNREACHED {
                reached.push(to);
            }
        };
        settle(root, distances, open, edges, improved);
    }

    /// The second pass. It follows shortest hops only, so that the first visit to a node is by the path that
    /// is first in order. Nodes whose distance is not final, because the search stopped before, are on no
    /// wanted path.
    fn trace_forward(&mut self, root: u32) {
        self.visited.clear();
        self.visited.push(root);
        let mut next = 0;
        while let Some(&node) = self.visited.get(next) {
            next += 1;
            let distance = self.distances[node as usize];
            for hop in self.inner.hops(node) {
                let before = &mut self.before[hop.to as usize];
                if *before == UNKNOWN && self.distances[hop.to as usize] == beyond(distance, hop) {
                    *before = Before { node, interface: hop.interface };
                    self.visited.push(hop.to);
                }
            }
        }
    }

    /// Returns true if the last search reached `node`.
    #[inline]
    pub(super) fn is_reached(&self, node: u32) -> bool {
        self.distances[node as usize] != UNREACHED
    }

    /// Appends the path of a job of the last search, which must have reached the far end.
    pub(super) fn append_path(&self, job: &Job, hops: &mut Vec<u32>) {
        let mut node = job.far;
        if job.forward {
            let start = hops.len();
            while node != job.root {
                let before = &self.before[node as usize];
                hops.push(before.interface);
                node = before.node;
            }
            hops[start..].reverse();
        } else {
            while node != job.root {
                let hop = self.first_hop_nearer(node);
                hops.push(hop.interface);
                node = hop.to;
            }
        }
    }

    /// Appends the path that the hash of `flow` selects among all shortest paths of a job of the last search.
    /// The search must have reached the far end.
    pub(super) fn append_chosen_path(&mut self, job: &Job, flow: u32, hops: &mut Vec<u32>) {
        let inner = self.inner;
        if job.forward {
            self.mark(job.far);
            let mut node = job.root;
            while node != job.far {
                let distance = self.distances[node as usize];
                let is_next = |hop: &&Hop| {
                    self.is_marked[hop.to as usize] && self.distances[hop.to as usize] == beyond(distance, hop)
                };
                let hop = chosen(inner.hops(node).iter().filter(is_next), flow, inner.id(node));
                hops.push(hop.interface);
                node = hop.to;
            }
        } else {
            let mut node = job.far;
            while node != job.root {
                let hop = chosen(self.hops_nearer(node), flow, inner.id(node));
                hops.push(hop.interface);
                node = hop.to;
            }
        }
    }

    /// Marks the nodes of all shortest paths from the root to `far`. All links are alike in both directions,
    /// or no job is forward.
    fn mark(&mut self, far: u32) {
        if self.marked_for == Some(far) {
            return;
        }
        self.marked.drain(..).for_each(|node| self.is_marked[node as usize] = false);
        self.marked_for = Some(far);
        self.marked.push(far);
        self.is_marked[far as usize] = true;
        let mut next = 0;
        while let Some(&node) = self.marked.get(next) {
            next += 1;
            for hop in nearer(self.inner, &self.distances, node) {
                if !std::mem::replace(&mut self.is_marked[hop.to as usize], true) {
                    self.marked.push(hop.to);
                }
            }
        }
    }

    /// Returns the hops of a node that begin shortest paths to the root. There is none at the root, and at a
    /// node that the search did not reach.
    pub(super) fn hops_nearer(&self, node: u32) -> impl Iterator<Item = &'a Hop> + Clone {
        nearer(self.inner, &self.distances, node)
    }

    /// Returns the first hop of a reached node that begins a shortest path to the root.
    pub(super) fn first_hop_nearer(&self, node: u32) -> &'a Hop {
        self.hops_nearer(node).next().expect("a reached node has a neighbour nearer to the root")
    }
}

/// Returns the hops of a node that begin shortest paths to the root, from which all nodes have `distances`.
fn nearer<'i>(inner: &'i Inner, distances: &[Distance], node: u32) -> impl Iterator<Item = &'i Hop> + Clone {
    let distance = distances[node as usize];
    let is_nearer = move |hop: &&Hop| {
        let there = distances[hop.to as usize];
        there != UNREACHED && beyond(there, hop) == distance
    };
    inner.hops(node).iter().filter(is_nearer)
}

/// Returns the hop that a flow takes at a node.
fn chosen<'i>(hops: impl Iterator<Item = &'i Hop> + Clone, flow: u32, node: NodeId) -> &'i Hop {
    let count = u32::try_from(hops.clone().count()).expect("interfaces are counted in 32 bits");
    let place = if count > 1 { choose(flow, node, count) } else { 0 };
    let mut hops = hops;
    hops.nth(place as usize).expect("a shortest path leads on")
}
