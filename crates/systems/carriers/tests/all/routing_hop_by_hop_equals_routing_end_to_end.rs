//! Underlays on graphs: latencies against a plain search, both kinds of routing against each other, and all
//! engines.

use crate::support::{Arrival, Exchange, arrivals, counter, run_under_all_engines};
use parades_carriers::underlay::{Jitter, Partition, Routing, Underlay, UnderlayError, draw_places};
use parades_core::prelude::*;
use parades_program::Processes;
use parades_topology::generators::{Domains, TransitStub};
use parades_topology::{Link, NodeId, Topology};
use std::collections::BTreeSet;

fn transit_stub(sizes: [u32; 4], seed: u64) -> Domains {
    let [transit_domains, transit_nodes, stub_domains, stub_nodes] = sizes;
    let sizes = TransitStub { transit_domains, transit_nodes, stub_domains, stub_nodes };
    sizes.generate(&Rng::shared(seed, 0)).expect("possible sizes")
}

/// Returns places for `peers` peers at stub routers.
fn stub_places(domains: &Domains, peers: u32, seed: u64) -> Vec<NodeId> {
    let routers: Vec<NodeId> = domains.stub_routers().collect();
    draw_places(&routers, peers, "stub routers", &Rng::shared(seed, 1)).expect("enough routers")
}

/// Makes a connected graph of `nodes` nodes with random latencies, some of them zero or equal.
fn graph(nodes: u32, one_way: bool, seed: u64) -> Topology {
    let rng = Rng::shared(seed, 2);
    let below = |n: u32| u32::try_from(rng.below(u64::from(n))).expect("it is below n");
    let tree = (1..nodes).map(|node| (below(node), node)).collect::<Vec<_>>();
    let others = (0..2 * nodes).map(|_| (below(nodes), below(nodes))).filter(|(a, b)| a != b).collect::<Vec<_>>();
    let link = |(a, b)| Link {
        a: NodeId(a),
        b: NodeId(b),
        rate_bps: 1,
        delay: Delay::from_ms(1 + u64::from(below(4)) * u64::from(below(3))),
    };
    let links: Vec<Link> = tree.into_iter().chain(others).map(link).collect();
    let first_one_way = nodes - 1; // The tree carries both directions.
    let last = u32::try_from(links.len()).expect("a small graph");
    let one_way = if one_way { (first_one_way..last).map(parades_topology::LinkId).collect() } else { Vec::new() };
    let names: Vec<String> = (0..nodes).map(|node| format!("n{node}")).collect();
    Topology::with_one_way(&names, links, one_way).expect("the links join nodes")
}

/// Returns the least latencies from a node by Bellman and Ford's rule: until nothing changes, each link may
/// shorten the way to its end.
fn bellman_ford(topology: &Topology, from: NodeId) -> Vec<Option<u64>> {
    let mut least = vec![None; topology.nodes()];
    least[from.index()] = Some(0);
    loop {
        let before = least.clone();
        for node in topology.node_ids() {
            let Some(here) = least[node.index()] else { continue };
            for end in topology.interfaces(node) {
                let there = here + topology.link(end.link).delay.as_ps();
                let known = &mut least[end.neighbour.index()];
                *known = Some(known.map_or(there, |known: u64| known.min(there)));
            }
        }
        if least == before {
            return least;
        }
    }
}

/// Checks the latencies between all peers.
fn check_latencies(underlay: &Underlay, topology: &Topology, places: &[NodeId]) {
    for (from, &place) in (0..).map(LpId).zip(places) {
        let least = bellman_ford(topology, place);
        for (to, other) in (0..).map(LpId).zip(places) {
            let found = underlay.latency(from, to).map(Delay::as_ps);
            assert_eq!(found, least[other.index()], "from {from:?} to {to:?}");
        }
    }
}

#[test]
fn the_hierarchy_of_a_transit_stub_network_gives_the_least_latencies() {
    // Domains of one router, many gates for few domains, and few for many; domains of few and of many
    // routers.
    for (sizes, seeds) in [
        ([1, 1, 4, 3], 8),
        ([2, 3, 12, 4], 8),
        ([5, 2, 40, 1], 8),
        ([3, 6, 5, 12], 8),
        ([8, 1, 30, 2], 8),
        ([2, 2, 3, 65], 2),
    ] {
        for seed in 0..seeds {
            let domains = transit_stub(sizes, seed);
            let peers = u32::try_from(domains.stub_routers().len() * 5 / 6).expect("few");
            let places = stub_places(&domains, peers.max(1), seed);
            let underlay = Underlay::transit_stub(&domains, &places, Routing::EndToEnd).expect("possible");
            check_latencies(&underlay, domains.topology(), &places);
        }
    }
}

#[test]
fn a_graph_gives_the_least_latencies_also_with_one_way_links() {
    for seed in 0..8 {
        for one_way in [false, true] {
            let topology = graph(40, one_way, seed);
            let nodes: Vec<NodeId> = topology.node_ids().collect();
            let places = draw_places(&nodes, 25, "nodes", &Rng::shared(seed, 1)).expect("enough nodes");
            let underlay = Underlay::graph(topology.clone(), &places, Routing::EndToEnd).expect("possible");
            check_latencies(&underlay, &topology, &places);
        }
    }
}

#[test]
fn access_is_part_of_the_latency_at_either_end() {
    let domains = transit_stub([2, 4, 3, 6], 1);
    let places = stub_places(&domains, 10, 1);
    let plain = Underlay::transit_stub(&domains, &places, Routing::EndToEnd).expect("possible");
    let access = |peer: u32| Delay::from_ps(7 * u64::from(peer) + 1);
    let dressed = plain.clone().with_access((0..10).map(access).collect());
    for (from, to) in (0..10).flat_map(|from| (0..10).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        let of = |underlay: &Underlay| underlay.latency(LpId(from), LpId(to)).expect("a peer");
        assert_eq!(of(&dressed), of(&plain).saturating_add(access(from)).saturating_add(access(to)));
    }
}

/// Returns the lookahead of each node of a program over an underlay, and checks that no latency is below.
fn check_lookahead(underlay: &Underlay, peers: u32) -> Vec<Delay> {
    let model = Processes::new(Exchange { nodes: peers, messages: 1, carrier: underlay.clone() });
    let channels = Model::channels(&model);
    let ids = || (0..peers).map(LpId);
    ids()
        .map(|from| {
            for to in ids().filter(|&to| to != from) {
                let lookahead = channels.lookahead_to(from, to).expect("peers send to anyone");
                let latency = underlay.latency(from, to).expect("a peer");
                assert!(lookahead <= latency, "from {from:?} to {to:?}: {lookahead} is above {latency}");
            }
            channels.lookahead_to_anyone(from).expect("peers send to anyone")
        })
        .collect()
}

#[test]
fn the_lookahead_is_found_and_never_above_a_latency() {
    for seed in 0..10 {
        let domains = transit_stub([3, 4, 6, 10], seed);
        let places = stub_places(&domains, 30, seed);
        let underlay = Underlay::transit_stub(&domains, &places, Routing::EndToEnd).expect("possible");
        let least = check_lookahead(&underlay, 30).into_iter().min().expect("30 peers");
        let pairs = (0..30).flat_map(|a| (0..30).filter(move |&b| b != a).map(move |b| (LpId(a), LpId(b))));
        let exact = pairs.map(|(a, b)| underlay.latency(a, b).expect("a peer")).min();
        assert_eq!(Some(least), exact, "two peers share a domain, so the bound is exact");
        // One peer a domain: the bound does not know the way between transit routers.
        let places: Vec<NodeId> = domains.stubs().map(|domain| NodeId(domain.start)).collect();
        let underlay = Underlay::transit_stub(&domains, &places, Routing::EndToEnd).expect("possible");
        assert!(check_lookahead(&underlay, 6).into_iter().all(|least| least >= Delay::from_ms(196)));
    }
}

#[test]
fn peers_of_other_stub_domains_are_further_away() {
    let domains = transit_stub([3, 4, 6, 10], 1);
    let underlay = Underlay::transit_stub(&domains, &stub_places(&domains, 30, 1), Routing::EndToEnd);
    let model = Processes::new(Exchange { nodes: 30, messages: 1, carrier: underlay.expect("possible") });
    let channels = Model::channels(&model);
    let outside = channels.min_lookahead_to_other_groups(30).expect("there are several domains");
    assert!(channels.min_lookahead().is_some_and(|inside| inside <= Delay::from_ms(10)));
    assert!(outside >= Delay::from_ms(196), "two links of 98 ms: {outside}");
}

/// Returns the arrivals of a run, in an order that does not depend on routing.
fn sorted(outcome: &Outcome) -> Vec<(LpId, LpId, u64, Delay)> {
    let mut found: Vec<_> =
        arrivals(outcome).into_iter().map(|Arrival { from, to, sent, took }| (from, to, sent, took)).collect();
    found.sort_unstable();
    found
}

#[test]
fn both_kinds_of_routing_agree_to_the_picosecond_under_every_engine() {
    for seed in 0..3 {
        let domains = transit_stub([2, 4, 3, 6], seed);
        let places = stub_places(&domains, 10, seed);
        let dressed = |routing| {
            let underlay = Underlay::transit_stub(&domains, &places, routing).expect("possible");
            let (start, end) = (Time::from_ms(20), Time::from_ms(400));
            let partition = Partition::random(start, end, 10, 2, &Rng::shared(seed, 3)).expect("possible");
            let access = (0..10).map(|peer| Delay::from_ps(1000 * peer + seed)).collect();
            let underlay = underlay.with_access(access).with_jitter(Jitter::exponential(Delay::from_ms(3)));
            underlay.with_partition(partition).with_loss(0.1)
        };
        let run = |routing| {
            let carrier = dressed(routing).expect("a probability");
            run_under_all_engines(Exchange { nodes: 10, messages: 60, carrier }, 5)
        };
        let (end_to_end, hop_by_hop) = (run(Routing::EndToEnd), run(Routing::HopByHop));
        assert_eq!(sorted(&end_to_end), sorted(&hop_by_hop));
        for name in ["underlay_losses", "partition_1_cuts", "messages_failed"] {
            assert_eq!(counter(&end_to_end, name), counter(&hop_by_hop, name), "{name}");
        }
        assert!(counter(&end_to_end, "underlay_losses") > 20 && counter(&end_to_end, "partition_1_cuts") > 20);
        assert_eq!(counter(&end_to_end, "underlay_hops"), 0);
        // Each message crosses some routers, and each of those is an event.
        let hops = u128::from(hop_by_hop.events - end_to_end.events);
        assert_eq!(counter(&hop_by_hop, "underlay_hops"), hops);
        assert!(hops > 300, "{hops}");
    }
}

#[test]
fn equal_paths_and_one_way_links_make_no_difference_either() {
    for one_way in [false, true] {
        let topology = graph(20, one_way, 5);
        let places: Vec<NodeId> = (4..14).map(NodeId).collect();
        let run = |routing| {
            let carrier = Underlay::graph(topology.clone(), &places, routing).expect("possible");
            sorted(&run_under_all_engines(Exchange { nodes: 10, messages: 30, carrier }, 5))
        };
        let found = run(Routing::EndToEnd);
        assert_eq!(found, run(Routing::HopByHop));
        assert_eq!(found.len(), 300);
        for (from, to, _, took) in found {
            let least = bellman_ford(&topology, places[from.index()])[places[to.index()].index()];
            assert_eq!(Some(took.as_ps()), least);
        }
    }
}

#[test]
fn jitter_adds_and_follows_its_law() {
    let latency = Delay::from_ms(50);
    // The log-normal law has the mean 4 exp(1/8) ms and the variance (exp(1/4) - 1) times its square.
    let laws: [(Jitter, f64, f64); 4] = [
        (Jitter::uniform(Delay::from_ms(8)), 4.0, 8.0 / 12_f64.sqrt()),
        (Jitter::exponential(Delay::from_ms(4)), 4.0, 4.0),
        (Jitter::normal(Delay::from_ms(40), Delay::from_ms(5)), 40.0, 5.0),
        (Jitter::log_normal(Delay::from_ms(4), 0.5).expect("possible"), 4.5326, 2.4156),
    ];
    for (jitter, mean_ms, deviation_ms) in laws {
        let carrier = Underlay::constant(latency).with_jitter(jitter.clone());
        let outcome = run_under_all_engines(Exchange { nodes: 20, messages: 500, carrier }, 9);
        let added: Vec<f64> = arrivals(&outcome)
            .iter()
            .filter(|arrival| arrival.from != arrival.to)
            .map(|arrival| 1e3 * (arrival.took.as_secs_f64() - latency.as_secs_f64()))
            .collect();
        assert!(added.len() > 9000 && added.iter().all(|&ms| ms >= 0.0));
        let count = added.len() as f64;
        let mean = added.iter().sum::<f64>() / count;
        let deviation = (added.iter().map(|ms| (ms - mean).powi(2)).sum::<f64>() / count).sqrt();
        assert!((mean - mean_ms).abs() < 5.0 * deviation_ms / count.sqrt(), "{jitter:?}: {mean}");
        assert!((deviation - deviation_ms).abs() < 0.08 * deviation_ms, "{jitter:?}: {deviation}");
    }
}

#[test]
fn impossible_underlays_are_refused_with_a_reason() {
    let topology = graph(5, false, 1);
    let shared = Underlay::graph(topology.clone(), &[NodeId(1), NodeId(1)], Routing::EndToEnd);
    assert_eq!(shared.expect_err("two at one place"), UnderlayError::Shared("n1".into()));
    let nodes: BTreeSet<NodeId> = topology.node_ids().collect();
    let nodes: Vec<NodeId> = nodes.into_iter().collect();
    let drawn = draw_places(&nodes, 6, "nodes", &Rng::shared(1, 0)).expect_err("too many peers");
    assert_eq!(drawn.to_string(), "6 peers need a place of their own each, but there are only 5 nodes");
    let domains = transit_stub([2, 2, 2, 2], 1);
    let at_transit = Underlay::transit_stub(&domains, &[NodeId(0)], Routing::EndToEnd);
    assert_eq!(at_transit.expect_err("no stub router").to_string(), "a peer is at `t0.0`, which is no stub router");
    let link = Link { a: NodeId(0), b: NodeId(1), rate_bps: 1, delay: Delay::from_ms(1) };
    let apart = Topology::new(&["left", "right", "alone"], vec![link]).expect("links join nodes");
    for routing in [Routing::EndToEnd, Routing::HopByHop] {
        let refused = Underlay::graph(apart.clone(), &[NodeId(0), NodeId(2)], routing).expect_err("two parts");
        assert!(refused.to_string().starts_with("no path leads from `"), "{refused}");
    }
    let limited = |bytes| {
        let nodes = (0..40).map(NodeId).collect::<Vec<_>>();
        let build = || Underlay::graph(graph(40, false, 1), &nodes, Routing::EndToEnd);
        parades_core::budget::within(bytes, || 0, build).0
    };
    // 40 * 41 / 2 entries of 8 bytes.
    assert!(limited(6560).is_ok());
    let message = limited(6559).expect_err("too little memory").to_string();
    assert_eq!(
        message,
        "a table of the latencies between all peers: building the model takes 6560 bytes, above the limit of 6559 bytes"
    );
    assert!(Underlay::constant(Delay::from_ms(1)).with_loss(1.5).is_err());
    let partition = |start, end, groups| Partition::new(Time::from_ms(start), Time::from_ms(end), groups);
    assert!(partition(5, 5, vec![0, 1]).is_err() && partition(5, 6, vec![1, 1]).is_err());
    assert!(Partition::random(Time::ZERO, Time::MAX, 3, 4, &Rng::shared(1, 0)).is_err());
}
