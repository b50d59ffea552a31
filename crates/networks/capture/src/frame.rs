//! A frame in bytes.

use crate::address::Mac;
use crate::payload;
use crate::tcp;
use etherparse::err::ValueTooBigError;
use etherparse::{EtherType, Ethernet2Header, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader, UdpHeader};
use parades_tcp::header::{Flags, Header};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A packet, and the link layer around it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The link layer.
    pub framing: Framing,
    /// The network layer.
    pub ip: Ip,
    /// The transport layer.
    pub transport: Transport<'a>,
    /// The payload of the transport layer, in bytes.
    pub payload: u32,
}

/// A link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// No header: a frame is an IP packet.
    #[default]
    Raw,
    /// The Point-to-Point Protocol: two bytes with the number of the network protocol (RFC 1661, section 2).
    Ppp,
    /// Ethernet II: 14 bytes before the packet. Preamble, checksum and padding are left out, as in captures
    /// at the sender.
    Ethernet {
        /// The address of the sending port.
        source: Mac,
        /// The address of the receiving port or group.
        destination: Mac,
    },
}

impl Framing {
    /// Returns the number of the link layer in capture files (<https://www.tcpdump.org/linktypes.html>).
    #[must_use]
    pub const fn link_type(self) -> u16 {
        match self {
            Framing::Raw => 101,
            Framing::Ppp => 9,
            Framing::Ethernet { .. } => 1,
        }
    }
}

/// The header of the network layer. Its version is that of the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// The addresses of the sender and the receiver.
    pub addresses: Addresses,
    /// The differentiated services code point (RFC 2474), below 64.
    pub dscp: u8,
    /// The bits of explicit congestion notification (RFC 3168), below 4.
    pub ecn: u8,
    /// The number of hops that the packet may still take.
    pub hop_limit: u8,
    /// The identification of an IPv4 packet. Packets are never fragmented.
    pub identification: u16,
    /// The flow label of an IPv6 packet (RFC 6437), below 2^20.
    pub flow_label: u32,
}

/// The addresses of the sender and the receiver of a packet, of one version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// For IPv4.
    V4(Ipv4Addr, Ipv4Addr),
    /// For IPv6.
    V6(Ipv6Addr, Ipv6Addr),
}

impl Ip {
    /// Returns the header of a packet from `source` to `destination`: no class, no mark, 64 hops, no
    /// identification, no label.
    ///
    /// # Panics
    ///
    /// If the addresses differ in version.
    #[must_use]
    pub fn between(source: IpAddr, destination: IpAddr) -> Ip {
        let addresses = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Addresses::V4(source, destination),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Addresses::V6(source, destination),
            _ => panic!("{source} and {destination} differ in version"),
        };
        Ip { addresses, dscp: 0, ecn: 0, hop_limit: 64, identification: 0, flow_label: 0 }
    }

    const fn class(&self) -> u8 {
        (self.dscp & 0x3f) << 2 | self.ecn & 3
    }
}

/// The header of the transport layer.
#[derive(Clone, Copy, Debug)]
pub enum Transport<'a> {
    /// UDP (RFC 768).
    Udp {
        /// The sender's port.
        source_port: u16,
        /// The receiver's port.
        destination_port: u16,
    },
    /// TCP (RFC 9293).
    Tcp(&'a Header),
}

/// A packet is longer than the length fields of its headers can say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payload of {payload} bytes does not fit an IP packet")]
pub struct TooLong {
    payload: u32,
}

impl Frame<'_> {
    /// Appends the bytes of the frame.
    ///
    /// # Errors
    ///
    /// If the packet is too long for its headers. Some bytes may have been appended.
    pub fn write(&self, to: &mut Vec<u8>) -> Result<(), TooLong> {
        self.try_write(to).ok_or(TooLong { payload: self.payload })
    }

    fn try_write(&self, to: &mut Vec<u8>) -> Option<()> {
        self.write_link(to);
        let mut data = Vec::with_capacity(self.payload as usize);
        let (transport, protocol) = match self.transport {
            Transport::Udp { source_port, destination_port } => {
                payload::append(&mut data, 0, self.payload as usize);
                (self.udp(source_port, destination_port, &data)?.to_bytes().to_vec(), IpNumber::UDP)
            }
            Transport::Tcp(fields) => {
                payload::append(&mut data, first_byte(fields), self.payload as usize);
                (self.tcp(fields, &data)?.to_bytes().to_vec(), IpNumber::TCP)
            }
        };
        self.write_ip(protocol, transport.len() + data.len(), to)?;
        to.extend(transport);
        to.extend(data);
        Some(())
    }

    fn write_link(&self, to: &mut Vec<u8>) {
        let is_v4 = matches!(self.ip.addresses, Addresses::V4(..));
        match self.framing {
            Framing::Raw => {}
            // The protocols IPv4 (RFC 1332) and IPv6 (RFC 5072).
            Framing::Ppp => to.extend(if is_v4 { [0x00, 0x21] } else { [0x00, 0x57] }),
            Framing::Ethernet { source, destination } => {
                let ether_type = if is_v4 { EtherType::IPV4 } else { EtherType::IPV6 };
                let header = Ethernet2Header { source: source.0, destination: destination.0, ether_type };
                to.extend(header.to_bytes());
            }
        }
    }

    /// Appends the network layer's header before `length` bytes. Returns `None` if they are too many.
    fn write_ip(&self, protocol: IpNumber, length: usize, to: &mut Vec<u8>) -> Option<()> {
        let ip = &self.ip;
        let length = u16::try_from(length).ok()?;
        match ip.addresses {
            Addresses::V4(source, destination) => {
                let (source, destination) = (source.octets(), destination.octets());
                let mut header = Ipv4Header::new(length, ip.hop_limit, protocol, source, destination).ok()?;
                header.dscp = (ip.class() >> 2).try_into().expect("six bits");
                header.ecn = (ip.class() & 3).try_into().expect("two bits");
                header.identification = ip.identification;
                header.header_checksum = header.calc_header_checksum();
                to.extend(header.to_bytes());
            }
            Addresses::V6(source, destination) => to.extend(
                Ipv6Header {
                    traffic_class: ip.class(),
                    flow_label: Ipv6FlowLabel::try_new(ip.flow_label & 0xf_ffff).expect("twenty bits"),
                    payload_length: length,
                    next_header: protocol,
                    hop_limit: ip.hop_limit,
                    source: source.octets(),
                    destination: destination.octets(),
                }
                .to_bytes(),
            ),
        }
        Some(())
    }

    /// Returns the header of a UDP packet; `None` if the packet is too long.
    fn udp(&self, source_port: u16, destination_port: u16, data: &[u8]) -> Option<UdpHeader> {
        let length = u16::try_from(UdpHeader::LEN + data.len()).ok()?;
        let header = UdpHeader { source_port, destination_port, length, checksum: 0 };
        let checksum = self.checksum(
            |source, destination| header.calc_checksum_ipv4_raw(source, destination, data),
            |source, destination| header.calc_checksum_ipv6_raw(source, destination, data),
        )?;
        Some(UdpHeader { checksum, ..header })
    }

    /// Returns the header of a TCP segment; `None` if the segment is too long.
    fn tcp(&self, fields: &Header, data: &[u8]) -> Option<TcpHeader> {
        let header = tcp::header(fields);
        let checksum = self.checksum(
            |source, destination| header.calc_checksum_ipv4_raw(source, destination, data),
            |source, destination| header.calc_checksum_ipv6_raw(source, destination, data),
        )?;
        Some(TcpHeader { checksum, ..header })
    }

    /// Returns the checksum over the pseudo-header, the transport layer's header, and its payload.
    fn checksum(
        &self,
        v4: impl FnOnce([u8; 4], [u8; 4]) -> Result<u16, ValueTooBigError<usize>>,
        v6: impl FnOnce([u8; 16], [u8; 16]) -> Result<u16, ValueTooBigError<usize>>,
    ) -> Option<u16> {
        match self.ip.addresses {
            Addresses::V4(source, destination) => v4(source.octets(), destination.octets()).ok(),
            Addresses::V6(source, destination) => v6(source.octets(), destination.octets()).ok(),
        }
    }
}

/// Returns the sequence number of the first byte of a segment's payload. A SYN takes one number before it.
fn first_byte(fields: &Header) -> u32 {
    fields.seq.0.wrapping_add(u32::from(fields.flags.has(Flags::SYN)))
}
