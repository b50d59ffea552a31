//! A ring of campus networks, the test case of the DARPA NMS programme, as ns-3's `nms-p2p-nix` has it.
//!
//! A campus has 538 nodes (with 42 hosts a LAN): Net0 of 3 routers, Net1 of 2 routers and 4 servers, two
//! routers between the parts (LR), Net2 of 14 routers, Net3 of 9 routers, and hosts at 12 of those. Net0.0 of
//! each campus is linked to Net0.0 of the next one.
//!
//! Sources: the campus model of the DARPA NMS baseline (Nicol, 2003);
//! `src/nix-vector-routing/examples/nms-p2p-nix.cc` of ns-3.

use crate::{Link, NodeId, Topology, TopologyError};
use parades_config::units::{GBPS, MBPS};
use parades_core::time::Delay;
use std::ops::Range;

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkKind {
    /// Bits per second, in each direction.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay: Delay,
}

/// The size of a ring of campuses, and its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Campus {
    /// The number of campuses. One campus has no ring. Two have a ring of two parallel links.
    pub networks: u32,
    /// The number of hosts at each of the twelve LAN routers.
    pub lan_clients: u32,
    /// Links inside a campus.
    pub inner: LinkKind,
    /// Links to hosts.
    pub access: LinkKind,
    /// Links between campuses.
    pub ring: LinkKind,
}

impl Campus {
    /// The published values, for two campuses.
    pub const PUBLISHED: Campus = Campus {
        networks: 2,
        lan_clients: 42,
        inner: LinkKind { rate_bps: GBPS, delay: Delay::from_ms(5) },
        access: LinkKind { rate_bps: 100 * MBPS, delay: Delay::from_ms(1) },
        ring: LinkKind { rate_bps: 2 * GBPS, delay: Delay::from_ms(200) },
    };
}

impl Default for Campus {
    /// Returns [`Campus::PUBLISHED`].
    fn default() -> Campus {
        Campus::PUBLISHED
    }
}

// The first node of each part, counted from the first node of the campus. Hosts come last.
const NET0: u32 = 0;
const NET1: u32 = 3;
const LR: u32 = 9;
const NET2: u32 = 11;
const NET3: u32 = 25;
const HOSTS: u32 = 34;
/// The number of servers of a campus: nodes 2 to 5 of Net1.
pub const SERVERS: u32 = 4;
/// The number of LAN routers of a campus.
const LANS: u32 = 12;

/// The links inside each part of a campus, by the part's own numbers.
const PARTS: [(u32, &[(u32, u32)]); 4] = [
    (NET0, &[(0, 1), (1, 2), (2, 0)]),
    (NET1, &[(0, 1), (2, 0), (3, 0), (4, 1), (5, 1)]),
    (
        NET2,
        &[
            (0, 1),
            (2, 0),
            (1, 3),
            (3, 2),
            (4, 2),
            (5, 3),
            (6, 5),
            (7, 2),
            (8, 3),
            (9, 4),
            (10, 5),
            (11, 6),
            (12, 6),
            (13, 6),
        ],
    ),
    (NET3, &[(0, 1), (1, 2), (2, 3), (3, 1), (4, 0), (5, 0), (6, 2), (7, 3), (8, 3)]),
];
/// The links between the parts.
const BETWEEN: [(u32, u32); 8] = [
    (NET0 + 2, NET1),
    (LR, LR + 1),
    (LR, NET0),
    (LR + 1, NET0 + 1),
    (LR, NET2),
    (LR + 1, NET2 + 1),
    (LR + 1, NET3),
    (LR + 1, NET3 + 1),
];

/// Returns the links between the routers and servers of a campus.
fn inner_links() -> impl Iterator<Item = (u32, u32)> {
    let of_part =
        |&(first, links): &(u32, &'static [(u32, u32)])| links.iter().map(move |(a, b)| (first + a, first + b));
    PARTS.iter().flat_map(of_part).chain(BETWEEN)
}

/// Returns the routers that hosts are attached to.
fn lan_routers() -> impl Iterator<Item = u32> {
    (NET2 + 7..=NET2 + 13).chain(NET3 + 4..=NET3 + 8)
}

impl Campus {
    /// Returns the number of nodes of all campuses. It may be more than a topology can have.
    ///
    /// ```
    /// assert_eq!(parades_topology::generators::campus::Campus::default().nodes(), 2 * 538);
    /// ```
    pub fn nodes(&self) -> u64 {
        u64::from(self.networks).saturating_mul(self.nodes_each())
    }

    fn nodes_each(&self) -> u64 {
        u64::from(HOSTS) + u64::from(LANS) * u64::from(self.lan_clients)
    }

    /// Returns the number of nodes of a campus. `None` if all campuses have more nodes than a topology can
    /// have.
    fn nodes_of_campus(&self) -> Option<u32> {
        u32::try_from(self.nodes_each()).ok().filter(|_| self.nodes() < u64::from(u32::MAX))
    }

    /// Returns the first node of a campus of a topology that exists.
    pub fn first_node(&self, campus: u32) -> NodeId {
        NodeId(campus * self.nodes_of_campus().expect("the topology exists"))
    }

    /// Returns a server of a campus, by its number below [`SERVERS`].
    pub fn server(&self, campus: u32, number: u32) -> NodeId {
        NodeId(self.first_node(campus).0 + NET1 + 2 + number)
    }

    /// Returns the hosts of a campus.
    pub fn hosts(&self, campus: u32) -> impl Iterator<Item = NodeId> + use<> {
        let hosts: Range<u32> = self.first_node(campus).0 + HOSTS..self.first_node(campus + 1).0;
        hosts.map(NodeId)
    }

    /// Makes the network.
    ///
    /// # Errors
    ///
    /// If it has more nodes or links than a topology can have.
    ///
    /// # Panics
    ///
    /// If there is no campus.
    pub fn topology(&self) -> Result<Topology, TopologyError> {
        assert!(self.networks > 0, "a ring of campuses has a campus");
        let nodes = self.nodes_of_campus().ok_or(TopologyError::TooLarge)?;
        let names: Vec<String> =
            (0..self.networks).flat_map(|z| (0..nodes).map(move |node| self.name(z, node))).collect();
        let mut links = Vec::new();
        let mut link = |a, b, LinkKind { rate_bps, delay }| {
            links.push(Link { a: NodeId(a), b: NodeId(b), rate_bps, delay });
        };
        for z in 0..self.networks {
            let first = z * nodes;
            inner_links().for_each(|(a, b)| link(first + a, first + b, self.inner));
            for (lan, router) in (0..).zip(lan_routers()) {
                for client in 0..self.lan_clients {
                    let host = HOSTS + lan * self.lan_clients + client;
                    link(first + router, first + host, self.access);
                }
            }
            if self.networks > 1 {
                link(first + NET0, (z + 1) % self.networks * nodes + NET0, self.ring);
            }
        }
        Topology::new(&names, links)
    }

    /// Returns the name of a node: `2.net1.3` is node 3 of Net1 of campus 2, `2.lan0.7` is host 7 of its
    /// first LAN.
    fn name(&self, campus: u32, node: u32) -> String {
        let (part, number) = match node {
            NET0..NET1 => ("net0", node - NET0),
            NET1..LR => ("net1", node - NET1),
            LR..NET2 => ("lr", node - LR),
            NET2..NET3 => ("net2", node - NET2),
            NET3..HOSTS => ("net3", node - NET3),
            _ => {
                let host = node - HOSTS;
                let (lan, client) = (host / self.lan_clients, host % self.lan_clients);
                return format!("{campus}.lan{lan}.{client}");
            }
        };
        format!("{campus}.{part}.{number}")
    }
}
