//! Networks at rest: nodes, links, and the paths between them, before any model is made of them.
//!
//! A [`Topology`] is nodes and full-duplex links. It is built by hand, read from a GraphML file ([`graphml`]), or generated ([`backbone`]).
//! [`routing`] finds shortest paths through it. [`geo`] turns places on Earth into delays.
//!
//! This crate may use the contract alone; every packet and flow network stands on it.
//!
//! *Read next*: [`Topology`].

#![forbid(unsafe_code)]

mod backbone;
pub mod geo;
pub mod graphml;
pub mod routing;
mod topology;

pub use backbone::backbone;
pub use topology::{Interface, Link, LinkId, NodeId, Topology, TopologyError};
