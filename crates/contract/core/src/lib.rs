//! The contract that every engine of parades keeps.
//!
//! One idea: **write a model once; every engine gives the same answer, bit for bit.** The engine and the
//! number of threads, processes and machines change only the time that a run takes. The promises:
//!
//! 1. *Time* is an integer count of picoseconds, and superdense: an [`time::Instant`] is a time and a round.
//!    A cause is strictly before its effect, even at zero delay.
//! 2. *Order*: an LP executes its events in the order of [`event::EventKey`]. No field of it depends on how
//!    the model is run.
//! 3. *Handlers* see their state, the event, their random stream and constants. They act through
//!    [`model::Context`] alone.
//! 4. *Lookahead* is declared by [`channel::Channels`], and every engine checks every send against it.
//! 5. *Global events* happen while no LP executes ([`global`]).
//! 6. *Metrics and traces* take effect when an event is committed, never before ([`metrics`], [`trace`]).
//! 7. *Failures*: every engine reports the same failure, the first in the order of [`error::Place`].
//! 8. *The digest* of a run tells whether two histories are equal ([`digest`]).
//!
//! # Ties
//!
//! Events of one time and round at one LP tie. Without a tie seed they come in the order of their senders'
//! ids; the sender of a timer is the LP itself. A tie seed shuffles them, alike on every engine
//! ([`run::RunOptions::tie_seed`]), and a result that changes with it depends on an order that the model does
//! not define. These pairs occur in both orders:
//!
//! | tie | without a tie seed |
//! |---|---|
//! | messages of two senders, also over different routes | by the senders; hop by hop, the sender is the last router |
//! | a message and a timer: a timeout, the coming, leaving or crash of a peer, the end of a sleep | by sender and LP; a program or peer that a message wakes sees at once that its time has come |
//! | a packet that arrives at a port, and one that leaves it without an event | the model decides ([`model::Context::precedes`]) |
//!
//! These orders are defined, and no tie seed changes them:
//!
//! | order | reason |
//! |---|---|
//! | global events (failures of links and nodes in a network, samples) come before all else of their time | all LPs are at rest |
//! | events of one sender, such as two timers of an LP, come in the order of their sending | the sequence is part of the order |
//! | an event without delay comes after its cause | rounds |
//!
//! The pending event sets ([`pending`]) belong to the contract, not to the engines. So a sent event is
//! written once, straight to where it is pending ([`outbox`]).
//!
//! *Read next*: [`event`], the order; [`model`], what a model is; [`lp`], how an event is executed. Then the
//! `sequential` engine, a loop of one screen that defines the answer.

#![forbid(unsafe_code)]

// Generated code names this crate `parades_core`, inside this crate too.
extern crate self as parades_core;

pub mod any_model;
pub mod budget;
pub mod capture;
pub mod channel;
mod context;
pub mod cut;
pub mod effects;
pub mod error;
pub mod escape;
pub mod global;
pub mod lp;
pub mod metrics;
pub mod model;
pub mod profile;
pub mod random;
pub mod restore;
pub mod round_log;
pub mod run;
pub mod text;
pub mod timer;
pub mod timesheet;
pub mod trace;
pub mod world;

pub use parades_event::{
    arena, bytes, digest, event, optimistic, outbox, pending, placement, ring, shared, time, wire,
};
pub use parades_raw::prefetch;

/// The names that models need.
pub mod prelude {
    pub use crate::bytes::Bytes;
    pub use crate::channel::{Channels, Port};
    pub use crate::digest::{Digest, Payload};
    pub use crate::event::{Body, Event, LpId, Sender, TimerId};
    pub use crate::global::{Global, GlobalContext, NoGlobal};
    pub use crate::metrics::{
        Cell, Column, CounterId, Declaration, Declared, FloatId, IntegerId, MetricId, Metrics, SeriesId, TableId, Unit,
        ValueId,
    };
    pub use crate::model::{Context, Model};
    pub use crate::random::Rng;
    pub use crate::restore::{ByCopy, ByRecord, Recorder, Restorable, Tracked, UndoLog, Undoable};
    pub use crate::run::{End, Outcome, RunOptions, Unfinished};
    pub use crate::shared::Shared;
    pub use crate::time::{Delay, Instant, Time};
    pub use crate::world::Controllers;
}
