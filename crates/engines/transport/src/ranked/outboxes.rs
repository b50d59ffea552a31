//! The frames that workers have for other ranks, until they are sent.

use super::frame::Frame;
use super::lock;
use crate::fabric::Fabric;
use parades_core::wire::{Destination, FrameWriter, Wire};
use parades_sync::padded::CachePadded;
use std::sync::Mutex;

/// The size of an outbox, in bytes, from which it is sent at once. A copy of this size takes far longer than
/// all else that a byte string costs.
const BATCH_BYTES: usize = 64 << 10;

/// By worker, then rank: the bytes of frames that are not sent yet. Only that worker uses the lock.
pub(super) struct Outboxes(Vec<CachePadded<Mutex<Vec<Vec<u8>>>>>);

impl Outboxes {
    pub(super) fn new(workers: usize, ranks: usize) -> Outboxes {
        Outboxes((0..workers).map(|_| CachePadded(Mutex::new(vec![Vec::new(); ranks]))).collect())
    }

    /// Appends a frame to the outbox of a worker for rank `to`. Sends the outbox if it is large.
    pub(super) fn append<P: Wire>(&self, fabric: &dyn Fabric, worker: usize, to: usize, frame: &Frame<P>) {
        let outbox = &mut lock(&self.0[worker].0)[to];
        FrameWriter::new(destination(fabric, to)).write(frame, outbox);
        if outbox.len() >= BATCH_BYTES {
            send(fabric, to, outbox);
        }
    }

    /// Sends the frames in the outboxes of a worker.
    pub(super) fn flush(&self, fabric: &dyn Fabric, worker: usize) {
        for (to, outbox) in lock(&self.0[worker].0).iter_mut().enumerate() {
            if !outbox.is_empty() {
                send(fabric, to, outbox);
            }
        }
    }

    /// Returns the bytes of memory that the outboxes of a worker hold.
    pub(super) fn allocated_bytes(&self, worker: usize) -> usize {
        lock(&self.0[worker].0).iter().map(Vec::capacity).sum()
    }

    /// Frees memory that holds no frame.
    pub(super) fn shrink(&self, worker: usize) {
        lock(&self.0[worker].0).iter_mut().for_each(Vec::shrink_to_fit);
    }
}

fn send(fabric: &dyn Fabric, to: usize, outbox: &mut Vec<u8>) {
    fabric.send(to, outbox);
    outbox.clear();
    outbox.shrink_to(2 * BATCH_BYTES);
}

/// Returns the kind of process that `rank` is, which says how payloads are written for it.
pub(super) fn destination(fabric: &dyn Fabric, rank: usize) -> Destination {
    if fabric.shares_memory_with(rank) { Destination::SameMemory } else { Destination::Elsewhere }
}
