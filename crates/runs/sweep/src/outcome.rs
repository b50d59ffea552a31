//! What a run came to.
//!
//! *Read next*: [`crate::journal`], where it is kept.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One run of a sweep: by number, its point of the grid, and its seed among the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// Which seed; runs are begun seed by seed, so that every point has its share early.
    pub replication: usize,
    /// Which point.
    pub point: usize,
}

/// What a run came to: figures, or the sentence that says why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was executed.
    Figures(Box<Figures>),
    /// It failed.
    Failed(Failed),
}

/// The figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Messages and timers executed for good.
    pub events: u64,
    /// Global events executed.
    pub global_events: u64,
    /// The digest in hexadecimal, unless it was switched off.
    pub digest: Option<String>,
    /// Where the run ended, in seconds of virtual time.
    pub virtual_time_s: f64,
    /// Seconds that the set-up took.
    pub setup_s: f64,
    /// Seconds that the run took.
    pub run_s: f64,
    /// The most memory that the worker held at once during the run, in bytes; 0 where the system does not tell.
    pub peak_rss_bytes: u64,
    /// Its metrics, each a number, a text or null, with the unit at the end of its name.
    pub metrics: Map<String, Value>,
}

/// Why a run has no figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// A sentence: what, where, what to do.
    pub message: String,
    /// Whether this is of the machine and the moment, as a lack of memory is, so that the run is tried again when the sweep goes on.
    pub passing: bool,
}

impl Outcome {
    /// The outcome that a worker's line says.
    pub(crate) fn read(line: &str) -> Outcome {
        serde_json::from_str(line)
            .unwrap_or_else(|error| Outcome::failed(format!("the answer of its process cannot be read: {error}"), true))
    }

    /// A failure.
    pub fn failed(message: impl Into<String>, passing: bool) -> Outcome {
        Outcome::Failed(Failed { message: message.into(), passing })
    }

    /// The figures, where there are any.
    pub fn figures(&self) -> Option<&Figures> {
        match self {
            Outcome::Figures(figures) => Some(figures),
            Outcome::Failed(_) => None,
        }
    }

    /// Whether it would be the same again, so that it need not be run again.
    pub fn is_final(&self) -> bool {
        !matches!(self, Outcome::Failed(Failed { passing: true, .. }))
    }
}

impl Figures {
    /// The metric of this name, where it is a number.
    pub fn number(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric).and_then(Value::as_f64)
    }
}
