//! A run that begins in windows and goes on with `time-warp` is the same run.

#[path = "support/mod.rs"]
mod support;

use parades_core::error::Error;
use parades_core::prelude::*;
use parades_core::run::Control;
use parades_engine::auto::{Changing, Suits, advise, run_changing};
use parades_engine::retreat::Retreats;
use parades_engine::{sequential, time_warp, window};
use std::sync::Arc;
use support::script::{COUNTER, FLOAT, HISTOGRAM, Script, ps};
use support::traced;

/// LPs that send to anyone with a lookahead of 20 ps, set timers and cancel them, and record all kinds of metrics; global events come before and after the change.
fn lively(lps: u32, then: impl Fn(&mut Context<'_, Script>) + Sync + 'static) -> Script {
    let start = |ctx: &mut Context<'_, Script>| {
        let delay = ps(ctx.rng().below(100));
        ctx.send_self(delay, 0);
    };
    let mut model = Script::new(lps, start, move |state, event, ctx| {
        *state += 1;
        ctx.count(COUNTER, 1);
        ctx.observe(HISTOGRAM, *state);
        ctx.observe_float(FLOAT, 1.0 / *state as f64);
        let delay = ps(ctx.rng().below(150));
        match ctx.rng().below(4) {
            0 | 1 => ctx.set_timer(TimerId(0), delay),
            2 => ctx.cancel_timer(TimerId(0)),
            _ => {}
        }
        if let Body::Message(&hops) = event {
            let lps = u64::from(ctx.lps());
            let to = ctx.rng().below(lps);
            let delay = ps(20 + ctx.rng().below(100));
            ctx.send_to(LpId(u32::try_from(to).expect("an id")), delay, hops + 1);
        }
        then(ctx);
    });
    model.channels = Channels::whole(ps(20));
    model.globals = vec![(15, 1), (700, 2), (5_000, 3)];
    model.visit = Box::new(|state, _, _| *state = state.wrapping_mul(3) + 1);
    model.act = Box::new(|number, _, ctx| ctx.send(LpId(u32::try_from(number).expect("small")), Delay::ZERO, 0));
    model
}

/// Ways to run that change after some windows.
fn ways() -> impl Iterator<Item = Changing> {
    [2, 3, 8].into_iter().flat_map(|threads| {
        [(1, Some(5)), (4, None), (20, Some(9))].map(|(windows, stalls)| Changing {
            windows: window::Settings { retreats: Retreats::Every(windows), ..window::Settings::of_threads(threads) },
            ahead: time_warp::Settings { stalls, ..time_warp::Settings::of_threads(threads) },
        })
    })
}

/// The virtual time in seconds at which a run changed.
fn changed_at(outcome: &Outcome) -> Option<f64> {
    outcome.engine_stats.iter().find(|(name, _)| *name == "left_windows_at_s").map(|&(_, time)| time)
}

fn unfinished(model: &Script) -> Vec<String> {
    std::mem::take(&mut model.unfinished.lock().expect("nobody panicked"))
}

fn assert_same(expected: &Outcome, found: &Outcome, how: &Changing) {
    assert_eq!((expected.events, expected.global_events), (found.events, found.global_events), "{how:?}");
    assert_eq!((expected.digest, &expected.lp_digests), (found.digest, &found.lp_digests), "{how:?}");
    assert_eq!((expected.end, &expected.metrics), (found.end, &found.metrics), "{how:?}");
}

#[test]
fn a_run_that_changes_is_the_same() {
    let (model, until) = (lively(40, |_| {}), Time::from_ps(20_000));
    let (expected, trace) = traced(RunOptions::until(until), |options| sequential::run(&model, options));
    let (expected, left) = (expected.expect("no failure"), unfinished(&model));
    for settings in ways() {
        let found = run_changing(&model, RunOptions::until(until), &settings).expect("no failure");
        assert_same(&expected, &found, &settings);
        assert_eq!(unfinished(&model), left, "{settings:?}");
        assert!(changed_at(&found).is_some_and(|time| time > 0.0), "{settings:?} {:?}", found.engine_stats);
        let (found, found_trace) = traced(RunOptions::until(until), |options| run_changing(&model, options, &settings));
        assert_same(&expected, &found.expect("no failure"), &settings);
        assert!(trace == found_trace, "the traces differ with {settings:?}");
        unfinished(&model);
    }
}

#[test]
fn a_run_that_is_not_to_change_or_has_one_worker_does_not() {
    let model = lively(40, |_| {});
    for (threads, retreats) in [(1, Retreats::Every(1)), (3, Retreats::Never)] {
        let windows = window::Settings { retreats, ..window::Settings::of_threads(threads) };
        let settings = Changing { windows, ..Changing::of_threads(threads) };
        let found = run_changing(&model, RunOptions::until(Time::from_ps(2_000)), &settings).expect("no failure");
        assert_eq!(changed_at(&found), None);
    }
}

#[test]
fn the_least_failure_ends_a_run_that_changes() {
    let model = lively(40, |ctx| {
        if ctx.now() >= Time::from_ps(9_000) {
            ctx.fail("it has come too far");
        }
    });
    let expected = sequential::run(&model, RunOptions::until(Time::MAX)).map(|_| ());
    assert!(expected.is_err());
    for settings in ways() {
        let found: Result<_, Error> = run_changing(&model, RunOptions::until(Time::MAX), &settings).map(|_| ());
        assert_eq!(found, expected, "{settings:?}");
    }
}

#[test]
fn a_run_stopped_before_or_after_it_changes_is_the_run_until_where_it_stopped() {
    for (settings, stop) in ways().flat_map(|settings| [1, 100, 600, 4_000].map(|stop| (settings, stop))) {
        let control = Arc::new(Control::default());
        let stopper = Arc::clone(&control);
        let model = lively(40, move |ctx| {
            if ctx.now() >= Time::from_ps(stop) {
                stopper.stop();
            }
        });
        let options = RunOptions { control: Some(&control), ..RunOptions::until(Time::MAX) };
        let found = run_changing(&model, options, &settings).expect("what was done so far is a result");
        let end = found.stopped_at.expect("it was stopped");
        let expected = sequential::run(&model, RunOptions::until(end)).expect("no failure");
        assert_same(&expected, &found, &settings);
    }
}

#[test]
fn models_of_many_lps_that_are_restored_by_copies_may_change() {
    let mut model = lively(4096, |_| {});
    model.channels = Channels::whole(Delay::from_ms(1));
    let windows = |changes| Suits::Window { threads: 2, shared: false, changes };
    assert_eq!(advise(&model, 2, true).engine, windows(true));
    assert_eq!(advise(&model, 2, false).engine, windows(false));
    assert_eq!(advise(&model, 8, true).engine, Suits::Window { threads: 8, shared: false, changes: false });
}
