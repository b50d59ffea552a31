//! Addresses of nodes, interfaces and multicast groups, made from their numbers.
//!
//! | for | address |
//! |---|---|
//! | node `n`, IPv4 | `10.0.0.0` + `n` + 1, so node 0 is `10.0.0.1` and node 255 is `10.0.1.0` |
//! | node `n`, IPv6 | `fd00::` + `n` + 1, a unique local address (RFC 4193) |
//! | group `g`, IPv4 | `239.0.0.0` + `g` + 1, of the administratively scoped block (RFC 2365) |
//! | group `g`, IPv6 | `ff15::` + `g` + 1, a transient address of site-local scope (RFC 4291, section 2.7) |
//! | port `p` of node `n`, Ethernet | locally administered: `02`, 16 bits of `p`, 24 bits of `n` |
//!
//! The block `10.0.0.0/8` has room for 16,777,214 nodes. In a larger network, the addresses of further nodes
//! lie in the blocks after it. The six free bits of the first byte of an Ethernet address are bits 24 to 29
//! of the number of the node.

pub use parades_tcp::settings::IpVersion;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

/// Returns the address of a node.
///
/// ```
/// use parades_capture::address::{IpVersion, node_address};
/// assert_eq!(node_address(IpVersion::V4, 299).to_string(), "10.0.1.44");
/// assert_eq!(node_address(IpVersion::V6, 299).to_string(), "fd00::12c");
/// ```
pub fn node_address(version: IpVersion, node: u32) -> IpAddr {
    match version {
        IpVersion::V4 => IpAddr::V4(v4(Ipv4Addr::new(10, 0, 0, 0), node)),
        IpVersion::V6 => IpAddr::V6(v6(0xfd00, node)),
    }
}

/// Returns the address of a multicast group.
///
/// ```
/// use parades_capture::address::{IpVersion, group_address};
/// assert_eq!(group_address(IpVersion::V4, 2).to_string(), "239.0.0.3");
/// assert_eq!(group_address(IpVersion::V6, 2).to_string(), "ff15::3");
/// ```
pub fn group_address(version: IpVersion, group: u32) -> IpAddr {
    match version {
        IpVersion::V4 => IpAddr::V4(v4(Ipv4Addr::new(239, 0, 0, 0), group)),
        IpVersion::V6 => IpAddr::V6(v6(0xff15, group)),
    }
}

fn v4(block: Ipv4Addr, number: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(block.to_bits().wrapping_add(number).wrapping_add(1))
}

fn v6(first: u16, number: u32) -> Ipv6Addr {
    Ipv6Addr::from_bits((u128::from(first) << 112) + u128::from(number) + 1)
}

impl Mac {
    /// Returns the address of a port of a node.
    ///
    /// ```
    /// use parades_capture::address::Mac;
    /// assert_eq!(Mac::of_port(258, 3), Mac([2, 0, 3, 0, 1, 2]));
    /// ```
    #[must_use]
    pub fn of_port(node: u32, port: u32) -> Mac {
        const LOCALLY_ADMINISTERED: u8 = 0b10;
        let [node_high, node @ ..] = node.to_be_bytes();
        let [_, _, port @ ..] = port.to_be_bytes();
        Mac([node_high << 2 | LOCALLY_ADMINISTERED, port[0], port[1], node[0], node[1], node[2]])
    }

    /// Returns the address to which packets for an IP multicast group are sent (RFC 1112, section 6.4;
    /// RFC 2464, section 7); `None` if the IP address is not that of a group.
    ///
    /// ```
    /// use parades_capture::address::Mac;
    /// assert_eq!(Mac::of_group("239.129.2.3".parse().unwrap()), Some(Mac([1, 0, 0x5e, 1, 2, 3])));
    /// assert_eq!(Mac::of_group("ff15::1:203".parse().unwrap()), Some(Mac([0x33, 0x33, 0, 1, 2, 3])));
    /// assert_eq!(Mac::of_group("10.0.0.1".parse().unwrap()), None);
    /// ```
    #[must_use]
    pub fn of_group(address: IpAddr) -> Option<Mac> {
        if !address.is_multicast() {
            return None;
        }
        Some(match address {
            IpAddr::V4(address) => {
                let [_, a, b, c] = address.octets();
                Mac([1, 0, 0x5e, a & 0x7f, b, c])
            }
            IpAddr::V6(address) => {
                let [.., a, b, c, d] = address.octets();
                Mac([0x33, 0x33, a, b, c, d])
            }
        })
    }
}

/// Returns the ports of a flow of datagrams: that of the end that begins, and that of the other end.
///
/// The ports are dynamic ones (RFC 6335, section 6), from 50,000 to 54,095. Wireshark assigns none of them to
/// a protocol, so it does not misread payloads. Flows below 2^24 have different pairs.
///
/// ```
/// use parades_capture::address::flow_ports;
/// assert_eq!(flow_ports(5), (50_005, 50_000));
/// assert_eq!(flow_ports(3 * 4096 + 5), (50_005, 50_003));
/// ```
#[must_use]
pub fn flow_ports(flow: u32) -> (u16, u16) {
    const FIRST: u32 = 50_000;
    const PORTS: u32 = 4096;
    let port = |number: u32| u16::try_from(FIRST + number % PORTS).expect("a dynamic port");
    (port(flow), port(flow / PORTS))
}
