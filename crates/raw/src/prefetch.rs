//! Asking the processor for a cache line before it is needed.

/// Hints that `place` will soon be read and written. Changes nothing that a program can observe but time.
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
    #[cfg(target_arch = "x86_64")]
    {
        let address = std::ptr::from_ref(place).cast::<i8>();
        // SAFETY: `address` comes from a live reference, and a prefetch neither faults nor changes memory.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
