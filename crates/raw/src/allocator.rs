//! What the allocator does with memory that a program has freed.

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
    // SAFETY: it takes two integers and writes two words of the allocator, under a lock of its own. Its manual advises against calling it beside other threads since
    // they read these words without that lock; either value is valid for them, and memory stays allocated until it is freed.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}
