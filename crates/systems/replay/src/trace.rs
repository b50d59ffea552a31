//! Trace files: the actions of each rank.
//!
//! A line has a rank, an action and its arguments. Lines that begin with `#` are comments. A list of files,
//! one file a line, stands for the lines of all of them. Each rank from 0 to the greatest one has a line.
//!
//! | action | arguments |
//! |---|---|
//! | `init` | with an argument, amounts of this rank that name no type are of `double`, else of bytes |
//! | `finalize`, `comm_size`, `comm_split`, `comm_dup`, `location` | any; the action takes no time |
//! | `compute` | flops |
//! | `sleep` | seconds |
//! | `send`, `isend` | receiver, tag, amount, type |
//! | `recv`, `irecv` | sender or -555 for any, tag or -444 for any, greatest amount, type |
//! | `sendrecv` | amount sent, receiver, greatest amount received, sender, types of both |
//! | `wait` | sender, receiver and tag of the message; without them, the request that the rank made last |
//! | `waitall` | waits for all requests of the rank; perhaps their number, which says nothing |
//! | `barrier` | |
//! | `bcast` | amount, root, type |
//! | `reduce` | amount, flops, root, type |
//! | `allreduce`, `scan`, `exscan` | amount, flops, type |
//! | `reducescatter` | the amount of each rank, flops, type |
//! | `gather`, `scatter` | amount sent to or from each rank, amount received, root, types of both |
//! | `allgather`, `alltoall` | amount sent to each rank, amount received from each, types of both |
//! | `gatherv` | amount sent, the amount received from each rank, root, types of both |
//! | `allgatherv` | amount sent, the amount received from each rank, types of both, displacements |
//! | `scatterv` | the amount sent to each rank, amount received, root, types of both |
//! | `alltoallv` | send buffer, the amounts sent to the ranks, receive buffer, the amounts received, types of both |
//!
//! An amount is a number of elements, such as `1e6`, of at most 2,147,483,647, as in MPI. A fraction of an
//! element is dropped. Types are the numbers that SimGrid writes, from 0 (`double`) to 59. Types, a root (0)
//! and the amount of a `recv` may be left out; -1 for the amount of a `recv` means any. Displacements and
//! buffers are checked, and have no effect. Names of actions may be in upper or lower case.

mod read;
mod words;

pub use read::{parse, read};

use parades_core::time::Delay;
use std::path::PathBuf;
use std::sync::Arc;

/// The greatest number of ranks.
pub const RANKS_MAX: usize = 1 << 20;

/// An action of a rank.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// It computes this number of flops.
    Compute(f64),
    /// It sleeps.
    Sleep(Delay),
    /// It sends a message. If the message is long, it waits until the message has arrived.
    Send(Outgoing),
    /// It sends a message, as a request.
    Isend(Outgoing),
    /// It receives a message.
    Recv(Incoming),
    /// It receives a message, as a request.
    Irecv(Incoming),
    /// It sends and receives at the same time.
    SendRecv(Outgoing, Incoming),
    /// It waits for the request that it made last.
    WaitLast,
    /// It waits for its first request of a message between these ends.
    Wait {
        /// The sender. `None`: a rank that the trace does not name.
        from: Option<u32>,
        /// The receiver.
        to: u32,
        /// The tag.
        tag: i64,
    },
    /// It waits for all its requests.
    WaitAll,
    /// It takes part in an operation of all ranks.
    Collective(Collective),
}

/// A message that a rank sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outgoing {
    /// The receiver.
    pub to: u32,
    /// Its tag.
    pub tag: i64,
    /// Its length, in bytes.
    pub bytes: f64,
}

/// A message that a rank receives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Incoming {
    /// The sender. `None`: any rank.
    pub from: Option<u32>,
    /// Its tag. `None`: any tag.
    pub tag: Option<i64>,
    /// The greatest length, in bytes.
    pub room: f64,
}

/// An operation in which all ranks take part.
#[derive(Clone, Debug, PartialEq)]
pub enum Collective {
    /// Each rank waits for all ranks.
    Barrier,
    /// The root sends data to all ranks.
    Bcast {
        /// In bytes.
        bytes: f64,
        /// The rank that has the data.
        root: u32,
    },
    /// All ranks send data to the root, which combines them.
    Reduce {
        /// In bytes.
        bytes: f64,
        /// The computation of each rank afterwards.
        flops: f64,
        /// The rank that gets the result.
        root: u32,
    },
    /// All ranks get the combined data.
    AllReduce {
        /// In bytes.
        bytes: f64,
        /// The computation of each rank afterwards.
        flops: f64,
    },
    /// The data are combined, and each rank gets its part.
    ReduceScatter {
        /// The parts of the ranks, in bytes.
        parts: Arc<[f64]>,
        /// The number of elements of all parts.
        elements: f64,
        /// The computation of each rank afterwards.
        flops: f64,
    },
    /// Each rank gets the combined data of the ranks before it (`exscan`), or also its own (`scan`).
    Scan {
        /// In bytes.
        bytes: f64,
        /// The computation of each rank afterwards.
        flops: f64,
    },
    /// Each rank sends a part to each rank, and all parts are equal.
    AllToAll {
        /// The part that is sent to each rank, in bytes.
        bytes: f64,
        /// The room for the part of each rank, in bytes.
        room: f64,
    },
    /// Each rank sends a part to each rank.
    AllToAllV {
        /// The part that is sent to each rank, in bytes.
        bytes: Arc<[f64]>,
        /// The room for the part of each rank, in bytes.
        room: Arc<[f64]>,
    },
    /// Each rank sends data to the root.
    Gather {
        /// In bytes.
        bytes: f64,
        /// The room for the data of each rank, in bytes.
        room: Parts,
        /// The rank that gets the data.
        root: u32,
    },
    /// Each rank sends data to each rank.
    AllGather {
        /// In bytes.
        bytes: f64,
        /// The room for the data of each rank, in bytes.
        room: Parts,
    },
    /// The root sends a part to each rank.
    Scatter {
        /// The part that is sent to each rank, in bytes.
        bytes: Parts,
        /// The room for the part, in bytes.
        room: f64,
        /// The rank that has the data.
        root: u32,
    },
}

/// A number of bytes for each rank.
#[derive(Clone, Debug, PartialEq)]
pub enum Parts {
    /// The same for all ranks.
    Equal(f64),
    /// By rank.
    Each(Arc<[f64]>),
}

impl Parts {
    /// Returns the number of bytes of a rank.
    pub fn of(&self, rank: u32) -> f64 {
        match self {
            Parts::Equal(bytes) => *bytes,
            Parts::Each(bytes) => bytes[rank as usize],
        }
    }
}

/// An action, with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The action.
    pub action: Action,
    /// The index of its file in [`Trace::files`].
    pub file: u32,
    /// The line in that file, counted from 1.
    pub line: u32,
}

/// The actions of all ranks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// By rank, in their order.
    pub ranks: Vec<Vec<Step>>,
    /// The files of the steps.
    pub files: Vec<PathBuf>,
}

impl Trace {
    /// Returns whether a rank takes part in an `alltoall`.
    pub fn has_all_to_all(&self) -> bool {
        let steps = self.ranks.iter().flatten();
        steps.into_iter().any(|step| matches!(step.action, Action::Collective(Collective::AllToAll { .. })))
    }
}

/// A program that a trace may come from: ranks in a ring that, step by step, exchange borders with both
/// neighbours, compute, and agree on 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stencil {
    /// The number of ranks.
    pub ranks: u32,
    /// The number of steps.
    pub steps: u32,
    /// The computation of a rank in a step.
    pub flops: f64,
    /// A border, in bytes.
    pub bytes: f64,
}

impl Stencil {
    /// Returns the trace of the program.
    pub fn trace(self) -> Trace {
        let Stencil { ranks, steps, flops, bytes } = self;
        let of_rank = |rank: u32| {
            let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
            let receive = |from, tag| Action::Irecv(Incoming { from: Some(from), tag: Some(tag), room: bytes });
            let send = |to, tag| Action::Isend(Outgoing { to, tag, bytes });
            let exchange = vec![receive(left, 0), receive(right, 1), send(right, 0), send(left, 1), Action::WaitAll];
            let step = if ranks > 1 { exchange } else { Vec::new() };
            let agree = Collective::AllReduce { bytes: 8.0, flops: 0.0 };
            let rest = [Action::Compute(flops), Action::Collective(agree)];
            let step: Vec<Action> = step.into_iter().chain(rest).collect();
            let all = (0..steps).flat_map(|_| step.clone());
            (1..).zip(all).map(|(line, action)| Step { action, file: 0, line }).collect()
        };
        Trace { ranks: (0..ranks).map(of_rank).collect(), files: vec!["the built-in stencil".into()] }
    }
}
