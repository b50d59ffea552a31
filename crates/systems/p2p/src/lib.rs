//! Peer-to-peer systems, written as processes.
//!
//! *Read next*: [`chord`].

#![forbid(unsafe_code)]

pub mod chord;
