//! Where each node sends what is for whom: tables of shortest paths, one for each state that the network's links will be in.
//!
//! Since all failures are known beforehand, so are all tables, and a handler takes the one of its time. Of paths that are alike by cost, the
//! one of the fewest hops is taken, and at each node the smallest neighbour, then the smallest link.
//!
//! *Size.* A node with a single link needs no table: it sends all by that link, and what is for it goes to its neighbour. So a table has
//! an entry of two bytes for each node of two links or more and each such neighbour of an end of a flow. Equal states share a table.

use crate::description::Description;
use crate::model::wire::Course;
use parades_core::time::Time;
use parades_topology::routing::Metric;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// The sending end of a link, as its node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arc {
    pub(crate) to: u32,
    pub(crate) link: u32,
    /// The kind of link that it is, in the model's list.
    pub(crate) kind: u32,
}

/// The ports of all nodes.
#[derive(Debug)]
pub(crate) struct Arcs {
    first: Vec<u32>,
    arcs: Vec<Arc>,
    /// Whether each node has a single link, to a node of several.
    leaf: Vec<bool>,
}

impl Arcs {
    pub(crate) fn new(description: &Description, kind_of_link: &[u32]) -> Arcs {
        let nodes = description.nodes.len();
        let mut degree = vec![0_u32; nodes];
        for link in &description.links {
            for end in [link.from, link.to] {
                degree[end as usize] += 1;
            }
        }
        let mut leaf = vec![false; nodes];
        for link in description.links.iter().filter(|link| link.duplex) {
            for (end, other) in [(link.from, link.to), (link.to, link.from)] {
                leaf[end as usize] |= degree[end as usize] == 1 && degree[other as usize] > 1;
            }
        }
        let mut of_node: Vec<(u32, bool, u32, u32)> = Vec::new();
        for (link, ends) in (0..).zip(&description.links) {
            let back = ends.duplex.then_some((ends.to, ends.from));
            for (from, to) in std::iter::once((ends.from, ends.to)).chain(back) {
                // Ports to nodes of one link come last, so that the numbers in tables are small.
                of_node.push((from, leaf[to as usize], to, link));
            }
        }
        of_node.sort_unstable();
        let mut first = vec![0; nodes + 1];
        for &(from, ..) in &of_node {
            first[from as usize + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let arcs =
            of_node.into_iter().map(|(_, _, to, link)| Arc { to, link, kind: kind_of_link[link as usize] }).collect();
        Arcs { first, arcs, leaf }
    }

    /// The ports of a node.
    #[inline]
    pub(crate) fn of(&self, node: u32) -> &[Arc] {
        &self.arcs[self.first[node as usize] as usize..self.first[node as usize + 1] as usize]
    }

    /// Which of a node's ports leads to `leaf`, which has no other neighbour. A node may have many.
    fn to_leaf(&self, node: u32, leaf: u32) -> u32 {
        let order = |to: u32| (self.leaf[to as usize], to);
        let port = self.of(node).partition_point(|arc| order(arc.to) < order(leaf));
        u32::try_from(port).expect("there are fewer than 2^32 links")
    }

    /// Where the ports of a node begin among those of all.
    pub(crate) fn first(&self, node: u32) -> u32 {
        self.first[node as usize]
    }

    /// All ports with their nodes, in the order of nodes.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, Arc)> {
        (0..).zip(self.first.windows(2)).flat_map(|(node, bounds)| {
            self.arcs[bounds[0] as usize..bounds[1] as usize].iter().map(move |&arc| (node, arc))
        })
    }
}

/// How one gets to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) node: u32,
    /// The node itself, or the neighbour of one that has a single link.
    pub(crate) attach: u32,
    /// The column of that in tables.
    pub(crate) column: u32,
    /// The neighbour's port to the node.
    pub(crate) last: u32,
}

/// No way.
const NONE: u16 = u16::MAX;
/// The row of a node that needs none.
const NO_ROW: u32 = u32::MAX;
/// More entries of all tables together are refused: four gigabytes.
const ENTRIES_MAX: u64 = 1 << 31;

/// The tables.
#[derive(Debug)]
pub(crate) struct Routes {
    rows: Vec<u32>,
    columns: usize,
    /// From when on which table holds, ascending; the first from the start on.
    epochs: Vec<(Time, u32)>,
    tables: Vec<Box<[u16]>>,
}

impl Routes {
    /// The tables for these ends of flows, and how one gets to each, by node.
    pub(crate) fn new(
        description: &Description,
        (course, arcs): (&Course, &Arcs),
        ends: impl Iterator<Item = u32>,
    ) -> Result<(Routes, BTreeMap<u32, Target>), String> {
        let mut targets = BTreeMap::new();
        let mut columns: BTreeMap<u32, u32> = BTreeMap::new();
        for node in ends {
            if targets.contains_key(&node) {
                continue;
            }
            let attach = if arcs.leaf[node as usize] { arcs.of(node)[0].to } else { node };
            let next = u32::try_from(columns.len()).expect("there are fewer than 2^32 nodes");
            let column = *columns.entry(attach).or_insert(next);
            let last = if attach == node { 0 } else { arcs.to_leaf(attach, node) };
            targets.insert(node, Target { node, attach, column, last });
        }
        let mut rows = vec![NO_ROW; description.nodes.len()];
        let mut inner = 0;
        for (node, row) in rows.iter_mut().enumerate() {
            if !arcs.leaf[node] {
                *row = inner;
                inner += 1;
            }
        }
        let mut routes = Routes { rows, columns: columns.len(), epochs: Vec::new(), tables: Vec::new() };
        let mut known: BTreeMap<Vec<(u32, u64)>, u32> = BTreeMap::new();
        for turn in std::iter::once(Time::ZERO).chain(course.turns.iter().copied()) {
            let state = differences(course, turn);
            let table = match known.get(&state) {
                Some(&table) => table,
                None => {
                    let entries = u64::from(inner) * columns.len() as u64;
                    if entries * (routes.tables.len() as u64 + 1) > ENTRIES_MAX {
                        return Err("the routes of all nodes, for each state of the links, take more than 4 GiB; \
                                    have fewer nodes, ends of flows, or different failures"
                            .into());
                    }
                    let number = u32::try_from(routes.tables.len()).expect("there are fewer than 2^32 events");
                    let table = Search::new(description, course, arcs, turn).table(&routes, &columns)?;
                    routes.tables.push(table);
                    known.insert(state, number);
                    number
                }
            };
            let from = match turn {
                Time::ZERO => Time::ZERO,
                turn => turn.checked_add(description.convergence).unwrap_or(Time::MAX),
            };
            routes.epochs.pop_if(|(before, _)| *before == from);
            routes.epochs.push((from, table));
        }
        Ok((routes, targets))
    }

    /// The port by which a node sends on what is for `target` at a time; `None` where there is no way.
    #[inline]
    pub(crate) fn port(&self, node: u32, target: &Target, now: Time) -> Option<u32> {
        if node == target.attach {
            return Some(target.last);
        }
        let row = self.rows[node as usize];
        if row == NO_ROW {
            return Some(0);
        }
        let epoch = match &self.epochs[..] {
            [_] => 0,
            several => several.partition_point(|(from, _)| *from <= now) - 1,
        };
        let table = &self.tables[self.epochs[epoch].1 as usize];
        match table[row as usize * self.columns + target.column as usize] {
            NONE => None,
            port => Some(u32::from(port)),
        }
    }

    /// Whether there is a way at the start.
    pub(crate) fn leads(&self, from: u32, target: &Target, arcs: &Arcs) -> bool {
        let from = if arcs.leaf[from as usize] { arcs.of(from)[0].to } else { from };
        from == target.attach || self.port(from, target, Time::ZERO).is_some()
    }
}

/// What is not as at the start: the links that are down, and those of another delay.
fn differences(course: &Course, time: Time) -> Vec<(u32, u64)> {
    let differs = |(link, wire): (u32, &crate::model::wire::Wire)| {
        let quality = wire.at(time);
        match quality.up {
            false => Some((link, u64::MAX)),
            true if quality.delay != wire.first.delay => Some((link, quality.delay.as_ps())),
            true => None,
        }
    };
    (0..).zip(&course.wires).filter_map(differs).collect()
}

/// A search of the shortest paths to one node after another.
struct Search<'a> {
    metric: Metric,
    arcs: &'a Arcs,
    /// The cost of each link; `None` where it is down.
    costs: Vec<Option<u64>>,
    /// Who sends to each node, by which link.
    back: Vec<Vec<(u32, u32)>>,
    distance: Vec<(u64, u32)>,
}

const FAR: (u64, u32) = (u64::MAX, u32::MAX);

impl<'a> Search<'a> {
    fn new(description: &Description, course: &Course, arcs: &'a Arcs, time: Time) -> Search<'a> {
        let cost = |wire: &crate::model::wire::Wire| {
            let quality = wire.at(time);
            quality.up.then_some(match description.routing {
                Metric::Hops => 0,
                Metric::Delay => quality.delay.as_ps(),
            })
        };
        let mut back = vec![Vec::new(); description.nodes.len()];
        for (from, arc) in arcs.all() {
            if !arcs.leaf[from as usize] && !arcs.leaf[arc.to as usize] {
                back[arc.to as usize].push((from, arc.link));
            }
        }
        let costs = course.wires.iter().map(cost).collect();
        Search { metric: description.routing, arcs, costs, back, distance: vec![FAR; description.nodes.len()] }
    }

    fn table(&mut self, routes: &Routes, columns: &BTreeMap<u32, u32>) -> Result<Box<[u16]>, String> {
        let rows = routes.rows.iter().filter(|row| **row != NO_ROW).count();
        let mut table = vec![NONE; rows * routes.columns];
        for (&to, &column) in columns {
            self.run(to);
            for (node, &row) in (0_u32..).zip(&routes.rows) {
                if row == NO_ROW || node == to || self.distance[node as usize] == FAR {
                    continue;
                }
                let port = self.first_port(node);
                let port = u16::try_from(port).ok().filter(|&port| port < NONE);
                let Some(port) = port else {
                    return Err(format!("a node has more than {} links to nodes of several links", NONE - 1));
                };
                table[row as usize * routes.columns + column as usize] = port;
            }
        }
        Ok(table.into())
    }

    /// Dijkstra's algorithm, against the direction of sending.
    fn run(&mut self, to: u32) {
        self.distance.fill(FAR);
        self.distance[to as usize] = (0, 0);
        let mut queue = BinaryHeap::from([Reverse(((0, 0), to))]);
        while let Some(Reverse((distance, node))) = queue.pop() {
            if distance != self.distance[node as usize] {
                continue;
            }
            for &(from, link) in &self.back[node as usize] {
                let Some(cost) = self.costs[link as usize] else { continue };
                let there = (distance.0.saturating_add(cost), distance.1 + 1);
                if there < self.distance[from as usize] {
                    self.distance[from as usize] = there;
                    queue.push(Reverse((there, from)));
                }
            }
        }
        debug_assert!(
            self.metric == Metric::Delay || self.distance.iter().all(|(cost, _)| matches!(*cost, 0 | u64::MAX))
        );
    }

    /// The first port of a node that begins a shortest path: ports are in the order of neighbours and links.
    fn first_port(&self, node: u32) -> usize {
        let distance = self.distance[node as usize];
        let begins = |arc: &Arc| {
            let there = self.distance[arc.to as usize];
            let cost = self.costs[arc.link as usize];
            there != FAR && cost.is_some_and(|cost| (there.0.saturating_add(cost), there.1 + 1) == distance)
        };
        self.arcs.of(node).iter().position(begins).expect("a node at a distance has a neighbour nearer by")
    }
}
