//! What a batch of runs came to.

use crate::compare::Answer;
use crate::random_model::EXPECTED_PANIC;
use std::collections::BTreeSet;
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
    /// What differed, and how to see it again.
    pub differences: Vec<String>,
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
        let Report { models, failing_models, failures, runs, events, rollbacks, anti_messages, differences } = self;
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
