//! The records of TCP segments: headers as fields, written once, shared by all hops, and pooled.
//!
//! *Pool*: a thread keeps the records that it was the last to release, and writes its next segments into
//! them. So in steady state a segment allocates nothing. A thread that releases more than it writes keeps a
//! bounded number of them.

use crate::packet::PAYLOAD_MAX;
use crate::record::Record;
use parades_core::digest::{Digest, Payload};
use parades_core::time::Time;
use parades_tcp::header::{Flags, Header};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// A TCP segment on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpSegment {
    /// The time when it was sent.
    pub sent: Time,
    /// Its header.
    pub header: Header,
    /// The place of its first byte in the stream, counted from 0.
    pub offset: u64,
    /// Its payload in bytes.
    pub bytes: u32,
}

impl TcpSegment {
    /// Returns true if a connection may send this segment. One that was read may be none.
    pub(crate) fn is_possible(&self) -> bool {
        self.bytes <= PAYLOAD_MAX && self.offset < 1 << 62
    }

    /// Returns the flags, the acknowledgement and the payload in words: `SYN, 0 B`, `ack 1, 512 B from 1024`.
    pub(crate) fn text(&self) -> String {
        let Header { flags, ack, .. } = self.header;
        let names = [(Flags::SYN, "SYN"), (Flags::FIN, "FIN"), (Flags::RST, "RST"), (Flags::ECE, "ECE")];
        let mut parts: Vec<String> =
            names.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| (*name).to_owned()).collect();
        if flags.has(Flags::ACK) {
            parts.push(format!("ack {}", ack.0));
        }
        for block in self.header.sack() {
            parts.push(format!("sack {} to {}", block.from.0, block.to.0));
        }
        let from = if self.bytes > 0 { format!(" from {}", self.offset) } else { String::new() };
        parts.push(format!("{} B{from}", self.bytes));
        parts.join(", ")
    }
}

impl Payload for TcpSegment {
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.sent.as_ps());
        digest.word(self.offset);
        digest.word(u64::from(self.bytes));
        self.header.fold(digest);
    }
}

/// The content of a record.
#[derive(Debug, Serialize, Deserialize)]
enum Content {
    Segment(TcpSegment),
    /// The data of a packet of another crate's protocol, and the time when it was sent.
    Data(Time, Box<[u8]>),
}

impl Payload for Content {
    fn fold(&self, digest: &mut Digest) {
        match self {
            Content::Segment(segment) => segment.fold(digest),
            Content::Data(sent, data) => {
                digest.word(sent.as_ps());
                digest.bytes(data);
            }
        }
    }
}

/// A content and its digest, which is computed once.
#[derive(Debug)]
struct Shared {
    digest: u64,
    content: Content,
}

impl Shared {
    fn new(content: Content) -> Shared {
        let mut digest = Digest::default();
        content.fold(&mut digest);
        Shared { digest: digest.value(), content }
    }
}

/// The largest number of released records that a thread keeps.
const POOLED_MAX: usize = 4096;

thread_local! {
    /// Released records. No other reference to them is left.
    static POOL: RefCell<Vec<Arc<Shared>>> = const { RefCell::new(Vec::new()) };
}

/// A reference to a TCP segment, or to the data of another crate's protocol, which all copies of its packet
/// share.
///
/// ```
/// use parades_core::time::Time;
/// use parades_packet::record::Record;
/// use parades_packet::segment::{SegmentRef, TcpSegment};
/// use parades_tcp::header::Header;
/// let segment = TcpSegment { sent: Time::ZERO, header: Header::default(), offset: 7, bytes: 100 };
/// let record = SegmentRef::of_segment(segment.clone()).unwrap();
/// let copy = record.clone();
/// drop(record);
/// assert_eq!(copy.segment(), Some(&segment));
/// ```
pub struct SegmentRef(
    /// `None` only while the reference is dropped.
    Option<Arc<Shared>>,
);

impl SegmentRef {
    fn new(content: Content) -> SegmentRef {
        let pooled = POOL.try_with(|pool| pool.borrow_mut().pop()).ok().flatten();
        let shared = Shared::new(content);
        let Some(mut reused) = pooled else { return SegmentRef(Some(Arc::new(shared))) };
        match Arc::get_mut(&mut reused) {
            Some(place) => {
                *place = shared;
                SegmentRef(Some(reused))
            }
            None => SegmentRef(Some(Arc::new(shared))),
        }
    }

    #[inline]
    fn shared(&self) -> &Shared {
        self.0.as_ref().expect("a reference holds its segment until it is dropped")
    }
}

impl Clone for SegmentRef {
    #[inline]
    fn clone(&self) -> SegmentRef {
        SegmentRef(self.0.clone())
    }
}

impl Drop for SegmentRef {
    #[inline]
    fn drop(&mut self) {
        // The count is 1 only if no other reference exists, so none can appear meanwhile. If two references
        // are dropped at once, both may see 2. Then the memory is freed instead of pooled.
        if let Some(last) = self.0.take_if(|shared| Arc::strong_count(shared) == 1) {
            release(last);
        }
    }
}

/// Keeps a record for the thread's next segment.
fn release(record: Arc<Shared>) {
    // A thread that ends has no pool any more. Then the record is freed.
    let _ = POOL.try_with(|pool| {
        let mut pool = pool.borrow_mut();
        if pool.len() < POOLED_MAX {
            pool.push(record);
        }
    });
}

impl fmt::Debug for SegmentRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared().content.fmt(f)
    }
}

impl Payload for SegmentRef {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        digest.word(self.shared().digest);
    }
}

impl Record for SegmentRef {
    fn write(_: &[u8]) -> Option<SegmentRef> {
        None
    }

    fn read(&self, _: &mut [u8]) {
        unreachable!("a segment is no record of bytes");
    }

    #[inline]
    fn sent(&self) -> Time {
        match &self.shared().content {
            Content::Segment(segment) => segment.sent,
            Content::Data(sent, _) => *sent,
        }
    }

    fn of_segment(segment: TcpSegment) -> Option<SegmentRef> {
        Some(SegmentRef::new(Content::Segment(segment)))
    }

    #[inline]
    fn segment(&self) -> Option<&TcpSegment> {
        match &self.shared().content {
            Content::Segment(segment) => Some(segment),
            Content::Data(..) => None,
        }
    }

    fn of_data(sent: Time, data: &[u8]) -> Option<SegmentRef> {
        Some(SegmentRef::new(Content::Data(sent, data.into())))
    }

    fn data(&self) -> Option<&[u8]> {
        match &self.shared().content {
            Content::Segment(_) => None,
            Content::Data(_, data) => Some(data),
        }
    }

    fn encode(&self, _: u32) -> Vec<u8> {
        postcard::to_allocvec(&self.shared().content).expect("plain fields are written to memory")
    }

    fn decode(_: u32, bytes: &[u8]) -> Option<SegmentRef> {
        postcard::from_bytes(bytes).ok().map(SegmentRef::new)
    }
}

const _: () = assert!(size_of::<SegmentRef>() == 8);
const _: () = assert!(size_of::<parades_core::event::Body<crate::packet::Packet<SegmentRef>>>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: u32) -> Content {
        Content::Segment(segment(bytes))
    }

    fn segment(bytes: u32) -> TcpSegment {
        TcpSegment { sent: Time::from_ps(5), header: Header::default(), offset: 0, bytes }
    }

    fn pooled() -> usize {
        POOL.with(|pool| pool.borrow().len())
    }

    #[test]
    fn the_last_reference_returns_its_memory_to_the_pool() {
        let (first, before) = (SegmentRef::new(content(1)), pooled());
        let second = first.clone();
        drop(first);
        assert_eq!(pooled(), before);
        drop(second);
        assert_eq!(pooled(), before + 1);
        assert_eq!(SegmentRef::new(content(2)).segment(), Some(&segment(2)));
    }

    #[test]
    fn a_segment_crosses_to_another_process_whole() {
        let record = SegmentRef::new(content(3));
        let copy = SegmentRef::decode(0, &record.encode(0)).expect("it was encoded");
        assert_eq!((copy.segment(), copy.shared().digest), (record.segment(), record.shared().digest));
    }

    #[test]
    fn the_data_of_a_packet_cross_to_another_process_whole() {
        let record = SegmentRef::of_data(Time::from_ps(8), &[3, 1, 4]).expect("it carries data");
        let copy = SegmentRef::decode(100, &record.encode(100)).expect("it was encoded");
        assert_eq!((copy.data(), copy.sent(), copy.segment()), (Some(&[3, 1, 4][..]), Time::from_ps(8), None));
        assert_eq!(copy.shared().digest, record.shared().digest);
        assert_ne!(
            copy.shared().digest,
            SegmentRef::new(Content::Data(Time::from_ps(8), [3, 1, 5].into())).shared().digest
        );
    }
}
