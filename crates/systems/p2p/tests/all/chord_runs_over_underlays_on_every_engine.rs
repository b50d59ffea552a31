//! Chord over underlays: one answer of both drivers on all engines, and the same look-ups under both kinds of
//! routing.

use parades_carriers::underlay::{Jitter, Partition, Routing, Underlay, draw_places};
use parades_core::error::Error;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_p2p::chord::{Chord, Parameters};
use parades_p2p::driver::AsModel;
use parades_topology::NodeId;
use parades_topology::generators::TransitStub;

const PEERS: u32 = 30;

fn underlay(routing: Routing, seed: u64) -> Underlay {
    let sizes = TransitStub { transit_domains: 3, transit_nodes: 4, stub_domains: 5, stub_nodes: 8 };
    let domains = sizes.generate(&Rng::shared(seed, 0)).expect("possible sizes");
    let routers: Vec<NodeId> = domains.stub_routers().collect();
    let places = draw_places(&routers, PEERS, "stub routers", &Rng::shared(seed, 1)).expect("30 routers or more");
    let (start, end) = (Time::from_secs(40), Time::from_secs(60));
    let partition = Partition::random(start, end, PEERS, 3, &Rng::shared(seed, 2)).expect("possible");
    let underlay = Underlay::transit_stub(&domains, &places, routing).expect("each peer has a stub router");
    let underlay = underlay.with_loss(0.02).expect("a probability");
    underlay.with_jitter(Jitter::exponential(Delay::from_ms(5))).with_partition(partition)
}

/// Runs Chord by both drivers on all engines, which must agree.
fn agree(routing: Routing, seed: u64) -> Outcome {
    let parameters = || Parameters {
        nodes: PEERS,
        timeout: Delay::from_secs(2),
        stabilise: Delay::from_secs(5),
        keeps_look_ups: true,
        ..Parameters::default()
    };
    let options = || RunOptions { seed, ..RunOptions::until(Time::from_secs(100)) };
    let program = Chord::over(underlay(routing, seed), parameters(), seed).expect("possible");
    let expected = sequential::run(&program, options()).expect("it runs");
    let model = AsModel::new(Chord::new(parameters(), seed).expect("possible"), underlay(routing, seed));
    let check = |engine: &str, outcome: Result<Outcome, Error>| {
        let outcome = outcome.expect("it runs");
        assert_eq!((outcome.events, outcome.digest), (expected.events, expected.digest), "{engine}, {routing:?}");
        for (name, _, value) in outcome.metrics.iter() {
            assert_eq!(expected.metrics.get(name), Some(value), "{engine}, {routing:?}: {name}");
        }
    };
    check("sequential", sequential::run(&model, options()));
    check("rollback-check", rollback_check::run(&model, options()));
    check("rounds", rounds::run(&model, options(), &rounds::Settings::of_threads(2)));
    for threads in [2, 3] {
        check("window", window::run(&model, options(), &window::Settings::of_threads(threads)));
        check("null-message", null_message::run(&model, options(), &null_message::Settings::of_threads(threads)));
        check("time-warp", time_warp::run(&model, options(), &time_warp::Settings::of_threads(threads)));
    }
    expected
}

#[test]
fn look_ups_are_the_same_under_both_kinds_of_routing_on_every_engine() {
    for seed in 1..=2 {
        let outcomes = [Routing::EndToEnd, Routing::HopByHop].map(|routing| agree(routing, seed));
        let logs = outcomes.each_ref().map(|outcome| outcome.metrics.get("look_up_log").and_then(MetricValue::table));
        let rows = logs.map(|log| log.expect("look-ups are kept").rows());
        assert!(rows[0].len() > 100, "{} look-ups", rows[0].len());
        assert_eq!(rows[0], rows[1]);
        let counter = |outcome: &Outcome, name| outcome.metrics.get(name).and_then(MetricValue::counter);
        for name in ["underlay_losses", "partition_1_cuts"] {
            let [end_to_end, hop_by_hop] = outcomes.each_ref().map(|outcome| counter(outcome, name));
            assert!(end_to_end > Some(10) && end_to_end == hop_by_hop, "{name}: {end_to_end:?}, {hop_by_hop:?}");
        }
    }
}
