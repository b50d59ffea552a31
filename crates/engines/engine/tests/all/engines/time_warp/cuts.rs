//! Runs that are stopped by hand.

use super::compare::{assert_same, in_order, run_under, unfinished_in_order, ways, ways_on};
use super::mesh::{at, lp, mesh, wander};
use crate::engines::support::script::{COUNTER, FLOAT, Numbered, Script, ps};
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::run::Control;
use parades_engine::time_warp::Settings;
use std::sync::Arc;

/// Makes a run without an end time, with all effects that may have to be rolled back at a cut. An execution
/// at `stop` or later stops the run, even if the execution is rolled back.
fn endless(control: &Arc<Control>, stop: Time) -> Script {
    let control = Arc::clone(control);
    let mut model = mesh(24, move |state, event, ctx| {
        if ctx.now() >= stop {
            control.stop();
        }
        ctx.count(COUNTER, 1);
        ctx.observe_float(FLOAT, 1.0 / *state as f64);
        let delay = ps(ctx.rng().below(150));
        match ctx.rng().below(4) {
            0 | 1 => ctx.set_timer(TimerId(0), delay),
            2 => ctx.cancel_timer(TimerId(0)),
            _ => {}
        }
        wander(event, ctx);
    });
    model.globals = vec![(777, 1), (5_000, 2)];
    model.act = Box::new(|number, _, ctx| ctx.send(lp(number), Delay::ZERO, 0));
    model
}

fn assert_is_the_run_until_where_it_stopped(model: &Script, found: &Outcome, settings: &Settings) -> Time {
    let end = found.stopped_at.expect("it was stopped");
    assert_eq!(found.end, end);
    assert_same(&in_order(model, end).expect("no failure"), found, settings);
    end
}

#[test]
fn a_run_stopped_during_executions_equals_the_run_until_its_stop() {
    for (settings, stop) in ways().flat_map(|settings| [3, 400, 776, 2_000].map(|stop| (settings, at(stop)))) {
        let control = Arc::new(Control::default());
        let model = endless(&control, stop);
        let (found, unfinished) = run_under(&control, &model, Time::MAX, &settings);
        let end = assert_is_the_run_until_where_it_stopped(&model, &found.expect("no failure"), &settings);
        assert_eq!(unfinished_in_order(&model, end), unfinished, "{settings:?}");
    }
}

/// Runs the model. Stops the run from another thread once it has reached `until`.
fn stopped_after(until: Time, model: &Script, settings: &Settings) -> Outcome {
    let control = Control::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while control.progress().0 < until {
                std::thread::yield_now();
            }
            control.stop();
        });
        run_under(&control, model, Time::MAX, settings).0.expect("no failure")
    })
}

#[test]
fn a_run_stopped_from_another_thread_equals_the_run_until_its_stop() {
    let model = endless(&Arc::default(), Time::MAX);
    for settings in ways_on([2]) {
        let found = stopped_after(at(400), &model, &settings);
        let end = assert_is_the_run_until_where_it_stopped(&model, &found, &settings);
        assert!(end > at(400), "{end} with {settings:?}");
    }
}

#[test]
fn a_run_that_has_only_global_events_can_be_stopped() {
    let mut model = mesh(3, |_, _, _| {});
    model.start = Box::new(|_| {});
    model.globals = vec![(0, 0)];
    model.act = Box::new(|number, _, ctx| ctx.schedule(ps(1), Numbered(number + 1)));
    for settings in ways() {
        let found = stopped_after(at(50), &model, &settings);
        assert_is_the_run_until_where_it_stopped(&model, &found, &settings);
    }
}

#[test]
fn a_run_stopped_before_it_begins_is_an_error() {
    let control = Control::default();
    control.stop();
    for settings in ways() {
        let (found, _) = run_under(&control, &endless(&Arc::default(), Time::MAX), at(100), &settings);
        assert_eq!(*found.expect_err("it was stopped").kind(), ErrorKind::Stopped);
    }
}
