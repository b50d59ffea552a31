//! What is executed next: a few hundred events put in order without moving them, or some thousand that need hardly any order.

use super::order::{Cut, Keys, PLACE, PLACE_BITS, by_level, by_lp, place};
use super::seen::Seen;
use super::slab::{Chain, Slab, Slot};
use crate::event::{Header, LpId};
use crate::time::{Instant, Time};
use std::ops::Range;

/// The most events of a run in the order of time.
pub(super) const RUN_MAX: usize = 1024;
/// Events of one bucket from which the insertion pass would be slower than distributing them in turn.
const CROWD: u32 = 12;
/// Comparisons of events of one LP up to which a window is taken as it lies: one for so many of its events,
const EVENTS_PER_COMPARISON: usize = 2;
/// and as many more, for small windows' sake.
const COMPARISONS_MIN: usize = 4;

/// The events of one window, or of a part of it, in order: their entries ([`super::order`]).
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The chunks where they lie, and how many lie in each.
    chunks: Vec<(u32, usize)>,
    /// The entries in the order of execution.
    order: Vec<u64>,
    cursor: usize,
    /// Scratch: the entries in the order of chunks.
    entries: Vec<u64>,
    /// Scratch: how many events fall into each bucket, and then where they go.
    counts: Vec<u32>,
}

impl Run {
    /// Whether every event of it has been taken.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.cursor == self.order.len()
    }

    /// How many events are left.
    pub(super) fn len(&self) -> usize {
        self.order.len() - self.cursor
    }

    /// The place of the `ahead`-th event from now.
    #[inline]
    pub(super) fn place(&self, ahead: usize) -> Option<u32> {
        self.order.get(self.cursor + ahead).map(|&entry| place(entry))
    }

    /// The `ahead`-th event from now.
    #[inline]
    pub(super) fn peek<'a, P>(&self, slab: &'a Slab<P>, ahead: usize) -> Option<&'a Header> {
        self.place(ahead).map(|place| slab.get(place))
    }

    /// The instant of the last event.
    pub(super) fn last_instant<P>(&self, slab: &Slab<P>) -> Option<Instant> {
        self.order.last().map(|&entry| slab.get(place(entry)).instant())
    }

    /// Where the first event lies, which there must be. It counts as taken.
    #[inline]
    pub(super) fn next_slot<'a, P>(&mut self, slab: &'a mut Slab<P>) -> &'a mut Slot<P> {
        let place = place(self.order[self.cursor]);
        self.advance();
        slab.slot(place)
    }

    /// Goes on to the next event, the first having been taken.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.cursor += 1;
    }

    /// Frees the chunks of a run that is done. Its order, all of which has been taken, is left for the next to be written over it.
    pub(super) fn retire<P>(&mut self, slab: &mut Slab<P>) {
        debug_assert!(self.is_done());
        for (chunk, _) in self.chunks.drain(..) {
            slab.free_chunk(chunk);
        }
    }

    /// Puts the events of `chain`, at most [`RUN_MAX`], in order. The run must have been retired.
    pub(super) fn sort<P>(&mut self, chain: Chain, slab: &Slab<P>) {
        self.take_up(chain, slab);
        self.sort_by(slab, None, &by_level);
    }

    /// As [`Run::sort`], for events whose times in picoseconds are known to lie from `min` to `max`.
    pub(super) fn sort_within<P>(&mut self, chain: Chain, slab: &Slab<P>, within: (u64, u64)) {
        self.take_up(chain, slab);
        self.sort_by(slab, Some(within), &by_level);
    }

    /// Puts the events of `chain`, at most [`Seen::RUN_MAX`] and all of one window, in order LP by LP. `time_of` says how far in the window a time is.
    pub(super) fn sort_by_lp<P>(&mut self, chain: Chain, slab: &Slab<P>, time_of: impl Fn(Time) -> u32) {
        self.take_up(chain, slab);
        self.sort_by(slab, None, &by_lp(LpId(0), time_of));
    }

    /// Takes the events of `chain`, all of one window and of LPs among `lps` that follow each other, as they lie, but that those of one LP are exchanged so
    /// that they come in order. False, and nothing taken, where there are too many of those.
    pub(super) fn line_up<P>(&mut self, chain: Chain, slab: &Slab<P>, seen: &mut Seen, lps: usize) -> bool {
        self.take_up(chain, slab);
        let mut order = self.order.as_mut_slice();
        for &(chunk, fill) in &self.chunks {
            let (here, others) = order.split_at_mut(fill);
            here.iter_mut().zip(Slab::<P>::first_place(chunk)..).for_each(|(entry, place)| *entry = u64::from(place));
            order = others;
        }
        let ahead = slab.chunks_ahead(chain);
        let chunks = self.chunks.iter().enumerate().map(|(at, &(chunk, fill))| {
            if let Some(&(coming, _)) = self.chunks.get(at.saturating_add(ahead)) {
                slab.fetch(coming);
            }
            &slab.slots(chunk)[..fill]
        });
        seen.note(chunks, chain.len(), lps);
        let mut left = COMPARISONS_MIN + chain.len() / EVENTS_PER_COMPARISON;
        if seen.repeats().all(|index| move_down(slab, &mut self.order, seen, index, &mut left)) {
            return true;
        }
        self.chunks.clear();
        self.order.clear();
        false
    }

    /// Puts what is left in order LP by LP, `first` being the first LP.
    #[cold]
    pub(super) fn sort_rest_by_lp<P>(&mut self, first: LpId, slab: &Slab<P>, time_of: impl Fn(Time) -> u32) {
        self.entries.resize(self.order.len(), 0);
        self.counts.clear();
        self.sort_crowd(slab, self.cursor..self.order.len(), &by_lp(first, time_of));
    }

    /// Whether the `index`-th event of the run is still to come.
    pub(super) fn is_to_come(&self, index: usize) -> bool {
        index >= self.cursor
    }

    fn take_up<P>(&mut self, chain: Chain, slab: &Slab<P>) {
        debug_assert!(self.chunks.is_empty());
        self.chunks.extend(slab.chunks(chain));
        // In the order in which the events were pushed: LPs are executed in theirs at each instant, so what they send to one LP is in order then.
        self.chunks.reverse();
        self.cursor = 0;
        self.order.resize(chain.len(), 0);
    }

    /// Puts the events in the order of the first of some keys, ties in that of the next, and so on. `within` are bounds of the first, where
    /// they are known.
    #[inline]
    fn sort_by<P>(&mut self, slab: &Slab<P>, within: Option<(u64, u64)>, keys: &impl Keys) {
        let first = |event: &Header| keys(event, 0).unwrap_or_default();
        let bounds = within.unwrap_or_else(|| self.bounds(slab, first));
        let most = self.distribute(slab, bounds, first);
        if most < CROWD {
            insertion_pass(slab, &mut self.order);
        } else {
            self.sort_buckets(slab, 0, 0, keys);
        }
    }

    /// The least and the greatest key of the events.
    #[inline]
    fn bounds<P>(&self, slab: &Slab<P>, key_of: impl Fn(&Header) -> u64) -> (u64, u64) {
        let slots = self.chunks.iter().flat_map(|&(chunk, fill)| &slab.slots(chunk)[..fill]);
        slots.fold((u64::MAX, 0), |(min, max), slot| {
            let key = key_of(slot.header());
            (min.min(key), max.max(key))
        })
    }

    /// Counts the keys, from `min` to `max`, into about as many buckets as there are events, and writes the events' entries bucket by bucket;
    /// then the buckets' ends are in `counts`. The most events of a bucket.
    #[inline]
    fn distribute<P>(&mut self, slab: &Slab<P>, bounds: (u64, u64), key_of: impl Fn(&Header) -> u64) -> u32 {
        debug_assert!(self.order.len() <= Seen::RUN_MAX);
        let cut = Cut::of(bounds, self.order.len());
        self.entries.resize(self.order.len(), 0);
        self.counts.clear();
        self.counts.resize(cut.buckets(), 0);
        let (mut entries, counts) = (self.entries.as_mut_slice(), self.counts.as_mut_slice());
        for &(chunk, fill) in &self.chunks {
            let (of_chunk, others) = entries.split_at_mut(fill);
            for ((entry, slot), place) in
                of_chunk.iter_mut().zip(slab.slots(chunk)).zip(Slab::<P>::first_place(chunk)..)
            {
                *entry = cut.entry(key_of(slot.header()), place);
                counts[cut.bucket(*entry)] += 1;
            }
            entries = others;
        }
        self.write_order(cut, 0..self.order.len(), 0)
    }

    /// Writes the entries of a range bucket by bucket, as they have been counted from place `first` of `counts` on. The most of a bucket.
    #[inline]
    fn write_order(&mut self, cut: Cut, range: Range<usize>, first: usize) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "at most Seen::RUN_MAX")]
        let mut begin = range.start as u32;
        let mut most = 0;
        let counts = &mut self.counts[first..];
        for count in counts.iter_mut() {
            let here = *count;
            most = most.max(here);
            *count = begin;
            begin += here;
        }
        for &entry in &self.entries[range] {
            let to = &mut counts[cut.bucket(entry)];
            self.order[*to as usize] = entry;
            *to += 1;
        }
        most
    }

    /// Puts the events in order that lie in the right bucket already, from place `begin` on; the buckets' ends are in `counts` from place `first` on.
    /// Crowded buckets are distributed in turn, what lies between them is put in order in one pass.
    fn sort_buckets<P>(&mut self, slab: &Slab<P>, begin: usize, first: usize, keys: &impl Keys) {
        let (mut calm, mut from) = (begin, begin);
        for bucket in first..self.counts.len() {
            let to = self.counts[bucket] as usize;
            if to - from >= CROWD as usize {
                insertion_pass(slab, &mut self.order[calm..from]);
                self.sort_crowd(slab, from..to, keys);
                calm = to;
            }
            from = to;
        }
        insertion_pass(slab, &mut self.order[calm..from]);
    }

    /// Puts the events of a range in order, by the first key in which they differ.
    fn sort_crowd<P>(&mut self, slab: &Slab<P>, range: Range<usize>, keys: &impl Keys) {
        for step in 0.. {
            let (mut min, mut max) = (u64::MAX, 0);
            let (entries, order) = (&mut self.entries[range.clone()], &self.order[range.clone()]);
            for (entry, &at) in entries.iter_mut().zip(order) {
                // All keys are equal, which those of two events of one run never are; any order of equals is in order.
                let Some(key) = keys(slab.get(place(at)), step) else { return };
                *entry = key;
                (min, max) = (min.min(key), max.max(key));
            }
            if min == max {
                continue;
            }
            let (cut, first) = (Cut::of((min, max), range.len()), self.counts.len());
            self.counts.resize(first + cut.buckets(), 0);
            for (entry, &at) in entries.iter_mut().zip(order) {
                *entry = cut.entry(*entry, place(at));
                self.counts[first + cut.bucket(*entry)] += 1;
            }
            self.write_order(cut, range.clone(), first);
            self.sort_buckets(slab, range.start, first, keys);
            self.counts.truncate(first);
            return;
        }
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<(u32, usize)>()
            + self.counts.capacity() * 4
            + (self.order.capacity() + self.entries.capacity()) * 8
    }
}

/// Moves event `index`, which was noted last, to where it belongs among those of its LP; false if that takes more comparisons than are left.
#[inline]
fn move_down<P>(slab: &Slab<P>, order: &mut [u64], seen: &Seen, index: usize, left: &mut usize) -> bool {
    let mut at = index;
    while let Some(before) = seen.before(at) {
        let Some(less) = left.checked_sub(1) else { return false };
        *left = less;
        if slab.get(place(order[before])) < slab.get(place(order[at])) {
            break;
        }
        order.swap(before, at);
        at = before;
    }
    true
}

/// Puts entries in order that are nearly so.
///
/// Two neighbours in the wrong order, which one event in six is a part of, are exchanged without a branch, as it would be guessed wrongly as often. Only
/// what belongs further down, or whose leading bits do not tell, is looked at closer.
#[inline]
fn insertion_pass<P>(slab: &Slab<P>, order: &mut [u64]) {
    let Some(&first) = order.first() else { return };
    // The last entry but one so far, and the last.
    let (mut below, mut last) = (0, first);
    for i in 1..order.len() {
        let entry = order[i];
        let (less, more) = (last.min(entry), last.max(entry));
        if less <= below | PLACE || (last ^ entry) <= PLACE {
            insert(slab, order, i);
            (below, last) = (order[i - 1], order[i]);
        } else {
            (order[i - 1], order[i]) = (less, more);
            (below, last) = (less, more);
        }
    }
}

/// Moves entry `i` to where it belongs among those before it.
#[inline]
fn insert<P>(slab: &Slab<P>, order: &mut [u64], i: usize) {
    let entry = order[i];
    let mut to = i;
    while to > 0 && precedes(slab, entry, order[to - 1]) {
        order[to] = order[to - 1];
        to -= 1;
    }
    order[to] = entry;
}

#[inline]
fn precedes<P>(slab: &Slab<P>, a: u64, b: u64) -> bool {
    if (a ^ b) >> PLACE_BITS != 0 { a < b } else { slab.get(place(a)) < slab.get(place(b)) }
}
