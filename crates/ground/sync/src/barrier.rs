//! Barriers: nobody goes on before all have come.
//!
//! The kinds are those that G. Seguin, *Multi-core Parallelism for ns-3 Simulator*, INRIA, 2009, section 3.2, compared, and [`BarrierKind::Adaptive`], which
//! is what engines use. `parades bench barriers` measures them all beside his figures.
//!
//! A worker that fails must not leave the others waiting: it calls [`Barrier::break_up`], and everyone gets [`Broken`].
//!
//! *Read next*: `barrier/adaptive.rs`, with the argument why no wake-up is lost.

mod adaptive;
#[cfg(test)]
mod modelled;
mod posix;
mod semaphore;
mod spin;

use crate::patience::Patience;
use std::fmt;
use std::ops::Deref;

/// Where all workers of a run meet.
///
/// # Examples
///
/// ```
/// use parades_sync::barrier::{BarrierKind, Broken};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let barrier = BarrierKind::default().open(2);
/// let left = [AtomicU32::new(0), AtomicU32::new(0)];
/// std::thread::scope(|scope| {
///     for party in 0..2 {
///         let (barrier, left) = (&barrier, &left);
///         scope.spawn(move || {
///             left[party].store(7, Ordering::Relaxed);
///             barrier.wait(party)?;
///             assert_eq!(left[1 - party].load(Ordering::Relaxed), 7);
///             Ok::<(), Broken>(())
///         });
///     }
/// });
/// barrier.break_up();
/// assert_eq!(barrier.wait(0), Err(Broken));
/// ```
pub trait Barrier: Send + Sync + fmt::Debug {
    /// Waits until every party has come to this crossing. `party` is `0..parties`, each used by one thread at a time. Everything that any party wrote
    /// before is visible to all after.
    ///
    /// # Errors
    ///
    /// [`Broken`] once the barrier is broken up. What was written before that is visible too. Of the crossing during which it broke, some parties may
    /// have got `Ok`: all parties had come to it.
    fn wait(&self, party: usize) -> Result<(), Broken>;

    /// Breaks the barrier for good: everyone who waits, and everyone who comes later, gets [`Broken`]. Called by a worker that fails.
    fn break_up(&self);
}

/// The barrier was broken up: some worker has failed, and will not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a worker failed, and the others were released from the barrier")
    }
}

impl std::error::Error for Broken {}

/// How a barrier waits.
///
/// ```
/// use parades_sync::barrier::BarrierKind;
/// assert_eq!(BarrierKind::default(), BarrierKind::Adaptive);
/// assert_eq!(BarrierKind::Tree { fan_in: 4 }.to_string(), "tree 4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BarrierKind {
    /// A mutex and a condition variable, which is how POSIX describes its barrier.
    Posix,
    /// A master collects the others through one semaphore and releases them through two in turn.
    Semaphore,
    /// All spin on one word. With more threads than cores, a crossing takes time slices.
    Spin,
    /// A tree of spinning groups, each of a party and its `fan_in` children; the paper's best is 4. With more threads than cores as bad as `Spin`.
    Tree {
        /// Children a party; at least 1.
        fan_in: usize,
    },
    /// A flag line for each party; spins while that pays, then yields, then sleeps.
    #[default]
    Adaptive,
}

/// The most parties a barrier can have.
pub const PARTIES_MAX: usize = (1 << 15) - 1;

impl BarrierKind {
    /// A barrier of this kind for `parties` threads.
    ///
    /// # Panics
    ///
    /// If `parties` is 0 or above [`PARTIES_MAX`], or the fan-in is 0.
    pub fn open(self, parties: usize) -> Box<dyn Barrier> {
        assert!(
            (1..=PARTIES_MAX).contains(&parties),
            "a barrier for {parties} parties: there may be 1 to {PARTIES_MAX}"
        );
        match self {
            BarrierKind::Posix => Box::new(posix::Posix::new(parties)),
            BarrierKind::Semaphore => Box::new(semaphore::SemaphoreBarrier::new(parties)),
            BarrierKind::Spin => Box::new(spin::Spin::new(parties)),
            BarrierKind::Tree { fan_in } => Box::new(spin::Tree::new(parties, fan_in)),
            BarrierKind::Adaptive => Box::new(adaptive::Adaptive::new(parties, || Patience::of_threads(parties))),
        }
    }
}

impl fmt::Display for BarrierKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BarrierKind::Posix => f.write_str("posix"),
            BarrierKind::Semaphore => f.write_str("semaphore"),
            BarrierKind::Spin => f.write_str("spin"),
            BarrierKind::Tree { fan_in } => write!(f, "tree {fan_in}"),
            BarrierKind::Adaptive => f.write_str("adaptive"),
        }
    }
}

/// A cache line to itself; two, because processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Line<T>(pub(crate) T);

impl<T> Deref for Line<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
