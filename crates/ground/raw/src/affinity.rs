//! Binding threads to cores.
//!
//! A binding changes time only: the results of a program do not depend on where its threads run.

/// Returns the cores that this thread may run on, in ascending order. Returns no core where the system does
/// not report them.
///
/// ```
/// let cores = parades_raw::affinity::allowed_cores();
/// assert!(cores.is_sorted());
/// ```
pub fn allowed_cores() -> Vec<usize> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let set = allowed_set();
        // SAFETY: every `core` is below `CPU_SETSIZE`, the number of cores that the set can hold.
        (0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect()
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    Vec::new()
}

/// Returns the core that this thread runs on, or `None` where the system does not report it. The thread may
/// already have moved when this function returns.
///
/// ```
/// use parades_raw::affinity::{allowed_cores, current_core};
/// assert!(current_core().is_none_or(|core| allowed_cores().contains(&core)));
/// ```
pub fn current_core() -> Option<usize> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        // SAFETY: the function has no arguments, and returns a number, or -1 on failure.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Binds this thread to `core` until the returned value is dropped. The thread stays unbound where the system
/// does not allow the binding.
///
/// ```
/// use parades_raw::affinity::{allowed_cores, bind_to};
/// let before = allowed_cores();
/// if let Some(&core) = before.first() {
///     let binding = bind_to(core);
///     assert_eq!(allowed_cores(), [core]);
///     drop(binding);
/// }
/// assert_eq!(allowed_cores(), before);
/// ```
#[must_use = "the binding ends when this is dropped"]
pub fn bind_to(core: usize) -> Binding {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        let before = allowed_set();
        let outer = UNBOUND.get();
        UNBOUND.set(outer.or(Some(before)));
        let mut set = empty_set();
        if core < libc::CPU_SETSIZE as usize {
            // SAFETY: `core` is below `CPU_SETSIZE`, the number of cores that the set can hold.
            unsafe { libc::CPU_SET(core, &mut set) };
            bind_to_set(&set);
        }
        Binding { before, outer }
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    {
        let _ = core;
        Binding {}
    }
}

/// A thread's binding to a core, which ends when this value is dropped.
#[derive(Debug)]
pub struct Binding {
    /// The cores that the thread could run on before.
    #[cfg(all(target_os = "linux", not(miri)))]
    before: libc::cpu_set_t,
    /// The value of [`UNBOUND`] before.
    #[cfg(all(target_os = "linux", not(miri)))]
    outer: Option<libc::cpu_set_t>,
}

#[cfg(all(target_os = "linux", not(miri)))]
thread_local! {
    /// The cores that this thread could run on before its outermost binding, or `None` while it is unbound.
    static UNBOUND: std::cell::Cell<Option<libc::cpu_set_t>> = const { std::cell::Cell::new(None) };
}

/// Calls `act` while this thread is unbound. A new thread inherits the binding of the thread that starts it,
/// so threads must be started here to be unbound.
///
/// ```
/// use parades_raw::affinity::{allowed_cores, bind_to, while_unbound};
/// let before = allowed_cores();
/// if let Some(&core) = before.first() {
///     let _binding = bind_to(core);
///     assert_eq!(while_unbound(|| std::thread::spawn(allowed_cores)).join().unwrap(), before);
///     assert_eq!(allowed_cores(), [core]);
/// }
/// ```
pub fn while_unbound<T>(act: impl FnOnce() -> T) -> T {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(unbound) = UNBOUND.get() {
        let bound = allowed_set();
        bind_to_set(&unbound);
        let result = act();
        bind_to_set(&bound);
        return result;
    }
    act()
}

impl Drop for Binding {
    fn drop(&mut self) {
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            UNBOUND.set(self.outer);
            bind_to_set(&self.before);
        }
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn empty_set() -> libc::cpu_set_t {
    // SAFETY: a set is an array of integers, for which all bits zero is a valid value: the empty set.
    unsafe { std::mem::zeroed() }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn allowed_set() -> libc::cpu_set_t {
    let mut set = empty_set();
    // SAFETY: the size is that of `set`, which the system fills. The argument 0 means the calling thread.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } != 0;
    if failed { empty_set() } else { set }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn bind_to_set(set: &libc::cpu_set_t) {
    // SAFETY: the size is that of `set`, which the system only reads. The argument 0 means the calling
    // thread. The system refuses an empty set and then changes nothing.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) };
}
