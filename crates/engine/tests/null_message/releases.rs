//! A worker that panics, and workers that sleep.

use crate::{Ring, at_ms};
use parades_core::event::Event;
use parades_core::prelude::*;
use parades_engine::null_message::{self, Nulls, Settings};
use parades_engine::transport::{ClockId, Clocks, Summary, Threads, Transport};
use parades_sync::barrier::{BarrierKind, Broken};
use parades_sync::event_count::EventCount;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Threads, one of which panics when it sends for the twentieth time.
struct Treacherous {
    threads: Threads<u64>,
    sends: AtomicU64,
    traitor: usize,
}

impl Transport<u64> for Treacherous {
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<u64>>) {
        let before = if worker == self.traitor { self.sends.fetch_add(1, Ordering::Relaxed) } else { 0 };
        assert!(before < 20, "a transport that breaks");
        self.threads.send(worker, partition, events);
    }
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Event<u64>)) {
        self.threads.receive(worker, partition, all, accept);
    }
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.threads.exchange(worker, mine)
    }
    fn offer(&self, worker: usize, mine: &Summary) {
        Transport::<u64>::offer(&self.threads, worker, mine);
    }
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        Transport::<u64>::outcome(&self.threads, worker)
    }
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        self.threads.promise(worker, clocks, clock, time);
    }
    fn news(&self, worker: usize) -> u64 {
        self.threads.news(worker)
    }
    fn notify(&self, worker: usize) {
        self.threads.notify(worker);
    }
    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken> {
        self.threads.wait(worker, seen)
    }
    fn break_up(&self) {
        self.threads.break_up();
    }
}

#[test]
fn a_worker_that_panics_releases_the_others() {
    for (traitor, nulls) in [(0, Nulls::Lazy), (1, Nulls::Lazy), (2, Nulls::Demand)] {
        let settings = Settings { nulls, partitions: Some(8), ..Settings::of_threads(3) };
        let partitions = null_message::partitions_max(&settings);
        let run = || {
            null_message::run_over(&Ring::busy(64), RunOptions::until(at_ms(100_000)), &settings, &|workers| {
                let threads = Threads::new(workers, partitions, BarrierKind::default());
                Treacherous { threads, sends: AtomicU64::new(0), traitor }
            })
        };
        let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("the panic is passed on");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a transport that breaks"));
    }
}

#[test]
fn no_wake_up_is_lost() {
    // Far more workers than cores: nobody spins.
    let news = [EventCount::new(usize::MAX), EventCount::new(usize::MAX)];
    let turn = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (mine, other) in [(0, 1), (1, 0)] {
            let (news, turn) = (&news, &turn);
            scope.spawn(move || {
                for round in 0..20_000 {
                    loop {
                        let seen = news[mine].count();
                        // Ordering: Relaxed; the notification publishes it.
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
