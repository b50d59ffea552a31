//! The messages of GossipSub. Numbers name messages, topics and nodes.

use parades_core::digest::{Digest, Payload};
use parades_core::time::Delay;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The length of the headers of a message in bytes: 40 of IP and TCP, and 20 of encryption and multiplexing.
const HEADER_BYTES: u64 = 60;
/// The length of a published message's fields beside its data: author, sequence number, topic, signature.
const ENVELOPE_BYTES: u64 = 140;
/// The length of a message's number.
const ID_BYTES: u64 = 20;
/// The length of a topic's name.
const TOPIC_BYTES: u64 = 16;
/// The length of an offered peer: its identity, without a signed record.
const PEER_BYTES: u64 = 40;

/// A message between two peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Connects, and says to which topics the sender subscribes.
    Hello {
        /// A bit for each topic.
        topics: u64,
    },
    /// Carries a published message.
    Publish {
        /// Its number.
        id: u32,
        /// Its topic.
        topic: u32,
        /// The node that published it.
        author: u32,
        /// The length of its data in bytes.
        bytes: u32,
        /// False if validation will reject it.
        is_valid: bool,
    },
    /// The sender has these messages.
    IHave {
        /// Their topic.
        topic: u32,
        /// Their numbers.
        ids: Box<[u32]>,
    },
    /// The sender wants these messages.
    IWant {
        /// Their numbers.
        ids: Box<[u32]>,
    },
    /// The receiver is now in the sender's mesh.
    Graft {
        /// The topic of the mesh.
        topic: u32,
    },
    /// The receiver is no longer in the sender's mesh.
    Prune {
        /// The topic of the mesh.
        topic: u32,
        /// The time for which the receiver must not graft the sender.
        backoff: Delay,
        /// Other peers in the topic.
        peers: Box<[u32]>,
    },
}

impl Message {
    /// Returns the length of the message in bytes.
    pub fn bytes(&self) -> u64 {
        let list = |items: &[u32], bytes: u64| items.len() as u64 * bytes;
        HEADER_BYTES
            + match self {
                Message::Hello { topics } => u64::from(topics.count_ones()) * TOPIC_BYTES,
                Message::Publish { bytes, .. } => ENVELOPE_BYTES + u64::from(*bytes),
                Message::IHave { ids, .. } => TOPIC_BYTES + list(ids, ID_BYTES),
                Message::IWant { ids } => list(ids, ID_BYTES),
                Message::Graft { .. } => TOPIC_BYTES,
                Message::Prune { peers, .. } => TOPIC_BYTES + 8 + list(peers, PEER_BYTES),
            }
    }
}

/// The message as the object of "a node sends".
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Hello { topics } => write!(f, "hello (topics: {})", topics.count_ones()),
            Message::Publish { id, topic, is_valid: true, .. } => write!(f, "message {id} of topic {topic}"),
            Message::Publish { id, topic, is_valid: false, .. } => {
                write!(f, "the invalid message {id} of topic {topic}")
            }
            Message::IHave { topic, ids } => write!(f, "I have {ids:?} of topic {topic}"),
            Message::IWant { ids } => write!(f, "I want {ids:?}"),
            Message::Graft { topic } => write!(f, "graft of topic {topic}"),
            Message::Prune { topic, .. } => write!(f, "prune of topic {topic}"),
        }
    }
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        let mut list = |kind: u64, first: u64, items: &[u32]| {
            digest.word(kind << 56 | items.len() as u64);
            digest.word(first);
            items.iter().for_each(|&item| digest.word(u64::from(item)));
        };
        match self {
            Message::Hello { topics } => list(0, *topics, &[]),
            &Message::Publish { id, topic, author, bytes, is_valid } => {
                list(1, u64::from(is_valid), &[id, topic, author, bytes]);
            }
            Message::IHave { topic, ids } => list(2, u64::from(*topic), ids),
            Message::IWant { ids } => list(3, 0, ids),
            Message::Graft { topic } => list(4, u64::from(*topic), &[]),
            Message::Prune { topic, backoff, peers } => {
                list(5, u64::from(*topic), peers);
                digest.word(backoff.as_ps());
            }
        }
    }
}
