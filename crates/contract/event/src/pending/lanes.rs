//! A window's events kept apart by ranges of LPs.

use crate::event::LpId;

/// Events meant for a lane of a window, at most: they, and the records of their LPs, are to stay in the cache.
const LANE: usize = 8192;

/// Lanes that each window has: one for each range of `2^shift` LPs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// The least LP.
    least: u32,
    /// Bits that tell the LPs apart.
    bits: u32,
    shift: u32,
}

impl Lanes {
    /// One lane, for the LPs from the least to the greatest.
    pub(super) fn one((least, greatest): (LpId, LpId)) -> Lanes {
        let bits = u32::BITS - (greatest.0 - least.0).leading_zeros();
        Lanes { least: least.0, bits, shift: bits }
    }

    /// As many as suit windows of so many events.
    pub(super) fn for_window_of(self, events: usize) -> Lanes {
        let log2 = events.div_ceil(LANE).next_power_of_two().ilog2().min(self.bits);
        Lanes { shift: self.bits - log2, ..self }
    }

    /// Whether there is one.
    #[inline(always)]
    pub(super) fn is_one(self) -> bool {
        self.shift == self.bits
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        1 << (self.bits - self.shift)
    }

    /// The lane of an LP's events.
    #[inline(always)]
    pub(super) fn of(self, receiver: LpId) -> usize {
        debug_assert!(u64::from(receiver.0 - self.least) >> self.bits == 0, "an event of an LP that is not here");
        #[expect(clippy::cast_possible_truncation, reason = "no more lanes than LPs, which are numbered by a u32")]
        let lane = (u64::from(receiver.0.wrapping_sub(self.least)) >> self.shift) as usize;
        lane
    }

    /// How many LPs a lane is for.
    pub(super) fn lps(self) -> usize {
        1 << self.shift
    }

    /// Whether there are far fewer than suit windows of so many events.
    #[inline]
    pub(super) fn are_few_for(self, events: usize) -> bool {
        events > 2 * LANE * self.count() && self.for_window_of(events).shift < self.shift
    }
}
