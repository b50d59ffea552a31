//! What a batch of runs came to.

use crate::compare::Answer;
use crate::random_model::EXPECTED_PANIC;
use std::fmt;
use std::panic;

/// Counts, and the differences found.
#[derive(Debug, Default)]
pub struct Report {
    /// Models.
    pub models: u64,
    /// Of these, models that ended with an error.
    pub failing_models: u64,
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
        let Report { models, failing_models, runs, events, rollbacks, anti_messages, differences } = self;
        write!(
            f,
            "{models} models ({failing_models} of them failing), {runs} runs, {events} events, {rollbacks} rollbacks, \
             {anti_messages} anti-messages, {} differences",
            differences.len()
        )
    }
}

/// Keeps panics quiet that are part of a test: those of models on purpose, and those of assertions in engines with a planted fault.
pub fn silence_panics(all: bool) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let on_purpose = info.payload_as_str().is_some_and(|text| text.contains(EXPECTED_PANIC));
        if !all && !on_purpose {
            usual(info);
        }
    }));
}
