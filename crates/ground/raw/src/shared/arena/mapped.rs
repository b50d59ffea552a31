//! An arena in mapped memory.

use super::class::{CLASSES, UNIT, capacity, class_of};
use super::entry::{Entry, Freed};
use super::memory::Memory;
use crate::prefetch::{prefetch_all, prefetch_bytes_for_write, prefetch_for_write};
use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The head of an arena, at the front of its memory.
#[repr(C, align(64))]
struct Head {
    /// [`OWNED`] once a process owns the arena, and 0 before.
    owned: AtomicU64,
    /// The number of entries.
    slots: AtomicU32,
    /// By size class.
    freed: [Freed; CLASSES],
}

const OWNED: u64 = u64::from_le_bytes(*b"arena 02");
const HEAD: usize = size_of::<Head>();
const ENTRY: usize = size_of::<Entry>();
/// The bytes that are committed at once, at least: few calls of the system, and little unused memory.
const STEP: usize = 1 << 20;

const _: () = assert!(HEAD.is_multiple_of(align_of::<Entry>()) && ENTRY == 64);

/// An arena of blocks, in memory that several processes may map.
///
/// ```
/// use parades_raw::shared::arena::{Anonymous, Arena};
/// use std::sync::Arc;
/// let arena = Arena::create(Box::new(Anonymous::new(1 << 16).unwrap())).unwrap();
/// let block = Arc::clone(&arena).allocate(3, |bytes| bytes.copy_from_slice(&[7, 8, 9])).unwrap();
/// let reference = block.send().unwrap();
/// let received = Arc::clone(&arena).adopt(reference).unwrap(); // in another process, by its own mapping
/// assert_eq!(received[..], [7, 8, 9]);
/// assert!(std::ptr::eq(&received[0], &block[0]));
/// assert!(arena.adopt(reference).is_none()); // it was adopted already
/// ```
pub struct Arena {
    memory: Box<dyn Memory>,
    /// A number of entries that this process has seen. The head is read only for an entry behind them.
    known_slots: AtomicU32,
    /// Of the process that allocates.
    owner: Option<Owner>,
}

/// The facts that only the owner keeps.
struct Owner {
    /// By size class.
    free: Vec<Mutex<Free>>,
    growth: Mutex<Growth>,
}

/// The free slots of a size class that the owner has taken.
///
/// The owner prefers slots that were freed recently, since their bytes are in a cache. Without that, the
/// blocks of one burst would all be used in turn for ever after it.
#[derive(Default)]
struct Free {
    /// The first slot of each list that was taken. The last list has the slots that were freed last.
    lists: Vec<u32>,
    /// The number of blocks allocated.
    allocated: u64,
}

/// The number of blocks after which the owner takes the freed slots, though it has others. Each time, the
/// head of the list moves from another core and back.
const BLOCKS_PER_TAKE: u64 = 16;

/// The extent of an arena.
struct Growth {
    slots: u32,
    /// The position of the slot with the lowest bytes.
    lowest: usize,
    /// The end of the committed bytes at the front.
    committed_front: usize,
    /// The begin of the committed bytes at the back.
    committed_back: usize,
}

/// A block in transit to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The number of the slot.
    pub slot: u32,
    /// The length, in bytes.
    pub length: u32,
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arena({} bytes, {} slots)", self.memory.size(), self.slots())
    }
}

/// The content of each of these locks is consistent whenever the lock is free.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Arena {
    /// Creates an arena, whose owner is this process. Returns `None` if the memory is too small, or in use,
    /// or cannot be committed.
    pub fn create(memory: Box<dyn Memory>) -> Option<Arc<Arena>> {
        let bytes = memory.size() / UNIT * UNIT;
        if bytes < HEAD || !memory.commit(0, HEAD) {
            return None;
        }
        let free = (0..CLASSES).map(|_| Mutex::default()).collect();
        let growth = Growth { slots: 0, lowest: bytes, committed_front: HEAD, committed_back: bytes };
        let known_slots = AtomicU32::new(0);
        let arena = Arena { memory, known_slots, owner: Some(Owner { free, growth: Mutex::new(growth) }) };
        // Ordering: Relaxed; the memory has nothing but zeros yet, which are an empty arena.
        let is_new = arena.head().owned.compare_exchange(0, OWNED, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        is_new.then(|| Arc::new(arena))
    }

    /// Opens the arena of another process. It may do so before that process creates the arena. Returns `None`
    /// if the memory is too small, or is used for something else, or cannot be committed.
    pub fn attach(memory: Box<dyn Memory>) -> Option<Arc<Arena>> {
        if memory.size() < HEAD || !memory.commit(0, HEAD) {
            return None;
        }
        let arena = Arena { memory, known_slots: AtomicU32::new(0), owner: None };
        // Ordering: Relaxed; a check that the memory is not used for something else.
        let owned = arena.head().owned.load(Ordering::Relaxed);
        [0, OWNED].contains(&owned).then(|| Arc::new(arena))
    }

    fn head(&self) -> &Head {
        // SAFETY: the memory has at least `HEAD` committed bytes at a multiple of 64, which is their
        // alignment. A head consists of atomics alone, of which every bit pattern is valid, and all processes
        // use these bytes only as a head.
        unsafe { self.memory.base().cast::<Head>().as_ref() }
    }

    fn slots(&self) -> u32 {
        // Ordering: Acquire; pairs with the Release in `grow`, after the entries were filled in.
        self.head().slots.load(Ordering::Acquire)
    }

    /// Returns true if there is an entry of this slot.
    fn has_slot(&self, slot: u32) -> bool {
        // Ordering: Acquire; pairs with the Release below, and so with that in `grow`.
        if slot < self.known_slots.load(Ordering::Acquire) {
            return true;
        }
        let slots = self.slots();
        self.known_slots.store(slots, Ordering::Release);
        slot < slots
    }

    /// Returns the entry of a slot for which [`Arena::has_slot`] is true.
    fn entry(&self, slot: u32) -> &Entry {
        let at = HEAD + ENTRY * slot as usize;
        assert!(self.has_slot(slot) && at + ENTRY <= self.memory.size());
        // SAFETY: the position was compared with the size of the memory.
        let entry = unsafe { self.memory.base().add(at) };
        // SAFETY: the entries below `slots` are committed and never bytes of blocks. Their position is a
        // multiple of their alignment. As with the head, they consist of atomics alone.
        unsafe { entry.cast::<Entry>().as_ref() }
    }

    /// Allocates a block of `length` bytes, which `write` fills. The bytes are those of an earlier block
    /// or zero before. Returns `None` if the arena is full or belongs to another process.
    pub fn allocate(self: Arc<Arena>, length: u32, write: impl FnOnce(&mut [u8])) -> Option<Block> {
        let owner = self.owner.as_ref()?;
        let class = class_of(length);
        let slot = self.free_slot(owner, class).or_else(|| self.grow(owner, class))?;
        let entry = self.entry(slot);
        entry.publish(length);
        let (at, length) = self.bytes_of(entry)?;
        let mut block = Block { arena: self, at, slot, length };
        write(block.unshared());
        Some(block)
    }

    fn free_slot(&self, owner: &Owner, class: usize) -> Option<u32> {
        let Free { lists, allocated } = &mut *lock(&owner.free[class]);
        *allocated += 1;
        if lists.is_empty() || allocated.is_multiple_of(BLOCKS_PER_TAKE) {
            lists.extend(self.head().freed[class].take());
        }
        let first = lists.last_mut()?;
        let slot = *first;
        match self.entry(slot).next() {
            None => drop(lists.pop()),
            Some(next) => {
                self.prefetch_free(next, class);
                *first = next;
            }
        }
        Some(slot)
    }

    /// Prefetches the bytes of the slot that is allocated next, and the entry of the slot after it. Another
    /// process has used both last. A block's bytes would else be fetched while they are written, and then
    /// each atomic operation would wait for them.
    fn prefetch_free(&self, next: u32, class: usize) {
        let entry = self.entry(next);
        // Ordering: Relaxed; written once, by the owner.
        let offset = usize::try_from(entry.offset.load(Ordering::Relaxed)).unwrap_or_default();
        prefetch_bytes_for_write(self.memory.base().as_ptr().wrapping_add(offset), capacity(class));
        if let Some(after) = entry.next() {
            prefetch_for_write(self.entry(after));
        }
    }

    /// Adds a slot.
    fn grow(&self, owner: &Owner, class: usize) -> Option<u32> {
        let mut growth = lock(&owner.growth);
        let slot = growth.slots;
        let table_end = HEAD + ENTRY * (slot as usize + 1);
        let begin = growth.lowest.checked_sub(capacity(class)).filter(|&begin| begin >= table_end)?;
        if table_end > growth.committed_front {
            let end = (growth.committed_front + STEP / 16).min(begin).max(table_end);
            self.memory.commit(growth.committed_front, end).then_some(())?;
            growth.committed_front = end;
        }
        if begin < growth.committed_back {
            let from = growth.committed_back.saturating_sub(STEP).max(table_end).min(begin);
            self.memory.commit(from, growth.committed_back).then_some(())?;
            growth.committed_back = from;
        }
        growth.lowest = begin;
        growth.slots += 1;
        // Ordering: Release; pairs with the Acquire in `slots`. The entry is still zero, which is valid. Its
        // place is filled in below, before any other thread knows the number of this slot.
        self.head().slots.store(growth.slots, Ordering::Release);
        let entry = self.entry(slot);
        // Ordering: Relaxed; other threads read both only after `Entry::adopt` or `Freed::take`.
        entry.offset.store(begin as u64, Ordering::Relaxed);
        entry.class.store(u32::try_from(class).expect("classes are few"), Ordering::Relaxed);
        Some(slot)
    }

    /// Makes a block of a reference that was sent. Returns `None` if the reference is malformed, or was
    /// adopted already.
    pub fn adopt(self: Arc<Arena>, Reference { slot, length }: Reference) -> Option<Block> {
        let entry = self.has_slot(slot).then(|| self.entry(slot))?;
        // The sender has written it last. Without this, it would be fetched for reading first, and then for
        // writing.
        prefetch_for_write(entry);
        // Ordering: Relaxed; this is only a check. The length that counts is read after `adopt`.
        if entry.length.load(Ordering::Relaxed) != length || !entry.adopt() {
            return None;
        }
        let (at, length) = self.bytes_of(entry)?;
        let block = Block { arena: self, at, slot, length };
        prefetch_all(&*block);
        Some(block)
    }

    /// Returns the first byte and the length of a block that has a holder. Returns `None` if the owner has
    /// written a position outside of the memory.
    fn bytes_of(&self, entry: &Entry) -> Option<(NonNull<u8>, u32)> {
        // Ordering: Relaxed; `Entry::adopt` or the owner's own writes came before.
        let length = entry.length.load(Ordering::Relaxed);
        let offset = usize::try_from(entry.offset.load(Ordering::Relaxed)).ok()?;
        offset.checked_add(length as usize).filter(|&end| end <= self.memory.size())?;
        // SAFETY: the end was compared with the size of the memory.
        let at = unsafe { self.memory.base().add(offset) };
        Some((at, length))
    }

    /// Returns the number of bytes that slots and their table take.
    pub fn used_bytes(&self) -> usize {
        self.owner.as_ref().map_or(0, |owner| {
            let growth = lock(&owner.growth);
            self.memory.size() - growth.lowest + HEAD + ENTRY * growth.slots as usize
        })
    }
}

/// A holder of a block: bytes that never change until the last holder, in any process, is dropped.
///
/// *Invariant*: the counts of the slot include this holder. So the slot is not free, and nobody writes it.
pub struct Block {
    arena: Arc<Arena>,
    at: NonNull<u8>,
    slot: u32,
    length: u32,
}

// SAFETY: all holders only read the bytes, and the counts are atomic.
unsafe impl Send for Block {}
// SAFETY: as for `Send`.
unsafe impl Sync for Block {}

impl Block {
    /// Returns the bytes of a block that has just been allocated.
    fn unshared(&mut self) -> &mut [u8] {
        // SAFETY: the bytes are in the memory, committed and initialised. The slot was free, and no other
        // holder was made since.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.length as usize) }
    }

    /// Adds a reference in flight, for one call of [`Arena::adopt`] in another process. A reference that is
    /// never adopted keeps the slot until the memory is unmapped everywhere. Returns `None` if there are too
    /// many references already.
    pub fn send(&self) -> Option<Reference> {
        self.arena.entry(self.slot).send().then_some(Reference { slot: self.slot, length: self.length })
    }

    /// Returns the arena.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Returns the position of the bytes in the memory, the same in every process.
    pub fn offset(&self) -> usize {
        self.at.addr().get() - self.arena.memory.base().addr().get()
    }
}

impl Deref for Block {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `bytes_of` checked the range, the bytes are initialised, and nobody writes them while this
        // holder exists. The arena keeps the memory mapped.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.length as usize) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let entry = self.arena.entry(self.slot);
        if entry.release() {
            // Ordering: Relaxed; written once, before this block was made.
            let class = entry.class.load(Ordering::Relaxed) as usize;
            if let Some(freed) = self.arena.head().freed.get(class) {
                freed.push(self.slot, entry);
            }
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
