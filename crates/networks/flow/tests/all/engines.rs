//! The model `flows` on several engines: the same rows and the same digest.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, sequential, time_warp, window};
use parades_flow::flows::{Flows, Unfinished};
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

/// At 100 MB/s, a flow of half a second is finished at the end. Two of a second have 0.75 and 0.5 s until the
/// end. A fourth one starts later.
#[test]
fn the_time_so_far_of_unfinished_flows_counts_on_request() {
    let text = r#"<platform version="4.1">
        <cluster id="c" prefix="n" suffix="" radical="0-9" speed="1Gf" bw="100MBps" lat="0us"/></platform>"#;
    let run = |unfinished| {
        let platform = xml::parse("c.xml".as_ref(), text.as_bytes()).unwrap();
        let model = NetworkModel::MaxMin(MaxMinModel::CM02);
        let lines = b"1 n0 n1 5e7 0\n2 n2 n3 1e8 0.25\n3 n4 n5 1e8 0.5\n4 n6 n7 1e8 2\n";
        let flows = pattern::parse("p.txt".as_ref(), lines, &platform, model).unwrap();
        let model = Flows::new(platform, flows, model).with_unfinished(unfinished);
        let options = || RunOptions::until(Time::from_ms(1000));
        let outcome = sequential::run(&model, options()).unwrap();
        let repeated = rollback_check::run(&model, options()).unwrap();
        assert_eq!((outcome.digest, &outcome.metrics), (repeated.digest, &repeated.metrics));
        outcome
    };
    let durations = |outcome: &Outcome| {
        let tally = outcome.metrics.get("duration").and_then(|metric| metric.tally()).cloned().unwrap();
        (tally.count(), tally.mean().unwrap(), tally.max().unwrap())
    };
    let note = |outcome: &Outcome| match outcome.metrics.get("note").and_then(|metric| metric.value()) {
        Some(Cell::Text(note)) => note.to_string(),
        other => panic!("{other:?}"),
    };
    let (left_out, so_far) = (run(Unfinished::LeftOut), run(Unfinished::SoFar));
    assert_eq!(left_out.digest, so_far.digest);
    assert_eq!(durations(&left_out), (1, 0.5e12, 500_000_000_000));
    // 0.5, 0.75 and 0.5 s.
    let (count, mean, max) = durations(&so_far);
    assert_eq!((count, max), (3, 750_000_000_000));
    assert!((mean - 1.75e12 / 3.0).abs() < 1.0, "{mean}");
    assert_eq!(note(&left_out), "2 of 4 flows are unfinished, and have no duration");
    let expected = "2 of 4 flows are unfinished, and their times so far count as durations, lower bounds";
    assert_eq!(note(&so_far), expected);
    let rows = |outcome: &Outcome| outcome.metrics.get("flows").and_then(|metric| metric.table()).unwrap().rows();
    assert!(rows(&left_out).iter().all(|row| row.len() == 3));
    let table = rows(&so_far);
    let so_far = [Cell::Empty, Cell::Integer(750_000_000_000), Cell::Integer(500_000_000_000), Cell::Empty];
    assert_eq!(table.iter().map(|row| row[3].clone()).collect::<Vec<_>>(), so_far);
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
