//! A pool of stacks with room for a million, of which only those in use take memory.
//!
//! Stacks of one size lie side by side in large maps, each with a guard below it. No stack is ever without a
//! guard. The code on a stack is safe code, so an overflow must not reach the neighbouring stack.
//!
//! Linux 6.13 has guards that are only marks in the page table (`MADV_GUARD_INSTALL`). Their number is
//! unlimited. Older systems use `mprotect`, where each guard is a map of its own. A process may have about
//! 65,000 maps (`vm.max_map_count`), which is enough for about 32,000 stacks. A stack beyond that limit is
//! refused with an error message.
//!
//! A returned stack is given out again, the latest returned stack first. The pool keeps the memory of some
//! unused stacks, up to [`KEPT_BYTES_MAX`] for each size. The memory of the others goes back to the system.
//! Address space is never returned.

use crate::overflow::{self, Label, StackRange};
use std::fmt;
use std::num::NonZeroUsize;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Size of the guard below a stack in bytes. Rust touches each page of a large frame in turn, so one page
/// would do for Rust code; C code may skip pages.
const GUARD_BYTES: usize = 16 << 10;
/// Size of the smallest stack in bytes.
const STACK_BYTES_MIN: usize = 16 << 10;
/// Number of different offsets, one cache line apart, at which stacks begin within a page. If all stacks
/// began at the same offset, their most used lines would all compete for the same few places of the cache.
const OFFSETS: usize = 16;
const LINE_BYTES: usize = 64;
/// The most memory that the unused stacks of one size keep, in bytes.
const KEPT_BYTES_MAX: usize = 32 << 20;
/// `MADV_GUARD_INSTALL` of Linux 6.13, which the crate `libc` does not define.
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// The reason why there is no stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStack {
    /// The system refused to map the memory.
    NoRoom {
        /// The size of the stack requested, in bytes.
        bytes: usize,
        /// The number of stacks of this size that exist.
        stacks: usize,
        /// The system's error number.
        code: i32,
    },
    /// The system refused to make the guard.
    NoGuard {
        /// The number of stacks of this size that exist.
        stacks: usize,
        /// The system's error number.
        code: i32,
    },
}

impl fmt::Display for NoStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = |code: &i32| std::io::Error::from_raw_os_error(*code);
        match self {
            NoStack::NoRoom { bytes, stacks, code } => write!(
                f,
                "the system has no room for a stack of {bytes} bytes beside {stacks} such ({}): make stacks smaller, or raise `ulimit -v`",
                reason(code)
            ),
            NoStack::NoGuard { stacks, code } => write!(
                f,
                "the system makes no guard for a stack beside {stacks} such ({}): raise the number of maps (`sysctl vm.max_map_count`), or use \
                 Linux 6.13 or later, where guards need no maps",
                reason(code)
            ),
        }
    }
}

/// A stack taken from its pool. It returns to the pool when this value is dropped.
#[derive(Debug)]
pub(crate) struct Stack {
    /// The lowest address, where the guard begins.
    lowest: usize,
    /// The upper end of the part that code may use, below the label.
    base: NonZeroUsize,
    pool: &'static Pool,
}

/// All stacks of one size.
#[derive(Debug)]
struct Pool {
    bytes: usize,
    stacks: Mutex<Stacks>,
}

/// The stacks of a pool, each known by its lowest address.
#[derive(Debug, Default)]
struct Stacks {
    /// Unused stacks that keep their memory.
    with_memory: Vec<usize>,
    /// Unused stacks whose memory has returned to the system.
    without_memory: Vec<usize>,
    /// The first stack, in the latest map, that has never been given out.
    next: usize,
    /// The end of the latest map.
    end: usize,
    /// The number of stacks that have ever been given out.
    count: usize,
}

static POOLS: Mutex<Vec<&'static Pool>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds these locks, so a poisoned lock holds a valid value.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn last_error() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or_default()
}

impl Stack {
    /// Takes a stack of at least `bytes` bytes, rounded up to a power of two, for the user that `label`
    /// names.
    pub(crate) fn take(bytes: usize, label: Label) -> Result<Stack, NoStack> {
        let refused = NoStack::NoRoom { bytes, stacks: 0, code: libc::ENOMEM };
        let bytes =
            bytes.max(STACK_BYTES_MIN).checked_next_power_of_two().filter(|&bytes| bytes <= isize::MAX as usize / 64);
        let pool = Pool::of(bytes.ok_or(refused)?);
        let lowest = lock(&pool.stacks).take(pool.bytes)?;
        let label_at = pool.label_address(lowest);
        let offset = lowest / (GUARD_BYTES + pool.bytes) % OFFSETS;
        // SAFETY: the label lies at the top of a stack that this call alone owns, within its map. It is
        // aligned, because maps and sizes are.
        unsafe { std::ptr::with_exposed_provenance_mut::<Label>(label_at).write(label) };
        Ok(Stack {
            lowest,
            base: NonZeroUsize::new(label_at - offset * LINE_BYTES).expect("maps do not begin at 0"),
            pool,
        })
    }

    /// Returns the first address above the guard, and the number of bytes that code may use from there.
    #[cfg(target_env = "gnu")]
    pub(crate) fn usable(&self) -> (usize, usize) {
        (self.lowest + GUARD_BYTES, self.base.get() - self.lowest - GUARD_BYTES)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.pool.give_back(self.lowest);
    }
}

// SAFETY: between the guard, which faults, and the base lie at least `STACK_BYTES_MIN` bytes, less the label
// and the offset. Nothing else uses them until this value is dropped. The base is aligned to 16 bytes,
// because the label and the offset are.
unsafe impl corosensei::stack::Stack for Stack {
    fn base(&self) -> NonZeroUsize {
        self.base
    }
    fn limit(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.lowest).expect("maps do not begin at 0")
    }
}

impl Pool {
    fn of(bytes: usize) -> &'static Pool {
        let mut pools = lock(&POOLS);
        if let Some(pool) = pools.iter().find(|pool| pool.bytes == bytes) {
            return pool;
        }
        let pool: &'static Pool = Box::leak(Box::new(Pool { bytes, stacks: Mutex::default() }));
        pools.push(pool);
        pool
    }

    /// Returns the address of the label at the top of a stack.
    fn label_address(&self, lowest: usize) -> usize {
        lowest + GUARD_BYTES + self.bytes - size_of::<Label>()
    }

    fn give_back(&self, lowest: usize) {
        // SAFETY: the label lies at the top of a stack that only the caller used, within its map. It is
        // aligned, because maps and sizes are.
        unsafe { Label::clear(std::ptr::with_exposed_provenance_mut(self.label_address(lowest))) };
        let mut stacks = lock(&self.stacks);
        if stacks.with_memory.len() < (KEPT_BYTES_MAX / self.bytes).max(1) {
            stacks.with_memory.push(lowest);
            return;
        }
        stacks.without_memory.push(lowest);
        let address = std::ptr::with_exposed_provenance_mut::<libc::c_void>(lowest + GUARD_BYTES);
        // SAFETY: the range is a stack within its map that nobody uses any more, so its contents may be lost.
        // The stack is given out again only under the lock, which this call holds.
        unsafe { libc::madvise(address, self.bytes, libc::MADV_DONTNEED) };
    }
}

impl Stacks {
    fn take(&mut self, bytes: usize) -> Result<usize, NoStack> {
        if let Some(lowest) = self.with_memory.pop().or_else(|| self.without_memory.pop()) {
            return Ok(lowest);
        }
        if self.next == self.end {
            self.map(bytes)?;
        }
        let lowest = self.next;
        install_guard(lowest).map_err(|code| NoStack::NoGuard { stacks: self.count, code })?;
        self.next += GUARD_BYTES + bytes;
        self.count += 1;
        Ok(lowest)
    }

    /// Maps as many stacks as there are already, or fewer if the system has not enough room.
    fn map(&mut self, bytes: usize) -> Result<(), NoStack> {
        let stride = GUARD_BYTES + bytes;
        let mut stacks = self.count.max(64);
        loop {
            let length = stacks * stride;
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
            // SAFETY: a new map at an address that the system chooses does not affect existing memory.
            let start = unsafe { libc::mmap(null_mut(), length, access, kind, -1, 0) };
            if start == libc::MAP_FAILED {
                let code = last_error();
                if stacks == 1 {
                    return Err(NoStack::NoRoom { bytes, stacks: self.count, code });
                }
                stacks /= 2;
                continue;
            }
            // SAFETY: the range is the new map. The advice keeps a stack from taking a page of 2 MiB. A
            // system that does not know the advice returns an error and changes nothing.
            unsafe { libc::madvise(start, length, libc::MADV_NOHUGEPAGE) };
            let start = start.expose_provenance();
            (self.next, self.end) = (start, start + length);
            overflow::add_range(StackRange {
                start,
                end: self.end,
                stride,
                guard: GUARD_BYTES,
                next: std::ptr::null(),
            });
            return Ok(());
        }
    }
}

/// Makes the lowest bytes of a stack inaccessible. Returns the system's error number on failure.
fn install_guard(lowest: usize) -> Result<(), i32> {
    let address = std::ptr::with_exposed_provenance_mut::<libc::c_void>(lowest);
    // SAFETY: the range is the lowest part of a stack within its map. The stack has never been given out, so
    // no contents are lost. An older system returns an error and changes nothing.
    if unsafe { libc::madvise(address, GUARD_BYTES, MADV_GUARD_INSTALL) } == 0 {
        return Ok(());
    }
    // SAFETY: as above.
    if unsafe { libc::mprotect(address, GUARD_BYTES, libc::PROT_NONE) } == 0 { Ok(()) } else { Err(last_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corosensei::stack::Stack as _;

    fn label() -> Label {
        Label::new("test", "stack", 0)
    }

    #[test]
    fn stacks_do_not_overlap_and_are_reused() {
        // A size that no other test uses, since tests share the pools.
        const BYTES: usize = 1 << 20;
        let stacks: Vec<Stack> = (0..1000).map(|_| Stack::take(BYTES, label()).expect("there is room")).collect();
        let mut ranges: Vec<_> = stacks.iter().map(|stack| (stack.limit().get(), stack.base().get())).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(ranges.iter().all(|(limit, base)| base - limit > BYTES - OFFSETS * LINE_BYTES && base % 16 == 0));
        drop(stacks);
        let again: Vec<Stack> = (0..1000).map(|_| Stack::take(BYTES, label()).expect("there is room")).collect();
        assert!(again.iter().all(|stack| ranges.binary_search(&(stack.limit().get(), stack.base().get())).is_ok()));
    }

    #[test]
    fn a_stack_too_large_for_any_system_is_refused() {
        for bytes in [usize::MAX, isize::MAX as usize, 1 << 56] {
            let text = Stack::take(bytes, label()).expect_err("it is too much").to_string();
            assert!(text.contains("make stacks smaller"), "{text}");
        }
    }
}
