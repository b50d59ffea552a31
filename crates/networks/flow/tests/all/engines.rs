//! The model `flows` on several engines: the same rows and the same digest.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_flow::flows::Flows;
use parades_flow::network_model::{MaxMinModel, NetworkModel};
use parades_flow::{pattern, xml};

fn model() -> Flows {
    let text = r#"<platform version="4.1"><trace id="off" periodicity="0">0.4 0
        0.6 1</trace><cluster id="c" prefix="n" suffix="" radical="0-9" speed="1Gf" bw="100MBps" lat="50us" bb_bw="250MBps" bb_lat="1ms"/>
        <trace_connect kind="LINK_AVAIL" trace="off" element="c_link_3"/></platform>"#;
    let platform = xml::parse("c.xml".as_ref(), text.as_bytes()).unwrap();
    let lines: String = (0..40)
        .map(|k| format!("{k} n{} n{} {}e6 0.{:02}\n", k % 10, (k * 7 + 1) % 10, 1 + k * 3 % 17, k * 3 % 50))
        .collect();
    let model = NetworkModel::MaxMin(MaxMinModel::LV08);
    let flows = pattern::parse("p.txt".as_ref(), lines.as_bytes(), &platform, model).unwrap();
    Flows::new(platform, flows, model)
}

#[test]
fn undone_and_repeated_executions_give_the_same_result() {
    let model = model();
    let options = || RunOptions::until(Time::MAX);
    let (once, twice) = (sequential::run(&model, options()).unwrap(), rollback_check::run(&model, options()).unwrap());
    assert_eq!(once.digest, twice.digest);
    let count = |name: &str| once.metrics.get(name).and_then(|metric| metric.counter()).unwrap();
    assert_eq!(count("flows_finished") + count("flows_failed"), 40);
    assert!(count("flows_failed") > 0, "the link was off");
    let rows = |outcome: &Outcome| {
        format!("{:?}", outcome.metrics.get("flows").and_then(|metric| metric.table()).unwrap().rows())
    };
    assert_eq!(rows(&once), rows(&twice));
}

#[test]
fn a_run_that_ends_early_counts_the_unfinished_flows() {
    let model = model();
    let outcome = sequential::run(&model, RunOptions::until(Time::try_from_secs_f64(0.2).unwrap())).unwrap();
    let count = |name: &str| outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap();
    assert!(count("flows_unfinished") > 0);
    assert_eq!(count("flows_finished") + count("flows_failed") + count("flows_unfinished"), 40);
    let table = outcome.metrics.get("flows").and_then(|metric| metric.table()).unwrap();
    assert_eq!(
        table.rows().iter().filter(|row| row[2] == Cell::Empty).count() as u128,
        count("flows_unfinished") + count("flows_failed")
    );
}

#[test]
fn parallel_engines_give_the_result_of_the_sequential_engine() {
    let model = model();
    let options = || RunOptions::until(Time::MAX);
    let expected = sequential::run(&model, options()).unwrap();
    let by_window = window::Settings::of_threads(2);
    let by_nulls = null_message::Settings::of_threads(2);
    let by_warp = time_warp::Settings::of_threads(2);
    for (name, outcome) in [
        ("window", window::run(&model, options(), &by_window)),
        ("null-message", null_message::run(&model, options(), &by_nulls)),
        ("time-warp", time_warp::run(&model, options(), &by_warp)),
    ] {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.digest, expected.digest, "{name}");
        assert_eq!(outcome.events, expected.events, "{name}");
    }
}
