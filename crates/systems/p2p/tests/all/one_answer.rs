//! The check that all engines and both drivers give one answer.

use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::{null_message, rollback_check, rounds, sequential, time_warp, window};
use parades_p2p::driver::{AsModel, AsProgram, Protocol};
use parades_program::RestorableCarrier;
use std::fmt::Debug;

/// Runs a protocol as a program and as a model, under every engine, and compares events, digests and metrics.
/// Returns the outcome of the program, which has metrics of programs too.
pub(crate) fn assert_one_answer<P, C>(protocol: impl Fn() -> P, carrier: &C, seed: u64, until: Time) -> Outcome
where
    P: Protocol<Machine: Clone + PartialEq + Debug, Message: PartialEq>,
    C: RestorableCarrier<P::Message, Access: PartialEq + Debug, Lp: Clone + PartialEq + Debug> + Clone,
{
    let options = || RunOptions { seed, ..RunOptions::until(until) };
    let program = AsProgram::model(protocol(), carrier.clone());
    let expected = sequential::run(&program, options()).expect("it runs");
    let check = |engine: &str, outcome: Result<Outcome, Error>| {
        let outcome = outcome.expect("it runs");
        assert_eq!((outcome.events, outcome.digest), (expected.events, expected.digest), "{engine}, seed {seed}");
        for (name, unit, value) in outcome.metrics.iter() {
            assert_eq!(expected.metrics.get(name), Some(value), "{engine}, seed {seed}: {name} in {unit:?}");
        }
    };
    let model = AsModel::new(protocol(), carrier.clone());
    check("sequential", sequential::run(&model, options()));
    check("rollback-check", rollback_check::run(&model, options()));
    for threads in 1..=3 {
        check("rounds", rounds::run(&model, options(), &rounds::Settings::of_threads(threads)));
        check("window", window::run(&model, options(), &window::Settings::of_threads(threads)));
        check("null-message", null_message::run(&model, options(), &null_message::Settings::of_threads(threads)));
        check("time-warp", time_warp::run(&model, options(), &time_warp::Settings::of_threads(threads)));
    }
    expected
}
