//! Shortest paths, kept per flow.
//!
//! A routing table of every node for every destination takes memory with the square of the network. A model that knows its flows
//! beforehand needs only their paths: a packet carries its flow's number and how far it has come, and each node on the way reads from
//! the *source route* which of its interfaces comes next (Riley, Ammar and Zegura, *Stateless Routing in Network Simulations*,
//! MASCOTS 2000, call them nix-vectors). Memory is four bytes a hop.
//!
//! # Which path
//!
//! Of all paths between two nodes, the one of least cost by the [`Metric`]; of those, one of the fewest hops; of those, the one that from
//! the source on takes at each node the smallest neighbour that it can, and the smallest link to it. That names one path, whatever
//! other flows there are. Every part of it is itself the path between its ends; the path back may be another.
//!
//! # Cost
//!
//! Nodes with one link are set aside: no path leads through them (a campus of 53,800 nodes keeps 3,400). Since links are alike in both
//! directions, one search from a node serves the flows that start there and those that end there; the roots are chosen so that few
//! searches do, and each stops when its last flow is reached. Searches share their scratch space, some 40 bytes a node.

mod inner;
mod search;

use crate::{NodeId, Topology};
use inner::Inner;
use parades_core::time::Delay;
use search::Search;

/// What makes one path shorter than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The number of links.
    Hops,
    /// The sum of the links' propagation delays.
    Delay,
}

/// Why there are no routes; each displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// A flow names a node that does not exist.
    #[error("flow {flow} has an end at node {node}, but the nodes are numbered from 0 to {last}")]
    UnknownNode {
        /// The flow's place in the list.
        flow: usize,
        /// The node it names.
        node: u32,
        /// The last node there is.
        last: u32,
    },
    /// The ends of a flow lie in different parts of the network.
    #[error("there is no path from `{source_name}` to `{destination}`, the ends of flow {flow}")]
    Unreachable {
        /// The flow's place in the list.
        flow: usize,
        /// The name of the node where it starts.
        source_name: String,
        /// The name of the node where it ends.
        destination: String,
    },
    /// More flows, or more hops of all routes together, than 32 bits count.
    #[error("the routes of all flows together have at most 2^32 - 1 hops, and there are at most 2^32 - 1 flows")]
    TooLarge,
}

/// The route of each of a list of flows, as the interface number by which it leaves each node on the way.
///
/// # Examples
///
/// Two ways from `west` to `east`; the one through `south` has fewer hops, the one through the north is faster:
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
    // Route `r` is `hops[starts[r]..starts[r + 1]]`; flows with the same ends share it.
    hops: Vec<u32>,
    starts: Vec<u32>,
    route_of_flow: Vec<u32>,
}

impl Routes {
    /// The routes of `flows`, pairs of source and destination. A flow from a node to itself has an empty route.
    ///
    /// # Errors
    ///
    /// Names the first flow with an end that does not exist, or without a path.
    pub fn for_flows(topology: &Topology, flows: &[(NodeId, NodeId)], metric: Metric) -> Result<Routes, RoutingError> {
        check_ends(topology, flows)?;
        let (pairs, route_of_flow) = distinct(flows)?;
        let inner = Inner::of(topology, metric);
        let mut search = Search::new(&inner, metric);
        // Routes are found root by root, and laid out in that order.
        let jobs = jobs(&inner, &pairs);
        let mut hops = Vec::new();
        let mut bounds = vec![(0, 0); pairs.len()];
        for batch in jobs.chunk_by(|a, b| a.root == b.root) {
            search.run(batch[0].root, batch);
            for job in batch {
                let start = count(hops.len())?;
                let (source, destination) = pairs[job.pair as usize];
                if source != destination {
                    inner.enter(source, &mut hops);
                    search.append_path(job, &mut hops);
                    inner.leave(topology, destination, &mut hops);
                }
                bounds[job.pair as usize] = (start, count(hops.len())?);
            }
        }
        Ok(Routes::in_order(&hops, &bounds, route_of_flow))
    }

    /// Lays the routes out in the order of their ends, so that the result tells nothing of how it was found.
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

    /// The interface numbers by which `flow` leaves its source, then each node on its way.
    ///
    /// # Panics
    ///
    /// Where there is no such flow.
    #[inline]
    pub fn route(&self, flow: usize) -> &[u32] {
        let route = self.route_of_flow[flow] as usize;
        &self.hops[self.starts[route] as usize..self.starts[route + 1] as usize]
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.route_of_flow.len()
    }

    /// Bytes that the routes take.
    pub fn bytes(&self) -> usize {
        (self.hops.len() + self.starts.len() + self.route_of_flow.len()) * size_of::<u32>()
    }

    /// The sum of the propagation delays on the way of `flow`, which starts at `source`.
    pub fn delay(&self, topology: &Topology, flow: usize, source: NodeId) -> Delay {
        topology
            .follow(source, self.route(flow))
            .fold(Delay::ZERO, |sum, interface| sum.saturating_add(topology.link(interface.link).delay))
    }
}

/// Source and destination.
type Pair = (NodeId, NodeId);

/// A route to be found: between two inner nodes, by a search from one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    /// Where the search starts: one end of the route.
    root: u32,
    /// Whether the root is where the route starts; else it is where it ends.
    forward: bool,
    /// The other end.
    far: u32,
    /// Whose route it is: a place in the list of distinct flows.
    pair: u32,
}

/// Refuses the first flow that has no route.
fn check_ends(topology: &Topology, flows: &[Pair]) -> Result<(), RoutingError> {
    let parts = topology.parts();
    for (flow, &(source, destination)) in flows.iter().enumerate() {
        for end in [source, destination] {
            if end.index() >= parts.len() {
                return Err(RoutingError::UnknownNode { flow, node: end.0, last: count(parts.len() - 1)? });
            }
        }
        if parts[source.index()] != parts[destination.index()] {
            let (source_name, destination) = (topology.name(source).to_owned(), topology.name(destination).to_owned());
            return Err(RoutingError::Unreachable { flow, source_name, destination });
        }
    }
    Ok(())
}

/// The different pairs among the flows, in order, and which of them each flow has.
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

/// A root for each pair, sorted by root: all sources, all destinations, or always the end that more flows have, whichever takes
/// the fewest searches. The choice cannot be seen in the routes.
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
    let searches = |jobs: &Vec<Job>| jobs.chunk_by(|a, b| a.root == b.root).count();
    // Equal uses are decided by number, so that the flows there and back between two nodes get the same root.
    let busier = |from: u32, to: u32| (uses[from as usize], to) > (uses[to as usize], from);
    let choices = [by(&busier), by(&|_, _| true), by(&|_, _| false)];
    choices.into_iter().min_by_key(searches).unwrap_or_default()
}

/// A count that must fit 32 bits.
fn count(of: usize) -> Result<u32, RoutingError> {
    u32::try_from(of).ok().filter(|&n| n < u32::MAX).ok_or(RoutingError::TooLarge)
}
