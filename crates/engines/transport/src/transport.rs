//! The transport between the workers of a run.

use crate::clocks::{ClockId, Clocks};
use crate::summary::Summary;
use parades_core::any_model::parcel::{Conservative, ParcelRef, Traffic};
use parades_core::time::Time;
use parades_sync::barrier::Broken;
use std::sync::Arc;

/// Carries events between the workers of a run. `T` is the kind of messages that travel.
///
/// A `worker` is the number of a worker within its process, from 0. Partitions are numbered over the whole
/// run.
pub trait Transport<'k, T: Traffic>: Meeting {
    /// Delivers the events that `worker` sent to `partition`, and leaves `events` empty.
    fn send(&self, worker: usize, partition: u32, events: ParcelRef<'_, 'k, T>);

    /// Prefetches the memory for sending to the partitions `receivers` and for receiving. This is a hint,
    /// given shortly before the memory is used. Partition *n* is worker *n*'s own.
    fn prefetch_inboxes(&self, worker: usize, receivers: &mut dyn Iterator<Item = u32>) {
        let _ = (worker, receivers);
    }

    /// Passes the events that have arrived for `partition` to `accept`, list by list. A list may be
    /// empty. `accept` takes all events of a list. If `all` is set, this includes events that the transport
    /// would hold back for longer.
    fn receive(&self, worker: usize, partition: u32, all: bool, accept: &mut dyn FnMut(ParcelRef<'_, 'k, T>));

    /// Tells the transport, at a cut, the rank that owns each partition.
    fn settle(&self, homes: &[u32]) {
        let _ = homes;
    }

    /// Returns the bytes of this process's memory that are allocated for events on their way to `partition`,
    /// and for `worker` to send.
    fn allocated_bytes(&self, worker: usize, partition: u32) -> usize {
        let _ = (worker, partition);
        0
    }

    /// Frees allocated memory for events that holds no event.
    fn shrink(&self, worker: usize) {
        let _ = worker;
    }
}

/// The ways in which the workers of a run agree and wait for each other.
pub trait Meeting: Send + Sync {
    /// Waits for all other workers, and returns the combined summary, the same for all. Everything sent
    /// before the exchange has then arrived or is in flight.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed.
    fn exchange(&self, worker: usize, mine: &Summary) -> Result<Summary, Broken>;

    /// Reports a summary without waiting for the other workers. A worker must not offer again before it has
    /// the [`Meeting::outcome`] of its last offer. Events that the transport still holds back from `worker`
    /// count as in flight.
    fn offer(&self, worker: usize, mine: &Summary);

    /// Returns the combined summary once the last worker has made its offer; it is the same for all workers.
    /// The last worker to make its offer notifies the others.
    ///
    /// Consider the events that a worker sent before its previous offer. By now each has arrived or counts
    /// as in flight.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed. A worker that never waits would not learn of the failure elsewhere.
    fn outcome(&self, worker: usize) -> Result<Option<Summary>, Broken>;

    /// Returns the number of notifications for `worker` so far.
    fn news(&self, worker: usize) -> u64;

    /// Notifies `worker`: events or promises may have arrived for it.
    fn notify(&self, worker: usize);

    /// Waits until `worker` has more than `seen` notifications. May return too early.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a worker has failed.
    fn wait(&self, worker: usize, seen: u64) -> Result<(), Broken>;

    /// Returns the reason why the transport broke up, if the cause was not a worker of this process.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Releases all waiting workers with an error, because a worker has failed.
    fn break_up(&self);
}

/// A transport that also carries promises, for `null-message`.
pub trait Promising<'k>: Transport<'k, Conservative> {
    /// Sets a clock at its receiver, after all events that `worker` sent before have arrived there.
    fn promise(&self, worker: usize, clocks: &Arc<Clocks>, clock: ClockId, time: Time);

    /// Forwards a request for a promise, already noted in `clocks`, to partition `from`, which sends on that
    /// channel. Between workers that share memory there is nothing to do: the sender reads the same clock.
    fn request_promise(&self, clocks: &Arc<Clocks>, clock: ClockId, from: u32) {
        let _ = (clocks, clock, from);
    }

    /// Tells the transport, at a cut, the clocks for the next promises.
    fn settle_clocks(&self, clocks: &[Arc<Clocks>]) {
        let _ = clocks;
    }

    /// Returns the horizon: the time where all partitions stop.
    fn horizon(&self) -> Time;

    /// Sets the horizon, as the leader at a cut. All leaders set the same horizon.
    fn set_horizon(&self, time: Time);

    /// Lowers the horizon to `time`, unless it is earlier already. Every other worker learns of it before it
    /// receives a promise that `worker` makes afterwards.
    fn lower_horizon(&self, worker: usize, time: Time);
}
