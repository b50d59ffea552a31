//! Runs that are broken at random times, saved to a file, read, and go on under another engine.
//!
//! The unbroken run is that of `sequential`. At each break, the file has the hash of the bytes that the
//! unbroken run has there; at the end, digests, metrics, counts and errors are equal.

use super::scenarios::Row;
use super::{Folder, at_end, execute, read, rest_of};
use crate::compare::{Answer, compare};
use crate::engines::index_below;
use crate::report::Report;
use parades_catalog::Simulation;
use parades_config::inputs;
use parades_core::cut::{AtRest, Cuts, Then};
use parades_core::error::Error;
use parades_core::random::Rng;
use parades_core::run::{Outcome, RunOptions};
use parades_core::time::{Delay, Time};
use parades_core::trace::{TraceFilter, Tracer};
use parades_session::saved::hash_of;
use parades_session::{Failure, Plan, Request, Saved, Saving};
use std::sync::{Arc, Mutex};

/// The number of times at which a run is broken.
const BREAKS: usize = 5;
/// The greatest number of threads of an engine.
const THREADS_MAX: u64 = 3;
/// The engines under which the parts of a run are executed.
const ENGINES: [&str; 6] = ["sequential", "rounds", "window", "null-message", "time-warp", "auto"];

/// A run at a cut: the digest so far, and the hash of the cut's bytes if the states can be written.
type AtBreak = (u64, Option<u128>);

/// Breaks runs of these rows. Number *n* is the row *n* modulo their number, with a seed of its own.
pub fn check_breaks(rows: &[Row], numbers: impl IntoIterator<Item = u64>) -> Report {
    let (folder, mut report) = (Folder::new(), Report::default());
    for number in numbers {
        let row = &rows[index_below_number(number, rows.len())];
        let (seed, rng) = (1 + number / rows.len() as u64, Rng::shared(number, 21));
        if let Err(what) = check_run(row, seed, &rng, &folder, &mut report) {
            report
                .difference(format!("`{}` with seed {seed}: {what}", row.words), &format!("breaks 1 --from {number}"));
        }
    }
    report
}

fn index_below_number(number: u64, rows: usize) -> usize {
    usize::try_from(number % rows as u64).expect("below an index")
}

fn check_run(row: &Row, seed: u64, rng: &Rng, folder: &Folder, report: &mut Report) -> Result<(), String> {
    inputs::forget_seen();
    let mut request = row.request(folder, seed);
    request.tie_seed = rng.chance(0.2).then(|| rng.below(100));
    request.engine = Some("sequential".into());
    let plan = Plan::of(&request).map_err(|failure| failure.to_string())?;
    let simulation = plan.simulation().map_err(|failure| failure.to_string())?;
    let (times_of_events, end) = events_of(&plan, &simulation, row.until)?;
    let times = draw_times(rng, row, &times_of_events, end);
    let (whole, at_breaks) = unbroken(&plan, &simulation, row.until, &times)?;
    let whole = Answer { result: whole, trace: Vec::new(), told: Vec::new() };
    report.count_model(&whole);

    let mut from: Option<Saved> = None;
    for (&time, &expected) in times.iter().zip(&at_breaks) {
        let (engine, threads) = draw_engine(rng, &plan, &simulation);
        let of = |what: String| format!("{engine} on {threads} threads to {time}: {what}");
        let said = |failure: Failure| of(failure.to_string());
        // Either the run ends at the break, or it passes the break, where it is saved.
        let most = time.as_ps().min(end.since(time).as_ps());
        let passes = rng.chance(0.4) && most > 0;
        let stop = if passes { Time::from_ps(time.as_ps() + rng.below(most)) } else { time };
        let every_virtual = passes.then(|| Delay::from_ps(time.as_ps()));
        let file = folder.new_file();
        let saving = Saving { at_end: !passes, every_virtual, ..at_end(&file) };
        let request = match &from {
            Some(saved) => rest_of(saved, stop, engine, threads).map_err(said)?,
            None => {
                Request { until: Some(stop), engine: Some(engine.into()), threads: Some(threads), ..request.clone() }
            }
        };
        let part = execute(&request, Some(&saving), from.as_ref()).map_err(said)?;
        report.breaks += 1;
        report.events += part.outcome.events - part.events_before;
        let saved = read(&file).map_err(|failure| of(format!("{failure}; the run said {:?}", part.notes)))?;
        let _ = std::fs::remove_file(&file);
        let found = (saved.head.digest.unwrap_or(0), saved.cut_hash());
        if saved.head.time() != time || found != expected {
            let at = saved.head.time();
            return Err(of(format!(
                "the cut at {at} is not that of `sequential`: {found:x?} instead of {expected:x?}"
            )));
        }
        from = Some(saved);
    }
    let (engine, threads) = draw_engine(rng, &plan, &simulation);
    let saved = from.ok_or("there is no time at which it can be broken")?;
    let request = rest_of(&saved, row.until, engine, threads).map_err(|failure| failure.to_string())?;
    let result = match execute(&request, None, Some(&saved)) {
        Ok(finished) => Ok(finished.outcome),
        Err(Failure::Run(run)) => Err(run.error),
        Err(failure) => return Err(failure.to_string()),
    };
    let found = Answer { result, trace: Vec::new(), told: Vec::new() };
    report.add(&found);
    compare(&whole, &found).map_err(|what| format!("broken at {times:?}, to the end by {engine}: {what}"))
}

/// Returns the times of events in the unbroken run, and its end: where it stopped or failed, if it did.
fn events_of(plan: &Plan, simulation: &Simulation, until: Time) -> Result<(Vec<Time>, Time), String> {
    let mut times = Vec::new();
    let tracer = Tracer::observing(TraceFilter::default(), |executed| {
        times.push(executed.key.instant.time);
        Ok(())
    });
    let options = RunOptions { tracer: Some(tracer), ..options_of(plan, until) };
    let choice = plan.choice().map_err(|failure| failure.to_string())?;
    let end = match simulation.run(&choice, options) {
        Ok(outcome) => outcome.end,
        Err(error) => error.place().map_or(until, |place| place.instant.time),
    };
    Ok((times, end))
}

fn options_of(plan: &Plan, until: Time) -> RunOptions<'static> {
    RunOptions { seed: plan.seed, tie_seed: plan.tie_seed, ..RunOptions::until(until) }
}

/// Draws the times of breaks: any time, the time of an event or just after it, of a sample, failure or other
/// global event, and the end.
fn draw_times(rng: &Rng, row: &Row, of_events: &[Time], end: Time) -> Vec<Time> {
    let one_of = |times: &[Time]| (!times.is_empty()).then(|| times[index_below(rng, times.len())]);
    let any = || Time::from_ps(rng.below(end.as_ps().saturating_add(1)));
    let just_after_start = Time::from_ps(1);
    let mut times: Vec<Time> = (0..BREAKS)
        .map(|_| match rng.below(7) {
            0 => Some(end),
            1 | 2 => one_of(&row.instants),
            3 => one_of(of_events),
            4 => one_of(of_events).and_then(|time| time.checked_add(Delay::from_ps(1))),
            _ => None,
        })
        // Nothing is executed until time zero.
        .map(|time| time.unwrap_or_else(any).clamp(just_after_start, end.max(just_after_start)))
        .collect();
    times.sort_unstable();
    times.dedup();
    times
}

/// Draws an engine that can execute the run, and its number of threads.
fn draw_engine(rng: &Rng, plan: &Plan, simulation: &Simulation) -> (&'static str, u64) {
    loop {
        let (engine, threads) = (ENGINES[index_below(rng, ENGINES.len())], 1 + rng.below(THREADS_MAX));
        let request = Request { engine: Some(engine.into()), ..plan.request.clone() };
        let choice = Plan::of(&request).and_then(|plan| plan.choice());
        if choice.is_ok_and(|choice| simulation.check(&simulation.resolve(&choice), plan.scenario.name).is_ok()) {
            return (engine, if engine == "sequential" { 1 } else { threads });
        }
    }
}

/// Runs `sequential` in one piece. Returns its answer, and the run at each of these times.
fn unbroken(
    plan: &Plan,
    simulation: &Simulation,
    until: Time,
    times: &[Time],
) -> Result<(Result<Outcome, Error>, Vec<AtBreak>), String> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&found);
    let mut later = times.iter().copied().skip(1);
    let act = move |run: &mut AtRest<'_, '_>| {
        let hash = run.save.is_some().then(|| hash_of(run));
        seen.lock().expect("no holder of this lock panics").push((run.digest(), hash));
        Then::Continue(later.next().unwrap_or(Time::MAX))
    };
    let cuts = Some(Cuts { next: times[0], at_end: false, act: Box::new(act) });
    let choice = plan.choice().map_err(|failure| failure.to_string())?;
    let outcome = simulation.run(&choice, RunOptions { cuts, ..options_of(plan, until) });
    let found = std::mem::take(&mut *found.lock().expect("no holder of this lock panics"));
    if found.len() < times.len() {
        return Err(format!("the unbroken run came to {} of the cuts at {times:?}", found.len()));
    }
    Ok((outcome, found))
}
