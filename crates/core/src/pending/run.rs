//! A few hundred events put in order without moving them: what is executed next.

use super::slab::{Chain, Slab};
use crate::event::Event;
use crate::time::{Instant, Time};

/// Bits of an entry that say where the event lies; those above put it in order.
const PLACE_BITS: u32 = 32;
/// Parts that a crowd of events is split into at most, and the events meant for each.
const PARTS_MAX: usize = 1 << 13;
const PART: usize = 128;
/// The most events of one run.
pub(super) const RUN_MAX: usize = 1024;
/// Events of one bucket from which the insertion pass would be slower than a general sort.
const CROWD: u32 = 32;

/// The levels of the order of events, from the first. Where all events of a window agree at one level, they are put in order by the
/// next, so that a million events of one instant are distributed by receiver just as others are by time.
const LEVELS: [u8; 4] = [0, 1, 2, 3];

/// One level of the order of events as a number: the four of them, compared in turn, order events as [`Event`] does.
#[inline]
fn level_of<P>(event: &Event<P>, level: u8) -> u64 {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    match level {
        0 => event.time().as_ps(),
        1 => pair(event.instant().round, event.receiver.0),
        2 => pair(event.key().tie, event.sender().rank()),
        _ => event.key().sequence,
    }
}

/// The bucket of a key that is so much above the least one.
#[inline]
fn bucket(above: u64, shift: u32) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "`shift` was chosen so that there are few buckets")]
    let bucket = (above >> shift) as usize;
    bucket
}

/// Splits a crowd of events into smaller parts, pushed in reverse order, by the first level of the order at which they differ.
pub(super) fn split<P>(slab: &mut Slab<P>, crowd: Chain, parts: &mut Vec<Chain>) {
    if LEVELS.into_iter().any(|level| split_by(slab, crowd, parts, PART, |event| level_of(event, level))) {
        return;
    }
    // All are equal, which two events of one run never are; equals may go in any order.
    let mut part = Chain::default();
    slab.consume(crowd, |slab, event| {
        if part.len() == PART {
            parts.push(std::mem::take(&mut part));
        }
        slab.append(&mut part, event);
    });
    parts.push(part);
}

/// Splits a crowd of events into parts of about `size`, pushed in reverse order, by ranges of a key; false, and nothing done, if all have
/// the same.
pub(super) fn split_by<P>(
    slab: &mut Slab<P>,
    crowd: Chain,
    parts: &mut Vec<Chain>,
    size: usize,
    key_of: impl Fn(&Event<P>) -> u64,
) -> bool {
    let keys = slab.events(crowd).map(&key_of);
    let (min, max) = keys.fold((u64::MAX, 0), |(min, max), key| (min.min(key), max.max(key)));
    if min == max {
        return false;
    }
    split_within(slab, crowd, parts, size, (min, max), key_of);
    true
}

/// As [`split_by`], for keys that are known to lie from `min` to `max`.
pub(super) fn split_within<P>(
    slab: &mut Slab<P>,
    crowd: Chain,
    parts: &mut Vec<Chain>,
    size: usize,
    (min, max): (u64, u64),
    key_of: impl Fn(&Event<P>) -> u64,
) {
    let most = (crowd.len() / size).next_power_of_two().min(PARTS_MAX);
    let bits = u64::BITS - (max - min).leading_zeros();
    let shift = bits.saturating_sub(most.ilog2());
    let mut into = vec![Chain::default(); bucket(max - min, shift) + 1];
    slab.consume(crowd, |slab, event| {
        slab.append(&mut into[bucket(key_of(&event) - min, shift)], event);
    });
    parts.extend(into.into_iter().rev().filter(|chain| !chain.is_empty()));
}

/// The events of one window, or of a part of it, in order.
///
/// An event has an *entry*: the leading bits of what it is sorted by, and below them its place.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The chunks where they lie, and how many lie in each.
    chunks: Vec<(u32, usize)>,
    /// The entries in the order of execution.
    order: Vec<u64>,
    cursor: usize,
    /// Scratch: the entries in the order of places.
    entries: Vec<u64>,
    /// Scratch: how many events fall into each bucket, and then where they go.
    counts: Vec<u32>,
}

/// Where the event of this entry lies.
#[inline]
fn place(entry: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the place")]
    let place = entry as u32;
    place
}

impl Run {
    /// Whether every event of it has been taken.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.cursor == self.order.len()
    }

    /// The place of the `ahead`-th event from now.
    #[inline]
    pub(super) fn place(&self, ahead: usize) -> Option<u32> {
        self.order.get(self.cursor + ahead).map(|&entry| place(entry))
    }

    /// The `ahead`-th event from now.
    #[inline]
    pub(super) fn peek<'a, P>(&self, slab: &'a Slab<P>, ahead: usize) -> Option<&'a Event<P>> {
        self.place(ahead).map(|place| slab.get(place))
    }

    /// The instant of the last event.
    pub(super) fn last_instant<P>(&self, slab: &Slab<P>) -> Option<Instant> {
        self.order.last().map(|&entry| slab.get(place(entry)).instant())
    }

    /// Takes the first event; it must have one.
    #[inline]
    pub(super) fn take<P>(&mut self, slab: &mut Slab<P>) -> Event<P> {
        let place = place(self.order[self.cursor]);
        self.advance();
        slab.take(place)
    }

    /// Goes on to the next event, the first having been taken.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.cursor += 1;
    }

    /// Frees the chunks of a run that is done.
    pub(super) fn retire<P>(&mut self, slab: &mut Slab<P>) {
        debug_assert!(self.is_done());
        for (chunk, _) in self.chunks.drain(..) {
            slab.free_chunk(chunk);
        }
        self.order.clear();
        self.cursor = 0;
    }

    /// Puts the events of `chain`, at most [`RUN_MAX`], in order. The run must have been retired.
    pub(super) fn sort<P>(&mut self, chain: Chain, slab: &Slab<P>) {
        self.take_up(chain, slab);
        self.sort_by_level(slab);
    }

    /// As [`Run::sort`], for events whose times in picoseconds are known to lie from `min` to `max`.
    pub(super) fn sort_within<P>(&mut self, chain: Chain, slab: &Slab<P>, (min, max): (u64, u64)) {
        self.take_up(chain, slab);
        // Where they crowd in one part of that time, it pays to look how far they really reach.
        self.note_keys(slab, |event| level_of(event, 0));
        if self.distribute((min, max)) >= CROWD {
            self.sort_by_level(slab);
        } else {
            self.insertion_pass(slab);
        }
    }

    /// Puts the events of `chain`, at most [`RUN_MAX`] and all of one window, in order LP by LP. `time_of` says how far in the window a time is.
    pub(super) fn sort_by_lp<P>(&mut self, chain: Chain, slab: &Slab<P>, time_of: impl Fn(Time) -> u32) {
        self.take_up(chain, slab);
        // Where two keys are equal in their leading bits the receiver is the same, and the order of events is the LP's own.
        if !self.sort_by_key(slab, |event| u64::from(event.receiver.0) << 32 | u64::from(time_of(event.time()))) {
            self.sort_by_level(slab);
        }
    }

    fn take_up<P>(&mut self, chain: Chain, slab: &Slab<P>) {
        debug_assert!(self.chunks.is_empty() && chain.len() <= RUN_MAX);
        self.chunks.extend(slab.chunks(chain));
        self.order.resize(chain.len(), 0);
        self.entries.resize(chain.len(), 0);
    }

    fn sort_by_level<P>(&mut self, slab: &Slab<P>) {
        if !LEVELS.into_iter().any(|level| self.sort_by_key(slab, |event| level_of(event, level))) {
            // All are equal, which two events of one run never are; any order of equals is in order.
            self.note_keys(slab, |_| 0);
            self.distribute((0, 0));
        }
    }

    /// Puts the events in the order of a key, ties in the order of events; false if all keys are equal.
    #[inline]
    fn sort_by_key<P>(&mut self, slab: &Slab<P>, key_of: impl Fn(&Event<P>) -> u64) -> bool {
        let (min, max) = self.note_keys(slab, key_of);
        if min == max && self.order.len() > 1 {
            return false;
        }
        if self.distribute((min, max)) < CROWD {
            self.insertion_pass(slab);
        } else {
            let mut order = std::mem::take(&mut self.order);
            let event = |entry| slab.get(place(entry));
            order.sort_unstable_by(|&a, &b| {
                (a >> PLACE_BITS).cmp(&(b >> PLACE_BITS)).then_with(|| event(a).cmp(event(b)))
            });
            self.order = order;
        }
        true
    }

    /// Writes the events' keys where their entries will be; the least and the greatest.
    #[inline]
    fn note_keys<P>(&mut self, slab: &Slab<P>, key_of: impl Fn(&Event<P>) -> u64) -> (u64, u64) {
        let (mut min, mut max) = (u64::MAX, 0);
        let mut entries = self.entries.iter_mut();
        for &(chunk, fill) in &self.chunks {
            for (event, entry) in slab.slots(chunk)[..fill].iter().flatten().zip(&mut entries) {
                *entry = key_of(event);
                (min, max) = (min.min(*entry), max.max(*entry));
            }
        }
        (min, max)
    }

    /// Counts the keys that have been noted, from `min` to `max`, into about as many buckets as there are keys, and writes the events' entries
    /// bucket by bucket. The most events of a bucket.
    #[inline]
    fn distribute(&mut self, (min, max): (u64, u64)) -> u32 {
        let bits = u64::BITS - (max - min).leading_zeros();
        // What does not fit beside the place is left to the full order, as a tie.
        let dropped = bits.saturating_sub(u64::BITS - PLACE_BITS);
        let buckets_log2 = self.order.len().next_power_of_two().ilog2();
        let shift = bits.saturating_sub(buckets_log2).saturating_sub(dropped) + PLACE_BITS;
        let shift = shift.min(u64::BITS - 1);
        self.counts.clear();
        self.counts.resize(bucket((max - min) >> dropped << PLACE_BITS, shift) + 1, 0);
        let mut entries = self.entries.iter_mut();
        for &(chunk, fill) in &self.chunks {
            for (place, entry) in (Slab::<()>::first_place(chunk)..).take(fill).zip(&mut entries) {
                *entry = (*entry - min) >> dropped << PLACE_BITS | u64::from(place);
                self.counts[bucket(*entry, shift)] += 1;
            }
        }
        let mut begin = 0;
        let mut most = 0;
        for count in &mut self.counts {
            let here = *count;
            most = most.max(here);
            *count = begin;
            begin += here;
        }
        for &entry in &self.entries {
            let to = &mut self.counts[bucket(entry, shift)];
            self.order[*to as usize] = entry;
            *to += 1;
        }
        most
    }

    /// Puts entries in order that are nearly so.
    fn insertion_pass<P>(&mut self, slab: &Slab<P>) {
        for i in 1..self.order.len() {
            let entry = self.order[i];
            let mut to = i;
            while to > 0 && precedes(slab, entry, self.order[to - 1]) {
                self.order[to] = self.order[to - 1];
                to -= 1;
            }
            self.order[to] = entry;
        }
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<(u32, usize)>()
            + self.counts.capacity() * 4
            + (self.order.capacity() + self.entries.capacity()) * 8
    }
}

#[inline]
fn precedes<P>(slab: &Slab<P>, a: u64, b: u64) -> bool {
    if (a ^ b) >> PLACE_BITS != 0 { a < b } else { slab.get(place(a)) < slab.get(place(b)) }
}
