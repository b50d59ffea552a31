//! A failure is an error only if its execution is committed.

use super::compare::{assert_alike, in_order};
use super::mesh::{all_to_all, at, lp, mesh, wander};
use crate::engines::support::script::{Script, ps};
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The way in which an execution fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Panics,
    SaysSo,
    SendsTooSoon,
    SendsToNobody,
}

const HOW: [How; 4] = [How::Panics, How::SaysSo, How::SendsTooSoon, How::SendsToNobody];

fn fail(how: How, ctx: &mut Context<'_, Script>) {
    let next = LpId((ctx.id().0 + 1) % ctx.lps());
    match how {
        // Unlike `panic!`, this does not call the panic hook, which writes to the terminal.
        How::Panics => std::panic::resume_unwind(Box::new("it panics on purpose")),
        How::SaysSo => ctx.fail("it had to"),
        How::SendsTooSoon => ctx.send_to(next, ps(1), 0),
        How::SendsToNobody => ctx.send_to(LpId(ctx.lps()), LOOKAHEAD, 0),
    }
}

/// The lookahead of the models here.
const LOOKAHEAD: Delay = Delay::from_ps(2);

/// Makes a model in which an LP has a tick every 10 ps. At each tick it sends the next LP a token, which
/// arrives before that LP's next tick. A tick fails if a token of an earlier tick is missing. So no committed
/// tick fails. `failures` counts the failures.
fn relay(how: How, failures: &Arc<AtomicU64>) -> Script {
    const TOKEN: u64 = u64::MAX;
    let failures = Arc::clone(failures);
    let model = mesh(12, move |state, event, ctx| {
        let Body::Message(tick) = event.copied() else { return };
        if tick == TOKEN {
            return;
        }
        ctx.send_self(ps(10), tick + 1);
        // The events so far are this tick, and a tick and a token for each earlier tick.
        if *state != 2 * tick + 1 {
            failures.fetch_add(1, Ordering::Relaxed);
            fail(how, ctx);
        }
        ctx.send_to(LpId((ctx.id().0 + 1) % ctx.lps()), ps(5), TOKEN);
    });
    Script { channels: Channels::whole(LOOKAHEAD), start: Box::new(|ctx| ctx.send_self(ps(1), 0)), ..model }
}

#[test]
fn failures_that_are_rolled_back_do_not_count() {
    for how in HOW {
        let failures = Arc::new(AtomicU64::new(0));
        let model = relay(how, &failures);
        assert_eq!(in_order(&model, at(1_000)).expect("no failure").events, 12 * 200);
        assert_eq!(failures.load(Ordering::Relaxed), 0);
        assert_alike(&model, at(1_000));
        assert!(failures.load(Ordering::Relaxed) > 0, "{how:?}: nothing was executed ahead of a token");
    }
}

/// Makes a model in which every fifth LP fails: 2, 7, … 27. LP `i` fails at its first event at or after
/// `since + 40 * (31 - i)`. So LPs with higher ids fail earlier.
fn failing(how: How, since: u64) -> Script {
    let model = mesh(32, move |_, event, ctx| {
        let late = since + 40 * u64::from(31 - ctx.id().0);
        if ctx.id().0 % 5 == 2 && ctx.now() >= at(late) {
            fail(how, ctx);
        }
        let Body::Message(hops) = event.copied() else { return };
        let (to, delay) = (ctx.rng().below(32), ctx.rng().below(200));
        ctx.send_to(lp(to), ps(2 + delay), hops + 1);
    });
    Script { channels: Channels::whole(LOOKAHEAD), ..model }
}

#[test]
fn the_earliest_committed_failure_is_the_error() {
    for (how, since) in HOW.into_iter().zip([1_000, 777, 3_000, 1]) {
        let model = failing(how, since);
        let error = in_order(&model, at(1_000_000)).expect_err("it fails");
        assert!(error.place().is_some_and(|place| place.lp.is_some_and(|lp| lp.0 % 5 == 2)), "{error}");
        assert_alike(&model, at(1_000_000));
    }
}

#[test]
fn the_first_of_several_failures_at_one_time_is_the_error() {
    // All LPs fail at one time, in its second round. Only LP 3, which has the lowest id, fails in a later
    // round.
    let model = mesh(24, |_, event, ctx| match event.copied() {
        Body::Message(1) if ctx.id().0 > 3 && ctx.id().0 % 3 == 2 => ctx.fail("at last"),
        Body::Message(1) if ctx.id() == LpId(3) => ctx.send_self(Delay::ZERO, 2),
        Body::Message(2) => ctx.fail("too late"),
        Body::Message(0) if ctx.now() < at(500) => ctx.send_self(ps(10), 0),
        Body::Message(0) => ctx.send_self(Delay::ZERO, 1),
        _ => {}
    });
    let model = Script { start: Box::new(|ctx| ctx.send_self(Delay::ZERO, 0)), ..model };
    let error = in_order(&model, Time::MAX).expect_err("it fails");
    assert_eq!(error.place().and_then(|place| place.lp), Some(LpId(5)));
    assert_alike(&model, Time::MAX);
}

#[test]
fn the_first_lp_that_fails_to_start_is_the_error() {
    let mut model = all_to_all(24);
    model.start = Box::new(|ctx| {
        if ctx.id().0 % 8 == 7 {
            ctx.fail("it cannot start");
        }
    });
    let error = in_order(&model, at(100)).expect_err("it fails");
    assert_eq!(error.place().and_then(|place| place.lp), Some(LpId(7)));
    assert_alike(&model, at(100));
    model.start = Box::new(|_| std::panic::resume_unwind(Box::new("it cannot start")));
    assert_alike(&model, at(100));
}

#[test]
fn an_event_after_the_end_does_not_fail() {
    let model = mesh(16, |_, event, ctx| {
        if ctx.now() >= at(1_000) {
            ctx.fail("too late");
        }
        wander(event, ctx);
    });
    assert!(in_order(&model, at(1_000)).is_ok());
    assert_alike(&model, at(1_000));
    assert_alike(&model, at(1_001));
}

#[test]
fn a_loop_of_zero_delays_is_an_error_that_names_its_lps() {
    const LOOP: u64 = 1 << 40;
    let model = mesh(24, |_, event, ctx| match event.copied() {
        Body::Message(LOOP) => ctx.send_to(LpId((ctx.id().0 + 7) % 21), Delay::ZERO, LOOP),
        Body::Message(_) if ctx.id() == LpId(9) && ctx.now() > at(300) => ctx.send_to(LpId(2), Delay::ZERO, LOOP),
        _ => wander(event, ctx),
    });
    let model = Script { round_limit: 80, ..model };
    let error = in_order(&model, at(100_000)).expect_err("it never ends");
    let ErrorKind::Rounds { limit: 80, lps } = error.kind() else { panic!("another error: {error}") };
    assert_eq!(*lps, [2, 9, 16].map(LpId), "{error}");
    assert_alike(&model, at(100_000));
}
