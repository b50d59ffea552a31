//! What Chord's nodes tell each other. Nodes are named by their identifiers.

use super::node::BACKUPS;
use parades_core::digest::{Digest, Payload};

/// A message of Chord.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Who is the successor of `key`? To be passed on until it reaches the node before the key, which answers the asker.
    Find {
        /// The identifier in question.
        key: u32,
        /// Who asks.
        asker: u32,
        /// The asker's number of this question.
        ticket: u32,
        /// Nodes that it has reached, this one included.
        hops: u16,
    },
    /// To [`Message::Find`].
    Found {
        /// The asker's number of the question.
        ticket: u32,
        /// The successor.
        successor: u32,
        /// Nodes that the question reached.
        hops: u16,
    },
    /// A node wants to join: it is to be passed on until it reaches the node that comes before the newcomer.
    Join {
        /// The newcomer.
        newcomer: u32,
        /// How often the newcomer has tried to join.
        session: u16,
        /// Nodes that it has reached, this one included.
        hops: u16,
        /// Whether it has reached the ring. Before, nodes pass it on that have not joined themselves.
        in_ring: bool,
    },
    /// To [`Message::Join`]: the newcomer's predecessor has taken it for its successor.
    Joined {
        /// Which time it wanted to join.
        session: u16,
        /// The newcomer's predecessor.
        predecessor: u32,
        /// The newcomer's successor, and those after it.
        successors: [u32; BACKUPS],
    },
    /// Who is your predecessor?
    GetPredecessor {
        /// Who asks.
        asker: u32,
        /// The asker's number of this question.
        ticket: u32,
    },
    /// To [`Message::GetPredecessor`].
    Predecessor {
        /// The asker's number of the question.
        ticket: u32,
        /// The predecessor, if one is known.
        predecessor: Option<u32>,
        /// The next nodes after the one that answers, for when it fails.
        successors: [u32; BACKUPS],
    },
    /// I might be your predecessor.
    Notify {
        /// Who says so.
        id: u32,
    },
    /// Are you there?
    Ping {
        /// Who asks.
        asker: u32,
        /// The asker's number of this question.
        ticket: u32,
    },
    /// To [`Message::Ping`].
    Pong {
        /// The asker's number of the question.
        ticket: u32,
    },
    /// Your predecessor is leaving.
    PredecessorLeaves {
        /// Who leaves.
        leaver: u32,
        /// Its predecessor, if it knows it.
        predecessor: Option<u32>,
    },
    /// Your successor is leaving.
    SuccessorLeaves {
        /// Who leaves.
        leaver: u32,
        /// Its successor.
        successor: u32,
    },
}

impl Message {
    /// Whether it answers the question of this number.
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

/// Two numbers in one word.
#[inline]
fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// How long a message is in a network in which that matters, in bytes: as long as in SimGrid's example, whatever it says.
pub const MESSAGE_BYTES: f64 = 10.0;

impl Payload for Message {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        // The kind is in the last word of each, above what else is there, or told by how many words there are.
        let known = |id: Option<u32>| id.map_or(u64::MAX, u64::from);
        match *self {
            Message::Find { key, asker, ticket, hops } => {
                digest.word(pair(key, asker));
                digest.word(pair(u32::from(hops) | 1 << 16, ticket));
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
