//! The ends of runs: at the given time, at a stop by the model, or at a stop by hand.

use super::answers::run_until;
use crate::engines::support::script::{Numbered, SERIES, Script, ps};
use parades_core::error::{Error, ErrorKind};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_core::run::{Control, Outcome};
use parades_engine::{null_message, sequential, time_warp, window};

/// Makes a model with an event each picosecond, each followed by an event in the next round. It samples at 0,
/// 5 and 10 ps.
fn ticking() -> Script {
    let mut model = Script::new(
        1,
        |ctx| ctx.send_self(Delay::ZERO, 1),
        |state, event, ctx| {
            *state += 1;
            if let Body::Message(1) = event {
                ctx.send_self(ps(1), 1);
                ctx.send_self(Delay::ZERO, 0);
            }
        },
    );
    model.globals = vec![(0, 0), (5, 0), (10, 0)];
    model.act = Box::new(|_, sum, ctx| ctx.point(SERIES, sum as f64));
    model
}

fn points(outcome: &Outcome) -> Vec<(u64, f64)> {
    let Some(MetricValue::Series(series)) = outcome.metrics.get("series") else { panic!("a series") };
    series.points().into_iter().map(|(time, value)| (time.as_ps(), value)).collect()
}

#[test]
fn a_run_to_t_executes_everything_before_t_and_the_global_events_at_t_only() {
    let (outcome, trace) = run_until(&ticking(), 5);
    assert_eq!((outcome.events, outcome.global_events, outcome.end), (10, 2, Time::from_ps(5)));
    assert!(trace.iter().all(|line| !line.starts_with("0.000000000005s")));
    assert!(trace.last().is_some_and(|line| line.starts_with("0.000000000004s round 1")));
    assert_eq!(outcome.stopped_at, None);
    // A sample sees each LP after everything before the sample's time.
    assert_eq!(points(&outcome), [(0, 0.0), (5, 10.0)]);

    let (outcome, trace) = run_until(&ticking(), 0);
    assert_eq!((outcome.events, outcome.global_events, trace.len()), (0, 1, 0));
    assert_eq!(run_until(&ticking(), 4).0.global_events, 1);
}

#[test]
fn messages_in_flight_are_shown_in_order_and_without_timers() {
    let start = |ctx: &mut Context<'_, Script>| {
        [9, 6, 7, 6].into_iter().for_each(|at| ctx.send_self(ps(at), at));
        ctx.set_timer(TimerId(0), ps(8));
    };
    let model = Script::new(2, start, |_, _, _| {});
    let outcome = sequential::run(&model, RunOptions::until(Time::from_ps(7))).expect("no failure");
    assert_eq!(outcome.events, 4);
    let expected = ["7s LP 0 <- LP 0 #2 7", "7s LP 1 <- LP 1 #2 7", "9s LP 0 <- LP 0 #0 9", "9s LP 1 <- LP 1 #0 9"];
    assert_eq!(*model.unfinished.lock().expect("nobody panicked"), expected.map(|line| format!("0.00000000000{line}")));
}

#[test]
fn a_stop_ends_the_run_after_the_other_global_events_of_its_time() {
    let mut model = ticking();
    model.globals = vec![(3, 1), (3, 0), (4, 0)];
    model.act = Box::new(|number, sum, ctx| {
        ctx.point(SERIES, sum as f64);
        if number == 1 {
            ctx.stop();
        }
    });
    let (outcome, _) = run_until(&model, 100);
    assert_eq!((outcome.end, outcome.stopped_at), (Time::from_ps(3), Some(Time::from_ps(3))));
    assert_eq!((outcome.events, outcome.global_events), (6, 2));
    assert_eq!(points(&outcome).len(), 2);
    // A stop at the given end is not an early stop.
    assert_eq!(run_until(&model, 3).0.stopped_at, None);
}

#[test]
fn a_controllers_stop_comes_exactly_after_the_control_delay() {
    let mut model = ticking();
    model.globals = Vec::new();
    model.controllers = Controllers { lps: vec![LpId(0)], delay: ps(7) };
    model.handle = Box::new(|state, event, ctx| {
        *state += 1;
        if ctx.now() == Time::from_ps(2) && matches!(event, Body::Message(1)) {
            ctx.request_stop();
        }
        ctx.send_self(ps(1), 1);
    });
    let (outcome, trace) = run_until(&model, 100);
    assert_eq!(outcome.stopped_at, Some(Time::from_ps(9)));
    assert!(trace.last().is_some_and(|line| line.starts_with("0.000000000008s")));
}

#[test]
fn a_request_made_at_start_up_counts_from_zero() {
    let mut model = ticking();
    model.globals = Vec::new();
    model.controllers = Controllers { lps: vec![LpId(0)], delay: ps(4) };
    model.start = Box::new(|ctx| {
        ctx.send_self(Delay::ZERO, 1);
        ctx.request(Numbered(8));
    });
    assert_eq!(points(&run_until(&model, 100).0), [(4, 8.0)]);
}

#[test]
fn a_run_stopped_by_hand_ends_even_if_it_has_only_global_events() {
    type Run = fn(&Script, RunOptions<'_>) -> Result<Outcome, Error>;
    let engines: [Run; 4] = [
        |model, options| sequential::run(model, options),
        |model, options| window::run(model, options, &window::Settings::of_threads(2)),
        |model, options| null_message::run(model, options, &null_message::Settings::of_threads(2)),
        |model, options| time_warp::run(model, options, &time_warp::Settings::of_threads(2)),
    ];
    for run in engines {
        // No LP has an event, but there is a global event each picosecond, without end.
        let control = Control::default();
        let mut model = Script::new(2, |_| {}, |_, _, _| {});
        model.globals = vec![(0, 0)];
        model.act = Box::new(|number, _, ctx| ctx.schedule(ps(1), Numbered(number + 1)));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while control.progress().0 < Time::from_ps(1000) {
                    std::thread::yield_now();
                }
                control.stop();
            });
            let options = RunOptions { control: Some(&control), ..RunOptions::until(Time::MAX) };
            let stopped = run(&model, options).expect("no failure");
            let at = stopped.stopped_at.expect("it was stopped");
            let again = sequential::run(&model, RunOptions::until(at)).expect("no failure");
            assert_eq!((stopped.digest, stopped.global_events), (again.digest, again.global_events));
        });
    }
}

#[test]
fn a_run_stopped_by_hand_at_a_time_of_many_rounds_finishes_that_time() {
    // All events are at one time, in rounds. The stop comes in the middle of them.
    let control = Control::default();
    control.stop();
    let model = Script::new(
        1,
        |ctx| ctx.send_self(ps(3), 20_000),
        |_, event, ctx| {
            let Body::Message(left @ 1..) = event.copied() else { return };
            ctx.send_self(Delay::ZERO, left - 1);
            ctx.send_self(ps(1), 0);
        },
    );
    let refused = sequential::run(&model, RunOptions { control: Some(&control), ..RunOptions::until(Time::MAX) });
    assert_eq!(refused.expect_err("stopped before it began").kind(), &ErrorKind::Stopped);

    let control = Control::default();
    let mut model = model;
    let shared = std::sync::Arc::new(control);
    let stopper = std::sync::Arc::clone(&shared);
    let handle = model.handle;
    model.handle = Box::new(move |state, event, ctx| {
        stopper.stop();
        handle(state, event, ctx);
    });
    let options = RunOptions { control: Some(&shared), ..RunOptions::until(Time::MAX) };
    let outcome = sequential::run(&model, options).expect("no failure");
    assert_eq!((outcome.stopped_at, outcome.events), (Some(Time::from_ps(4)), 20_001));
}

#[test]
fn a_run_over_its_memory_limit_is_an_error_that_names_the_memory_needed() {
    let model = Script::new(1000, |ctx| ctx.send_self(ps(1), 0), |_, _, _| {});
    let limited =
        |limit| sequential::run(&model, RunOptions { memory_limit: Some(limit), ..RunOptions::until(Time::MAX) });
    // The records alone are above the first limit. Records and events together are above the second.
    for limit in [1000 * 64 - 1, 1000 * 64 + 100] {
        let error = limited(limit).expect_err("too little");
        let ErrorKind::Memory { limit: of, needed } = *error.kind() else { panic!("another error: {error}") };
        assert!(of == limit && needed > limit, "{error}");
        assert_eq!(error.place(), None);
    }
    assert!(limited(1 << 20).is_ok());
}

#[test]
fn memory_that_grows_during_the_run_is_limited_too() {
    let model = Script::new(
        1,
        |ctx| ctx.send_self(ps(1), 0),
        |_, _, ctx| {
            ctx.send_self(ps(1), 0);
            ctx.send_self(ps(1_000_000_000), 1);
        },
    );
    let options = RunOptions { memory_limit: Some(1 << 20), ..RunOptions::until(Time::from_ps(10_000_000)) };
    let error = sequential::run(&model, options).expect_err("too little");
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
}
