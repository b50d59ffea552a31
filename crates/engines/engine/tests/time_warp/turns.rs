//! From several workers to one, and back; and where they run.

use crate::compare::{assert_same, in_order};
use crate::mesh::{all_to_all, at};
use crate::support::stat;
use parades_core::run::RunOptions;
use parades_engine::retreat::Retreats;
use parades_engine::time_warp::{self, Settings};
use parades_raw::affinity;

#[test]
fn a_run_that_goes_from_several_workers_to_one_and_back_is_the_same() {
    let model = all_to_all(30);
    // GVT may advance by a thousand events at a time: who turns rarely needs a longer run.
    for (gvts, copy_every, until) in
        [(1, None, 20_000), (7, Some(5), 60_000), (30, None, 150_000), (30, Some(5), 150_000)]
    {
        let expected = in_order(&model, at(until)).expect("no failure");
        for threads in [2, 3, 8] {
            let retreats = Retreats::Every(gvts);
            let settings = Settings { retreats, copy_every, stalls: Some(3), ..Settings::of_threads(threads) };
            let found = time_warp::run(&model, RunOptions::until(at(until)), &settings).expect("no failure");
            assert_same(&expected, &found, &settings);
            assert!(stat(&found, "turns") > 1, "it turned {} times with {settings:?}", stat(&found, "turns"));
        }
    }
}

#[test]
fn one_worker_and_a_run_that_is_not_to_turn_do_not() {
    let model = all_to_all(30);
    for (threads, retreats) in [(1, Retreats::Every(1)), (3, Retreats::Never)] {
        let settings = Settings { retreats, ..Settings::of_threads(threads) };
        let found = time_warp::run(&model, RunOptions::until(at(5_000)), &settings).expect("no failure");
        assert_eq!(stat(&found, "turns"), 0, "{settings:?}");
    }
}

#[test]
fn workers_bound_to_cores_give_the_same_answer_and_leave_the_caller_free() {
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
