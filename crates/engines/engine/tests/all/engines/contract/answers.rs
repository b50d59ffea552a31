//! The answer of a run: its result and its trace.

use crate::engines::support::script::Script;
use crate::engines::support::{Answer, traced};
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::{rollback_check, sequential};

/// Returns the answer of `sequential`. Checks that it is the same with another pending set, and under
/// `rollback_check`.
pub(crate) fn run(model: &Script, options: impl Fn() -> RunOptions<'static>) -> Answer {
    let (result, trace) = traced(options(), |options| sequential::run(model, options));
    let heap = traced(options(), |options| sequential::run_on_heap(model, options));
    let check = traced(options(), |options| rollback_check::run(model, options));
    for (other, other_trace) in [heap, check] {
        assert_eq!(trace, other_trace);
        match (&result, &other) {
            (Ok(a), Ok(b)) => {
                assert_eq!((a.digest, &a.lp_digests, &a.metrics), (b.digest, &b.lp_digests, &b.metrics));
                assert_eq!((a.events, a.global_events, a.end), (b.events, b.global_events, b.end));
            }
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err()),
        }
    }
    (result, trace)
}

/// Returns the outcome and the trace of a run until `ps`. The run must succeed.
pub(crate) fn run_until(model: &Script, ps: u64) -> (Outcome, Vec<String>) {
    let (result, trace) = run(model, || RunOptions::until(Time::from_ps(ps)));
    (result.unwrap_or_else(|error| panic!("{error}")), trace)
}

/// Returns the error of a run without an end time.
pub(crate) fn error_of(model: &Script) -> Error {
    run(model, || RunOptions::until(Time::MAX)).0.expect_err("the model fails")
}
