//! Shortest paths: source routes by flow, or tables of next hops.
//!
//! A table for every node and every destination takes memory with the square of the network. A model that
//! knows its flows beforehand needs only their paths. A packet carries the number of its flow and its
//! position on the path, and each node reads from the *source route* which interface comes next (Riley, Ammar
//! and Zegura, *Stateless Routing in Network Simulations*, MASCOTS 2000, who call them nix-vectors).
//! [`Routes`] takes four bytes a hop. [`NextHops`] has tables, one for each state of the links, for networks
//! whose links change.
//!
//! # Which path
//!
//! Of all paths between two nodes: the path of least cost by the [`Metric`]; of those, one of the fewest
//! hops; of those, the one that takes at each node, from the source on, the smallest possible neighbour and
//! the smallest link to it. That names one path, whatever other flows there are, and both forms give it.
//! Every part of the path is itself the path between its ends. The path back may be another one.
//!
//! # Cost
//!
//! Leaves are set aside, since no path leads through them: a campus of 53,800 nodes keeps 3,400. If links are
//! alike in both directions, one search from a node serves the flows that start there and the flows that end
//! there. Roots are chosen so that few searches suffice, and each search stops when it has reached its last
//! flow. Searches share their scratch memory, some 40 bytes a node.

mod dijkstra;
mod inner;
mod next_hops;
mod search;

pub use dijkstra::{Open, settle};
pub use next_hops::{Destination, NextHops, Table};

use crate::{NodeId, Topology};
use inner::Inner;
use parades_core::time::Delay;
use search::Search;

/// The measure of a path's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The number of links.
    Hops,
    /// The sum of the links' propagation delays.
    Delay,
}

impl Metric {
    /// Returns the cost of a link with this delay, in picoseconds. Hops are counted beside costs, so they
    /// cost 0.
    pub fn cost(self, delay: Delay) -> u64 {
        match self {
            Metric::Hops => 0,
            Metric::Delay => delay.as_ps(),
        }
    }
}

/// The reason why there are no routes. Each displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// A flow names a node that does not exist.
    #[error("flow {flow} has an end at node {node}, but the nodes are numbered from 0 to {last}")]
    UnknownNode {
        /// The flow's place in the list.
        flow: usize,
        /// The node it names.
        node: u32,
        /// The number of the last node.
        last: u32,
    },
    /// No path leads from the source of a flow to its destination.
    #[error("there is no path from `{source_name}` to `{destination}`, the ends of flow {flow}")]
    Unreachable {
        /// The flow's place in the list.
        flow: usize,
        /// The name of the node where it starts.
        source_name: String,
        /// The name of the node where it ends.
        destination: String,
    },
    /// A node has too many interfaces for a table of next hops.
    #[error("a node has more than 65534 links to nodes of several links")]
    TooManyInterfaces,
    /// There are more flows, or more hops of all routes together, than 32 bits can count.
    #[error("the routes of all flows together have at most 2^32 - 1 hops, and there are at most 2^32 - 1 flows")]
    TooLarge,
}

/// The routes of a list of flows. A route is the interface number at each node on the path.
///
/// # Examples
///
/// Two paths lead from `west` to `east`. The path through `south` has fewer hops, the path through the north
/// is faster:
///
/// ```
/// use parades_core::time::Delay;
/// use parades_topology::routing::{Metric, Routes};
/// use parades_topology::{Link, NodeId, Topology};
/// let link = |a, b, ms| Link { a: NodeId(a), b: NodeId(b), rate_bps: 1_000_000_000, delay: Delay::from_ms(ms) };
/// let names = ["west", "south", "east", "north-west", "north-east"];
/// let topology = Topology::new(&names, vec![link(0, 1, 5), link(1, 2, 5), link(0, 3, 1), link(3, 4, 1), link(4, 2, 1)])?;
/// let way = |metric| -> Vec<&str> {
///     let routes = Routes::for_flows(&topology, &[(NodeId(0), NodeId(2))], metric).unwrap();
///     topology.follow(NodeId(0), routes.route(0)).map(|interface| topology.name(interface.neighbour)).collect()
/// };
/// assert_eq!(way(Metric::Hops), ["south", "east"]);
/// assert_eq!(way(Metric::Delay), ["north-west", "north-east", "east"]);
/// # Ok::<(), parades_topology::TopologyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    // Route `r` is `hops[starts[r]..starts[r + 1]]`. Flows with the same ends share a route.
    hops: Vec<u32>,
    starts: Vec<u32>,
    route_of_flow: Vec<u32>,
}

impl Routes {
    /// Finds the routes of `flows`, pairs of source and destination. A flow from a node to itself has an
    /// empty route.
    ///
    /// # Errors
    ///
    /// Names the first flow that has an end that does not exist, or no path.
    pub fn for_flows(topology: &Topology, flows: &[(NodeId, NodeId)], metric: Metric) -> Result<Routes, RoutingError> {
        check_ends(topology, flows)?;
        let (pairs, route_of_flow) = distinct(flows)?;
        let inner = Inner::of(topology, |link| Some(metric.cost(topology.link(link).delay)));
        let mut search = Search::new(&inner, metric);
        // Routes are found root by root, and laid out in that order.
        let jobs = jobs(&inner, &pairs);
        let mut hops = Vec::new();
        let mut bounds = vec![(0, 0); pairs.len()];
        let mut is_unreachable = vec![false; pairs.len()];
        for batch in jobs.chunk_by(|a, b| a.root == b.root) {
            search.run(batch[0].root, batch);
            for job in batch {
                let start = count(hops.len())?;
                let (source, destination) = pairs[job.pair as usize];
                is_unreachable[job.pair as usize] = !search.is_reached(job.far);
                if source != destination && search.is_reached(job.far) {
                    hops.extend(topology.is_leaf(source).then_some(0));
                    search.append_path(job, &mut hops);
                    hops.extend(topology.is_leaf(destination).then(|| topology.interface_to_leaf(destination)));
                }
                bounds[job.pair as usize] = (start, count(hops.len())?);
            }
        }
        match route_of_flow.iter().position(|&route| is_unreachable[route as usize]) {
            Some(flow) => Err(unreachable(topology, flow, flows[flow])),
            None => Ok(Routes::in_order(&hops, &bounds, route_of_flow)),
        }
    }

    /// Lays the routes out in the order of their ends, so that the result does not depend on the order of the
    /// searches.
    fn in_order(hops: &[u32], bounds: &[(u32, u32)], route_of_flow: Vec<u32>) -> Routes {
        let mut ordered = Vec::with_capacity(hops.len());
        let mut starts = Vec::with_capacity(bounds.len() + 1);
        let mut total = 0;
        for &(start, end) in bounds {
            starts.push(total);
            total += end - start;
            ordered.extend_from_slice(&hops[start as usize..end as usize]);
        }
        starts.push(total);
        Routes { hops: ordered, starts, route_of_flow }
    }

    /// Returns the interface numbers by which `flow` leaves its source and each node on its path.
    ///
    /// # Panics
    ///
    /// If there is no such flow.
    #[inline]
    pub fn route(&self, flow: usize) -> &[u32] {
        let route = self.route_of_flow[flow] as usize;
        &self.hops[self.starts[route] as usize..self.starts[route + 1] as usize]
    }

    /// Returns the number of flows.
    pub fn flows(&self) -> usize {
        self.route_of_flow.len()
    }

    /// Returns the memory that the routes take, in bytes.
    pub fn bytes(&self) -> usize {
        (self.hops.len() + self.starts.len() + self.route_of_flow.len()) * size_of::<u32>()
    }

    /// Returns the sum of the propagation delays on the path of `flow`, which starts at `source`.
    pub fn delay(&self, topology: &Topology, flow: usize, source: NodeId) -> Delay {
        topology
            .follow(source, self.route(flow))
            .fold(Delay::ZERO, |sum, interface| sum.saturating_add(topology.link(interface.link).delay))
    }
}

/// Source and destination.
type Pair = (NodeId, NodeId);

/// A route to find: between two inner nodes, by a search from one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    /// The root of the search: one end of the route.
    root: u32,
    /// True if the route starts at the root, false if it ends there.
    forward: bool,
    /// The other end.
    far: u32,
    /// The place of the route's ends in the list of distinct pairs.
    pair: u32,
}

/// Refuses the first flow with an unknown end, or with ends in different parts of the network.
fn check_ends(topology: &Topology, flows: &[Pair]) -> Result<(), RoutingError> {
    let parts = topology.parts();
    for (flow, &(source, destination)) in flows.iter().enumerate() {
        for end in [source, destination] {
            if end.index() >= parts.len() {
                return Err(RoutingError::UnknownNode { flow, node: end.0, last: count(parts.len() - 1)? });
            }
        }
        if parts[source.index()] != parts[destination.index()] {
            return Err(unreachable(topology, flow, (source, destination)));
        }
    }
    Ok(())
}

fn unreachable(topology: &Topology, flow: usize, (source, destination): Pair) -> RoutingError {
    let [source_name, destination] = [source, destination].map(|end| topology.name(end).to_owned());
    RoutingError::Unreachable { flow, source_name, destination }
}

/// Returns the different pairs among the flows, in order, and the place of each flow's pair among them.
fn distinct(flows: &[Pair]) -> Result<(Vec<Pair>, Vec<u32>), RoutingError> {
    let mut order: Vec<u32> = (0..count(flows.len())?).collect();
    order.sort_unstable_by_key(|&flow| flows[flow as usize]);
    let mut pairs = Vec::new();
    let mut pair_of_flow = vec![0; flows.len()];
    for flow in order {
        let pair = flows[flow as usize];
        if pairs.last() != Some(&pair) {
            pairs.push(pair);
        }
        pair_of_flow[flow as usize] = count(pairs.len() - 1)?;
    }
    Ok((pairs, pair_of_flow))
}

/// Chooses the root of each pair, and sorts jobs by root. The roots are all sources, all destinations, or
/// always the end that more flows have, whichever needs the fewest searches. The choice cannot be seen in the
/// routes.
fn jobs(inner: &Inner, pairs: &[Pair]) -> Vec<Job> {
    let mut uses = vec![0_u32; inner.nodes()];
    for &(source, destination) in pairs {
        uses[inner.anchor(source) as usize] += 1;
        uses[inner.anchor(destination) as usize] += 1;
    }
    let by = |forward_where: &dyn Fn(u32, u32) -> bool| {
        let mut jobs: Vec<Job> = (0..)
            .zip(pairs)
            .map(|(pair, &(source, destination))| {
                let (from, to) = (inner.anchor(source), inner.anchor(destination));
                let forward = forward_where(from, to);
                let (root, far) = if forward { (from, to) } else { (to, from) };
                Job { root, forward, far, pair }
            })
            .collect();
        jobs.sort_unstable();
        jobs
    };
    let to_destinations = by(&|_, _| false);
    if !inner.is_symmetric() {
        return to_destinations;
    }
    let searches = |jobs: &Vec<Job>| jobs.chunk_by(|a, b| a.root == b.root).count();
    // Numbers decide between ends of equal use, so that the flows there and back between two nodes have the
    // same root.
    let busier = |from: u32, to: u32| (uses[from as usize], to) > (uses[to as usize], from);
    let choices = [by(&busier), by(&|_, _| true), to_destinations];
    choices.into_iter().min_by_key(searches).unwrap_or_default()
}

/// Checks that a count fits 32 bits.
fn count(of: usize) -> Result<u32, RoutingError> {
    u32::try_from(of).ok().filter(|&n| n < u32::MAX).ok_or(RoutingError::TooLarge)
}
