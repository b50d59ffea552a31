//! The state of a worker that no other worker touches.

use crate::ledger::Ledger;
use parades_core::any_model::Taggable;
use parades_core::effects::Effects;
use parades_core::outbox::Outbox;
use parades_core::placement::Placement;
use parades_core::time::Time;
use parades_transport::Transport;

/// The state that belongs to one worker.
pub(crate) struct Hand<P: Taggable> {
    pub(crate) worker: usize,
    pub(crate) placement: Placement,
    pub(crate) effects: Effects<P>,
    /// The number of events executed.
    pub(crate) events: u64,
    pub(crate) ledger: Ledger<P>,
}

impl<P: Taggable> Hand<P> {
    pub(crate) fn new(worker: usize, placement: Placement, traces: bool) -> Hand<P> {
        let effects = Effects::with(Outbox::partitioned(placement.clone()));
        Hand { worker, placement, effects, events: 0, ledger: Ledger::new(traces) }
    }

    /// Sets a new placement of the LPs.
    pub(crate) fn set_placement(&mut self, placement: &Placement) {
        self.placement = placement.clone();
        self.effects.outbox = Outbox::partitioned(placement.clone());
    }

    /// Sends the events for other partitions. Returns the time of the earliest.
    pub(crate) fn flush(&mut self, transport: &dyn Transport<P>) -> Time {
        let outbox = &mut self.effects.outbox;
        for (partition, parcel) in (0..).zip(&mut outbox.parcels) {
            if !parcel.is_empty() {
                transport.send(self.worker, partition, parcel);
            }
        }
        std::mem::replace(&mut outbox.parcels_min, Time::MAX)
    }
}
