//! The processes of one machine as the ranks of a run.
//!
//! Rank 0 is the process that the user has started. It starts the other ranks as children ([`Crew::start`]),
//! and each child joins ([`join`]). All are connected by
//! [`SharedMemory`](parades_transport::SharedMemory).
//!
//! *Ends.* Rank 0 holds a pipe to the standard input of each child. When the pipe ends, the child exits. So
//! no child outlives rank 0, whatever ends rank 0. The segments have no names, so the system frees them with
//! the last process. A thread of rank 0 waits for each child. If a child dies, the thread declares its rank
//! lost, with a reason that names the child and the signal.
//!
//! *Signals.* Children are in process groups of their own. So Ctrl-C reaches rank 0 alone, which ends the run
//! at a cut.
//!
//! The crate knows no model and no engine: what a child does after it has joined is its program's affair.

#![forbid(unsafe_code)]

mod child;
mod crew;
mod ended;

pub use child::{Joined, join};
pub use crew::{Crew, Report};

use serde::{Deserialize, Serialize};

/// The variable that tells a process that it was started as a rank.
const VARIABLE: &str = "PARADES_RANK";

/// True if this process was started as a rank, by [`Crew::start`].
pub fn is_rank() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// The first line on the standard input of a child.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Greeting {
    /// The process of rank 0, which holds the descriptors.
    launcher: u32,
    rank: usize,
    /// The descriptors of the segments, by rank.
    segments: Vec<i32>,
    /// The descriptors of the arenas for payloads, by rank. Empty if payloads are copied.
    arenas: Vec<i32>,
    /// The order for the child's program.
    order: serde_json::Value,
}
