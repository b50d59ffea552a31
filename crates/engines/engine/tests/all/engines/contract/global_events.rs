//! Global events: their times, their order, the actions that are allowed, and requests for them.

use super::answers::{error_of, run_until};
use crate::engines::support::script::{Numbered, SERIES, Script, ps};
use parades_core::error::ErrorKind;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// Makes a model record the number of each global event and the sum of the states in the series.
fn recording(mut model: Script) -> Script {
    model.act = Box::new(|number, sum, ctx| ctx.point(SERIES, (100 * number + sum) as f64));
    model
}

fn points(outcome: &Outcome) -> Vec<(u64, u64)> {
    let Some(MetricValue::Series(series)) = outcome.metrics.get("series") else { panic!("a series") };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small whole numbers")]
    series.points().into_iter().map(|(time, value)| (time.as_ps(), value as u64)).collect()
}

#[test]
fn a_global_event_sees_everything_before_its_time_and_nothing_at_its_time() {
    let start = |ctx: &mut Context<'_, Script>| (3..6).for_each(|at| ctx.send_self(ps(at), 0));
    let mut model = recording(Script::new(2, start, |state, _, ctx| {
        *state += 1;
        if ctx.instant().round == 0 {
            ctx.send_self(Delay::ZERO, 0);
        }
    }));
    model.globals = vec![(4, 1), (3, 2), (6, 3)];
    assert_eq!(points(&run_until(&model, 100).0), [(3, 200), (4, 104), (6, 312)]);
}

#[test]
fn global_events_of_one_time_come_by_sender_whatever_the_tie_seed() {
    let mut model = recording(Script::new(
        4,
        |ctx| ctx.send_self(ps(4 - u64::from(ctx.id().0)), 0),
        |_, _, ctx| {
            if ctx.now() < Time::from_ps(5) && ctx.id() != LpId(0) {
                // LPs 3, 2 and 1 each request a global event at 1, 2 and 3 ps, for 21, 22 and 23 ps.
                ctx.request(Numbered(u64::from(ctx.id().0)));
                ctx.send_self(ps(10 - ctx.now().as_ps()), 0);
            } else if ctx.id() != LpId(0) {
                // All three request two more, all for 30 ps.
                ctx.request(Numbered(10 + u64::from(ctx.id().0)));
                ctx.request(Numbered(20 + u64::from(ctx.id().0)));
            }
        },
    ));
    model.controllers = Controllers { lps: vec![LpId(3), LpId(1), LpId(2)], delay: ps(20) };
    model.globals = vec![(30, 9), (30, 8)];
    let expected =
        [(21, 3), (22, 2), (23, 1), (30, 9), (30, 8), (30, 11), (30, 21), (30, 12), (30, 22), (30, 13), (30, 23)];
    let expected = expected.map(|(time, number)| (time, 100 * number));
    assert_eq!(points(&run_until(&model, 100).0), expected);
    for seed in 0..5 {
        let options = || RunOptions { tie_seed: Some(seed), ..RunOptions::until(Time::from_ps(100)) };
        assert_eq!(points(&super::answers::run(&model, options).0.expect("no failure")), expected);
    }
}

#[test]
fn a_request_counts_as_a_send() {
    let mut model = Script::new(
        1,
        |ctx| ctx.send_self(ps(1), 1),
        |_, event, ctx| {
            if let Body::Message(1) = event {
                ctx.request(Numbered(0));
                ctx.send_self(ps(1), 0);
            }
        },
    );
    model.controllers = Controllers { lps: vec![LpId(0)], delay: ps(20) };
    assert_eq!(run_until(&model, 100).1[1..], ["0.000000000002s LP 0 <- LP 0 #2 0"]);
}

#[test]
fn only_controllers_may_request_and_not_while_they_are_visited() {
    let mut model = Script::new(2, |ctx| ctx.send_self(ps(1), 0), |_, _, ctx| ctx.request(Numbered(0)));
    model.controllers = Controllers { lps: vec![LpId(0)], delay: ps(20) };
    let error = error_of(&model);
    assert_eq!(
        error.kind(),
        &ErrorKind::Declaration("it asked for a global event without being declared a controller".into())
    );
    assert_eq!(error.place().and_then(|place| place.lp), Some(LpId(1)));
    model.controllers.lps = vec![LpId(0), LpId(1)];
    assert_eq!(run_until(&model, 100).0.global_events, 2);
    model.visit = Box::new(|_, _, ctx| ctx.request_stop());
    let error = error_of(&model);
    let ErrorKind::NoChannel(what) = error.kind() else { panic!("another error: {error}") };
    assert_eq!(what, "it asked for a global event while visited by one, which alone may schedule another then");
}

#[test]
fn a_global_event_schedules_the_next_later_than_itself() {
    let mut model = Script::new(1, |_| {}, |_, _, _| {});
    model.globals = vec![(5, 3)];
    model.act = Box::new(|number, _, ctx| {
        ctx.point(SERIES, number as f64);
        if number > 0 {
            ctx.schedule(ps(number), Numbered(number - 1));
        }
    });
    assert_eq!(points(&run_until(&model, 100).0), [(5, 3), (8, 2), (10, 1), (11, 0)]);
    model.act = Box::new(|_, _, ctx| ctx.schedule(Delay::ZERO, Numbered(0)));
    let error = error_of(&model);
    assert_eq!(error.kind(), &ErrorKind::Model("it scheduled a global event for the very time it ran at".into()));
}

#[test]
fn a_global_event_changes_lookahead_and_events_in_flight_keep_their_arrival() {
    let start = |ctx: &mut Context<'_, Script>| {
        if ctx.id() == LpId(0) {
            ctx.send_self(ps(1), 1);
            ctx.send_self(ps(6), 6);
        }
    };
    let mut model = Script::new(2, start, |_, event, ctx| match event {
        Body::Message(1) => ctx.send(Port(0), ps(30), 0),
        Body::Message(6) => ctx.send(Port(0), ps(9), 0),
        _ => {}
    });
    model.channels = Channels::none();
    model.channels.connect(LpId(0), LpId(1), ps(5));
    model.globals = vec![(6, 9)];
    model.act = Box::new(|number, _, ctx| ctx.set_lookahead(LpId(0), Port(0), ps(number)));
    let (_, trace) = run_until(&model, 100);
    assert_eq!(trace[2..], ["0.000000000015s LP 1 <- LP 0 #3 0", "0.000000000031s LP 1 <- LP 0 #2 0"]);
    model.globals = vec![(6, 10)];
    assert!(matches!(error_of(&model).kind(), ErrorKind::Lookahead { lookahead, .. } if *lookahead == ps(10)));
    model.globals = vec![(7, 10)];
    assert_eq!(run_until(&model, 100).1.len(), 4, "later it is too late");
    model.act = Box::new(|_, _, ctx| ctx.set_lookahead(LpId(1), Port(0), ps(1)));
    let ErrorKind::NoChannel(what) = error_of(&model).kind().clone() else { panic!("no such channel") };
    assert_eq!(what, "LP 1 has no port 0: it declares 0 channels");
}

#[test]
fn a_visit_goes_to_each_lp_in_the_order_of_ids_and_may_change_its_state_and_draw() {
    let mut model = recording(Script::new(3, |_| {}, |_, _, _| {}));
    model.globals = vec![(1, 0), (2, 0)];
    model.visit = Box::new(|state, _, ctx| {
        assert_eq!(ctx.sender(), None);
        *state = *state * 10 + u64::from(ctx.id().0) + 1;
        let _ = ctx.rng().next_u64();
        ctx.count(crate::engines::support::script::COUNTER, *state);
    });
    let (outcome, _) = run_until(&model, 100);
    assert_eq!(points(&outcome), [(1, 6), (2, 11 + 22 + 33)]);
    assert_eq!(outcome.metrics.get("counter").and_then(MetricValue::counter), Some(72));
}
