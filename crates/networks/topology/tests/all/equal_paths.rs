//! Flows spread over equally short paths, by the hash of the flow and the node.

use crate::common::{
    all_distances, all_pairs, chosen_links, cost, distances_without, expected_by, network, networks, with_one_way,
};
use parades_core::time::Delay;
use parades_topology::generators::Shape;
use parades_topology::routing::{Metric, NextHops, Paths, Routes, Rules, StaticRoutes, choose};
use parades_topology::{Link, LinkId, NodeId, Topology};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn all_paths(metric: Metric, statics: &StaticRoutes) -> Rules<'_> {
    Rules { metric, paths: Paths::All, statics }
}

fn routes(topology: &Topology, flows: &[(NodeId, NodeId)], metric: Metric) -> Routes {
    let names: Vec<u32> = (0..).take(flows.len()).collect();
    Routes::by_rules(topology, flows, &names, all_paths(metric, &StaticRoutes::default())).expect("there are paths")
}

/// The choice of a flow at a node.
fn hashed(flow: u32) -> impl Fn(NodeId, &[u32]) -> u32 {
    move |at, choices| choices[choose(flow, at, u32::try_from(choices.len()).expect("a small network")) as usize]
}

/// The number of flows on each direction of each link: of the link, and from its end `a`.
fn loads(topology: &Topology, flows: &[(NodeId, NodeId)], routes: &Routes) -> BTreeMap<(LinkId, bool), u32> {
    let mut loads = BTreeMap::new();
    for (flow, &(source, _)) in flows.iter().enumerate() {
        for interface in topology.follow(source, routes.route(flow)) {
            let link = topology.link(interface.link);
            *loads.entry((interface.link, link.b == interface.neighbour)).or_insert(0) += 1;
        }
    }
    loads
}

/// Checks that a count of `draws` draws of probability `share` is within 4.5 standard deviations.
fn assert_binomial(count: u32, draws: u32, share: f64) {
    let mean = f64::from(draws) * share;
    let deviation = (mean * (1.0 - share)).sqrt();
    assert!((f64::from(count) - mean).abs() < 4.5 * deviation, "{count} of {draws}, but {mean} expected");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_route_is_a_shortest_path_and_the_one_that_the_hash_selects(
        topology in networks(),
        one_way in any::<u32>(),
        by_delay in any::<bool>(),
        first in any::<u32>(),
        order in any::<u64>(),
    ) {
        let metric = if by_delay { Metric::Delay } else { Metric::Hops };
        let topology = with_one_way(&topology, chosen_links(&topology, one_way & one_way >> 1 & one_way >> 2));
        let distances = all_distances(&topology, metric);
        let mut flows = all_pairs(&topology);
        flows.retain(|&(a, b)| distances[a.index()][b.index()].is_some());
        let none = StaticRoutes::default();
        // All pairs, then a part of them in another order, so that other roots are chosen.
        for _ in 0..2 {
            let names: Vec<u32> = (0..).take(flows.len()).map(|flow: u32| flow.wrapping_add(first)).collect();
            let found = Routes::by_rules(&topology, &flows, &names, all_paths(metric, &none)).unwrap();
            for ((flow, &pair), &name) in flows.iter().enumerate().zip(&names) {
                let wanted = expected_by(&topology, &distances, metric, &[], pair, hashed(name)).unwrap();
                prop_assert_eq!(found.route(flow), &wanted[..], "{:?} of {:?}", pair, topology);
                let costs = topology.follow(pair.0, found.route(flow)).map(|end| cost(&topology, end.link, metric));
                let length = (costs.sum::<u64>(), u32::try_from(wanted.len()).unwrap());
                prop_assert_eq!(Some(length), distances[pair.0.index()][pair.1.index()]);
            }
            let turn = usize::try_from(order % flows.len() as u64).unwrap();
            flows.rotate_left(turn);
            flows.truncate(1 + usize::try_from((order >> 32) % 9).unwrap());
        }
    }

    #[test]
    fn tables_make_the_choices_of_routes_while_links_are_down(
        topology in networks(),
        down in any::<u32>(),
        by_delay in any::<bool>(),
        flow in any::<u32>(),
    ) {
        let metric = if by_delay { Metric::Delay } else { Metric::Hops };
        let down = chosen_links(&topology, down & down >> 1);
        let none = StaticRoutes::default();
        let next_hops = NextHops::new(&topology, topology.node_ids(), &none);
        let cost = |link| (!down.contains(&link)).then(|| cost(&topology, link, metric));
        let table = next_hops.table(&topology, all_paths(metric, &none), cost).unwrap();
        let distances = distances_without(&topology, metric, &down);
        for (from, to) in all_pairs(&topology) {
            let wanted = expected_by(&topology, &distances, metric, &down, (from, to), hashed(flow));
            let destination = next_hops.destination(to).unwrap();
            let (mut at, mut route) = (from, Vec::new());
            while let Some(wanted) = &wanted && at != to {
                let number = next_hops.interface(&table, at, &destination, flow).unwrap();
                route.push(number);
                prop_assert!(route.len() <= wanted.len(), "{:?} to {:?} of {:?}", from, to, topology);
                at = topology.interfaces(at)[number as usize].neighbour;
            }
            prop_assert_eq!(route, wanted.unwrap_or_default());
        }
    }
}

#[test]
fn equal_paths_share_flows_within_binomial_bounds() {
    // From 0 to 9 over eight nodes between them.
    const FLOWS: u32 = 8000;
    let links: Vec<(u32, u32, u64)> = (1..9).flat_map(|middle| [(0, middle, 1), (middle, 9, 1)]).collect();
    let topology = network(10, &links);
    let flows = vec![(NodeId(0), NodeId(9)); FLOWS as usize];
    for metric in [Metric::Hops, Metric::Delay] {
        let loads = loads(&topology, &flows, &routes(&topology, &flows, metric));
        assert_eq!(loads.len(), 16, "all links carry flows");
        loads.values().for_each(|&flows| assert_binomial(flows, FLOWS, 1.0 / 8.0));
    }
}

#[test]
fn parallel_links_all_carry_flows_and_a_longer_one_none() {
    // Three parallel links of 5 µs and one of 6 µs, in the middle of a line.
    let topology = network(4, &[(0, 1, 1), (1, 2, 5), (2, 1, 5), (1, 2, 5), (1, 2, 6), (2, 3, 1)]);
    let flows = vec![(NodeId(0), NodeId(3)); 900];
    let loads = |metric| loads(&topology, &flows, &routes(&topology, &flows, metric));
    let by_delay = loads(Metric::Delay);
    (1..4).for_each(|link| assert_binomial(by_delay[&(LinkId(link), link != 2)], 900, 1.0 / 3.0));
    assert_eq!(by_delay.get(&(LinkId(4), true)), None);
    let by_hops = loads(Metric::Hops);
    (1..5).for_each(|link| assert_binomial(by_hops[&(LinkId(link), link != 2)], 900, 1.0 / 4.0));
}

#[test]
fn choices_at_two_nodes_and_of_both_directions_are_independent() {
    let mut counts = [0; 4];
    for flow in 0..10_000_u32 {
        counts[(choose(flow, NodeId(3), 2) * 2 + choose(flow, NodeId(4), 2)) as usize] += 1;
    }
    counts.iter().for_each(|&count| assert_binomial(count, 10_000, 0.25));
    let differ = (0..10_000).filter(|&flow| choose(2 * flow, NodeId(3), 2) != choose(2 * flow + 1, NodeId(3), 2));
    assert_binomial(u32::try_from(differ.count()).expect("few"), 10_000, 0.5);
}

/// A fat tree of equal links.
fn fat_tree(arity: u32) -> Topology {
    let shape = Shape::FatTree { arity };
    let link = |(a, b, _)| Link { a: NodeId(a), b: NodeId(b), rate_bps: 1, delay: Delay::from_us(1) };
    Topology::new(&shape.names().collect::<Vec<_>>(), shape.links().map(link).collect()).expect("a fat tree")
}

/// A fat tree has (k/2)^2 core switches. A flow between pods crosses one of them, and no other choice is made
/// on its path. Its choices are at the edge switch and at the aggregation switch, one of k/2 each. If both
/// were made by one hash of the flow, only k/2 of the core switches would carry flows.
#[test]
fn a_permutation_on_a_fat_tree_uses_all_core_switches_evenly() {
    const ARITY: u32 = 8;
    const CORES: u32 = ARITY * ARITY / 4;
    let topology = fat_tree(ARITY);
    let hosts: Vec<NodeId> = topology.node_ids().filter(|&node| topology.is_leaf(node)).collect();
    assert_eq!(hosts.len(), 128);
    let mut on_core = vec![0; CORES as usize];
    let mut idle_links = 0;
    // Each host sends to the host that is a fixed distance further: by all distances to other pods.
    for distance in 16..=112 {
        let flows: Vec<_> = (0..128).map(|host| (hosts[host], hosts[(host + distance) % 128])).collect();
        let names: Vec<u32> = (0..128).map(|host| u32::try_from(distance * 128 + host).expect("few")).collect();
        let none = StaticRoutes::default();
        let routes = Routes::by_rules(&topology, &flows, &names, all_paths(Metric::Hops, &none)).expect("a tree");
        let mut used = vec![0; CORES as usize];
        let mut links = BTreeSet::new();
        for (flow, &(source, _)) in flows.iter().enumerate() {
            assert_eq!(routes.route(flow).len(), 6);
            let core = topology.follow(source, routes.route(flow)).find(|end| end.neighbour.0 < CORES);
            let core = core.expect("a flow between pods");
            used[core.neighbour.index()] += 1;
            links.insert(core.link);
        }
        idle_links += 128 - u32::try_from(links.len()).expect("few links");
        // 128 flows leave one of 16 switches idle with probability 16 (15/16)^128 = 0.004.
        let idle = used.iter().filter(|&&flows| flows == 0).count();
        assert!(idle <= 1, "{idle} core switches carry no flow at distance {distance}");
        on_core.iter_mut().zip(used).for_each(|(all, more)| *all += more);
    }
    // A pod sends 16 flows over its 16 links to core switches, so a link is idle with probability (15/16)^16.
    let share = (15.0_f64 / 16.0).powi(16);
    assert_binomial(idle_links, 97 * 128, share);
    on_core.iter().for_each(|&flows| assert_binomial(flows, 97 * 128, 1.0 / f64::from(CORES)));
}
