//! The messages of gossip. Numbers name the rumours.

use parades_core::digest::{Digest, Payload};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The length of a message without its rumours in bytes: 28 of IP and UDP, and 4 of kind and count.
pub const HEADER_BYTES: u32 = 32;

/// The length of a rumour's number in bytes.
pub const ID_BYTES: u32 = 4;

/// A message of gossip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Carries rumours.
    Rumours {
        /// Their numbers.
        rumours: Box<[u32]>,
        /// The length of each in bytes.
        bytes: u32,
        /// True if the sender wants to hear which of them the receiver knew.
        asks: bool,
    },
    /// Carries rumours, none in the direction pull, and asks for others.
    Call {
        /// The numbers of the rumours.
        rumours: Box<[u32]>,
        /// The length of each in bytes.
        bytes: u32,
        /// A bit for each rumour that the sender knows, up to the last that it knows.
        known: Box<[u64]>,
    },
    /// Answers [`Message::Rumours`] with those that the sender knew already.
    Knew(Box<[u32]>),
}

impl Message {
    /// Returns the length of the message in bytes.
    pub fn bytes(&self) -> u64 {
        let count = |rumours: &[u32]| rumours.len() as u64;
        let carried = |rumours: &[u32], bytes: u32| count(rumours) * u64::from(ID_BYTES + bytes);
        u64::from(HEADER_BYTES)
            + match self {
                Message::Rumours { rumours, bytes, .. } => carried(rumours, *bytes),
                Message::Call { rumours, bytes, known } => carried(rumours, *bytes) + 8 * known.len() as u64,
                Message::Knew(rumours) => count(rumours) * u64::from(ID_BYTES),
            }
    }
}

/// The message as the object of "a node sends".
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Rumours { rumours, asks: false, .. } => write!(f, "the rumours {rumours:?}"),
            Message::Rumours { rumours, asks: true, .. } => {
                write!(f, "the rumours {rumours:?}, and asks which were known")
            }
            Message::Call { rumours, .. } => write!(f, "the rumours {rumours:?}, and asks for others"),
            Message::Knew(rumours) => write!(f, "that it knew the rumours {rumours:?}"),
        }
    }
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        let (kind, rumours, bytes) = match self {
            Message::Rumours { rumours, bytes, asks } => (u64::from(*asks), rumours, *bytes),
            Message::Call { rumours, bytes, .. } => (2, rumours, *bytes),
            Message::Knew(rumours) => (3, rumours, 0),
        };
        digest.word(kind << 32 | u64::from(bytes));
        digest.word(rumours.len() as u64);
        rumours.iter().for_each(|&rumour| digest.word(u64::from(rumour)));
        if let Message::Call { known, .. } = self {
            known.iter().for_each(|&word| digest.word(word));
        }
    }
}
