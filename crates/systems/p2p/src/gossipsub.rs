//! GossipSub v1.1: publish and subscribe over meshes, with scores of peers.
//!
//! Nodes have connections to some other nodes, and subscribe to topics. For each topic a node keeps a mesh: a
//! few of its peers, to which it forwards each message of the topic at once. To other peers it gossips the
//! numbers of recent messages, and they ask for what they miss.
//!
//! # Scope
//!
//! | part | specification |
//! |---|---|
//! | meshes with `D`, `D_lo`, `D_hi`, GRAFT, PRUNE, heartbeats; fanout; message cache; IHAVE and IWANT | v1.0 |
//! | PRUNE with backoff and peer exchange; `D_out`, `D_score`; flood publishing; adaptive gossip | v1.1 |
//! | scores P1 to P7 with decay, and their thresholds; opportunistic grafting | v1.1, "Peer Scoring" |
//! | limits on IHAVE and IWANT, promises, ignored GRAFTs of unknown topics | v1.1, "Spam Protection Measures" |
//!
//! Left out: explicit peering agreements, leaving a topic, the scores of peers after they disconnect
//! (connections stay), and the choice "ignore" of extended validators.
//!
//! The specification leaves three things open. Here they are as in the implementations in Go and Rust: a node
//! waits two heartbeats beyond a backoff before it grafts; a GRAFT within ten seconds of the PRUNE counts as
//! two misdemeanours; all peers in a topic get the publisher's message if flood publishing is on.
//!
//! # Workload
//!
//! [`Parameters::messages`] messages, each from a random node and on a random topic, at equal intervals once
//! the meshes have formed. A message is validated for [`Parameters::validation`] before it is delivered and
//! forwarded. Some nodes may misbehave ([`Parameters::silent`], [`Parameters::spammers`]).
//!
//! # Random numbers
//!
//! Connections, publishers and topics follow from the seed of [`GossipSub::new`]. All other choices come from
//! the node's own stream. Peers are kept in the order of their numbers, so no choice depends on a hash table.
//!
//! *References*: libp2p specifications, `pubsub/gossipsub/gossipsub-v1.0.md` and `gossipsub-v1.1.md`.
//! D. Vyzovitis et al., "GossipSub: Attack-Resilient Message Propagation in the Filecoin and ETH2.0
//! Networks", arXiv:2007.02754, 2020.
//!
//! *Read next*: `gossipsub/machine.rs`, then `gossipsub/heartbeat.rs`.

mod cache;
mod control;
mod heartbeat;
mod machine;
mod message;
mod parameters;
mod peer;
mod protocol;
mod report;
mod scores;
mod setting;

pub use machine::Machine;
pub use message::Message;
pub use parameters::{Parameters, Subscriptions, TOPICS_MAX};
pub use scores::Scores;
pub use setting::{GossipSub, Publication};
