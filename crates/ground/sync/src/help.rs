//! Help of idle workers for one event, whose tasks are independent of each other.
//!
//! An event is executed by one thread. An engine may offer the workers that wait meanwhile ([`with`]), and
//! code deep inside the event may share its tasks with them ([`execute`]), without knowing the engine.
//! Without an offer, the thread executes them all. No result may depend on the thread
//! that executes a task.
//!
//! Tasks own their data: workers live longer than the event, and this crate is safe code.

use std::cell::RefCell;
use std::sync::Arc;

/// Tasks that any thread may execute, numbered from 0.
pub trait Tasks: Send + Sync {
    /// Executes a task. It is called once for each.
    fn execute(&self, task: u32);
}

/// Workers that help.
pub trait Helpers {
    /// Returns the number of threads that would execute tasks, this one included.
    fn threads(&self) -> usize;

    /// Executes `count` tasks, and returns when all are done and nobody has them any more.
    fn execute(&self, count: u32, tasks: Arc<dyn Tasks>);
}

thread_local! {
    static HELPERS: RefCell<Option<Arc<dyn Helpers>>> = const { RefCell::new(None) };
}

/// Offers the help of workers for as long as `run` takes, on this thread.
///
/// ```
/// use parades_sync::help::{self, Helpers, Tasks};
/// use std::sync::atomic::{AtomicU32, Ordering};
/// use std::sync::Arc;
///
/// struct Backwards; // an engine that executes the last task first
/// impl Helpers for Backwards {
///     fn threads(&self) -> usize { 2 }
///     fn execute(&self, count: u32, tasks: Arc<dyn Tasks>) { (0..count).rev().for_each(|task| tasks.execute(task)) }
/// }
/// struct Digits(AtomicU32);
/// impl Tasks for Digits {
///     fn execute(&self, task: u32) { self.0.store(10 * self.0.load(Ordering::Relaxed) + task, Ordering::Relaxed) }
/// }
/// let digits = || {
///     let tasks = Arc::new(Digits(AtomicU32::new(0)));
///     help::execute(4, &tasks);
///     (help::threads(), tasks.0.load(Ordering::Relaxed))
/// };
/// assert_eq!(help::with(Arc::new(Backwards), digits), (2, 3210));
/// assert_eq!(digits(), (1, 123)); // alone
/// ```
pub fn with<R>(helpers: Arc<dyn Helpers>, run: impl FnOnce() -> R) -> R {
    let before = HELPERS.with_borrow_mut(|here| here.replace(helpers));
    let _end = End(before);
    run()
}

/// Ends an offer, also when the thread panics.
struct End(Option<Arc<dyn Helpers>>);

impl Drop for End {
    fn drop(&mut self) {
        HELPERS.with_borrow_mut(|here| *here = self.0.take());
    }
}

fn helpers() -> Option<Arc<dyn Helpers>> {
    HELPERS.with_borrow(Clone::clone)
}

/// Returns the number of threads that would execute tasks: 1 without helpers.
pub fn threads() -> usize {
    helpers().map_or(1, |helpers| helpers.threads())
}

/// Executes `count` tasks with the workers that help. Returns when all are done; then `tasks` is the only
/// reference again.
pub fn execute<T: Tasks + 'static>(count: u32, tasks: &Arc<T>) {
    match helpers() {
        Some(helpers) => helpers.execute(count, Arc::clone(tasks) as Arc<dyn Tasks>),
        None => (0..count).for_each(|task| tasks.execute(task)),
    }
}
