//! Helpers of several tests.

#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

use parades_core::prelude::*;
use parades_engine::retreat::Retreats;
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_netfile::{Built, NetworkFile};
use parades_packet::network::Network;
use parades_packet::segment::SegmentRef;

/// A file of this text.
pub(crate) fn file(text: &str) -> NetworkFile {
    NetworkFile::parse("net.toml".as_ref(), text.to_owned()).unwrap().expect("it has the key `network`")
}

/// The network of a file of this text.
pub(crate) fn built(text: &str) -> Built {
    let file = file(text);
    file.build(&file.parameters(), 1).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of a file of this text.
pub(crate) fn error(text: &str) -> String {
    match NetworkFile::parse("net.toml".as_ref(), text.to_owned()) {
        Err(error) => error.to_string(),
        Ok(None) => "no network".into(),
        Ok(Some(file)) => file.build(&file.parameters(), 1).map(|_| ()).expect_err("something is wrong").to_string(),
    }
}

pub(crate) fn options(seed: u64, until: Time) -> RunOptions<'static> {
    RunOptions { seed, ..RunOptions::until(until) }
}

/// The run of a file of this text, by the definition of the answer.
pub(crate) fn run(text: &str) -> Outcome {
    let Built { model, until, .. } = built(text);
    sequential::run(&model, options(1, until)).unwrap_or_else(|error| panic!("{error}"))
}

/// The same run on every engine, on 1, 2 and 3 threads, by name.
pub(crate) fn on_every_engine(model: &Network<SegmentRef>, seed: u64, until: Time) -> Vec<(String, Outcome)> {
    let options = || options(seed, until);
    let mut all = vec![("rollback-check".to_owned(), rollback_check::run(model, options()).unwrap())];
    for threads in [1, 2, 3] {
        let mut add = |name: &str, outcome: Result<Outcome, _>| {
            let outcome =
                outcome.unwrap_or_else(|error: parades_core::error::Error| panic!("{name} on {threads}: {error}"));
            all.push((format!("{name} on {threads}"), outcome));
        };
        add("rounds", rounds::run(model, options(), &rounds::Settings::of_threads(threads)));
        add("window", window::run(model, options(), &window::Settings::of_threads(threads)));
        add("null-message", null_message::run(model, options(), &null_message::Settings::of_threads(threads)));
        let settings = time_warp::Settings { retreats: Retreats::Never, ..time_warp::Settings::of_threads(threads) };
        add("time-warp", time_warp::run(model, options(), &settings));
    }
    all
}

pub(crate) fn count(outcome: &Outcome, name: &str) -> u64 {
    let counter = outcome.metrics.get(name).and_then(|metric| metric.counter());
    u64::try_from(counter.unwrap_or_else(|| panic!("there is no counter {name}"))).unwrap()
}

pub(crate) fn value(outcome: &Outcome, name: &str) -> f64 {
    outcome.metrics.get(name).and_then(|metric| metric.headline()).unwrap_or_else(|| panic!("there is no {name}"))
}

/// The cell of a table, by a row's number and the column's name.
pub(crate) fn cell(outcome: &Outcome, table: &str, row: usize, column: &str) -> Cell {
    let table = outcome.metrics.get(table).and_then(|metric| metric.table()).unwrap();
    let place =
        table.columns().iter().position(|of| &*of.name == column).unwrap_or_else(|| panic!("no column {column}"));
    table.rows()[row][place].clone()
}

pub(crate) fn integer(outcome: &Outcome, table: &str, row: usize, column: &str) -> u64 {
    match cell(outcome, table, row, column) {
        Cell::Integer(x) => x,
        other => panic!("{column} is {other:?}"),
    }
}
