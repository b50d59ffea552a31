//! Shortest paths: source routes by flow, or tables of next hops.
//!
//! A table for every node and every destination takes memory with the square of the network. A model that
//! knows its flows beforehand needs only their paths. A packet carries the number of its flow and its
//! position on the path. Each node reads its next interface from the *source route*, the nix-vector of Riley,
//! Ammar and Zegura, *Stateless Routing in Network Simulations*, MASCOTS 2000.
//! [`Routes`] takes four bytes a hop. [`NextHops`] has tables, one for each state of the links, for networks
//! whose links change.
//!
//! # Which path
//!
//! A shortest path has the least cost by the [`Metric`]; of those, the fewest hops. With [`Paths::All`], each
//! flow takes one of all shortest paths: at each node, a hash of the flow and the node selects among the next
//! hops of shortest paths ([`choose`]). Parallel links are different next hops. With [`Paths::One`], all
//! flows take the first next hop at each node: the smallest neighbour, by the smallest link. That names one
//! path, and every part of the path is itself the path between its ends. In both cases both forms give the
//! same path, whatever other flows there are. The path back may be another one.
//!
//! [`StaticRoutes`] replace the next hops of their nodes.
//!
//! # Cost
//!
//! Leaves are set aside, since no path leads through them: a campus of 53,800 nodes keeps 3,400. If links are
//! alike in both directions, one search from a node serves the flows that start there and the flows that end
//! there. Roots are chosen so that few searches suffice, and each search stops when it has reached its last
//! flow. Searches share their scratch memory, some 40 bytes a node.

mod dijkstra;
mod equal;
mod error;
mod fixed;
mod inner;
mod next_hops;
mod search;

pub use dijkstra::{Open, settle};
pub use equal::{Paths, choose};
pub use error::RoutingError;
pub use fixed::{Given, StaticRoutes};
pub use next_hops::{Destination, NextHops, Rules, Table};

use crate::{NodeId, Topology};
use fixed::Toward;
use inner::Inner;
use parades_config::Words;
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

impl Words for Metric {
    const WORDS: &'static [(&'static str, Metric)] = &[("delay", Metric::Delay), ("hops", Metric::Hops)];
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
    /// Finds the one path of each of `flows`, pairs of source and destination. A flow from a node to itself
    /// has an empty route.
    ///
    /// # Errors
    ///
    /// Names the first flow that has an end that does not exist, or no path.
    pub fn for_flows(topology: &Topology, flows: &[(NodeId, NodeId)], metric: Metric) -> Result<Routes, RoutingError> {
        check_ends(topology, flows)?;
        let (pairs, route_of_flow) = distinct(flows)?;
        let append = |search: &mut Search<'_>, job: &Job, hops: &mut Vec<u32>| search.append_path(job, hops);
        let (routes, is_unreachable) = shortest(topology, &pairs, metric, Paths::One, append)?;
        match route_of_flow.iter().position(|&route| is_unreachable[route as usize]) {
            Some(flow) => Err(unreachable(topology, flow, flows[flow])),
            None => Ok(Routes { route_of_flow, ..routes }),
        }
    }

    /// Finds the path of each of `flows`, pairs of source and destination, by these rules. `names` are
    /// numbers of the flows, from which their hashes are computed. A flow from a node to itself has an empty
    /// route.
    ///
    /// # Errors
    ///
    /// As [`Routes::for_flows`]; also if a static route to one of the destinations leads into a loop, or
    /// nowhere.
    pub fn by_rules(
        topology: &Topology,
        flows: &[(NodeId, NodeId)],
        names: &[u32],
        rules: Rules<'_>,
    ) -> Result<Routes, RoutingError> {
        assert_eq!(flows.len(), names.len(), "each flow has a name");
        if rules.paths == Paths::One && rules.statics.is_empty() {
            return Routes::for_flows(topology, flows, rules.metric);
        }
        check_ends(topology, flows)?;
        count(flows.len())?;
        let is_static =
            |&(source, destination): &Pair| source != destination && rules.statics.to(destination).is_some();
        // The others keep their places, so that routes are laid out in the order of flows.
        let others: Vec<Pair> =
            flows.iter().map(|flow| if is_static(flow) { (flow.0, flow.0) } else { *flow }).collect();
        let append = |search: &mut Search<'_>, job: &Job, hops: &mut Vec<u32>| match rules.paths {
            Paths::All => search.append_chosen_path(job, names[job.pair as usize], hops),
            Paths::One => search.append_path(job, hops),
        };
        let (routes, is_unreachable) = shortest(topology, &others, rules.metric, rules.paths, append)?;
        if let Some(flow) = is_unreachable.iter().position(|&is_unreachable| is_unreachable) {
            return Err(unreachable(topology, flow, flows[flow]));
        }
        match flows.iter().any(is_static) {
            true => routes.with_statics(topology, rules, flows, names, is_static),
            false => Ok(routes),
        }
    }

    /// Returns these routes, with the routes of the flows to destinations of static routes in their places.
    fn with_statics(
        self,
        topology: &Topology,
        rules: Rules<'_>,
        flows: &[Pair],
        names: &[u32],
        is_static: impl Fn(&Pair) -> bool,
    ) -> Result<Routes, RoutingError> {
        let inner = Inner::of(topology, |link| Some(rules.metric.cost(topology.link(link).delay)));
        let mut search = Search::new(&inner, rules.metric);
        let mut concerned: Vec<usize> = (0..flows.len()).filter(|&flow| is_static(&flows[flow])).collect();
        concerned.sort_by_key(|&flow| flows[flow].1);
        let mut hops = self.hops;
        let mut bounds: Vec<(u32, u32)> = self.starts.windows(2).map(|bounds| (bounds[0], bounds[1])).collect();
        for batch in concerned.chunk_by(|&a, &b| flows[a].1 == flows[b].1) {
            let destination = flows[batch[0]].1;
            let given = rules.statics.to(destination).expect("these have static routes");
            search.run_to_all(inner.anchor(destination));
            let toward = Toward { topology, inner: &inner, search: &search, destination, given, paths: rules.paths };
            toward.check(true)?;
            for &flow in batch {
                let start = count(hops.len())?;
                if !toward.append_path(flows[flow].0, names[flow], &mut hops) {
                    return Err(unreachable(topology, flow, flows[flow]));
                }
                bounds[flow] = (start, count(hops.len())?);
            }
        }
        Ok(Routes::in_order(&hops, &bounds, self.route_of_flow))
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

/// Finds shortest paths of these pairs. `append` appends the path of a job whose far end is reached. Returns
/// the routes in the order of the pairs, and for each pair true if there is no path.
fn shortest(
    topology: &Topology,
    pairs: &[Pair],
    metric: Metric,
    paths: Paths,
    mut append: impl FnMut(&mut Search<'_>, &Job, &mut Vec<u32>),
) -> Result<(Routes, Vec<bool>), RoutingError> {
    let inner = Inner::of(topology, |link| Some(metric.cost(topology.link(link).delay)));
    let mut search = Search::new(&inner, metric);
    // Routes are found root by root, and laid out in that order.
    let jobs = jobs(&inner, pairs);
    let mut hops = Vec::new();
    let mut bounds = vec![(0, 0); pairs.len()];
    let mut is_unreachable = vec![false; pairs.len()];
    for batch in jobs.chunk_by(|a, b| a.root == b.root) {
        match paths {
            Paths::All => search.reach(batch[0].root, batch),
            Paths::One => search.run(batch[0].root, batch),
        }
        for job in batch {
            let start = count(hops.len())?;
            let (source, destination) = pairs[job.pair as usize];
            is_unreachable[job.pair as usize] = !search.is_reached(job.far);
            if source != destination && search.is_reached(job.far) {
                hops.extend(topology.is_leaf(source).then_some(0));
                append(&mut search, job, &mut hops);
                hops.extend(topology.is_leaf(destination).then(|| topology.interface_to_leaf(destination)));
            }
            bounds[job.pair as usize] = (start, count(hops.len())?);
        }
    }
    let route_of_flow = (0..count(pairs.len())?).collect();
    Ok((Routes::in_order(&hops, &bounds, route_of_flow), is_unreachable))
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
