//! Each worker on a core of its own while it begins.
//!
//! A system may begin two threads on one core, or wake one on the core of who wakes it, and take tens of milliseconds to notice that another is free. The two
//! then take turns, each waits for the other, and learns not to be patient. So workers are bound to cores while they begin, when they often wait for each
//! other; later they are free, as a stranger may come to want a core.

use crate::stopwatch::now;
use parades_raw::affinity::{self, Bound};
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// How long a worker is bound.
const BEGINNING: Duration = Duration::from_millis(20);

thread_local! {
    /// What binds this thread, and since when.
    static BOUND: RefCell<Option<(Bound, Instant)>> = const { RefCell::new(None) };
    /// Whether something does: asked for often.
    static IS_BOUND: Cell<bool> = const { Cell::new(false) };
}

/// A core for each of so many workers, the first being that of this thread; none where there are too few.
pub(crate) fn cores_of(workers: usize) -> Vec<usize> {
    let mut cores = affinity::cores();
    if workers == 1 || cores.len() < workers {
        return Vec::new();
    }
    let here = affinity::here().and_then(|here| cores.iter().position(|&core| core == here));
    cores.rotate_left(here.unwrap_or(0));
    cores.truncate(workers);
    cores
}

/// Binds this thread to a core while it begins; at most until what this returns is dropped. Whoever is bound so calls [`free_if_begun`] now and then.
#[must_use = "the thread is free again when this is dropped"]
pub(crate) fn begin_on(core: usize) -> Beginning {
    BOUND.set(Some((affinity::bind_to(core), now())));
    IS_BOUND.set(true);
    Beginning
}

/// The time in which a thread may be bound.
pub(crate) struct Beginning;

impl Drop for Beginning {
    fn drop(&mut self) {
        free();
    }
}

/// Frees this thread at once: for workers that wait for each other all the time, and not only while they begin.
pub(crate) fn free() {
    BOUND.take();
    IS_BOUND.set(false);
}

/// Frees this thread if it has begun long ago.
#[inline]
pub(crate) fn free_if_begun() {
    if IS_BOUND.get() {
        look_at_the_clock();
    }
}

#[cold]
fn look_at_the_clock() {
    let has_begun = |(_, since): &mut (Bound, Instant)| since.elapsed() >= BEGINNING;
    if BOUND.with_borrow_mut(|bound| bound.take_if(has_begun).is_some()) {
        IS_BOUND.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_bound_only_while_it_begins() {
        let all = affinity::cores();
        let Some(&core) = all.first() else { return };
        let beginning = begin_on(core);
        free_if_begun();
        assert_eq!(affinity::cores(), [core]);
        drop(beginning);
        assert_eq!(affinity::cores(), all);
        let _beginning = begin_on(core);
        std::thread::sleep(BEGINNING);
        free_if_begun();
        assert_eq!(affinity::cores(), all, "that was long enough");
    }
}
