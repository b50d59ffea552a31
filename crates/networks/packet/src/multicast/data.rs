//! The data of a packet, and the copy that carries a reference to them.

use crate::node::Packet;
use parades_core::digest::{Digest, Payload};
use parades_core::shared::Shared;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use std::fmt;

/// Bytes that are written once and then shared by all who hold a clone: a scheme of counting references to them.
///
/// It folds into a digest what [`Shared`] does, whatever the scheme.
///
/// ```
/// use parades_core::shared::Shared;
/// use parades_packet::multicast::SharedData;
/// let data = Shared::<Box<[u8]>>::write(b"a packet");
/// let copy = data.clone();
/// drop(data);
/// let mut begin = [0; 3];
/// copy.read(&mut begin);
/// assert_eq!(&begin, b"a p");
/// ```
pub trait SharedData: Payload + Clone {
    /// Writes them; the first reference.
    fn write(data: &[u8]) -> Self;

    /// Copies the first of them into `to`.
    ///
    /// # Panics
    ///
    /// Where there are not so many.
    fn read(&self, to: &mut [u8]);
}

impl SharedData for Shared<Box<[u8]>> {
    fn write(data: &[u8]) -> Shared<Box<[u8]>> {
        Shared::new(data.into())
    }

    #[inline]
    fn read(&self, to: &mut [u8]) {
        to.copy_from_slice(&self[..to.len()]);
    }
}

/// A packet as one of its copies carries it: where that copy is, and a reference to the data of all. Its `flow` is the group.
#[derive(Clone)]
pub struct PacketCopy<D> {
    /// What is the copy's own; `step` is a place in the tree.
    pub packet: Packet,
    /// What all copies share.
    pub data: D,
}

const _: () = assert!(size_of::<parades_core::event::Body<PacketCopy<Shared<Box<[u8]>>>>>() == 32);

/// Without the data, which would fill a trace; the digest tells them apart.
impl<D> fmt::Debug for PacketCopy<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketCopy").field("packet", &self.packet).finish_non_exhaustive()
    }
}

impl<D: SharedData> Payload for PacketCopy<D> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        self.packet.fold(digest);
        self.data.fold(digest);
    }
}

/// Between processes a copy takes its data along.
impl<D: SharedData> Serialize for PacketCopy<D> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut data = vec![0; self.packet.payload as usize];
        self.data.read(&mut data);
        (self.packet, data).serialize(serializer)
    }
}

impl<'de, D: SharedData> Deserialize<'de> for PacketCopy<D> {
    fn deserialize<F: Deserializer<'de>>(deserializer: F) -> Result<PacketCopy<D>, F::Error> {
        let (packet, data) = <(Packet, Vec<u8>)>::deserialize(deserializer)?;
        Ok(PacketCopy { packet, data: D::write(&data) })
    }
}

/// What begins the data of a packet.
fn stamp(group: u32, sequence: u32) -> u64 {
    u64::from(group) << 32 | u64::from(sequence)
}

/// The data of a packet: its number, and numbers made of that, least byte first.
pub(super) fn content(group: u32, sequence: u32, payload: u32) -> Vec<u8> {
    /// An odd constant with about as many ones as zeros.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut data = vec![0; payload as usize];
    let mut word = stamp(group, sequence);
    for bytes in data.chunks_mut(size_of::<u64>()) {
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        word = word.wrapping_add(STEP);
    }
    data
}

/// Whether the data are those that the source wrote, as far as their first eight bytes tell.
#[inline]
pub(super) fn is_whole<D: SharedData>(data: &D, group: u32, sequence: u32, payload: u32) -> bool {
    let expected = stamp(group, sequence).to_le_bytes();
    let mut found = [0; size_of::<u64>()];
    let length = found.len().min(payload as usize);
    data.read(&mut found[..length]);
    found[..length] == expected[..length]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_another_packet_are_noticed() {
        for payload in [1, 7, 8, 9, 512] {
            let data = Shared::<Box<[u8]>>::write(&content(3, 200, payload));
            assert!(is_whole(&data, 3, 200, payload));
            assert!(!is_whole(&data, 3, 201, payload));
            assert!(payload < 5 || !is_whole(&data, 2, 200, payload));
        }
    }
}
