//! Lanes: the events of a window, separated by ranges of LPs.

use crate::event::LpId;

/// The largest number of events in a lane of a window. A lane's events and the records of its LPs should stay
/// in the cache.
const LANE: usize = 8192;

/// The lanes of each window, one for each range of `2^shift` LPs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    /// The smallest id.
    first: u32,
    /// The number of bits in which the ids differ.
    bits: u32,
    shift: u32,
}

impl Lanes {
    /// Makes one lane for the LPs from `first` to `last`.
    pub(super) fn one((first, last): (LpId, LpId)) -> Lanes {
        let bits = u32::BITS - (last.0 - first.0).leading_zeros();
        Lanes { first: first.0, bits, shift: bits }
    }

    /// Returns lanes that suit windows of `events` events.
    pub(super) fn for_window_of(self, events: usize) -> Lanes {
        let log2 = events.div_ceil(LANE).next_power_of_two().ilog2().min(self.bits);
        Lanes { shift: self.bits - log2, ..self }
    }

    /// True if there is only one lane.
    #[inline(always)]
    pub(super) fn is_one(self) -> bool {
        self.shift == self.bits
    }

    /// Returns the number of lanes.
    pub(super) fn count(self) -> usize {
        1 << (self.bits - self.shift)
    }

    /// Returns the lane of an LP's events.
    #[inline(always)]
    pub(super) fn of(self, receiver: LpId) -> usize {
        debug_assert!(u64::from(receiver.0 - self.first) >> self.bits == 0, "an event of an LP that is not here");
        #[expect(clippy::cast_possible_truncation, reason = "no more lanes than LPs, which are numbered by a u32")]
        let lane = (u64::from(receiver.0.wrapping_sub(self.first)) >> self.shift) as usize;
        lane
    }

    /// Returns the number of ids in a lane.
    pub(super) fn lps(self) -> usize {
        1 << self.shift
    }

    /// True if windows of `events` events need more than twice the present number of lanes.
    #[inline]
    pub(super) fn are_few_for(self, events: usize) -> bool {
        events > 2 * LANE * self.count() && self.for_window_of(events).shift < self.shift
    }
}
