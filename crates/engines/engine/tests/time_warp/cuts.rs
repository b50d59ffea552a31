//! Runs that are stopped from outside.

use crate::compare::{assert_same, in_order, run_under, unfinished_in_order, ways, ways_on};
use crate::mesh::{at, lp, mesh, wander};
use crate::support::script::{COUNTER, FLOAT, Numbered, Script, ps};
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::run::Control;
use parades_engine::time_warp::Settings;
use std::sync::Arc;

/// A run without end, with all that may have to be taken back at a cut. It is stopped, if at all, when something is executed at `stop` or after,
/// be it for good or not.
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
fn a_run_stopped_amid_executions_is_the_run_until_where_it_stopped() {
    for (settings, stop) in ways().flat_map(|settings| [3, 400, 776, 2_000].map(|stop| (settings, at(stop)))) {
        let control = Arc::new(Control::default());
        let model = endless(&control, stop);
        let (found, unfinished) = run_under(&control, &model, Time::MAX, &settings);
        let end = assert_is_the_run_until_where_it_stopped(&model, &found.expect("no failure"), &settings);
        assert_eq!(unfinished_in_order(&model, end), unfinished, "{settings:?}");
    }
}

/// Stops the run from a thread that is none of its workers, once it has come so far.
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
fn a_run_stopped_from_another_thread_is_the_run_until_where_it_stopped() {
    let model = endless(&Arc::default(), Time::MAX);
    for settings in ways_on([2]) {
        let found = stopped_after(at(400), &model, &settings);
        let end = assert_is_the_run_until_where_it_stopped(&model, &found, &settings);
        assert!(end > at(400), "{end} with {settings:?}");
    }
}

#[test]
fn a_run_stopped_amid_global_events_alone_ends_after_one_of_them() {
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
fn a_run_stopped_before_it_begins_says_so() {
    let control = Control::default();
    control.stop();
    for settings in ways() {
        let (found, _) = run_under(&control, &endless(&Arc::default(), Time::MAX), at(100), &settings);
        assert_eq!(*found.expect_err("it was stopped").kind(), ErrorKind::Stopped);
    }
}
