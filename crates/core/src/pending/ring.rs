//! The next windows, each an unsorted chain.

use super::slab::{Chain, Slab};
use crate::event::Event;

/// A ring of windows. Window `w` lies at `w % len`.
#[derive(Debug, Default)]
pub(super) struct Ring {
    windows: Vec<Chain>,
    /// Which of them are not empty.
    occupied: Vec<u64>,
    /// The first window that has not been taken.
    pub(super) next: u64,
    /// The first window beyond the ring; at most its length after `next`.
    pub(super) horizon: u64,
}

impl Ring {
    /// Lays `len` empty windows from `next` on. All windows must be empty; `len` is a power of two.
    pub(super) fn lay(&mut self, len: usize, next: u64) {
        debug_assert!(len.is_power_of_two() && self.windows.iter().all(|window| window.is_empty()));
        self.windows.clear();
        self.windows.resize(len, Chain::default());
        self.occupied.clear();
        self.occupied.resize(len.div_ceil(64), 0);
        self.next = next;
        self.horizon = next + len as u64;
    }

    /// How many windows it has.
    pub(super) fn len(&self) -> usize {
        self.windows.len()
    }

    /// How many events it holds.
    pub(super) fn count(&self) -> usize {
        self.windows.iter().map(|window| window.len()).sum()
    }

    /// Whether half of it has been taken.
    #[inline]
    pub(super) fn is_half_done(&self) -> bool {
        self.horizon - self.next <= self.windows.len() as u64 / 2
    }

    /// The place of `window`.
    #[inline(always)]
    fn slot(&self, window: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "masked to less than the length")]
        let slot = window as usize & (self.windows.len() - 1);
        slot
    }

    /// Adds an event to a window, which must lie before the horizon.
    #[inline(always)]
    pub(super) fn append<P>(&mut self, slab: &mut Slab<P>, window: u64, event: Event<P>) {
        debug_assert!(self.next <= window && window < self.horizon, "an event was appended to no window");
        let slot = self.slot(window);
        let chain = &mut self.windows[slot];
        if chain.is_empty() {
            self.occupied[slot / 64] |= 1 << (slot % 64);
        }
        slab.append(chain, event);
    }

    /// The first window that holds an event.
    pub(super) fn next_occupied(&self) -> Option<u64> {
        let first = self.slot(self.next);
        let words = self.occupied.len();
        let mut word = first / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (first % 64));
        for _ in 0..=words {
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return Some(self.next + (slot.wrapping_sub(first) & (self.windows.len() - 1)) as u64);
            }
            word = (word + 1) & (words - 1);
            bits = self.occupied[word];
        }
        None
    }

    /// The events of a window.
    pub(super) fn window(&self, window: u64) -> Chain {
        self.windows[self.slot(window)]
    }

    /// Takes a window out, and with it all before, which must be empty.
    pub(super) fn take(&mut self, window: u64) -> Chain {
        let slot = self.slot(window);
        self.next = window + 1;
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        std::mem::take(&mut self.windows[slot])
    }

    /// Takes all windows out, and leaves a ring of none.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Chain> + use<> {
        self.occupied.clear();
        std::mem::take(&mut self.windows).into_iter()
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.windows.capacity() * size_of::<Chain>() + self.occupied.capacity() * size_of::<u64>()
    }
}
