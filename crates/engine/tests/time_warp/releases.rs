//! A worker that panics releases the others.

use crate::mesh::{Mesh, lp, ps};
use parades_core::prelude::*;
use parades_engine::time_warp::{self, Ahead, Marked, Settings};
use parades_engine::transport::{ClockId, Clocks, Summary, Threads, Transport};
use parades_sync::barrier::{BarrierKind, Broken};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a worker panics.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    Sends,
    Offers,
    Exchanges,
}

/// Threads, one of which panics at its twentieth step of a kind, or at its second exchange.
struct Treacherous {
    threads: Threads<Marked<u64>>,
    steps: AtomicU64,
    traitor: (usize, When),
}

impl Treacherous {
    fn step(&self, worker: usize, when: When) {
        let most = if when == When::Exchanges { 1 } else { 19 };
        if self.traitor == (worker, when) && self.steps.fetch_add(1, Ordering::Relaxed) >= most {
            // Unlike `panic!`, it does not call the hook, which writes to the terminal.
            resume_unwind(Box::new("a transport that breaks"));
        }
    }
}

impl Transport<Marked<u64>> for Treacherous {
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<Marked<u64>>>) {
        self.step(worker, When::Sends);
        self.threads.send(worker, partition, events);
    }
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Event<Marked<u64>>)) {
        self.threads.receive(worker, partition, all, accept);
    }
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.step(worker, When::Exchanges);
        self.threads.exchange(worker, mine)
    }
    fn offer(&self, worker: usize, mine: &Summary) {
        self.step(worker, When::Offers);
        Transport::<Marked<u64>>::offer(&self.threads, worker, mine);
    }
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        Transport::<Marked<u64>>::outcome(&self.threads, worker)
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

/// Runs the model over a transport that breaks.
fn assert_released(model: &Mesh, traitor: (usize, When), ahead: Ahead) {
    let settings = Settings { ahead, stalls: Some(3), ..Settings::of_threads(3) };
    let run = || {
        time_warp::run_over(model, RunOptions::until(Time::MAX), &settings, &|workers, partitions| {
            let threads = Threads::new(workers, partitions, BarrierKind::default());
            Treacherous { threads, steps: AtomicU64::new(0), traitor }
        })
    };
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("the panic is passed on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"a transport that breaks"), "{traitor:?} {settings:?}");
}

#[test]
fn a_worker_that_panics_releases_the_others() {
    let model = Mesh::all_to_all(24);
    for when in [When::Sends, When::Offers, When::Exchanges] {
        for (worker, ahead) in [(0, Ahead::Events(50)), (1, Ahead::Adaptive), (2, Ahead::Unbounded)] {
            assert_released(&model, (worker, when), ahead);
        }
    }
}

#[test]
fn a_worker_that_panics_releases_those_who_are_never_idle() {
    // Each LP always has something to execute, whatever becomes of the others.
    const ASIDE: u64 = u64::MAX;
    let model = Mesh::new(24, |_, event, ctx| match *event {
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
