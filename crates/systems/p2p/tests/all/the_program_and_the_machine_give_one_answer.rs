//! Chord as a program and as a model whose state can be restored: the same look-ups, answers, times and
//! digests.

use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_p2p::chord::{Chord, Keys, Parameters};
use parades_p2p::churn::{Churn, Law, Schedule};

fn seconds(seconds: u64) -> Time {
    Time::ZERO.checked_add(Delay::from_secs(seconds)).expect("a short run")
}

fn options(seed: u64, until_s: u64) -> RunOptions<'static> {
    RunOptions { seed, ..RunOptions::until(seconds(until_s)) }
}

/// Parameters of several kinds of runs, with a name for each.
fn cases() -> Vec<(&'static str, Parameters)> {
    // Some of the rings take long to become right, or never do.
    let settle = Delay::from_secs(1000);
    let plain = Parameters { nodes: 60, settle, keeps_look_ups: true, ..Parameters::default() };
    let law = |mean| Law::exponential(Delay::from_secs(mean)).expect("a mean above zero");
    let churn = |session, absence| Churn::random(law(session), law(absence), seconds(250)).with_crash(0.5);
    let schedule = "3 0 40\n3 60 90.5\n7 20 200\n0 5 100\n0 101 150\n11 0 1e6\n";
    let schedule = Schedule::parse("trace".as_ref(), schedule.to_owned()).expect("it is right");
    vec![
        ("plain", plain.clone()),
        ("alone", Parameters { nodes: 1, ..plain.clone() }),
        ("two", Parameters { nodes: 2, ..plain.clone() }),
        ("spaced", Parameters { spacing: Delay::from_ms(1700), ..plain.clone() }),
        ("uniform", Parameters { keys: Keys::Uniform, fingers_at_once: true, ..plain.clone() }),
        // Timeouts that end at the same time as sleeps, and answers that come at the last moment.
        (
            "slow",
            Parameters {
                latency: Delay::from_secs(5),
                timeout: Delay::from_secs(10),
                look_up: Delay::from_secs(5),
                ..plain.clone()
            },
        ),
        ("awake", Parameters { idle: Delay::ZERO, ..plain.clone() }),
        (
            "churn, awake",
            Parameters {
                churn: Some(churn(60, 10)),
                idle: Delay::ZERO,
                timeout: Delay::from_secs(1),
                keys: Keys::Uniform,
                ..plain.clone()
            },
        ),
        ("churn", Parameters { churn: Some(churn(60, 10)), ..plain.clone() }),
        ("nervous", Parameters { churn: Some(churn(6, 1)), fingers_at_once: true, ..plain.clone() }),
        (
            "all crash",
            Parameters { churn: Some(churn(40, 5).with_crash(1.0)), timeout: Delay::from_secs(5), ..plain.clone() },
        ),
        ("scheduled", Parameters { churn: Some(Churn::scheduled(schedule, seconds(250)).with_crash(0.3)), ..plain }),
    ]
}

fn look_ups(outcome: &Outcome) -> Vec<Vec<Cell>> {
    outcome.metrics.get("look_up_log").and_then(MetricValue::table).expect("it is declared").rows()
}

#[test]
fn they_look_up_the_same_keys_at_the_same_times_and_find_the_same_nodes() {
    for (name, parameters) in cases() {
        for seed in 1..=4 {
            let program = Chord::model(parameters.clone(), seed).expect("possible");
            let program = sequential::run(&program, options(seed, 400)).expect("it runs");
            let machine = Chord::restorable(parameters.clone(), seed).expect("possible");
            let machine = sequential::run(&machine, options(seed, 400)).expect("it runs");
            let (of_program, of_machine) = (look_ups(&program), look_ups(&machine));
            assert!(of_program.len() > 20, "{name}: {} look-ups", of_program.len());
            assert_eq!(of_program.len(), of_machine.len(), "{name}, seed {seed}");
            for (one, other) in of_program.iter().zip(&of_machine) {
                assert_eq!(one, other, "{name}, seed {seed}");
            }
            for (metric, unit, value) in machine.metrics.iter() {
                assert_eq!(program.metrics.get(metric), Some(value), "{name}, seed {seed}: {metric} in {unit:?}");
            }
            assert_eq!((program.events, program.digest), (machine.events, machine.digest), "{name}, seed {seed}");
        }
    }
}

#[test]
fn the_machine_gives_one_answer_under_every_engine_also_those_that_roll_back() {
    for (name, parameters) in cases() {
        let model =
            Chord::restorable(Parameters { nodes: parameters.nodes.min(30), ..parameters }, 1).expect("possible");
        let options = || options(1, 120);
        let expected = sequential::run(&model, options()).expect("it runs");
        let check = |engine: &str, outcome: Result<Outcome, parades_core::error::Error>| {
            let outcome = outcome.expect("it runs");
            assert_eq!(outcome.digest, expected.digest, "{name}: {engine}");
            assert_eq!(outcome.metrics, expected.metrics, "{name}: {engine}");
        };
        check("rollback-check", rollback_check::run(&model, options()));
        for threads in 1..=3 {
            check("rounds", rounds::run(&model, options(), &rounds::Settings::of_threads(threads)));
            check("window", window::run(&model, options(), &window::Settings::of_threads(threads)));
            check("null-message", null_message::run(&model, options(), &null_message::Settings::of_threads(threads)));
            check("time-warp", time_warp::run(&model, options(), &time_warp::Settings::of_threads(threads)));
        }
    }
}
