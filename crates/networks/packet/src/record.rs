//! Data that all copies of a packet share.
//!
//! A record is written once, by the sender. How the references to it are counted is the type parameter of a
//! network: [`NoRecord`] for networks whose packets carry none, `Shared<Box<[u8]>>`, or any other
//! [`SharedData`]. Each receiver compares the first bytes with those that the sender wrote, so a scheme that
//! frees memory too early fails the run. Records of TCP segments are [`crate::segment::SegmentRef`].

use crate::segment::TcpSegment;
use parades_core::digest::{Digest, Payload};
use parades_core::shared::Shared;
use parades_core::time::Time;

/// A way to count references to bytes that are written once and then shared by all clones.
///
/// The digest of a run must not depend on the way of counting: fold the same words as [`Shared`] does.
///
/// ```
/// use parades_core::shared::Shared;
/// use parades_packet::record::SharedData;
/// let data = Shared::<Box<[u8]>>::write(b"a packet");
/// let copy = data.clone();
/// drop(data);
/// let mut begin = [0; 3];
/// copy.read(&mut begin);
/// assert_eq!(&begin, b"a p");
/// ```
pub trait SharedData: Payload + Clone {
    /// Writes the data, and returns the first reference to them.
    fn write(data: &[u8]) -> Self;

    /// Copies the first bytes into `to`.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes.
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

/// The records that the packets of a network may carry.
pub trait Record: Payload + Clone {
    /// Writes a record of the bytes of a group's packet. `None` if packets of this network carry none.
    fn write(data: &[u8]) -> Option<Self>;

    /// Copies the first bytes of such a record into `to`.
    fn read(&self, to: &mut [u8]);

    /// Returns the time when the packet was sent. A record of bytes begins with it.
    #[inline]
    fn sent(&self) -> Time {
        let mut time = [0; HEADER];
        self.read(&mut time);
        Time::from_ps(u64::from_le_bytes(time))
    }

    /// Makes the record of a TCP segment. `None` if packets of this network carry none.
    fn of_segment(segment: TcpSegment) -> Option<Self> {
        let _ = segment;
        None
    }

    /// Returns the TCP segment, if this is the record of one.
    fn segment(&self) -> Option<&TcpSegment> {
        None
    }

    /// Makes the record of a packet of another crate's protocol, sent at `sent`. `None` if packets of this
    /// network carry none.
    fn of_data(sent: Time, data: &[u8]) -> Option<Self> {
        let _ = (sent, data);
        None
    }

    /// Returns the data, if this is the record of such a packet.
    fn data(&self) -> Option<&[u8]> {
        None
    }

    /// Returns the bytes by which the record crosses to another process. `payload` is the packet's.
    fn encode(&self, payload: u32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER + payload as usize];
        self.read(&mut bytes);
        bytes
    }

    /// Makes a record from the bytes of [`Record::encode`]. `None` if they are no record of this network.
    fn decode(payload: u32, bytes: &[u8]) -> Option<Self> {
        if bytes.len() == HEADER + payload as usize { Self::write(bytes) } else { None }
    }
}

impl<D: SharedData> Record for D {
    fn write(data: &[u8]) -> Option<D> {
        Some(SharedData::write(data))
    }

    #[inline]
    fn read(&self, to: &mut [u8]) {
        SharedData::read(self, to);
    }
}

/// No record: packets carry nothing but their words.
#[derive(Clone, Copy, Debug)]
pub enum NoRecord {}

impl Payload for NoRecord {
    fn fold(&self, _: &mut Digest) {
        match *self {}
    }
}

impl Record for NoRecord {
    fn write(_: &[u8]) -> Option<NoRecord> {
        None
    }

    fn read(&self, _: &mut [u8]) {
        match *self {}
    }
}

const WORD: usize = size_of::<u64>();

/// The bytes before the payload: the time when the packet was sent, in picoseconds, least byte first.
pub const HEADER: usize = WORD;

/// Writes the record of a packet: the time when it was sent, and as payload the packet's stamp and words made
/// from it.
pub(crate) fn write<D: Record>(sent: Time, stamp: u64, payload: u32) -> Option<D> {
    /// An odd constant with about as many ones as zeros.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut data = vec![0; HEADER + payload as usize];
    data[..HEADER].copy_from_slice(&sent.as_ps().to_le_bytes());
    let mut word = stamp;
    for bytes in data[HEADER..].chunks_mut(WORD) {
        bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        word = word.wrapping_add(STEP);
    }
    D::write(&data)
}

/// Returns a mask for the first bytes of a word.
#[inline]
fn mask(bytes: usize) -> u64 {
    if bytes == WORD { u64::MAX } else { (1 << (8 * bytes)) - 1 }
}

/// Returns true if the payload begins with the packet's stamp. A shorter payload is compared with the stamp's
/// first bytes.
#[inline]
pub(crate) fn has_stamp<D: Record>(record: &D, stamp: u64, payload: u32) -> bool {
    let mut found = [0; HEADER + WORD];
    let length = WORD.min(payload as usize);
    if length == WORD {
        // The usual case has a constant length, which is compiled to two loads.
        record.read(&mut found);
    } else {
        record.read(&mut found[..HEADER + length]);
    }
    let [_, _, _, _, _, _, _, _, word @ ..] = found;
    (u64::from_le_bytes(word) ^ stamp) & mask(length) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_another_packet_is_noticed() {
        for payload in [1, 7, 8, 9, 512] {
            let sent_at = Time::from_ps(77);
            let record = write::<Shared<Box<[u8]>>>(sent_at, 3 << 32 | 200, payload).expect("it is shared");
            assert_eq!((Record::sent(&record), record.len()), (sent_at, 8 + payload as usize));
            assert!(has_stamp(&record, 3 << 32 | 200, payload));
            assert!(!has_stamp(&record, 3 << 32 | 201, payload));
            assert!(payload < 5 || !has_stamp(&record, 2 << 32 | 200, payload));
        }
    }
}
