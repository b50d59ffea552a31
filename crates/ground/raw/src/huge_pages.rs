//! Requests for large pages, for memory that is large and accessed in random order.
//!
//! The processor caches the addresses of about a thousand pages. With pages of 4 KiB these cover a few
//! megabytes, and each random access beyond them also looks up its page. With pages of 2 MiB they cover
//! gigabytes.

/// The size of a large page in bytes: that of x86-64, and of ARM with small pages of 4 KiB. On a system with
/// another size, requests fail or have no effect.
pub const HUGE_PAGE: usize = 2 << 20;

/// Requests large pages for the memory that `items` has allocated.
///
/// This changes time and nothing else that a program can observe. Where the system has no large pages, the
/// small ones stay.
///
/// Memory that is not used yet gets a large page when it is first written. Memory that is in use on small
/// pages, for instance after the vector grew, is copied into large pages once.
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
                // SAFETY: the range lies within one live allocation, and neither advice changes the contents.
                // A system that does not know an advice returns an error and changes nothing.
                unsafe { libc::madvise(address, end - first, advice) };
            }
        }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = items;
}
