//! The messages of a swarm.

use super::{Bits, Block};
use parades_core::digest::{Digest, Payload};
use serde::{Deserialize, Serialize};
use std::fmt;

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
    /// The sender answers no requests from now on, except those for blocks that have set out.
    Choke {
        /// The blocks that have set out and need more than one packet. BEP 3 does not list them: over TCP
        /// they come before the choke.
        coming: Box<[Block]>,
    },
    /// The sender answers requests from now on.
    Unchoke,
    /// Asks for a block.
    Request(Block),
    /// Takes a request back.
    Cancel(Block),
    /// A block of a piece: the only message with data.
    Piece {
        /// The block.
        block: Block,
        /// Its length in bits.
        bits: u64,
    },
    /// A block has arrived, and its piece is not complete. BEP 3 has no such message: it stands for what the
    /// sender learns from the acknowledgements of TCP. With the last block of a piece, [`Message::Have`] says
    /// so.
    Arrived(Block),
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

    /// Returns the length in bytes, with headers, as BEP 3 has it. An announce counts as 300 bytes, and
    /// an acknowledgement as the 40 bytes of its headers.
    pub fn bytes(&self) -> f64 {
        let of_pieces = |pieces: &Bits| (pieces.words().len() * 8) as f64;
        match self {
            Message::Announce(_) => 300.0,
            Message::Peers(peers) => 100.0 + 6.0 * peers.len() as f64,
            Message::Handshake { pieces, .. } => 68.0 + 5.0 + of_pieces(pieces),
            Message::Bitfield(pieces) => 5.0 + of_pieces(pieces),
            Message::Have(_) => 9.0,
            Message::Interested | Message::NotInterested | Message::Choke { .. } | Message::Unchoke => 5.0,
            Message::Request(_) | Message::Cancel(_) => 17.0,
            Message::Piece { bits, .. } => 13.0 + *bits as f64 / 8.0,
            Message::Arrived(_) => 40.0,
            Message::KeepAlive | Message::Close => 4.0,
        }
    }
}

/// The message as the object of "a peer sends".
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::Announce(Event::Started) => f.write_str("an announce that it starts"),
            Message::Announce(Event::Regular) => f.write_str("an announce"),
            Message::Announce(Event::Completed) => f.write_str("an announce that it has all pieces"),
            Message::Announce(Event::Stopped) => f.write_str("an announce that it stops"),
            Message::Peers(peers) => write!(f, "the list of peers {peers:?}"),
            Message::Handshake { is_answer: false, pieces } => write!(f, "a handshake (pieces: {})", pieces.count()),
            Message::Handshake { is_answer: true, pieces } => {
                write!(f, "the answer to a handshake (pieces: {})", pieces.count())
            }
            Message::Bitfield(pieces) => write!(f, "a bitfield (pieces: {})", pieces.count()),
            Message::Have(piece) => write!(f, "have {piece}"),
            Message::Interested => f.write_str("interested"),
            Message::NotInterested => f.write_str("not interested"),
            Message::Choke { coming } if coming.is_empty() => f.write_str("choke"),
            Message::Choke { coming } => {
                let separated = |index| if index == 0 { " after block " } else { ", " };
                f.write_str("choke")?;
                coming.iter().enumerate().try_for_each(|(index, block)| write!(f, "{}{block}", separated(index)))
            }
            Message::Unchoke => f.write_str("unchoke"),
            Message::Request(block) => write!(f, "a request for block {block}"),
            Message::Cancel(block) => write!(f, "a cancel of block {block}"),
            Message::Piece { block, .. } => write!(f, "block {block}"),
            Message::Arrived(block) => write!(f, "an acknowledgement of block {block}"),
            Message::KeepAlive => f.write_str("keep-alive"),
            Message::Close => f.write_str("the end of the connection"),
        }
    }
}

impl Payload for Message {
    fn fold(&self, digest: &mut Digest) {
        let mut word = |kind: u64, value: u32| digest.word(kind << 32 | u64::from(value));
        let mut of_block = |kind, block: &Block| {
            word(kind, block.piece);
            if block.index > 0 {
                word(15, block.index);
            }
        };
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
            Message::Choke { coming } if coming.is_empty() => word(8, 0),
            Message::Choke { coming } => coming.iter().for_each(|block| of_block(8, block)),
            Message::Unchoke => word(9, 0),
            Message::Request(block) => of_block(10, block),
            Message::Cancel(block) => of_block(11, block),
            Message::Piece { block, .. } => of_block(12, block),
            Message::Arrived(block) => of_block(16, block),
            Message::KeepAlive => word(13, 0),
            Message::Close => word(14, 0),
        }
    }
}
