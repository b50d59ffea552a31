//! A packet, and the two ways in which events carry it.

use parades_core::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A packet, which a root writes once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// The packet's number within its tree.
    number: u64,
    /// The time at which the root sent the packet, in picoseconds.
    sent_ps: u64,
    /// Integers of 32 bits, least byte first.
    data: Bytes,
}

/// The finaliser of splitmix64. Each bit of the word affects every bit of the result.
#[inline]
pub(super) const fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// An odd constant with about as many ones as zeros.
const STEP: u32 = 0x9e37_79b9;

/// The bytes of an integer.
const INTEGER: usize = size_of::<u32>();

/// Returns the integer at a place of a packet's data.
#[inline]
fn integer_at(first: u32, place: u32) -> u32 {
    first.wrapping_add(place.wrapping_mul(STEP))
}

/// Returns the first integer of a packet's data. Each further integer is larger by [`STEP`], modulo 2^32.
#[inline]
fn first_integer(tree: u32, number: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "32 of 64 random bits")]
    let first = mix(number ^ u64::from(tree) << 32) as u32;
    first
}

impl Packet {
    /// Writes a packet of `integers` integers.
    pub(super) fn write(tree: u32, number: u64, sent: Time, integers: u32) -> Packet {
        let first = first_integer(tree, number);
        let data = Bytes::write(integers as usize * INTEGER, |data| {
            let (places, _) = data.as_chunks_mut();
            for (place, integer) in (0..).zip(places) {
                *integer = integer_at(first, place).to_le_bytes();
            }
        });
        Packet { number, sent_ps: sent.as_ps(), data }
    }

    /// Returns the data as integers, least byte first.
    #[inline]
    fn integers(&self) -> &[[u8; INTEGER]] {
        self.data.as_chunks().0
    }

    /// Returns the packet's number within its tree.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the time at which the root sent the packet.
    #[inline]
    pub(super) fn sent(&self) -> Time {
        Time::from_ps(self.sent_ps)
    }

    /// Returns true if the integer that `reader` reads is the one that the root wrote.
    #[inline]
    pub(super) fn is_whole(&self, tree: u32, reader: LpId) -> bool {
        let first = first_integer(tree, self.number);
        let draw = first ^ reader.0.wrapping_mul(STEP);
        let integers = self.integers();
        let place = ((u64::from(draw) * integers.len() as u64) >> 32) as u32;
        integers.get(place as usize).is_none_or(|found| u32::from_le_bytes(*found) == integer_at(first, place))
    }
}

/// Shows the packet without its data, which would fill a trace. The digest covers the data.
impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet").field("number", &self.number).field("sent_ps", &self.sent_ps).finish_non_exhaustive()
    }
}

impl Payload for Packet {
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.number);
        digest.word(self.sent_ps);
        for pair in self.integers().chunks(2) {
            digest.word(pair.iter().fold(0, |word, &integer| word << 32 | u64::from(u32::from_le_bytes(integer))));
        }
        digest.word(self.integers().len() as u64);
    }
}

/// A way in which events carry a packet. A clone goes to each receiver.
pub trait PacketHandle: Payload + Clone + Sync + std::ops::Deref<Target = Packet> {
    /// True if all copies of a packet refer to the same data.
    const IS_SHARED: bool;

    /// Takes a packet that has just been written.
    fn from_packet(packet: Packet) -> Self;
}

impl PacketHandle for Shared<Packet> {
    const IS_SHARED: bool = true;

    fn from_packet(packet: Packet) -> Shared<Packet> {
        Shared::new(packet)
    }
}

/// A packet that is copied for each receiver. Like a shared one, it is folded into the digest once, when it
/// is written.
#[derive(Serialize, Deserialize)]
pub struct Copied {
    packet: Packet,
    folded: u64,
}

/// Copies the data too.
impl Clone for Copied {
    fn clone(&self) -> Copied {
        let Copied { packet: Packet { number, sent_ps, ref data }, folded } = *self;
        Copied { packet: Packet { number, sent_ps, data: Bytes::from(&**data) }, folded }
    }
}

impl std::ops::Deref for Copied {
    type Target = Packet;
    #[inline]
    fn deref(&self) -> &Packet {
        &self.packet
    }
}

impl Payload for Copied {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.folded);
    }
}

impl PacketHandle for Copied {
    const IS_SHARED: bool = false;

    fn from_packet(packet: Packet) -> Copied {
        let mut digest = Digest::default();
        packet.fold(&mut digest);
        Copied { packet, folded: digest.value() }
    }
}

/// Shows the packet as a shared one does, so that traces are the same.
impl fmt::Debug for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.packet.fmt(f)
    }
}

/// The messages between LPs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Message<C> {
    /// A packet, to a router or a leaf.
    Packet(C),
    /// A notice to the root: send the next packet.
    Next,
}

const _: () = assert!(size_of::<Body<Message<Shared<Packet>>>>() == 16);

impl<C: PacketHandle> Payload for Message<C> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        match self {
            Message::Packet(packet) => packet.fold(digest),
            // No LP receives both kinds of message, so the word may equal one of a packet.
            Message::Next => digest.word(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_another_packet_are_detected() {
        let packet = Packet::write(3, 20, Time::ZERO, 100);
        assert!((0..1_000).all(|reader| packet.is_whole(3, LpId(reader))));
        assert!((0..1_000).all(|reader| !packet.is_whole(4, LpId(reader))));
        assert!(!Packet { number: 21, ..packet }.is_whole(3, LpId(7)));
        assert!(Packet::write(3, 20, Time::ZERO, 0).is_whole(4, LpId(7)), "where there are no data, none are wrong");
    }

    #[test]
    fn every_integer_is_read_by_some_lp() {
        for integers in [1, 2, 64] {
            let packet = Packet::write(0, 5, Time::ZERO, integers);
            for wrong in 0..integers as usize {
                let mut data = packet.data.to_vec();
                data[INTEGER * wrong] ^= 1;
                let packet = Packet { data: Bytes::from(data.as_slice()), ..packet };
                assert!((0..1_000).any(|reader| !packet.is_whole(0, LpId(reader))), "{wrong} of {integers}");
            }
        }
    }

    #[test]
    fn shared_and_copied_packets_fold_to_the_same_word() {
        fn folded<C: PacketHandle>(number: u64, integers: u32) -> u64 {
            let mut digest = Digest::default();
            Message::Packet(C::from_packet(Packet::write(1, number, Time::from_ps(7), integers))).fold(&mut digest);
            digest.value()
        }
        assert_eq!(folded::<Copied>(9, 5), folded::<Shared<Packet>>(9, 5));
        assert_ne!(folded::<Copied>(9, 5), folded::<Copied>(8, 5));
        assert_ne!(folded::<Copied>(9, 5), folded::<Copied>(9, 6));
    }
}
