//! A connection, as one of its two peers sees it.

use super::on_way::OnWay;
use super::patience::Patience;
use super::{Bits, Block};
use parades_core::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A neighbour of a peer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Neighbour {
    pub(super) id: u32,
    /// True if the peer itself has opened the connection.
    pub(super) is_outgoing: bool,
    /// The peer answers no requests of the neighbour.
    pub(super) is_choked: bool,
    /// The neighbour answers no requests.
    pub(super) chokes: bool,
    /// The neighbour wants pieces.
    pub(super) is_interested: bool,
    /// It has sent no requested block for long.
    pub(super) is_snubbing: bool,
    /// The pieces that it has, and their number.
    pub(super) pieces: Bits,
    #[serde(skip)]
    pub(super) count: u32,
    /// The number of its pieces that the peer lacks.
    #[serde(skip)]
    pub(super) wanted: u32,
    /// Requests to the neighbour that it has not answered.
    pub(super) requests: Vec<Block>,
    /// Its requests that have not been answered.
    pub(super) queue: VecDeque<Block>,
    /// The blocks on their way to it.
    pub(super) on_way: OnWay,
    pub(super) received: Amount,
    pub(super) sent: Amount,
    /// The time of its last block, or of the first request since.
    pub(super) progress: Time,
    /// The time without a requested block after which it snubs.
    pub(super) patience: Patience,
    pub(super) last_heard: Time,
    pub(super) last_sent: Time,
}

/// The bits moved in this period and in the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Amount([u64; 2]);

impl Amount {
    pub(super) fn add(&mut self, bits: u64) {
        self.0[0] += bits;
    }

    /// Returns true if bits can be added without an overflow for as long as a run lasts.
    pub(super) fn is_possible(self) -> bool {
        self.0.iter().all(|&bits| bits < 1 << 62)
    }

    /// Returns the bits of both periods.
    pub(super) fn total(self) -> u64 {
        self.0[0] + self.0[1]
    }

    /// Begins a period.
    pub(super) fn roll(&mut self) {
        self.0 = [0, self.0[0]];
    }
}

impl Neighbour {
    pub(super) fn new(id: u32, is_outgoing: bool, pieces: u32, now: Time) -> Neighbour {
        Neighbour {
            id,
            is_outgoing,
            is_choked: true,
            chokes: true,
            is_interested: false,
            is_snubbing: false,
            pieces: Bits::none(pieces),
            count: 0,
            wanted: 0,
            requests: Vec::new(),
            queue: VecDeque::new(),
            on_way: OnWay::new(),
            received: Amount::default(),
            sent: Amount::default(),
            progress: now,
            patience: Patience::default(),
            last_heard: now,
            last_sent: now,
        }
    }
}
