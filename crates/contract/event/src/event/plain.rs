//! Headers as 32 plain bytes, the same on every machine.
//!
//! Times and sequence numbers are large, so a compact encoding of them is no shorter and takes longer.

use super::{Header, LpId, Sender, Time};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

const TIME: usize = 0;
const SEQUENCE: usize = 8;
const ROUND: usize = 16;
const TIE: usize = 20;
const SENDER: usize = 24;
const RECEIVER: usize = 28;
const BYTES: usize = 32;

impl Serialize for Header {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = [0; BYTES];
        bytes[TIME..SEQUENCE].copy_from_slice(&self.time.as_ps().to_le_bytes());
        bytes[SEQUENCE..ROUND].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[ROUND..TIE].copy_from_slice(&self.round.to_le_bytes());
        bytes[TIE..SENDER].copy_from_slice(&self.tie.to_le_bytes());
        bytes[SENDER..RECEIVER].copy_from_slice(&self.sender.rank().to_le_bytes());
        bytes[RECEIVER..].copy_from_slice(&self.receiver.0.to_le_bytes());
        serializer.serialize_bytes(&bytes)
    }
}

impl<'de> Deserialize<'de> for Header {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Header, D::Error> {
        let bytes = <&'de [u8]>::deserialize(deserializer)?;
        let bytes: &[u8; BYTES] =
            bytes.try_into().map_err(|_| D::Error::invalid_length(bytes.len(), &"the 32 bytes of a header"))?;
        Ok(Header {
            time: Time::from_ps(u64::from_le_bytes(field(bytes, TIME))),
            sequence: u64::from_le_bytes(field(bytes, SEQUENCE)),
            round: u32::from_le_bytes(field(bytes, ROUND)),
            tie: u32::from_le_bytes(field(bytes, TIE)),
            sender: Sender::from_rank(u32::from_le_bytes(field(bytes, SENDER))),
            receiver: LpId(u32::from_le_bytes(field(bytes, RECEIVER))),
        })
    }
}

/// Returns the `N` bytes of a field.
#[inline]
fn field<const N: usize>(bytes: &[u8; BYTES], begin: usize) -> [u8; N] {
    bytes[begin..begin + N].try_into().expect("each field ends where the next one begins")
}
