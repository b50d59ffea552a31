//! The messages of Kademlia's nodes.

use parades_core::digest::{Digest, Payload};
use parades_core::event::LpId;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A message of Kademlia. Every message tells the receiver that the sender is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Asks whether the receiver is there.
    Ping {
        /// The asker's number of the request.
        call: u32,
    },
    /// Asks for the receiver's contacts that are closest to `target`.
    FindNode {
        /// The asker's number of the look-up.
        look_up: u32,
        /// The identifier that is looked up.
        target: u64,
    },
    /// Asks for a value, or else for contacts as [`Message::FindNode`].
    FindValue {
        /// The asker's number of the look-up.
        look_up: u32,
        /// The key of the value.
        key: u64,
    },
    /// Asks the receiver to store a value.
    Store {
        /// The asker's number of the request.
        call: u32,
        /// The value.
        value: Box<Value>,
    },
    /// Answers [`Message::Ping`] and [`Message::Store`].
    Done {
        /// The number of the request.
        call: u32,
    },
    /// Answers [`Message::FindNode`], and [`Message::FindValue`] where the value is not there.
    Nodes {
        /// The number of the look-up.
        look_up: u32,
        /// At most *k* contacts. Shared, so that the receiver's copy needs no allocation.
        nodes: Arc<[LpId]>,
    },
    /// Answers [`Message::FindValue`] where the value is there.
    Found {
        /// The number of the look-up.
        look_up: u32,
        /// The value.
        value: Box<Value>,
    },
}

/// A value that nodes store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Value {
    /// The key, near which the value is stored.
    pub key: u64,
    /// The number of the value.
    pub number: u32,
    /// The length in bytes.
    pub bytes: u32,
    /// The time from which on the value is no longer there.
    pub expires: Time,
}

/// The bytes of headers: IPv4 (20) and UDP (8), the kind (1), the identifiers of the sender (20) and of the
/// request (20), as in the paper.
const HEADER_BYTES: u64 = 69;
/// The bytes of an identifier.
const ID_BYTES: u64 = 20;
/// The bytes of a contact: identifier, IPv4 address and port (BEP 5, "contact encoding").
const CONTACT_BYTES: u64 = 26;
/// The bytes of an expiry time.
const TIME_BYTES: u64 = 8;

impl Value {
    const fn length(&self) -> u64 {
        ID_BYTES + TIME_BYTES + self.bytes as u64
    }

    fn fold(&self, digest: &mut Digest) {
        let Value { key, number, bytes, expires } = *self;
        digest.word(key);
        digest.word(u64::from(number) << 32 | u64::from(bytes));
        digest.word(expires.as_ps());
    }
}

impl Message {
    /// Returns the length of the message in bytes, headers included. Identifiers count the 20 bytes of the
    /// paper.
    pub fn bytes(&self) -> u64 {
        HEADER_BYTES
            + match self {
                Message::Ping { .. } | Message::Done { .. } => 0,
                Message::FindNode { .. } | Message::FindValue { .. } => ID_BYTES,
                Message::Nodes { nodes, .. } => CONTACT_BYTES * nodes.len() as u64,
                Message::Store { value, .. } | Message::Found { value, .. } => value.length(),
            }
    }
}

/// The message as the object of "a node sends".
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Ping { call } => write!(f, "ping {call}"),
            Message::FindNode { look_up, target } => write!(f, "find node {target:016x} (look-up {look_up})"),
            Message::FindValue { look_up, key } => write!(f, "find value {key:016x} (look-up {look_up})"),
            Message::Store { call, value } => write!(f, "store {call} of value {}", value.number),
            Message::Done { call } => write!(f, "the answer to request {call}"),
            Message::Nodes { look_up, nodes } => {
                let nodes: Vec<u32> = nodes.iter().map(|node| node.0).collect();
                write!(f, "the contacts {nodes:?} (look-up {look_up})")
            }
            Message::Found { look_up, value } => write!(f, "value {} (look-up {look_up})", value.number),
        }
    }
}

impl Payload for Message {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        // The first word has the kind in its upper half.
        let first = |kind: u64, number: u32| kind << 32 | u64::from(number);
        match self {
            Message::Ping { call } => digest.word(first(1, *call)),
            Message::FindNode { look_up, target } => {
                digest.word(first(2, *look_up));
                digest.word(*target);
            }
            Message::FindValue { look_up, key } => {
                digest.word(first(3, *look_up));
                digest.word(*key);
            }
            Message::Store { call, value } => {
                digest.word(first(4, *call));
                value.fold(digest);
            }
            Message::Done { call } => digest.word(first(5, *call)),
            Message::Nodes { look_up, nodes } => {
                digest.word(first(6, *look_up));
                digest.word(nodes.len() as u64);
                for pair in nodes.chunks(2) {
                    let second = pair.get(1).map_or(0, |node| u64::from(node.0));
                    digest.word(u64::from(pair[0].0) << 32 | second);
                }
            }
            Message::Found { look_up, value } => {
                digest.word(first(7, *look_up));
                value.fold(digest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_fits_into_24_bytes_beside_its_event() {
        assert_eq!(size_of::<Message>(), 24);
    }

    #[test]
    fn bytes_count_headers_identifiers_and_contacts() {
        let nodes = vec![LpId(1); 20].into();
        assert_eq!(Message::Nodes { look_up: 1, nodes }.bytes(), 69 + 20 * 26);
        assert_eq!(Message::FindNode { look_up: 1, target: 2 }.bytes(), 89);
        let value = Value { key: 1, number: 1, bytes: 1000, expires: Time::MAX };
        assert_eq!(Message::Found { look_up: 1, value: Box::new(value) }.bytes(), 69 + 28 + 1000);
    }
}
