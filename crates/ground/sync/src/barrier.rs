//! Barriers: no worker continues before all have arrived.
//!
//! Most kinds are those compared by G. Seguin, *Multi-core Parallelism for ns-3 Simulator*, INRIA, 2009,
//! section 3.2, here called the paper. Engines use [`BarrierKind::Adaptive`]. `parades bench barriers`
//! measures all kinds, beside the paper's figures.
//!
//! A worker that fails calls [`Barrier::break_up`], so that the others do not wait for it. Every worker then
//! gets [`Broken`].
//!
//! *Read next*: `barrier/adaptive.rs`, with the proof that no wake-up is lost.

mod adaptive;
#[cfg(test)]
mod modelled;
mod posix;
mod semaphore;
mod spin;

use crate::patience::Patience;
use std::fmt;

/// A barrier where all workers of a run meet.
///
/// # Examples
///
/// ```
/// use parades_sync::barrier::{BarrierKind, Broken};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let barrier = BarrierKind::default().open(2);
/// let written = [AtomicU32::new(0), AtomicU32::new(0)];
/// std::thread::scope(|scope| {
///     for party in 0..2 {
///         let (barrier, written) = (&barrier, &written);
///         scope.spawn(move || {
///             written[party].store(7, Ordering::Relaxed);
///             barrier.wait(party)?;
///             assert_eq!(written[1 - party].load(Ordering::Relaxed), 7);
///             Ok::<(), Broken>(())
///         });
///     }
/// });
/// barrier.break_up();
/// assert_eq!(barrier.wait(0), Err(Broken));
/// ```
pub trait Barrier: Send + Sync + fmt::Debug {
    /// Waits until every party has arrived at this crossing. Everything that any party wrote before is
    /// visible to all parties afterwards.
    ///
    /// `party` is a number in `0..parties`. Only one thread at a time may use a number.
    ///
    /// # Errors
    ///
    /// Returns [`Broken`] once the barrier is broken. Everything written before the break is then visible. A
    /// break during a crossing may come too late for some parties, which get `Ok`; in that case all parties
    /// had arrived.
    fn wait(&self, party: usize) -> Result<(), Broken>;

    /// Breaks the barrier, permanently. Every party that waits now or arrives later gets [`Broken`]. A worker
    /// that fails calls this.
    fn break_up(&self);
}

/// The error of a broken barrier: some worker has failed and will not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a worker failed, and the others were released from the barrier")
    }
}

impl std::error::Error for Broken {}

/// The way in which the parties of a barrier wait.
///
/// ```
/// use parades_sync::barrier::BarrierKind;
/// assert_eq!(BarrierKind::default(), BarrierKind::Adaptive);
/// assert_eq!(BarrierKind::Tree { fan_in: 4 }.to_string(), "tree 4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BarrierKind {
    /// A mutex and a condition variable, as POSIX describes its barrier.
    Posix,
    /// Three counting semaphores. A master collects the other parties through one of them, and releases them
    /// through the other two alternately.
    Semaphore,
    /// All parties spin on one word. With more threads than cores, a crossing takes several time slices.
    Spin,
    /// A tree of groups that spin, each of a party and its `fan_in` children. In the paper, a fan-in of 4 was
    /// fastest. With more threads than cores, it is as slow as `Spin`.
    Tree {
        /// The number of children of a party, at least 1.
        fan_in: usize,
    },
    /// A flag for each party on a cache line of its own. A party spins while that pays, then yields, then
    /// sleeps.
    #[default]
    Adaptive,
}

/// The largest number of parties of a barrier.
pub const PARTIES_MAX: usize = (1 << 15) - 1;

impl BarrierKind {
    /// Creates a barrier of this kind for `parties` threads.
    ///
    /// # Panics
    ///
    /// Panics if `parties` is 0 or above [`PARTIES_MAX`], or if the fan-in is 0.
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
            BarrierKind::Adaptive => Box::new(adaptive::Adaptive::new(parties, || Patience::for_threads(parties))),
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
