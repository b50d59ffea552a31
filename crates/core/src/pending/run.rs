//! A few hundred events put in order without moving them: what is executed next.

use super::slab::{CHUNK, Chain, Slab};
use crate::event::Event;
use crate::time::{Instant, Time};

/// Bits of a sort key that name the event; the rest orders it.
const PLACE_BITS: u32 = 12;
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
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The chunks where they lie; the partly filled one, if any, is the last.
    chunks: Vec<u32>,
    /// The place of each in `chunks`, in the order of execution, below the leading bits of what they were sorted by.
    order: Vec<u64>,
    cursor: usize,
    /// Scratch: what to sort by, in the order of places.
    keys: Vec<u64>,
    /// Scratch: how many events fall into each bucket, and then where they go.
    counts: Vec<u32>,
}

impl Run {
    /// Whether every event of it has been taken.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.cursor == self.order.len()
    }

    #[inline]
    fn place(&self, entry: u64) -> (u32, usize) {
        let place = (entry & ((1 << PLACE_BITS) - 1)) as usize;
        (self.chunks[place / CHUNK], place % CHUNK)
    }

    /// The `ahead`-th event from now.
    #[inline]
    pub(super) fn peek<'a, P>(&self, slab: &'a Slab<P>, ahead: usize) -> Option<&'a Event<P>> {
        let &entry = self.order.get(self.cursor + ahead)?;
        let (chunk, slot) = self.place(entry);
        Some(slab.get(chunk, slot))
    }

    /// The instant of the last event.
    pub(super) fn last_instant<P>(&self, slab: &Slab<P>) -> Option<Instant> {
        let &entry = self.order.last()?;
        let (chunk, slot) = self.place(entry);
        Some(slab.get(chunk, slot).instant())
    }

    /// Takes the first event; it must have one.
    #[inline]
    pub(super) fn take<P>(&mut self, slab: &mut Slab<P>) -> Event<P> {
        let (chunk, slot) = self.place(self.order[self.cursor]);
        self.cursor += 1;
        slab.take(chunk, slot)
    }

    /// Frees the chunks of a run that is done.
    pub(super) fn retire<P>(&mut self, slab: &mut Slab<P>) {
        debug_assert!(self.is_done());
        for &chunk in &self.chunks {
            slab.free_chunk(chunk);
        }
        self.chunks.clear();
        self.order.clear();
        self.cursor = 0;
    }

    /// Puts the events of `chain`, at most [`RUN_MAX`], in order. The run must have been retired.
    pub(super) fn sort<P>(&mut self, chain: Chain, slab: &Slab<P>) {
        self.take_up(chain, slab);
        self.sort_by_level(slab);
    }

    /// Puts the events of `chain`, at most [`RUN_MAX`] and all of one window, in order LP by LP. `time_of` says how far in the window a time is.
    pub(super) fn sort_by_lp<P>(&mut self, chain: Chain, slab: &Slab<P>, time_of: impl Fn(Time) -> u32) {
        self.take_up(chain, slab);
        // Where two keys are equal the receiver is the same, and the order of events is the LP's own.
        if !self.sort_by_key(slab, |event| u64::from(event.receiver.0) << 32 | u64::from(time_of(event.time()))) {
            self.sort_by_level(slab);
        }
    }

    fn take_up<P>(&mut self, chain: Chain, slab: &Slab<P>) {
        debug_assert!(self.chunks.is_empty() && chain.len() <= RUN_MAX);
        let mut chunks = slab.chunks(chain);
        let head = chunks.next();
        self.chunks.extend(chunks.map(|(chunk, _)| chunk));
        self.chunks.extend(head.map(|(chunk, _)| chunk));
    }

    fn sort_by_level<P>(&mut self, slab: &Slab<P>) {
        if !LEVELS.into_iter().any(|level| self.sort_by_key(slab, |event| level_of(event, level))) {
            // All are equal, which two events of one run never are; any order of equals is in order.
            self.order.extend(0..self.keys.len() as u64);
        }
    }

    /// Puts the events in the order of a key, ties in the order of events; false, and nothing done, if all keys are equal.
    #[inline]
    fn sort_by_key<P>(&mut self, slab: &Slab<P>, key_of: impl Fn(&Event<P>) -> u64) -> bool {
        self.keys.clear();
        let (mut min, mut max) = (u64::MAX, 0);
        for &chunk in &self.chunks {
            for event in slab.slots(chunk) {
                let Some(event) = event else { break };
                let key = key_of(event);
                (min, max) = (min.min(key), max.max(key));
                self.keys.push(key);
            }
        }
        if min == max && self.keys.len() > 1 {
            return false;
        }
        self.distribute(min, max, slab);
        true
    }

    /// Counts the keys into about as many buckets as there are keys, writes the events' places bucket by bucket, and lets one
    /// insertion pass finish.
    fn distribute<P>(&mut self, min: u64, max: u64, slab: &Slab<P>) {
        let buckets_log2 = self.keys.len().next_power_of_two().ilog2();
        let bits = u64::BITS - (max - min).leading_zeros();
        let shift = bits.saturating_sub(buckets_log2);
        // What does not fit beside the place is left to the full order, as a tie.
        let dropped = (bits + PLACE_BITS).saturating_sub(u64::BITS);
        self.counts.clear();
        self.counts.resize(bucket(max - min, shift) + 1, 0);
        for key in &mut self.keys {
            *key -= min;
            self.counts[bucket(*key, shift)] += 1;
        }
        let mut begin = 0;
        let mut most = 0;
        for count in &mut self.counts {
            let here = *count;
            most = most.max(here);
            *count = begin;
            begin += here;
        }
        self.order.resize(self.keys.len(), 0);
        for (place, &key) in self.keys.iter().enumerate() {
            let to = &mut self.counts[bucket(key, shift)];
            self.order[*to as usize] = (key >> dropped) << PLACE_BITS | place as u64;
            *to += 1;
        }
        if most >= CROWD {
            let mut order = std::mem::take(&mut self.order);
            order.sort_unstable_by(|&a, &b| {
                (a >> PLACE_BITS).cmp(&(b >> PLACE_BITS)).then_with(|| self.event(slab, a).cmp(self.event(slab, b)))
            });
            self.order = order;
        } else {
            self.insertion_pass(slab);
        }
    }

    fn insertion_pass<P>(&mut self, slab: &Slab<P>) {
        for i in 1..self.order.len() {
            let entry = self.order[i];
            let mut to = i;
            while to > 0 && self.precedes(slab, entry, self.order[to - 1]) {
                self.order[to] = self.order[to - 1];
                to -= 1;
            }
            self.order[to] = entry;
        }
    }

    #[inline]
    fn precedes<P>(&self, slab: &Slab<P>, a: u64, b: u64) -> bool {
        if (a ^ b) >> PLACE_BITS != 0 { a < b } else { self.event(slab, a) < self.event(slab, b) }
    }

    #[inline]
    fn event<'a, P>(&self, slab: &'a Slab<P>, entry: u64) -> &'a Event<P> {
        let (chunk, slot) = self.place(entry);
        slab.get(chunk, slot)
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        (self.chunks.capacity() + self.counts.capacity()) * 4 + (self.order.capacity() + self.keys.capacity()) * 8
    }
}
