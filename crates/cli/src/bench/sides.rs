//! Two sides, run in turn.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::Instant;

/// A figure over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) greatest: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Spread {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 };
        Spread { median, least: sorted[0], greatest: sorted[sorted.len() - 1] }
    }

    /// `1.42 [1.38–1.51]`.
    pub(crate) fn show(self, digits: usize) -> String {
        let Spread { median, least, greatest } = self;
        format!("{median:.digits$} [{least:.digits$}–{greatest:.digits$}]")
    }
}

/// Seconds that something takes, and what it gives.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn timed<T>(what: impl FnOnce() -> Result<T, Failure>) -> Result<(T, f64), Failure> {
    let begin = Instant::now();
    let result = what()?;
    Ok((result, begin.elapsed().as_secs_f64()))
}

/// Events per second of two sides that execute the same events, run in turn, and their ratio.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) ours: Spread,
    pub(crate) theirs: Spread,
    /// Ours over theirs, pair by pair.
    pub(crate) ratio: Spread,
}

/// A line on standard error, where that is a terminal, while a benchmark runs.
pub(crate) fn progress(runs: u32, what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg}: run {pos} of {len}  {elapsed}").expect("the template is right");
    ProgressBar::new(u64::from(runs)).with_style(style).with_message(what.to_owned())
}

/// Runs both sides `pairs` times in turn, each side first in half of them. A side gives the number of events that it executed.
pub(crate) fn in_turn(
    what: &str,
    pairs: u32,
    mut ours: impl FnMut() -> Result<u64, Failure>,
    mut theirs: impl FnMut() -> Result<u64, Failure>,
) -> Result<Sides, Failure> {
    let (mut our_rates, mut their_rates, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let progress = progress(pairs, what);
    for pair in 0..pairs {
        progress.inc(1);
        let rate = |(events, seconds): (u64, f64)| events as f64 / seconds;
        let (a, b) = if pair % 2 == 0 {
            let a = timed(&mut ours)?;
            (a, timed(&mut theirs)?)
        } else {
            let b = timed(&mut theirs)?;
            (timed(&mut ours)?, b)
        };
        if a.0 != b.0 {
            return Err(Failure::simulation(format!(
                "the two sides executed {} and {} events: they are not comparable",
                a.0, b.0
            )));
        }
        our_rates.push(rate(a));
        their_rates.push(rate(b));
        ratios.push(rate(a) / rate(b));
    }
    progress.finish_and_clear();
    Ok(Sides { ours: Spread::of(&our_rates), theirs: Spread::of(&their_rates), ratio: Spread::of(&ratios) })
}
