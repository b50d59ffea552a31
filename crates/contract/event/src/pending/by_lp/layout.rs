//! The ring of an [`LpOrderedPending`]: extending it, moving it to far events, and rebuilding it.

use super::LpOrderedPending;
use crate::time::Time;

/// The largest number of windows in a ring, at eight bytes each.
const RING_MAX: usize = 1 << 15;
/// The ring is long enough if the events executed between two jumps are this multiple of the events that a
/// jump scans.
const BURSTS: usize = 4;

impl<P> LpOrderedPending<P> {
    /// Extends a ring of which half has been executed.
    ///
    /// A scan of the far chain must be paid for by a quarter as many executed events. If a quarter of all
    /// events are still far, the ring is made longer.
    pub(super) fn advance_ring(&mut self) {
        let horizon = self.ring.next + self.ring.len() as u64;
        if self.far.is_empty() || self.grid.window(self.far_min) >= horizon {
            self.ring.horizon = horizon;
        } else if self.opened_since_scan * 4 >= self.far.len() {
            if self.far.len() > self.len() / 4 && self.ring.len() < RING_MAX {
                self.rebuild(2 * self.ring.len(), self.ring.next);
            } else {
                self.ring.horizon = horizon;
                self.scan_far();
            }
        }
    }

    /// Restarts the ring at the earliest far event. All earlier events have been executed.
    #[cold]
    pub(super) fn jump(&mut self) {
        let first = self.grid.window(self.far_min);
        let events = self.slab.events(self.far).filter(|event| self.grid.window(event.time()) == first).count();
        self.lanes = self.lanes.for_window_of(events);
        // Frequent jumps mean that bursts of events are further apart than the ring reaches.
        let longer = 2 * self.ring.len();
        let is_short = self.opened_since_scan < BURSTS * self.far.len() && longer * self.lanes.count() <= RING_MAX;
        self.rebuild(if is_short { longer } else { self.ring.len() }, first);
    }

    /// Rebuilds the ring from the window `next` on, with lanes that suit windows of `events` events.
    #[cold]
    pub(super) fn rebuild_lanes_for(&mut self, events: usize, next: u64) {
        self.lanes = self.lanes.for_window_of(events);
        self.rebuild(self.ring.len(), next);
    }

    /// Rebuilds the ring with `windows` windows from `next` on, and moves the events that it reaches into it.
    fn rebuild(&mut self, windows: usize, next: u64) {
        for chain in self.ring.take_all() {
            self.slab.consume(chain, |slab, event| slab.append(&mut self.far, event));
        }
        self.slab.resize_chunks_for(&mut self.far, self.lanes.count() * windows);
        self.ring.reset_lanes(self.lanes.count(), windows, next);
        self.opened_since_rebuild = 0;
        self.scan_far();
    }

    /// Moves the far events that the ring now reaches into the ring.
    fn scan_far(&mut self) {
        self.opened_since_scan = 0;
        self.far_min = Time::MAX;
        let far = std::mem::take(&mut self.far);
        let LpOrderedPending { slab, ring, grid, lanes, far: still_far, far_min, .. } = self;
        slab.consume(far, |slab, event| {
            let window = grid.window(event.time());
            if window < ring.horizon {
                ring.append_to(window, lanes.of(event.receiver()), slab, event);
            } else {
                *far_min = (*far_min).min(event.time());
                slab.append(still_far, event);
            }
        });
    }
}
