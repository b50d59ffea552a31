//! Anonymous files that several processes map.
//!
//! A segment has no name in any folder: it lives as long as a process has its descriptor or its mapping. So
//! nothing stays behind when processes are killed.
//!
//! A page that is used for the first time when memory is exhausted would end the process with SIGBUS. So
//! space is committed ([`Segment::commit`]) before it is used, and exhausted memory is an error.

use crate::memory::{count_committed, count_given_back};
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The descriptor of a segment. A child process does not inherit it, unless the launcher clears the flag
/// `FD_CLOEXEC` for that child.
#[derive(Debug)]
pub struct SegmentFile {
    file: File,
    committed: Arc<Committed>,
}

/// The bytes of a segment that this process has committed, which it holds until it drops the last descriptor.
#[derive(Debug, Default)]
struct Committed(AtomicUsize);

impl Committed {
    fn add(&self, bytes: usize) {
        // Ordering: Relaxed; the sum alone matters.
        self.0.fetch_add(bytes, Ordering::Relaxed);
        count_committed(bytes);
    }
}

impl Drop for Committed {
    fn drop(&mut self) {
        count_given_back(*self.0.get_mut());
    }
}

impl SegmentFile {
    /// Creates a segment of `bytes` bytes, all zero and not committed.
    ///
    /// # Errors
    ///
    /// Fails if the system has no descriptor left.
    pub fn create(bytes: usize) -> io::Result<SegmentFile> {
        let file = memfd_create("parades", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes as u64)?;
        // A mapped page behind the end of a file would end the process when it is used.
        fcntl_add_seals(&file, SealFlags::SHRINK)?;
        Ok(SegmentFile::of(file.into()))
    }

    /// Opens a segment by the number of a descriptor that this process has inherited. From now on, the number
    /// itself is not passed on to children.
    ///
    /// # Errors
    ///
    /// Fails if there is no such descriptor.
    pub fn inherited(fd: RawFd) -> io::Result<SegmentFile> {
        let file = SegmentFile::at(&format!("/proc/self/fd/{fd}"))?;
        // SAFETY: `fd` is open, since it was just opened a second time. It is used for this call only.
        fcntl_setfd(unsafe { BorrowedFd::borrow_raw(fd) }, FdFlags::CLOEXEC)?;
        Ok(file)
    }

    /// Opens a segment by the number of a descriptor of another process.
    ///
    /// # Errors
    ///
    /// Fails if there is no such process or descriptor, or if the system does not allow it.
    pub fn of_process(pid: u32, fd: RawFd) -> io::Result<SegmentFile> {
        SegmentFile::at(&format!("/proc/{pid}/fd/{fd}"))
    }

    fn at(path: &str) -> io::Result<SegmentFile> {
        OpenOptions::new().read(true).write(true).open(path).map(SegmentFile::of)
    }

    fn of(file: File) -> SegmentFile {
        SegmentFile { file, committed: Arc::default() }
    }

    /// Returns the number of the descriptor.
    pub fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Returns a second descriptor of the same segment.
    ///
    /// # Errors
    ///
    /// Fails if the system has no descriptor left.
    pub fn try_clone(&self) -> io::Result<SegmentFile> {
        Ok(SegmentFile { file: self.file.try_clone()?, committed: Arc::clone(&self.committed) })
    }
}

/// A mapped segment.
///
/// Invariant: `base` is a mapping of `size` bytes that may be read and written. It starts at a page, and
/// lasts until `drop`.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    size: usize,
    file: SegmentFile,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Segment {}
// SAFETY: a shared reference gives only the pointer and the size. Code that reads or writes through the
// pointer answers for its own accesses.
unsafe impl Sync for Segment {}

impl Segment {
    /// Maps a segment.
    ///
    /// # Errors
    ///
    /// Fails if the segment is empty, or if the system has no addresses left.
    pub fn map(file: SegmentFile) -> io::Result<Segment> {
        let size = usize::try_from(file.file.metadata()?.len()).map_err(io::Error::other)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses an address where nothing is mapped.
        let base = unsafe { mmap(null_mut(), size, access, MapFlags::SHARED, &file.file, 0) }?;
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("a segment was mapped at address 0"))?;
        Ok(Segment { base, size, file })
    }

    /// Returns the first byte. It lies at the start of a page.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Returns the number of bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Commits a range of bytes, so that their use cannot fail. This process counts them among
    /// [the memory that it holds](crate::memory::held_bytes), until it drops the last descriptor of the segment.
    ///
    /// # Errors
    ///
    /// Fails if memory is exhausted, or if the range is empty or exceeds the segment.
    pub fn commit(&self, range: Range<usize>) -> io::Result<()> {
        if range.is_empty() || range.end > self.size {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        fallocate(&self.file.file, FallocateFlags::empty(), range.start as u64, range.len() as u64)?;
        self.file.committed.add(range.len());
        Ok(())
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: `map` made the mapping with this size. All pointers into it come from this value.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.size) };
    }
}
