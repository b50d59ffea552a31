//! GossipSub: every subscriber gets each message once, meshes keep their bounds, and peers that misbehave are
//! scored down and pruned. All engines and both drivers give one answer.

use crate::one_answer::assert_one_answer;
use parades_carriers::Matrix;
use parades_core::metrics::{Histogram, MetricValue};
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::driver::AsModel;
use parades_p2p::gossipsub::{GossipSub, Parameters, Scores, Subscriptions};

fn gossipsub(parameters: &Parameters, seed: u64) -> GossipSub {
    GossipSub::new(parameters.clone(), seed).expect("possible")
}

/// Latencies of 10 to 115 ms between seven places.
fn places() -> Matrix {
    Matrix::new(7, |from, to| Delay::from_ms(10 + 35 * u64::from(from.abs_diff(to) % 4)))
}

fn run(parameters: &Parameters, seed: u64) -> Outcome {
    let model = AsModel::new(gossipsub(parameters, seed), places());
    let options = RunOptions { seed, ..RunOptions::until(model.protocol().end()) };
    sequential::run(&model, options).expect("it runs")
}

fn counter(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(MetricValue::counter).expect("it is declared")
}

fn histogram<'a>(outcome: &'a Outcome, name: &str) -> &'a Histogram {
    outcome.metrics.get(name).and_then(MetricValue::histogram).expect("it is declared")
}

fn value(outcome: &Outcome, name: &str) -> f64 {
    match outcome.metrics.get(name).and_then(MetricValue::value) {
        Some(Cell::Float(value)) => *value,
        other => panic!("no {name}: {other:?}"),
    }
}

/// Publications of a small network, 30 s after the start.
fn small() -> Parameters {
    Parameters {
        nodes: 150,
        connections: 10,
        messages: 10,
        warm_up: Delay::from_secs(30),
        spacing: Delay::from_secs(2),
        ..Parameters::default()
    }
}

#[test]
fn every_subscriber_gets_each_message_once_and_meshes_keep_their_bounds() {
    for flood_publish in [true, false] {
        for scores in [None, Some(Scores::default())] {
            let parameters = Parameters { flood_publish, scores, ..small() };
            let outcome = run(&parameters, 1);
            assert_eq!(counter(&outcome, "deliveries"), 10 * 149);
            assert_eq!(counter(&outcome, "repeated_deliveries"), 0);
            let degrees = histogram(&outcome, "mesh_degree").tally();
            // Opportunistic grafting may go beyond D_hi until the next heartbeat.
            let most = u64::from(parameters.degree_high + parameters.opportunistic_peers);
            let found = (degrees.min().expect("heartbeats"), degrees.max().expect("heartbeats"));
            assert!(found.0 >= u64::from(parameters.degree_low) && found.1 <= most, "degrees of {found:?}");
            // A node gets a copy from most of its mesh, and sends it to the rest.
            let duplicates = value(&outcome, "duplicates_per_node_and_message");
            assert!((2.0..9.0).contains(&duplicates), "{duplicates} duplicates");
            // Between well-behaved nodes no GRAFT comes before the end of a backoff, and promises are kept.
            assert_eq!(counter(&outcome, "early_grafts"), 0);
            assert_eq!(counter(&outcome, "broken_promises"), 0);
            assert_eq!(counter(&outcome, "negative_scores"), 0);
        }
    }
}

/// The degrees of meshes are those of the parameters even where every node is connected to every other.
#[test]
fn meshes_form_among_nodes_that_are_all_connected() {
    for nodes in [2, 14, 60] {
        let parameters = Parameters { nodes, connections: nodes - 1, ..small() };
        let outcome = run(&parameters, 1);
        assert_eq!(counter(&outcome, "deliveries"), 10 * u128::from(nodes - 1));
        let degrees = histogram(&outcome, "mesh_degree").tally();
        let found = (degrees.min().expect("heartbeats"), degrees.max().expect("heartbeats"));
        let least = u64::from(parameters.degree_low.min(nodes - 1));
        let most = u64::from((parameters.degree_high + parameters.opportunistic_peers).min(nodes - 1));
        assert!(found.0 >= least && found.1 <= most, "degrees of {found:?} among {nodes} nodes");
    }
}

#[test]
fn a_node_that_publishes_on_a_topic_of_others_uses_fanout() {
    let split = Parameters { topics: 3, subscriptions: Subscriptions::Split, flood_publish: false, ..small() };
    let split = Parameters { connections: 30, messages: 12, ..split };
    let outcome = run(&split, 2);
    let rows = outcome.metrics.get("publications").and_then(MetricValue::table).expect("it is declared").rows();
    let integer = |cell: &Cell| match cell {
        Cell::Integer(x) => *x,
        other => panic!("{other:?} is no integer"),
    };
    assert!(rows.iter().any(|row| integer(&row[1]) % 3 != integer(&row[2])), "some authors are no subscribers");
    for row in &rows {
        let own = u64::from(integer(&row[1]) % 3 == integer(&row[2]));
        assert_eq!((integer(&row[4]), integer(&row[5])), (50 - own, 50 - own), "message {row:?}");
    }
}

#[test]
fn nodes_that_prune_tell_of_other_peers_and_keep_the_backoff() {
    // Few connections at the start: peer exchange finds more. Meshes are small, so that they are often full.
    let tight = Parameters { degree_low: 3, degree: 3, degree_high: 4, degree_out: 1, degree_score: 2, ..small() };
    let outcome = run(&Parameters { messages: 30, ..tight.clone() }, 1);
    assert!(counter(&outcome, "prunes") > 50);
    assert!(counter(&outcome, "exchanged_peers") > 50);
    assert_eq!(counter(&outcome, "early_grafts"), 0);
    assert_eq!(counter(&outcome, "deliveries"), 30 * 149);
    let alone = run(&Parameters { prune_peers: 0, ..tight }, 1);
    assert_eq!(counter(&alone, "exchanged_peers"), 0);
}

#[test]
fn peers_that_forward_nothing_are_scored_down_and_pruned() {
    let strict = Scores {
        mesh_message_deliveries_weight: -1.0,
        mesh_message_deliveries_threshold: 2.0,
        mesh_message_deliveries_activation: Delay::from_secs(10),
        mesh_message_deliveries_window: Delay::from_secs(2),
        mesh_failure_penalty_weight: -1.0,
        ..Scores::default()
    };
    // Messages begin before the penalty is active, or all peers would be short of deliveries.
    let traffic = Parameters { messages: 200, warm_up: Delay::from_secs(5), spacing: Delay::from_ms(250), ..small() };
    let loose = Parameters { silent: 30, ..traffic };
    let without = run(&Parameters { scores: None, ..loose.clone() }, 1);
    let with = run(&Parameters { scores: Some(strict), ..loose }, 1);
    let share =
        |outcome: &Outcome| counter(outcome, "mesh_links_to_silent") as f64 / counter(outcome, "mesh_links") as f64;
    // A fifth of the nodes is silent.
    assert!(share(&without) > 0.1, "without scores: {}", share(&without));
    assert!(share(&with) < share(&without) / 4.0, "with scores: {}", share(&with));
    assert!(counter(&with, "negative_scores") > 100);
    assert_eq!(counter(&with, "deliveries"), 200 * 149, "gossip and the other peers deliver");
}

#[test]
fn peers_that_send_invalid_messages_are_pruned_and_ignored() {
    let thresholds = Scores { publish_threshold: -12.0, graylist_threshold: -15.0, ..Scores::default() };
    let strict = Scores { invalid_message_deliveries_weight: -20.0, ..thresholds };
    let outcome = run(&Parameters { spammers: 10, scores: Some(strict), ..small() }, 1);
    assert!(counter(&outcome, "rejected") > 100);
    assert!(counter(&outcome, "ignored") > 0, "graylisted peers");
    assert_eq!(counter(&outcome, "mesh_links_to_spammers"), 0);
    // The other 140 nodes get all messages, but for their own.
    assert!(counter(&outcome, "deliveries") >= 10 * 139);
}

#[test]
fn the_application_and_shared_addresses_change_scores() {
    let low = Scores { app_specific: vec![-100.0; 5], ..Scores::default() };
    let outcome = run(&Parameters { scores: Some(low), ..small() }, 1);
    assert!(counter(&outcome, "ignored") > 0, "the first five are graylisted everywhere");
    assert!(counter(&outcome, "deliveries") < 10 * 149);
    // All nodes at one address: more than ten peers of it are too many.
    let crowd = Scores { addresses: vec![7; 150], ..Scores::default() };
    let outcome = run(&Parameters { scores: Some(crowd), ..small() }, 1);
    assert!(counter(&outcome, "negative_scores") > 100);
}

#[test]
fn gossip_brings_messages_to_nodes_that_meshes_do_not_reach() {
    // Most nodes forward nothing and no one has a score: the rest hear of messages by IHAVE.
    let sparse = Parameters { silent: 120, scores: None, flood_publish: false, ..small() };
    let outcome = run(&sparse, 3);
    assert!(counter(&outcome, "iwants") > 0);
    assert!(counter(&outcome, "broken_promises") > 0, "silent nodes tell of messages, and do not send them");
    let with = value(&outcome, "coverage");
    let without = value(&run(&Parameters { gossip_factor: 0.0, degree_lazy: 0, ..sparse }, 3), "coverage");
    assert!(with > without, "coverage {with} with gossip, {without} without");
}

#[test]
fn all_engines_and_both_drivers_give_one_answer() {
    let tiny = Parameters { nodes: 40, connections: 6, messages: 8, warm_up: Delay::from_secs(8), ..small() };
    let cases = [
        tiny.clone(),
        Parameters { topics: 2, subscriptions: Subscriptions::Split, flood_publish: false, ..tiny.clone() },
        Parameters { silent: 5, spammers: 3, validation: Delay::from_ms(5), opportunistic_ticks: 5, ..tiny },
    ];
    for (seed, parameters) in (1..).zip(&cases) {
        let until = Time::from_secs(20);
        let outcome = assert_one_answer(|| gossipsub(parameters, seed), &places(), seed, until);
        assert!(counter(&outcome, "deliveries") > 50);
        // Heartbeats, messages and publications at equal times.
        assert_one_answer(|| gossipsub(parameters, seed), &Matrix::new(2, |_, _| Delay::from_secs(1)), seed, until);
    }
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    let refused = |parameters: Parameters| GossipSub::new(parameters, 1).expect_err("it is impossible").0;
    let plain = Parameters::default();
    assert_eq!(refused(Parameters { nodes: 1, ..plain.clone() }), "nodes");
    assert_eq!(refused(Parameters { nodes: 20, ..plain.clone() }), "connections");
    assert_eq!(refused(Parameters { connections: 0, ..plain.clone() }), "connections");
    assert_eq!(refused(Parameters { topics: 65, ..plain.clone() }), "topics");
    assert_eq!(refused(Parameters { silent: 1000, ..plain.clone() }), "silent");
    assert_eq!(refused(Parameters { heartbeat: Delay::ZERO, ..plain.clone() }), "heartbeat");
    assert_eq!(refused(Parameters { spacing: Delay::from_ps(u64::MAX / 2), ..plain.clone() }), "spacing");
    assert_eq!(refused(Parameters { degree_low: 7, ..plain.clone() }), "degree");
    assert_eq!(refused(Parameters { degree_score: 7, ..plain.clone() }), "degree_score");
    assert_eq!(refused(Parameters { degree_out: 4, ..plain.clone() }), "degree_out");
    assert_eq!(refused(Parameters { gossip_factor: f64::NAN, ..plain.clone() }), "gossip_factor");
    assert_eq!(refused(Parameters { history_gossip: 6, ..plain.clone() }), "history_gossip");
    let scores = Some(Scores { gossip_threshold: 0.0, ..Scores::default() });
    assert_eq!(refused(Parameters { scores, ..plain.clone() }), "gossip_threshold");
    let scores = Some(Scores { behaviour_penalty_weight: 1.0, ..Scores::default() });
    assert_eq!(refused(Parameters { scores, ..plain }), "behaviour_penalty_weight");
}
