//! Frames: the messages from rank to rank.

use crate::clocks::ClockId;
use crate::summary::Summary;
use parades_core::time::Time;
use serde::{Deserialize, Serialize};

/// A message from rank to rank.
#[derive(Serialize, Deserialize)]
pub(super) enum Frame {
    /// For a partition, a number of events, as [`u32::to_le_bytes`]. They follow, one by one. The number has
    /// a fixed length, so that it can be filled in behind them.
    Events(u32, [u8; 4]),
    /// A promise: the index of the set of clocks, the clock in that set, and its new time.
    Promise(u32, ClockId, Time),
    /// A request for a promise: the index of the set of clocks, and the clock in that set.
    Request(u32, ClockId),
    /// The horizon drops to this time.
    Horizon(Time),
    /// The combined summary of the sender's workers, at an exchange.
    Exchange(Summary),
    /// The combined summary of the sender's workers, at an offer.
    Offer(Summary),
    /// Bytes of a collective operation.
    Collective(#[serde(with = "bulk")] Vec<u8>),
}

/// A serde adapter that copies bytes as a whole. Serde encodes each element of a vector by itself.
mod bulk {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        <&'de [u8]>::deserialize(deserializer).map(<[u8]>::to_vec)
    }
}
