//! `parades run --until-interval`: a run that is as long as its interval needs.
//!
//! *Idea.* A steady-state metric has a 95 % interval by batch means, its warm-up left out ([`parades_core::metrics::Steady`]). While that is wider than was
//! asked for, the run is made longer: to the length that the width found needs, as the interval gets narrower with the root of the length.
//!
//! *Protocol.* The first look is at the scenario's own length, or at `--until`. Each further run begins anew and is a fifth longer at least, and four times as
//! long at most; being the same up to where the last one ended, it comes to what a run that had gone on would come to. The lengths depend on results alone, so
//! they are the same on every engine.
//!
//! *Cost.* What is executed again is less than what the last run executes, where each is twice as long as the one before. Who stops where the interval happens
//! to be narrow stops too early now and then; the few looks keep that small. `parades bench steady` measures how often the interval holds the truth.
//!
//! *References.* A. M. Law, "Simulation Modeling and Analysis", 5th edition, section 9.5.3, 2015.

use crate::arguments::{HowArguments, RunArguments};
use crate::plan::Plan;
use crate::run::{Done, Watch, execute};
use crate::say;
use parades_catalog::Choice;
use parades_config::{nearest, quoted};
use parades_core::error::Error;
use parades_core::metrics::{Estimate, MetricValue, Metrics};
use parades_core::time::{Delay, Time};
use parades_session::Failure;

/// Looks at most: the last would be at a run some thousand times as long as the first.
const LOOKS_MAX: u32 = 16;
/// By how much longer a run is than the one before, at least,
const LEAST_FACTOR: f64 = 1.2;
/// and at most.
const MOST_FACTOR: f64 = 4.0;

/// How narrow the intervals of some metrics shall be.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The half-width of the interval over the magnitude of the mean, at most.
    pub(crate) share: f64,
    pub(crate) metrics: Vec<String>,
}

impl Wanted {
    pub(crate) fn of(arguments: &RunArguments) -> Option<Wanted> {
        arguments.until_interval.map(|share| Wanted { share, metrics: arguments.metrics.clone() })
    }

    /// Runs until the intervals are narrow enough, or somebody stops it; the last run.
    pub(crate) fn lengthen(
        &self,
        plan: &Plan,
        choice: &Choice,
        how: &HowArguments,
    ) -> Result<Result<Done, Error>, Failure> {
        let mut plan = plan.clone();
        let mut executed = 0;
        for look in 1.. {
            let watch = Watch { progress: !how.quiet, ..Watch::default() };
            // What is said of the scenario and the engine is said once.
            let quiet = HowArguments { quiet: how.quiet || look > 1, ..how.clone() };
            let mut done = match execute(plan.clone(), choice.clone(), &quiet, watch)? {
                Ok(done) => done,
                Err(error) => return Ok(Err(error)),
            };
            executed += done.outcome.events;
            let estimates = self.estimates(&done.outcome.metrics)?;
            let factor = self.factor(&estimates);
            let next = factor.and_then(|factor| times(done.outcome.end, factor)).filter(|_| look < LOOKS_MAX);
            let (Some(next), None) = (next, done.outcome.stopped_at) else {
                let of = executed as f64 / done.outcome.events.max(1) as f64;
                done.notes
                    .push(format!("until-interval: {look} lengths tried, {of:.2} times the events of the last in all"));
                if factor.is_some() && done.outcome.stopped_at.is_none() {
                    let note = "the interval is wider than was asked for, and the run cannot be made much longer";
                    done.notes.push(note.to_owned());
                    say(format_args!("note: {note}"));
                }
                return Ok(Ok(done));
            };
            plan.until = Some(next);
        }
        unreachable!("the last look has no next")
    }

    /// The estimates of the metrics that were asked for; `None` for one without observations.
    fn estimates(&self, metrics: &Metrics) -> Result<Vec<Option<Estimate>>, Failure> {
        let steady = |value: &MetricValue| match value {
            MetricValue::Steady(steady) => Some(steady.estimate()),
            _ => None,
        };
        let estimate = |name: &String| {
            metrics.get(name).and_then(steady).ok_or_else(|| {
                let all = || metrics.iter().filter(|(_, _, value)| steady(value).is_some()).map(|(name, ..)| name);
                let message = format!("--metric {name}: there is no steady-state metric {} in this run", quoted(name));
                let help = match (nearest(name, all()), all().next()) {
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, Some(_)) => format!("there are {}", all().collect::<Vec<_>>().join(", ")),
                    (None, None) => "this scenario has none; `parades sweep --until-interval` needs none".to_owned(),
                };
                Failure::usage(message, help)
            })
        };
        self.metrics.iter().map(estimate).collect()
    }

    /// By how much longer the run should be; `None` where it is long enough.
    fn factor(&self, estimates: &[Option<Estimate>]) -> Option<f64> {
        let ratio = |estimate: &Option<Estimate>| match estimate {
            Some(Estimate { mean, half_width: Some(half_width), .. }) => {
                let bound = self.share * mean.abs();
                if *half_width <= bound { 0.0 } else { half_width / bound }
            }
            _ => f64::INFINITY,
        };
        let worst = estimates.iter().map(ratio).fold(0.0, f64::max);
        (worst > 0.0).then(|| (worst * worst).clamp(LEAST_FACTOR, MOST_FACTOR))
    }
}

/// A time so many times as late; `None` where there is none such.
fn times(time: Time, factor: f64) -> Option<Time> {
    let delay = Delay::from_secs_f64(time.as_secs_f64() * factor)?;
    Time::ZERO.checked_add(delay).filter(|next| *next > time && *next < Time::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(share: f64) -> Wanted {
        Wanted { share, metrics: vec!["x".into()] }
    }

    #[test]
    fn a_run_gets_as_long_as_its_interval_needs_within_bounds() {
        let found = |half_width| vec![Some(Estimate { count: 100, mean: -50.0, half_width })];
        assert_eq!(wanted(0.01).factor(&found(Some(0.5))), None);
        assert_eq!(wanted(0.01).factor(&found(Some(0.75))), Some(2.25));
        assert_eq!(wanted(0.01).factor(&found(Some(0.51))), Some(LEAST_FACTOR));
        assert_eq!(wanted(0.01).factor(&found(Some(50.0))), Some(MOST_FACTOR));
        assert_eq!(wanted(0.01).factor(&found(None)), Some(MOST_FACTOR), "too few observations for an interval");
        assert_eq!(wanted(0.01).factor(&[None]), Some(MOST_FACTOR), "none at all");
        let [narrow, wide] = [Some(0.1), Some(1.0)].map(|half_width| found(half_width)[0]);
        assert_eq!(wanted(0.01).factor(&[narrow, wide]), Some(4.0), "the widest counts");
    }

    #[test]
    fn times_end_with_virtual_time() {
        let second = Time::from_secs_f64(1.0).expect("a second");
        assert_eq!(times(second, 2.0), Time::from_secs_f64(2.0));
        assert_eq!(times(Time::MAX, 1.2), None);
        assert_eq!(times(Time::ZERO, 2.0), None);
    }
}
