//! Every point of a grid is looked at before any run begins: whether there is a model for it, and what it measures.

use super::Recorded;
use super::asked::Asked;
use super::worker::{Checked, Request};
use parades_config::ConfigError;
use parades_session::Failure;
use parades_sweep::{Pool, Precision, Run};
use std::collections::BTreeMap;
use std::time::Duration;

/// How often it is looked at whether to stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// Makes the model of each point that has runs to come. The precision that is asked for, with the metrics' full names; `None` where the check
/// was stopped by hand.
#[expect(clippy::option_option, reason = "stopped; no precision asked for; and one")]
pub(super) fn check(
    asked: &Asked<'_>,
    pool: &Pool,
    recorded: &Recorded,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<Option<Precision>>, Failure> {
    let mut over = vec![0; asked.grid.points().len()];
    recorded.keys().for_each(|run: &Run| over[run.point] += 1);
    let mut points = (0..over.len()).filter(|&point| over[point] < asked.seeds.len());
    let mut under_way = BTreeMap::new();
    let mut metrics: Vec<String> = Vec::new();
    let mut first_wrong: Option<(usize, String)> = None;
    let ask = |worker: usize, point: usize| pool.ask(worker, Request::check(&asked.grid, point, asked.seeds[0]).line());
    for worker in 0..pool.workers() {
        if let Some(point) = points.next() {
            ask(worker, point);
            under_way.insert(worker, point);
        }
    }
    while !under_way.is_empty() {
        if stopped() {
            return Ok(None);
        }
        let Some(answer) = pool.answer(PATIENCE) else { continue };
        let point = under_way.remove(&answer.worker).expect("only who was asked answers");
        // A process that ends here will end again in the run, and be told of there.
        match answer.said.ok().and_then(|line| serde_json::from_str(&line).ok()) {
            Some(Checked::Metrics(declared)) => {
                declared.into_iter().for_each(|name| {
                    if !metrics.contains(&name) {
                        metrics.push(name);
                    }
                });
            }
            Some(Checked::Wrong(message)) if first_wrong.as_ref().is_none_or(|(first, _)| point < *first) => {
                first_wrong = Some((point, message));
            }
            _ => {}
        }
        // Points come in order, so none after a wrong one can be the first.
        if let (Some(point), None) = (points.next(), &first_wrong) {
            ask(answer.worker, point);
            under_way.insert(answer.worker, point);
        }
    }
    if let Some((_, message)) = first_wrong {
        return Err(ConfigError::new(message).into());
    }
    Ok(Some(precision(asked, recorded, metrics)?))
}

/// The precision asked for.
fn precision(asked: &Asked<'_>, recorded: &Recorded, mut metrics: Vec<String>) -> Result<Option<Precision>, Failure> {
    // Where all runs are over, they say what they measure.
    let known = recorded.values().filter_map(|outcome| outcome.figures()).flat_map(|figures| figures.metrics.keys());
    if metrics.is_empty() {
        known.for_each(|name| {
            if !metrics.contains(name) {
                metrics.push(name.clone());
            }
        });
    }
    let named = |name: &String| Asked::metric(name, &metrics);
    let wanted = asked.arguments.metrics.iter().map(named).collect::<Result<Vec<_>, _>>()?;
    Ok(asked.arguments.until_interval.map(|relative_half_width| Precision { relative_half_width, metrics: wanted }))
}
