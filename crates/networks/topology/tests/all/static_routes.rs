//! Static routes replace shortest paths at their nodes.

use crate::common::{self, all_distances, all_pairs, cost, distances_without, network, networks, next_hops};
use parades_topology::routing::{Metric, NextHops, Paths, Routes, RoutingError, Rules, StaticRoutes, choose};
use parades_topology::{LinkId, NodeId, Topology};
use proptest::prelude::*;

fn interface_to(topology: &Topology, at: u32, neighbour: u32) -> u32 {
    let interfaces = topology.interfaces(NodeId(at));
    let place = interfaces.iter().position(|end| end.neighbour == NodeId(neighbour)).expect("a neighbour");
    u32::try_from(place).expect("few interfaces")
}

/// Static routes, each from a node via a neighbour to a destination.
fn statics(topology: &Topology, routes: &[(u32, u32, u32)]) -> StaticRoutes {
    let mut statics = StaticRoutes::default();
    for &(at, via, to) in routes {
        statics.add(NodeId(at), NodeId(to), vec![interface_to(topology, at, via)]);
    }
    statics
}

/// The nodes on the path of a flow, the source not included.
fn path(topology: &Topology, statics: &StaticRoutes, ends: (u32, u32)) -> Result<Vec<u32>, RoutingError> {
    let rules = Rules { metric: Metric::Hops, paths: Paths::All, statics };
    let ends = (NodeId(ends.0), NodeId(ends.1));
    let routes = Routes::by_rules(topology, &[ends], &[0], rules)?;
    Ok(topology.follow(ends.0, routes.route(0)).map(|end| end.neighbour.0).collect())
}

/// A ring of five nodes, with the leaves 5 at node 0 and 6 at node 2.
fn ring() -> Topology {
    network(7, &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 0, 1), (5, 0, 1), (6, 2, 1)])
}

/// All nodes look up their entries for a destination of static routes, and the leaf's neighbour has none for
/// itself.
#[test]
fn a_leaf_reaches_its_neighbour_also_if_a_static_route_leads_there() {
    let topology = ring();
    let statics = statics(&topology, &[(2, 3, 0)]);
    let rules = Rules { metric: Metric::Hops, paths: Paths::All, statics: &statics };
    let next_hops = NextHops::new(&topology, topology.node_ids(), &statics);
    let table = next_hops.table(&topology, rules, |_| Some(0)).expect("no route leads into a loop");
    let to = next_hops.destination(NodeId(0)).expect("it is a destination");
    for node in topology.node_ids() {
        assert!(next_hops.is_reachable(&topology, &table, node, &to), "{node:?}");
    }
}

#[test]
fn a_static_route_leads_along_another_path_and_only_to_its_destination() {
    let topology = ring();
    let around = statics(&topology, &[(0, 4, 6), (4, 3, 6)]);
    assert_eq!(path(&topology, &around, (5, 6)), Ok(vec![0, 4, 3, 2, 6]));
    assert_eq!(path(&topology, &around, (1, 6)), Ok(vec![2, 6]));
    assert_eq!(path(&topology, &around, (5, 2)), Ok(vec![0, 1, 2]), "no route to the neighbour of a leaf");
    assert_eq!(path(&topology, &around, (6, 5)), Ok(vec![2, 1, 0, 5]), "no route back");
}

#[test]
fn a_later_static_route_replaces_an_earlier_one() {
    let topology = ring();
    let mut twice = statics(&topology, &[(0, 4, 2), (0, 1, 2)]);
    assert_eq!(path(&topology, &twice, (0, 2)), Ok(vec![1, 2]));
    twice.add(NodeId(0), NodeId(2), vec![interface_to(&topology, 0, 4)]);
    assert_eq!(path(&topology, &twice, (0, 2)), Ok(vec![4, 3, 2]));
}

#[test]
fn a_loop_and_a_dead_end_are_refused_in_a_sentence() {
    let topology = ring();
    let refused = |routes: &[(u32, u32, u32)], ends| {
        path(&topology, &statics(&topology, routes), ends).expect_err("it leads nowhere").to_string()
    };
    // Node 4 is nearer to node 1 by node 0, which sends packets back.
    assert_eq!(refused(&[(0, 4, 1)], (0, 1)), "the static routes to `n1` lead in a loop: `n0`, `n4`, `n0`");
    assert_eq!(refused(&[(0, 5, 1)], (0, 1)), "the static routes to `n1` lead in a loop: `n0`, `n5`, `n0`");
    // From node 1, which sends one way only, no path leads on.
    let topology = common::one_way_network(4, &[(0, 1, 1), (0, 2, 1), (2, 3, 1)], vec![LinkId(0)]);
    let refused = path(&topology, &statics(&topology, &[(0, 1, 3)]), (0, 3)).expect_err("it leads nowhere");
    assert_eq!(refused.to_string(), "the static route at `n0` to `n3` leads to `n1`, from which no path leads on");
}

#[test]
fn a_static_route_whose_link_is_down_does_not_count() {
    let topology = ring();
    let around = statics(&topology, &[(0, 4, 2), (4, 3, 2)]);
    let next_hops = NextHops::new(&topology, topology.node_ids(), &around);
    let rules = Rules { metric: Metric::Hops, paths: Paths::All, statics: &around };
    let destination = next_hops.destination(NodeId(2)).expect("a destination");
    for (down, first) in [(None, 4), (Some(LinkId(4)), 1)] {
        let table = next_hops.table(&topology, rules, |link| (Some(link) != down).then_some(0)).expect("no loop");
        let interface = next_hops.interface(&table, NodeId(0), &destination, 0).expect("there is a path");
        assert_eq!(topology.interfaces(NodeId(0))[interface as usize].neighbour, NodeId(first));
    }
}

/// The path by the definition: static routes first, then next hops of shortest paths. `None` if it has more
/// hops than there are nodes, or ends elsewhere.
fn by_definition(
    topology: &Topology,
    statics: &StaticRoutes,
    flow: u32,
    shortest: impl Fn(NodeId) -> Vec<u32>,
    (from, to): (NodeId, NodeId),
) -> Option<Vec<u32>> {
    let (mut at, mut route) = (from, Vec::new());
    while at != to {
        let given = statics.to(to).and_then(|given| given.get(&at)).map(|given| given.to_vec());
        let choices = given.unwrap_or_else(|| shortest(at));
        let choice = choose(flow, at, u32::try_from(choices.len()).expect("few"));
        route.push(*choices.get(choice as usize)?);
        at = topology.interfaces(at)[*route.last()? as usize].neighbour;
        if route.len() > topology.nodes() {
            return None;
        }
    }
    Some(route)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn routes_and_tables_follow_static_routes_or_refuse_a_loop(
        topology in networks(),
        given in proptest::collection::vec((any::<u32>(), any::<u32>(), any::<u32>()), 1..6),
        flow in any::<u32>(),
    ) {
        let nodes = u32::try_from(topology.nodes()).unwrap();
        let mut statics = StaticRoutes::default();
        for (at, interface, to) in given {
            let (at, to) = (NodeId(at % nodes), NodeId(to % nodes));
            let count = u32::try_from(topology.interfaces(at).len()).unwrap();
            if count > 0 && at != to {
                statics.add(at, to, vec![interface % count]);
            }
        }
        let metric = Metric::Delay;
        let distances = all_distances(&topology, metric);
        let rules = Rules { metric, paths: Paths::All, statics: &statics };
        let whole = NextHops::new(&topology, topology.node_ids(), &statics);
        let table = whole.table(&topology, rules, |link| Some(cost(&topology, link, metric)));
        for pair in all_pairs(&topology).into_iter().filter(|&(a, b)| distances[a.index()][b.index()].is_some()) {
            let shortest = |at| next_hops(&topology, &distances, metric, &[], at, pair.1);
            let wanted = by_definition(&topology, &statics, flow, shortest, pair);
            let found = Routes::by_rules(&topology, &[pair], &[flow], rules);
            if let Ok(found) = &found {
                prop_assert_eq!(Some(found.route(0)), wanted.as_deref());
            }
            // A flow is refused only for static routes to its destination.
            prop_assert!(wanted.is_none() <= found.is_err());
            prop_assert!(found.is_ok() || statics.to(pair.1).is_some());
            let (Ok(table), Some(wanted)) = (&table, &wanted) else { continue };
            let destination = whole.destination(pair.1).unwrap();
            let mut at = pair.0;
            for &number in wanted {
                prop_assert_eq!(whole.interface(table, at, &destination, flow), Some(number));
                at = topology.interfaces(at)[number as usize].neighbour;
            }
        }
        // Some node is in a loop, or leads nowhere, where the table is refused.
        if table.is_err() {
            let leads_nowhere = all_pairs(&topology).into_iter().any(|pair| {
                let shortest = |at| next_hops(&topology, &distances, metric, &[], at, pair.1);
                (0..64).any(|flow| by_definition(&topology, &statics, flow, shortest, pair).is_none())
            });
            prop_assert!(leads_nowhere);
        }
    }

    #[test]
    fn static_routes_that_are_down_leave_the_shortest_paths(topology in networks(), flow in any::<u32>()) {
        let mut statics = StaticRoutes::default();
        let down = [LinkId(0)];
        let Some(link) = topology.links().first() else { return Ok(()) };
        let number = (0..).zip(topology.interfaces(link.a)).find(|(_, end)| end.link == LinkId(0)).unwrap().0;
        topology.node_ids().filter(|&to| to != link.a).for_each(|to| statics.add(link.a, to, vec![number]));
        let (metric, none) = (Metric::Hops, StaticRoutes::default());
        let table = |statics: &StaticRoutes| {
            let next_hops = NextHops::new(&topology, topology.node_ids(), statics);
            let rules = Rules { metric, paths: Paths::All, statics };
            let table = next_hops.table(&topology, rules, |link| (!down.contains(&link)).then_some(0)).unwrap();
            (next_hops, table)
        };
        let ((with, given), (without, plain)) = (table(&statics), table(&none));
        let distances = distances_without(&topology, metric, &down);
        for (from, to) in all_pairs(&topology).into_iter().filter(|&(a, b)| a != b && distances[a.index()][b.index()].is_some()) {
            let of = |hops: &NextHops, table| hops.interface(table, from, &hops.destination(to).unwrap(), flow);
            prop_assert_eq!(of(&with, &given), of(&without, &plain));
        }
    }
}
