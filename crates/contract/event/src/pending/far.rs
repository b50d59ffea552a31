//! Pending events beyond the ring of windows.
//!
//! With very many windows, the ends of their chains would not stay in the cache. Then the ring has only the
//! next windows, and later events wait in *coarse* windows, each as wide as half of the ring. A coarse window
//! is distributed over the ring when its turn comes. So an event is written twice. Both writes hit the cache,
//! and together they cost less than one write that misses the cache.
//!
//! Events after the last coarse window are in one chain, *beyond*. Without coarse windows, all events after
//! the ring are there.

use super::ring::WindowRing;
use super::slab::{Chain, Slab};
use crate::event::Event;
use crate::time::Time;

/// Events beyond the ring.
#[derive(Debug)]
pub(super) struct Far {
    /// The coarse windows. The first begins at the horizon of the ring. Of length 0 if there are none.
    pub(super) coarse: WindowRing,
    /// A coarse window is `2^bits` windows wide. 0 if there are none.
    pub(super) bits: u32,
    /// Events after the last coarse window, in no order.
    pub(super) beyond: Chain,
    /// A lower bound on the times in `beyond`.
    pub(super) beyond_min: Time,
    len: usize,
}

impl Default for Far {
    fn default() -> Far {
        Far { coarse: WindowRing::default(), bits: 0, beyond: Chain::default(), beyond_min: Time::MAX, len: 0 }
    }
}

impl Far {
    /// Makes a `Far` that has all events of a chain in `beyond`.
    pub(super) fn of<P>(slab: &Slab<P>, beyond: Chain) -> Far {
        let beyond_min = slab.min_time(beyond);
        Far { beyond, beyond_min, len: beyond.len(), ..Far::default() }
    }

    /// Returns the number of events.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds an event of `window`.
    #[inline(always)]
    pub(super) fn push<P>(&mut self, slab: &mut Slab<P>, window: u64, event: Event<P>) {
        let coarse = window >> self.bits;
        if coarse < self.coarse.horizon {
            self.len += 1;
            self.coarse.append(slab, coarse, event);
        } else {
            self.push_beyond(slab, event);
        }
    }

    /// Adds an event to `beyond`.
    #[inline]
    pub(super) fn push_beyond<P>(&mut self, slab: &mut Slab<P>, event: Event<P>) {
        self.len += 1;
        self.beyond_min = self.beyond_min.min(event.time());
        slab.append(&mut self.beyond, event);
    }

    /// Removes and returns `beyond`.
    pub(super) fn take_beyond(&mut self) -> Chain {
        self.len -= self.beyond.len();
        self.beyond_min = Time::MAX;
        std::mem::take(&mut self.beyond)
    }

    /// Removes the coarse windows. Their events move to `beyond`.
    pub(super) fn remove_coarse<P>(&mut self, slab: &mut Slab<P>) {
        for chain in std::mem::take(&mut self.coarse).take_all() {
            self.len -= chain.len();
            slab.consume(chain, |slab, event| self.push_beyond(slab, event));
        }
        self.bits = 0;
    }

    /// Adds `coarse` windows, each `2^bits` windows wide, from the first possible start at or after `window`.
    /// Returns that start, which is the end of the ring. All events must be in `beyond`.
    pub(super) fn add_coarse(&mut self, coarse: usize, bits: u32, window: u64) -> u64 {
        debug_assert!(bits > 0 && self.beyond.len() == self.len);
        let first = window.div_ceil(1 << bits);
        self.bits = bits;
        self.coarse.reset(coarse, first);
        first << bits
    }

    /// True if there are coarse windows.
    #[inline]
    pub(super) fn has_coarse(&self) -> bool {
        self.bits > 0
    }

    /// Returns the start of the first coarse window that has events.
    pub(super) fn next_occupied(&self) -> Option<u64> {
        let coarse = self.has_coarse().then(|| self.coarse.next_occupied())??;
        Some(coarse << self.bits)
    }

    /// Removes the coarse window that begins at `window`. Returns its events, and the start of the next
    /// coarse window. All earlier coarse windows must be empty, and are removed too.
    pub(super) fn take(&mut self, window: u64) -> (Chain, u64) {
        let chain = self.coarse.take(window >> self.bits);
        self.len -= chain.len();
        (chain, self.coarse.next << self.bits)
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.coarse.allocated_bytes()
    }
}
