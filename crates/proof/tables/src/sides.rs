//! Sides of a comparison, run in turn.

use indicatif::{ProgressBar, ProgressStyle};
use parades_catalog::Scenario;
use parades_catalog::{Choice, Simulation, Wish};
use parades_config::Values;
use parades_core::error::Error;
use parades_core::run::Outcome;
use parades_core::time::{Delay, Time};
use parades_session::Failure;
use std::time::Instant;

/// The values of a figure over several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least value.
    pub least: f64,
    /// The greatest value.
    pub greatest: f64,
    /// All values, in the order in which they were measured.
    pub values: Vec<f64>,
}

impl Spread {
    /// Returns the spread of these values.
    ///
    /// # Panics
    ///
    /// Panics if there are none.
    pub fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Spread { median, least: sorted[0], greatest: sorted[sorted.len() - 1], values: values.to_vec() }
    }

    /// Returns the spread as text with `digits` digits after the point: `1.42 [1.38–1.51]`.
    pub fn show(&self, digits: usize) -> String {
        let Spread { median, least, greatest, .. } = self;
        format!("{median:.digits$} [{least:.digits$}–{greatest:.digits$}]")
    }
}

/// Returns a scenario with some of its parameters set, as `KEY=VALUE`.
pub(crate) fn simulation(name: &str, set: &[impl AsRef<str>]) -> Result<Simulation, Failure> {
    let (scenario, values) = scenario(name, set)?;
    Ok(Simulation::new(scenario, &values, 1)?)
}

/// Returns a scenario with its parameters.
pub(crate) fn scenario(name: &str, set: &[impl AsRef<str>]) -> Result<(&'static Scenario, Values), Failure> {
    let scenario = Scenario::named(name)?;
    let mut values = scenario.values();
    set.iter().try_for_each(|assignment| values.set_argument("--set", assignment.as_ref()))?;
    Ok((scenario, values))
}

/// Returns an engine on a number of threads, with these settings.
pub(crate) fn choice(engine: &str, threads: u64, tune: &[&str]) -> Result<Choice, Failure> {
    let tune: Vec<String> = tune.iter().map(|&setting| setting.to_owned()).collect();
    Ok(Choice::of(Wish { engine, threads: Some(threads), processes: None, processes_here: None, tune: &tune })?)
}

/// Returns the result of `what`, and the seconds that it took.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn timed<T>(what: impl FnOnce() -> Result<T, Failure>) -> Result<(T, f64), Failure> {
    let begin = Instant::now();
    let result = what()?;
    Ok((result, begin.elapsed().as_secs_f64()))
}

/// The result of one run of a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ran {
    pub(crate) events: u64,
    pub(crate) seconds: f64,
    /// The answer, if there is one; the answers of all sides must be equal.
    pub(crate) answer: Option<u64>,
}

impl Ran {
    /// Runs an engine and times it, from before its set-up until after its end. The answer is the digest.
    pub(crate) fn engine(run: impl FnOnce() -> Result<Outcome, Error>) -> Result<(Ran, Outcome), Failure> {
        let (outcome, seconds) = timed(|| run().map_err(|error| Failure::simulation(error.to_string())))?;
        Ok((Ran { events: outcome.events, seconds, answer: outcome.digest }, outcome))
    }
}

/// The set-up time of a side, which is subtracted from the time of its runs. It is the least of several
/// measurements, since too much must never be subtracted. Now and then a set-up takes twice as long, because
/// the system has to find memory first.
#[derive(Debug, Default)]
pub(crate) struct SetUp(Option<f64>);

impl SetUp {
    /// Runs the set-up, three times at the first call. Returns the least seconds so far.
    pub(crate) fn seconds(&mut self, mut run: impl FnMut() -> Result<Ran, Failure>) -> Result<f64, Failure> {
        let times = if self.0.is_none() { 3 } else { 1 };
        let mut least = self.0.unwrap_or(f64::INFINITY);
        for _ in 0..times {
            least = least.min(run()?.seconds);
        }
        Ok(*self.0.insert(least))
    }
}

/// The approximate seconds of a run whose end [`long_enough`] has chosen. Users' runs take seconds. In a
/// shorter run, work that is done once and attempts at its start weigh more.
const LONG_S: f64 = 1.0;

/// Returns an end for which a run takes about [`LONG_S`]. The end is moved in proportion to the time of the
/// last run. The load may change during a run, so the end stays between two others: the latest that was too
/// early, and the earliest that was too late.
pub(crate) fn long_enough(first: Time, mut run: impl FnMut(Time) -> Result<Ran, Failure>) -> Result<Time, Failure> {
    let (mut until, mut before) = (first, None);
    let (mut early, mut late) = (Time::ZERO, Time::MAX);
    loop {
        let Ran { events, seconds, .. } = run(until)?;
        // A run without more events than a shorter one does not become longer.
        if (LONG_S / 1.5..LONG_S * 1.5).contains(&seconds) || before == Some(events) {
            return Ok(until);
        }
        before = Some(events);
        if seconds < LONG_S {
            early = early.max(until);
        } else {
            late = late.min(until);
        }
        // A run that is far too short says little: it consists of set-up, and of memory that is touched for
        // the first time.
        let next = times(until, (LONG_S / seconds).min(8.0));
        until = if early < next && next < late { next } else { between(early, late) };
        if until.since(early) <= Delay::from_ps(early.as_ps() / 32) {
            return Ok(until);
        }
    }
}

fn between(early: Time, late: Time) -> Time {
    Time::from_ps(early.as_ps().midpoint(late.as_ps()))
}

fn times(until: Time, factor: f64) -> Time {
    let seconds = until.since(Time::ZERO).as_secs_f64() * factor;
    Delay::try_from_secs_f64(seconds).and_then(|delay| Time::ZERO.checked_add(delay)).unwrap_or(until)
}

/// A side of a comparison. A call runs it once.
pub(crate) type Side<'a> = Box<dyn FnMut() -> Result<Ran, Failure> + 'a>;

/// The events per second of each run, by side and round.
#[derive(Debug)]
pub(crate) struct Rates(Vec<Vec<f64>>);

impl Rates {
    /// Returns the rates of one side.
    pub(crate) fn of(&self, side: usize) -> Spread {
        Spread::of(&self.0[side])
    }

    /// Returns the rate of one side over that of another, round by round.
    pub(crate) fn ratios(&self, side: usize, to: usize) -> impl Iterator<Item = f64> {
        self.0[side].iter().zip(&self.0[to]).map(|(ours, theirs)| ours / theirs)
    }

    /// Returns the spread of [`Rates::ratios`].
    pub(crate) fn ratio(&self, side: usize, to: usize) -> Spread {
        Spread::of(&self.ratios(side, to).collect::<Vec<_>>())
    }
}

/// Returns the number of threads that can run at the same time.
pub(crate) fn cores() -> u64 {
    std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64)
}

/// Returns a progress line for a benchmark; it is drawn on standard error, if that is a terminal.
pub(crate) fn progress(runs: u32, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}: run {pos} of {len}  {elapsed}").expect("the template is right");
    ProgressBar::new(u64::from(runs)).with_style(style).with_message(what.to_owned())
}

/// Runs all sides `pairs` times in turn. Each round begins one side later than the last, and every second
/// round goes backwards. So no side is always first, and none always follows the same side.
pub(crate) fn in_turn(what: &str, pairs: u32, sides: &mut [Side<'_>]) -> Result<Rates, Failure> {
    let mut rates = vec![Vec::new(); sides.len()];
    let mut expected = None;
    let progress = progress(pairs, what);
    for pair in 0..pairs {
        progress.inc(1);
        for side in order(pair, sides.len()) {
            let Ran { events, seconds, answer } = sides[side]()?;
            if let Some(answer) = answer
                && answer != *expected.get_or_insert(answer)
            {
                return Err(Failure::simulation(format!(
                    "{what}: the sides differ in what they executed, and cannot be compared"
                )));
            }
            rates[side].push(events as f64 / seconds);
        }
    }
    progress.finish_and_clear();
    Ok(Rates(rates))
}

/// Returns the order of the sides in a round.
fn order(pair: u32, sides: usize) -> impl Iterator<Item = usize> {
    let first = pair as usize % sides;
    (0..sides)
        .map(move |step| if pair.is_multiple_of(2) { (first + step) % sides } else { (first + sides - step) % sides })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_side_runs_once_a_round_and_begins_as_often_as_the_others() {
        for sides in 1..8 {
            let mut begins = vec![0; sides];
            for pair in 0..2 * u32::try_from(sides).expect("a few") {
                let mut round: Vec<usize> = order(pair, sides).collect();
                begins[round[0]] += 1;
                round.sort_unstable();
                assert_eq!(round, (0..sides).collect::<Vec<_>>());
            }
            assert_eq!(begins, vec![2; sides]);
        }
    }

    #[test]
    fn the_least_set_up_counts() {
        let (mut set_up, mut times) = (SetUp::default(), [2.0, 1.0, 4.0, 3.0, 0.5].into_iter());
        let mut run = || Ok(Ran { events: 0, seconds: times.next().expect("five at most"), answer: None });
        let found: Vec<f64> = (0..3).map(|_| set_up.seconds(&mut run).expect("it runs")).collect();
        assert_eq!(found, [1.0, 1.0, 0.5]);
    }

    #[test]
    fn runs_are_made_long_enough_unless_they_come_to_an_end() {
        let seconds = |seconds: f64| Time::try_from_secs_f64(seconds).expect("a few");
        let of = |events_max: u64| {
            move |until: Time| {
                let events = (until.as_ps() / 1_000_000_000_000).min(events_max);
                Ok(Ran { events, seconds: events as f64 * 1e-3, answer: None })
            }
        };
        for first in [1.0, 100.0, 900.0, 10_000.0] {
            let until = long_enough(seconds(first), of(u64::MAX)).expect("it runs");
            assert!((seconds(600.0)..seconds(1_500.0)).contains(&until), "{until}");
        }
        assert!(long_enough(seconds(1.0), of(10)).expect("it runs") > seconds(10.0));
        // A load that grows, and a load that comes all at once.
        let growing = |until: Time| {
            let events = until.as_ps() / 1_000_000_000;
            Ok(Ran { events, seconds: (events as f64 * 1e-4).powi(3), answer: None })
        };
        let sudden = |until: Time| {
            let events = until.as_ps() / 1_000_000_000;
            Ok(Ran { events, seconds: if events < 5_000 { 0.1 } else { 10.0 }, answer: None })
        };
        for first in [0.1, 1.0, 100.0] {
            let until = long_enough(seconds(first), growing).expect("it runs");
            assert!((seconds(8.0)..seconds(12.0)).contains(&until), "{until}");
            let until = long_enough(seconds(first), sudden).expect("it runs");
            assert!((seconds(4.5)..seconds(5.5)).contains(&until), "{until}");
        }
    }

    #[test]
    fn sides_that_executed_something_else_are_not_compared() {
        let side = |answer| -> Side<'static> { Box::new(move || Ok(Ran { events: 6, seconds: 2.0, answer })) };
        let rates = in_turn("same", 3, &mut [side(Some(1)), side(None), side(Some(1))]).expect("the answers agree");
        assert_eq!(rates.of(1), Spread::of(&[3.0; 3]));
        assert_eq!(rates.ratio(0, 2), Spread::of(&[1.0; 3]));
        assert!(in_turn("other", 1, &mut [side(Some(1)), side(None), side(Some(2))]).is_err());
    }
}
