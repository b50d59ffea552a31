//! Runs random traffic over the router line with each engine, and compares the digests.

mod random_traffic;
mod router_line;

use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::{null_message, rounds, sequential, window};
use parades_program::Processes;
use random_traffic::RandomTraffic;

fn main() -> Result<(), Error> {
    let model = Processes::new(RandomTraffic::new(12));
    let options = || RunOptions::until(Time::from_ps(10_000_000_000_000));
    let expected = sequential::run(&model, options())?.digest;
    for workers in 1..=3 {
        let found = [
            rounds::run(&model, options(), &rounds::Settings::of_threads(workers))?.digest,
            window::run(&model, options(), &window::Settings::of_threads(workers))?.digest,
            null_message::run(&model, options(), &null_message::Settings::of_threads(workers))?.digest,
        ];
        assert!(found.iter().all(|&digest| digest == expected), "{workers} workers: {found:?}, not {expected:?}");
    }
    println!("one digest under four engines on 1 to 3 workers: {expected:?}");
    Ok(())
}
