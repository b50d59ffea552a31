//! The earliest of several failures is the error of the run. A failed execution has no effects.

use super::answers::{error_of, run};
use crate::engines::support::script::{COUNTER, Script, ps};
use parades_core::error::ErrorKind;
use parades_core::prelude::*;

#[test]
fn the_earliest_of_several_failures_is_the_error() {
    // At 10 ps, LPs 1, 2 and 3 fail in round 0, and LP 0 fails in round 1.
    let start = |ctx: &mut Context<'_, Script>| ctx.send_self(ps(10), 1);
    let mut model = Script::new(4, start, |_, event, ctx| match (ctx.id().0, event) {
        (0, Body::Message(1)) => ctx.send_self(Delay::ZERO, 2),
        (3, _) => panic!("the model panics on purpose"),
        _ => ctx.fail(format!("{} fails", ctx.id())),
    });
    let error = error_of(&model);
    assert_eq!(error.kind(), &ErrorKind::Model("LP 1 fails".into()));
    assert_eq!(error.place().and_then(|place| place.lp), Some(LpId(1)));
    // A failure of a global event at the same time comes first. A failure of a visit names the LP.
    model.globals = vec![(10, 0)];
    model.act = Box::new(|_, _, ctx| ctx.fail("the act fails"));
    assert!(
        error_of(&model)
            .to_string()
            .starts_with("the global event at 0.00000000001s, executing the event from GLOBAL #0")
    );
    model.visit = Box::new(|_, _, ctx| {
        assert!(ctx.id().0 < 2, "the visit panics");
    });
    let error = error_of(&model);
    assert_eq!(error.kind(), &ErrorKind::Panic("the visit panics".into()));
    assert_eq!(error.place().and_then(|place| place.lp), Some(LpId(2)));
    // Failures at start-up come before all others, in the order of LPs.
    model.start = Box::new(|ctx| assert!(ctx.id().0 == 0, "{} cannot start", ctx.id()));
    let error = error_of(&model);
    assert_eq!(
        error.to_string(),
        "LP 1 at 0s, starting up: the model panicked: LP 1 cannot start; correct the model, or its parameters"
    );
}

#[test]
fn a_failed_execution_has_no_effects_and_the_first_of_its_failures_counts() {
    let start = |ctx: &mut Context<'_, Script>| {
        ctx.send_self(ps(1), 0);
        ctx.send_self(ps(2), 1);
        ctx.send_self(ps(3), 2);
    };
    let model = Script::new(1, start, |_, event, ctx| {
        ctx.count(COUNTER, 1);
        ctx.note(|| "noted".into());
        if let Body::Message(1) = event {
            ctx.fail("first");
            ctx.send_self(Delay::MAX, 3);
            ctx.send_to(LpId(9), ps(1), 3);
        }
    });
    let (result, trace) = run(&model, || RunOptions::until(Time::MAX));
    assert_eq!(result.expect_err("it fails").kind(), &ErrorKind::Model("first".into()));
    assert_eq!(trace, ["0.000000000001s LP 0 <- LP 0 #0 0", "  | noted"]);
}

#[test]
fn an_event_after_the_end_does_not_fail() {
    let model = Script::new(1, |ctx| ctx.send_self(ps(5), 0), |_, _, ctx| ctx.fail("too late"));
    assert!(run(&model, || RunOptions::until(Time::from_ps(5))).0.is_ok());
    assert!(run(&model, || RunOptions::until(Time::from_ps(6))).0.is_err());
}

#[test]
fn a_model_that_declares_the_impossible_is_refused_in_a_sentence() {
    let refused = |change: fn(&mut Script)| {
        let mut model = Script::new(3, |_| {}, |_, _, _| {});
        change(&mut model);
        let error = error_of(&model);
        let ErrorKind::Declaration(what) = error.kind() else { panic!("another error: {error}") };
        what.clone()
    };
    assert_eq!(refused(|m| m.lps = 0), "a model has between 1 and 4294967294 logical processes, not 0");
    assert_eq!(refused(|m| m.lps = u32::MAX), "a model has between 1 and 4294967294 logical processes, not 4294967295");
    assert_eq!(
        refused(|m| m.controllers = Controllers { lps: vec![LpId(3)], delay: ps(1) }),
        "LP 3 is declared a controller, but there are only 3 LPs"
    );
    assert_eq!(
        refused(|m| m.controllers = Controllers { lps: vec![LpId(2)], delay: Delay::ZERO }),
        "a model with controllers declares a control delay above zero"
    );
    assert_eq!(
        refused(|m| {
            m.channels = Channels::none();
            m.channels.connect(LpId(0), LpId(3), ps(1));
        }),
        "a channel is declared from LP 0 to LP 3, but there are only 3 LPs"
    );
    assert_eq!(
        refused(|m| {
            m.channels = Channels::none();
            m.channels.to_anyone(LpId(5), ps(1));
        }),
        "a channel is declared for LP 5, but there are only 3 LPs"
    );
}
