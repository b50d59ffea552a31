//! Hints to the processor to load memory before it is needed. They change time and nothing else that a
//! program can observe.

/// Size of a cache line in bytes, the unit that one hint loads.
const LINE_BYTES: usize = 64;
/// Largest number of lines requested at once. A core can wait for about this number of lines at a time.
const LINES_MAX: usize = 8;

/// Hints that `place` will soon be read and written. If it is longer than a cache line, only its first line
/// is loaded.
///
/// # Examples
///
/// ```
/// let cells = vec![0_u64; 1024];
/// parades_raw::prefetch::prefetch(&cells[700]);
/// assert_eq!(cells[700], 0);
/// ```
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    hint(std::ptr::from_ref(place).cast());
}

/// The places of records that lie one after another, for hints.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    /// The address of the first record.
    first: usize,
    /// The bytes of a record.
    bytes: usize,
}

impl Records {
    /// Returns the places of the records of a list. If the list moves later, hints are useless and harmless.
    pub fn of<T>(list: &[T]) -> Records {
        Records { first: list.as_ptr().addr(), bytes: size_of::<T>() }
    }

    /// Hints that the first cache line of the record at `index` will soon be read and written.
    ///
    /// ```
    /// let cells = vec![0_u64; 1024];
    /// parades_raw::prefetch::Records::of(&cells).prefetch(700);
    /// assert_eq!(cells[700], 0);
    /// ```
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        hint(std::ptr::without_provenance(self.first.wrapping_add(index.wrapping_mul(self.bytes))));
    }
}

/// Hints that all of `place` will soon be read and written. If it is longer than 512 bytes, only its first
/// 512 bytes are loaded.
///
/// # Examples
///
/// ```
/// let cells: Box<[u64]> = vec![0; 1024].into();
/// parades_raw::prefetch::prefetch_all(&cells[512..]);
/// assert_eq!(cells[700], 0);
/// ```
#[inline]
pub fn prefetch_all<T: ?Sized>(place: &T) {
    let first = std::ptr::from_ref(place).cast::<i8>();
    let lines = (first.addr() % LINE_BYTES + size_of_val(place)).div_ceil(LINE_BYTES).min(LINES_MAX);
    (0..lines).for_each(|line| hint(first.wrapping_add(line * LINE_BYTES)));
}

/// Hints that the first cache line of `place` will soon be written, so that no other core keeps a copy. This
/// is for memory that several cores write alternately.
///
/// # Examples
///
/// ```
/// let cells = vec![0_u64; 1024];
/// parades_raw::prefetch::prefetch_for_write(&cells[700]);
/// assert_eq!(cells[700], 0);
/// ```
#[inline(always)]
pub fn prefetch_for_write<T>(place: &T) {
    hint_for_write(std::ptr::from_ref(place).cast());
}

/// As [`prefetch_for_write`], of `bytes` bytes from `first`, up to 512. Arenas call it. The unit tests of this
/// crate leave them out.
#[cfg(not(test))]
pub(crate) fn prefetch_bytes_for_write(first: *const u8, bytes: usize) {
    let lines = bytes.div_ceil(LINE_BYTES).min(LINES_MAX);
    (0..lines).for_each(|line| hint_for_write(first.wrapping_add(line * LINE_BYTES)));
}

#[inline(always)]
fn hint_for_write(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch neither faults nor changes memory, whatever the address. Processors without this
    // instruction execute it as a no-op.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

#[inline(always)]
fn hint(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch neither faults nor changes memory, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
