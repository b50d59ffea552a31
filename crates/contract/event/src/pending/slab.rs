//! Where waiting events lie: chunks of eight to thirty-two, linked into chains.
//!
//! A chain costs eight bytes beside its chunks and at most one chunk of it is not full, so that thousands of chains hold a million events in little more than
//! the events' own size, and none ever has to be copied because it grew. Chunks are as long as chains allow: the events of a chain then lie on few pages. A
//! processor remembers where some thousand pages lie, and they are of 4 KiB even where the operating system has large ones, if it is a guest whose host has
//! small ones.

use crate::event::{Body, Event, EventKey, Header, LpId, Sender};
use crate::time::{Instant, Time};
use parades_raw::huge_pages::{self, HUGE_PAGE};
use parades_raw::prefetch::prefetch;
use std::hint::select_unpredictable;

/// Slots in a block. A chunk is one or several blocks that follow each other, and has the number of the first.
const BLOCK: usize = 8;
/// Of slabs that have not been cut: a chunk is a block.
const FIRST_MASK: u32 = 7;
const _: () = assert!(FIRST_MASK as usize + 1 == BLOCK, "a chunk is a block at first");
/// Slots in a chunk at most.
const CHUNK_MAX: usize = 32;
/// Events of a chain for each slot of a chunk: half a chunk of each chain is empty, an eighth of what the chains hold.
const EVENTS_PER_SLOT: usize = 4;

/// The end of the list of free chunks.
const NONE: u32 = u32::MAX;

/// Fewer blocks than this, so that the length of a chain, and the place of an event, fit 32 bits.
const BLOCKS_MAX: usize = (u32::MAX as usize) / BLOCK;

/// Events in no particular order. Only the chunk at the head may be partly filled; the rest are full.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    head: u32,
    len: u32,
}

impl Chain {
    /// How many events it holds.
    #[inline]
    pub(super) fn len(self) -> usize {
        self.len as usize
    }

    /// Whether it holds none.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// Where an event waits, or none.
#[derive(Debug)]
pub struct Slot<P> {
    /// Of the event; where there is none any more, of the one that was here last.
    header: Header,
    body: Option<Body<P>>,
}

impl<P> Slot<P> {
    /// One with no event.
    pub(super) fn empty() -> Slot<P> {
        let key = EventKey { instant: Instant::START, tie: 0, sender: Sender::GLOBAL, sequence: 0 };
        Slot { header: Header::new(key, LpId(0)), body: None }
    }

    /// One with an event.
    #[inline(always)]
    pub(super) fn of(event: Event<P>) -> Slot<P> {
        Slot { header: event.header(), body: Some(event.body) }
    }

    /// Takes the event, if there is one.
    #[inline(always)]
    pub fn take(&mut self) -> Option<Event<P>> {
        let header = self.header;
        self.body.take().map(|body| header.with(body))
    }

    /// All but the body of the event, which must be there.
    #[inline(always)]
    pub fn header(&self) -> &Header {
        debug_assert!(self.body.is_some(), "an event that waits is in its slot");
        &self.header
    }
}

/// Events of a chain that is worth a prefetch.
const PREFETCH_MAX: usize = 1024;

/// How many slots ahead of its turn a chunk is fetched into the cache, where a chain is gone through: the next is known only from the last.
const SLOTS_AHEAD: usize = 96;

/// The chunks of a chain that are still to be fetched.
struct Coming {
    chunk: u32,
    left: usize,
}

impl Coming {
    fn of<P>(slab: &Slab<P>, chain: Chain) -> Coming {
        Coming { chunk: chain.head, left: chain.len().div_ceil(slab.chunk_len()) }
    }

    /// Asks the processor for the next chunk.
    #[inline]
    fn prefetch<P>(&mut self, slab: &Slab<P>) {
        if self.left > 0 {
            slab.fetch(self.chunk);
            self.chunk = slab.next[self.chunk as usize];
            self.left -= 1;
        }
    }
}

/// The chunks of every chain of one pending set.
#[derive(Debug)]
pub(super) struct Slab<P> {
    /// [`BLOCK`] slots for each block. An event's place is its slot here, which fits 32 bits.
    slots: Vec<Slot<P>>,
    /// For the first block of each chunk, the chunk after it in its chain or in the list of free chunks.
    next: Vec<u32>,
    free: u32,
    /// Slots in a chunk, a power of two, less one.
    mask: u32,
    /// Events written into a chain so far: what the complexity of a run is judged by in tests.
    written: u64,
}

impl<P> Slab<P> {
    pub(super) fn new() -> Slab<P> {
        Slab { slots: Vec::new(), next: Vec::new(), free: NONE, mask: FIRST_MASK, written: 0 }
    }

    /// Slots in a chunk.
    #[inline(always)]
    fn chunk_len(&self) -> usize {
        self.mask as usize + 1
    }

    /// Adds `event` to `chain`. Always inlined, so that an event is written where it waits and nowhere before.
    #[inline(always)]
    pub(super) fn append(&mut self, chain: &mut Chain, event: Event<P>) {
        let slot = chain.len & self.mask;
        chain.head = self.head_for(slot == 0, chain.head);
        let place = chain.head as usize * BLOCK + slot as usize;
        debug_assert!(self.slots[place].body.is_none(), "an event would be overwritten");
        self.slots[place] = Slot::of(event);
        chain.len += 1;
        if cfg!(debug_assertions) {
            self.written += 1;
        }
    }

    /// The chunk for the next event of a chain with this head: where that is full, an empty one that is followed by it.
    ///
    /// Without a branch: which event finds its chunk full cannot be guessed, and comes to light last of all that an execution computes.
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

    /// Takes a sixteenth more into use: doubling would leave up to half of it unused.
    #[cold]
    fn grow(&mut self) {
        let old = self.next.len();
        let more = (old / 16).max(BLOCK).next_multiple_of(self.chunk_len() / BLOCK);
        assert!(old + more < BLOCKS_MAX, "fewer than 2^32 events can be pending on one worker");
        self.resize(old + more);
        self.free_from(old);
    }

    /// Has so many blocks from now on; none that there are no more has an event.
    fn resize(&mut self, blocks: usize) {
        if self.slots.capacity() < blocks * BLOCK {
            self.reserve(blocks - self.next.len());
        }
        self.next.resize(blocks, NONE);
        self.slots.resize_with(blocks * BLOCK, Slot::empty);
    }

    /// Makes all chunks from block `first` on free, which then come in their order.
    fn free_from(&mut self, first: usize) {
        for chunk in (first..self.next.len()).step_by(self.chunk_len() / BLOCK).rev() {
            #[expect(clippy::cast_possible_truncation, reason = "below BLOCKS_MAX")]
            let freed = chunk as u32;
            self.next[chunk] = std::mem::replace(&mut self.free, freed);
        }
    }

    /// Sees to it that there is room for so many more blocks. From some large pages on the room doubles, as it takes memory only where it is in
    /// use; so it is moved rarely, and stays in large pages.
    #[cold]
    fn reserve(&mut self, more: usize) {
        let is_large = size_of_val(self.slots.as_slice()) >= 2 * HUGE_PAGE;
        let room = if is_large { self.next.len().max(more) } else { more };
        self.slots.reserve_exact(room * BLOCK);
        self.next.reserve_exact(room);
        huge_pages::ask_for(&self.slots);
        huge_pages::ask_for(&self.next);
    }

    /// Cuts it into chunks that suit `chains` chains of these events, which are all there are. They are moved where they lie, and may come in another order.
    pub(super) fn suit(&mut self, chain: &mut Chain, chains: usize) {
        let events = chain.len() / chains.max(1);
        let len = 1 << (events / EVENTS_PER_SLOT).clamp(BLOCK, CHUNK_MAX).ilog2();
        if len != self.chunk_len() {
            self.cut(chain, len);
        }
    }

    /// Cuts it into chunks of `len` slots, the first of which have the events of `chain`, which are all there are.
    fn cut(&mut self, chain: &mut Chain, len: usize) {
        let (front, back) = self.slots.split_at_mut(chain.len());
        let mut vacant = front.iter_mut().filter(|slot| slot.body.is_none());
        for slot in back.iter_mut().filter(|slot| slot.body.is_some()) {
            std::mem::swap(slot, vacant.next().expect("all events are of the chain"));
        }
        debug_assert!(vacant.next().is_none(), "all of the chain are there");
        #[expect(clippy::cast_possible_truncation, reason = "at most CHUNK_MAX")]
        let mask = len as u32 - 1;
        self.mask = mask;
        self.free = NONE;
        let step = len / BLOCK;
        let taken = chain.len().div_ceil(len) * step;
        self.resize((self.next.len() / step * step).max(taken));
        self.free_from(taken);
        // The last chunk, which may be partly filled, is the head.
        chain.head = 0;
        for chunk in (step..taken).step_by(step) {
            #[expect(clippy::cast_possible_truncation, reason = "below BLOCKS_MAX")]
            let head = chunk as u32;
            self.next[chunk] = std::mem::replace(&mut chain.head, head);
        }
    }

    /// Hands back a chunk whose events have all been taken.
    #[inline]
    pub(super) fn free_chunk(&mut self, chunk: u32) {
        debug_assert!(self.slots(chunk).iter().all(|slot| slot.body.is_none()), "a chunk was freed with events in it");
        self.next[chunk as usize] = std::mem::replace(&mut self.free, chunk);
    }

    /// The chunks of `chain`, each with how many events it holds.
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

    /// Asks the processor for the events of `chain`, if it is not too long to stay in the cache.
    pub(super) fn prefetch(&self, chain: Chain) {
        if chain.len() <= PREFETCH_MAX {
            for (chunk, fill) in self.chunks(chain) {
                self.slots(chunk)[..fill].iter().for_each(prefetch);
            }
        }
    }

    /// Asks the processor for a chunk.
    #[inline]
    pub(super) fn fetch(&self, chunk: u32) {
        self.slots(chunk).iter().for_each(prefetch);
    }

    /// How many chunks ahead of its turn to ask for one of a chain that is gone through; none is where [`Slab::prefetch`] has asked for all.
    pub(super) fn chunks_ahead(&self, chain: Chain) -> usize {
        if chain.len() <= PREFETCH_MAX { usize::MAX } else { SLOTS_AHEAD / self.chunk_len() + 1 }
    }

    /// The events of `chain`, which must all be there.
    pub(super) fn events(&self, chain: Chain) -> impl Iterator<Item = &Header> {
        self.chunks(chain).flat_map(|(chunk, fill)| self.slots(chunk)[..fill].iter().map(Slot::header))
    }

    /// The time of the first of the events of `chain`, which must all be there; [`Time::MAX`] of none.
    pub(super) fn least_time(&self, chain: Chain) -> Time {
        self.events(chain).map(Header::time).min().unwrap_or(Time::MAX)
    }

    /// The slots of `chunk`.
    #[inline]
    pub(super) fn slots(&self, chunk: u32) -> &[Slot<P>] {
        let first = chunk as usize * BLOCK;
        &self.slots[first..first + self.chunk_len()]
    }

    /// The place of the first slot of `chunk`; those of the others follow.
    #[inline]
    pub(super) fn first_place(chunk: u32) -> u32 {
        chunk << BLOCK.ilog2()
    }

    /// All but the body of the event at `place`, which must be there.
    #[inline]
    pub(super) fn get(&self, place: u32) -> &Header {
        self.slots[place as usize].header()
    }

    /// Takes the event at `place`, which must be there.
    #[inline]
    pub(super) fn take(&mut self, place: u32) -> Event<P> {
        self.slots[place as usize].take().expect("an event that waits is in its slot")
    }

    /// The slot of the event at `place`.
    #[inline(always)]
    pub(super) fn slot(&mut self, place: u32) -> &mut Slot<P> {
        &mut self.slots[place as usize]
    }

    /// The slot of the event at `place`, which must be there, if its time is not after `last`.
    #[inline(always)]
    pub(super) fn slot_through(&mut self, place: u32, last: Time) -> Option<&mut Slot<P>> {
        let slot = &mut self.slots[place as usize];
        (slot.header().time() <= last).then_some(slot)
    }

    /// Takes every event of `chain` and hands it to `accept`, which may append it to another; chunks are free as soon as they are
    /// empty, so that moving a million events needs no room for a million more.
    #[inline]
    pub(super) fn consume(&mut self, chain: Chain, mut accept: impl FnMut(&mut Slab<P>, Event<P>)) {
        let mut chunk = chain.head;
        let mut left = chain.len();
        let mask = self.mask as usize;
        let mut coming = Coming::of(self, chain);
        (0..=SLOTS_AHEAD / self.chunk_len()).for_each(|_| coming.prefetch(self));
        while let Some(last) = left.checked_sub(1) {
            coming.prefetch(self);
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

    /// Moves the events of `chain`, which are all there are, into the first chunks, and gives back the memory of the others: no room is needed for a copy.
    pub(super) fn pack(&mut self, chain: &mut Chain) {
        self.cut(chain, BLOCK);
        let blocks = chain.len().div_ceil(BLOCK);
        self.slots.truncate(blocks * BLOCK);
        self.slots.shrink_to_fit();
        self.next.truncate(blocks);
        self.next.shrink_to_fit();
        self.free = NONE;
    }

    /// All events that it holds, in whatever chains, in no order.
    pub(super) fn into_events(self) -> impl Iterator<Item = Event<P>> + use<P> {
        self.slots.into_iter().filter_map(|mut slot| slot.take())
    }

    /// How many events have been written into chains; counted where assertions are on.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        // Room beyond what is in use has never been touched.
        size_of_val(self.slots.as_slice()) + size_of_val(self.next.as_slice())
    }
}
