//! Workers that panic, and workers that sleep.

use super::{at_ms, busy};
use crate::engines::support::treacherous::{Treacherous, When, assert_panic_is_passed_on};
use parades_core::any_model::with_model;
use parades_core::prelude::*;
use parades_engine::null_message::{self, Nulls, Settings};
use parades_sync::barrier::{BarrierKind, Broken};
use parades_sync::event_count::EventCount;
use parades_transport::Threads;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_worker_that_panics_releases_the_others() {
    for (traitor, nulls) in [(0, Nulls::Lazy), (1, Nulls::Lazy), (2, Nulls::Demand)] {
        for when in [When::Sends, When::Exchanges] {
            let settings = Settings { nulls, partitions: Some(8), ..Settings::of_threads(3) };
            let partitions = null_message::partitions_max(&settings);
            let run = || {
                with_model(&busy(64), RunOptions::until(at_ms(100_000)), |model, options| {
                    null_message::run_over(model, options, &settings, &|workers| {
                        let threads = Threads::new(workers, partitions, BarrierKind::default());
                        Arc::new(Treacherous::new(threads, (traitor, when)))
                    })
                })
            };
            assert_panic_is_passed_on(run, &format!("{traitor} {when:?} {settings:?}"));
        }
    }
}

#[test]
fn no_wake_up_is_lost() {
    // With far more workers than cores, no thread spins.
    let news = [EventCount::new(usize::MAX), EventCount::new(usize::MAX)];
    let turn = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (mine, other) in [(0, 1), (1, 0)] {
            let (news, turn) = (&news, &turn);
            scope.spawn(move || {
                for round in 0..20_000 {
                    loop {
                        let seen = news[mine].count();
                        // Ordering: Relaxed; the notification publishes the store.
                        if turn.load(Ordering::Relaxed) == 2 * round + mine as u64 {
                            break;
                        }
                        news[mine].wait(seen).expect("nothing breaks");
                    }
                    turn.fetch_add(1, Ordering::Relaxed);
                    news[other].notify();
                }
            });
        }
    });
    assert_eq!(turn.into_inner(), 40_000);
    news[0].break_up();
    assert_eq!(news[0].wait(news[0].count()), Err(Broken));
}
