//! Bundles: frames of a worker for another rank, which travel as one byte string.

use super::lock;
use crate::fabric::Fabric;
use parades_core::wire::{Destination, FrameWriter, Room, Sink};
use parades_sync::padded::CachePadded;
use std::sync::Mutex;

/// The size of a bundle, in bytes, from which it is sent at once. Copying this many bytes takes longer than
/// all other work for a byte string. A frame of events has no more bytes than this and one event, so that the
/// receiver can read the first events of a list while the last are written.
const BUNDLE_BYTES: usize = 8 << 10;
/// The bytes for which a fabric is asked to lend memory, at least: a bundle and some events.
const LENT_BYTES: usize = 12 << 10;

/// The frames for a rank that are not sent yet.
#[derive(Clone, Default)]
struct Bundle {
    bytes: Vec<u8>,
    /// The bytes of an event, on average over the last frame of events.
    per_event: usize,
}

/// By worker, then rank. Only that worker uses the lock.
pub(super) struct Bundles(Vec<CachePadded<Mutex<Vec<Bundle>>>>);

impl Bundles {
    pub(super) fn new(workers: usize, ranks: usize) -> Bundles {
        Bundles((0..workers).map(|_| CachePadded(Mutex::new(vec![Bundle::default(); ranks]))).collect())
    }

    /// Appends `events` events for rank `to`, in as many frames as they need. `write` is given a number of
    /// bytes, and writes a frame of about as many. It returns the number of events of the frame. `wait` calls
    /// a function for a while, until it returns true.
    pub(super) fn append_events(
        &self,
        fabric: &dyn Fabric,
        worker: usize,
        to: usize,
        mut events: usize,
        wait: &dyn Fn(&mut dyn FnMut() -> bool) -> bool,
        mut write: impl FnMut(usize, &mut Room<'_>) -> usize,
    ) {
        let Bundle { bytes, per_event } = &mut lock(&self.0[worker].0)[to];
        while events > 0 {
            let is_large = bytes.len() + events * *per_event >= BUNDLE_BYTES;
            let lent = LENT_BYTES.max(bytes.len() + *per_event + *per_event / 4);
            let mut write = |room: &mut Room<'_>| {
                let begin = room.len();
                let written = FrameWriter::new(destination(fabric, to)).within(|| write(BUNDLE_BYTES, room));
                *per_event = (room.len() - begin) / written.max(1);
                events -= written;
            };
            let mut in_lent = || {
                fabric.try_write(to, lent, &mut |room| {
                    room.put_all(bytes);
                    write(room);
                })
            };
            if is_large && (in_lent() || wait(&mut in_lent)) {
                empty(bytes);
            } else {
                Room::behind(bytes, write);
                send_if_large(fabric, to, bytes);
            }
        }
    }

    /// Appends a frame, which `write` writes, to the bundle of a worker for rank `to`. Sends the bundle if it
    /// is large.
    pub(super) fn append(&self, fabric: &dyn Fabric, worker: usize, to: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let bytes = &mut lock(&self.0[worker].0)[to].bytes;
        FrameWriter::new(destination(fabric, to)).within(|| write(bytes));
        send_if_large(fabric, to, bytes);
    }

    /// Sends the frames in the bundles of a worker.
    pub(super) fn flush(&self, fabric: &dyn Fabric, worker: usize) {
        for (to, bundle) in lock(&self.0[worker].0).iter_mut().enumerate() {
            if !bundle.bytes.is_empty() {
                send(fabric, to, &mut bundle.bytes);
            }
        }
    }

    /// Returns the bytes of memory that the bundles of a worker hold.
    pub(super) fn allocated_bytes(&self, worker: usize) -> usize {
        lock(&self.0[worker].0).iter().map(|bundle| bundle.bytes.capacity()).sum()
    }

    /// Frees memory that holds no frame.
    pub(super) fn shrink(&self, worker: usize) {
        lock(&self.0[worker].0).iter_mut().for_each(|bundle| bundle.bytes.shrink_to_fit());
    }
}

fn send_if_large(fabric: &dyn Fabric, to: usize, bytes: &mut Vec<u8>) {
    if bytes.len() >= BUNDLE_BYTES {
        send(fabric, to, bytes);
    }
}

fn send(fabric: &dyn Fabric, to: usize, bytes: &mut Vec<u8>) {
    fabric.send(to, bytes);
    empty(bytes);
}

fn empty(bytes: &mut Vec<u8>) {
    bytes.clear();
    // A frame with a large payload leaves no large bundle.
    bytes.shrink_to(4 * BUNDLE_BYTES);
}

/// Returns the kind of process that `rank` is, which says how payloads are written for it.
pub(super) fn destination(fabric: &dyn Fabric, rank: usize) -> Destination {
    if fabric.shares_memory_with(rank) { Destination::SameMemory } else { Destination::Elsewhere }
}
