//! The packets of sockets: the messages of a program that has sockets.

use crate::bytes::Bytes;
use parades_carriers::packet_level::Format;
use parades_core::digest::{Digest, Payload};
use parades_core::shared::Shared;
use parades_tcp::environment::Ecn;
use parades_tcp::header::Header;

/// The bytes of a UDP header.
const UDP_HEADER: u32 = 8;

/// The longest payload of a datagram in bytes: an IP packet has 65,535, of which 28 are headers.
pub const DATAGRAM_MAX: usize = 65_507;

/// A packet between sockets. It is the message of a program that has sockets ([`crate::Sockets`]).
///
/// All hops and copies of a packet share its header and its bytes.
#[derive(Clone, Debug)]
pub struct Packet(pub(crate) Kind);

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Datagram(Shared<Datagram>),
    Segment { segment: Shared<Segment>, ecn: Ecn },
}

/// A UDP datagram.
#[derive(Debug)]
pub(crate) struct Datagram {
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) payload: Bytes,
}

/// A TCP segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) header: Header,
    pub(crate) payload: Bytes,
}

impl Packet {
    /// The format of these packets on a network of packets. UDP headers have 8 bytes, and TCP headers what
    /// their options need. A packet's flow is named by its ports.
    pub const FORMAT: Format<Packet> =
        Format { bytes: Packet::bytes, flow: Packet::flow, class: |_| 0, ecn: Packet::ecn, mark: Packet::mark };

    pub(crate) fn datagram(source_port: u16, destination_port: u16, payload: Bytes) -> Packet {
        Packet(Kind::Datagram(Shared::new(Datagram { source_port, destination_port, payload })))
    }

    pub(crate) fn segment(header: Header, payload: Bytes, ecn: Ecn) -> Packet {
        Packet(Kind::Segment { segment: Shared::new(Segment { header, payload }), ecn })
    }

    /// Returns the bytes of the packet without the IP header.
    pub fn bytes(&self) -> u32 {
        let of = |payload: &Bytes| u32::try_from(payload.len()).expect("a packet has fewer than 2^16 bytes");
        match &self.0 {
            Kind::Datagram(datagram) => UDP_HEADER + of(&datagram.payload),
            Kind::Segment { segment, .. } => segment.header.bytes() + of(&segment.payload),
        }
    }

    /// Returns the ports of source and destination.
    pub fn ports(&self) -> (u16, u16) {
        match &self.0 {
            Kind::Datagram(datagram) => (datagram.source_port, datagram.destination_port),
            Kind::Segment { segment, .. } => (segment.header.source_port, segment.header.destination_port),
        }
    }

    fn flow(&self) -> u32 {
        let (source, destination) = self.ports();
        u32::from(source) << 16 | u32::from(destination)
    }

    fn ecn(&self) -> Ecn {
        match &self.0 {
            Kind::Datagram(_) => Ecn::NotCapable,
            Kind::Segment { ecn, .. } => *ecn,
        }
    }

    fn mark(&mut self) {
        if let Kind::Segment { ecn, .. } = &mut self.0 {
            *ecn = Ecn::Marked;
        }
    }
}

impl Payload for Datagram {
    fn fold(&self, digest: &mut Digest) {
        digest.word(u64::from(self.source_port) << 16 | u64::from(self.destination_port));
        digest.bytes(&self.payload);
    }
}

impl Payload for Segment {
    fn fold(&self, digest: &mut Digest) {
        self.header.fold(digest);
        digest.bytes(&self.payload);
    }
}

impl Payload for Packet {
    fn fold(&self, digest: &mut Digest) {
        match &self.0 {
            Kind::Datagram(datagram) => datagram.fold(digest),
            Kind::Segment { segment, ecn } => {
                segment.fold(digest);
                digest.word(*ecn as u64);
            }
        }
    }
}
