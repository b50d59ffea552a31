//! Helpers that the tests of several engines use.

pub(crate) mod script;
pub(crate) mod treacherous;

use parades_core::error::Error;
use parades_core::prelude::*;
use parades_core::trace::{TraceFilter, Tracer};

/// Returns a statistic of the engine.
pub(crate) fn stat(outcome: &Outcome, name: &str) -> u64 {
    let (_, value) = outcome.engine_stats.iter().find(|(stat, _)| *stat == name).expect("it is counted");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts, written as floats")]
    let value = *value as u64;
    value
}

/// The result of a run, and its trace with notes.
pub(crate) type Answer = (Result<Outcome, Error>, Vec<String>);

/// Runs a model, and collects its trace.
pub(crate) fn traced(
    options: RunOptions<'static>,
    run: impl FnOnce(RunOptions<'_>) -> Result<Outcome, Error>,
) -> Answer {
    let mut trace = Vec::new();
    let sink = |line: &str| {
        trace.push(line.to_string());
        Ok(())
    };
    let tracer = Some(Tracer::new(TraceFilter::default(), sink));
    let result = run(RunOptions { notes: true, tracer, ..options });
    (result, trace)
}
