//! Storage of pending events: chunks of slots, linked into chains.
//!
//! A chain takes eight bytes beside its chunks, and at most one of its chunks is partly filled. So thousands
//! of chains hold a million events in little more than the events' own size, and no chain is copied when it
//! grows.
//!
//! Chunks are as long as the chains allow, 8 to 32 slots, so that the events of a chain lie on few pages. A
//! processor caches the addresses of only about a thousand pages. In a virtual machine whose host uses pages
//! of 4 KiB, large pages of the guest do not help.

use super::slot::Slot;
use crate::event::{Event, Header};
use crate::time::Time;
use parades_raw::huge_pages::{self, HUGE_PAGE};
use parades_raw::prefetch::prefetch;
use std::hint::select_unpredictable;

/// The number of slots in a block. A chunk is one block or several consecutive blocks. The number of a chunk
/// is that of its first block.
const BLOCK: usize = 8;
/// The first value of the mask of a slab: a chunk is one block.
const FIRST_MASK: u32 = 7;
const _: () = assert!(FIRST_MASK as usize + 1 == BLOCK, "a chunk is a block at first");
/// The number of slots in the largest chunk.
const CHUNK_MAX: usize = 32;
/// The average length of a chain divided by the length of its chunks. On average half a chunk of each chain
/// is empty, which is an eighth of the space of the chain's events.
const EVENTS_PER_SLOT: usize = 4;

/// The end of the list of free chunks.
const NONE: u32 = u32::MAX;

/// The number of blocks stays below this limit, so that the length of a chain and the place of an event fit
/// 32 bits.
const BLOCKS_MAX: usize = (u32::MAX as usize) / BLOCK;

/// Events in no particular order. Only the chunk at the head may be partly filled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    head: u32,
    len: u32,
}

impl Chain {
    /// Returns the number of events.
    #[inline]
    pub(super) fn len(self) -> usize {
        self.len as usize
    }

    /// True if the chain has no events.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The largest number of events in a chain that is prefetched as a whole. A longer chain would not stay in
/// the cache.
const PREFETCH_MAX: usize = 1024;

/// The distance in slots at which the chunks of a longer chain are prefetched while it is traversed. The next
/// chunk is found only through the chunk before it, so a prefetcher walks ahead.
const SLOTS_AHEAD: usize = 96;

/// The chunks of a chain that are still to be prefetched.
struct Prefetcher {
    chunk: u32,
    left: usize,
}

impl Prefetcher {
    fn of<P>(slab: &Slab<P>, chain: Chain) -> Prefetcher {
        Prefetcher { chunk: chain.head, left: chain.len().div_ceil(slab.chunk_len()) }
    }

    /// Prefetches the next chunk.
    #[inline]
    fn prefetch<P>(&mut self, slab: &Slab<P>) {
        if self.left > 0 {
            slab.fetch(self.chunk);
            self.chunk = slab.next[self.chunk as usize];
            self.left -= 1;
        }
    }
}

/// The chunks of all chains of one pending set.
#[derive(Debug)]
pub(super) struct Slab<P> {
    /// [`BLOCK`] slots for each block. The *place* of an event is its index here, and fits 32 bits.
    slots: Vec<Slot<P>>,
    /// For the first block of each chunk: the next chunk of its chain, or of the list of free chunks.
    next: Vec<u32>,
    free: u32,
    /// The number of slots in a chunk, a power of two, minus one.
    mask: u32,
    /// The number of events written into chains. Tests bound the work of a run by it.
    #[cfg(feature = "test-hooks")]
    written: u64,
}

impl<P> Slab<P> {
    pub(super) fn new() -> Slab<P> {
        Slab {
            slots: Vec::new(),
            next: Vec::new(),
            free: NONE,
            mask: FIRST_MASK,
            #[cfg(feature = "test-hooks")]
            written: 0,
        }
    }

    /// Returns the number of slots in a chunk.
    #[inline(always)]
    fn chunk_len(&self) -> usize {
        self.mask as usize + 1
    }

    /// Adds `event` to `chain`. Always inlined, so that the event is built in its slot.
    #[inline(always)]
    pub(super) fn append(&mut self, chain: &mut Chain, event: Event<P>) {
        let slot = chain.len & self.mask;
        chain.head = self.head_for(slot == 0, chain.head);
        let place = chain.head as usize * BLOCK + slot as usize;
        debug_assert!(self.slots[place].is_empty(), "an event would be overwritten");
        self.slots[place] = Slot::of(event);
        chain.len += 1;
        #[cfg(feature = "test-hooks")]
        {
            self.written += 1;
        }
    }

    /// Returns the chunk for the next event of a chain. This is the head, or if the head is full, a free
    /// chunk, which becomes the new head.
    ///
    /// The code has no branch. The processor could not predict which event finds its chunk full. It would
    /// discover a wrong prediction late, because this address is the last result of an execution.
    #[inline(always)]
    fn head_for(&mut self, is_full: bool, head: u32) -> u32 {
        if self.free == NONE {
            self.grow();
        }
        let fresh = self.free;
        let next = &mut self.next[fresh as usize];
        let after = *next;
        *next = select_unpredictable(is_full, head, after);
        self.free = select_unpredictable(is_full, after, fresh);
        select_unpredictable(is_full, fresh, head)
    }

    /// Adds a sixteenth of the blocks. Doubling could leave half of the memory unused.
    #[cold]
    fn grow(&mut self) {
        let old = self.next.len();
        let more = (old / 16).max(BLOCK).next_multiple_of(self.chunk_len() / BLOCK);
        assert!(old + more < BLOCKS_MAX, "fewer than 2^32 events can be pending on one worker");
        self.resize(old + more);
        self.free_from(old);
    }

    /// Sets the number of blocks. Blocks that are removed must be empty.
    fn resize(&mut self, blocks: usize) {
        if self.slots.capacity() < blocks * BLOCK {
            self.reserve(blocks - self.next.len());
        }
        self.next.resize(blocks, NONE);
        self.slots.resize_with(blocks * BLOCK, Slot::empty);
    }

    /// Adds all chunks from block `first` on to the list of free chunks, in ascending order.
    fn free_from(&mut self, first: usize) {
        for chunk in (first..self.next.len()).step_by(self.chunk_len() / BLOCK).rev() {
            #[expect(clippy::cast_possible_truncation, reason = "below BLOCKS_MAX")]
            let freed = chunk as u32;
            self.next[chunk] = std::mem::replace(&mut self.free, freed);
        }
    }

    /// Reserves memory for `more` blocks.
    ///
    /// From two large pages on, the reservation doubles. Reserved memory costs nothing until it is used, so
    /// the slab is seldom moved and stays in large pages.
    #[cold]
    fn reserve(&mut self, more: usize) {
        let is_large = size_of_val(self.slots.as_slice()) >= 2 * HUGE_PAGE;
        let room = if is_large { self.next.len().max(more) } else { more };
        self.slots.reserve_exact(room * BLOCK);
        self.next.reserve_exact(room);
        huge_pages::ask_for(&self.slots);
        huge_pages::ask_for(&self.next);
    }

    /// Resizes the chunks so that they suit `chains` chains. `chain` must hold all events of the slab. The
    /// events stay in the same memory, but their order may change.
    pub(super) fn resize_chunks_for(&mut self, chain: &mut Chain, chains: usize) {
        let events = chain.len() / chains.max(1);
        let len = 1 << (events / EVENTS_PER_SLOT).clamp(BLOCK, CHUNK_MAX).ilog2();
        if len != self.chunk_len() {
            self.resize_chunks(chain, len);
        }
    }

    /// Resizes the chunks to `len` slots. `chain` must hold all events of the slab, and gets the first
    /// chunks.
    fn resize_chunks(&mut self, chain: &mut Chain, len: usize) {
        let (front, back) = self.slots.split_at_mut(chain.len());
        let mut vacant = front.iter_mut().filter(|slot| slot.is_empty());
        for slot in back.iter_mut().filter(|slot| !slot.is_empty()) {
            std::mem::swap(slot, vacant.next().expect("all events belong to the chain"));
        }
        debug_assert!(vacant.next().is_none(), "all events of the chain were found");
        #[expect(clippy::cast_possible_truncation, reason = "at most CHUNK_MAX")]
        let mask = len as u32 - 1;
        self.mask = mask;
        self.free = NONE;
        let step = len / BLOCK;
        let taken = chain.len().div_ceil(len) * step;
        self.resize((self.next.len() / step * step).max(taken));
        self.free_from(taken);
        // The last chunk may be partly filled, so it is the head.
        chain.head = 0;
        for chunk in (step..taken).step_by(step) {
            #[expect(clippy::cast_possible_truncation, reason = "below BLOCKS_MAX")]
            let head = chunk as u32;
            self.next[chunk] = std::mem::replace(&mut chain.head, head);
        }
    }

    /// Returns a chunk to the list of free chunks. All its events must have been taken.
    #[inline]
    pub(super) fn free_chunk(&mut self, chunk: u32) {
        debug_assert!(self.slots(chunk).iter().all(|slot| slot.is_empty()), "a chunk was freed with events in it");
        self.next[chunk as usize] = std::mem::replace(&mut self.free, chunk);
    }

    /// Returns the chunks of `chain`, each with the number of its events.
    #[inline]
    pub(super) fn chunks(&self, chain: Chain) -> impl Iterator<Item = (u32, usize)> {
        let mut chunk = chain.head;
        let mut left = chain.len();
        let mask = self.mask as usize;
        std::iter::from_fn(move || {
            let fill = (left.checked_sub(1)? & mask) + 1;
            let this = (chunk, fill);
            left -= fill;
            chunk = self.next[chunk as usize];
            Some(this)
        })
    }

    /// Prefetches the events of `chain`, unless it is too long to stay in the cache.
    pub(super) fn prefetch(&self, chain: Chain) {
        if chain.len() <= PREFETCH_MAX {
            for (chunk, fill) in self.chunks(chain) {
                self.slots(chunk)[..fill].iter().for_each(prefetch);
            }
        }
    }

    /// Prefetches a chunk.
    #[inline]
    pub(super) fn fetch(&self, chunk: u32) {
        self.slots(chunk).iter().for_each(prefetch);
    }

    /// Returns the prefetch distance, in chunks, for a traversal of `chain`. If [`Slab::prefetch`] has
    /// fetched the whole chain, the distance is infinite.
    pub(super) fn chunks_ahead(&self, chain: Chain) -> usize {
        if chain.len() <= PREFETCH_MAX { usize::MAX } else { SLOTS_AHEAD / self.chunk_len() + 1 }
    }

    /// Returns the headers of the events of `chain`. No event of the chain may have been taken.
    pub(super) fn events(&self, chain: Chain) -> impl Iterator<Item = &Header> {
        self.chunks(chain).flat_map(|(chunk, fill)| self.slots(chunk)[..fill].iter().map(Slot::header))
    }

    /// Returns the earliest time of the events of `chain`, or [`Time::MAX`] if there are none. No event of
    /// the chain may have been taken.
    pub(super) fn min_time(&self, chain: Chain) -> Time {
        self.events(chain).map(Header::time).min().unwrap_or(Time::MAX)
    }

    /// Returns the slots of `chunk`.
    #[inline]
    pub(super) fn slots(&self, chunk: u32) -> &[Slot<P>] {
        let first = chunk as usize * BLOCK;
        &self.slots[first..first + self.chunk_len()]
    }

    /// Returns the place of the first slot of `chunk`. The other slots follow.
    #[inline]
    pub(super) fn first_place(chunk: u32) -> u32 {
        chunk << BLOCK.ilog2()
    }

    /// Returns the header of the event at `place`, which must be there.
    #[inline]
    pub(super) fn get(&self, place: u32) -> &Header {
        self.slots[place as usize].header()
    }

    /// Removes and returns the event at `place`, which must be there.
    #[inline]
    pub(super) fn take(&mut self, place: u32) -> Event<P> {
        self.slots[place as usize].take().expect("an event that waits is in its slot")
    }

    /// Returns the slot at `place`.
    #[inline(always)]
    pub(super) fn slot(&mut self, place: u32) -> &mut Slot<P> {
        &mut self.slots[place as usize]
    }

    /// Returns the slot of the event at `place`, which must be there, if its time is at most `last`.
    #[inline(always)]
    pub(super) fn slot_through(&mut self, place: u32, last: Time) -> Option<&mut Slot<P>> {
        let slot = &mut self.slots[place as usize];
        (slot.header().time() <= last).then_some(slot)
    }

    /// Removes every event of `chain` and passes it to `accept`, which may append it to another chain.
    ///
    /// Each chunk is freed as soon as it is empty. So moving a million events needs no space for a second
    /// million.
    #[inline]
    pub(super) fn consume(&mut self, chain: Chain, mut accept: impl FnMut(&mut Slab<P>, Event<P>)) {
        let mut chunk = chain.head;
        let mut left = chain.len();
        let mask = self.mask as usize;
        let mut prefetcher = Prefetcher::of(self, chain);
        (0..=SLOTS_AHEAD / self.chunk_len()).for_each(|_| prefetcher.prefetch(self));
        while let Some(last) = left.checked_sub(1) {
            prefetcher.prefetch(self);
            let fill = (last & mask) + 1;
            for place in (Slab::<P>::first_place(chunk)..).take(fill) {
                let event = self.take(place);
                accept(self, event);
            }
            left -= fill;
            let after = self.next[chunk as usize];
            self.free_chunk(chunk);
            chunk = after;
        }
    }

    /// Moves the events into the first chunks, and frees the memory of the other chunks. `chain` must hold
    /// all events of the slab. The move needs no memory of its own.
    pub(super) fn pack(&mut self, chain: &mut Chain) {
        self.resize_chunks(chain, BLOCK);
        let blocks = chain.len().div_ceil(BLOCK);
        self.slots.truncate(blocks * BLOCK);
        self.slots.shrink_to_fit();
        self.next.truncate(blocks);
        self.next.shrink_to_fit();
        self.free = NONE;
    }

    /// Returns all events, in no order.
    pub(super) fn into_events(self) -> impl Iterator<Item = Event<P>> + use<P> {
        self.slots.into_iter().filter_map(|mut slot| slot.take())
    }

    /// Returns the number of events written into chains.
    #[cfg(feature = "test-hooks")]
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        // Reserved memory beyond the used part has never been touched.
        size_of_val(self.slots.as_slice()) + size_of_val(self.next.as_slice())
    }
}
