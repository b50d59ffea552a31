//! Runs with little more memory than `sequential` needs.

use super::compare::{assert_same, in_order};
use super::mesh::{at, lp, mesh};
use crate::engines::support::script::{Script, ps};
use crate::engines::support::stat;
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_engine::retreat::Retreats;
use parades_engine::time_warp::{self, Ahead, Settings};

const LPS: u32 = 4096;

/// Makes a model with eight pending events for each LP at all times.
fn crowded() -> Script {
    let mut model = mesh(LPS, |_, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        let (to, delay) = (ctx.rng().below(u64::from(LPS)), ctx.rng().below(1000));
        ctx.send_to(lp(to), ps(delay), hops + 1);
    });
    model.start = Box::new(|ctx| {
        for _ in 0..8 {
            let delay = ps(ctx.rng().below(1000));
            ctx.send_self(delay, 0);
        }
    });
    model
}

fn run(model: &Script, until: Time, limit: u64, settings: &Settings) -> Result<Outcome, parades_core::error::Error> {
    time_warp::run(model, RunOptions { memory_limit: Some(limit), ..RunOptions::until(until) }, settings)
}

#[test]
fn little_more_memory_than_sequential_needs_is_enough() {
    let (model, until) = (crowded(), at(3_000));
    let expected = in_order(&model, until).expect("no failure");
    let needed = stat(&expected, "pending_bytes") + u64::from(LPS) * stat(&expected, "lp_bytes");
    let mut rollbacks = 0;
    for threads in [1, 2, 3] {
        // The memory is short all the time, or becomes short by executions ahead of GVT.
        for (percent, copy_every, retreats) in [
            (104, None, Retreats::Never),
            (110, None, Retreats::WhereFaster),
            (110, Some(3), Retreats::Never),
            (110, None, Retreats::Every(30)),
            (125, None, Retreats::Never),
            (125, Some(3), Retreats::Every(7)),
            (150, Some(8), Retreats::WhereFaster),
        ] {
            let (ahead, stalls) = (Ahead::Unbounded, Some(11));
            let settings = Settings { ahead, copy_every, retreats, stalls, ..Settings::of_threads(threads) };
            let found = run(&model, until, needed * percent / 100, &settings);
            let found = found.unwrap_or_else(|error| panic!("{percent} % with {settings:?}: {error}"));
            assert_same(&expected, &found, &settings);
            // A single worker rolls back only for lack of memory.
            rollbacks += if threads == 1 { stat(&found, "rollbacks") } else { 0 };
        }
    }
    assert!(rollbacks > 0);
}

#[test]
fn events_of_one_time_need_no_room_for_their_history() {
    // All LPs execute an event at each time. The history of one time takes about as much memory as the LPs
    // and their pending events.
    const MANY: u32 = 1 << 16;
    let mut model = mesh(MANY, |_, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        let to = ctx.rng().below(u64::from(MANY));
        ctx.send_to(lp(to), ps(1000), hops + 1);
    });
    model.start = Box::new(|ctx| ctx.send_self(ps(1000), 0));
    let until = at(4_500);
    let expected = in_order(&model, until).expect("no failure");
    let needed = stat(&expected, "pending_bytes") + u64::from(MANY) * stat(&expected, "lp_bytes");
    for threads in [1, 2, 3] {
        for retreats in [Retreats::Never, Retreats::Every(30)] {
            let settings = Settings { retreats, ..Settings::of_threads(threads) };
            let found = run(&model, until, needed * 120 / 100, &settings);
            let found = found.unwrap_or_else(|error| panic!("{settings:?}: {error}"));
            assert_same(&expected, &found, &settings);
            assert!(threads > 1 || stat(&found, "alone_for_memory") == 1, "one goes on alone: {settings:?}");
        }
    }
}

#[test]
fn half_the_memory_that_sequential_needs_is_too_little() {
    let (model, until) = (crowded(), at(3_000));
    let expected = in_order(&model, until).expect("no failure");
    let needed = stat(&expected, "pending_bytes") + u64::from(LPS) * stat(&expected, "lp_bytes");
    for threads in [1, 2, 3] {
        let settings = Settings { ahead: Ahead::Unbounded, stalls: Some(11), ..Settings::of_threads(threads) };
        let error = run(&model, until, needed / 2, &settings).expect_err("too little");
        let ErrorKind::Memory { limit, needed: found } = *error.kind() else { panic!("another error: {error}") };
        assert!(limit == needed / 2 && found > limit, "{error}");
    }
}

#[test]
fn pending_events_may_grow_beyond_the_limit_during_the_run() {
    // The number of committed sends grows without end.
    let model = mesh(8, |_, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        let to = ctx.rng().below(8);
        ctx.send_to(lp(to), ps(1 + hops % 20), hops + 1);
        ctx.send_self(ps(1_000_000_000), 0);
    });
    for threads in [1, 2, 3] {
        for ahead in [Ahead::Adaptive, Ahead::Unbounded] {
            let settings = Settings { ahead, stalls: Some(5), ..Settings::of_threads(threads) };
            let error = run(&model, at(100_000_000), 1 << 20, &settings).expect_err("too little");
            assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
        }
    }
}
