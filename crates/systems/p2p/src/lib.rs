//! Peer-to-peer systems.
//!
//! A protocol is a state machine without input or output of its own. Time, random numbers and sends come from
//! the driver of the machine.
//!
//! | where | what |
//! |---|---|
//! | [`driver`] | the trait of a protocol, and the two drivers: a program, and a model that can be rolled back |
//! | [`churn`] | nodes that come and go, for any protocol |
//! | [`bittorrent`] | a swarm of peers that exchange the pieces of a file |
//! | [`chord`] | look-ups in a ring of identifiers |
//! | [`gossip`] | rumours by push, pull and both |
//! | [`gossipsub`] | publish and subscribe over meshes of peers with scores |
//! | [`averaging`] | the mean of all values, by exchanges of pairs |
//! | [`kademlia`] | look-ups by XOR distance; values that are stored and republished |
//!
//! `tests/all/rumours_spread_as_theory_says.rs` has a whole protocol in a page.
//!
//! *Read next*: [`driver`].

#![forbid(unsafe_code)]

pub mod averaging;
pub mod bittorrent;
pub mod chord;
pub mod churn;
pub mod driver;
pub mod gossip;
pub mod gossipsub;
pub mod kademlia;
mod membership;
pub mod unfinished;

/// A refused parameter: its name, and a sentence on what is wrong.
pub type Invalid = (&'static str, String);

/// The greatest number of nodes that users can set, one fewer than the greatest number of LPs of a model.
const NODES_MAX: u64 = 4_294_967_293;
