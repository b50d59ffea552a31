//! Executions are rolled back, and the result does not change.

use super::compare::{Rolled, assert_alike, in_order, ways_on};
use super::mesh::{all_to_all, at, lp, mesh, wander};
use crate::engines::support::script::{COUNTER, FLOAT, HISTOGRAM, Script, ps};
use crate::engines::support::stat;
use parades_core::prelude::*;
use parades_engine::time_warp::{self, Ahead, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn assert_rolled_back(rolled: Rolled) {
    assert!(rolled.rollbacks > 0 && rolled.anti_messages > 0, "{rolled:?}");
}

/// Makes a ring in which each event sends another to the next LP, sometimes without delay. The channels
/// have no lookahead.
fn ring(lps: u32) -> Script {
    let mut channels = Channels::none();
    (0..lps).for_each(|lp| channels.connect(LpId(lp), LpId((lp + 1) % lps), Delay::ZERO));
    let model = mesh(lps, |_, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        let delay = if ctx.rng().below(4) == 0 { 0 } else { ctx.rng().below(200) };
        ctx.send(Port(0), ps(delay), hops + 1);
    });
    Script { channels, ..model }
}

#[test]
fn a_ring_without_lookahead_gives_the_result_of_sequential() {
    assert_rolled_back(assert_alike(&ring(48), at(4_000)));
}

#[test]
fn a_model_that_declares_no_channels_gives_the_result_of_sequential() {
    assert_rolled_back(assert_alike(&all_to_all(48), at(4_000)));
}

#[test]
fn many_events_of_one_instant_are_executed_in_the_order_of_their_keys() {
    // There are few times. So stragglers have the same times as executed events, and come in rounds between
    // them.
    let model = mesh(24, |state, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        *state = state.wrapping_mul(31).wrapping_add(hops);
        let to = (u64::from(ctx.id().0) + *state) % 24;
        let delay = if hops % 5 == 4 { 10 } else { 0 };
        ctx.send_to(lp(to), ps(delay), hops + 1);
    });
    assert_rolled_back(assert_alike(&model, at(120)));
}

#[test]
fn an_event_sent_again_may_have_the_key_of_an_annihilated_one() {
    // The sends of an LP depend on the events executed before. After a rollback the LP sends other events
    // with the same sequence numbers.
    let model = mesh(16, |state, event, ctx| {
        let Body::Message(hops) = event.copied() else { return };
        *state = state.wrapping_mul(31).wrapping_add(hops);
        let (id, case) = (u64::from(ctx.id().0), *state % 3);
        if case == 0 {
            ctx.send_self(ps(7), hops);
        }
        ctx.send_to(lp((id + case + 1) % 16), ps(40), hops + 1);
        if case == 1 {
            ctx.send_to(lp((id + 5) % 16), ps(1), u64::MAX / 2);
        }
        if hops >= u64::MAX / 2 || case == 2 {
            ctx.set_timer(TimerId(0), ps(3));
        }
    });
    assert_rolled_back(assert_alike(&model, at(200)));
}

#[test]
fn anti_messages_do_not_follow_events_around_a_loop_for_ever() {
    // An LP passes the ball on without delay, unless it has already had the ball at this time. If that
    // execution is rolled back before the ball returns, the LP passes the ball on again.
    const BALL: u64 = u64::MAX;
    let greatest = Arc::new(AtomicU32::new(0));
    let seen = Arc::clone(&greatest);
    let model = mesh(12, move |state, event, ctx| {
        let id = u64::from(ctx.id().0);
        seen.fetch_max(ctx.instant().round, Ordering::Relaxed);
        if event.copied() == Body::Message(BALL) {
            // The low bits of the state are the time of the last ball.
            if *state % (1 << 32) != 1 + ctx.now().as_ps() {
                *state = ctx.now().as_ps();
                ctx.send_to(lp((id + 7) % 12), Delay::ZERO, BALL);
            } else {
                *state -= 1;
            }
            return;
        }
        *state -= 1;
        wander(event, ctx);
        if ctx.rng().below(3) == 0 {
            ctx.send_to(lp((id + 1) % 12), ps(1), BALL);
        }
    });
    assert_alike(&model, at(200));
    assert!(greatest.load(Ordering::Relaxed) < 1 << 16, "{greatest:?} rounds, of 12 or so");
}

#[test]
fn metrics_and_notes_take_effect_once_and_in_the_order_of_each_lp() {
    let model = mesh(32, |state, event, ctx| {
        let drawn = ctx.rng().below(1000);
        // Sums of these numbers depend on the order.
        ctx.observe_float(FLOAT, 1e9 / (1 + drawn) as f64);
        ctx.observe_float(FLOAT, 1e-9 * *state as f64);
        ctx.observe(HISTOGRAM, drawn);
        if drawn % 2 == 0 {
            ctx.count(COUNTER, drawn);
        }
        if drawn % 3 == 0 {
            ctx.note(|| format!("drew {drawn}"));
        }
        wander(event, ctx);
    });
    assert_rolled_back(assert_alike(&model, at(3_000)));
}

#[test]
fn a_tie_seed_shuffles_as_under_sequential() {
    let model = all_to_all(32);
    let options = || RunOptions { tie_seed: Some(5), ..RunOptions::until(at(5_000)) };
    let expected = parades_engine::sequential::run(&model, options()).expect("no failure");
    assert_ne!(expected.digest, in_order(&model, at(5_000)).expect("no failure").digest);
    for settings in ways_on([2, 3]) {
        let found = time_warp::run(&model, options(), &settings).expect("no failure");
        assert_eq!((expected.digest, expected.events), (found.digest, found.events), "{settings:?}");
    }
}

#[test]
fn one_worker_never_rolls_back_and_there_are_no_more_workers_than_lps() {
    let model = all_to_all(5);
    let found = time_warp::run(&model, RunOptions::until(at(5_000)), &Settings::of_threads(1)).expect("no failure");
    assert_eq!((stat(&found, "rollbacks"), stat(&found, "efficiency"), stat(&found, "workers")), (0, 1, 1));
    for threads in [5, 64] {
        let settings = Settings { ahead: Ahead::Unbounded, ..Settings::of_threads(threads) };
        let found = time_warp::run(&model, RunOptions::until(at(5_000)), &settings).expect("no failure");
        assert_eq!(stat(&found, "workers"), 5);
        assert_eq!(found.digest, in_order(&model, at(5_000)).expect("no failure").digest);
    }
}
