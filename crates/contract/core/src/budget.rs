//! The memory that building a model may take.
//!
//! A run has a watch on its memory, but a model is built before the run. So builders ask here: with an
//! estimate before they begin something large, and now and then as they grow. The limit is of the thread that
//! builds.
//!
//! ```
//! use parades_core::budget;
//! let (built, exceeded) = budget::within(1_000_000, || 0, || budget::check(2_000_000));
//! assert_eq!((built.is_err(), exceeded), (true, built.err()));
//! let (built, exceeded) = budget::within(1_000_000, || 0, || budget::check(500_000));
//! assert_eq!((built, exceeded), (Ok(()), None));
//! assert_eq!(budget::check(u64::MAX), Ok(())); // no limit
//! ```

use std::cell::Cell;
use std::fmt;

/// Bytes that a builder may take beyond its limit: small models take less than the allocator keeps.
const BESIDE: u64 = 2 << 20;

/// A model needs more memory than it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded {
    /// The limit, in bytes.
    pub limit: u64,
    /// The bytes that the model takes, or would take.
    pub needed: u64,
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exceeded { limit, needed } = self;
        write!(f, "building the model takes {needed} bytes, above the limit of {limit} bytes")
    }
}

impl std::error::Error for Exceeded {}

#[derive(Clone, Copy)]
struct Budget {
    limit: u64,
    /// Returns the bytes that this process holds; 0 if the system does not report them.
    held: fn() -> u64,
    held_before: u64,
    exceeded: Option<Exceeded>,
}

thread_local! {
    static BUDGET: Cell<Option<Budget>> = const { Cell::new(None) };
}

/// Calls `build` with a limit on its memory. `held` returns the bytes that this process holds.
///
/// Returns the result of `build`, and the reason of the first check that failed.
pub fn within<R>(limit: u64, held: fn() -> u64, build: impl FnOnce() -> R) -> (R, Option<Exceeded>) {
    let before = BUDGET.replace(Some(Budget { limit, held, held_before: held(), exceeded: None }));
    let built = build();
    let exceeded = BUDGET.replace(before).and_then(|budget| budget.exceeded);
    (built, exceeded)
}

/// Checks that `more` bytes fit, beside those that the builder has taken already. Call it before large steps,
/// and every 65,536 small ones.
///
/// # Errors
///
/// If they do not fit.
pub fn check(more: u64) -> Result<(), Exceeded> {
    let Some(mut budget) = BUDGET.get() else { return Ok(()) };
    let taken = (budget.held)().saturating_sub(budget.held_before).saturating_sub(BESIDE);
    let (limit, needed) = (budget.limit, taken.saturating_add(more));
    if needed <= limit {
        return Ok(());
    }
    let exceeded = Exceeded { limit, needed };
    budget.exceeded = budget.exceeded.or(Some(exceeded));
    BUDGET.set(Some(budget));
    Err(exceeded)
}
