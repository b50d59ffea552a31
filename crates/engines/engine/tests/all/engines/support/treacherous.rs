//! A transport at which a chosen worker panics. It shows whether the panic releases the other workers.

use parades_core::prelude::*;
use parades_sync::barrier::Broken;
use parades_transport::{
    ClockId, Clocks, Conservative, Meeting, ParcelRef, Promising, Summary, Threads, Traffic, Transport,
};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const WHAT: &str = "a transport that breaks";

/// The operation in which the worker panics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum When {
    Sends,
    Offers,
    Exchanges,
}

/// A transport between threads. The chosen worker panics at its twentieth send or offer, or at its second
/// exchange.
pub(crate) struct Treacherous<'k, T: Traffic> {
    threads: Threads<'k, T>,
    steps: AtomicU64,
    traitor: (usize, When),
}

impl<'k, T: Traffic> Treacherous<'k, T> {
    pub(crate) fn new(threads: Threads<'k, T>, traitor: (usize, When)) -> Treacherous<'k, T> {
        Treacherous { threads, steps: AtomicU64::new(0), traitor }
    }

    fn step(&self, worker: usize, when: When) {
        let most = if when == When::Exchanges { 1 } else { 19 };
        if self.traitor == (worker, when) && self.steps.fetch_add(1, Ordering::Relaxed) >= most {
            // Unlike `panic!`, this does not call the panic hook, which writes to the terminal.
            resume_unwind(Box::new(WHAT));
        }
    }
}

impl<'k, T: Traffic> Transport<'k, T> for Treacherous<'k, T> {
    fn send(&self, worker: usize, partition: u32, events: ParcelRef<'_, 'k, T>) {
        self.step(worker, When::Sends);
        self.threads.send(worker, partition, events);
    }
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(ParcelRef<'_, 'k, T>)) {
        self.threads.receive(worker, partition, all, accept);
    }
}

impl<T: Traffic> Meeting for Treacherous<'_, T> {
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.step(worker, When::Exchanges);
        self.threads.exchange(worker, mine)
    }
    fn offer(&self, worker: usize, mine: &Summary) {
        self.step(worker, When::Offers);
        self.threads.offer(worker, mine);
    }
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.threads.outcome(worker)
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

impl<'k> Promising<'k> for Treacherous<'k, Conservative> {
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        self.threads.promise(worker, clocks, clock, time);
    }
    fn horizon(&self) -> Time {
        self.threads.horizon()
    }
    fn set_horizon(&self, time: Time) {
        self.threads.set_horizon(time);
    }
    fn lower_horizon(&self, worker: usize, time: Time) {
        self.threads.lower_horizon(worker, time);
    }
}

/// Checks that a run over such a transport ends with the panic.
pub(crate) fn assert_panic_is_passed_on<R: std::fmt::Debug>(run: impl FnOnce() -> R, how: &str) {
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("the panic is passed on");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&WHAT), "{how}");
}
