//! The check of every point of a grid before any run: that there is a model for it, and what the model
//! measures.

use super::message::{Checked, WorkerRequest};
use super::{EarlierRuns, SweepPlan, full_name};
use crate::Failure;
use parades_config::ConfigError;
use parades_sweep::{Pool, Precision, Run};
use std::collections::BTreeMap;
use std::time::Duration;

/// The time between two looks at whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// The answers of the points checked so far.
#[derive(Default)]
struct Found {
    /// The names of the metrics, in the order in which they were declared.
    metrics: Vec<String>,
    /// The first point that has no model, and why.
    first_wrong: Option<(usize, String)>,
}

/// Makes the model of each point that has runs to come.
///
/// Returns the precision that was asked for, with the full names of its metrics. The outer `None` means that
/// an interrupt stopped the check.
#[expect(clippy::option_option, reason = "stopped; no precision asked for; a precision")]
pub(super) fn check(
    plan: &SweepPlan,
    pool: &Pool,
    earlier: &EarlierRuns,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<Option<Precision>>, Failure> {
    let mut points = (0..plan.points()).filter(|&point| has_runs_to_come(plan, earlier, point));
    let (mut asked, mut found) = (BTreeMap::new(), Found::default());
    let ask = |worker: usize, point: usize| pool.ask(worker, WorkerRequest::check(plan, point, plan.seeds[0]).line());
    for worker in 0..pool.workers() {
        if let Some(point) = points.next() {
            ask(worker, point);
            asked.insert(worker, point);
        }
    }
    while !asked.is_empty() {
        if stopped() {
            return Ok(None);
        }
        let Some(answer) = pool.answer(PATIENCE) else { continue };
        let point = asked.remove(&answer.worker).expect("only asked workers answer");
        // A worker that ends here ends again during the run, and is reported then.
        if let Some(checked) = answer.reply.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            found.add(point, checked);
        }
        // Points are asked in order, so no point after a wrong one can be the first wrong one.
        if let (Some(point), None) = (points.next(), &found.first_wrong) {
            ask(answer.worker, point);
            asked.insert(answer.worker, point);
        }
    }
    match found.first_wrong {
        Some((_, message)) => Err(ConfigError::new(message).into()),
        None => precision(plan, earlier, found.metrics).map(Some),
    }
}

/// Returns true if this process has to execute a run of the point.
fn has_runs_to_come(plan: &SweepPlan, earlier: &EarlierRuns, point: usize) -> bool {
    let (points, shard) = (plan.points(), plan.request.shard);
    let mut runs = (0..plan.seeds.len()).map(|replication| Run { replication, point });
    runs.any(|run| !earlier.contains_key(&run) && shard.is_none_or(|shard| shard.has(run, points)))
}

impl Found {
    fn add(&mut self, point: usize, checked: Checked) {
        match checked {
            Checked::Metrics(declared) => declared.into_iter().for_each(|name| {
                if !self.metrics.contains(&name) {
                    self.metrics.push(name);
                }
            }),
            Checked::Wrong(message) => {
                if self.first_wrong.as_ref().is_none_or(|(first, _)| point < *first) {
                    self.first_wrong = Some((point, message));
                }
            }
        }
    }
}

/// Returns the precision that was asked for.
fn precision(plan: &SweepPlan, earlier: &EarlierRuns, mut metrics: Vec<String>) -> Result<Option<Precision>, Failure> {
    // Where all runs are over, no point was asked, and the runs tell what they have measured.
    let known = earlier.values().filter_map(|outcome| outcome.figures()).flat_map(|figures| figures.metrics.keys());
    if metrics.is_empty() {
        known.for_each(|name| {
            if !metrics.contains(name) {
                metrics.push(name.clone());
            }
        });
    }
    let named = |name: &String| full_name(name, &metrics);
    let wanted = plan.request.metrics.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    let share = plan.request.until_interval;
    Ok(share.map(|relative_half_width| Precision { relative_half_width, metrics: wanted }))
}
