//! `campus`: a ring of campus networks, the test case of the DARPA NMS programme, as ns-3's `nms-p2p-nix` has it.
//!
//! A campus has 538 nodes (with 42 hosts a LAN): Net0 of 3 routers, Net1 of 2 routers and 4 servers, two routers between the parts (LR),
//! Net2 of 14 and Net3 of 9 routers, and hosts at 12 of those. Net0.0 of each campus is joined to Net0.0 of the next one.
//!
//! Every host receives one UDP flow of 500,224 bytes, in packets of 512, from one of the four servers of the next campus: server `2 +
//! floor(4u)` of its Net1, from time `10 u'` seconds on. `u` and `u'` are the first two draws of the host's own stream
//! [`Rng::substream`] of purpose [`TRAFFIC_STREAM`]. (ns-3's flows are of TCP; its servers send a first packet one gap after their start.)
//!
//! Or, by [`Parameters::multicast`], one server of each campus sends the same bytes to all hosts of its own campus, down the tree of the
//! shortest paths to them; server and start are drawn alike, from the stream of the campus's first node.
//!
//! Routes have the fewest hops, and lead through the same nodes as ns-3's nix-vectors do. Between two campuses there are two parallel links:
//! all routes take the first one, each direction of which carries the data of one campus; ns-3's all take the second.
//!
//! Sources: the campus model of the DARPA NMS baseline (Nicol, 2003); G. Seguin, *Multi-core parallelism for ns-3 simulator*, INRIA 2009,
//! which measured it; `src/nix-vector-routing/examples/nms-p2p-nix.cc` of ns-3.

use crate::flow::{Flow, Limit};
use crate::multicast::{Group, Multicast, SharedData};
use crate::network::{Network, NetworkError, Settings};
use crate::queue::QueueLimit;
use crate::traffic::{Pattern, Sizes};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_topology::{Link, NodeId, Topology};

/// The purpose of the random streams that traffic is drawn from, one for each host's id.
pub const TRAFFIC_STREAM: u32 = 1;

/// A kind of link: bits per second in each direction, and propagation delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkKind {
    /// Bits per second.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay: Delay,
}

/// The parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Campuses. With one there is no ring, and its hosts use its own servers; with two the ring is two parallel links.
    pub networks: u32,
    /// Hosts at each of the twelve LAN routers.
    pub lan_clients: u32,
    /// Links inside a campus.
    pub inner: LinkKind,
    /// Links to hosts.
    pub access: LinkKind,
    /// Links between campuses.
    pub ring: LinkKind,
    /// The bound of every queue.
    pub queue: QueueLimit,
    /// Bytes of headers of a packet.
    pub headers: u32,
    /// Bits of payload in a second that a server sends to one host.
    pub flow_rate_bps: u64,
    /// Bytes of payload in a packet.
    pub packet_size: u32,
    /// Bytes of payload that a host receives.
    pub flow_bytes: u64,
    /// Flows start between zero and this.
    pub start_span: Delay,
    /// The time between two samples; zero for none.
    pub sample: Delay,
}

impl Default for Parameters {
    /// The published ones, for two campuses.
    fn default() -> Parameters {
        let kind = |rate_bps, ms| LinkKind { rate_bps, delay: Delay::from_ms(ms) };
        Parameters {
            networks: 2,
            lan_clients: 42,
            inner: kind(1_000_000_000, 5),
            access: kind(100_000_000, 1),
            ring: kind(2_000_000_000, 200),
            queue: QueueLimit::Packets(100),
            headers: 30,
            flow_rate_bps: 500_000,
            packet_size: 512,
            flow_bytes: 500_224,
            start_span: Delay::from_secs(10),
            sample: Delay::ZERO,
        }
    }
}

// Where the parts of a campus begin among its nodes; hosts come last.
const NET0: u32 = 0;
const NET1: u32 = 3;
const LR: u32 = 9;
const NET2: u32 = 11;
const NET3: u32 = 25;
const HOSTS: u32 = 34;
/// The servers are nodes 2 to 5 of Net1.
const SERVERS: u32 = 4;

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

/// The links between the routers and servers of a campus.
fn inner_links() -> impl Iterator<Item = (u32, u32)> {
    let of_part =
        |&(first, links): &(u32, &'static [(u32, u32)])| links.iter().map(move |(a, b)| (first + a, first + b));
    PARTS.iter().flat_map(of_part).chain(BETWEEN)
}

/// The routers that hosts are attached to.
fn lan_routers() -> impl Iterator<Item = u32> {
    (NET2 + 7..=NET2 + 13).chain(NET3 + 4..=NET3 + 8)
}

impl Parameters {
    /// Nodes of all campuses, as these parameters would have it; whether there can be so many, is not checked.
    ///
    /// ```
    /// assert_eq!(parades_packet::campus::Parameters::default().nodes(), 2 * 538);
    /// ```
    pub fn nodes(&self) -> u64 {
        u64::from(self.networks).saturating_mul(self.nodes_each())
    }

    fn nodes_each(&self) -> u64 {
        u64::from(HOSTS) + 12 * u64::from(self.lan_clients)
    }

    /// Nodes of a campus; `None` where the whole has more than there can be.
    fn campus_nodes(&self) -> Option<u32> {
        u32::try_from(self.nodes_each()).ok().filter(|_| self.nodes() < u64::from(u32::MAX))
    }

    /// The network, its flows drawn from the seed of the run.
    ///
    /// # Errors
    ///
    /// Where parameters are impossible.
    ///
    /// # Examples
    ///
    /// ```
    /// use parades_packet::campus::Parameters;
    /// let network = Parameters { networks: 3, ..Parameters::default() }.network(1)?;
    /// assert_eq!(network.topology().nodes(), 3 * 538);
    /// assert_eq!(network.flows().len(), 3 * 504);
    /// # Ok::<(), parades_packet::network::NetworkError>(())
    /// ```
    pub fn network(&self, seed: u64) -> Result<Network, NetworkError> {
        let campus_nodes = self.check()?;
        let topology = self.topology(campus_nodes)?;
        let flows = (0..self.networks).flat_map(|z| self.flows(z, campus_nodes, seed)).collect();
        Network::new(topology, flows, self.settings())
    }

    /// The same network, in which a server of each campus sends to all its hosts; the source and its start are drawn from the seed.
    ///
    /// # Errors
    ///
    /// Where parameters are impossible.
    ///
    /// # Examples
    ///
    /// ```
    /// use parades_core::shared::Shared;
    /// use parades_packet::campus::Parameters;
    /// let model = Parameters { networks: 3, ..Parameters::default() }.multicast::<Shared<Box<[u8]>>>(1)?;
    /// assert_eq!(model.groups().len(), 3);
    /// assert!(model.groups().iter().all(|group| group.receivers.len() == 504));
    /// # Ok::<(), parades_packet::network::NetworkError>(())
    /// ```
    pub fn multicast<D: SharedData>(&self, seed: u64) -> Result<Multicast<D>, NetworkError> {
        let campus_nodes = self.check()?;
        let topology = self.topology(campus_nodes)?;
        let groups = (0..self.networks).map(|z| self.group(z * campus_nodes, campus_nodes, seed)).collect();
        Multicast::new(topology, groups, self.settings())
    }

    /// The nodes of a campus, where the numbers are possible.
    fn check(&self) -> Result<u32, NetworkError> {
        let parameter = |what: &str| NetworkError::Parameter(what.into());
        if self.networks == 0 || self.lan_clients == 0 {
            return Err(parameter("`networks` and `lan_clients` must be at least 1"));
        }
        self.campus_nodes()
            .ok_or_else(|| parameter("`networks` times `lan_clients` makes more than 2^32 nodes; lower one of them"))
    }

    fn settings(&self) -> Settings {
        Settings { headers: self.headers, queue: self.queue, sample: self.sample, ..Settings::default() }
    }

    fn topology(&self, campus_nodes: u32) -> Result<Topology, NetworkError> {
        let names: Vec<String> =
            (0..self.networks).flat_map(|z| (0..campus_nodes).map(move |node| self.name(z, node))).collect();
        let mut links = Vec::new();
        let mut link = |a, b, LinkKind { rate_bps, delay }| {
            links.push(Link { a: NodeId(a), b: NodeId(b), rate_bps, delay });
        };
        for z in 0..self.networks {
            let first = z * campus_nodes;
            inner_links().for_each(|(a, b)| link(first + a, first + b, self.inner));
            for (lan, router) in (0..).zip(lan_routers()) {
                for client in 0..self.lan_clients {
                    let host = HOSTS + lan * self.lan_clients + client;
                    link(first + router, first + host, self.access);
                }
            }
            if self.networks > 1 {
                link(first + NET0, (z + 1) % self.networks * campus_nodes + NET0, self.ring);
            }
        }
        Topology::new(&names, links).map_err(|why| NetworkError::Parameter(why.to_string()))
    }

    /// `2.net1.3` is node 3 of Net1 of campus 2, `2.lan0.7` host 7 of its first LAN.
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

    /// The flows to the hosts of campus `z`.
    fn flows(&self, z: u32, campus_nodes: u32, seed: u64) -> impl Iterator<Item = Flow> {
        let servers = (z + 1) % self.networks * campus_nodes + NET1 + 2;
        (HOSTS..campus_nodes).map(move |host| {
            let destination = z * campus_nodes + host;
            let (server, start) = self.draw(seed, destination);
            Flow {
                source: NodeId(servers + server),
                destination: NodeId(destination),
                start,
                limit: Limit::Bytes(self.flow_bytes),
                sizes: Sizes::Constant(self.packet_size),
                pattern: Pattern::Constant { rate_bps: self.flow_rate_bps },
            }
        })
    }

    /// The group of the campus whose nodes begin at `first`.
    fn group(&self, first: u32, campus_nodes: u32, seed: u64) -> Group {
        let (server, start) = self.draw(seed, first);
        Group {
            source: NodeId(first + NET1 + 2 + server),
            receivers: (HOSTS..campus_nodes).map(|host| NodeId(first + host)).collect(),
            start,
            limit: Limit::Bytes(self.flow_bytes),
            sizes: Sizes::Constant(self.packet_size),
            pattern: Pattern::Constant { rate_bps: self.flow_rate_bps },
        }
    }

    /// Which of the servers sends, and when it starts, from the stream of a node.
    fn draw(&self, seed: u64, node: u32) -> (u32, Time) {
        let mut rng = Rng::substream(seed, node, TRAFFIC_STREAM);
        #[expect(clippy::cast_possible_truncation, reason = "below the number of servers")]
        let server = rng.below(u64::from(SERVERS)) as u32;
        (server, Time::from_ps(self.start_span.scaled(rng.unit()).as_ps()))
    }
}
