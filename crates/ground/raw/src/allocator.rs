//! The allocator's behaviour when large memory is freed, when no memory is left, and at the limit on memory.

use crate::memory::{self, Exceeded};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The size in bytes from which freed memory returns to the system at once. This is the initial threshold of
/// the GNU C library.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
const LARGE_BYTES: i32 = 128 << 10;

/// Makes the GNU C library return large blocks of memory to the system as soon as they are freed. With
/// another C library, this does nothing.
///
/// The library does so at first. But when a program frees a block of up to 32 MiB, the library keeps blocks
/// of that size from then on. A program that grows and shrinks then holds several times the memory that it
/// uses.
///
/// Call this before the program starts other threads. It changes memory use and time, and nothing else that a
/// program can observe.
///
/// # Examples
///
/// ```
/// parades_raw::allocator::return_large_blocks();
/// drop(vec![1_u8; 1 << 20]); // goes back to the system
/// ```
///
/// # References
///
/// `mallopt(3)`: setting `M_MMAP_THRESHOLD` turns off its dynamic adjustment.
pub fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: the call takes two integers and writes two words of the allocator, under the allocator's own
    // lock. The manual advises against calling it while other threads run, because they read these words
    // without the lock. Both the old and the new value are valid for them, and memory stays allocated until
    // it is freed.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}

/// The system's allocator, which ends the program when no memory is left, or when the program would exceed
/// the limit that [`memory::set_limit`] sets.
///
/// The program then writes one sentence and exits with a status of its own, where the standard library would
/// abort. This also happens in `Vec::try_reserve`, which could go on without the memory: an allocator cannot
/// tell these calls apart.
///
/// # Examples
///
/// ```
/// use parades_raw::allocator::Allocator;
///
/// #[global_allocator]
/// static ALLOCATOR: Allocator = Allocator { message: "error: memory is full", exit_status: 1 };
///
/// let numbers: Vec<u64> = (0..1000).collect();
/// assert_eq!(numbers.iter().sum::<u64>(), 499_500);
/// ```
#[derive(Debug)]
pub struct Allocator {
    /// The message when memory is exhausted. The number of bytes requested follows it.
    pub message: &'static str,
    /// The exit status when memory is exhausted, or the limit exceeded.
    pub exit_status: i32,
}

impl Allocator {
    /// Ends the program if `bytes` more do not fit into the limit on its memory.
    #[inline(always)]
    fn admit(&self, bytes: usize) {
        if let Err(exceeded) = memory::admit(bytes) {
            self.report_exceeded(exceeded);
        }
    }

    #[cold]
    #[inline(never)]
    fn report_exceeded(&self, Exceeded { needed, limit }: Exceeded) -> ! {
        self.end(format_args!(
            "error: this takes {needed} bytes, above the limit of {limit} bytes; \
             raise the memory limit, or simulate less at a time"
        ))
    }

    /// Returns `memory`, or ends the program if it is null because `requested` bytes were not available.
    #[inline]
    fn check(&self, memory: *mut u8, requested: usize) -> *mut u8 {
        if memory.is_null() {
            self.report_exhausted(requested);
        }
        memory
    }

    #[cold]
    #[inline(never)]
    fn report_exhausted(&self, requested: usize) -> ! {
        self.end(format_args!("{}: {requested} bytes more could not be had", self.message))
    }

    /// Ends the program with a sentence.
    fn end(&self, message: fmt::Arguments<'_>) -> ! {
        /// True if a thread reports that memory is short, and is about to end the program.
        static IS_REPORTED: AtomicBool = AtomicBool::new(false);
        // Ordering: Relaxed; only the swap itself matters, and no other memory is read.
        while IS_REPORTED.swap(true, Ordering::Relaxed) {
            std::thread::sleep(Duration::from_secs(1));
        }
        // The sentence is formatted on the stack, because nothing can be allocated any more.
        let mut sentence = [0_u8; 512];
        let mut unwritten = &mut sentence[..];
        let _ = writeln!(unwritten, "{message}");
        let left = unwritten.len();
        let length = sentence.len() - left;
        write_to_stderr(&sentence[..length]);
        exit_at_once(self.exit_status)
    }
}

// SAFETY: every call goes to the system's allocator with the caller's arguments, and its result is returned
// unchanged unless it is null. For a null pointer, and above the limit, the program ends, which allocates
// nothing and does not unwind. The check of the limit allocates nothing either.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        memory::count(0, layout.size());
        self.admit(layout.size());
        // SAFETY: the caller promises what `System.alloc` requires.
        self.check(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        memory::count(layout.size(), 0);
        // SAFETY: the memory came from `System`, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        memory::count(0, layout.size());
        self.admit(layout.size());
        // SAFETY: the caller promises what `System.alloc_zeroed` requires.
        self.check(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        memory::count(layout.size(), size);
        self.admit(size.saturating_sub(layout.size()));
        // SAFETY: the memory came from `System`, with this layout. The caller promises the other requirements
        // of `System.realloc`.
        self.check(unsafe { System.realloc(memory, layout, size) }, size)
    }
}

/// Writes without a buffer and without the lock of standard error, which this thread may hold already.
#[cfg(target_os = "linux")]
fn write_to_stderr(text: &[u8]) {
    // SAFETY: the system reads `text.len()` bytes, all of which are initialised. A failure is ignored,
    // because it could not be reported either.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

#[cfg(not(target_os = "linux"))]
fn write_to_stderr(text: &[u8]) {
    let _ = std::io::stderr().write_all(text);
}

/// Ends the program without exit handlers and destructors of statics, since these may allocate.
#[cfg(target_os = "linux")]
fn exit_at_once(status: i32) -> ! {
    // SAFETY: the call takes an integer and does not return.
    unsafe { libc::_exit(status) }
}

#[cfg(not(target_os = "linux"))]
fn exit_at_once(status: i32) -> ! {
    std::process::exit(status)
}
