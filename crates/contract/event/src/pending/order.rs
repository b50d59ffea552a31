//! Sort keys of events, and their distribution over buckets.
//!
//! A [`Run`](super::run::Run) sorts *entries*: the leading bits of a sort key, and below them the place of
//! the event.

use crate::event::{Header, LpId, pair};
use crate::time::Time;

/// Bits of an entry that hold the place of the event. The bits above them hold the sort key.
pub(super) const PLACE_BITS: u32 = 32;
/// The mask of the place in an entry.
pub(super) const PLACE: u64 = (1 << PLACE_BITS) - 1;

/// The levels of the order of events. If all events of a window agree in one level, they are sorted by the
/// next. So a million events of one instant are distributed by receiver, as other events are by time.
pub(super) const LEVELS: [u8; 4] = [0, 1, 2, 3];

/// Returns one level of the order of an event as a number. Comparing the four levels in turn orders events as
/// [`Event`](crate::event::Event) does.
#[inline]
pub(super) fn level_of(event: &Header, level: u8) -> u64 {
    match level {
        0 => event.time().as_ps(),
        1 => pair(event.instant().round, event.receiver().0),
        2 => pair(event.key().tie, event.key().sender.rank()),
        _ => event.key().sequence,
    }
}

/// The successive sort keys of an event. The function returns `None` after the last one.
pub(super) trait SortKeys: Fn(&Header, u8) -> Option<u64> {}

impl<F: Fn(&Header, u8) -> Option<u64>> SortKeys for F {}

/// Returns the levels of the order of events, in turn.
#[inline]
pub(super) fn keys_by_level(event: &Header, step: u8) -> Option<u64> {
    LEVELS.contains(&step).then(|| level_of(event, step))
}

/// Sort keys for the events of one window: first the LP, counted from `first`, with the time in the window;
/// then the levels of the order of events.
///
/// If two first keys agree in their leading bits, the receivers are equal, and the remaining order is the
/// LP's own.
#[inline]
pub(super) fn keys_by_lp(first: LpId, time_of: impl Fn(Time) -> u32) -> impl SortKeys {
    move |event: &Header, step: u8| match step.checked_sub(1) {
        None => Some(pair(event.receiver().0.wrapping_sub(first.0), time_of(event.time()))),
        Some(step) => keys_by_level(event, step),
    }
}

/// Returns the bucket of a key. `above` is the key minus the smallest key.
#[inline]
pub(super) fn bucket(above: u64, shift: u32) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "`shift` was chosen so that there are few buckets")]
    let bucket = (above >> shift) as usize;
    bucket
}

/// The distribution of a range of keys over buckets.
#[derive(Clone, Copy)]
pub(super) struct Bucketing {
    min: u64,
    max: u64,
    /// Low bits of the key that do not fit beside the place. Keys that differ only there are ties, which the
    /// full order decides.
    dropped: u32,
    /// The shift from an entry to its bucket.
    shift: u32,
}

impl Bucketing {
    /// Distributes the keys from `min` to `max` over about as many buckets as there are events.
    ///
    /// Keys whose entries have the same leading bits differ at most in their last `dropped` bits. That is at
    /// most 32 bits.
    #[inline]
    pub(super) fn of((min, max): (u64, u64), events: usize) -> Bucketing {
        let mut dropped = (u64::BITS - (max - min).leading_zeros()).saturating_sub(u64::BITS - PLACE_BITS);
        dropped += u32::from((max >> dropped) - (min >> dropped) > PLACE);
        let min = min >> dropped << dropped;
        let bits = u64::BITS - (max - min).leading_zeros();
        let buckets_log2 = events.next_power_of_two().ilog2();
        let shift = bits.saturating_sub(buckets_log2).saturating_sub(dropped) + PLACE_BITS;
        Bucketing { min, max, dropped, shift: shift.min(u64::BITS - 1) }
    }

    /// Returns the entry of an event with this key at this place.
    #[inline]
    pub(super) fn entry(self, key: u64, place: u32) -> u64 {
        (key - self.min) >> self.dropped << PLACE_BITS | u64::from(place)
    }

    #[inline]
    pub(super) fn bucket(self, entry: u64) -> usize {
        bucket(entry, self.shift)
    }

    #[inline]
    pub(super) fn buckets(self) -> usize {
        self.bucket(self.entry(self.max, 0)) + 1
    }
}

/// Returns the place of an entry.
#[inline]
pub(super) fn place(entry: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the place")]
    let place = entry as u32;
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::random::Rng;

    /// Receivers are the upper half of their sort key, so keys of two receivers must never look equal.
    #[test]
    fn keys_with_the_same_leading_bits_have_the_same_upper_half() {
        let rng = Rng::stream(1, 0);
        for round in 0..100_000 {
            let (below, span) = (rng.next_u64() >> (round % 40), rng.next_u64() >> (round % 63));
            let (min, max) = (below, below.saturating_add(span));
            let bucketing = Bucketing::of((min, max), 1 + round % 1000);
            assert!(bucketing.dropped <= 32 && bucketing.min <= min);
            // The last and the first key of two neighbouring upper halves.
            let first = (min >> 32).saturating_add(1) << 32;
            let keys = [min, first.saturating_sub(1), first, max].map(|key| key.clamp(min, max));
            for pair in keys.windows(2) {
                let [less, more] = [bucketing.entry(pair[0], 7), bucketing.entry(pair[1], 7)];
                assert!(
                    less <= more
                        && bucketing.bucket(less) <= bucketing.bucket(more)
                        && bucketing.bucket(more) < bucketing.buckets()
                );
                assert!(less >> 32 != more >> 32 || pair[0] >> 32 == pair[1] >> 32, "{pair:x?} of {min:x} to {max:x}");
            }
        }
    }
}
