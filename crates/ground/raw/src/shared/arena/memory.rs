//! The memory of an arena.

use super::class::UNIT;
#[cfg(target_os = "linux")]
use crate::shared::segment::Segment;
use std::alloc::Layout;
use std::ptr::NonNull;

/// Memory for an arena.
///
/// # Safety
///
/// Until the value is dropped, `base` returns the same pointer to `size` bytes that may be read and written
/// once they are committed. The pointer is a multiple of 64. The bytes are zero at first. Nothing but arenas
/// uses them, in any process.
pub unsafe trait Memory: Send + Sync {
    /// Returns the first byte.
    fn base(&self) -> NonNull<u8>;

    /// Returns the number of bytes.
    fn size(&self) -> usize;

    /// Commits the bytes from `begin` to `end`, so that their use cannot fail. Returns false if the system
    /// has no memory.
    fn commit(&self, begin: usize, end: usize) -> bool;
}

/// Memory of this process alone.
#[derive(Debug)]
pub struct Anonymous {
    base: NonNull<u8>,
    layout: Layout,
}

impl Anonymous {
    /// Allocates at least `bytes` bytes. Returns `None` if there is no memory.
    pub fn new(bytes: usize) -> Option<Anonymous> {
        let layout = Layout::from_size_align(bytes.max(UNIT), UNIT).ok()?;
        // SAFETY: the size is at least `UNIT`, which is not zero.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        Some(Anonymous { base: NonNull::new(base)?, layout })
    }
}

impl Drop for Anonymous {
    fn drop(&mut self) {
        // SAFETY: `new` allocated `base` with this layout, and only this function frees it.
        unsafe { std::alloc::dealloc(self.base.as_ptr(), self.layout) }
    }
}

// SAFETY: the bytes belong to this value alone, on whatever thread it is.
unsafe impl Send for Anonymous {}
// SAFETY: a shared reference gives only the pointer and the size.
unsafe impl Sync for Anonymous {}

// SAFETY: `base` has `size` zero bytes at a multiple of `UNIT` until `drop`, and no other code knows them.
unsafe impl Memory for Anonymous {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn size(&self) -> usize {
        self.layout.size()
    }

    fn commit(&self, _: usize, _: usize) -> bool {
        true
    }
}

// SAFETY: a segment is mapped at a page until it is dropped, and consists of zeros at first.
// `install_segments` moves the segment into the arena, in every process, so nothing else uses its memory.
#[cfg(target_os = "linux")]
unsafe impl Memory for Segment {
    fn base(&self) -> NonNull<u8> {
        Segment::base(self)
    }

    fn size(&self) -> usize {
        Segment::size(self)
    }

    fn commit(&self, begin: usize, end: usize) -> bool {
        Segment::commit(self, begin..end).is_ok()
    }
}
