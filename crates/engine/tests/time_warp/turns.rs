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
    let expected = in_order(&model, at(20_000)).expect("no failure");
    for threads in [2, 3, 8] {
        for (gvts, copy_every) in [(1, None), (7, Some(5)), (30, None), (30, Some(5))] {
            let retreats = Retreats::Every(gvts);
            let settings = Settings { retreats, copy_every, stalls: Some(3), ..Settings::of_threads(threads) };
            let found = time_warp::run(&model, RunOptions::until(at(20_000)), &settings).expect("no failure");
            assert_same(&expected, &found, &settings);
            // How often GVT advances is for the machine to say: after thirty times the run may be nearly over.
            let (turns, least) = (stat(&found, "turns"), if gvts < 30 { 2 } else { 1 });
            assert!(turns >= least, "it turned {turns} times with {settings:?}");
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
    let before = affinity::cores();
    for threads in [1, 2, 64] {
        for pinned in [false, true] {
            let settings = Settings { pinned, ..Settings::of_threads(threads) };
            let found = time_warp::run(&model, RunOptions::until(at(5_000)), &settings).expect("no failure");
            assert_same(&expected, &found, &settings);
            assert_eq!(affinity::cores(), before, "{settings:?}");
        }
    }
}
