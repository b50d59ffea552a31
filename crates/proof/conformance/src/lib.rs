//! The proof of the kernel: every model on every engine over every transport, against the sequential engine.
//!
//! - [`engines`]: the table of engines. Three small engines document the algorithms and force rare
//!   interleavings.
//! - [`transport`]: carries events between partitions.
//! - [`random_model`], [`random`]: random models, on all engines.
//! - [`random_network`], [`networks`]: random network files, on all engines and on ranks.
//! - [`processes`]: random models, on real processes.
//! - [`matrix`]: the shipped models, on all engines.
//! - [`saved`]: runs that are broken, saved to files and go on; and files that were changed.
//! - [`stacks`]: programs whose processes have stacks, on several threads.
//! - [`golden`]: traces that are kept beside the code.
//!
//! `cargo test -p parades-conformance` runs a part of it.
//! `cargo run --release -p parades-conformance -- random 10000` runs any number of random models.
//!
//! *Read next*: [`engines::window`], the simplest engine with partitions; then [`engines::time_warp`].

#![forbid(unsafe_code)]

pub mod compare;
pub mod engines;
pub mod golden;
pub mod ledger;
pub mod matrix;
pub mod networks;
pub mod processes;
pub mod random;
pub mod random_model;
pub mod random_network;
pub mod report;
pub mod saved;
mod sockets;
pub mod stacks;
pub mod transport;
