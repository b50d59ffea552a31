//! Idle workers help with the tasks of an event.

use super::{at_ms, beat, in_order, ms, stat};
use parades_core::prelude::*;
use parades_engine::rounds::{Main, Settings, run};
use parades_sync::help::{self, Tasks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Squares of numbers, each a task.
struct Squares(Vec<AtomicU64>);

impl Tasks for Squares {
    fn execute(&self, task: u32) {
        self.0[task as usize].store(u64::from(task) * u64::from(task), Ordering::Relaxed);
    }
}

#[test]
fn workers_help_with_the_tasks_of_an_event_and_the_answer_is_that_of_one_thread() {
    let model = beat(3, |state, _, ctx| {
        if help::threads() > 1 || *state % 2 == 0 {
            let squares = Arc::new(Squares((0..50).map(|_| AtomicU64::new(0)).collect()));
            help::execute(50, &squares);
            let squares = Arc::into_inner(squares).expect("nobody has the tasks any more").0;
            assert_eq!(squares.into_iter().map(AtomicU64::into_inner).sum::<u64>(), 40_425);
        }
        ctx.send_self(ms(1), 0);
    });
    let expected = in_order(&model, at_ms(200)).expect("no failure");
    for (threads, main) in [(1, Main::Works), (2, Main::Works), (3, Main::Works), (3, Main::Sleeps), (2, Main::Extra)] {
        let settings = Settings { main, ..Settings::of_threads(threads) };
        let found = run(&model, RunOptions::until(at_ms(200)), &settings).expect("no failure");
        assert_eq!((found.digest, found.events), (expected.digest, expected.events), "{threads} threads, {main:?}");
        let helped = stat(&found, "events_helped");
        assert_eq!(helped > 100, threads > 1, "{threads} threads, {main:?}: {helped}");
    }
}
