//! Lanes in a mapped segment.

use super::ring::{Ends, Ring};
use crate::shared::bell::{Bell, Request};
use crate::shared::segment::{Segment, SegmentFile};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The shape of all lanes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneShape {
    /// The least number of slots of a lane. It is rounded up to a power of two.
    pub slots: u32,
    /// The least size of a slot, in bytes. It is rounded up to a multiple of a cache line.
    pub slot_bytes: u32,
}

impl Default for LaneShape {
    /// At most one megabyte a lane. A slot holds some hundreds of events.
    fn default() -> LaneShape {
        LaneShape { slots: 64, slot_bytes: 16 << 10 }
    }
}

/// The front of a segment.
#[repr(C, align(64))]
struct Head {
    magic: AtomicU64,
    ranks: AtomicU32,
    slots: AtomicU32,
    slot_bytes: AtomicU32,
    /// 1 once a process receives here.
    is_claimed: AtomicU32,
    /// 1 once the rank has ended.
    has_ended: AtomicU32,
    /// The rank's request to be woken when a slot is filled.
    wants_slots: Request,
    bell: Bell,
}

/// The front of a lane. The two rings and the slots follow it.
#[repr(C, align(64))]
struct LaneHead {
    filled: Ends,
    free: Ends,
    /// The sender's request to be woken when a slot is freed.
    wants_room: Request,
    /// 1 once a process sends here.
    is_claimed: AtomicU32,
}

const MAGIC: u64 = u64::from_le_bytes(*b"lanes 01");
const LINE: u32 = 64;

/// The positions in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    ranks: usize,
    slots: usize,
    slot_bytes: usize,
}

impl Layout {
    /// Returns the layout for a shape, or `None` if it exceeds the limits of its numbers.
    fn new(ranks: usize, LaneShape { slots, slot_bytes }: LaneShape) -> Option<Layout> {
        let slots = slots.max(1).checked_next_power_of_two()?;
        let slot_bytes = slot_bytes.max(1).checked_next_multiple_of(LINE)?;
        let layout = Layout { ranks, slots: slots as usize, slot_bytes: slot_bytes as usize };
        let of_slots = layout.slots.checked_mul(layout.slot_bytes)?;
        let of_lane = of_slots.checked_add(layout.slots_at())?;
        let all = of_lane.checked_mul(ranks)?.checked_add(size_of::<Head>())?;
        (isize::try_from(all).is_ok() && ranks > 0 && u32::try_from(ranks).is_ok()).then_some(layout)
    }

    /// Returns the position of the numbers of ring 0 or 1 in a lane.
    fn numbers_at(self, ring: usize) -> usize {
        size_of::<LaneHead>() + (ring * self.slots * size_of::<AtomicU32>()).next_multiple_of(LINE as usize)
    }

    /// Returns the position of the slots in a lane.
    fn slots_at(self) -> usize {
        self.numbers_at(1) + (self.slots * size_of::<AtomicU32>()).next_multiple_of(LINE as usize)
    }

    /// Returns the numbers of ranks, of slots of a lane, and of bytes of a slot.
    fn as_numbers(self) -> [u32; 3] {
        [self.ranks, self.slots, self.slot_bytes].map(|number| u32::try_from(number).expect("`new` has checked it"))
    }

    fn lane_bytes(self) -> usize {
        self.slots_at() + self.slots * self.slot_bytes
    }

    /// Returns the position of the lane of a sender in a segment.
    fn lane_at(self, from: usize) -> usize {
        size_of::<Head>() + from * self.lane_bytes()
    }

    fn bytes(self) -> usize {
        size_of::<Head>() + self.ranks * self.lane_bytes()
    }
}

/// The lanes to one rank, in its segment.
///
/// Invariant: the segment has at least `layout.bytes()` bytes, all zero at first. [`Lanes::create`] has
/// committed all but the slots. A slot whose number is in a ring, or held by a sender or a receiver, is
/// committed. All processes that map the segment access it by this type. Bytes of slots are accessed only by
/// the holder of the slot's number; all else is atomic. [`Sender`] and [`Receiver`] claim their end of the
/// lanes in the segment itself, so each end has one holder over all processes.
#[derive(Debug)]
pub struct Lanes {
    segment: Segment,
    layout: Layout,
}

/// One lane.
#[derive(Clone, Copy)]
struct Lane<'a> {
    head: &'a LaneHead,
    filled: Ring<'a>,
    free: Ring<'a>,
    slots: NonNull<u8>,
}

impl Lanes {
    /// Creates the segment of one of `ranks` ranks.
    ///
    /// # Errors
    ///
    /// Fails if memory is exhausted, or if the shape is too large.
    pub fn create(ranks: usize, shape: LaneShape) -> io::Result<SegmentFile> {
        let layout = Layout::new(ranks, shape).ok_or(io::ErrorKind::InvalidInput)?;
        let [in_ranks, slots, slot_bytes] = layout.as_numbers();
        let file = SegmentFile::create(layout.bytes())?;
        let segment = Segment::map(file.try_clone()?)?;
        segment.commit(0..size_of::<Head>())?;
        let lanes = Lanes { segment, layout };
        for from in 0..ranks {
            let at = layout.lane_at(from);
            lanes.segment.commit(at..at + layout.slots_at())?;
            // One slot, so that a lane works even if there is no memory for more.
            lanes.commit_slot(from, 0)?;
            lanes.lane(from).free.push(0);
        }
        let head = lanes.head();
        head.wants_slots.make_lasting();
        // Ordering: Relaxed. No other process knows the segment yet.
        head.ranks.store(in_ranks, Ordering::Relaxed);
        head.slots.store(slots, Ordering::Relaxed);
        head.slot_bytes.store(slot_bytes, Ordering::Relaxed);
        // Ordering: Release; pairs with the Acquire in `open`.
        head.magic.store(MAGIC, Ordering::Release);
        Ok(file)
    }

    /// Maps the segment of a rank.
    ///
    /// # Errors
    ///
    /// Fails if the segment is not one of `ranks` ranks.
    pub fn open(file: SegmentFile, ranks: usize) -> io::Result<Arc<Lanes>> {
        let foreign = || io::Error::other("this descriptor is not a segment of the run");
        let segment = Segment::map(file)?;
        if segment.size() < size_of::<Head>() {
            return Err(foreign());
        }
        let unchecked = Lanes { segment, layout: Layout { ranks, slots: 0, slot_bytes: 0 } };
        let head = unchecked.head();
        // Ordering: Acquire; pairs with the Release in `create`, which makes the numbers visible.
        let magic = head.magic.load(Ordering::Acquire);
        let [of_ranks, slots, slot_bytes] =
            [&head.ranks, &head.slots, &head.slot_bytes].map(|number| number.load(Ordering::Relaxed));
        let layout = Layout::new(ranks, LaneShape { slots, slot_bytes }).ok_or_else(foreign)?;
        if magic != MAGIC || of_ranks as usize != ranks || unchecked.segment.size() != layout.bytes() {
            return Err(foreign());
        }
        Ok(Arc::new(Lanes { segment: unchecked.segment, layout }))
    }

    /// Returns the number of bytes of a slot.
    pub fn slot_bytes(&self) -> usize {
        self.layout.slot_bytes
    }

    fn head(&self) -> &Head {
        // SAFETY: the segment starts at a page, and `create` and `open` have checked that it has room for a
        // `Head`. All fields are atomic numbers, for which all bits are valid.
        unsafe { self.segment.base().cast().as_ref() }
    }

    fn lane(&self, from: usize) -> Lane<'_> {
        assert!(from < self.layout.ranks, "rank {from} of {}", self.layout.ranks);
        // SAFETY: by the invariant, the lane of each rank lies in the segment.
        let base = unsafe { self.segment.base().add(self.layout.lane_at(from)) };
        // SAFETY: the lane has a `LaneHead` at its front. The sizes of `Head` and of lanes are multiples of a
        // cache line. All fields are atomic numbers.
        let head = unsafe { base.cast::<LaneHead>().as_ref() };
        let ring = |number, ends| {
            // SAFETY: the numbers lie in the lane.
            let first = unsafe { base.add(self.layout.numbers_at(number)) };
            // SAFETY: `slots` atomic numbers lie there, on a multiple of a cache line.
            let numbers = unsafe { std::slice::from_raw_parts(first.cast::<AtomicU32>().as_ptr(), self.layout.slots) };
            Ring { ends, numbers }
        };
        // SAFETY: the slots lie in the lane.
        let slots = unsafe { base.add(self.layout.slots_at()) };
        Lane { head, filled: ring(0, &head.filled), free: ring(1, &head.free), slots }
    }

    /// Commits the memory of a slot.
    fn commit_slot(&self, from: usize, number: u32) -> io::Result<()> {
        let at = self.layout.lane_at(from) + self.layout.slots_at() + number as usize * self.layout.slot_bytes;
        self.segment.commit(at..at + self.layout.slot_bytes)
    }

    /// Returns the bytes of a slot, which the caller may access if it holds the slot's number.
    fn slot(&self, lane: Lane<'_>, number: u32) -> NonNull<[u8]> {
        assert!((number as usize) < self.layout.slots, "a lane has no slot {number}");
        // SAFETY: the slot lies in the lane, since its number is below `slots`.
        let first = unsafe { lane.slots.add(number as usize * self.layout.slot_bytes) };
        NonNull::slice_from_raw_parts(first, self.layout.slot_bytes)
    }

    /// Returns the number of times that the bell has rung.
    pub fn rings(&self) -> u32 {
        self.head().bell.seen()
    }

    /// Sleeps until the bell has rung more often than `seen` times. May return early.
    pub fn wait(&self, seen: u32) {
        self.head().bell.wait(seen);
    }

    /// Wakes all threads that wait for the bell.
    pub fn ring(&self) {
        self.head().bell.ring();
    }

    /// Requests that the bell rings when the next slot is filled. The caller looks for filled slots after
    /// this call, and before it sleeps.
    pub fn request_ring(&self) {
        self.head().wants_slots.make();
    }

    /// As [`request_ring`](Lanes::request_ring). Without any call of this function, the bell rings for every
    /// slot; after it, the bell rings only on request.
    pub fn request_only_this_ring(&self) {
        self.head().wants_slots.make_only();
    }

    /// Rings the bell if its rank has asked for it. Senders call this after they have filled slots.
    pub fn announce(&self) {
        if self.head().wants_slots.take() {
            self.ring();
        }
    }

    /// Notes that the rank has ended: nothing that it sends comes after this.
    pub fn end(&self) {
        // Ordering: Release; pairs with the Acquire in `has_ended`.
        self.head().has_ended.store(1, Ordering::Release);
    }

    /// Returns true if the rank has ended. Every slot that it filled before is then visible.
    pub fn has_ended(&self) -> bool {
        // Ordering: Acquire; pairs with the Release in `end`.
        self.head().has_ended.load(Ordering::Acquire) != 0
    }
}

fn claim(is_claimed: &AtomicU32) -> io::Result<()> {
    // Ordering: Relaxed. The first process wins, and no other memory is read by it.
    match is_claimed.swap(1, Ordering::Relaxed) {
        0 => Ok(()),
        _ => Err(io::Error::other("another process has this rank already")),
    }
}

/// The sending end of one lane.
#[derive(Debug)]
pub struct Sender {
    lanes: Arc<Lanes>,
    from: usize,
    /// The number of slots in use, from slot 0 on. The others have no memory yet.
    slots: u32,
}

impl Sender {
    /// Claims the sending end of the lane of rank `from`.
    ///
    /// # Errors
    ///
    /// Fails if it was claimed before, by this or another process.
    pub fn claim(lanes: Arc<Lanes>, from: usize) -> io::Result<Sender> {
        claim(&lanes.lane(from).head.is_claimed)?;
        Ok(Sender { lanes, from, slots: 1 })
    }

    /// Fills a slot by `write`. Returns false if no slot is free.
    pub fn send(&mut self, write: impl FnOnce(&mut [u8])) -> bool {
        let free = self.lanes.lane(self.from).free.pop();
        let Some(number) = free.or_else(|| self.begin_slot()) else { return false };
        let lane = self.lanes.lane(self.from);
        // SAFETY: this sender holds the number, so nobody else accesses the slot. Its bytes are committed,
        // and initialised because a new segment has bytes of zero.
        write(unsafe { self.lanes.slot(lane, number).as_mut() });
        lane.filled.push(number);
        true
    }

    /// Takes a slot into use that was never used. Returns its number, which this sender then holds. Returns
    /// `None` if all slots are in use. If memory is exhausted, returns `None` too: the lane keeps the slots
    /// that it has, and the sender waits for one of them.
    fn begin_slot(&mut self) -> Option<u32> {
        let number = self.slots;
        if number as usize == self.lanes.layout.slots {
            return None;
        }
        self.lanes.commit_slot(self.from, number).ok()?;
        self.slots += 1;
        Some(number)
    }

    /// Returns true if a slot that was used before is free.
    pub fn has_room(&mut self) -> bool {
        !self.lanes.lane(self.from).free.is_empty()
    }

    /// Requests that the receiver rings the bell of this sender's rank when it frees a slot. The caller calls
    /// [`has_room`](Sender::has_room) after this, and before it sleeps.
    pub fn request_room(&mut self) {
        self.lanes.lane(self.from).head.wants_room.make();
    }
}

/// The receiving end of all lanes of a segment.
#[derive(Debug)]
pub struct Receiver {
    lanes: Arc<Lanes>,
}

impl Receiver {
    /// Claims the receiving end of all lanes of a segment.
    ///
    /// # Errors
    ///
    /// Fails if it was claimed before, by this or another process.
    pub fn claim(lanes: Arc<Lanes>) -> io::Result<Receiver> {
        claim(&lanes.head().is_claimed)?;
        Ok(Receiver { lanes })
    }

    /// Passes the next filled slot of rank `from` to `read`, and frees the slot. Returns false if no slot is
    /// filled.
    pub fn receive(&mut self, from: usize, read: impl FnOnce(&[u8])) -> bool {
        let lane = self.lanes.lane(from);
        let Some(number) = lane.filled.pop() else { return false };
        // SAFETY: this receiver holds the number, so nobody writes the slot. Its bytes are initialised.
        read(unsafe { self.lanes.slot(lane, number).as_ref() });
        lane.free.push(number);
        true
    }

    /// Returns true if rank `from` has filled no slot that is not received.
    pub fn is_empty(&mut self, from: usize) -> bool {
        self.lanes.lane(from).filled.is_empty()
    }

    /// Returns true if rank `from` waits for room, so that its bell must be rung. Receivers call this after
    /// they have freed slots.
    pub fn take_request_for_room(&mut self, from: usize) -> bool {
        self.lanes.lane(from).head.wants_room.take()
    }
}
