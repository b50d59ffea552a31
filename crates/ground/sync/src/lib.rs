//! Where the workers of a parallel run meet.
//!
//! The engines that advance in windows cross a barrier several times a window, so its cost bounds how short a window may be.
//!
//! *Tests.* The same code runs on std's atomics and on those of the model checker `loom`, which tries every interleaving and every value that
//! the orderings let a load see. `cargo test -p parades-sync` runs both: unit tests are compiled onto loom, the tests in `tests/` onto std.
//!
//! *Read next*: [`barrier`].

#![forbid(unsafe_code)]

pub mod barrier;
pub mod event_count;
pub mod patience;
pub mod pool;
pub mod reduction;
mod shim;
