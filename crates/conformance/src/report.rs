//! What a batch of runs came to.

use crate::compare::Answer;
use crate::random_model::EXPECTED_PANIC;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic;

/// Counts, and the differences found.
#[derive(Debug, Default)]
pub struct Report {
    /// Models; in the matrix, models with a seed.
    pub models: u64,
    /// Of these, models that ended with an error.
    pub failing_models: u64,
    /// The kinds of their errors.
    pub failures: BTreeSet<String>,
    /// Runs compared with `sequential`.
    pub runs: u64,
    /// Events committed in them.
    pub events: u64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Anti-messages.
    pub anti_messages: u64,
    /// Of each optimistic engine, over each transport: what it took back.
    pub taken_back: BTreeMap<(&'static str, &'static str), TakenBack>,
    /// What differed, and how to see it again.
    pub differences: Vec<String>,
    /// What has not been shown although the batch is there to show it.
    pub gaps: Vec<String>,
}

/// What runs on several workers took back; runs that ended with an error, and hence without figures, are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TakenBack {
    /// Runs.
    pub runs: u64,
    /// Of these, runs with a rollback.
    pub with_rollbacks: u64,
    /// Rollbacks in all of them.
    pub rollbacks: u64,
}

impl Report {
    /// Counts a model, by its answer on `sequential`.
    pub fn count_model(&mut self, expected: &Answer) {
        self.models += 1;
        if let Err(error) = &expected.result {
            self.failing_models += 1;
            let kind = format!("{:?}", error.kind());
            self.failures.insert(kind.split(['(', ' ']).next().unwrap_or_default().into());
        }
    }

    /// Counts a run.
    pub fn add(&mut self, answer: &Answer) {
        self.runs += 1;
        self.events += answer.result.as_ref().map_or(answer.trace.len() as u64, |outcome| outcome.events);
        self.rollbacks += answer.stat("rollbacks");
        self.anti_messages += answer.stat("anti_messages");
    }

    /// Counts a run of an optimistic engine over a transport, for what it took back.
    pub fn add_optimistic(&mut self, engine: &'static str, transport: &'static str, workers: usize, answer: &Answer) {
        if workers > 1 && answer.result.is_ok() {
            let taken_back = self.taken_back.entry((engine, transport)).or_default();
            let rollbacks = answer.stat("rollbacks");
            taken_back.runs += 1;
            taken_back.with_rollbacks += u64::from(rollbacks > 0);
            taken_back.rollbacks += rollbacks;
        }
    }

    /// Notes each optimistic engine that had to take nothing back over a transport: that it gave the right answers then says little.
    pub fn demand_rollbacks(&mut self) {
        for ((engine, transport), taken_back) in &self.taken_back {
            if taken_back.rollbacks == 0 {
                let runs = taken_back.runs;
                self.gaps.push(format!(
                    "{engine} over {transport} never rolled back, in {runs} runs on several workers, so nothing is shown of how it does"
                ));
            }
        }
    }

    /// Whether all that was to be shown has been.
    pub fn is_good(&self) -> bool {
        self.differences.is_empty() && self.gaps.is_empty()
    }

    /// Notes a difference, and the arguments that replay it.
    pub fn difference(&mut self, what: String, replay: &str) {
        self.differences.push(format!("{what}\n  replay: cargo run --release -p parades-conformance -- {replay}"));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in self.differences.iter().take(10) {
            writeln!(f, "DIFFERENCE {difference}")?;
        }
        for ((engine, transport), TakenBack { runs, with_rollbacks, rollbacks }) in &self.taken_back {
            writeln!(
                f,
                "{engine} over {transport}: {rollbacks} rollbacks, in {with_rollbacks} of {runs} runs on several workers"
            )?;
        }
        for gap in &self.gaps {
            writeln!(f, "GAP {gap}")?;
        }
        let Report { models, failing_models, failures, runs, events, rollbacks, anti_messages, differences, .. } = self;
        write!(
            f,
            "{models} models ({failing_models} of them failing, in {} ways), {runs} runs, {events} events, {rollbacks} rollbacks, \
             {anti_messages} anti-messages, {} differences",
            failures.len(),
            differences.len()
        )
    }
}

/// Keeps the panics of models on purpose quiet, and with `all` those of assertions, which are reported as the answer of their engine.
pub fn silence_panics(all: bool) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let on_purpose = info.payload_as_str().is_some_and(|text| text.contains(EXPECTED_PANIC));
        if !all && !on_purpose {
            usual(info);
        }
    }));
}
