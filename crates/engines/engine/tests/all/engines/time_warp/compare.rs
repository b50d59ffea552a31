//! Settings for runs of a model, and comparisons with `sequential`.

use crate::engines::support::script::Script;
use crate::engines::support::{stat, traced};
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_core::run::Control;
use parades_engine::retreat::Retreats;
use parades_engine::sequential;
use parades_engine::time_warp::{self, Ahead, Settings};

/// Returns settings for these numbers of threads. Workers fall behind at random.
pub(crate) fn ways_on(threads: impl IntoIterator<Item = usize>) -> impl Iterator<Item = Settings> {
    let ways = [
        (Ahead::Adaptive, Retreats::WhereFaster, None),
        (Ahead::Events(1), Retreats::Every(40), None),
        (Ahead::Events(50), Retreats::Every(5), Some(3)),
        (Ahead::Unbounded, Retreats::Never, Some(8)),
    ];
    let on = move |threads| ways.into_iter().zip(7..).map(move |(way, seed)| (threads, way, seed));
    threads.into_iter().flat_map(on).map(|(threads, (ahead, retreats, copy_every), seed)| Settings {
        ahead,
        copy_every,
        retreats,
        stalls: Some(seed),
        ..Settings::of_threads(threads)
    })
}

pub(crate) fn ways() -> impl Iterator<Item = Settings> {
    ways_on([1, 2, 3, 8])
}

/// The visible results of a run: its outcome, its trace, and the messages in flight at its end.
type Answer = (Result<Outcome, Error>, Vec<String>, Vec<String>);

fn ask(
    model: &Script,
    until: Time,
    is_traced: bool,
    run: impl FnOnce(RunOptions<'_>) -> Result<Outcome, Error>,
) -> Answer {
    let options = RunOptions::until(until);
    let (result, trace) = if is_traced { traced(options, run) } else { (run(options), Vec::new()) };
    (result, trace, std::mem::take(&mut model.unfinished.lock().expect("nobody panicked")))
}

pub(crate) fn in_order(model: &Script, until: Time) -> Result<Outcome, Error> {
    ask(model, until, false, |options| sequential::run(model, options)).0
}

/// Runs the model under `control`, without a trace.
pub(crate) fn run_under(
    control: &Control,
    model: &Script,
    until: Time,
    settings: &Settings,
) -> (Result<Outcome, Error>, Vec<String>) {
    let (result, _, unfinished) = ask(model, until, false, |options| {
        time_warp::run(model, RunOptions { control: Some(control), ..options }, settings)
    });
    (result, unfinished)
}

pub(crate) fn unfinished_in_order(model: &Script, until: Time) -> Vec<String> {
    ask(model, until, false, |options| sequential::run(model, options)).2
}

/// Counts of rollbacks over several runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rolled {
    pub(crate) rollbacks: u64,
    pub(crate) anti_messages: u64,
}

pub(crate) fn assert_same(expected: &Outcome, found: &Outcome, how: &Settings) {
    assert_eq!((expected.events, expected.global_events), (found.events, found.global_events), "{how:?}");
    assert_eq!((expected.digest, &expected.lp_digests), (found.digest, &found.lp_digests), "{how:?}");
    assert_eq!((expected.end, &expected.metrics), (found.end, &found.metrics), "{how:?}");
}

/// Runs the model with all settings, with and without a trace, and compares with `sequential`.
pub(crate) fn assert_alike(model: &Script, until: Time) -> Rolled {
    let (expected, trace, unfinished) = ask(model, until, true, |options| sequential::run(model, options));
    let mut rolled = Rolled::default();
    for (settings, is_traced) in ways().flat_map(|settings| [(settings, false), (settings, true)]) {
        let (found, found_trace, left) =
            ask(model, until, is_traced, |options| time_warp::run(model, options, &settings));
        match (&expected, &found) {
            (Ok(expected), Ok(found)) => {
                assert_same(expected, found, &settings);
                assert_eq!(expected.stopped_at, found.stopped_at);
                rolled.rollbacks += stat(found, "rollbacks");
                rolled.anti_messages += stat(found, "anti_messages");
            }
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err(), "{settings:?}"),
        }
        assert_eq!(unfinished, left, "{settings:?}");
        assert!(!is_traced || trace == found_trace, "the traces differ with {settings:?}");
    }
    rolled
}
