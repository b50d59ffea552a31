//! From a plan of a run to its result.
//!
//! - [`failure`]: why there is no result, and the exit status that says so.
//! - [`machine`]: the machine that runs are executed on, and the memory of this process.
//! - [`panics`]: where the last panic was.

#![forbid(unsafe_code)]

pub mod failure;
pub mod machine;
pub mod panics;

pub use failure::Failure;
