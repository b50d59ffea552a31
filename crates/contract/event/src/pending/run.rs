//! The next events to execute, sorted without moving them.

use super::order::{Bucketing, PLACE, PLACE_BITS, SortKeys, keys_by_level, keys_by_lp, place};
use super::receivers::ReceiverIndex;
use super::slab::{Chain, Slab};
use super::slot::Slot;
use crate::event::{Header, LpId};
use crate::time::{Instant, Time};
use std::ops::Range;

/// The largest number of events in a run that is sorted by time.
pub(super) const RUN_MAX: usize = 1024;
/// The number of events in a bucket from which distributing the bucket again is faster than an insertion
/// sort.
const LARGE_BUCKET: u32 = 12;
/// A run may stay unsorted while ordering the events of each LP takes at most one comparison for this number
/// of events.
const EVENTS_PER_COMPARISON: usize = 2;
/// This number of comparisons is allowed in addition, which matters for small windows.
const COMPARISONS_MIN: usize = 4;

/// The events of one window, or of a part of it, with their entries ([`super::order`]) in the order of
/// execution.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The chunks of the events, each with the number of its events.
    chunks: Vec<(u32, usize)>,
    /// The entries, in the order of execution.
    order: Vec<u64>,
    cursor: usize,
    /// Scratch: the entries, in the order of chunks.
    entries: Vec<u64>,
    /// Scratch: the number of events of each bucket, and then the end of each bucket.
    counts: Vec<u32>,
}

impl Run {
    /// True if every event has been taken.
    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.cursor == self.order.len()
    }

    /// Returns the number of remaining events.
    pub(super) fn len(&self) -> usize {
        self.order.len() - self.cursor
    }

    /// Returns the place of the event after the next `ahead` events.
    #[inline]
    pub(super) fn place(&self, ahead: usize) -> Option<u32> {
        self.order.get(self.cursor + ahead).map(|&entry| place(entry))
    }

    /// Returns the header of the event after the next `ahead` events.
    #[inline]
    pub(super) fn peek<'a, P>(&self, slab: &'a Slab<P>, ahead: usize) -> Option<&'a Header> {
        self.place(ahead).map(|place| slab.get(place))
    }

    /// Returns the instant of the last event.
    pub(super) fn last_instant<P>(&self, slab: &Slab<P>) -> Option<Instant> {
        self.order.last().map(|&entry| slab.get(place(entry)).instant())
    }

    /// Takes the next event, and returns its slot. The run must not be done.
    #[inline]
    pub(super) fn next_slot<'a, P>(&mut self, slab: &'a mut Slab<P>) -> &'a mut Slot<P> {
        let place = place(self.order[self.cursor]);
        self.advance();
        slab.slot(place)
    }

    /// Counts the next event as taken.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.cursor += 1;
    }

    /// Frees the chunks of a finished run. The entries stay until the next run overwrites them.
    pub(super) fn free_chunks<P>(&mut self, slab: &mut Slab<P>) {
        debug_assert!(self.is_done());
        for (chunk, _) in self.chunks.drain(..) {
            slab.free_chunk(chunk);
        }
    }

    /// Sorts the events of `chain`, at most [`RUN_MAX`]. The chunks of the last run must be free.
    pub(super) fn sort<P>(&mut self, chain: Chain, slab: &Slab<P>) {
        self.load(chain, slab);
        self.sort_by(slab, None, &keys_by_level);
    }

    /// As [`Run::sort`], for events whose times in picoseconds are known to lie from `min` to `max`.
    pub(super) fn sort_within<P>(&mut self, chain: Chain, slab: &Slab<P>, within: (u64, u64)) {
        self.load(chain, slab);
        self.sort_by(slab, Some(within), &keys_by_level);
    }

    /// Sorts the events of `chain` LP by LP. All events must belong to one window, and there may be at most
    /// [`ReceiverIndex::RUN_MAX`] of them. `time_of` returns the position of a time in the window.
    pub(super) fn sort_by_lp<P>(&mut self, chain: Chain, slab: &Slab<P>, time_of: impl Fn(Time) -> u32) {
        self.load(chain, slab);
        self.sort_by(slab, None, &keys_by_lp(LpId(0), time_of));
    }

    /// Takes the events of `chain` in their present order, except that the events of each LP are put into the
    /// order of that LP.
    ///
    /// All events are of one window, and of LPs among `lps` consecutive ids. Returns false, with nothing
    /// taken, if ordering the events needs too many comparisons.
    pub(super) fn order_within_lps<P>(
        &mut self,
        chain: Chain,
        slab: &Slab<P>,
        receivers: &mut ReceiverIndex,
        lps: usize,
    ) -> bool {
        self.load(chain, slab);
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
        receivers.build(chunks, chain.len(), lps);
        let mut left = COMPARISONS_MIN + chain.len() / EVENTS_PER_COMPARISON;
        if receivers.repeats().all(|index| insert_within_lp(slab, &mut self.order, receivers, index, &mut left)) {
            return true;
        }
        self.chunks.clear();
        self.order.clear();
        false
    }

    /// Sorts the remaining events LP by LP. The LP `first` comes first.
    #[cold]
    pub(super) fn sort_remaining_by_lp<P>(&mut self, first: LpId, slab: &Slab<P>, time_of: impl Fn(Time) -> u32) {
        self.entries.resize(self.order.len(), 0);
        self.counts.clear();
        self.sort_range(slab, self.cursor..self.order.len(), &keys_by_lp(first, time_of));
    }

    /// True if the event `index` of the run is still to come.
    pub(super) fn is_pending(&self, index: usize) -> bool {
        index >= self.cursor
    }

    fn load<P>(&mut self, chain: Chain, slab: &Slab<P>) {
        debug_assert!(self.chunks.is_empty());
        self.chunks.extend(slab.chunks(chain));
        // The chunks are put into the order in which their events were pushed. LPs are executed in id order
        // at each instant, so the events that they send to one LP are then in order.
        self.chunks.reverse();
        self.cursor = 0;
        self.order.resize(chain.len(), 0);
    }

    /// Sorts by the first key, ties by the second key, and so on. `within` are bounds on the first key, if
    /// they are known.
    #[inline]
    fn sort_by<P>(&mut self, slab: &Slab<P>, within: Option<(u64, u64)>, keys: &impl SortKeys) {
        let first = |event: &Header| keys(event, 0).unwrap_or_default();
        let bounds = within.unwrap_or_else(|| self.bounds(slab, first));
        let largest = self.distribute(slab, bounds, first);
        if largest < LARGE_BUCKET {
            insertion_pass(slab, &mut self.order);
        } else {
            self.sort_buckets(slab, 0, 0, keys);
        }
    }

    /// Returns the smallest and the largest key of the events.
    #[inline]
    fn bounds<P>(&self, slab: &Slab<P>, key_of: impl Fn(&Header) -> u64) -> (u64, u64) {
        let slots = self.chunks.iter().flat_map(|&(chunk, fill)| &slab.slots(chunk)[..fill]);
        slots.fold((u64::MAX, 0), |(min, max), slot| {
            let key = key_of(slot.header());
            (min.min(key), max.max(key))
        })
    }

    /// Counts the keys into about as many buckets as there are events, and writes the entries bucket by
    /// bucket. Afterwards `counts` holds the ends of the buckets. Returns the size of the largest bucket.
    #[inline]
    fn distribute<P>(&mut self, slab: &Slab<P>, bounds: (u64, u64), key_of: impl Fn(&Header) -> u64) -> u32 {
        debug_assert!(self.order.len() <= ReceiverIndex::RUN_MAX);
        let bucketing = Bucketing::of(bounds, self.order.len());
        self.entries.resize(self.order.len(), 0);
        self.counts.clear();
        self.counts.resize(bucketing.buckets(), 0);
        let (mut entries, counts) = (self.entries.as_mut_slice(), self.counts.as_mut_slice());
        for &(chunk, fill) in &self.chunks {
            let (of_chunk, others) = entries.split_at_mut(fill);
            for ((entry, slot), place) in
                of_chunk.iter_mut().zip(slab.slots(chunk)).zip(Slab::<P>::first_place(chunk)..)
            {
                *entry = bucketing.entry(key_of(slot.header()), place);
                counts[bucketing.bucket(*entry)] += 1;
            }
            entries = others;
        }
        self.write_order(bucketing, 0..self.order.len(), 0)
    }

    /// Writes the entries of a range bucket by bucket. Their counts are in `counts` from index `first` on.
    /// Returns the size of the largest bucket.
    #[inline]
    fn write_order(&mut self, bucketing: Bucketing, range: Range<usize>, first: usize) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "at largest ReceiverIndex::RUN_MAX")]
        let mut begin = range.start as u32;
        let mut largest = 0;
        let counts = &mut self.counts[first..];
        for count in counts.iter_mut() {
            let here = *count;
            largest = largest.max(here);
            *count = begin;
            begin += here;
        }
        for &entry in &self.entries[range] {
            let to = &mut counts[bucketing.bucket(entry)];
            self.order[*to as usize] = entry;
            *to += 1;
        }
        largest
    }

    /// Sorts events that are already in the right buckets, from position `begin` on. The ends of the buckets
    /// are in `counts` from index `first` on.
    ///
    /// Large buckets are distributed again. The events between large buckets are sorted by one insertion
    /// pass.
    fn sort_buckets<P>(&mut self, slab: &Slab<P>, begin: usize, first: usize, keys: &impl SortKeys) {
        let (mut unsorted_from, mut from) = (begin, begin);
        for bucket in first..self.counts.len() {
            let to = self.counts[bucket] as usize;
            if to - from >= LARGE_BUCKET as usize {
                insertion_pass(slab, &mut self.order[unsorted_from..from]);
                self.sort_range(slab, from..to, keys);
                unsorted_from = to;
            }
            from = to;
        }
        insertion_pass(slab, &mut self.order[unsorted_from..from]);
    }

    /// Sorts the events of a range by the first key in which they differ.
    fn sort_range<P>(&mut self, slab: &Slab<P>, range: Range<usize>, keys: &impl SortKeys) {
        for step in 0.. {
            let (mut min, mut max) = (u64::MAX, 0);
            let (entries, order) = (&mut self.entries[range.clone()], &self.order[range.clone()]);
            for (entry, &at) in entries.iter_mut().zip(order) {
                // All keys are equal, which never happens to two events of one simulation. Equal events may
                // have any order.
                let Some(key) = keys(slab.get(place(at)), step) else { return };
                *entry = key;
                (min, max) = (min.min(key), max.max(key));
            }
            if min == max {
                continue;
            }
            let (bucketing, first) = (Bucketing::of((min, max), range.len()), self.counts.len());
            self.counts.resize(first + bucketing.buckets(), 0);
            for (entry, &at) in entries.iter_mut().zip(order) {
                *entry = bucketing.entry(*entry, place(at));
                self.counts[first + bucketing.bucket(*entry)] += 1;
            }
            self.write_order(bucketing, range.clone(), first);
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

/// Moves event `index`, the last of its LP so far, to its position among the events of that LP. Returns false
/// if the move takes more comparisons than are left.
#[inline]
fn insert_within_lp<P>(
    slab: &Slab<P>,
    order: &mut [u64],
    receivers: &ReceiverIndex,
    index: usize,
    left: &mut usize,
) -> bool {
    let mut at = index;
    while let Some(before) = receivers.previous(at) {
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

/// Sorts entries that are nearly sorted.
///
/// One event in six has a neighbour with which it must change places. Such a pair is exchanged without a
/// branch, because the branch could not be predicted. Only an entry that moves further, or whose leading bits
/// tie, takes the slow path.
#[inline]
fn insertion_pass<P>(slab: &Slab<P>, order: &mut [u64]) {
    let Some(&first) = order.first() else { return };
    // The last two entries of the sorted part.
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

/// Moves entry `i` to its position among the entries before it.
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
