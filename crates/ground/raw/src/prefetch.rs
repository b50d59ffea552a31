//! Asking the processor for memory before it is needed. Changes nothing that a program can observe but time.

/// Bytes of a cache line: what one hint brings.
const LINE: usize = 64;
/// Lines that are asked for at once, at most: a core waits for about as many.
const LINES_MAX: usize = 8;

/// Hints that `place` will soon be read and written, or its first cache line if it is longer.
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

/// Hints that all of `place` will soon be read and written, or its first 512 bytes if it is longer.
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
    let lines = (first.addr() % LINE + size_of_val(place)).div_ceil(LINE).min(LINES_MAX);
    (0..lines).for_each(|line| hint(first.wrapping_add(line * LINE)));
}

/// Hints that `place`, or its first cache line, will soon be written, and that no other core is to have it: for what cores write in turn.
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
    let address = std::ptr::from_ref(place);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch neither faults nor changes memory, whatever the address; processors that do not know it take it for a no-op.
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
