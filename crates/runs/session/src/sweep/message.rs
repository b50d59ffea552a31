//! The questions of a sweep to the processes that execute its runs, and the answer to a check.

use super::SweepPlan;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A question to a process that executes runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerRequest {
    /// The parameters that are set, as `KEY=VALUE`.
    pub set: Vec<String>,
    /// The seed of the random streams.
    pub seed: u64,
    /// The seed that shuffles simultaneous events.
    pub tie_seed: Option<u64>,
    /// The values that all parameters must have then.
    pub parameters: Value,
    /// The folder for the results.
    pub folder: Option<PathBuf>,
    /// True if the model is only made, and not run.
    pub check: bool,
    /// The saved run whose branch the run is.
    pub from: Option<FromSaved>,
}

/// A saved run from which the runs of a sweep go on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FromSaved {
    /// The file.
    pub file: PathBuf,
    /// Its hash ([`Saved::file_hash`](crate::Saved::file_hash)).
    pub hash: String,
    /// True if the metrics begin there.
    pub fresh_metrics: bool,
}

/// The answer of a process that was asked to make a model.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// The names of the figures that runs of the model will have.
    Metrics(Vec<String>),
    /// The mistake in the user's input, because of which there is no model.
    Wrong(String),
}

impl WorkerRequest {
    /// Asks for a run.
    pub(super) fn run(plan: &SweepPlan, point: usize, seed: u64, folder: Option<PathBuf>) -> WorkerRequest {
        let (parameters, tie_seed) = (json!(plan.values(point)), plan.tie_seed(point));
        let from = plan.from(point).map(|saved| FromSaved {
            file: saved.path().to_owned(),
            hash: saved.file_hash(),
            fresh_metrics: plan.request.fresh_metrics,
        });
        WorkerRequest { set: plan.assignments(point), seed, tie_seed, parameters, folder, check: false, from }
    }

    /// Asks whether there can be a run.
    pub(super) fn check(plan: &SweepPlan, point: usize, seed: u64) -> WorkerRequest {
        WorkerRequest { check: true, ..WorkerRequest::run(plan, point, seed, None) }
    }

    /// Returns the question as a line.
    pub fn line(&self) -> String {
        json!(self).to_string()
    }
}
