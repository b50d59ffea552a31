//! Networks for tests of routes, and the definition of shortest paths by the table of all distances.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::time::Delay;
use parades_topology::routing::Metric;
use parades_topology::{Link, LinkId, NodeId, Topology};
use proptest::prelude::*;

/// Cost, then hops; `None` where there is no path.
pub(crate) type Distances = Vec<Vec<Option<(u64, u32)>>>;

pub(crate) fn network(nodes: u32, links: &[(u32, u32, u64)]) -> Topology {
    one_way_network(nodes, links, Vec::new())
}

pub(crate) fn one_way_network(nodes: u32, links: &[(u32, u32, u64)], one_way: Vec<LinkId>) -> Topology {
    let names: Vec<String> = (0..nodes).map(|node| format!("n{node}")).collect();
    let link = |&(a, b, us)| Link { a: NodeId(a), b: NodeId(b), rate_bps: 1, delay: Delay::from_us(us) };
    Topology::with_one_way(&names, links.iter().map(link).collect(), one_way).expect("the links are possible")
}

pub(crate) fn cost(topology: &Topology, link: LinkId, metric: Metric) -> u64 {
    metric.cost(topology.link(link).delay)
}

pub(crate) fn all_distances(topology: &Topology, metric: Metric) -> Distances {
    distances_without(topology, metric, &[])
}

/// Floyd and Warshall's algorithm, on the links that are not `down`.
pub(crate) fn distances_without(topology: &Topology, metric: Metric, down: &[LinkId]) -> Distances {
    let nodes = topology.nodes();
    let mut distances: Distances = vec![vec![None; nodes]; nodes];
    let lower = |slot: &mut Option<(u64, u32)>, to: (u64, u32)| *slot = Some(slot.map_or(to, |old| old.min(to)));
    for node in topology.node_ids() {
        lower(&mut distances[node.index()][node.index()], (0, 0));
        for i in topology.interfaces(node).iter().filter(|i| !down.contains(&i.link)) {
            lower(&mut distances[node.index()][i.neighbour.index()], (cost(topology, i.link, metric), 1));
        }
    }
    for via in 0..nodes {
        for from in 0..nodes {
            for to in 0..nodes {
                if let (Some(a), Some(b)) = (distances[from][via], distances[via][to]) {
                    lower(&mut distances[from][to], (a.0 + b.0, a.1 + b.1));
                }
            }
        }
    }
    distances
}

/// The interfaces by which shortest paths lead on from a node, on the links that are not `down`, in order.
pub(crate) fn next_hops(
    topology: &Topology,
    distances: &Distances,
    metric: Metric,
    down: &[LinkId],
    at: NodeId,
    to: NodeId,
) -> Vec<u32> {
    let left = |node: NodeId| distances[node.index()][to.index()];
    let is_nearer = |i: &parades_topology::Interface| {
        let beyond = |rest: (u64, u32)| (rest.0 + cost(topology, i.link, metric), rest.1 + 1);
        !down.contains(&i.link) && left(at).is_some() && left(i.neighbour).map(beyond) == left(at)
    };
    let numbered = (0..).zip(topology.interfaces(at));
    numbered.filter(|(_, interface)| is_nearer(interface)).map(|(number, _)| number).collect()
}

/// The one path of the definition: at each node the first next hop by neighbour, then by link.
pub(crate) fn expected(
    topology: &Topology,
    distances: &Distances,
    metric: Metric,
    down: &[LinkId],
    ends: (NodeId, NodeId),
) -> Option<Vec<u32>> {
    expected_by(topology, distances, metric, down, ends, |at, choices| {
        let interfaces = topology.interfaces(at);
        choices.iter().copied().min_by_key(|&number| interfaces[number as usize]).unwrap()
    })
}

/// The path that takes at each node the next hop that `choose` selects.
pub(crate) fn expected_by(
    topology: &Topology,
    distances: &Distances,
    metric: Metric,
    down: &[LinkId],
    (from, to): (NodeId, NodeId),
    choose: impl Fn(NodeId, &[u32]) -> u32,
) -> Option<Vec<u32>> {
    distances[from.index()][to.index()]?;
    let (mut at, mut route) = (from, Vec::new());
    while at != to {
        let number = choose(at, &next_hops(topology, distances, metric, down, at, to));
        route.push(number);
        at = topology.interfaces(at)[number as usize].neighbour;
    }
    Some(route)
}

/// The links whose bits are set.
pub(crate) fn chosen_links(topology: &Topology, bits: u32) -> Vec<LinkId> {
    (0..u32::try_from(topology.links().len()).unwrap()).filter(|link| bits >> link & 1 == 1).map(LinkId).collect()
}

/// The same network with one-way links.
pub(crate) fn with_one_way(topology: &Topology, one_way: Vec<LinkId>) -> Topology {
    let names: Vec<&str> = topology.node_ids().map(|node| topology.name(node)).collect();
    Topology::with_one_way(&names, topology.links().to_vec(), one_way).unwrap()
}

/// All pairs of nodes.
pub(crate) fn all_pairs(topology: &Topology) -> Vec<(NodeId, NodeId)> {
    topology.node_ids().flat_map(|a| topology.node_ids().map(move |b| (a, b))).collect()
}

/// Links with few different delays, zero among them, so that ties abound; and few enough that leaves and
/// parts do too.
pub(crate) fn networks() -> impl Strategy<Value = Topology> {
    (2_u32..12).prop_flat_map(|nodes| {
        proptest::collection::vec((0..nodes, 0..nodes - 1, 0_u64..3), 0..24).prop_map(move |links| {
            let links: Vec<_> = links.into_iter().map(|(a, b, us)| (a, if b >= a { b + 1 } else { b }, us)).collect();
            network(nodes, &links)
        })
    })
}
