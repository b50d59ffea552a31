//! A transport that sends each event to another rank as a message of its own, as in the paper.

use parades_core::any_model::{Packed, in_form};
use parades_sync::barrier::Broken;
use parades_transport::{Conservative, Meeting, Parcel, ParcelRef, Summary, Transport};
use std::sync::Arc;

/// Splits the batches of another transport into single events. Everything else is left to it.
pub(super) struct OneByOne<'k>(pub(super) Arc<dyn Transport<'k, Conservative> + 'k>);

/// Removes the events of a list, and returns a list of its own for each.
fn split<'k, P: Packed<'k>>(events: ParcelRef<'_, 'k, Conservative>) -> Vec<Parcel<'k, Conservative>> {
    events.show::<P>().drain(..).map(|event| Parcel::new::<P>(vec![event])).collect()
}

impl<'k> Transport<'k, Conservative> for OneByOne<'k> {
    fn send(&self, worker: usize, partition: u32, events: ParcelRef<'_, 'k, Conservative>) {
        for mut event in in_form!(events.form(), split(events)) {
            self.0.send(worker, partition, event.hide());
            // This sends what the worker has collected, and receives, as the paper's loop does.
            let _ = self.0.news(worker);
        }
    }

    fn receive(
        &self,
        worker: usize,
        partition: u32,
        all: bool,
        accept: &mut dyn FnMut(ParcelRef<'_, 'k, Conservative>),
    ) {
        self.0.receive(worker, partition, all, accept);
    }

    fn settle(&self, homes: &[u32]) {
        self.0.settle(homes);
    }

    fn allocated_bytes(&self, worker: usize, partition: u32) -> usize {
        self.0.allocated_bytes(worker, partition)
    }

    fn shrink(&self, worker: usize) {
        self.0.shrink(worker);
    }
}

impl Meeting for OneByOne<'_> {
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken> {
        self.0.exchange(worker, mine)
    }

    fn offer(&self, worker: usize, mine: &Summary) {
        self.0.offer(worker, mine);
    }

    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken> {
        self.0.outcome(worker)
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

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn break_up(&self) {
        self.0.break_up();
    }
}
