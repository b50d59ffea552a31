//! A transport that sends each event to another rank as a message of its own, as in the paper.

use parades_core::event::Event;
use parades_core::time::Time;
use parades_sync::barrier::Broken;
use parades_transport::{Arrived, ClockId, Clocks, Summary, Transport};
use std::sync::Arc;

/// Splits the batches of another transport into single events. Everything else is left to it.
pub(super) struct OneByOne<'k, P>(pub(super) Arc<dyn Transport<P> + 'k>);

impl<P: Send> Transport<P> for OneByOne<'_, P> {
    fn send(&self, worker: usize, partition: u32, events: &mut Vec<Event<P>>) {
        for event in events.drain(..) {
            self.0.send(worker, partition, &mut vec![event]);
            // This sends what the worker has collected, and receives, as the paper's loop does.
            let _ = self.0.news(worker);
        }
    }

    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(Arrived<'_, P>)) {
        self.0.receive(worker, partition, all, accept);
    }

    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.0.exchange(worker, mine)
    }

    fn offer(&self, worker: usize, mine: &Summary) {
        self.0.offer(worker, mine);
    }

    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.0.outcome(worker)
    }

    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time) {
        self.0.promise(worker, clocks, clock, time);
    }

    fn request_promise(&self, clocks: &Arc<Clocks>, clock: ClockId, from: u32) {
        self.0.request_promise(clocks, clock, from);
    }

    fn horizon(&self) -> Time {
        self.0.horizon()
    }

    fn set_horizon(&self, time: Time) {
        self.0.set_horizon(time);
    }

    fn lower_horizon(&self, worker: usize, time: Time) {
        self.0.lower_horizon(worker, time);
    }

    fn news(&self, worker: usize) -> u64 {
        self.0.news(worker)
    }

    fn notify(&self, worker: usize) {
        self.0.notify(worker);
    }

    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken> {
        self.0.wait(worker, seen)
    }

    fn settle(&self, homes: &[u32], clocks: &[Arc<Clocks>]) {
        self.0.settle(homes, clocks);
    }

    fn allocated_bytes(&self, worker: usize, partition: u32) -> usize {
        self.0.allocated_bytes(worker, partition)
    }

    fn shrink(&self, worker: usize) {
        self.0.shrink(worker);
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn break_up(&self) {
        self.0.break_up();
    }
}
