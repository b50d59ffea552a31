//! The next windows of a pending set.

use super::slab::{Chain, Slab};
use crate::event::Event;

/// A ring of windows, each with one unsorted chain, or with one for each lane.
///
/// Window `w` is entry `w % len` of its lane. The lanes follow each other in memory.
#[derive(Debug, Default)]
pub(super) struct WindowRing {
    windows: Vec<Chain>,
    /// The number of windows.
    len: usize,
    /// One bit for each window: set if the window may have events.
    occupied: Vec<u64>,
    /// The first window that has not been taken.
    pub(super) next: u64,
    /// The first window beyond the ring, at most `len` after `next`.
    pub(super) horizon: u64,
}

impl WindowRing {
    /// Starts again with `len` empty windows of one lane, from `next` on. All windows must be empty, and
    /// `len` a power of two.
    pub(super) fn reset(&mut self, len: usize, next: u64) {
        self.reset_lanes(1, len, next);
    }

    /// As [`WindowRing::reset`], with several lanes.
    pub(super) fn reset_lanes(&mut self, lanes: usize, len: usize, next: u64) {
        debug_assert!(len.is_power_of_two() && self.windows.iter().all(|window| window.is_empty()));
        self.len = len;
        self.windows.clear();
        self.windows.resize(lanes * len, Chain::default());
        self.occupied.clear();
        self.occupied.resize(len.div_ceil(64), 0);
        self.next = next;
        self.horizon = next + len as u64;
    }

    /// Returns the number of windows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of events.
    pub(super) fn count(&self) -> usize {
        self.windows.iter().map(|window| window.len()).sum()
    }

    /// True if at least half of the windows have been taken.
    #[inline]
    pub(super) fn is_half_done(&self) -> bool {
        self.horizon - self.next <= self.len as u64 / 2
    }

    /// Returns the entry of `window` in each lane.
    #[inline(always)]
    fn slot(&self, window: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "masked to less than the length")]
        let slot = window as usize & (self.len - 1);
        slot
    }

    /// Adds an event to a window before the horizon, in the only lane.
    #[inline(always)]
    pub(super) fn append<P>(&mut self, slab: &mut Slab<P>, window: u64, event: Event<P>) {
        self.append_to(window, 0, slab, event);
    }

    /// Adds an event to a window before the horizon, in one of its lanes.
    #[inline(always)]
    pub(super) fn append_to<P>(&mut self, window: u64, lane: usize, slab: &mut Slab<P>, event: Event<P>) {
        debug_assert!(self.next <= window && window < self.horizon, "an event was appended to no window");
        let slot = self.slot(window);
        let chain = &mut self.windows[lane * self.len + slot];
        if chain.is_empty() {
            self.occupied[slot / 64] |= 1 << (slot % 64);
        }
        slab.append(chain, event);
    }

    /// Returns the first window that has events.
    pub(super) fn next_occupied(&self) -> Option<u64> {
        let first = self.slot(self.next);
        let words = self.occupied.len();
        let mut word = first / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (first % 64));
        for _ in 0..=words {
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.next + (slot.wrapping_sub(first) & (self.len - 1)) as u64);
            }
            word = (word + 1) & (words - 1);
            bits = self.occupied[word];
        }
        None
    }

    /// Returns the chains of a window, lane by lane.
    pub(super) fn window(&self, window: u64) -> impl Iterator<Item = Chain> {
        let slot = self.slot(window);
        (0..self.windows.len()).step_by(self.len).map(move |lane| self.windows[lane + slot])
    }

    /// Removes and returns the chain of a window with one lane. All earlier windows must be empty, and are
    /// removed too.
    pub(super) fn take(&mut self, window: u64) -> Chain {
        debug_assert_eq!(self.windows.len(), self.len, "there is one lane");
        self.take_lanes(window).next().unwrap_or_default()
    }

    /// Removes and returns the chains of a window, lane by lane. All earlier windows must be empty, and are
    /// removed too.
    pub(super) fn take_lanes(&mut self, window: u64) -> impl DoubleEndedIterator<Item = Chain> {
        let slot = self.slot(window);
        self.next = window + 1;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        (0..self.windows.len()).step_by(self.len).map(move |lane| std::mem::take(&mut self.windows[lane + slot]))
    }

    /// Removes and returns all chains. The ring then has no windows.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Chain> + use<> {
        self.occupied.clear();
        self.len = 0;
        std::mem::take(&mut self.windows).into_iter()
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.windows.capacity() * size_of::<Chain>() + self.occupied.capacity() * size_of::<u64>()
    }
}
