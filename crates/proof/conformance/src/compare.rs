//! Runs a model on an engine, and compares the answer with that of `sequential`.

use crate::engines::{Engine, Setting};
use parades_core::error::{Error, ErrorKind};
use parades_core::model::Model;
use parades_core::run::{Outcome, RunOptions};
use parades_core::trace::{Note, TraceFilter, Tracer, write_lines};
use parades_engine::sequential;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The question that a run answers. The answer depends on nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// The end.
    pub until: parades_core::time::Time,
    /// The seed.
    pub seed: u64,
    /// The tie seed.
    pub tie_seed: Option<u64>,
    /// True if a trace with notes is written.
    pub traced: bool,
}

/// The answer of a run.
#[derive(Debug)]
pub struct Answer {
    /// The outcome, or the error. A failed assertion of the engine is an [`ErrorKind::Panic`] without a
    /// place.
    pub result: Result<Outcome, Error>,
    /// The trace. Each entry is an event with its notes.
    pub trace: Vec<String>,
    /// The messages that each event sent and the timers that it set, as the trace saw them.
    pub told: Vec<Vec<Note>>,
}

impl Answer {
    /// Returns a figure that only the engine has, or 0.
    pub fn stat(&self, name: &str) -> u64 {
        self.find_stat(name).unwrap_or(0)
    }

    /// Returns a figure that only the engine has, or `None` if it has no such figure, or failed.
    pub fn find_stat(&self, name: &str) -> Option<u64> {
        let stats = self.result.as_ref().map_or(&[][..], |outcome| &outcome.engine_stats);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts, written as floats")]
        stats.iter().find(|(other, _)| *other == name).map(|(_, value)| *value as u64)
    }
}

/// Runs a question. A panic, such as a failed assertion, becomes an answer too.
pub fn ask(question: Question, run: impl FnOnce(RunOptions<'_>) -> Result<Outcome, Error>) -> Answer {
    let Question { until, seed, tie_seed, traced } = question;
    let mut trace: Vec<String> = Vec::new();
    let mut sink = |line: &str| {
        match trace.last_mut().filter(|_| line.starts_with("  |")) {
            Some(event) => *event = format!("{event}\n{line}"),
            None => trace.push(line.into()),
        }
        Ok(())
    };
    let mut told = Vec::new();
    let tracer = traced.then(|| {
        Tracer::observing(TraceFilter::default(), |executed| {
            let notes = executed.notes.iter().filter(|note| !matches!(note, Note::Line(_)));
            told.push(notes.cloned().collect());
            write_lines(executed, &mut sink)
        })
    });
    let [notes, sends, samples] = [traced; 3];
    let options = RunOptions { seed, tie_seed, notes, sends, samples, tracer, ..RunOptions::until(until) };
    let result = catch_unwind(AssertUnwindSafe(|| run(options))).unwrap_or_else(|panic| {
        let kind = ErrorKind::of_panic(panic.as_ref());
        Err(Error::new(kind))
    });
    Answer { result, trace, told }
}

/// Returns the answer of `sequential`.
pub fn expected<M: Model>(model: &M, question: Question) -> Answer {
    ask(question, |options| sequential::run(model, options))
}

/// Returns the answer of an engine, and how it differs from that of `sequential`.
pub fn check<M: Model>(
    model: &M,
    question: Question,
    engine: &Engine<M>,
    setting: &Setting<M>,
    expected: &Answer,
) -> (Answer, Result<(), String>) {
    let found = ask(question, |options| (engine.run)(model, options, setting));
    let same = compare(expected, &found);
    (found, same)
}

/// Compares two answers.
///
/// # Errors
///
/// One sentence about the first difference.
pub fn compare(expected: &Answer, found: &Answer) -> Result<(), String> {
    let differs = match (&expected.result, &found.result) {
        (Ok(expected), Ok(found)) => outcomes_differ(expected, found),
        (_, Err(found)) if found.place().is_none() && matches!(found.kind(), ErrorKind::Panic(_)) => {
            Some(format!("an assertion of the engine's failed: {:?}", found.kind()))
        }
        (Err(expected), Err(found)) if expected == found => None,
        (Err(expected), Err(found)) => Some(format!("the error is `{found}`\n  instead of `{expected}`")),
        (Ok(_), Err(found)) => Some(format!("it ended with the error `{found}`")),
        (Err(expected), Ok(_)) => Some(format!("it did not end with the error `{expected}`")),
    };
    let differs = differs.or_else(|| (expected.trace != found.trace).then(|| "the traces differ".to_string()));
    let told = || (expected.told != found.told).then(|| "the traces were told of other sends or samples".to_string());
    let differs = differs.or_else(told);
    let Some(differs) = differs else { return Ok(()) };
    Err(match first_divergence(&expected.trace, &found.trace) {
        Some(first_divergence) => format!("{differs}\n  {first_divergence}"),
        None => differs,
    })
}

fn outcomes_differ(expected: &Outcome, found: &Outcome) -> Option<String> {
    if expected.lp_digests != found.lp_digests {
        let pairs = expected.lp_digests.iter().zip(&found.lp_digests);
        let lps: Vec<usize> = pairs.enumerate().filter(|(_, (a, b))| a != b).map(|(lp, _)| lp).collect();
        return Some(format!("the digests of {} LPs differ, first of LP {}", lps.len(), lps.first()?));
    }
    if expected.metrics != found.metrics {
        let pairs = expected.metrics.iter().zip(found.metrics.iter());
        let (metric, ..) = pairs.filter(|(a, b)| a != b).map(|(a, _)| a).next()?;
        return Some(format!("the metric `{metric}` differs"));
    }
    let of = |o: &Outcome| (o.events, o.global_events, o.end, o.stopped_at, o.digest);
    (of(expected) != of(found)).then(|| {
        format!("(events, global events, end, stopped at, digest) are {:?}\n  instead of {:?}", of(found), of(expected))
    })
}

/// Returns the receiver of a traced event.
fn receiver(line: &str) -> &str {
    line.split(" <- ").next().and_then(|head| head.rsplit("LP ").next()).unwrap_or_default()
}

/// Returns the place where two traces diverge: the first different event of the first LP that has one.
pub fn first_divergence(expected: &[String], found: &[String]) -> Option<String> {
    let here = |(i, line): (usize, &String), other: &[String], seen: &[String]| {
        let lp = receiver(line);
        let number = seen[..i].iter().filter(|line| receiver(line) == lp).count();
        let theirs = other.iter().filter(|line| receiver(line) == lp).nth(number);
        (theirs != Some(line)).then(|| (lp.to_string(), number, theirs.cloned()))
    };
    let mut lines = expected.iter().enumerate();
    if let Some((line, (lp, number, theirs))) = lines.find_map(|at| Some((at.1, here(at, found, expected)?))) {
        let theirs = theirs.unwrap_or_else(|| "nothing".into());
        return Some(format!("LP {lp} parts at its event {number}:\n    {line}\n  but it executed\n    {theirs}"));
    }
    let extra = found.iter().enumerate().find_map(|at| Some((at.1, here(at, expected, found)?)));
    extra.map(|(line, (lp, number, _))| {
        format!("LP {lp} parts at its event {number}, which it should not have:\n    {line}")
    })
}
