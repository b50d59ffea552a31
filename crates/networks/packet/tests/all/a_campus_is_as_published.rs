//! The campus scenario: its nodes, links and flows, counted, and its runs, to the byte.

use parades_core::metrics::Cell;
use parades_core::prelude::*;
use parades_packet::campus::Parameters;
use parades_packet::network::Network;
use parades_topology::routing::{Metric, Paths, Routes};
use std::collections::BTreeMap;

fn network(networks: u32) -> Network {
    Parameters { networks, ..Parameters::default() }.network(1).expect("the published parameters")
}

fn run(network: &Network) -> Outcome {
    let end = Time::try_from_secs_f64(100.0).expect("a time");
    parades_engine::sequential::run(network, RunOptions::until(end)).expect("it runs")
}

fn count(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("a counter")
}

#[test]
fn nodes_and_links_are_counted_by_kind() {
    for (networks, ring) in [(1, 0), (2, 2), (3, 3), (10, 10)] {
        let network = network(networks);
        let topology = network.topology();
        assert_eq!(topology.nodes(), 538 * networks as usize);
        assert_eq!(topology.connected(), Ok(()));
        let mut kinds = BTreeMap::new();
        for link in topology.links() {
            *kinds.entry((link.rate_bps, link.delay)).or_insert(0) += 1;
        }
        let campuses = networks as usize;
        assert_eq!(kinds.get(&(1_000_000_000, Delay::from_ms(5))), Some(&(39 * campuses)));
        assert_eq!(kinds.get(&(100_000_000, Delay::from_ms(1))), Some(&(504 * campuses)));
        assert_eq!(kinds.get(&(2_000_000_000, Delay::from_ms(200))).copied().unwrap_or(0), ring);
    }
}

#[test]
fn degrees_are_those_of_the_drawing() {
    let network = network(2);
    let topology = network.topology();
    let degree = |node: u32| topology.interfaces(parades_topology::NodeId(node)).len();
    // Net0: 0 has 1, 2, LR0 and the ring twice; 1 has 0, 2, LR1; 2 has 0, 1, Net1.0.
    assert_eq!([0, 1, 2].map(degree), [5, 3, 3]);
    // Net1, its servers with one link each.
    assert_eq!([3, 4, 5, 6, 7, 8].map(degree), [4, 3, 1, 1, 1, 1]);
    assert_eq!([9, 10].map(degree), [3, 5]);
    let net2: Vec<usize> = (11..25).map(degree).collect();
    assert_eq!(net2, [3, 3, 4, 4, 2, 3, 4, 43, 43, 43, 43, 43, 43, 43]);
    let net3: Vec<usize> = (25..34).map(degree).collect();
    assert_eq!(net3, [4, 4, 3, 4, 43, 43, 43, 43, 43]);
    assert!((34..538).all(|host| degree(host) == 1));
    assert_eq!(topology.name(parades_topology::NodeId(538 + 7)), "1.net1.4");
}

#[test]
fn hosts_are_served_by_the_next_campus() {
    let network = network(3);
    assert_eq!(network.flows().len(), 3 * 504);
    let mut of_server = BTreeMap::new();
    for (number, flow) in (0_u32..).zip(network.flows()) {
        let campus = number / 504;
        assert_eq!(flow.destination.0, campus * 538 + 34 + number % 504);
        let server = flow.source.0.checked_sub((campus + 1) % 3 * 538 + 3).expect("a node of the next Net1");
        assert!((2..6).contains(&server), "{server} is no server");
        assert!(flow.start < Time::try_from_secs_f64(10.0).expect("a time"));
        *of_server.entry(flow.source).or_insert(0) += 1;
    }
    assert_eq!(of_server.len(), 12);
    assert!(of_server.values().all(|flows| (80..180).contains(flows)), "{of_server:?}");
}

#[test]
fn all_flows_complete_to_the_byte_and_no_faster_than_light() {
    for networks in [1, 2] {
        let network = network(networks);
        let outcome = run(&network);
        let flows = 504 * u128::from(networks);
        assert_eq!(count(&outcome, "flows_total"), flows);
        assert_eq!(count(&outcome, "flows_complete"), flows);
        assert_eq!(count(&outcome, "packets_delivered"), flows * 977);
        assert_eq!(count(&outcome, "bytes_delivered"), flows * 500_224);
        assert_eq!(count(&outcome, "packets_lost") + count(&outcome, "packets_in_flight"), 0);
        let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).expect("a table");
        let column = |name: &str| table.columns().iter().position(|c| &*c.name == name).expect("a column");
        let (delay_min, bytes) = (column("delay_min"), column("bytes_delivered"));
        let (mut events, mut undisturbed) = (flows * 977, 0);
        for (number, row) in table.rows().iter().enumerate() {
            assert_eq!(row[bytes], Cell::Integer(500_224));
            // No delay is below that of an empty path, summed link by link. Two flows of equal rate that
            // collide once collide for ever.
            let (hops, least) = empty_path(&network, number);
            events += hops * 977;
            let Cell::Integer(measured) = row[delay_min] else { panic!("flow {number} has no delay") };
            assert!(measured >= least, "flow {number} took {measured} ps, not {least} ps");
            undisturbed += u128::from(measured == least);
        }
        assert!(undisturbed * 10 > flows * 8, "only {undisturbed} flows met an empty path");
        // One event a hop, and one at the source.
        assert_eq!(u128::from(outcome.events), events);
    }
}

/// Returns the number of links of a flow's path, found by a search of this test, and the time that 542 bytes
/// take along it.
fn empty_path(network: &Network, number: usize) -> (u128, u64) {
    let (topology, flow) = (network.topology(), &network.flows()[number]);
    let mut hops: BTreeMap<_, u32> = BTreeMap::from([(flow.destination, 0)]);
    let mut frontier = vec![flow.destination];
    while !hops.contains_key(&flow.source) {
        let mut next = Vec::new();
        for node in frontier {
            for end in topology.interfaces(node) {
                if !hops.contains_key(&end.neighbour) {
                    hops.insert(end.neighbour, hops[&node] + 1);
                    next.push(end.neighbour);
                }
            }
        }
        frontier = next;
    }
    let (mut at, mut picoseconds) = (flow.source, 0);
    while at != flow.destination {
        let nearer = |end: &&parades_topology::Interface| hops.get(&end.neighbour).is_some_and(|h| h + 1 == hops[&at]);
        let end = topology.interfaces(at).iter().find(nearer).expect("a way on");
        let link = topology.link(end.link);
        picoseconds += (542 * 8 * 1_000_000_000_000_u64).div_ceil(link.rate_bps) + link.delay.as_ps();
        at = end.neighbour;
    }
    (u128::from(hops[&flow.source]), picoseconds)
}

#[test]
fn a_campus_can_be_undone_and_redone() {
    let network = Parameters { lan_clients: 4, ..Parameters::default() }.network(3).expect("a small one");
    let options = || RunOptions::until(Time::try_from_secs_f64(4.0).expect("a time"));
    let once = parades_engine::sequential::run(&network, options()).expect("it runs");
    let redone = parades_engine::rollback_check::run(&network, options()).expect("all is restored");
    assert!(once.events > 50_000);
    assert_eq!((once.digest, once.metrics), (redone.digest, redone.metrics));
}

#[test]
fn impossible_parameters_are_refused() {
    for parameters in [
        Parameters { networks: 0, ..Parameters::default() },
        Parameters { lan_clients: 0, ..Parameters::default() },
        Parameters { networks: 10_000_000, ..Parameters::default() },
        Parameters { packet_size: 0, ..Parameters::default() },
        Parameters { flow_rate_bps: 0, ..Parameters::default() },
        Parameters { flow_bytes: 0, ..Parameters::default() },
    ] {
        assert!(parameters.network(1).is_err(), "{parameters:?}");
    }
}

/// Returns the links of a campus with one host a LAN, in the order in which ns-3's `nms-p2p-nix` installs
/// them, by our numbers of nodes.
fn ns3_links_of_a_campus() -> Vec<(u32, u32)> {
    let (net1, lr, net2, net3, hosts) = (3, 9, 11, 25, 34);
    let within = |first: u32, links: &[(u32, u32)]| -> Vec<(u32, u32)> {
        links.iter().map(|(a, b)| (first + a, first + b)).collect()
    };
    let mut links = vec![(0, 1), (1, 2), (2, 0)];
    links.extend(within(net1, &[(0, 1), (2, 0), (3, 0), (4, 1), (5, 1)]));
    links.push((2, net1));
    links.extend(within(net2, &[(0, 1), (1, 3), (2, 0), (3, 2), (4, 2), (5, 3), (6, 5), (7, 2), (8, 3), (9, 4)]));
    links.extend(within(net2, &[(10, 5), (11, 6), (12, 6), (13, 6)]));
    links.extend((0..7).map(|lan| (hosts + lan, net2 + 7 + lan)));
    links.extend(within(net3, &[(0, 1), (1, 2), (2, 3), (3, 1), (4, 0), (5, 0), (6, 2), (7, 3), (8, 3)]));
    links.extend((0..5).map(|lan| (hosts + 7 + lan, net3 + 4 + lan)));
    links.extend([
        (lr, lr + 1),
        (lr, 0),
        (lr + 1, 1),
        (lr, net2),
        (lr + 1, net2 + 1),
        (lr + 1, net3),
        (lr + 1, net3 + 1),
    ]);
    links
}

/// ns-3's nix-vector routing searches breadth first from the source. It tries each node's devices in the
/// order of their installation. On the path, the predecessor of a node is the node that reached it first.
#[test]
fn routes_lead_through_the_nodes_that_ns3_chooses() {
    const NODES: u32 = 34 + 12;
    for campuses in [1, 2, 3, 4] {
        let parameters = Parameters { networks: campuses, lan_clients: 1, paths: Paths::One, ..Parameters::default() };
        let network = parameters.network(1).expect("a small one");
        let topology = network.topology();
        let mut devices = vec![Vec::new(); topology.nodes()];
        let inner = (0..campuses)
            .flat_map(|z| ns3_links_of_a_campus().into_iter().map(move |(a, b)| (z * NODES + a, z * NODES + b)));
        let ring = (0..campuses).filter(|_| campuses > 1).map(|z| (z * NODES, (z + 1) % campuses * NODES));
        for (a, b) in inner.chain(ring) {
            devices[a as usize].push(b);
            devices[b as usize].push(a);
        }
        let ends: Vec<_> = network.flows().iter().map(|flow| (flow.source, flow.destination)).collect();
        let routes = Routes::for_flows(topology, &ends, Metric::Hops).expect("it is connected");
        for (flow, &(source, destination)) in ends.iter().enumerate() {
            let mut parents = BTreeMap::from([(source.0, source.0)]);
            let mut queue = std::collections::VecDeque::from([source.0]);
            while let Some(node) = queue.pop_front() {
                for &next in &devices[node as usize] {
                    parents.entry(next).or_insert_with(|| {
                        queue.push_back(next);
                        node
                    });
                }
            }
            let back = std::iter::successors(Some(destination.0), |node| Some(parents[node]));
            let mut expected: Vec<u32> = back.take_while(|&node| node != source.0).collect();
            expected.reverse();
            let route: Vec<u32> = topology.follow(source, routes.route(flow)).map(|end| end.neighbour.0).collect();
            assert_eq!(route, expected, "flow {flow} of {campuses} campuses");
            assert_eq!(network.hops(u32::try_from(flow).expect("few")), route.len());
        }
    }
}
