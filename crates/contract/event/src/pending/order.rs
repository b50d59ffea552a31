//! The numbers that events are put in order by, and how a range of them is cut into buckets.
//!
//! An event that is put in order has an *entry*: the leading bits of such a number, and below them its place.

use crate::event::{Header, LpId, pair};
use crate::time::Time;

/// Bits of an entry that say where the event lies; those above put it in order.
pub(super) const PLACE_BITS: u32 = 32;
/// Those bits.
pub(super) const PLACE: u64 = (1 << PLACE_BITS) - 1;

/// The levels of the order of events, from the first. Where all events of a window agree at one level, they are put in order by the
/// next, so that a million events of one instant are distributed by receiver just as others are by time.
pub(super) const LEVELS: [u8; 4] = [0, 1, 2, 3];

/// One level of the order of events as a number: the four of them, compared in turn, order events as [`Event`](crate::event::Event) does.
#[inline]
pub(super) fn level_of(event: &Header, level: u8) -> u64 {
    match level {
        0 => event.time().as_ps(),
        1 => pair(event.instant().round, event.receiver().0),
        2 => pair(event.key().tie, event.key().sender.rank()),
        _ => event.key().sequence,
    }
}

/// The keys that events are put in order by, from the first: by a number, while there is one.
pub(super) trait Keys: Fn(&Header, u8) -> Option<u64> {}

impl<F: Fn(&Header, u8) -> Option<u64>> Keys for F {}

/// The levels of the order of events as keys.
#[inline]
pub(super) fn by_level(event: &Header, step: u8) -> Option<u64> {
    LEVELS.contains(&step).then(|| level_of(event, step))
}

/// LP and time as keys, of events of one window, from LP `first` on. Where two are equal in their leading bits the receiver is the same, and the order of
/// events is the LP's own.
#[inline]
pub(super) fn by_lp(first: LpId, time_of: impl Fn(Time) -> u32) -> impl Keys {
    move |event: &Header, step: u8| match step.checked_sub(1) {
        None => Some(pair(event.receiver().0.wrapping_sub(first.0), time_of(event.time()))),
        Some(step) => by_level(event, step),
    }
}

/// The bucket of a key that is so much above the least one.
#[inline]
pub(super) fn bucket(above: u64, shift: u32) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "`shift` was chosen so that there are few buckets")]
    let bucket = (above >> shift) as usize;
    bucket
}

/// How a range of keys is cut into buckets.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    min: u64,
    max: u64,
    /// What does not fit beside the place is left to the full order, as a tie.
    dropped: u32,
    /// From an entry to its bucket.
    shift: u32,
}

impl Cut {
    /// The keys from `min` to `max` into about as many buckets as there are events. Keys whose entries have the same leading bits agree in all but their last
    /// `dropped` bits, at most 32.
    #[inline]
    pub(super) fn of((min, max): (u64, u64), events: usize) -> Cut {
        let mut dropped = (u64::BITS - (max - min).leading_zeros()).saturating_sub(u64::BITS - PLACE_BITS);
        dropped += u32::from((max >> dropped) - (min >> dropped) > PLACE);
        let min = min >> dropped << dropped;
        let bits = u64::BITS - (max - min).leading_zeros();
        let buckets_log2 = events.next_power_of_two().ilog2();
        let shift = bits.saturating_sub(buckets_log2).saturating_sub(dropped) + PLACE_BITS;
        Cut { min, max, dropped, shift: shift.min(u64::BITS - 1) }
    }

    /// The entry of an event with this key, at this place.
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

/// Where the event of this entry lies.
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

    /// Receivers are put in order by a key whose upper half they are: no two may be taken for one.
    #[test]
    fn keys_with_the_same_leading_bits_have_the_same_upper_half() {
        let mut rng = Rng::stream(1, 0);
        for round in 0..100_000 {
            let (below, span) = (rng.next_u64() >> (round % 40), rng.next_u64() >> (round % 63));
            let (min, max) = (below, below.saturating_add(span));
            let cut = Cut::of((min, max), 1 + round % 1000);
            assert!(cut.dropped <= 32 && cut.min <= min);
            // Of two neighbours in the upper half, the last and the first.
            let first = (min >> 32).saturating_add(1) << 32;
            let keys = [min, first.saturating_sub(1), first, max].map(|key| key.clamp(min, max));
            for pair in keys.windows(2) {
                let [less, more] = [cut.entry(pair[0], 7), cut.entry(pair[1], 7)];
                assert!(less <= more && cut.bucket(less) <= cut.bucket(more) && cut.bucket(more) < cut.buckets());
                assert!(less >> 32 != more >> 32 || pair[0] >> 32 == pair[1] >> 32, "{pair:x?} of {min:x} to {max:x}");
            }
        }
    }
}
