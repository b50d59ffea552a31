//! What is pending beyond the ring of windows.
//!
//! Where windows are so many that the ends of all would not stay in the cache, the ring has only the next few, and events beyond it wait in *coarse*
//! windows, each as wide as half of the ring, until it is their turn to be distributed: two writes into the cache cost less than one beside it. What lies
//! beyond the coarse windows too, or beyond the ring where there are none, is in one chain, *beyond*.

use super::ring::Ring;
use super::slab::{Chain, Slab};
use crate::event::Event;
use crate::time::Time;

/// Events beyond the ring.
#[derive(Debug)]
pub(super) struct Far {
    /// The coarse windows, of which the first begins at the horizon of the ring; of length 0 where there are none.
    pub(super) coarse: Ring,
    /// A coarse window is `2^bits` windows wide; 0 where there are none.
    pub(super) bits: u32,
    /// What is in no coarse window, in no order.
    pub(super) beyond: Chain,
    /// No event of `beyond` is earlier.
    pub(super) beyond_min: Time,
    len: usize,
}

impl Default for Far {
    fn default() -> Far {
        Far { coarse: Ring::default(), bits: 0, beyond: Chain::default(), beyond_min: Time::MAX, len: 0 }
    }
}

impl Far {
    /// All of a chain.
    pub(super) fn of<P>(slab: &Slab<P>, beyond: Chain) -> Far {
        let beyond_min = slab.least_time(beyond);
        Far { beyond, beyond_min, len: beyond.len(), ..Far::default() }
    }

    /// How many events it holds.
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

    /// Adds an event to what is in no coarse window.
    #[inline]
    pub(super) fn push_beyond<P>(&mut self, slab: &mut Slab<P>, event: Event<P>) {
        self.len += 1;
        self.beyond_min = self.beyond_min.min(event.time());
        slab.append(&mut self.beyond, event);
    }

    /// Takes out what is in no coarse window.
    pub(super) fn take_beyond(&mut self) -> Chain {
        self.len -= self.beyond.len();
        self.beyond_min = Time::MAX;
        std::mem::take(&mut self.beyond)
    }

    /// Gives the coarse windows up: what they hold is beyond.
    pub(super) fn flatten<P>(&mut self, slab: &mut Slab<P>) {
        for chain in std::mem::take(&mut self.coarse).take_all() {
            self.len -= chain.len();
            slab.consume(chain, |slab, event| self.push_beyond(slab, event));
        }
        self.bits = 0;
    }

    /// Lays so many coarse windows, each `2^bits` windows wide, from where one can begin at `window` or soon after; that is where the ring ends. Nothing
    /// is in a coarse window yet.
    pub(super) fn lay(&mut self, (coarse, bits): (usize, u32), window: u64) -> u64 {
        debug_assert!(bits > 0 && self.beyond.len() == self.len);
        let first = window.div_ceil(1 << bits);
        self.bits = bits;
        self.coarse.lay(coarse, first);
        first << bits
    }

    /// Whether there are coarse windows.
    #[inline]
    pub(super) fn has_coarse(&self) -> bool {
        self.bits > 0
    }

    /// Where the first coarse window with events begins.
    pub(super) fn next_occupied(&self) -> Option<u64> {
        let coarse = self.has_coarse().then(|| self.coarse.next_occupied())??;
        Some(coarse << self.bits)
    }

    /// Takes out the coarse window that begins at `window`, and with it all before, which must be empty; and says where the next begins.
    pub(super) fn take(&mut self, window: u64) -> (Chain, u64) {
        let chain = self.coarse.take(window >> self.bits);
        self.len -= chain.len();
        (chain, self.coarse.next << self.bits)
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.coarse.allocated_bytes()
    }
}
