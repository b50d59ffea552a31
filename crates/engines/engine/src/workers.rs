//! The threads of a run. All begin together and all are released together, even if one of them fails.

use crate::seats;
use parades_core::error::{Error, ErrorKind};
use parades_raw::affinity;
use parades_sync::barrier::Broken;
use parades_transport::Meeting;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if a thread has panicked while it held the lock.
///
/// This is sound. Some contents are consistent whenever the mutex is free. The others are used only while the
/// run goes on, and no run goes on after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the work of the busiest worker over the average work: 1 if all have done the same, or nothing.
pub(crate) fn imbalance(done: impl Iterator<Item = u64> + Clone) -> f64 {
    let (most, all) = (done.clone().max().unwrap_or(0), done.clone().sum::<u64>());
    if all == 0 { 1.0 } else { most as f64 * done.count() as f64 / all as f64 }
}

/// Runs `lead` on this thread and `follow` on a thread for each other worker, until all have returned.
/// Pinned workers stay on a core of their own.
///
/// Returns [`Broken`] if the transport has broken up because of another rank. A panic of a worker is passed
/// on.
///
/// If the system refuses a thread, `release` ends the waits of the workers that have started.
/// The closures are dynamic: this function is compiled once.
pub(crate) fn on_all_workers(
    workers: usize,
    pinned: bool,
    release: &dyn Fn(),
    lead: &mut dyn FnMut() -> Result<(), Broken>,
    follow: &(dyn Fn(usize) -> Result<(), Broken> + Sync),
) -> Result<Result<(), Broken>, Error> {
    on_workers_started_by(workers, pinned, release, lead, follow, &|_| Ok(()))
}

/// Does the same as [`on_all_workers`]; `may_begin` can refuse to start a worker's thread, as the system can.
fn on_workers_started_by(
    workers: usize,
    pinned: bool,
    release: &dyn Fn(),
    lead: &mut dyn FnMut() -> Result<(), Broken>,
    follow: &(dyn Fn(usize) -> Result<(), Broken> + Sync),
    may_begin: &dyn Fn(usize) -> std::io::Result<()>,
) -> Result<Result<(), Broken>, Error> {
    let cores = &seats::cores_of(workers);
    let seated = |worker: usize, work: &mut dyn FnMut() -> Result<(), Broken>| {
        let core = cores.get(worker).copied();
        let _pinned = core.filter(|_| pinned).map(affinity::bind_to);
        let _bound = core.filter(|_| !pinned).map(seats::bind_at_start);
        work()
    };
    let seated = &seated;
    std::thread::scope(|scope| {
        let begin = |worker| {
            may_begin(worker)?;
            std::thread::Builder::new().spawn_scoped(scope, move || seated(worker, &mut || follow(worker)))
        };
        let others: Vec<_> = match (1..workers).map(begin).collect::<std::io::Result<_>>() {
            Ok(others) => others,
            Err(error) => {
                release();
                return Err(Error::new(ErrorKind::Thread(error.to_string())));
            }
        };
        let led = seated(0, lead);
        for other in others {
            if let Err(panic) = other.join() {
                std::panic::resume_unwind(panic);
            }
        }
        Ok(led)
    })
}

/// Breaks up the transport if this worker panics, so that the others do not wait for it for ever.
pub(crate) struct Alarm<'a, T: Meeting + ?Sized>(pub(crate) &'a T);

impl<T: Meeting + ?Sized> Drop for Alarm<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.break_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_sync::barrier::BarrierKind;

    /// The threads that have started wait for the one that cannot start, until they are released.
    #[test]
    fn a_thread_that_cannot_be_started_is_an_error_and_releases_the_others() {
        let barrier = BarrierKind::default().open(4);
        let begin = |worker: usize| match worker {
            3 => Err(std::io::Error::other("no more threads")),
            _ => Ok(()),
        };
        let wait = |worker| barrier.wait(worker);
        let release = || barrier.break_up();
        let error = on_workers_started_by(4, false, &release, &mut || wait(0), &wait, &begin).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Thread("no more threads".into()));
    }
}
