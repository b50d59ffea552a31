//! A user's request for a run, in the user's words.

use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// A request for a run.
///
/// A field that is `None` or empty leaves the decision to the scenario's file; where there is none, to a
/// default.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The name of a built-in scenario, or the path of a TOML file. `-` is standard input, which is read once
    /// and held for all plans of this program.
    pub scenario: String,
    /// Parameters of the scenario, as `KEY=VALUE`.
    pub set: Vec<String>,
    /// The seed of the random streams. Default: 1.
    pub seed: Option<u64>,
    /// The seed that shuffles simultaneous events of different senders. Default: no shuffling.
    pub tie_seed: Option<u64>,
    /// The virtual end time. Default: the scenario's.
    pub until: Option<Time>,
    /// The name of the engine. Default: `auto`.
    pub engine: Option<String>,
    /// The number of worker threads of each process. Default: the number of cores, divided by the processes.
    pub threads: Option<u64>,
    /// The number of processes. Default: 1.
    pub processes: Option<u64>,
    /// Settings of the engine, as `KEY=VALUE`.
    pub tune: Vec<String>,
    /// The bound on the memory of events, history and logical processes, in bytes. Default: three quarters of
    /// the machine's memory, divided by the processes.
    pub memory_limit: Option<u64>,
    /// True if the run computes its digest.
    pub digest: bool,
    /// True if a parameter that cannot act is noted, not refused: the run is one of a sweep, or was recorded.
    pub allows_idle: bool,
}

impl Request {
    /// Requests a scenario with all defaults.
    pub fn of(scenario: impl Into<String>) -> Request {
        Request {
            scenario: scenario.into(),
            set: Vec::new(),
            seed: None,
            tie_seed: None,
            until: None,
            engine: None,
            threads: None,
            processes: None,
            tune: Vec::new(),
            memory_limit: None,
            digest: true,
            allows_idle: false,
        }
    }
}

/// Returns a word as a shell takes it: in single quotes where it holds more than plain letters.
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
