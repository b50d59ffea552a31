//! A node's program as straight-line code: `async` Rust over logical processes.
//!
//! A [`Program`] says what its nodes do, as *processes*: code that sleeps, sends, receives, begins other
//! processes and waits for them. Each node is an LP, and everything that happens to it is an event of that
//! LP. So every engine that needs no rollback runs the program, with the same answer. A process that has
//! begun cannot be copied. Therefore the model of a program ([`Processes`]) is not
//! [`parades_core::restore::Restorable`], and `time-warp` refuses it by its type.
//!
//! - Processes of one node run one at a time, each until it next waits, in the order in which they became
//!   ready. So they need no locks for their shared state ([`Node::with_state`]).
//! - A wait that is given up leaves nothing behind: a sleep that is dropped is never an event.
//! - Other crates' tools for `async` code (channels, combinators) work between the processes of a node, as
//!   long as they wait for nothing but other processes: wakers are those of [`std::task`]. A tool that draws
//!   random numbers or reads a clock of its own makes runs differ.
//! - A panic of a process is the error of the run, with the process's name. Processes that wait forever are
//!   reported at the end. The program may make them an error ([`Program::must_end`]).
//! - Code that waits deep inside calls which are not `async` runs on a stack of its own, or on a thread of
//!   its own ([`Stack`], [`Node::spawn_on`]). It waits for the same futures ([`Node::wait`]).
//! - Messages travel over a [`Carrier`]. Any crate may write one; `parades_carriers` has those of this
//!   project.
//!
//! *Cost*: a node takes a few hundred bytes, in addition to its state and the local state of its processes.
//! An event needs no allocation, no lock and no count of references.
//!
//! *Read next*: [`Program`], with an example; [`Node`], with the methods of processes; [`carrier`], how
//! messages travel; `desk`, how futures find their node.

#![forbid(unsafe_code)]

mod answers;
mod baton;
mod blocking;
mod call;
pub mod carrier;
mod context;
mod delivery;
mod desk;
mod here;
mod inbox;
mod life;
mod model;
mod news;
mod polling;
mod program;
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
pub use call::{Call, Claim, Order, ProcessId, RequestOf, Serves, ToProcesses};
pub use carrier::{
    AtEnd, AtNode, Carrier, CarrierContext, Copies, Departure, Held, Kernel, Layout, Letter, Mailbox, NodeContext,
    Receipt, RestorableCarrier, Restore, SaveCarrier, Timed, Undelivered, Wiring,
};
pub use context::{Node, Start};
pub use delivery::{Delivery, HostIs};
pub use here::{Actions, Here};
pub use life::{Exit, SuspendSelf};
pub use model::{CarrierState, LpState, NodeState, Processes};
pub use program::{Program, Received};
pub use receive::{Receive, ReceiveBefore};
pub use select::{Either, all, any, select};
pub use serve::Serve;
pub use sleep::Sleep;
pub use spawn::Handle;
pub use sync::{Acquire, Barrier, Condition, Mutex, Notified, Pass, Permit, Semaphore};
pub use table::Killed;
pub use wait::{Wait, now, waits_for};
