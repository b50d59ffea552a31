//! Time, events and their order, and the sets in which pending events wait. Nothing here knows a model or an engine.
//!
//! This is the lowest crate of the contract. It may use `parades-raw` and nothing else of the project. [`parades-core`] builds models and their
//! execution on it, and re-exports its modules, so most readers never name this crate.
//!
//! - [`time`]: virtual time, an integer count of picoseconds, superdense.
//! - [`event`]: events and [`event::EventKey`], the one order in which an LP executes them.
//! - [`pending`]: the pending event sets. [`optimistic`]: the set of an optimistic worker, which holds anti-messages too.
//! - [`outbox`]: the destination of the sends of an execution. [`placement`]: which partition owns each LP.
//! - [`digest`]: the running hash of executed events. [`shared`]: payloads that are written once and shared.
//! - [`ring`]: a log that grows at one end and is released at the other.
//!
//! [`parades-core`]: ../parades_core/index.html
//!
//! *Read next*: [`event`].

#![forbid(unsafe_code)]

pub mod digest;
pub mod event;
pub mod optimistic;
pub mod outbox;
pub mod pending;
pub mod placement;
pub mod ring;
pub mod shared;
pub mod time;
