//! Rumours by push, pull and push–pull: the time until all know one, and the fraction that never hears one
//! if nodes lose interest, against theory. All engines and both drivers give one answer.

use crate::one_answer::assert_one_answer;
use parades_carriers::Matrix;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_engine::sequential;
use parades_p2p::driver::AsModel;
use parades_p2p::gossip::{Calls, Direction, Gossip, HEADER_BYTES, ID_BYTES, Parameters};

/// Every message takes the same time. All tests use one type of carrier, which saves time in compilation.
fn constant(latency: Delay) -> Matrix {
    Matrix::new(2, |_, _| latency)
}

fn options(seed: u64, seconds: u64) -> RunOptions<'static> {
    RunOptions { seed, ..RunOptions::until(Time::from_secs(seconds)) }
}

fn run(parameters: &Parameters, seed: u64, seconds: u64) -> Outcome {
    let gossip = Gossip::new(parameters.clone()).expect("possible");
    let model = AsModel::new(gossip, constant(Delay::from_us(1)));
    sequential::run(&model, options(seed, seconds)).expect("it runs")
}

fn counter(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(MetricValue::counter).expect("it is declared")
}

fn coverage(outcome: &Outcome) -> f64 {
    match outcome.metrics.get("coverage").and_then(MetricValue::value) {
        Some(Cell::Float(coverage)) => *coverage,
        other => panic!("no coverage: {other:?}"),
    }
}

/// Returns the mean number of rounds after which all nodes know a rumour.
fn rounds_to_all(nodes: u32, direction: Direction) -> f64 {
    let parameters = Parameters { nodes, direction, calls: Calls::InRounds, ..Parameters::default() };
    let seeds = 40_u32;
    let last = |seed| {
        let outcome = run(&parameters, u64::from(seed), 60);
        let heard = outcome.metrics.get("latency").and_then(MetricValue::histogram).expect("it is declared").tally();
        assert_eq!(heard.count(), u64::from(nodes - 1), "all hear it, once each");
        Time::from_ps(heard.max().expect("all hear it")).as_secs_f64()
    };
    (1..=seeds).map(last).sum::<f64>() / f64::from(seeds)
}

#[test]
fn push_takes_log2_n_plus_ln_n_rounds_and_push_pull_about_log3_n() {
    let nodes = 1024_u32;
    let n = f64::from(nodes);
    let push = rounds_to_all(nodes, Direction::Push) - n.log2() - libm::log(n);
    assert!((-1.116..2.765).contains(&push), "push: {push} rounds beyond log2 n + ln n");
    // Karp et al.: log3 n + O(ln ln n); ln ln 1024 is 1.9.
    let both = rounds_to_all(nodes, Direction::PushPull) - libm::log(n) / libm::log(3.0);
    assert!((0.5..4.5).contains(&both), "push-pull: {both} rounds beyond log3 n");
    // Pull starts slowly and ends fast: each round squares the fraction of nodes that do not know the rumour.
    let pull = rounds_to_all(nodes, Direction::Pull);
    assert!((10.0..18.0).contains(&pull), "pull: {pull} rounds");
}

#[test]
fn nodes_that_lose_interest_leave_the_fraction_of_theory_ignorant() {
    for (interest, tolerance) in [(1_u32, 0.03), (2, 0.02)] {
        let parameters = Parameters { nodes: 20_000, interest: Some(interest), ..Parameters::default() };
        let ignorant = 1.0 - coverage(&run(&parameters, 1, 200));
        // The fraction solves s = e^(-(interest + 1) (1 - s)).
        let theory = (0..200).fold(0.1, |s: f64, _| libm::exp(-f64::from(interest + 1) * (1.0 - s)));
        assert!((ignorant - theory).abs() < tolerance, "interest {interest}: {ignorant}, not {theory}");
    }
}

#[test]
fn every_copy_of_a_rumour_is_news_or_a_duplicate_and_bytes_add_up() {
    let parameters = Parameters { nodes: 100, fanout: 3, rumours: 5, ..Parameters::default() };
    let outcome = run(&parameters, 1, 40);
    assert!((coverage(&outcome) - 1.0).abs() < 1e-12);
    let copies = 5 * 99 + counter(&outcome, "duplicates");
    let headers = counter(&outcome, "messages") * u128::from(HEADER_BYTES);
    assert_eq!(counter(&outcome, "bytes"), headers + copies * u128::from(ID_BYTES + 100));
    // A pull carries no rumour that the caller knows when it calls.
    let pull = run(&Parameters { direction: Direction::Pull, fanout: 1, ..parameters }, 1, 40);
    assert_eq!(counter(&pull, "duplicates"), 0);
}

#[test]
fn all_engines_and_both_drivers_give_one_answer() {
    let matrix = Matrix::new(5, |from, to| Delay::from_ms(u64::from(10 + 7 * from + to)));
    let plain = Parameters { nodes: 30, rumours: 70, spacing: Delay::from_ms(100), ..Parameters::default() };
    let gossip = |parameters: &Parameters| Gossip::new(parameters.clone()).expect("possible");
    let end = Time::from_secs(20);
    for direction in [Direction::Push, Direction::Pull, Direction::PushPull] {
        let parameters = Parameters { direction, ..plain.clone() };
        assert_one_answer(|| gossip(&parameters), &matrix, 1, end);
        // Messages that take a second arrive when nodes call.
        let in_rounds = Parameters { calls: Calls::InRounds, ..parameters };
        assert_one_answer(|| gossip(&in_rounds), &constant(Delay::from_secs(1)), 2, end);
    }
    let tired = Parameters { interest: Some(2), fanout: 2, ..plain };
    let outcome = assert_one_answer(|| gossip(&tired), &matrix, 3, end);
    assert!(counter(&outcome, "duplicates") > 0);
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    let refused = |parameters: Parameters| Gossip::new(parameters).expect_err("it is impossible").0;
    let plain = Parameters::default();
    assert_eq!(refused(Parameters { nodes: 1, ..plain.clone() }), "nodes");
    assert_eq!(refused(Parameters { fanout: 0, ..plain.clone() }), "fanout");
    assert_eq!(refused(Parameters { period: Delay::ZERO, ..plain.clone() }), "period");
    assert_eq!(refused(Parameters { rumours: 0, ..plain.clone() }), "rumours");
    let spacing = Delay::from_ps(u64::MAX / 2);
    assert_eq!(refused(Parameters { spacing, rumours: 3, ..plain.clone() }), "spacing");
    assert_eq!(refused(Parameters { interest: Some(0), ..plain.clone() }), "interest");
    assert_eq!(refused(Parameters { interest: Some(1), direction: Direction::Pull, ..plain }), "interest");
}
