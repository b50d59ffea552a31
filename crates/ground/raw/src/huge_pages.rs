//! Asking the operating system for large pages, where memory is large and is not read in order.
//!
//! The processor remembers where some thousand pages lie. With pages of 4 KiB those are a few megabytes, and beyond them each access to a random
//! place pays for the look-up of its page as well. With pages of 2 MiB they are gigabytes.

/// The size of a large page: that of x86-64, and of ARM with small pages of 4 KiB. Where it is another, the requests fail or are in vain.
pub const HUGE_PAGE: usize = 2 << 20;

/// Asks for large pages for the room that `items` has, now that it has been allocated. Changes nothing that a program can observe but time: where
/// the system cannot or will not, the pages stay as they are.
///
/// Room that is not used yet gets its pages when it is first written. What is in use already, and small because it was moved here, is copied
/// once.
///
/// # Examples
///
/// ```
/// let mut items: Vec<u64> = Vec::with_capacity(1 << 20);
/// parades_raw::huge_pages::ask_for(&items);
/// items.extend(0..1 << 20);
/// parades_raw::huge_pages::ask_for(&items);
/// assert!(items.iter().copied().eq(0..1 << 20));
/// ```
pub fn ask_for<T>(items: &Vec<T>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let (start, size) = (items.as_ptr(), size_of::<T>());
        for (advice, bytes) in
            [(libc::MADV_HUGEPAGE, items.capacity() * size), (libc::MADV_COLLAPSE, items.len() * size)]
        {
            let first = start.addr().next_multiple_of(HUGE_PAGE);
            let end = (start.addr() + bytes) / HUGE_PAGE * HUGE_PAGE;
            if first < end {
                let address = start.with_addr(first).cast_mut().cast::<libc::c_void>();
                // SAFETY: the range lies within one live allocation, and both pieces of advice leave its contents as they are. A system that
                // does not know them returns an error, which changes nothing.
                unsafe { libc::madvise(address, end - first, advice) };
            }
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = items;
}
