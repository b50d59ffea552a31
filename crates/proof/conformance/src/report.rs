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
    /// What engines had to do on several workers, by what it is, the engine and the transport.
    pub shown: BTreeMap<(Feat, &'static str, &'static str), Shown>,
    /// What differed, and how to see it again.
    pub differences: Vec<String>,
    /// What has not been shown although the batch is there to show it.
    pub gaps: Vec<String>,
}

/// What an engine may never have to do, so that its right answers say nothing of how it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feat {
    /// To roll back.
    Rollback,
    /// To go on with one worker instead of several, or back.
    Turn,
}

impl Feat {
    const ALL: [Feat; 2] = [Feat::Rollback, Feat::Turn];

    /// Its name among an engine's figures.
    fn stat(self) -> &'static str {
        match self {
            Feat::Rollback => "rollbacks",
            Feat::Turn => "turns",
        }
    }
}

/// How often runs on several workers had to do something; runs that ended with an error, and hence without figures, are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Runs.
    pub runs: u64,
    /// Of these, runs that had to.
    pub with: u64,
    /// How often, in all of them.
    pub times: u64,
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

    /// Counts a run of an engine over a transport, for what it had to do.
    pub fn add_shown(&mut self, engine: &'static str, transport: &'static str, workers: usize, answer: &Answer) {
        for feat in Feat::ALL {
            let Some(times) = answer.stat_if_any(feat.stat()).filter(|_| workers > 1) else { continue };
            let shown = self.shown.entry((feat, engine, transport)).or_default();
            shown.runs += 1;
            shown.with += u64::from(times > 0);
            shown.times += times;
        }
    }

    /// Notes each engine that never had to do over a transport what it might have to.
    pub fn demand_all_shown(&mut self) {
        for ((feat, engine, transport), shown) in &self.shown {
            if shown.times == 0 {
                let (what, runs) = (feat.stat(), shown.runs);
                self.gaps.push(format!(
                    "{engine} over {transport} had no {what} in {runs} runs on several workers, so nothing is shown of how it does"
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
        for ((feat, engine, transport), Shown { runs, with, times }) in &self.shown {
            let what = feat.stat();
            writeln!(f, "{engine} over {transport}: {times} {what}, in {with} of {runs} runs on several workers")?;
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
