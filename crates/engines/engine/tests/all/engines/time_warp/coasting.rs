//! Periodic checkpoints: executions after the last checkpoint are repeated.

use super::compare::{assert_same, in_order};
use super::mesh::{all_to_all, at, mesh, wander};
use crate::engines::support::script::{COUNTER, Script, ps};
use crate::engines::support::stat;
use parades_core::error::ErrorKind;
use parades_core::prelude::*;
use parades_core::run::RunOptions;
use parades_engine::retreat::Retreats;
use parades_engine::time_warp::{self, Ahead, Settings};
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns settings with workers that fall behind, and a checkpoint at each `copy_every`-th execution.
fn ways(copy_every: u16) -> impl Iterator<Item = Settings> {
    let aheads = [Ahead::Adaptive, Ahead::Events(50), Ahead::Unbounded];
    let threads = [2, 3, 8].into_iter().flat_map(move |threads| aheads.map(|ahead| (threads, ahead)));
    threads.zip(1..).map(move |((threads, ahead), seed)| Settings {
        ahead,
        copy_every: Some(copy_every),
        stalls: Some(seed),
        retreats: Retreats::Never,
        ..Settings::of_threads(threads)
    })
}

/// Checks that the results are those of `sequential`. Returns the number of repeated events.
fn coasted(model: &Script, until: Time, copy_every: u16) -> u64 {
    let expected = in_order(model, until).expect("no failure");
    let runs = ways(copy_every).map(|settings| {
        let found = time_warp::run(model, RunOptions::until(until), &settings).expect("no failure");
        assert_same(&expected, &found, &settings);
        stat(&found, "coasted")
    });
    runs.sum()
}

#[test]
fn a_run_is_the_same_however_rare_checkpoints_are() {
    let model = all_to_all(12);
    assert_eq!(coasted(&model, at(4_000), 1), 0, "with a checkpoint at each execution, nothing is repeated");
    for copy_every in [2, 3, 100] {
        assert!(coasted(&model, at(4_000), copy_every) > 0, "{copy_every}");
    }
}

#[test]
fn timers_metrics_and_wakes_without_effect_are_as_before() {
    // A timer is set, reset to later, and cancelled. So wakes come too early or without effect, between
    // executions without a checkpoint.
    let model = mesh(12, |state, event, ctx| {
        ctx.count(COUNTER, 1);
        match event {
            Body::Message(_) => {
                wander(event, ctx);
                match *state % 4 {
                    0 => ctx.set_timer(TimerId(0), ps(60)),
                    1 => ctx.set_timer(TimerId(0), ps(90)),
                    2 => ctx.cancel_timer(TimerId(0)),
                    _ => ctx.set_timer(TimerId(1), ps(0)),
                }
            }
            Body::Timer(id) => *state = state.wrapping_mul(3).wrapping_add(u64::from(id.0)),
        }
    });
    assert!(coasted(&model, at(3_000), 5) > 0);
}

#[test]
fn a_handler_that_depends_on_more_than_its_inputs_is_an_error() {
    let error = (0..20).find_map(|_| {
        let calls = AtomicU32::new(0);
        let model = mesh(12, move |_, event, ctx| {
            if calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                ctx.rng().next_u64();
            }
            wander(event, ctx);
        });
        ways(8).find_map(|settings| time_warp::run(&model, RunOptions::until(at(4_000)), &settings).err())
    });
    let error = error.expect("one of 180 runs finds it");
    assert!(matches!(error.kind(), ErrorKind::NotRepeated), "{error}");
}
