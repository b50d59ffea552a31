//! Networks: topologies, routes, and a packet-level model of them.
//!
//! A [`topology::Topology`] is built by hand, read from GraphML ([`graphml`]) or generated ([`campus`], [`wan`]). [`routing`] finds the
//! paths of its flows, and [`network::Network`] is the model: one LP for each node, one event for each hop of a packet.
//!
//! *Read next*: [`network`], the model; [`interface`], why a hop is one event; [`campus`] and [`wan`], two ready-made scenarios.

pub mod campus;
pub mod flow;
pub mod geo;
pub mod graphml;
pub mod interface;
mod layout;
pub mod network;
pub mod node;
mod report;
pub mod routing;
pub mod topology;
pub mod traffic;
pub mod wan;
