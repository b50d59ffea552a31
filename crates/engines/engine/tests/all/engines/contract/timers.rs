//! A timer is executed at the time of its last setting. Otherwise its settings only count as sends.

use super::answers::{run, run_until};
use crate::engines::support::script::{Script, ps};
use parades_core::prelude::*;

const TIMER: TimerId = TimerId(0);

/// Makes a model of one LP. At the start it sets its timer to `due`. At 5 ps it gets a message, and calls
/// `act`.
fn told(due: u64, act: impl Fn(&mut Context<'_, Script>) + Sync + 'static) -> Script {
    let start = move |ctx: &mut Context<'_, Script>| {
        ctx.send_self(ps(5), 1);
        ctx.set_timer(TIMER, ps(due));
    };
    Script::new(1, start, move |state, event, ctx| {
        *state += 1;
        if let Body::Message(1) = event {
            act(ctx);
        }
    })
}

/// Returns the trace of a run without an end time. Checks that a tie seed does not change it.
fn trace(model: &Script) -> Vec<String> {
    let (outcome, trace) = run_until(model, u64::MAX);
    assert_eq!(outcome.events, trace.len() as u64, "only what is executed is counted");
    let (_, shuffled) = run(model, || RunOptions { tie_seed: Some(3), ..RunOptions::until(Time::MAX) });
    assert_eq!(trace, shuffled, "with one sender there is nothing to shuffle");
    trace
}

#[test]
fn a_timer_cancelled_at_the_instant_at_which_it_is_due_does_not_fire() {
    let cancelled = told(5, |ctx| {
        assert!(ctx.is_timer_set(TIMER));
        ctx.cancel_timer(TIMER);
        assert!(!ctx.is_timer_set(TIMER));
    });
    assert_eq!(trace(&cancelled), ["0.000000000005s LP 0 <- LP 0 #0 1"]);
    // The digest equals that of a run in which the timer was cancelled long before.
    let mut never = told(9, |_| {});
    never.start = Box::new(|ctx| {
        ctx.send_self(ps(5), 1);
        ctx.set_timer(TIMER, ps(9));
        ctx.cancel_timer(TIMER);
    });
    assert_eq!(run_until(&cancelled, 100).0.digest, run_until(&never, 100).0.digest);
}

#[test]
fn a_timer_fires_once_at_the_key_of_its_last_setting() {
    let first = "0.000000000005s LP 0 <- LP 0 #0 1";
    // The timer is reset to later, to earlier, to the same instant, and to the current instant.
    let off = told(8, |ctx| ctx.set_timer(TIMER, ps(7)));
    assert_eq!(trace(&off), [first, "0.000000000012s LP 0 <- LP 0 #2 timer 0"]);
    let forward = told(8, |ctx| ctx.set_timer(TIMER, ps(1)));
    assert_eq!(trace(&forward), [first, "0.000000000006s LP 0 <- LP 0 #2 timer 0"]);
    let same = told(8, |ctx| ctx.set_timer(TIMER, ps(3)));
    assert_eq!(trace(&same), [first, "0.000000000008s LP 0 <- LP 0 #2 timer 0"]);
    let now = told(8, |ctx| ctx.set_timer(TIMER, Delay::ZERO));
    assert_eq!(trace(&now), [first, "0.000000000005s round 1 LP 0 <- LP 0 #2 timer 0"]);
}

#[test]
fn a_timer_reset_many_times_and_cancelled_and_set_again_fires_once() {
    let model = told(8, |ctx| {
        for delay in [9, 2, 30, 1, 6] {
            ctx.set_timer(TIMER, ps(delay));
        }
        ctx.cancel_timer(TIMER);
        ctx.cancel_timer(TIMER);
        ctx.set_timer(TIMER, ps(20));
    });
    assert_eq!(trace(&model)[1..], ["0.000000000025s LP 0 <- LP 0 #7 timer 0"]);
}

#[test]
fn a_timer_that_fired_is_no_longer_set_and_may_be_set_in_its_own_handler() {
    let mut model = told(1, |_| {});
    model.handle = Box::new(|state, event, ctx| {
        if let Body::Timer(TIMER) = event {
            assert!(!ctx.is_timer_set(TIMER));
            *state += 1;
            if *state < 3 {
                ctx.set_timer(TIMER, ps(10));
            }
        }
    });
    let timers: Vec<String> = trace(&model).into_iter().filter(|line| line.contains("timer")).collect();
    let at = ["01s LP 0 <- LP 0 #1", "11s LP 0 <- LP 0 #2", "21s LP 0 <- LP 0 #3"];
    assert_eq!(timers, at.map(|line| format!("0.0000000000{line} timer 0")));
}

#[test]
fn a_visit_may_set_a_timer_for_its_own_instant_and_cancel_one_due_then() {
    let start = |ctx: &mut Context<'_, Script>| ctx.set_timer(TimerId(u32::from(ctx.id() == LpId(1))), ps(4));
    let mut model = Script::new(2, start, |_, _, _| {});
    model.globals = vec![(4, 0)];
    model.visit = Box::new(|_, _, ctx| {
        if ctx.id() == LpId(0) {
            ctx.cancel_timer(TIMER);
            ctx.set_timer(TimerId(5), Delay::ZERO);
        }
    });
    let expected = ["0.000000000004s LP 0 <- LP 0 #1 timer 5", "0.000000000004s LP 1 <- LP 1 #0 timer 1"];
    assert_eq!(run_until(&model, 100).1, expected);
}
