//! A node's program as straight-line code: `async` Rust over logical processes.
//!
//! A [`Program`] says what its nodes do, as *processes*: code that sleeps, sends, receives, begins other processes and waits for them. Each node is an LP, and
//! all that happens to it is events of that LP; so every engine that needs no rollback runs it, with the same answer. A process under way cannot be
//! copied, which is why the model of a program ([`Processes`]) is not [`parades_core::restore::Restorable`], and `time-warp` refuses it by its type.
//!
//! - Processes of one node run one at a time, each until it next waits, in the order in which they became ready. So they need no locks
//!   for what they share ([`Node::with_state`]).
//! - A wait that is given up leaves nothing behind: a sleep that is dropped is never an event.
//! - What other crates offer for `async` code (channels, combinators) works between the processes of a node, as long as it waits for nothing but
//!   other processes: wakers are those of [`std::task`]. What draws random numbers or looks at clocks of its own makes runs differ.
//! - A panic of a process is the error of the run, with the process's name. Processes that wait for ever are told of at the end, and are an error
//!   where the program says so ([`Program::must_end`]).
//! - Code that waits deep inside calls which are not `async` runs on a stack of its own, or on a thread of its own ([`Stack`], [`Node::spawn_on`]), and waits
//!   for the same futures ([`Node::wait`]).
//!
//! *Cost*: a node takes a few hundred bytes beside its state and its processes' own; no allocation, lock or count of references for an event.
//!
//! *Read next*: [`Program`], with an example; [`Node`], what a process may do; `desk`, how futures find their node.

#![forbid(unsafe_code)]

mod baton;
mod blocking;
mod context;
mod desk;
mod inbox;
mod model;
mod network;
mod polling;
mod receive;
mod report;
mod select;
mod serve;
mod sleep;
mod spawn;
mod sync;
mod table;
mod wait;

pub use blocking::{Stack, StackKind};
pub use context::{Here, Node, Sending, Start};
pub use model::{HubState, LpState, NodeState, Processes, Program, Received};
pub use network::{
    Carrier, Constant, Delivery, Direct, Flight, HostIs, Latency, Network, News, Parcel, Shared, SharedNetwork,
    Undelivered,
};
pub use receive::{Receive, ReceiveBefore};
pub use select::{Either, all, select};
pub use serve::Serve;
pub use sleep::Sleep;
pub use spawn::Handle;
pub use sync::{Acquire, Barrier, Condition, Mutex, Notified, Pass, Permit, Semaphore};
pub use table::Killed;
pub use wait::Wait;
