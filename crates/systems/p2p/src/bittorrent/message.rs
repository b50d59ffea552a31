//! The messages of a swarm.

use super::Bits;
use parades_core::digest::{Digest, Payload};
use serde::{Deserialize, Serialize};

/// A message between peers, or between a peer and the tracker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Tells the tracker that the sender is there, and asks for peers.
    Announce(Event),
    /// The tracker's answer: random peers of the swarm.
    Peers(Box<[u32]>),
    /// Opens a connection, or answers that. The bitfield travels with it.
    Handshake {
        /// True for an answer.
        is_answer: bool,
        /// The pieces that the sender has.
        pieces: Bits,
    },
    /// All pieces that the sender has.
    Bitfield(Bits),
    /// The sender has got a piece.
    Have(u32),
    /// The sender wants pieces of the receiver.
    Interested,
    /// The sender wants no piece of the receiver.
    NotInterested,
    /// The sender answers no requests from now on.
    Choke,
    /// The sender answers requests from now on.
    Unchoke,
    /// Asks for a piece.
    Request(u32),
    /// Takes a request back.
    Cancel(u32),
    /// A piece: the only message with data.
    Piece {
        /// The number of the piece.
        piece: u32,
        /// Its length in bits.
        bits: u64,
    },
    /// The sender is still there.
    KeepAlive,
    /// Closes the connection, or refuses it.
    Close,
}

/// The reason of an announce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The peer has come.
    Started,
    /// It is still there.
    Regular,
    /// It has got all pieces.
    Completed,
    /// It goes.
    Stopped,
}

impl Message {
    /// Returns the bits of data in the message; 0 for control messages.
    #[inline]
    pub fn data_bits(&self) -> u64 {
        if let Message::Piece { bits, .. } = *self { bits } else { 0 }
    }

    /// Returns the length in bytes, with headers, as BEP 3 has it. An announce counts as 300 bytes.
    pub fn bytes(&self) -> f64 {
        let of_pieces = |pieces: &Bits| (pieces.words().len() * 8) as f64;
        match self {
            Message::Announce(_) => 300.0,
            Message::Peers(peers) => 100.0 + 6.0 * peers.len() as f64,
            Message::Handshake { pieces, .. } => 68.0 + 5.0 + of_pieces(pieces),
            Message::Bitfield(pieces) => 5.0 + of_pieces(pieces),
            Message::Have(_) => 9.0,
            Message::Interested | Message::NotInterested | Message::Choke | Message::Unchoke => 5.0,
            Message::Request(_) | Message::Cancel(_) => 17.0,
            Message::Piece { bits, .. } => 13.0 + *bits as f64 / 8.0,
            Message::KeepAlive | Message::Close => 4.0,
        }
    }
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        let mut word = |kind: u64, value: u32| digest.word(kind << 32 | u64::from(value));
        match self {
            Message::Announce(event) => word(1, *event as u32),
            Message::Peers(peers) => peers.iter().for_each(|&peer| word(2, peer)),
            Message::Handshake { is_answer, pieces } => {
                word(3, u32::from(*is_answer));
                pieces.words().iter().for_each(|&bits| digest.word(bits));
            }
            Message::Bitfield(pieces) => {
                word(4, 0);
                pieces.words().iter().for_each(|&bits| digest.word(bits));
            }
            Message::Have(piece) => word(5, *piece),
            Message::Interested => word(6, 0),
            Message::NotInterested => word(7, 0),
            Message::Choke => word(8, 0),
            Message::Unchoke => word(9, 0),
            Message::Request(piece) => word(10, *piece),
            Message::Cancel(piece) => word(11, *piece),
            Message::Piece { piece, .. } => word(12, *piece),
            Message::KeepAlive => word(13, 0),
            Message::Close => word(14, 0),
        }
    }
}
