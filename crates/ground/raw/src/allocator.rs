//! What the allocator does with memory that a program has freed, and where there is none left.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;

/// From how many bytes on a piece of memory is given back to the system when it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
const LARGE: i32 = 128 << 10;

/// Has the allocator give large pieces of memory back to the system as soon as they are freed, where it is the GNU C library's. That begins so, but once a
/// program has freed a piece it keeps those of that size, up to 32 MiB each, and a program that grows and shrinks holds several times what it uses.
///
/// To be called before the program begins other threads. It changes nothing that a program can observe but memory and time.
///
/// # Examples
///
/// ```
/// parades_raw::allocator::give_back_large();
/// drop(vec![1_u8; 1 << 20]); // is the system's again
/// ```
///
/// # References
///
/// `mallopt(3)`: that it is set turns off the dynamic adjustment of `M_MMAP_THRESHOLD`.
pub fn give_back_large() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: it takes two integers and writes two words of the allocator, under a lock of its own. Its manual advises against calling it beside other threads
    // since they read these words without that lock; either value is valid for them, and memory stays allocated until it is freed.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// The system's allocator. Where it has no memory left, the program says so in one sentence and ends with an exit status of its own, instead of the
/// library's abort. So also where who asked would have gone on without (`Vec::try_reserve`): an allocator cannot tell.
///
/// # Examples
///
/// ```
/// use parades_raw::allocator::Allocator;
///
/// #[global_allocator]
/// static ALLOCATOR: Allocator = Allocator { exhausted: "error: memory is full", status: 1 };
///
/// let numbers: Vec<u64> = (0..1000).collect();
/// assert_eq!(numbers.iter().sum::<u64>(), 499_500);
/// ```
#[derive(Debug)]
pub struct Allocator {
    /// What is said where there is none left, before how much was asked for.
    pub exhausted: &'static str,
    /// The exit status then.
    pub status: i32,
}

impl Allocator {
    /// `memory`, or the end of the program where it is null: `asked` bytes could not be had.
    #[inline]
    fn check(&self, memory: *mut u8, asked: usize) -> *mut u8 {
        if memory.is_null() {
            self.end(asked);
        }
        memory
    }

    #[cold]
    #[inline(never)]
    fn end(&self, asked: usize) -> ! {
        // Written into place: nothing can be allocated any more.
        let mut sentence = [0_u8; 512];
        let mut rest = &mut sentence[..];
        let _ = writeln!(rest, "{}: {asked} bytes more could not be had", self.exhausted);
        let left = rest.len();
        let length = sentence.len() - left;
        write_to_stderr(&sentence[..length]);
        exit_at_once(self.status)
    }
}

// SAFETY: every call goes to the system's allocator with the caller's arguments, and what it gives is handed on as it is; a null pointer is not handed on.
// Saying so allocates nothing and does not unwind.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's obligations are those of the system's.
        self.check(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory is from the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's obligations are those of the system's.
        self.check(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the memory is from the system's allocator, the rest as the caller's obligations are.
        self.check(unsafe { System.realloc(memory, layout, size) }, size)
    }
}

/// Writes without a lock, which this thread may hold, and without a buffer.
#[cfg(target_os = "linux")]
fn write_to_stderr(text: &[u8]) {
    // SAFETY: it reads as many bytes as there are. That they could not be written cannot be told to anybody.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

#[cfg(not(target_os = "linux"))]
fn write_to_stderr(text: &[u8]) {
    let _ = std::io::stderr().write_all(text);
}

/// Ends the program without what it does at its end, which may allocate.
#[cfg(target_os = "linux")]
fn exit_at_once(status: i32) -> ! {
    // SAFETY: it takes an integer and does not come back.
    unsafe { libc::_exit(status) }
}

#[cfg(not(target_os = "linux"))]
fn exit_at_once(status: i32) -> ! {
    std::process::exit(status)
}
