//! Kademlia: look-ups find the closest node in about as many hops as theory says, values survive their
//! publishers, and every engine gives one answer.

use parades_carriers::{Constant, Matrix};
use parades_core::error::Error;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_p2p::churn::{Churn, Law, Schedule};
use parades_p2p::driver::{AsModel, AsProgram};
use parades_p2p::kademlia::{Kademlia, Parameters, Tables};

const LATENCY: Delay = Delay::from_ms(50);

fn options(seed: u64, until_s: u64) -> RunOptions<'static> {
    RunOptions { seed, ..RunOptions::until(Time::from_secs(until_s)) }
}

fn model(parameters: &Parameters, seed: u64) -> AsModel<Kademlia, Constant> {
    AsModel::new(Kademlia::new(parameters.clone(), seed).expect("possible"), Constant::new(LATENCY))
}

fn run(parameters: &Parameters, seed: u64, until_s: u64) -> Outcome {
    sequential::run(&model(parameters, seed), options(seed, until_s)).expect("it runs")
}

fn counter(outcome: &Outcome, name: &str) -> u64 {
    let counter = outcome.metrics.get(name).and_then(MetricValue::counter).expect("it is declared");
    u64::try_from(counter).expect("a short run")
}

fn mean(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.get(name).and_then(MetricValue::headline).expect("it was observed")
}

fn ideal(nodes: u32) -> Parameters {
    Parameters { nodes, tables: Tables::Ideal, ..Parameters::default() }
}

fn churn(session: u64, absence: u64, until_s: u64) -> Churn {
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("a mean above zero");
    Churn::random(law(session), law(absence), Time::from_secs(until_s)).with_crash(0.5)
}

#[test]
fn every_look_up_finds_the_closest_node() {
    for (nodes, k, resiliency) in [(1, 20, 20), (2, 20, 20), (300, 20, 20), (600, 8, 8), (1000, 20, 3)] {
        let parameters = Parameters { k, resiliency, ..ideal(nodes) };
        let outcome = run(&parameters, 1, 100);
        let right = counter(&outcome, "right_look_ups");
        assert!(right >= 9 * u64::from(nodes), "{nodes} nodes: {right} look-ups");
        let others = ["wrong_look_ups", "failed_look_ups", "timeouts"].map(|name| counter(&outcome, name));
        assert_eq!(others, [0, 0, 0], "{nodes} nodes, k = {k}");
        assert_eq!(counter(&outcome, "members"), u64::from(nodes));
    }
}

#[test]
fn nodes_that_join_one_after_another_are_found() {
    // Also nodes that join at the same time find each other.
    for (nodes, k) in [(2, 20), (300, 20), (600, 8)] {
        let parameters = Parameters { nodes, k, resiliency: k, ..Parameters::default() };
        let outcome = run(&parameters, 1, 130);
        assert_eq!((counter(&outcome, "members"), counter(&outcome, "timeouts")), (u64::from(nodes), 0));
        assert!(counter(&outcome, "right_look_ups") >= 5 * u64::from(nodes), "{nodes} nodes");
        assert_eq!(counter(&outcome, "wrong_look_ups"), 0, "{nodes} nodes, k = {k}");
    }
}

#[test]
fn nodes_that_all_join_at_once_find_each_other() {
    // Nodes that know nobody yet pass on the node that they were told of.
    let parameters = Parameters { nodes: 200, spacing: Delay::ZERO, ..Parameters::default() };
    let outcome = run(&parameters, 3, 150);
    assert_eq!(counter(&outcome, "members"), 200);
    assert_eq!(counter(&outcome, "wrong_look_ups"), 0);
}

#[test]
fn the_path_to_the_closest_node_grows_with_the_logarithm() {
    // Each hop leaves a share of the remaining nodes that is the least of k uniform numbers. The mean of its
    // logarithm is the harmonic number H_k. So a path has about ln n / H_k hops (X. Cai, L. Devroye, "A
    // probabilistic analysis of Kademlia networks", ISAAC 2013). With α = 1 the look-up is the greedy one of
    // theory; the bound for any look-up is log2 n.
    for k in [4_u8, 20] {
        let harmonic: f64 = (1..=k).map(|i| 1.0 / f64::from(i)).sum();
        let hops = [500_u32, 4000].map(|nodes| {
            let parameters = Parameters { k, alpha: 1, resiliency: 1, ..ideal(nodes) };
            let outcome = run(&parameters, 1, 60);
            let hops = mean(&outcome, "hops");
            let theory = libm::log(f64::from(nodes)) / harmonic;
            assert!((hops - theory).abs() < 1.0, "{nodes} nodes, k = {k}: {hops} hops, in theory {theory}");
            assert!(hops <= f64::from(nodes).log2());
            hops
        });
        let (growth, theory) = (hops[1] - hops[0], libm::log(8.0) / harmonic);
        assert!((growth - theory).abs() < 0.2, "k = {k}: {growth} more hops, in theory {theory}");
    }
}

#[test]
fn look_ups_go_on_where_nodes_come_and_go() {
    let parameters = Parameters { churn: Some(churn(300, 60, 900)), ..ideal(300) };
    let outcome = run(&parameters, 2, 1000);
    let judged = counter(&outcome, "right_look_ups") + counter(&outcome, "wrong_look_ups");
    assert!(judged > 20_000, "{judged}");
    assert!(mean(&outcome, "success") > 0.98, "{}", mean(&outcome, "success"));
    assert!(counter(&outcome, "departures") > 500 && counter(&outcome, "timeouts") > 1000);
    // Once nodes have stopped going, all are members.
    assert_eq!(counter(&outcome, "members"), 300);
}

#[test]
fn nodes_that_keep_their_state_come_back_with_their_values() {
    let values_stored = |keep| {
        let churn = Some(churn(60, 10, 500).with_keep(keep));
        let parameters = Parameters { values: 100, republish: Delay::from_secs(7200), churn, ..ideal(100) };
        counter(&run(&parameters, 4, 500), "values_stored")
    };
    let (lost, kept) = (values_stored(0.0), values_stored(1.0));
    assert!(2 * kept > 3 * lost, "{kept} values are stored, and {lost} where nodes forget");
}

/// Node 0 publishes value 0, crashes after 50 s, and never comes back. So do, one by one, half of the other
/// nodes.
fn vanishing(republish: u64) -> Parameters {
    let mut sessions = "0 0 50\n".to_owned();
    for node in 1..60 {
        sessions += &format!("{node} 0 {}\n", 60 + 10 * node);
    }
    let schedule = Schedule::parse("sessions".as_ref(), sessions).expect("it is right");
    Parameters {
        k: 4,
        alpha: 2,
        resiliency: 4,
        values: 1,
        find_values: 1.0,
        warm_up: Delay::from_secs(20),
        republish: Delay::from_secs(republish),
        refresh: Delay::from_secs(100),
        // The time by which all that went would be back is after the run.
        churn: Some(Churn::scheduled(schedule, Time::from_secs(100_000)).with_crash(1.0)),
        ..ideal(120)
    }
}

#[test]
fn a_value_outlives_its_publisher_where_it_is_republished() {
    let outcome = run(&vanishing(30), 1, 900);
    let (found, missing) = (counter(&outcome, "values_found"), counter(&outcome, "values_missing"));
    assert!(found > 5000, "{found}");
    assert_eq!(missing, 0, "{found} were found");
    assert!(counter(&outcome, "values_stored") >= 4);
    assert_eq!(counter(&outcome, "members"), 60);
}

#[test]
fn a_value_expires() {
    let schedule = Schedule::parse("sessions".as_ref(), "0 0 50\n".to_owned()).expect("it is right");
    let parameters = Parameters {
        values: 1,
        find_values: 1.0,
        expire: Delay::from_secs(200),
        republish: Delay::from_secs(60),
        churn: Some(Churn::scheduled(schedule, Time::from_secs(100_000)).with_crash(1.0)),
        ..ideal(100)
    };
    let stored = |until_s| counter(&run(&parameters, 1, until_s), "values_stored");
    assert!(stored(190) >= 20, "{}", stored(190));
    assert_eq!(stored(260), 0, "its publisher is gone for 210 s");
    let parameters = Parameters { churn: None, ..parameters.clone() };
    assert!(counter(&run(&parameters, 1, 900), "values_stored") >= 20, "its publisher stores it again in time");
}

/// Parameters of several kinds of runs, with a name for each.
fn cases() -> Vec<(&'static str, Parameters)> {
    let plain = Parameters { nodes: 50, look_up: Delay::from_secs(5), ..Parameters::default() };
    let busy = Parameters {
        k: 3,
        alpha: 2,
        resiliency: 2,
        values: 70,
        find_values: 0.5,
        value_bytes: 50,
        questionable: Delay::from_secs(5),
        refresh: Delay::from_secs(30),
        republish: Delay::from_secs(25),
        expire: Delay::from_secs(60),
        ..plain.clone()
    };
    vec![
        ("plain", plain.clone()),
        ("ideal", Parameters { tables: Tables::Ideal, ..plain.clone() }),
        ("alone", Parameters { nodes: 1, ..plain.clone() }),
        ("at once", Parameters { spacing: Delay::ZERO, ..plain }),
        ("busy", busy.clone()),
        ("churn", Parameters { churn: Some(churn(20, 5, 100).with_keep(0.5)), ..busy.clone() }),
        // Timeouts that end when answers come.
        ("slow", Parameters { timeout: Delay::from_ms(100), churn: Some(churn(40, 5, 100)), ..busy }),
    ]
}

#[test]
fn every_engine_and_both_drivers_give_one_answer() {
    for (name, parameters) in cases() {
        for seed in 1..=2 {
            // With the second seed, all messages take the same time, so that many arrive at once.
            let carrier = Matrix::new(5, |from, to| match seed {
                1 => Delay::from_ms(u64::from(20 + 7 * from + to)),
                _ => LATENCY,
            });
            let kademlia = || Kademlia::new(parameters.clone(), seed).expect("possible");
            let program = AsProgram::model(kademlia(), carrier.clone());
            let expected = sequential::run(&program, options(seed, 120)).expect("it runs");
            check(&format!("{name}, seed {seed}"), &AsModel::new(kademlia(), carrier), &expected, seed);
        }
    }
}

fn check<M>(name: &str, model: &M, expected: &Outcome, seed: u64)
where
    M: parades_core::restore::Restorable<State: Clone + PartialEq + std::fmt::Debug>,
{
    let options = || options(seed, 120);
    let check = |engine: &str, outcome: Result<Outcome, Error>| {
        let outcome = outcome.expect("it runs");
        assert_eq!((outcome.events, outcome.digest), (expected.events, expected.digest), "{name}: {engine}");
        // The program has metrics of its processes too.
        for (metric, unit, value) in outcome.metrics.iter() {
            assert_eq!(expected.metrics.get(metric), Some(value), "{name}: {engine}: {metric} in {unit:?}");
        }
    };
    check("sequential", sequential::run(model, options()));
    check("rollback-check", rollback_check::run(model, options()));
    check("rounds", rounds::run(model, options(), &rounds::Settings::of_threads(2)));
    check("window", window::run(model, options(), &window::Settings::of_threads(3)));
    check("null-message", null_message::run(model, options(), &null_message::Settings::of_threads(2)));
    check("time-warp", time_warp::run(model, options(), &time_warp::Settings::of_threads(3)));
}

#[test]
fn ties_are_broken_without_effect_beyond_chance() {
    let parameters = Parameters { resiliency: 3, ..ideal(300) };
    let means = (1..=5).map(|tie_seed| {
        let options = RunOptions { tie_seed: Some(tie_seed), ..options(1, 60) };
        let outcome = sequential::run(&model(&parameters, 1), options).expect("it runs");
        assert_eq!(counter(&outcome, "wrong_look_ups"), 0);
        mean(&outcome, "hops")
    });
    let means: Vec<f64> = means.collect();
    let (least, most) = means.iter().fold((f64::MAX, 0.0_f64), |(least, most), &x| (least.min(x), most.max(x)));
    assert!(most - least < 0.05, "{means:?}");
}

#[test]
fn impossible_parameters_are_refused_by_name() {
    let refused = |parameters: Parameters| Kademlia::new(parameters, 1).expect_err("impossible");
    let plain = Parameters::default;
    let cases = [
        (Parameters { nodes: 0, ..plain() }, ("nodes", "Kademlia has at least one node")),
        (Parameters { k: 0, ..plain() }, ("k", "a bucket has 1 to 128 contacts, not 0")),
        (Parameters { alpha: 21, ..plain() }, ("alpha", "`alpha` must be from 1 to `k`, which is 20, not 21")),
        (
            Parameters { resiliency: 0, ..plain() },
            ("resiliency", "`resiliency` must be from 1 to `k`, which is 20, not 0"),
        ),
        (
            Parameters { timeout: Delay::ZERO, ..plain() },
            ("timeout", "`timeout` must be above zero, or time would stand still"),
        ),
        (Parameters { find_values: 0.5, ..plain() }, ("find_values", "there are no `values` to look up")),
        (
            Parameters { find_values: f64::NAN, values: 1, ..plain() },
            ("find_values", "a probability is from 0 to 1, not NaN"),
        ),
        (
            Parameters { spacing: Delay::MAX, ..plain() },
            ("spacing", "the last node would come after the end of virtual time"),
        ),
    ];
    for (parameters, (name, why)) in cases {
        assert_eq!(refused(parameters), (name, why.to_owned()));
    }
}
