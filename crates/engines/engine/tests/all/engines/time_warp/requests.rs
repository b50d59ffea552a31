//! Global events, and requests of controllers.

use super::compare::{assert_alike, in_order, run_under, ways};
use super::mesh::{all_to_all, at, lp, mesh, wander};
use crate::engines::support::script::{FLOAT, Numbered, SERIES, Script, ps};
use parades_core::prelude::*;
use parades_core::run::Control;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_global_event_comes_before_the_events_of_its_time() {
    let mut model = all_to_all(32);
    model.globals = vec![(0, 1), (100, 2), (100, 3), (101, 4), (1_500, 5), (2_000, 6), (5_000, 7)];
    model.act = Box::new(|number, sum, ctx| {
        ctx.point(SERIES, (sum % 1_000_003) as f64);
        // One event at the same time, and one later.
        ctx.send(lp(number), Delay::ZERO, 0);
        ctx.send(lp(number), ps(number), 0);
        if number == 6 {
            ctx.schedule(ps(300), Numbered(8));
        }
    });
    let rolled = assert_alike(&model, at(2_500));
    assert!(rolled.rollbacks > 0);
    // A global event may end the run.
    let act = model.act;
    model.act = Box::new(move |number, sum, ctx| {
        act(number, sum, ctx);
        if number == 5 {
            ctx.stop();
        }
    });
    assert_eq!(in_order(&model, at(2_500)).expect("no failure").stopped_at, Some(at(1_500)));
    assert_alike(&model, at(2_500));
}

#[test]
fn events_of_a_global_event_at_its_own_time_are_executed_if_nothing_else_is_pending() {
    let mut model = mesh(8, |_, event, ctx| {
        if let Body::Message(hops @ 1..) = event.copied() {
            ctx.send_to(lp(hops % 8), ps(hops % 3), hops - 1);
        }
    });
    model.start = Box::new(|_| {});
    model.globals = vec![(0, 0), (500, 20), (1_000_000, 5)];
    model.act = Box::new(|number, _, ctx| {
        (0..3).for_each(|to| ctx.send(lp(to), Delay::ZERO, number));
    });
    let expected = in_order(&model, Time::MAX).expect("no failure");
    assert_eq!((expected.events, expected.global_events), (3 + 3 * 21 + 3 * 6, 3));
    assert_alike(&model, Time::MAX);
}

#[test]
fn progress_never_passes_the_time_reached() {
    // There is no event before the global events or after them.
    let control = Arc::new(Control::default());
    let greatest = Arc::new(AtomicU64::new(0));
    let (seen, recorded) = (Arc::clone(&control), Arc::clone(&greatest));
    let mut model = mesh(4, |_, _, _| {});
    model.globals = vec![(500, 1), (700, 2)];
    model.act = Box::new(move |_, _, ctx| {
        let beyond = seen.progress().0.as_ps().saturating_sub(ctx.now().as_ps());
        recorded.fetch_max(beyond, Ordering::Relaxed);
    });
    for settings in ways() {
        let (found, _) = run_under(&control, &model, at(900), &settings);
        assert_eq!(found.expect("no failure").global_events, 2);
        assert_eq!(greatest.load(Ordering::Relaxed), 0, "{settings:?}");
        assert_eq!(control.progress().0, at(900));
    }
}

/// Makes a model in which LPs 3 and 20 request global events now and then, and LP 20 requests the end.
fn controlled(delay: Delay, end: Time) -> Script {
    let mut model = mesh(24, move |state, event, ctx| {
        let is_controller = ctx.id() == LpId(3) || ctx.id() == LpId(20);
        // A request depends on the events executed before, so that it may be rolled back.
        if is_controller && *state % 7 == 3 {
            ctx.request(Numbered(*state % 100));
            ctx.observe_float(FLOAT, *state as f64);
        }
        if ctx.id() == LpId(20) && ctx.now() >= end {
            ctx.request_stop();
        }
        wander(event, ctx);
    });
    model.act = Box::new(|number, sum, ctx| {
        ctx.point(SERIES, (sum % 1_000_003) as f64);
        ctx.send(lp(number % 24), Delay::ZERO, number);
    });
    model.controllers = Controllers { lps: vec![LpId(3), LpId(20)], delay };
    model
}

#[test]
fn requests_of_controllers_take_effect_after_the_control_delay() {
    for delay in [1, 40, 1_000] {
        let model = controlled(ps(delay), at(1_500));
        let expected = in_order(&model, at(50_000)).expect("no failure");
        assert!(expected.stopped_at.is_some() && expected.global_events > 2, "{expected:?}");
        let rolled = assert_alike(&model, at(50_000));
        assert!(rolled.rollbacks > 0 || delay == 1);
    }
}

#[test]
fn a_request_made_at_start_up_counts_from_zero() {
    let mut model = all_to_all(16);
    model.controllers = Controllers { lps: vec![LpId(15)], delay: ps(70) };
    model.act = Box::new(|number, sum, ctx| ctx.point(SERIES, (sum % 1_000_003) as f64 + number as f64));
    model.start = Box::new(|ctx| {
        ctx.send_self(ps(3), 0);
        if ctx.id() == LpId(15) {
            ctx.request(Numbered(8));
        }
    });
    assert_eq!(in_order(&model, at(500)).expect("no failure").global_events, 1);
    assert_alike(&model, at(500));
}
