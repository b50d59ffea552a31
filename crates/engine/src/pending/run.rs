//! A few hundred events put in order without moving them: what is executed next.

use super::slab::{CHUNK, Chain, Slab};
use parades_core::event::Event;
use parades_core::time::Instant;

/// Bits of a sort key that name the event; the rest orders it.
const PLACE_BITS: u32 = 12;
/// The most events of one run.
pub(super) const RUN_MAX: usize = 1024;
/// Events of one bucket from which the insertion pass would be slower than a general sort.
const CROWD: u32 = 32;

/// The levels of the order of events, from the first. Where all events of a window agree at one level, they are put in order by the
/// next, so that a million events of one instant are distributed by receiver just as others are by time.
pub(super) const LEVELS: [u8; 4] = [0, 1, 2, 3];

/// One level of the order of events as a number: the four of them, compared in turn, order events as [`Event`] does.
#[inline]
pub(super) fn level_of<P>(event: &Event<P>, level: u8) -> u64 {
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
pub(super) fn bucket(above: u64, shift: u32) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "`shift` was chosen so that there are few buckets")]
    let bucket = (above >> shift) as usize;
    bucket
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
        debug_assert!(self.chunks.is_empty() && chain.len() <= RUN_MAX);
        let mut chunks = slab.chunks(chain);
        let head = chunks.next();
        self.chunks.extend(chunks.map(|(chunk, _)| chunk));
        self.chunks.extend(head.map(|(chunk, _)| chunk));
        for level in LEVELS {
            self.keys.clear();
            for &chunk in &self.chunks {
                for event in slab.slots(chunk) {
                    match event {
                        Some(event) => self.keys.push(level_of(event, level)),
                        None => break,
                    }
                }
            }
            let (min, max) = self.keys.iter().fold((u64::MAX, 0), |(min, max), &key| (min.min(key), max.max(key)));
            if min < max || self.keys.len() == 1 {
                self.distribute(min, max, slab);
                return;
            }
        }
        // All are equal, which two events of one run never are; any order of equals is in order.
        self.order.extend(0..self.keys.len() as u64);
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
