//! A run that is as long as the intervals of its metrics need.
//!
//! *Idea.* A steady-state metric has a 95 % interval by batch means, without its warm-up
//! ([`parades_core::metrics::Steady`]). While that interval is wider than wanted, the run is made longer. An
//! interval narrows with the root of the length, so the width found tells the length needed.
//!
//! *Protocol.*
//!
//! 1. The first run is as long as the plan says.
//! 2. Each further run starts from the beginning. It is at least a fifth longer than the one before, and at
//!    most four times as long.
//! 3. A run is the same as a longer one up to its own end. So the last run is the one that a single run,
//!    prolonged, would have been.
//!
//! The lengths depend on results alone, so they are the same on every engine.
//!
//! *Cost.* Where each run is twice as long as the one before, the earlier runs together execute fewer events
//! than the last. A run that stops where the interval happens to be narrow stops too early now and then. As
//! there are few looks, that is rare; `parades bench steady` measures how often the interval holds the truth.
//!
//! *References.* A. M. Law, "Simulation Modeling and Analysis", 5th edition, section 9.5.3, 2015.

use crate::{Failure, FinishedRun, Observer, Plan, Recording, run};
use parades_catalog::Choice;
use parades_config::{nearest, quoted};
use parades_core::metrics::{Estimate, MetricValue, Metrics};
use parades_core::time::{Delay, Time};
use parades_sweep::Precision;

/// The note on an interval that stays too wide.
pub const WIDE: &str = "the interval is wider than was asked for, and the run cannot be made much longer";

/// The greatest number of runs. At the least factor the last one is 15 times as long as the first.
const LOOKS_MAX: u32 = 16;
/// The least factor from the length of a run to that of the next: a shorter step would hardly narrow the
/// interval.
const LEAST_FACTOR: f64 = 1.2;
/// The greatest such factor: the width of a short run's interval says little.
const MOST_FACTOR: f64 = 4.0;

/// The last of several runs of growing length.
#[derive(Debug)]
pub struct Lengthened {
    /// The run.
    pub finished: FinishedRun,
    /// Notes for the user on the lengths that were tried, a sentence each.
    pub notes: Vec<String>,
    /// False if an interval is wider than wanted, and the run could not be made much longer.
    pub is_narrow: bool,
}

/// Runs a plan at growing lengths until the intervals are as narrow as `precision` asks for, or until an
/// interrupt stops it.
///
/// ```
/// use parades_session::{Plan, Precision, Request, steady};
///
/// let mut request = Request::of("mm1");
/// request.set = vec!["customers=1000".into()];
/// request.engine = Some("sequential".into());
/// let plan = Plan::of(&request)?;
/// let precision = Precision { relative_half_width: 0.3, metrics: vec!["sojourn".into()] };
/// let lengthened = steady::lengthen(&plan, &plan.choice()?, &precision, &mut ())?;
/// assert!(lengthened.is_narrow);
/// # Ok::<(), parades_session::Failure>(())
/// ```
///
/// # Errors
///
/// Those of [`run`], and [`Failure::Input`] where the run has no steady-state metric of such a name.
pub fn lengthen(
    plan: &Plan,
    choice: &Choice,
    precision: &Precision,
    observer: &mut dyn Observer,
) -> Result<Lengthened, Failure> {
    let mut plan = plan.clone();
    let mut executed = 0;
    for look in 1.. {
        let finished = run(&plan, choice, Recording::default(), observer)?;
        let outcome = &finished.outcome;
        executed += outcome.events;
        let factor = factor(precision, &estimates(precision, &outcome.metrics)?);
        let next = factor.and_then(|factor| scaled(outcome.end, factor)).filter(|_| look < LOOKS_MAX);
        let (Some(next), None) = (next, outcome.stopped_at) else {
            let of = executed as f64 / outcome.events.max(1) as f64;
            let is_narrow = factor.is_none() || outcome.stopped_at.is_some();
            let mut notes =
                vec![format!("until-interval: {look} lengths tried, {of:.2} times the events of the last in all")];
            notes.extend((!is_narrow).then(|| WIDE.to_owned()));
            return Ok(Lengthened { finished, notes, is_narrow });
        };
        plan.until = Some(next);
    }
    unreachable!("the last look has no next")
}

/// Returns the estimate of each metric; `None` for a metric without observations.
fn estimates(precision: &Precision, metrics: &Metrics) -> Result<Vec<Option<Estimate>>, Failure> {
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
                (None, Some(_)) => format!("choose one of {}", all().collect::<Vec<_>>().join(", ")),
                (None, None) => "this scenario has none; `parades sweep --until-interval` needs none".to_owned(),
            };
            Failure::usage(message, help)
        })
    };
    precision.metrics.iter().map(estimate).collect()
}

/// Returns the factor by which the run should be longer; `None` where it is long enough.
fn factor(precision: &Precision, estimates: &[Option<Estimate>]) -> Option<f64> {
    let ratio = |estimate: &Option<Estimate>| match estimate {
        Some(Estimate { mean, half_width: Some(half_width), .. }) => {
            let bound = precision.relative_half_width * mean.abs();
            if *half_width <= bound { 0.0 } else { half_width / bound }
        }
        _ => f64::INFINITY,
    };
    let worst = estimates.iter().map(ratio).fold(0.0, f64::max);
    (worst > 0.0).then(|| (worst * worst).clamp(LEAST_FACTOR, MOST_FACTOR))
}

/// Returns a time multiplied by `factor`; `None` where that is no later time, or past the end of virtual
/// time.
fn scaled(time: Time, factor: f64) -> Option<Time> {
    let delay = Delay::try_from_secs_f64(time.as_secs_f64() * factor)?;
    Time::ZERO.checked_add(delay).filter(|next| *next > time && *next < Time::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_factor(estimates: &[Option<Estimate>]) -> Option<f64> {
        factor(&Precision { relative_half_width: 0.01, metrics: vec!["x".into()] }, estimates)
    }

    #[test]
    fn a_run_gets_as_long_as_its_interval_needs_within_bounds() {
        let found = |half_width| vec![Some(Estimate { count: 100, mean: -50.0, half_width })];
        assert_eq!(found_factor(&found(Some(0.5))), None);
        assert_eq!(found_factor(&found(Some(0.75))), Some(2.25));
        assert_eq!(found_factor(&found(Some(0.51))), Some(LEAST_FACTOR));
        assert_eq!(found_factor(&found(Some(50.0))), Some(MOST_FACTOR));
        assert_eq!(found_factor(&found(None)), Some(MOST_FACTOR), "too few observations for an interval");
        assert_eq!(found_factor(&[None]), Some(MOST_FACTOR), "none at all");
        let [narrow, wide] = [Some(0.1), Some(1.0)].map(|half_width| found(half_width)[0]);
        assert_eq!(found_factor(&[narrow, wide]), Some(4.0), "the widest counts");
    }

    #[test]
    fn times_end_with_virtual_time() {
        let second = Time::try_from_secs_f64(1.0).expect("a second");
        assert_eq!(scaled(second, 2.0), Time::try_from_secs_f64(2.0));
        assert_eq!(scaled(Time::MAX, 1.2), None);
        assert_eq!(scaled(Time::ZERO, 2.0), None);
    }
}
