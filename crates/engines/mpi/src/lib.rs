//! The fabric between ranks that MPI has started.
//!
//! [`connect`] starts the *communicating thread* of this rank. Only this thread calls MPI, from
//! initialisation to the end. Workers append byte strings to queues. The thread sends all waiting bytes for a
//! rank as one message, and receives by probing.
//!
//! The thread reaches MPI through the trait [`Messenger`]. With the feature `mpi`, `System` implements it by
//! the MPI library of this machine. So a different MPI library needs a new build of this crate only, and the
//! fabric is tested without MPI.
//!
//! *Hybrid*: [`share_memory`] joins the ranks of each machine by shared memory. Only byte strings between
//! machines then travel over MPI.
//!
//! *Ends*: a rank that drops its fabric sends an end mark to all ranks. The thread leaves MPI after it has
//! received the marks of all ranks. A rank that failed waits [`PATIENCE`] for the marks, and then aborts the
//! job.
//!
//! *Read next*: [`Messenger`], then `thread.rs`.

#![forbid(unsafe_code)]

mod fabric;
mod framing;
#[cfg(target_os = "linux")]
mod hybrid;
mod idle;
mod job;
mod messenger;
mod queues;
#[cfg(feature = "mpi")]
mod system;
mod thread;

pub use fabric::MpiFabric;
#[cfg(target_os = "linux")]
pub use hybrid::{Shared, share_memory};
pub use job::{Connected, Job, connect};
pub use messenger::Messenger;
#[cfg(feature = "mpi")]
pub use system::System;
pub use thread::PATIENCE;
