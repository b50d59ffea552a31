//! Binds each worker to a core of its own while the run begins.
//!
//! A system may start two threads on one core, or wake a thread on the core of the thread that wakes it. It
//! may take tens of milliseconds to notice that another core is idle. The two threads then share the core,
//! each waits for the other, and both learn that waiting with patience does not pay. So workers are bound
//! while the run begins, when they often wait for each other. Later they are not bound, because another
//! program may want a core.

use crate::stopwatch::now;
use parades_raw::affinity::{self, Binding};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The time for which a worker is bound: long enough for the system to distribute the threads.
const BOUND_FOR: Duration = Duration::from_millis(20);

thread_local! {
    /// The binding of this thread, and the time since which it is bound.
    static BOUND: RefCell<Option<(Binding, Instant)>> = const { RefCell::new(None) };
    /// True if this thread is bound. A cheap copy of the above, because it is read often.
    static IS_BOUND: Cell<bool> = const { Cell::new(false) };
}

/// Returns a core for each of `workers` workers, or no cores if there are too few. The first core is the
/// calling thread's.
pub(crate) fn cores_of(workers: usize) -> Vec<usize> {
    let mut cores = affinity::allowed_cores();
    if workers == 1 || cores.len() < workers {
        return Vec::new();
    }
    let here = affinity::current_core().and_then(|here| cores.iter().position(|&core| core == here));
    cores.rotate_left(here.unwrap_or(0));
    cores.truncate(workers);
    cores
}

/// Binds this thread to a core while the run begins. The thread must call [`unbind_if_due`] now and then.
/// The binding ends at the latest when the returned value is dropped.
#[must_use = "the binding ends when this is dropped"]
pub(crate) fn bind_at_start(core: usize) -> BoundAtStart {
    BOUND.set(Some((affinity::bind_to(core), now())));
    IS_BOUND.set(true);
    BoundAtStart
}

/// A guard: while it lives, the thread may be bound.
pub(crate) struct BoundAtStart;

impl Drop for BoundAtStart {
    fn drop(&mut self) {
        unbind();
    }
}

/// Ends the binding of this thread at once. For workers that wait for each other all the time, not only at
/// the start.
pub(crate) fn unbind() {
    BOUND.take();
    IS_BOUND.set(false);
}

/// Ends the binding of this thread if its time is over.
#[inline]
pub(crate) fn unbind_if_due() {
    if IS_BOUND.get() {
        read_clock_and_unbind();
    }
}

#[cold]
fn read_clock_and_unbind() {
    let is_due = |(_, since): &mut (Binding, Instant)| since.elapsed() >= BOUND_FOR;
    if BOUND.with_borrow_mut(|bound| bound.take_if(is_due).is_some()) {
        IS_BOUND.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_bound_only_at_the_start() {
        let all = affinity::allowed_cores();
        let Some(&core) = all.first() else { return };
        let guard = bind_at_start(core);
        unbind_if_due();
        assert_eq!(affinity::allowed_cores(), [core]);
        drop(guard);
        assert_eq!(affinity::allowed_cores(), all);
        let _guard = bind_at_start(core);
        std::thread::sleep(BOUND_FOR);
        unbind_if_due();
        assert_eq!(affinity::allowed_cores(), all, "the time is over");
    }
}
