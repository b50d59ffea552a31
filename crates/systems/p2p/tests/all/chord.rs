//! Chord's ring as nodes come and go, on every engine that can run the program.

use parades_carriers::{Constant, FlowLevel};
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::rounds::{Main, Settings, Threshold};
use parades_engine::{null_message, rounds, sequential, window};
use parades_flow::generators::star;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::platform::Platform;
use parades_flow::xml;
use parades_p2p::chord::{Chord, Keys, Message, Parameters};
use parades_p2p::churn::{Churn, Law};
use parades_p2p::driver::{AsProgram, Protocol};
use parades_program::Processes;
use parades_sync::pool::Waiting;
use std::path::Path;
use std::sync::Arc;

fn seconds(seconds: u64) -> Time {
    Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("not for so long")
}

fn model(parameters: Parameters, seed: u64) -> Processes<AsProgram<Chord, Constant>> {
    Chord::model(parameters, seed).expect("the parameters are possible")
}

fn run(parameters: Parameters, seed: u64, until_s: u64) -> Result<Outcome, Error> {
    sequential::run(&model(parameters, seed), RunOptions { seed, ..RunOptions::until(seconds(until_s)) })
}

fn counter(outcome: &Outcome, name: &str) -> u128 {
    outcome.metrics.get(name).and_then(|metric| metric.counter()).expect("it is declared")
}

fn mean(outcome: &Outcome, name: &str) -> f64 {
    let tally = outcome.metrics.get(name).and_then(|metric| metric.tally()).expect("it is declared");
    tally.mean().expect("something was observed")
}

/// Returns a churn with these mean lengths of sessions and absences in seconds, until 600 s.
fn churn(session: u64, absence: u64) -> Churn {
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("a mean above zero");
    Churn::random(law(session), law(absence), seconds(600)).with_crash(0.5)
}

/// Returns the parameters of nodes that come and go until 600 s.
fn restless(nodes: u32) -> Parameters {
    let churn = churn(300, 60);
    Parameters { nodes, churn: Some(churn), settle: Delay::from_secs(600), ..Parameters::default() }
}

#[test]
fn all_who_join_at_once_form_one_ring() {
    // A wrong ring is an error of the run.
    for nodes in [1, 2, 3, 4, 7, 30, 100, 400] {
        for seed in 1..=4 {
            let outcome = run(Parameters { nodes, ..Parameters::default() }, seed, 1000).expect("the ring is right");
            assert_eq!(counter(&outcome, "members"), u128::from(nodes));
            assert_eq!(counter(&outcome, "joins"), u128::from(nodes));
            assert_eq!(counter(&outcome, "wrong_look_ups"), 0);
            assert!(counter(&outcome, "look_ups") > 30 * u128::from(nodes));
        }
    }
}

#[test]
fn the_ring_is_right_as_soon_as_all_have_joined() {
    let parameters = Parameters { nodes: 1000, settle: Delay::ZERO, ..Parameters::default() };
    let outcome = run(parameters, 1, 150).expect("the ring is right");
    assert_eq!(counter(&outcome, "members"), 1000);
    let slowest = outcome.metrics.get("join_time").and_then(|metric| metric.tally()).and_then(|tally| tally.max());
    assert!(slowest < Some(Delay::from_secs(100).as_ps()), "{slowest:?}");
}

#[test]
fn joins_may_be_spaced_and_identifiers_few_or_many() {
    for (bits, nodes) in [(1, 2), (3, 8), (6, 64), (24, 50), (31, 50), (32, 50)] {
        let spacing = Delay::from_secs(2);
        let outcome = run(Parameters { nodes, bits, spacing, ..Parameters::default() }, 3, 1000).expect("it is right");
        assert_eq!(counter(&outcome, "members"), u128::from(nodes), "{bits} bits");
    }
}

#[test]
fn a_look_up_takes_about_half_of_log2_n_hops() {
    for nodes in [128_u32, 1024] {
        let (keys, fingers_at_once) = (Keys::Uniform, true);
        let parameters = Parameters { nodes, keys, fingers_at_once, ..Parameters::default() };
        let outcome = run(parameters, 1, 1000).expect("the ring is right");
        let expected = f64::from(nodes.ilog2()) / 2.0;
        let hops = mean(&outcome, "hops");
        assert!((hops - expected).abs() < 0.25, "{nodes} nodes: {hops} hops, {expected} expected");
        assert_eq!(counter(&outcome, "failed_look_ups"), 0);
    }
}

#[test]
fn fingers_fixed_one_a_period_come_to_the_same_in_the_end() {
    let parameters = Parameters { nodes: 256, keys: Keys::Uniform, ..Parameters::default() };
    let hops = |until_s| {
        let outcome = run(parameters.clone(), 1, until_s).expect("the ring is right");
        let tally = outcome.metrics.get("hops").and_then(|metric| metric.tally()).cloned().expect("it is declared");
        (tally.sum(), u128::from(tally.count()))
    };
    let (before, after) = (hops(2500), hops(4000));
    let late = (after.0 - before.0) as f64 / (after.1 - before.1) as f64;
    assert!((late - 4.0).abs() < 0.25, "{late}");
}

#[test]
fn the_ring_heals_when_nodes_leave_crash_and_come_back() {
    for seed in 1..=10 {
        let outcome = run(restless(60), seed, 1300).expect("the ring is right again");
        assert_eq!(counter(&outcome, "members"), 60);
        let departures = counter(&outcome, "departures");
        assert!(departures > 50, "{departures} departures");
        // Some nodes go before they have joined.
        let joins = counter(&outcome, "joins");
        assert!((60 + departures * 3 / 4..=60 + departures).contains(&joins), "{joins} joins");
        assert!(counter(&outcome, "messages_lost") > 0, "who is away is not reached");
    }
}

#[test]
fn nodes_that_do_not_sleep_answer_at_once() {
    let latency = Delay::from_ms(50);
    let parameters =
        Parameters { latency, idle: Delay::ZERO, keys: Keys::Uniform, nodes: 200, ..Parameters::default() };
    let outcome = run(parameters, 1, 1000).expect("the ring is right");
    // A look-up has a message for each hop, and the answer.
    let most = |name: &str| {
        let tally = outcome.metrics.get(name).and_then(|metric| metric.tally()).expect("it is declared");
        tally.max().expect("something was observed")
    };
    assert_eq!(most("look_up_time"), (most("hops") + 1) * latency.as_ps());
}

/// Returns the share of right look-ups and the bytes of maintenance for each node and second.
fn success_and_cost(session_s: u64, period_s: u64, seed: u64) -> (f64, f64) {
    let churn = (session_s > 0).then(|| churn(session_s, session_s / 4));
    let period = Delay::from_secs(period_s);
    let parameters = Parameters {
        nodes: 100,
        latency: Delay::from_ms(50),
        idle: Delay::ZERO,
        timeout: Delay::from_secs(1),
        keys: Keys::Uniform,
        stabilise: period,
        fix_fingers: period,
        check_predecessor: period,
        churn,
        ..Parameters::default()
    };
    let outcome = run(parameters, seed, 600).expect("it runs");
    let value = |name| outcome.metrics.get(name).and_then(|metric| metric.headline()).expect("it is set");
    assert!(value("maintenance_bytes_per_node_and_second") < value("bytes_per_node_and_second"));
    (value("success"), value("maintenance_bytes_per_node_and_second"))
}

#[test]
fn success_falls_with_churn_and_rises_with_maintenance() {
    let calm = success_and_cost(0, 10, 1);
    let [slow, middle, fast] = [80, 20, 5].map(|period_s| success_and_cost(150, period_s, 1));
    assert!(calm.0 > 0.999, "{calm:?}");
    assert!(slow.0 < middle.0 && middle.0 < fast.0 && fast.0 < calm.0, "{slow:?} {middle:?} {fast:?}");
    assert!(slow.1 < middle.1 && middle.1 < fast.1, "{slow:?} {middle:?} {fast:?}");
}

#[test]
fn who_is_there_when_nodes_cease_to_go_stays() {
    for seed in 1..=3 {
        let departures = |until_s| counter(&run(restless(300), seed, until_s).expect("it can run"), "departures");
        assert_eq!(departures(600), departures(700), "seed {seed}");
    }
}

/// Compares the digests and the metrics of a run on each engine.
fn assert_engines_agree(parameters: Parameters, until_s: u64, seed: u64, tie_seed: Option<u64>) {
    let model = model(parameters, seed);
    let options = || RunOptions { seed, tie_seed, ..RunOptions::until(seconds(until_s)) };
    let expected = sequential::run(&model, options()).expect("it can run");
    let check = |how: String, outcome: Result<Outcome, Error>| {
        let outcome = outcome.expect("it can run");
        assert_eq!((outcome.digest, outcome.events), (expected.digest, expected.events), "{how}, {seed} {tie_seed:?}");
        assert_eq!(outcome.metrics, expected.metrics, "{how}, {seed} {tie_seed:?}");
    };
    for threads in [1, 2, 3, 8] {
        let settings = window::Settings::of_threads(threads);
        check(format!("window on {threads}"), window::run(&model, options(), &settings));
        let settings = null_message::Settings::of_threads(threads);
        check(format!("null-message on {threads}"), null_message::run(&model, options(), &settings));
    }
}

#[test]
fn every_engine_gives_the_answer_of_sequential() {
    for (seed, tie_seed) in [(1, None), (2, None), (3, Some(7)), (4, Some(8))] {
        assert_engines_agree(Parameters { nodes: 40, ..Parameters::default() }, 60, seed, tie_seed);
    }
}

#[test]
fn every_engine_gives_the_answer_of_sequential_where_nodes_are_fetched_ahead() {
    assert_engines_agree(restless(2000), 60, 1, Some(7));
}

#[test]
fn every_engine_gives_the_answer_of_sequential_where_nodes_come_and_go() {
    let mut parameters = restless(24);
    parameters.churn = Some(churn(20, 5));
    for (seed, tie_seed) in [(1, None), (2, Some(7))] {
        assert_engines_agree(parameters.clone(), 80, seed, tie_seed);
    }
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    let default = Parameters::default;
    let refused = |parameters| Chord::model(parameters, 1).map(|_| ()).expect_err("it is impossible").0;
    assert_eq!(refused(Parameters { bits: 0, ..default() }), "bits");
    assert_eq!(refused(Parameters { bits: 33, ..default() }), "bits");
    assert_eq!(refused(Parameters { nodes: 0, ..default() }), "nodes");
    assert_eq!(refused(Parameters { bits: 4, nodes: 17, ..default() }), "nodes");
    assert_eq!(refused(Parameters { timeout: Delay::ZERO, ..default() }), "timeout");
    assert_eq!(refused(Parameters { spacing: Delay::MAX, ..default() }), "spacing");
    let why = |parameters| Chord::model(parameters, 1).map(|_| ()).expect_err("it is impossible").1;
    assert_eq!(why(Parameters { nodes: 0, ..default() }), "a ring has at least one node");
    assert_eq!(
        why(Parameters { bits: 4, nodes: 17, ..default() }),
        "17 nodes are more than the 16 identifiers of 4 bits"
    );
    assert_eq!(
        why(Parameters { bits: 32, nodes: u32::MAX - 1, ..default() }),
        "4294967294 nodes are more than a model may have: 4294967293"
    );
}

#[test]
fn a_ring_that_has_not_had_time_to_settle_is_told_of_and_no_error() {
    let outcome = run(Parameters { nodes: 200, ..Parameters::default() }, 1, 4).expect("nothing is promised yet");
    assert_eq!(counter(&outcome, "members"), 1);
    let strict = Parameters { nodes: 200, settle: Delay::ZERO, ..Parameters::default() };
    let error = run(strict, 1, 15).expect_err("predecessors are not known yet");
    assert!(error.to_string().contains("the ring is wrong: of "), "{error}");
}

type Precise = AsProgram<Chord, FlowLevel<Message>>;

fn precise_on(platform: Platform, parameters: Parameters, seed: u64) -> Processes<Precise> {
    let flows =
        FlowLevel::new(Arc::new(platform), NetworkModel::MaxMin(MaxMinModel::LV08), parameters.nodes, Chord::bytes);
    Chord::over(flows, parameters, seed).expect("the parameters are possible")
}

fn precise(parameters: Parameters, seed: u64) -> Processes<Precise> {
    precise_on(star(parameters.nodes).expect("it is possible"), parameters, seed)
}

fn run_precise(model: &Processes<Precise>, seed: u64, until_s: u64) -> Result<Outcome, Error> {
    sequential::run(model, RunOptions { seed, ..RunOptions::until(seconds(until_s)) })
}

#[test]
fn where_messages_are_flows_all_who_join_at_once_form_one_ring() {
    for nodes in [1, 2, 3, 30, 300] {
        for seed in 1..=2 {
            let parameters = Parameters { nodes, ..Parameters::default() };
            let outcome = run_precise(&precise(parameters, seed), seed, 1000).expect("the ring is right");
            assert_eq!(counter(&outcome, "members"), u128::from(nodes));
            assert_eq!(counter(&outcome, "wrong_look_ups"), 0);
            assert_eq!(counter(&outcome, "messages_failed"), 0);
        }
    }
}

#[test]
fn where_messages_are_flows_the_ring_heals_too() {
    let outcome = run_precise(&precise(restless(60), 1), 1, 1300).expect("the ring is right again");
    assert_eq!(counter(&outcome, "members"), 60);
    assert!(counter(&outcome, "departures") > 50);
}

#[test]
fn a_message_that_is_a_flow_takes_as_long_as_its_route_says() {
    // Two nodes: the second asks the first to join, and is answered.
    let outcome = run_precise(&precise(Parameters { nodes: 2, ..Parameters::default() }, 1), 1, 10).expect("it runs");
    let tally = outcome.metrics.get("join_time").and_then(|metric| metric.tally()).expect("it is declared");
    // The request arrives while the first node sleeps, which wakes after 5 s. The answer takes 13.01 times
    // 600 us, and 10 bytes at 0.97 of 125 MB/s.
    let back = 13.01 * 600e-6 + 10.0 / (0.97 * 125e6);
    let expected = Delay::try_from_secs_f64(5.0 + back).expect("short").as_ps();
    assert!(tally.max().expect("one joined").abs_diff(expected) < 2_000, "{tally:?}");
}

/// Returns combinations of the settings of `rounds`.
fn ways_of_rounds(threads: usize) -> impl Iterator<Item = Settings> {
    let thresholds = [
        Threshold::Adaptive,
        Threshold::Cumulative(250),
        Threshold::Naive(250),
        Threshold::Fixed(2),
        Threshold::Fixed(u64::MAX),
    ];
    let waitings = [Waiting::Adaptive, Waiting::Futex, Waiting::Posix, Waiting::Busy];
    let all = thresholds.into_iter().flat_map(move |threshold| waitings.map(|waiting| (threshold, waiting)));
    all.flat_map(move |(threshold, waiting)| {
        let main = if waiting == Waiting::Futex { Main::Sleeps } else { Main::Works };
        [Settings { threshold, waiting, main, ..Settings::of_threads(threads) }]
    })
}

#[test]
fn where_messages_are_flows_rounds_give_the_answer_of_sequential_however_they_are_run() {
    for seed in 1..=5 {
        let model = precise(Parameters { nodes: 24, ..Parameters::default() }, seed);
        let options = || RunOptions { seed, ..RunOptions::until(seconds(40)) };
        let expected = sequential::run(&model, options()).expect("it can run");
        let same = |how: &str, outcome: Result<Outcome, Error>| {
            let outcome = outcome.expect("it can run");
            assert_eq!((outcome.digest, outcome.events), (expected.digest, expected.events), "{how}, seed {seed}");
            assert_eq!(outcome.metrics, expected.metrics, "{how}, seed {seed}");
        };
        for threads in [1, 2, 3, 8] {
            // All settings on two threads; on other numbers of threads the ordinary ones, and all rounds in
            // parallel.
            let chosen = |settings: &Settings| threads == 2 || settings.waiting == Waiting::Adaptive;
            for settings in ways_of_rounds(threads).filter(chosen) {
                same(&format!("{settings:?}"), rounds::run(&model, options(), &settings));
            }
        }
        // These engines find no lookahead, and go on with one worker.
        same("window", window::run(&model, options(), &window::Settings::of_threads(2)));
        same("null-message", null_message::run(&model, options(), &null_message::Settings::of_threads(2)));
    }
}

#[test]
fn hosts_that_fail_fail_messages_and_the_ring_goes_on() {
    // There are four hosts for 12 nodes. One host is away from 50 s to 100 s.
    let text = r#"<platform version="4.1"><zone id="world" routing="Full">
        <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><host id="c" speed="1Gf"/>
        <host id="d" speed="1Gf"><prop id="x" value="y"/></host>
        <trace id="away" periodicity="-1">50 0
100 1</trace><trace_connect trace="away" element="d" kind="HOST_AVAIL"/>
        <link id="wire" bandwidth="10MBps" latency="1ms"/>
        <route src="a" dst="b"><link_ctn id="wire"/></route><route src="a" dst="c"><link_ctn id="wire"/></route>
        <route src="a" dst="d"><link_ctn id="wire"/></route><route src="b" dst="c"><link_ctn id="wire"/></route>
        <route src="b" dst="d"><link_ctn id="wire"/></route><route src="c" dst="d"><link_ctn id="wire"/></route>
        </zone></platform>"#;
    let platform = xml::parse(Path::new("four.xml"), text.as_bytes()).expect("it is right");
    let parameters = Parameters { settle: Delay::from_secs(600), ..restless(12) };
    let outcome = run_precise(&precise_on(platform, parameters, 1), 1, 1300).expect("the ring is right again");
    assert!(counter(&outcome, "messages_failed") > 0, "messages to and from the host that is away fail");
    assert_eq!(counter(&outcome, "members"), 12);
}
