//! The shared-memory transport exists on Linux only.

use super::Cell;
use parades_session::Failure;
use std::process::Command;

/// The path of a message's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// Together with others, through a lane.
    Batched,
    /// Through a lane.
    Copied,
    /// In an arena.
    InPlace,
}

/// Fails.
pub(super) fn run(_: &dyn Fn() -> Command, _: Cell, _: Payload) -> Result<f64, Failure> {
    Err(Failure::simulation("shared memory between processes needs Linux"))
}

/// Returns false.
pub(super) fn run_as_rank() -> Result<bool, Failure> {
    Ok(false)
}

/// Returns false.
pub(super) fn is_rank() -> bool {
    false
}
