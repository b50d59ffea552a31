//! Time, events and their order, and pending event sets. Nothing here knows a model or an engine.
//!
//! This is the lowest crate of the contract. It uses `parades-raw` and no other crate of the project.
//! [`parades-core`] builds models and their execution on it, and re-exports its modules. So most readers
//! never name this crate.
//!
//! - [`time`]: virtual time, an integer count of picoseconds, superdense.
//! - [`event`]: events and [`event::EventKey`], the order in which an LP executes them.
//! - [`pending`]: pending event sets. [`optimistic`]: the set of an optimistic worker, which also holds
//!   anti-messages.
//! - [`outbox`]: the destination of the events that executions send. [`placement`]: the partition of each LP.
//! - [`digest`]: the running hash of committed events. [`shared`]: payloads that are written once and shared.
//! - [`ring`]: a circular log. [`wire`]: values that cross process boundaries.
//! - [`bytes`]: bulk bytes of a message. [`arena`](mod@arena): the memory in which they cross to other
//!   processes.
//!
//! [`parades-core`]: ../parades_core/index.html
//!
//! *Read next*: [`time`], then [`event`].

#![forbid(unsafe_code)]

pub mod arena;
pub mod bytes;
pub mod digest;
pub mod event;
pub mod optimistic;
pub mod outbox;
pub mod pending;
pub mod placement;
pub mod ring;
pub mod shared;
pub mod time;
pub mod wire;
