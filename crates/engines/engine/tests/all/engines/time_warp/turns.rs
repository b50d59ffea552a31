//! Switching from several workers to one, and back. Binding workers to cores.

use super::compare::{assert_same, in_order};
use super::mesh::{all_to_all, at};
use crate::engines::support::stat;
use parades_core::run::RunOptions;
use parades_engine::retreat::Retreats;
use parades_engine::time_warp::{self, Settings};
use parades_raw::affinity;

#[test]
fn a_run_that_switches_between_several_workers_and_one_is_the_same() {
    let model = all_to_all(30);
    // GVT may advance by a thousand events at a time. So a run that switches rarely must be longer.
    for (gvts, copy_every, until) in
        [(1, None, 20_000), (7, Some(5), 60_000), (30, None, 150_000), (30, Some(5), 150_000)]
    {
        let expected = in_order(&model, at(until)).expect("no failure");
        for threads in [2, 3, 8] {
            let retreats = Retreats::Every(gvts);
            let settings = Settings { retreats, copy_every, stalls: Some(3), ..Settings::of_threads(threads) };
            let found = time_warp::run(&model, RunOptions::until(at(until)), &settings).expect("no failure");
            assert_same(&expected, &found, &settings);
            assert!(stat(&found, "turns") > 1, "it switched {} times with {settings:?}", stat(&found, "turns"));
        }
    }
}

#[test]
fn a_run_with_one_worker_or_without_retreats_does_not_switch() {
    let model = all_to_all(30);
    for (threads, retreats) in [(1, Retreats::Every(1)), (3, Retreats::Never)] {
        let settings = Settings { retreats, ..Settings::of_threads(threads) };
        let found = time_warp::run(&model, RunOptions::until(at(5_000)), &settings).expect("no failure");
        assert_eq!(stat(&found, "turns"), 0, "{settings:?}");
    }
}

#[test]
fn workers_bound_to_cores_give_the_same_result_and_leave_the_caller_unbound() {
    let model = all_to_all(30);
    let expected = in_order(&model, at(5_000)).expect("no failure");
    let before = affinity::allowed_cores();
    for threads in [1, 2, 64] {
        for pinned in [false, true] {
            let settings = Settings { pinned, ..Settings::of_threads(threads) };
            let found = time_warp::run(&model, RunOptions::until(at(5_000)), &settings).expect("no failure");
            assert_same(&expected, &found, &settings);
            assert_eq!(affinity::allowed_cores(), before, "{settings:?}");
        }
    }
}
