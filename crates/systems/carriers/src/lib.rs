//! Carriers: what the messages of programs travel over.
//!
//! | carrier | a message takes |
//! |---|---|
//! | [`Constant`] | the same time always |
//! | [`Direct`] | a time that depends on its sender, its receiver and itself ([`Latencies`]) |
//! | [`Matrix`] | the latency that a table has for its sender and receiver |
//! | [`Underlay`] | the latency of an underlay of a peer-to-peer network, with jitter, loss and partitions |
//! | [`Capacity`] | the latency of an underlay, and with data its share of two access links |
//! | [`FlowLevel`] | as long as a flow over the links of a platform, which it shares with others |
//! | [`PacketLevel`] | as long as a packet over the links and queues of a network, or it is lost |
//! | [`Both`] | what one of two carriers says; each message names its carrier |
//!
//! Over a platform, programs also compute, and meet at mailboxes ([`OnPlatform`]).
//!
//! A program over one of them runs over any other: all are carriers in the sense of
//! [`parades_program::carrier`], where further ones can be written in any crate. `tests/outside` is an
//! example of such a crate.
//!
//! *Read next*: [`direct`], the simplest.

#![forbid(unsafe_code)]

pub mod both;
pub mod capacity;
pub mod direct;
pub mod flow_level;
pub mod matrix;
mod near;
pub mod packet_level;
pub mod underlay;

pub use both::{Both, Which};
pub use capacity::Capacity;
pub use direct::{Constant, Direct, Latencies, Latency};
pub use flow_level::{FlowLevel, OnPlatform};
pub use matrix::{Matrix, Missing};
pub use packet_level::PacketLevel;
pub use underlay::Underlay;
