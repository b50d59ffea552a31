//! `rounds` gives the result of `sequential`, whatever it executes in parallel and however its threads
//! wait. It does execute rounds in parallel.

mod ends;
mod help;
mod watched;

use crate::engines::support::script::{Numbered, Script};
use crate::engines::support::{stat, traced};
use parades_core::error::Error;
use parades_core::prelude::*;
use parades_engine::rounds::{self, Main, Settings, Threshold};
use parades_engine::sequential;
use parades_sync::pool::Waiting;

fn ms(ms: u64) -> Delay {
    Delay::from_ms(ms)
}

fn at_ms(at: u64) -> Time {
    Time::ZERO.checked_add(ms(at)).expect("soon")
}

/// Makes a model whose LPs all count their events. Each begins with an event to itself at one millisecond.
fn beat(lps: u32, handle: impl Fn(&mut u64, Body<&u64>, &mut Context<'_, Script>) + Sync + 'static) -> Script {
    let counted = move |state: &mut u64, event: Body<&u64>, ctx: &mut Context<'_, Script>| {
        *state += 1;
        handle(state, event, ctx);
    };
    let mut model = Script::new(lps, |ctx| ctx.send_self(ms(1), 0), counted);
    model.visit = Box::new(|state, _, _| *state += 1_000_000);
    model.act = Box::new(|_, sum, ctx| ctx.send(LpId(0), Delay::ZERO, sum));
    model.channels = Channels::whole(Delay::ZERO);
    model
}

/// Sends to itself after a millisecond, and to another LP without delay, up to three hops.
fn tick(event: Body<&u64>, ctx: &mut Context<'_, Script>) {
    let Body::Message(&hops) = event else { return };
    if hops == 0 {
        ctx.send_self(ms(1), 0);
    }
    if hops < 3 {
        let lps = ctx.lps();
        let to = ctx.rng().below(u64::from(lps));
        ctx.send_to(LpId(u32::try_from(to).expect("a few LPs")), Delay::ZERO, hops + 1);
    }
}

fn busy(lps: u32) -> Script {
    beat(lps, |_, event, ctx| tick(event, ctx))
}

/// Returns settings. With all but the first, most rounds are executed in parallel.
fn ways() -> impl Iterator<Item = Settings> {
    let fixed = |threads, waiting, main| Settings {
        threshold: Threshold::Fixed(2),
        waiting,
        main,
        ..Settings::of_threads(threads)
    };
    [
        Settings::of_threads(1),
        fixed(2, Waiting::Adaptive, Main::Works),
        fixed(3, Waiting::Futex, Main::Sleeps),
        fixed(2, Waiting::Posix, Main::Extra),
        fixed(8, Waiting::Adaptive, Main::Works),
        fixed(2, Waiting::Busy, Main::Works),
        Settings { threshold: Threshold::Cumulative(30), ..Settings::of_threads(2) },
        Settings { threshold: Threshold::Naive(30), ..Settings::of_threads(2) },
        Settings::of_threads(2),
    ]
    .into_iter()
}

fn in_order(model: &Script, until: Time) -> Result<Outcome, Error> {
    sequential::run(model, RunOptions::until(until))
}

/// Runs the model with all settings, and compares results and traces with `sequential`.
fn assert_alike(model: &Script, until: Time) {
    let (expected, lines) = traced(RunOptions::until(until), |options| sequential::run(model, options));
    for settings in ways() {
        let (found, trace) = traced(RunOptions::until(until), |options| rounds::run(model, options, &settings));
        match (&expected, &found) {
            (Ok(a), Ok(b)) => {
                assert_eq!((a.digest, &a.lp_digests, a.events), (b.digest, &b.lp_digests, b.events), "{settings:?}");
                assert_eq!((a.end, a.global_events, a.stopped_at), (b.end, b.global_events, b.stopped_at));
                assert_eq!(a.metrics, b.metrics, "{settings:?}");
            }
            (a, b) => assert_eq!(a.as_ref().err(), b.as_ref().err(), "{settings:?}"),
        }
        assert!(trace == lines, "{settings:?}: another trace");
    }
}

#[test]
fn crowded_instants_are_executed_in_parallel_and_the_result_is_the_same() {
    let model = busy(100);
    assert_alike(&model, at_ms(50));
    let settings = Settings { threshold: Threshold::Fixed(2), ..Settings::of_threads(2) };
    let found = rounds::run(&model, RunOptions::until(at_ms(50)), &settings).expect("no failure");
    // Each millisecond has one round of ticks, and three rounds of the hops that follow.
    assert_eq!((stat(&found, "rounds"), stat(&found, "parallel_rounds")), (49 * 4, 49 * 4));
    assert_eq!((stat(&found, "parallel_events"), stat(&found, "round_events_max")), (found.events, 100));
}

#[test]
fn timers_set_again_for_the_current_instant_are_executed_in_order() {
    const TIMER: TimerId = TimerId(0);
    let mut model = beat(40, |_, event, ctx| {
        match event {
            // The timer is due at the instant of the global event, which sets the timer for that instant
            // again.
            Body::Message(_) => ctx.set_timer(TIMER, ms(1)),
            Body::Timer(_) => ctx.send_self(ms(1), 0),
        }
    });
    model.visit = Box::new(|_, _, ctx| ctx.set_timer(TIMER, Delay::ZERO));
    model.act = Box::new(|_, _, _| {});
    model.globals = (1..20).map(|beat| (at_ms(2 * beat).as_ps(), beat)).collect();
    assert_alike(&model, at_ms(40));
}

#[test]
fn a_loop_of_zero_delays_is_an_error_that_names_its_lps() {
    let mut model = beat(40, |_, _, ctx| ctx.send_to(LpId((ctx.id().0 + 1) % 40), Delay::ZERO, 7));
    model.round_limit = 200;
    assert_alike(&model, at_ms(5));
}

#[test]
fn requests_of_controllers_take_effect_after_the_control_delay() {
    for delay in [Delay::from_ps(1), ms(1), ms(7)] {
        let model = beat(64, |_, event, ctx| {
            let (id, now) = (ctx.id(), ctx.now());
            if id == LpId(40) && now == at_ms(31) {
                ctx.request_stop();
            } else if (id == LpId(3) || id == LpId(40)) && ctx.rng().below(4) == 0 {
                ctx.request(Numbered(0));
            }
            tick(event, ctx);
        });
        let model = Script { controllers: Controllers { lps: vec![LpId(3), LpId(40)], delay }, ..model };
        let end = at_ms(31).checked_add(delay).expect("soon");
        assert_eq!(in_order(&model, at_ms(100)).expect("no failure").end, end);
        assert_alike(&model, at_ms(100));
    }
}
