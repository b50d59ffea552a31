//! Which cores a thread may run on.

/// The cores that this thread may run on, in their order; none where the system does not tell.
///
/// ```
/// let cores = parades_raw::affinity::cores();
/// assert!(cores.is_sorted());
/// ```
pub fn cores() -> Vec<usize> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let set = current();
        // SAFETY: every number is below the size of the set.
        (0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect()
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    Vec::new()
}

/// The core that this thread is on; `None` where the system does not tell. It may be on another by the time this returns.
///
/// ```
/// use parades_raw::affinity::{cores, here};
/// assert!(here().is_none_or(|core| cores().contains(&core)));
/// ```
pub fn here() -> Option<usize> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        // SAFETY: it takes nothing, and returns a number, or -1.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Binds this thread to one core, until what this returns is dropped. Changes nothing that a program can observe but time: where the system
/// cannot or will not, the thread stays free.
///
/// ```
/// use parades_raw::affinity::{bind_to, cores};
/// let before = cores();
/// if let Some(&core) = before.first() {
///     let bound = bind_to(core);
///     assert_eq!(cores(), [core]);
///     drop(bound);
/// }
/// assert_eq!(cores(), before);
/// ```
#[must_use = "the thread is free again when this is dropped"]
pub fn bind_to(core: usize) -> Bound {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let before = current();
        let outer = FREE.get();
        FREE.set(outer.or(Some(before)));
        let mut set = none();
        if core < libc::CPU_SETSIZE as usize {
            // SAFETY: the number is below the size of the set.
            unsafe { libc::CPU_SET(core, &mut set) };
            apply(&set);
        }
        Bound { before, outer }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    {
        let _ = core;
        Bound {}
    }
}

/// A thread that is bound to a core.
#[derive(Debug)]
pub struct Bound {
    /// Where it could run before.
    #[cfg(all(target_os = "linux", not(miri)))]
    before: libc::cpu_set_t,
    /// What [`FREE`] was before.
    #[cfg(all(target_os = "linux", not(miri)))]
    outer: Option<libc::cpu_set_t>,
}

#[cfg(all(target_os = "linux", not(miri)))]
thread_local! {
    /// Where this thread could run before it was bound, if it is.
    static FREE: std::cell::Cell<Option<libc::cpu_set_t>> = const { std::cell::Cell::new(None) };
}

/// Does something while this thread is not bound: threads that it starts then are not bound either, where otherwise they would be for good.
///
/// ```
/// use parades_raw::affinity::{bind_to, cores, while_free};
/// let before = cores();
/// if let Some(&core) = before.first() {
///     let _bound = bind_to(core);
///     assert_eq!(while_free(|| std::thread::spawn(cores)).join().unwrap(), before);
///     assert_eq!(cores(), [core]);
/// }
/// ```
pub fn while_free<T>(act: impl FnOnce() -> T) -> T {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(free) = FREE.get() {
        let bound = current();
        apply(&free);
        let done = act();
        apply(&bound);
        return done;
    }
    act()
}

impl Drop for Bound {
    fn drop(&mut self) {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            FREE.set(self.outer);
            apply(&self.before);
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn none() -> libc::cpu_set_t {
    // SAFETY: a set is an array of integers, for which zeros are a value: the empty set.
    unsafe { std::mem::zeroed() }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn current() -> libc::cpu_set_t {
    let mut set = none();
    // SAFETY: the size is that of the set, which the system fills; 0 is the calling thread.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0;
    if failed { none() } else { set }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn apply(set: &libc::cpu_set_t) {
    // SAFETY: the size is that of the set, which the system reads; 0 is the calling thread. An empty set is refused, which changes nothing.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
}
