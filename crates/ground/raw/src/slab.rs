//! A slab of stacks: room for a million, of which only what is used takes memory.
//!
//! Stacks of one size lie side by side in large maps, each with a guard below it. A guard made by `mprotect` is a map of its own, and a process may have only
//! some 65,000 of them (`vm.max_map_count`), which ends at about 32,000 stacks. Linux 6.13 has a guard that is only a mark in the page table
//! (`MADV_GUARD_INSTALL`), of which there can be any number. It is used where the system has it; elsewhere `mprotect` is, and the stack that is one map too
//! many is refused with a sentence. No stack is ever without a guard: the code on it is safe code, which must not reach its neighbour's.
//!
//! A stack given back is given out again, the last first. Some megabytes' worth keep their memory meanwhile; that of others goes back to the system. The
//! address space stays taken.

use crate::overflow::{self, Label, Range};
use std::fmt;
use std::num::NonZeroUsize;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What may not be touched below a stack. Rust touches each page of a large frame in turn, so that one page would do; C may not.
const GUARD: usize = 16 << 10;
/// The least stack that is given out.
const LEAST: usize = 16 << 10;
/// Stacks begin at so many places of a page, a line of the cache apart: if all began at the same, they would all be kept in the same few lines.
const COLOURS: usize = 16;
const LINE: usize = 64;
/// How much memory the unused stacks of one size keep, at most.
const KEPT: usize = 32 << 20;
/// `MADV_GUARD_INSTALL` of Linux 6.13.
const MADV_GUARD_INSTALL: libc::c_int = 102;

/// Why there is no stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStack {
    /// The system would not map so much.
    NoRoom {
        /// How many bytes the stack should have had.
        bytes: usize,
        /// How many stacks of this size there are.
        stacks: usize,
        /// The system's number for the reason.
        code: i32,
    },
    /// The guard could not be made.
    NoGuard {
        /// How many stacks of this size there are.
        stacks: usize,
        /// The system's number for the reason.
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

/// A stack taken out of its slab, which gets it back when this is dropped.
#[derive(Debug)]
pub(crate) struct Stack {
    /// Its guard.
    lowest: usize,
    /// The end of what it may use, below the label.
    base: NonZeroUsize,
    pool: &'static Pool,
}

/// The stacks of one size.
#[derive(Debug)]
struct Pool {
    bytes: usize,
    stacks: Mutex<Stacks>,
}

/// Each by its lowest address, that of its guard.
#[derive(Debug, Default)]
struct Stacks {
    /// Those given back that keep their memory.
    kept: Vec<usize>,
    /// Those given back without memory.
    bare: Vec<usize>,
    /// Those never given out, from here to the end of the last map.
    next: usize,
    end: usize,
    /// How many have been given out for the first time.
    used: usize,
}

static POOLS: Mutex<Vec<&'static Pool>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds these locks panics half-way.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn last_error() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or_default()
}

impl Stack {
    /// Takes a stack of at least so many bytes, of a power of two, for who the label names.
    pub(crate) fn take(bytes: usize, label: Label) -> Result<Stack, NoStack> {
        let refused = NoStack::NoRoom { bytes, stacks: 0, code: libc::ENOMEM };
        let bytes = bytes.max(LEAST).checked_next_power_of_two().filter(|&bytes| bytes <= isize::MAX as usize / 64);
        let pool = Pool::of(bytes.ok_or(refused)?);
        let lowest = lock(&pool.stacks).take(pool.bytes)?;
        let place = pool.place_of_label(lowest);
        let colour = lowest / (GUARD + pool.bytes) % COLOURS;
        // SAFETY: the top of a stack that nobody else has, within its map, aligned as maps and sizes are; writing to it is what it is for.
        unsafe { std::ptr::with_exposed_provenance_mut::<Label>(place).write(label) };
        Ok(Stack { lowest, base: NonZeroUsize::new(place - colour * LINE).expect("maps do not begin at 0"), pool })
    }

    /// What code may use: the first address above the guard, and the number of bytes.
    #[cfg(target_env = "gnu")]
    pub(crate) fn usable(&self) -> (usize, usize) {
        (self.lowest + GUARD, self.base.get() - self.lowest - GUARD)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.pool.give_back(self.lowest);
    }
}

// SAFETY: between the guard, which faults, and the label lie at least `LEAST` bytes less the label and the colour, which nobody else uses until this is
// dropped. The base is aligned to 16 bytes, as the label is.
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

    /// The address of the label at the top of a stack.
    fn place_of_label(&self, lowest: usize) -> usize {
        lowest + GUARD + self.bytes - size_of::<Label>()
    }

    fn give_back(&self, lowest: usize) {
        // SAFETY: the top of a stack that this was the last to use, within its map, aligned as maps and sizes are.
        unsafe { Label::clear(std::ptr::with_exposed_provenance_mut(self.place_of_label(lowest))) };
        let mut stacks = lock(&self.stacks);
        if stacks.kept.len() < (KEPT / self.bytes).max(1) {
            stacks.kept.push(lowest);
            return;
        }
        stacks.bare.push(lowest);
        let address = std::ptr::with_exposed_provenance_mut::<libc::c_void>(lowest + GUARD);
        // SAFETY: a stack within its map that nobody uses any more: what it held may be forgotten. It is given out again only under the lock.
        unsafe { libc::madvise(address, self.bytes, libc::MADV_DONTNEED) };
    }
}

impl Stacks {
    fn take(&mut self, bytes: usize) -> Result<usize, NoStack> {
        if let Some(lowest) = self.kept.pop().or_else(|| self.bare.pop()) {
            return Ok(lowest);
        }
        if self.next == self.end {
            self.map(bytes)?;
        }
        let lowest = self.next;
        guard(lowest).map_err(|code| NoStack::NoGuard { stacks: self.used, code })?;
        self.next += GUARD + bytes;
        self.used += 1;
        Ok(lowest)
    }

    /// Maps as many again as there are, or fewer where the system has less room.
    fn map(&mut self, bytes: usize) -> Result<(), NoStack> {
        let stride = GUARD + bytes;
        let mut stacks = self.used.max(64);
        loop {
            let length = stacks * stride;
            let (access, kind) =
                (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
            // SAFETY: a new map, wherever there is room for it, changes nothing that exists.
            let start = unsafe { libc::mmap(null_mut(), length, access, kind, -1, 0) };
            if start == libc::MAP_FAILED {
                let code = last_error();
                if stacks == 1 {
                    return Err(NoStack::NoRoom { bytes, stacks: self.used, code });
                }
                stacks /= 2;
                continue;
            }
            // SAFETY: the range is the new map. Without this advice a stack might take a page of 2 MiB; where the system does not know it, it fails, which
            // changes nothing.
            unsafe { libc::madvise(start, length, libc::MADV_NOHUGEPAGE) };
            let start = start.expose_provenance();
            (self.next, self.end) = (start, start + length);
            overflow::watch(Range { start, end: self.end, stride, guard: GUARD, next: std::ptr::null() });
            return Ok(());
        }
    }
}

/// Makes the lowest bytes of a stack untouchable.
fn guard(lowest: usize) -> Result<(), i32> {
    let address = std::ptr::with_exposed_provenance_mut::<libc::c_void>(lowest);
    // SAFETY: the lowest pages of a stack within its map that has never been given out, so that nothing is lost. An older system refuses, which changes
    // nothing.
    if unsafe { libc::madvise(address, GUARD, MADV_GUARD_INSTALL) } == 0 {
        return Ok(());
    }
    // SAFETY: as above.
    if unsafe { libc::mprotect(address, GUARD, libc::PROT_NONE) } == 0 { Ok(()) } else { Err(last_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corosensei::stack::Stack as _;

    fn label() -> Label {
        Label::new("test", "stack", 0)
    }

    #[test]
    fn stacks_do_not_overlap_and_are_given_out_again() {
        const BYTES: usize = 1 << 20; // Of no other test, as tests share the slab.
        let stacks: Vec<Stack> = (0..1000).map(|_| Stack::take(BYTES, label()).expect("there is room")).collect();
        let mut ranges: Vec<_> = stacks.iter().map(|stack| (stack.limit().get(), stack.base().get())).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        assert!(ranges.iter().all(|(limit, base)| base - limit > BYTES - COLOURS * LINE && base % 16 == 0));
        drop(stacks);
        let again: Vec<Stack> = (0..1000).map(|_| Stack::take(BYTES, label()).expect("there is room")).collect();
        assert!(again.iter().all(|stack| ranges.binary_search(&(stack.limit().get(), stack.base().get())).is_ok()));
    }

    #[test]
    fn what_no_system_has_is_refused() {
        for bytes in [usize::MAX, isize::MAX as usize, 1 << 56] {
            let text = Stack::take(bytes, label()).expect_err("it is too much").to_string();
            assert!(text.contains("make stacks smaller"), "{text}");
        }
    }
}
