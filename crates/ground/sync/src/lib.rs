//! Synchronisation between the worker threads of a parallel run.
//!
//! | module | contents |
//! |---|---|
//! | [`barrier`] | barriers: no worker continues before all have arrived |
//! | [`reduction`] | a reduction that does not block: workers offer words, and all read them later |
//! | [`event_count`] | a worker sleeps until another notifies it |
//! | [`pool`] | workers that help a leader with rounds of tasks |
//! | [`help`] | idle workers help with the tasks of one event |
//! | [`padded`] | values on cache lines of their own |
//! | [`patience`] | the time for which a thread spins and yields before it sleeps |
//!
//! Engines that advance in windows cross a barrier several times in each window. So the cost of a crossing
//! bounds how short a window may be.
//!
//! *Tests.* The same code runs on the atomics of `std` and on those of the model checker `loom`. The model
//! checker tries every interleaving, and every value that the memory orderings allow a load to return.
//! `cargo test -p parades-sync` runs both: unit tests are compiled for loom, and the tests in `tests/` for
//! `std`.
//!
//! *Read next*: [`barrier`].

#![forbid(unsafe_code)]

pub mod barrier;
pub mod event_count;
pub mod help;
pub mod padded;
pub mod patience;
pub mod pool;
pub mod reduction;
mod shim;
