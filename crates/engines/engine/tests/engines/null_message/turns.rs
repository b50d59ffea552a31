//! Switching from several workers to one, and back, under the two engines whose partitions are planned by
//! measurement.

use super::{at_ms, busy, in_order, ms};
use crate::support::stat;
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

#[test]
fn the_start_of_lps_is_not_measured_as_windows_in_which_workers_wait() {
    // The first worker waits for the start of the last LP. That takes longer than the move of these LPs, which
    // is estimated as 30 ms, and 64 windows are enough to decide by: with it, the run would switch.
    const LPS: u32 = 500_000;
    let mut model = busy(LPS);
    model.start = Box::new(|ctx| {
        if ctx.id().0 == LPS - 1 {
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        if ctx.id().0.is_multiple_of(20_000) {
            ctx.send_self(ms(1), 0);
        }
    });
    let settings = window::Settings { partitions: Some(2), ..window::Settings::of_threads(2) };
    // Without it, there is no decision unless these few windows take 30 ms. If other programs use the machine,
    // they may, but not each time.
    let stays = |_| {
        let found = window::run(&model, RunOptions::until(at_ms(700)), &settings).expect("no failure");
        assert!(stat(&found, "windows") > 64, "{:?}", found.engine_stats);
        stat(&found, "turns") == 0
    };
    assert!((0..10).any(stays));
}
