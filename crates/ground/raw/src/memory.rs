//! The memory of this process: how much the process holds, and a limit that the allocator keeps.
//!
//! Only [`Allocator`](crate::allocator::Allocator) keeps the limit. In a program with another allocator, the
//! limit has no effect.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The limit that the user gave, in bytes.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The bytes that the process may hold: the limit, and what the program needs for itself.
static HELD_MAX: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The size from which an allocation is large, and counted by itself. Memory that is allocated is held only
/// when it is written, so threads that allocate at the same time cannot see each other's in [`held_bytes`].
const LARGE: usize = 1 << 20;
/// The bytes of all large allocations.
static LARGE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The bytes of shared memory that this process has committed. Of the processes that map the bytes, only the
/// one that committed them counts them.
static COMMITTED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The most bytes that a thread requests before it looks at the memory of the process again. So it looks for
/// each large allocation.
const UNCHECKED_MAX: usize = LARGE;
/// The least such bytes, near the limit. A look takes about a microsecond.
const UNCHECKED_MIN: usize = 64 << 10;
/// The part of the remaining memory that a thread may request before it looks again. All threads together
/// stay within the limit if at most this number of them allocate.
const SHARE: usize = 16;

thread_local! {
    /// The bytes that this thread may still request before it looks again.
    static UNCHECKED: Cell<usize> = const { Cell::new(0) };
}

/// Sets the limit on the memory of this process, in bytes, for the message. The program ends when it would
/// hold more than `held_max` bytes, as [`held_bytes`] counts them.
pub fn set_limit(limit: usize, held_max: usize) {
    // Ordering: Relaxed; each value stands alone, and threads that start later see both.
    LIMIT.store(limit, Ordering::Relaxed);
    HELD_MAX.store(held_max, Ordering::Relaxed);
    UNCHECKED.set(0);
}

/// A request that would take the process above its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exceeded {
    /// The bytes that the process would hold.
    pub(crate) needed: usize,
    /// The limit that the user gave.
    pub(crate) limit: usize,
}

/// Counts `bytes` that this thread requests.
///
/// # Errors
///
/// If they do not fit into the limit.
#[inline(always)]
pub(crate) fn admit(bytes: usize) -> Result<(), Exceeded> {
    let unchecked = UNCHECKED.get();
    if bytes < unchecked {
        UNCHECKED.set(unchecked - bytes);
        return Ok(());
    }
    look(bytes)
}

/// Counts an allocation that grows from `before` to `after` bytes, or shrinks, if it is large.
#[inline(always)]
pub(crate) fn count(before: usize, after: usize) {
    if before >= LARGE || after >= LARGE {
        count_large(before, after);
    }
}

/// Counts bytes of shared memory that this process has committed.
#[cfg_attr(any(test, not(target_os = "linux")), allow(dead_code, reason = "only segments commit memory"))]
pub(crate) fn count_committed(bytes: usize) {
    // Ordering: Relaxed; the sum alone matters.
    COMMITTED_BYTES.fetch_add(bytes, Ordering::Relaxed);
}

/// Counts bytes of shared memory that this process had committed, and holds no longer.
#[cfg_attr(any(test, not(target_os = "linux")), allow(dead_code, reason = "only segments commit memory"))]
pub(crate) fn count_given_back(bytes: usize) {
    // Ordering: Relaxed, as above.
    COMMITTED_BYTES.fetch_sub(bytes, Ordering::Relaxed);
}

#[cold]
#[inline(never)]
fn count_large(before: usize, after: usize) {
    let large = |bytes: usize| if bytes >= LARGE { bytes } else { 0 };
    // Ordering: Relaxed; the sum alone matters.
    LARGE_BYTES.fetch_add(large(after), Ordering::Relaxed);
    LARGE_BYTES.fetch_sub(large(before), Ordering::Relaxed);
}

/// Compares the memory that the process holds, and `bytes` more, with the limit.
#[cold]
#[inline(never)]
fn look(bytes: usize) -> Result<(), Exceeded> {
    // Ordering: Relaxed, as above.
    let held_max = HELD_MAX.load(Ordering::Relaxed);
    let room = |held: usize| {
        let promised = LARGE_BYTES.load(Ordering::Relaxed);
        held_max.checked_sub(held.saturating_add(bytes).max(promised))
    };
    let mut room_left = match held_max {
        usize::MAX => Some(usize::MAX),
        _ => room(held_bytes()),
    };
    if room_left.is_none() {
        return_free_memory();
        room_left = room(held_bytes());
    }
    let Some(left) = room_left else {
        let needed = held_bytes().saturating_add(bytes).max(LARGE_BYTES.load(Ordering::Relaxed));
        return Err(Exceeded { needed, limit: LIMIT.load(Ordering::Relaxed) });
    };
    UNCHECKED.set((left / SHARE).clamp(UNCHECKED_MIN, UNCHECKED_MAX));
    Ok(())
}

/// Returns the memory that this process holds, in bytes: heap, stacks and the shared memory that it has
/// committed, without the program's code and other files. Returns 0 where the system does not report it.
/// Allocates nothing.
///
/// # References
///
/// `proc_pid_statm(5)`.
pub fn held_bytes() -> usize {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let mut text = [0_u8; 128];
        let length = read_statm(&mut text);
        let mut fields = text[..length].split(|byte| *byte == b' ').map(number);
        // The fields are all pages, resident pages, and the resident pages of files and shared memory.
        let (resident, shared) = (fields.nth(1).unwrap_or(0), fields.next().unwrap_or(0));
        // Ordering: Relaxed; the sum alone matters.
        resident.saturating_sub(shared) * page_bytes() + COMMITTED_BYTES.load(Ordering::Relaxed)
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    0
}

/// Returns freed memory that the allocator keeps to the system. With another C library than the GNU one, this
/// does nothing.
pub fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    // SAFETY: the call takes an integer. It takes the allocator's own locks, none of which this thread holds,
    // because the allocator calls nothing of this program.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Returns the number that `digits` write.
#[cfg(all(target_os = "linux", not(miri)))]
fn number(digits: &[u8]) -> usize {
    digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit.wrapping_sub(b'0')))
}

/// Reads `/proc/self/statm`, and returns the number of bytes read; 0 if the system does not have the file.
#[cfg(all(target_os = "linux", not(miri)))]
fn read_statm(text: &mut [u8]) -> usize {
    // SAFETY: the path ends with a zero byte, and the system only reads it.
    let file = unsafe { libc::open(c"/proc/self/statm".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if file < 0 {
        return 0;
    }
    // SAFETY: the system writes at most `text.len()` bytes into `text`.
    let length = unsafe { libc::read(file, text.as_mut_ptr().cast(), text.len()) };
    // SAFETY: the descriptor was opened above, and is closed only here.
    unsafe { libc::close(file) };
    usize::try_from(length).unwrap_or(0)
}

#[cfg(all(target_os = "linux", not(miri)))]
fn page_bytes() -> usize {
    // SAFETY: the call takes an integer and reads a constant of the system.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn written_memory_is_held_until_it_is_freed() {
        const BYTES: usize = 64 << 20;
        let before = held_bytes();
        let written = vec![1_u8; BYTES];
        let during = held_bytes();
        assert!(before > 0 && during >= before + BYTES / 2, "{before} {during}");
        drop(written);
        return_free_memory();
        assert!(held_bytes() < during - BYTES / 2);
    }
}
