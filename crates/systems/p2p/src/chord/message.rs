//! The messages of Chord's nodes. Identifiers name the nodes.

use super::peer::BACKUPS;
use parades_core::digest::{Digest, Payload};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A message of Chord.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Asks for the successor of `key`. Nodes pass the question on until it reaches the node before the key,
    /// which answers the asker.
    Find {
        /// The identifier that is looked up.
        key: u32,
        /// The node that asks.
        asker: u32,
        /// The asker's number of this question.
        ticket: u32,
        /// The number of nodes that the message has reached, the receiver included.
        hops: u16,
        /// True if it is a look-up of the user, and not maintenance.
        for_user: bool,
    },
    /// Answers [`Message::Find`].
    Found {
        /// The asker's number of the question.
        ticket: u32,
        /// The successor.
        successor: u32,
        /// The number of nodes that the question reached.
        hops: u16,
    },
    /// Asks to join the ring. Nodes pass the request on until it reaches the node before the newcomer.
    Join {
        /// The newcomer.
        newcomer: u32,
        /// The number of times that the newcomer has begun to join.
        session: u16,
        /// The number of nodes that the message has reached, the receiver included.
        hops: u16,
        /// True if the request has reached the ring. Before, it is passed on by nodes that have not joined
        /// themselves.
        in_ring: bool,
    },
    /// Answers [`Message::Join`]: the newcomer is now the successor of its predecessor.
    Joined {
        /// The session of the request.
        session: u16,
        /// The newcomer's predecessor.
        predecessor: u32,
        /// The newcomer's successor, and the nodes after that.
        successors: [u32; BACKUPS],
    },
    /// Asks for the predecessor of the receiver.
    GetPredecessor {
        /// The node that asks.
        asker: u32,
        /// The asker's number of this question.
        ticket: u32,
    },
    /// Answers [`Message::GetPredecessor`].
    Predecessor {
        /// The asker's number of the question.
        ticket: u32,
        /// The predecessor, if the node knows one.
        predecessor: Option<u32>,
        /// The next nodes after the one that answers, in case it fails.
        successors: [u32; BACKUPS],
    },
    /// Tells the receiver that the sender might be its predecessor.
    Notify {
        /// The sender.
        id: u32,
    },
    /// Asks whether the receiver is there.
    Ping {
        /// The node that asks.
        asker: u32,
        /// The asker's number of this question.
        ticket: u32,
    },
    /// Answers [`Message::Ping`].
    Pong {
        /// The asker's number of the question.
        ticket: u32,
    },
    /// Tells the receiver that its predecessor leaves.
    PredecessorLeaves {
        /// The node that leaves.
        leaver: u32,
        /// The predecessor of that node, if the node knows it.
        predecessor: Option<u32>,
    },
    /// Tells the receiver that its successor leaves.
    SuccessorLeaves {
        /// The node that leaves.
        leaver: u32,
        /// The successor of that node.
        successor: u32,
    },
}

impl Message {
    /// Returns whether the message answers the question of this number.
    #[inline]
    pub(crate) fn answers(&self, question: u32) -> bool {
        match *self {
            Message::Found { ticket, .. } | Message::Predecessor { ticket, .. } | Message::Pong { ticket } => {
                ticket == question
            }
            _ => false,
        }
    }
}

/// The bytes of headers: IPv4 (20) and UDP (8), the kind (1), the identifiers of the sender (20) and of the
/// request (20), as for Kademlia.
const HEADER_BYTES: u64 = 69;
/// The bytes of an identifier.
const ID_BYTES: u64 = 20;
/// The bytes of a contact: identifier, IPv4 address and port.
const CONTACT_BYTES: u64 = 26;

impl Message {
    /// Returns the length of the message in bytes as in [`crate::kademlia::Message::bytes`]: headers
    /// included, and identifiers of 20 bytes. Metrics count these bytes.
    pub fn wire_bytes(&self) -> u64 {
        let contacts = |count: usize| CONTACT_BYTES * count as u64;
        HEADER_BYTES
            + match self {
                Message::Find { .. } => ID_BYTES + contacts(1),
                Message::Found { .. } | Message::Join { .. } | Message::SuccessorLeaves { .. } => contacts(1),
                Message::Joined { successors, .. } => contacts(1 + successors.len()),
                Message::Predecessor { predecessor, successors, .. } => {
                    contacts(usize::from(predecessor.is_some()) + successors.len())
                }
                Message::PredecessorLeaves { predecessor, .. } => contacts(usize::from(predecessor.is_some())),
                Message::GetPredecessor { .. }
                | Message::Notify { .. }
                | Message::Ping { .. }
                | Message::Pong { .. } => 0,
            }
    }

    /// Returns whether the message is part of a look-up of the user. Answers do not say so.
    #[inline]
    pub(crate) fn is_users(&self) -> bool {
        matches!(self, Message::Find { for_user: true, .. })
    }
}

/// Puts two numbers into one word.
#[inline]
fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The length of every message in bytes, for carriers where that matters. It is that of SimGrid's example.
/// Metrics count [`Message::wire_bytes`].
pub const MESSAGE_BYTES: f64 = 10.0;

/// The message as the object of "a node sends".
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Find { key, asker, ticket, .. } => write!(f, "find {key} for {asker} (question {ticket})"),
            Message::Found { ticket, successor, .. } => write!(f, "found {successor} (question {ticket})"),
            Message::Join { newcomer, .. } => write!(f, "the request of {newcomer} to join"),
            Message::Joined { predecessor, successors, .. } => {
                write!(f, "joined between {predecessor} and {successors:?}")
            }
            Message::GetPredecessor { ticket, .. } => write!(f, "the question for its predecessor (question {ticket})"),
            Message::Predecessor { ticket, predecessor: Some(id), .. } => {
                write!(f, "its predecessor {id} (question {ticket})")
            }
            Message::Predecessor { ticket, predecessor: None, .. } => write!(f, "no predecessor (question {ticket})"),
            Message::Notify { id } => write!(f, "notify of {id}"),
            Message::Ping { ticket, .. } => write!(f, "ping (question {ticket})"),
            Message::Pong { ticket } => write!(f, "pong (question {ticket})"),
            Message::PredecessorLeaves { leaver, .. } => write!(f, "that its predecessor {leaver} leaves"),
            Message::SuccessorLeaves { leaver, .. } => write!(f, "that its successor {leaver} leaves"),
        }
    }
}

impl Payload for Message {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        // The kind is in the last word of each message, above the rest of that word, or follows from the
        // number of words.
        let known = |id: Option<u32>| id.map_or(u64::MAX, u64::from);
        match *self {
            Message::Find { key, asker, ticket, hops, for_user } => {
                digest.word(pair(key, asker));
                digest.word(pair(u32::from(hops) | 1 << 16 | u32::from(for_user) << 24, ticket));
            }
            Message::Found { ticket, successor, hops } => {
                digest.word(pair(u32::from(hops) | 2 << 16, ticket));
                digest.word(u64::from(successor));
            }
            Message::Join { newcomer, session, hops, in_ring } => {
                digest.word(pair(newcomer, u32::from(session) << 16 | u32::from(hops)));
                digest.word(pair(3 << 16, u32::from(in_ring)));
            }
            Message::Joined { session, predecessor, successors } => {
                successors.into_iter().for_each(|id| digest.word(pair(predecessor, id)));
                digest.word(pair(4 << 16, u32::from(session)));
            }
            Message::GetPredecessor { asker, ticket } => {
                digest.word(pair(asker, ticket));
                digest.word(5 << 48);
            }
            Message::Predecessor { ticket, predecessor, successors } => {
                digest.word(known(predecessor));
                successors.into_iter().for_each(|id| digest.word(pair(6 << 16, id)));
                digest.word(pair(6 << 16, ticket));
            }
            Message::Notify { id } => digest.word(pair(7 << 16, id)),
            Message::Ping { asker, ticket } => {
                digest.word(pair(asker, ticket));
                digest.word(8 << 48);
            }
            Message::Pong { ticket } => digest.word(pair(9 << 16, ticket)),
            Message::PredecessorLeaves { leaver, predecessor } => {
                digest.word(known(predecessor));
                digest.word(pair(10 << 16, leaver));
            }
            Message::SuccessorLeaves { leaver, successor } => {
                digest.word(pair(leaver, successor));
                digest.word(11 << 48);
            }
        }
    }
}
