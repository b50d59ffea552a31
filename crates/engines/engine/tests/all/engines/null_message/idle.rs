//! The cost of idle time.

use super::{assert_alike, at_ms, busy, channels, in_order, ms, ring, ways};
use crate::engines::support::script::Script;
use crate::engines::support::stat;
use parades_core::prelude::*;
use parades_engine::null_message::{self, Settings};

/// Makes a ring in which nothing happens for a second less a picosecond.
fn idle() -> Script {
    let nearly = Delay::from_ps(ms(1000).as_ps() - 1);
    Script { start: Box::new(move |ctx| ctx.send_self(nearly, 0)), ..ring(64, |_, _, _| {}) }
}

#[test]
fn n_partitions_idle_for_t_with_lookahead_l_cost_at_most_n_t_over_l_null_messages() {
    let rounds = 100; // There are 100 lookaheads of 10 ms in a second.
    for settings in ways() {
        let found = null_message::run(&idle(), RunOptions::until(at_ms(1000)), &settings).expect("no failure");
        assert_eq!((found.events, found.digest), (64, in_order(&idle(), at_ms(1000)).expect("no failure").digest));
        let (nulls, partitions) = (stat(&found, "null_messages"), stat(&found, "partitions"));
        assert!(partitions > 1, "{settings:?}");
        // Each channel may have one more null message, because the last lookahead is not complete.
        assert!(nulls <= partitions * (rounds + 1), "{nulls} with {settings:?}");
        // A promise can pass the whole ring in one round. It gains a lookahead at each partition.
        assert!(nulls >= rounds - 10 * partitions, "{nulls} with {settings:?}");
    }
}

#[test]
fn one_worker_passes_a_promise_around_the_ring_at_once() {
    let settings = Settings { partitions: Some(8), ..Settings::of_threads(1) };
    let found = null_message::run(&idle(), RunOptions::until(at_ms(1000)), &settings).expect("no failure");
    let (nulls, partitions) = (stat(&found, "null_messages"), stat(&found, "partitions"));
    assert!(nulls < 100 + 10 * partitions, "{nulls}: few more than T/L, whatever n is");
}

#[test]
fn events_carry_promises() {
    let model = || {
        ring(8, |_, event, ctx| {
            if event.copied() == Body::Message(0) {
                ctx.send_self(ms(5), 0);
                ctx.send(Port(0), ms(10), 1);
            }
        })
    };
    assert_alike(&model(), at_ms(500));
    let settings = Settings { partitions: Some(8), ..Settings::of_threads(2) };
    let found = null_message::run(&model(), RunOptions::until(at_ms(500)), &settings).expect("no failure");
    assert!(stat(&found, "messages") > 0);
    assert!(stat(&found, "null_messages") < stat(&found, "messages"), "{:?}", found.engine_stats);
}

#[test]
fn without_lookahead_one_worker_goes_on() {
    let model = Script { channels: channels(64, Delay::ZERO), ..busy(64) };
    assert_alike(&model, at_ms(50));
    let found = null_message::run(&model, RunOptions::until(at_ms(50)), &Settings::of_threads(4)).expect("no failure");
    assert_eq!((stat(&found, "workers"), stat(&found, "partitions"), stat(&found, "null_messages")), (1, 1, 0));
}
