//! Peer-to-peer systems.
//!
//! A protocol is a state machine without input or output of its own. Time, random numbers and sends come from
//! the driver of the machine: a program ([`parades_program`]), over any carrier, or a model, which can be
//! rolled back.
//!
//! | where | what |
//! |---|---|
//! | [`chord`] | look-ups in a ring of identifiers: the machine, and its two drivers |
//! | [`churn`] | nodes that come and go, for any protocol |
//!
//! *Read next*: [`chord`].

#![forbid(unsafe_code)]

pub mod chord;
pub mod churn;
