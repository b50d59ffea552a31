//! The outcome of a run.
//!
//! *Read next*: [`crate::journal`], which keeps outcomes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A run of a sweep. Runs begin in the order of this type: seed by seed, so that each point gets runs early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// The index of the seed.
    pub replication: usize,
    /// The index of the point.
    pub point: usize,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The run was executed.
    Figures(Box<Figures>),
    /// The run failed.
    Failed(Failed),
}

/// The figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The number of committed messages and timers.
    pub events: u64,
    /// The number of global events.
    pub global_events: u64,
    /// The digest in hexadecimal. `None` if digests are switched off.
    pub digest: Option<String>,
    /// The virtual time at which the run ended, in seconds.
    pub virtual_time_s: f64,
    /// The wall time of the set-up, in seconds.
    pub setup_s: f64,
    /// The wall time of the run, in seconds.
    pub run_s: f64,
    /// The peak of the worker's resident memory during the run, in bytes. 0 if the system does not report it.
    pub peak_rss_bytes: u64,
    /// The metrics: a number, a text or null each. Names end with the unit.
    pub metrics: Map<String, Value>,
}

/// The failure of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// A sentence for users: what failed, where, and what to do.
    pub message: String,
    /// True if the cause lies in the machine at that moment, such as a lack of memory. Then the run is
    /// repeated when the sweep continues.
    #[serde(rename = "passing")] // the name in journals
    pub transient: bool,
}

impl Outcome {
    /// Reads the outcome in a worker's line.
    pub(crate) fn read(line: &str) -> Outcome {
        serde_json::from_str(line)
            .unwrap_or_else(|error| Outcome::failed(format!("the answer of its process cannot be read: {error}"), true))
    }

    /// Returns a failure.
    pub fn failed(message: impl Into<String>, transient: bool) -> Outcome {
        Outcome::Failed(Failed { message: message.into(), transient })
    }

    /// Returns the figures. `None` if the run failed.
    pub fn figures(&self) -> Option<&Figures> {
        match self {
            Outcome::Figures(figures) => Some(figures),
            Outcome::Failed(_) => None,
        }
    }

    /// Returns true if another execution would give the same outcome.
    pub fn is_final(&self) -> bool {
        !matches!(self, Outcome::Failed(Failed { transient: true, .. }))
    }
}

/// The name of the digest among [`Figures::results`].
pub const DIGEST: &str = "digest";

impl Figures {
    /// Returns the results by name: the digest if there is one, the counts, and the metrics. Wall times and
    /// memory are no results.
    pub fn results(&self) -> Map<String, Value> {
        let Figures { digest, events, global_events, virtual_time_s, metrics, .. } = self;
        let digest = digest.as_ref().map(|digest| (DIGEST, json!(digest)));
        let counts = [("events", json!(events)), ("global_events", json!(global_events))];
        let counts = digest.into_iter().chain(counts).chain([("virtual_time_s", json!(virtual_time_s))]);
        counts.map(|(name, value)| (name.to_owned(), value)).chain(metrics.clone()).collect()
    }

    /// Returns the metric of this name, if it is a number.
    pub fn number(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric).and_then(Value::as_f64)
    }
}
