//! Switching from several workers to one, and back, under the two engines whose partitions are planned by
//! measurement.

use super::{at_ms, busy, in_order, ms, ring};
use crate::engines::support::stat;
use parades_core::prelude::*;
use parades_engine::retreat::Retreats;
use parades_engine::{null_message, window};

#[test]
fn a_run_that_switches_between_several_workers_and_one_is_the_same() {
    let model = busy(64);
    let (until, options) = (at_ms(3_000), || RunOptions::until(at_ms(3_000)));
    let expected = in_order(&model, until).expect("no failure");
    for threads in [2, 3, 8] {
        for retreats in [Retreats::Every(1), Retreats::Every(2), Retreats::Every(7)] {
            let by_window = window::Settings { retreats, ..window::Settings::of_threads(threads) };
            let by_nulls = null_message::Settings { retreats, ..null_message::Settings::of_threads(threads) };
            for found in [window::run(&model, options(), &by_window), null_message::run(&model, options(), &by_nulls)] {
                let found = found.expect("no failure");
                assert_eq!((found.digest, found.events), (expected.digest, expected.events), "{threads} {retreats:?}");
                assert!(stat(&found, "turns") > 1, "{threads} {retreats:?}: {:?}", found.engine_stats);
            }
        }
    }
}

#[test]
fn a_run_with_one_worker_or_without_retreats_does_not_switch() {
    let model = busy(64);
    for (threads, retreats) in [(1, Retreats::Every(1)), (3, Retreats::Never)] {
        let settings = null_message::Settings { retreats, ..null_message::Settings::of_threads(threads) };
        let found = null_message::run(&model, RunOptions::until(at_ms(1_000)), &settings).expect("no failure");
        assert_eq!(stat(&found, "turns"), 0, "{settings:?}");
    }
}

/// The workers sleep instead of computing, so that other programs on the machine hardly change the shares.
#[test]
fn the_start_of_lps_is_not_measured_as_windows_in_which_workers_wait() {
    let sleep = |ms| std::thread::sleep(std::time::Duration::from_millis(ms));
    // In each of 20 windows the first worker works for 10 ms, and the second has nothing to do.
    let mut model = ring(2, move |_, event, ctx| {
        if event.copied() == Body::Message(0) {
            sleep(10);
            ctx.send_self(ms(10), 0);
        }
    });
    // Before that, the first worker waits for the start of the second LP, three times as long.
    model.start = Box::new(move |ctx| match ctx.id() {
        LpId(0) => ctx.send_self(ms(10), 0),
        _ => sleep(600),
    });
    let settings = window::Settings { retreats: Retreats::Never, ..window::Settings::of_threads(2) };
    let found = window::run(&model, RunOptions::until(at_ms(205)), &settings).expect("no failure");
    assert_eq!(found.events, 20);
    let share = found.engine_stats.iter().find(|(name, _)| *name == "waiting_share").expect("it is measured").1;
    assert!(share < 0.5, "{:?}", found.engine_stats);
}
