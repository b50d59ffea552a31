//! The header of a segment, as fields (RFC 9293, section 3.1; RFC 7323; RFC 2018).

use crate::seq::Seq;
use parades_core::digest::{Digest, Payload};
use serde::{Deserialize, Serialize};
use std::ops::BitOr;

/// The bytes of a header without options.
pub const BASE_BYTES: u32 = 20;

/// The largest number of blocks in a SACK option. Beside timestamps there is room for three.
pub const SACK_BLOCKS_MAX: usize = 4;

/// The control bits of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Flags = Flags(1);
    /// Synchronises sequence numbers.
    pub const SYN: Flags = Flags(1 << 1);
    /// Resets the connection.
    pub const RST: Flags = Flags(1 << 2);
    /// The receiver should deliver the data at once.
    pub const PSH: Flags = Flags(1 << 3);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(1 << 4);
    /// The urgent pointer is valid. This implementation never sends it.
    pub const URG: Flags = Flags(1 << 5);
    /// Echo of a congestion mark (RFC 3168).
    pub const ECE: Flags = Flags(1 << 6);
    /// The congestion window is reduced (RFC 3168).
    pub const CWR: Flags = Flags(1 << 7);

    /// Returns true if all bits of `other` are set.
    #[inline]
    #[must_use]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// The timestamps of a segment (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timestamps {
    /// The sender's clock, in ticks.
    pub value: u32,
    /// The last timestamp received from the other end.
    pub echo: u32,
}

/// A range of sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first number.
    pub from: Seq,
    /// The number after the last one.
    pub to: Seq,
}

/// The options of a SYN segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynOptions {
    /// The largest segment that the sender can receive, in bytes of payload; `None` if the option is absent.
    pub mss: Option<u16>,
    /// The shift of the sender's later windows; `None` if the option is absent.
    pub window_shift: Option<u8>,
    /// True if the sender permits selective acknowledgements.
    pub has_sack: bool,
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
    /// The number of the first byte of the payload, or of the SYN.
    pub seq: Seq,
    /// The next number that the sender expects, if [`Flags::ACK`] is set.
    pub ack: Seq,
    /// The control bits.
    pub flags: Flags,
    /// The receive window as it is on the wire, not yet shifted.
    pub window: u16,
    /// The timestamps, if both ends use them.
    pub timestamps: Option<Timestamps>,
    /// The options of a SYN segment.
    pub syn: SynOptions,
    /// The number of blocks in `sack`.
    pub sack_blocks: u8,
    /// The blocks of a SACK option. The first `sack_blocks` count.
    pub sack: [Range; SACK_BLOCKS_MAX],
}

impl Header {
    /// Returns the blocks of the SACK option.
    #[inline]
    #[must_use]
    pub fn sack(&self) -> &[Range] {
        &self.sack[..usize::from(self.sack_blocks).min(SACK_BLOCKS_MAX)]
    }

    /// Returns the bytes of the header with its options, a multiple of four.
    ///
    /// ```
    /// use parades_tcp::header::{BASE_BYTES, Header, Timestamps};
    /// let header = Header { timestamps: Some(Timestamps::default()), ..Header::default() };
    /// assert_eq!(header.bytes(), BASE_BYTES + 12);
    /// ```
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u32 {
        let mss = if self.syn.mss.is_some() { 4 } else { 0 };
        let shift = if self.syn.window_shift.is_some() { 3 } else { 0 };
        let permitted = if self.syn.has_sack { 2 } else { 0 };
        let timestamps = if self.timestamps.is_some() { 10 } else { 0 };
        let sack = if self.sack_blocks > 0 { 2 + 8 * u32::from(self.sack_blocks) } else { 0 };
        BASE_BYTES + (mss + shift + permitted + timestamps + sack).next_multiple_of(4)
    }
}

impl Payload for Header {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.source_port) << 16 | u64::from(self.destination_port));
        digest.word(u64::from(self.seq.0) << 32 | u64::from(self.ack.0));
        digest.word(u64::from(self.flags.0) << 32 | u64::from(self.window) << 8 | u64::from(self.sack_blocks));
        if let Some(Timestamps { value, echo }) = self.timestamps {
            digest.word(u64::from(value) << 32 | u64::from(echo));
        }
        let SynOptions { mss, window_shift, has_sack } = self.syn;
        if mss.is_some() || window_shift.is_some() || has_sack {
            let words = [u64::from(mss.unwrap_or(0)), window_shift.map_or(0, |shift| u64::from(shift) + 1)];
            digest.word(words[0] << 16 | words[1] << 8 | u64::from(has_sack));
        }
        for Range { from, to } in self.sack() {
            digest.word(u64::from(from.0) << 32 | u64::from(to.0));
        }
    }
}
