//! Nodes, links, and the paths between them, before any model is made of them.
//!
//! A [`Topology`] is nodes and links. It is built by hand, read from a file of another tool ([`import`]), or
//! generated ([`generators`]). [`routing`] finds shortest paths through it. [`geo`] turns places on Earth
//! into delays.
//!
//! This crate may use the contract only. Every packet and flow network is built on it.
//!
//! *Read next*: [`Topology`].

#![forbid(unsafe_code)]

pub mod generators;
pub mod geo;
pub mod import;
pub mod routing;
mod topology;
pub mod xml;

pub use topology::{Interface, Link, LinkId, NodeId, Topology, TopologyError};
