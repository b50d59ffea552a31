//! A worker that panics releases the others.

use super::mesh::{all_to_all, lp, mesh};
use crate::engines::support::script::{Script, ps};
use crate::engines::support::treacherous::{Treacherous, When, assert_panic_is_passed_on};
use parades_core::any_model::with_model;
use parades_core::prelude::*;
use parades_engine::time_warp::{self, Ahead, Settings};
use parades_sync::barrier::BarrierKind;
use parades_transport::Threads;
use std::sync::Arc;

/// Runs the model over a transport at which a worker panics.
fn assert_released(model: &Script, traitor: (usize, When), ahead: Ahead) {
    let settings = Settings { ahead, stalls: Some(3), ..Settings::of_threads(3) };
    let run = || {
        with_model(model, RunOptions::until(Time::MAX), |model, options| {
            time_warp::run_over(model, options, &settings, &|workers| {
                let partitions = u32::try_from(workers).expect("few workers");
                let threads = Threads::new(workers, partitions, BarrierKind::default());
                Arc::new(Treacherous::new(threads, traitor))
            })
        })
    };
    assert_panic_is_passed_on(run, &format!("{traitor:?} {settings:?}"));
}

#[test]
fn a_worker_that_panics_releases_the_others() {
    let model = all_to_all(24);
    for when in [When::Sends, When::Offers, When::Exchanges] {
        for (worker, ahead) in [(0, Ahead::Events(50)), (1, Ahead::Adaptive), (2, Ahead::Unbounded)] {
            assert_released(&model, (worker, when), ahead);
        }
    }
}

#[test]
fn a_worker_that_panics_releases_workers_that_are_never_idle() {
    // Each LP always has an event to execute, whatever the other workers do.
    const ASIDE: u64 = u64::MAX;
    let model = mesh(24, |_, event, ctx| match event.copied() {
        Body::Message(hops) if hops != ASIDE => {
            ctx.send_self(ps(1), hops + 1);
            if hops % 100 == 0 {
                let to = ctx.rng().below(24);
                ctx.send_to(lp(to), ps(1), ASIDE);
            }
        }
        _ => {}
    });
    for worker in 0..3 {
        assert_released(&model, (worker, When::Sends), Ahead::Unbounded);
    }
}
