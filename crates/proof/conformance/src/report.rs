//! The report on a batch of runs.

use crate::compare::Answer;
use crate::random_model::EXPECTED_PANIC;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic;

/// Counts, and the differences found.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of models. In the matrix, each seed counts.
    pub models: u64,
    /// The number of models that ended with an error.
    pub failing_models: u64,
    /// The kinds of the errors of these models.
    pub failures: BTreeSet<String>,
    /// The number of runs compared with `sequential`.
    pub runs: u64,
    /// The number of events committed in the compared runs.
    pub events: u64,
    /// The number of rollbacks.
    pub rollbacks: u64,
    /// The number of anti-messages.
    pub anti_messages: u64,
    /// The number of events that crossed from rank to rank.
    pub crossed: u64,
    /// The number of times that an LP moved to another rank.
    pub moved: u64,
    /// The occurrences of features on several workers, by feature, engine and transport.
    pub occurrences: BTreeMap<(Feature, &'static str, &'static str), Occurrences>,
    /// The number of times that runs were broken and saved to a file.
    pub breaks: u64,
    /// The number of times that another engine went on during a run.
    pub switches: u64,
    /// The number of runs on several processes that ended because a channel lost its lookahead.
    pub refused: u64,
    /// The differences, each with the command that replays it.
    pub differences: Vec<String>,
    /// The features that should have occurred and did not.
    pub gaps: Vec<String>,
}

/// A feature of an engine that a run may not use. Right answers of such runs prove nothing about the feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// Rolling back.
    Rollback,
    /// Switching between several workers and one.
    ModeSwitch,
    /// Going on under another engine.
    EngineChange,
    /// Moving LPs to other ranks.
    Travel,
}

impl Feature {
    const ALL: [Feature; 4] = [Feature::Rollback, Feature::ModeSwitch, Feature::EngineChange, Feature::Travel];

    /// Returns the name of the feature's count among an engine's figures.
    fn stat(self) -> &'static str {
        match self {
            Feature::Rollback => "rollbacks",
            Feature::ModeSwitch => "turns",
            Feature::EngineChange => "engine_switches",
            Feature::Travel => "rank_moves",
        }
    }
}

/// The occurrences of a feature in runs on several workers. Runs that ended with an error have no figures and
/// are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occurrences {
    /// The number of runs.
    pub runs: u64,
    /// The number of runs in which the feature occurred.
    pub with: u64,
    /// The number of times that the feature occurred in all runs.
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
        self.crossed += answer.stat("crossed");
        self.moved += answer.stat("rank_moves");
        self.switches += answer.stat("engine_switches");
    }

    /// Counts the features of a run of an engine over a transport.
    pub fn count_features(&mut self, engine: &'static str, transport: &'static str, workers: usize, answer: &Answer) {
        for feature in Feature::ALL {
            let Some(times) = answer.find_stat(feature.stat()).filter(|_| workers > 1) else { continue };
            let occurrences = self.occurrences.entry((feature, engine, transport)).or_default();
            occurrences.runs += 1;
            occurrences.with += u64::from(times > 0);
            occurrences.times += times;
        }
    }

    /// Reports each feature that an engine has and that never occurred.
    pub fn require_all_features(&mut self) {
        for ((feature, engine, transport), occurrences) in &self.occurrences {
            if occurrences.times == 0 {
                let (what, runs) = (feature.stat(), occurrences.runs);
                self.gaps.push(format!(
                    "{engine} over {transport} had no {what} in {runs} runs on several workers, so nothing is occurrences of how it does"
                ));
            }
        }
    }

    /// True if there is no difference and no gap.
    pub fn is_good(&self) -> bool {
        self.differences.is_empty() && self.gaps.is_empty()
    }

    /// Returns [`Report::is_good`].
    ///
    /// # Errors
    ///
    /// If nothing was run, which proves nothing.
    pub fn verdict(&self) -> Result<bool, String> {
        if self.runs == 0 { Err("nothing was run".into()) } else { Ok(self.is_good()) }
    }

    /// Adds a difference, and the arguments that replay it.
    pub fn difference(&mut self, what: String, replay: &str) {
        self.differences.push(format!("{what}\n  replay: cargo run --release -p parades-conformance -- {replay}"));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in self.differences.iter().take(10) {
            writeln!(f, "DIFFERENCE {difference}")?;
        }
        for ((feature, engine, transport), Occurrences { runs, with, times }) in &self.occurrences {
            let what = feature.stat();
            writeln!(f, "{engine} over {transport}: {times} {what}, in {with} of {runs} runs on several workers")?;
        }
        for gap in &self.gaps {
            writeln!(f, "GAP {gap}")?;
        }
        let Report {
            models,
            failing_models,
            failures,
            runs,
            events,
            rollbacks,
            anti_messages,
            crossed,
            moved,
            refused,
            breaks,
            switches,
            differences,
            ..
        } = self;
        if *breaks > 0 {
            writeln!(f, "{breaks} breaks with a file")?;
        }
        if *switches > 0 {
            writeln!(f, "{switches} changes of engine during runs")?;
        }
        if *refused > 0 {
            writeln!(
                f,
                "{refused} runs ended because a channel lost its lookahead, and ranks do not gather its LPs in one partition"
            )?;
        }
        write!(
            f,
            "{models} models ({failing_models} of them failing, in {} ways), {runs} runs, {events} events, {rollbacks} rollbacks, \
             {anti_messages} anti-messages, {crossed} events and {moved} LPs across ranks, {} differences",
            failures.len(),
            differences.len()
        )
    }
}

/// Silences the panics that models raise on purpose. With `all`, also silences assertions, which are reported
/// as the answer of their engine.
pub fn silence_panics(all: bool) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let on_purpose = info.payload_as_str().is_some_and(|text| text.contains(EXPECTED_PANIC));
        if !all && !on_purpose {
            usual(info);
        }
    }));
}
