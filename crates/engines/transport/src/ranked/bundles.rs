//! Bundles: frames of a worker for another rank, which travel as one byte string.

use super::lock;
use crate::fabric::Fabric;
use parades_core::wire::{Destination, FrameWriter};
use parades_sync::padded::CachePadded;
use std::sync::Mutex;

/// The size of a bundle, in bytes, from which it is sent at once. Copying this many bytes takes longer than
/// all other work for a byte string.
const BUNDLE_BYTES: usize = 8 << 10;

/// By worker, then rank: the bytes of frames that are not sent yet. Only that worker uses the lock.
pub(super) struct Bundles(Vec<CachePadded<Mutex<Vec<Vec<u8>>>>>);

impl Bundles {
    pub(super) fn new(workers: usize, ranks: usize) -> Bundles {
        Bundles((0..workers).map(|_| CachePadded(Mutex::new(vec![Vec::new(); ranks]))).collect())
    }

    /// Appends a frame, which `write` writes, to the bundle of a worker for rank `to`. Sends the bundle if it
    /// is large.
    pub(super) fn append(&self, fabric: &dyn Fabric, worker: usize, to: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let bundle = &mut lock(&self.0[worker].0)[to];
        FrameWriter::new(destination(fabric, to)).within(|| write(bundle));
        if bundle.len() >= BUNDLE_BYTES {
            send(fabric, to, bundle);
        }
    }

    /// Sends the frames in the bundles of a worker.
    pub(super) fn flush(&self, fabric: &dyn Fabric, worker: usize) {
        for (to, bundle) in lock(&self.0[worker].0).iter_mut().enumerate() {
            if !bundle.is_empty() {
                send(fabric, to, bundle);
            }
        }
    }

    /// Returns the bytes of memory that the bundles of a worker hold.
    pub(super) fn allocated_bytes(&self, worker: usize) -> usize {
        lock(&self.0[worker].0).iter().map(Vec::capacity).sum()
    }

    /// Frees memory that holds no frame.
    pub(super) fn shrink(&self, worker: usize) {
        lock(&self.0[worker].0).iter_mut().for_each(Vec::shrink_to_fit);
    }
}

fn send(fabric: &dyn Fabric, to: usize, bundle: &mut Vec<u8>) {
    fabric.send(to, bundle);
    bundle.clear();
    // A frame with a large payload leaves no large bundle.
    bundle.shrink_to(4 * BUNDLE_BYTES);
}

/// Returns the kind of process that `rank` is, which says how payloads are written for it.
pub(super) fn destination(fabric: &dyn Fabric, rank: usize) -> Destination {
    if fabric.shares_memory_with(rank) { Destination::SameMemory } else { Destination::Elsewhere }
}
