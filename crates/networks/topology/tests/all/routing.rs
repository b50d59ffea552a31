//! Routes are shortest paths, the one path of their definition, whatever other flows are asked for.

use crate::common::{all_distances, chosen_links, cost, distances_without, expected, network, networks, with_one_way};
use parades_core::time::Delay;
use parades_topology::NodeId;
use parades_topology::routing::{Metric, NextHops, Paths, Routes, RoutingError, Rules, StaticRoutes};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_route_is_the_one_of_the_definition(topology in networks(), by_delay in any::<bool>(), order in any::<u64>()) {
        let metric = if by_delay { Metric::Delay } else { Metric::Hops };
        let distances = all_distances(&topology, metric);
        let pairs = topology.node_ids().flat_map(|a| topology.node_ids().map(move |b| (a, b)));
        let mut flows: Vec<_> = pairs.filter(|&(a, b)| distances[a.index()][b.index()].is_some()).collect();
        let wanted = |&(a, b): &(NodeId, NodeId)| expected(&topology, &distances, metric, &[], (a, b)).unwrap();

        // All pairs; then a part of them in another order, each twice, so that other roots are chosen; then
        // one by one.
        let all = Routes::for_flows(&topology, &flows, metric).unwrap();
        for (flow, pair) in flows.iter().enumerate() {
            prop_assert_eq!(all.route(flow), wanted(pair), "{:?} of {:?}", pair, topology);
        }
        let turn = usize::try_from(order % flows.len() as u64).unwrap();
        flows.rotate_left(turn);
        flows.truncate(1 + usize::try_from((order >> 32) % 9).unwrap());
        flows.extend_from_within(..);
        let some = Routes::for_flows(&topology, &flows, metric).unwrap();
        for (flow, pair) in flows.iter().enumerate() {
            prop_assert_eq!(some.route(flow), wanted(pair));
            let one = Routes::for_flows(&topology, &[*pair], metric).unwrap();
            prop_assert_eq!(one.route(0), wanted(pair));
            let end = topology.follow(pair.0, one.route(0)).last().map_or(pair.0, |interface| interface.neighbour);
            prop_assert_eq!(end, pair.1);
            if by_delay {
                let delay = Delay::from_ps(distances[pair.0.index()][pair.1.index()].unwrap().0);
                prop_assert_eq!(some.delay(&topology, flow, pair.0), delay);
            }
        }
    }

    #[test]
    fn routes_and_tables_agree_with_the_definition_where_links_are_one_way(
        topology in networks(),
        bits in any::<u32>(),
        by_delay in any::<bool>(),
    ) {
        let metric = if by_delay { Metric::Delay } else { Metric::Hops };
        let topology = with_one_way(&topology, chosen_links(&topology, bits));
        let distances = all_distances(&topology, metric);
        for pair in topology.node_ids().flat_map(|a| topology.node_ids().map(move |b| (a, b))) {
            let wanted = expected(&topology, &distances, metric, &[], pair);
            let found = Routes::for_flows(&topology, &[(pair.0, pair.0), pair], metric);
            match (&wanted, &found) {
                (Some(route), Ok(routes)) => prop_assert_eq!(routes.route(1), route),
                (None, Err(RoutingError::Unreachable { flow, .. })) => prop_assert_eq!(*flow, 1),
                _ => prop_assert!(false, "{:?} {:?} of {:?}", wanted, found, topology),
            }
        }
    }

    #[test]
    fn tables_lead_along_the_path_of_the_definition_while_links_are_down(
        topology in networks(),
        one_way in any::<u32>(),
        down in any::<u32>(),
        by_delay in any::<bool>(),
    ) {
        let metric = if by_delay { Metric::Delay } else { Metric::Hops };
        let down = chosen_links(&topology, down & down >> 1);
        let topology = with_one_way(&topology, chosen_links(&topology, one_way & one_way >> 1));
        let statics = StaticRoutes::default();
        let next_hops = NextHops::new(&topology, topology.node_ids(), &statics);
        let rules = Rules { metric, paths: Paths::One, statics: &statics };
        let cost = |link| (!down.contains(&link)).then(|| cost(&topology, link, metric));
        let table = next_hops.table(&topology, rules, cost).unwrap();
        let distances = distances_without(&topology, metric, &down);
        for (from, to) in topology.node_ids().flat_map(|a| topology.node_ids().map(move |b| (a, b))) {
            let destination = next_hops.destination(to).unwrap();
            let (mut at, mut route) = (from, Vec::new());
            // A leaf whose link is down still has its port: the packet is lost there.
            let leads = expected(&topology, &distances, metric, &down, (from, to));
            while let Some(wanted) = &leads && at != to {
                let number = next_hops.interface(&table, at, &destination, 0).unwrap();
                route.push(number);
                prop_assert!(route.len() <= wanted.len(), "{:?} to {:?} of {:?}", from, to, topology);
                at = topology.interfaces(at)[number as usize].neighbour;
            }
            prop_assert_eq!(route, leads.clone().unwrap_or_default());
            let is_inner = |node| !topology.is_leaf(node);
            if is_inner(from) && is_inner(to) {
                prop_assert_eq!(next_hops.is_reachable(&topology, &table, from, &destination), leads.is_some());
            }
        }
    }

    #[test]
    fn flows_between_parts_are_refused_and_the_first_is_named(topology in networks()) {
        let parts = topology.parts();
        let flows: Vec<_> = topology.node_ids().map(|node| (NodeId(0), node)).collect();
        let cut_off = parts.iter().position(|&part| part != 0);
        match (Routes::for_flows(&topology, &flows, Metric::Hops), cut_off) {
            (Ok(routes), None) => prop_assert_eq!(routes.flows(), flows.len()),
            (Err(RoutingError::Unreachable { flow, source_name, destination }), Some(node)) => {
                prop_assert_eq!((flow, source_name, destination), (node, "n0".to_owned(), format!("n{node}")));
            }
            (result, _) => prop_assert!(false, "{:?} for parts {:?}", result, parts),
        }
    }
}

#[test]
fn leaves_reach_their_neighbour_each_other_and_all_the_rest() {
    // Leaves 0 and 4 at node 2, leaf 5 at node 3; 2 and 3 joined twice; 6 and 7 have only each other.
    let topology = network(8, &[(0, 2, 1), (2, 3, 1), (3, 2, 1), (4, 2, 1), (3, 5, 1), (6, 7, 1)]);
    let flows = [(0, 2), (0, 4), (0, 5), (5, 0), (2, 4), (6, 7), (7, 7), (3, 3)].map(|(a, b)| (NodeId(a), NodeId(b)));
    for metric in [Metric::Hops, Metric::Delay] {
        let routes = Routes::for_flows(&topology, &flows, metric).unwrap();
        let all: Vec<&[u32]> = (0..flows.len()).map(|flow| routes.route(flow)).collect();
        // Interfaces of node 2: to node 3 twice, then to the leaves 0 and 4.
        assert_eq!(all, [&[0_u32] as &[u32], &[0, 3], &[0, 0, 2], &[0, 0, 2], &[3], &[0], &[], &[]]);
    }
}

#[test]
fn a_flow_to_nowhere_names_itself() {
    let topology = network(3, &[(0, 1, 1)]);
    let refused = |flows: &[(u32, u32)]| {
        let flows: Vec<_> = flows.iter().map(|&(a, b)| (NodeId(a), NodeId(b))).collect();
        Routes::for_flows(&topology, &flows, Metric::Delay).unwrap_err().to_string()
    };
    assert_eq!(refused(&[(0, 1), (9, 1)]), "flow 1 has an end at node 9, but the nodes are numbered from 0 to 2");
    assert_eq!(refused(&[(0, 1), (1, 0), (1, 2)]), "there is no path from `n1` to `n2`, the ends of flow 2");
}

/// A hundred campuses of 538 nodes, as in the networks that source routes were first measured on: 30 routers,
/// 4 servers and 504 hosts each, and a ring of campuses, with 100,800 flows from the servers to hosts and
/// back.
#[test]
fn the_routes_of_a_hundred_campuses_take_a_few_megabytes() {
    const CAMPUS: u32 = 538;
    let mut links = Vec::new();
    for base in (0..100).map(|campus| campus * CAMPUS) {
        links.extend(
            (0..30).flat_map(|i| [(base + i, base + (i + 1) % 30, 1000), (base + i, base + (i + 7) % 30, 1000)]),
        );
        links.extend((30..34).map(|server| (base + server, base + server % 2, 10)));
        links.extend((34..CAMPUS).map(|host| (base + host, base + 5 + host % 12, 10)));
        links.push((base, (base + CAMPUS) % (100 * CAMPUS), 200_000));
    }
    let topology = network(100 * CAMPUS, &links);
    assert_eq!(topology.connected(), Ok(()));
    let mut flows = Vec::new();
    for flow in 0..50_400 {
        let server = NodeId(flow % 100 * CAMPUS + 30 + flow / 100 % 4);
        let host = NodeId((flow * 37 + 11) % 100 * CAMPUS + 34 + flow % 504);
        flows.extend([(server, host), (host, server)]);
    }
    let routes = Routes::for_flows(&topology, &flows, Metric::Delay).unwrap();
    assert!(routes.bytes() < 12_000_000, "the routes take {} bytes", routes.bytes());
    for (flow, &(from, to)) in flows.iter().enumerate().step_by(97) {
        assert_eq!(topology.follow(from, routes.route(flow)).last().map(|interface| interface.neighbour), Some(to));
        assert_eq!(
            routes.delay(&topology, flow, from),
            routes.delay(&topology, flow ^ 1, to),
            "there and back cost the same"
        );
    }
}
