//! The fields of a captured packet, until its bytes are written.
//!
//! Models put fields into [`Captured::packet`](parades_core::capture::Captured::packet). They name nodes and
//! groups by number. The version of IP decides on the addresses. The writer of the capture may replace it.

use crate::address::{IpVersion, group_address, node_address};
use crate::frame::{Frame, Framing, Ip, Transport};
use parades_tcp::header::Header;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// An end of a packet's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Host {
    /// The node of this number.
    Node(u32),
    /// The multicast group of this number.
    Group(u32),
}

impl Host {
    /// Returns the address.
    #[must_use]
    pub fn address(self, version: IpVersion) -> IpAddr {
        match self {
            Host::Node(node) => node_address(version, node),
            Host::Group(group) => group_address(version, group),
        }
    }
}

/// The transport layer of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// UDP, with the sender's and the receiver's port.
    Udp(u16, u16),
    /// TCP.
    Tcp(Header),
}

/// The fields of a packet.
///
/// ```
/// use parades_capture::address::IpVersion;
/// use parades_capture::fields::{Host, PacketFields, Protocol};
/// use parades_capture::frame::Framing;
/// let fields = PacketFields {
///     version: IpVersion::V4,
///     source: Host::Node(0),
///     destination: Host::Node(1),
///     protocol: Protocol::Udp(50_000, 50_001),
///     payload: 100,
///     class: 0,
///     ecn: 0,
///     identification: 7,
///     flow: 3,
/// };
/// assert_eq!(PacketFields::decode(&fields.encode()), Some(fields));
/// let mut bytes = Vec::new();
/// fields.frame(IpVersion::V6, Framing::Raw).write(&mut bytes)?;
/// assert_eq!(bytes.len(), 40 + 8 + 100);
/// # Ok::<(), parades_capture::frame::TooLong>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketFields {
    /// The version of IP.
    pub version: IpVersion,
    /// The sender.
    pub source: Host,
    /// The receiver.
    pub destination: Host,
    /// The transport layer.
    pub protocol: Protocol,
    /// The payload of the transport layer, in bytes.
    pub payload: u32,
    /// The class of the packet, below 8. Class `n` has the code point of class selector `n` (RFC 2474,
    /// section 4.2.2).
    pub class: u8,
    /// The bits of explicit congestion notification (RFC 3168), below 4.
    pub ecn: u8,
    /// The identification, if the packet is one of IPv4.
    pub identification: u16,
    /// The number of the flow. Its low bits are the flow label, if the packet is one of IPv6.
    pub flow: u32,
}

impl PacketFields {
    /// Returns the encoding of the fields.
    ///
    /// # Panics
    ///
    /// Never: the fields always have an encoding.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("the fields have an encoding")
    }

    /// Returns the fields of an encoding; `None` if `bytes` are no encoding.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<PacketFields> {
        postcard::from_bytes(bytes).ok()
    }

    /// Returns the packet as a frame.
    #[must_use]
    pub fn frame(&self, version: IpVersion, framing: Framing) -> Frame<'_> {
        const CLASS_SELECTOR_SHIFT: u32 = 3;
        let [source, destination] = [self.source, self.destination].map(|host| host.address(version));
        let ip = Ip {
            dscp: self.class << CLASS_SELECTOR_SHIFT,
            ecn: self.ecn,
            identification: self.identification,
            flow_label: self.flow,
            ..Ip::between(source, destination)
        };
        let transport = match &self.protocol {
            &Protocol::Udp(source_port, destination_port) => Transport::Udp { source_port, destination_port },
            Protocol::Tcp(header) => Transport::Tcp(header),
        };
        Frame { framing, ip, transport, payload: self.payload }
    }
}
