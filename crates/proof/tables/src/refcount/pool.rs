//! Objects, and the pools from which they come.

use parades_core::digest::Digest;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The number of bytes that an object holds: a packet of the campus.
pub const DATA_MAX: usize = parades_packet::record::HEADER + 512;
const WORD: usize = size_of::<u64>();

/// An object: its count and its data. It is used again and again, and never freed.
#[derive(Debug)]
pub struct Slot<C> {
    /// The count of the scheme.
    pub(crate) count: C,
    /// Its number among the objects of its pool.
    pub(crate) number: u32,
    digest: AtomicU64,
    words: [AtomicU64; DATA_MAX / WORD],
}

impl<C: Default> Slot<C> {
    /// Makes an object that is never freed.
    pub(crate) fn forever(number: u32) -> &'static Slot<C> {
        let words = [const { AtomicU64::new(0) }; DATA_MAX / WORD];
        Box::leak(Box::new(Slot { count: C::default(), number, digest: AtomicU64::new(0), words }))
    }
}

// Ordering, for all of the data: Relaxed. They are written before the first reference exists. Each reference
// comes from a thread that had one before, and the engine orders the two threads. An object that returns to a
// pool passes the pool's lock.
impl<C> Slot<C> {
    pub(crate) fn write(&self, data: &[u8]) {
        assert!(data.len() <= DATA_MAX, "an object holds {DATA_MAX} bytes, not {}", data.len());
        let mut digest = Digest::default();
        digest.bytes(data);
        self.digest.store(digest.value(), Ordering::Relaxed);
        for (word, bytes) in self.words.iter().zip(data.chunks(WORD)) {
            let mut whole = [0; WORD];
            whole[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn read(&self, to: &mut [u8]) {
        assert!(to.len() <= DATA_MAX, "an object holds {DATA_MAX} bytes, not {}", to.len());
        for (bytes, word) in to.chunks_mut(WORD).zip(&self.words) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..bytes.len()]);
        }
    }

    #[inline]
    pub(crate) fn digest(&self) -> u64 {
        self.digest.load(Ordering::Relaxed)
    }
}

/// The objects of a scheme that are not in use.
#[derive(Debug)]
pub(crate) struct Pool<C: 'static> {
    free: Mutex<Vec<&'static Slot<C>>>,
    made: AtomicU32,
}

impl<C: Default> Pool<C> {
    pub(crate) const fn new() -> Pool<C> {
        Pool { free: Mutex::new(Vec::new()), made: AtomicU32::new(0) }
    }

    pub(crate) fn take(&self) -> &'static Slot<C> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // Ordering: Relaxed; numbers need only differ.
        free.unwrap_or_else(|| Slot::forever(self.made.fetch_add(1, Ordering::Relaxed)))
    }

    pub(crate) fn give_back(&self, slot: &'static Slot<C>) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    }

    pub(crate) fn in_use(&self) -> usize {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).len();
        // Ordering: Relaxed; a figure for people and for tests that have joined their threads.
        self.made.load(Ordering::Relaxed) as usize - free
    }
}
