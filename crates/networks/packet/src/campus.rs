//! `campus`: a ring of campus networks ([`parades_topology::generators::campus`]) in which servers send to
//! hosts.
//!
//! Every host receives one UDP flow of 500,224 bytes, in packets of 512, from one of the four servers of the
//! next campus: server `2 + floor(4u)` of that campus's Net1, from time `10 u'` seconds on. `u` and `u'` are
//! the first two draws of the host's own stream [`Rng::substream`] of purpose [`TRAFFIC_STREAM`]. (ns-3's
//! flows use TCP, and its servers send a first packet one gap after their start.)
//!
//! With [`Parameters::multicast`], one server of each campus sends the same bytes to all hosts of its own
//! campus. They travel down the tree of the shortest paths. Server and start are drawn in the same way, from
//! the stream of the campus's first node.
//!
//! Routes have the fewest hops. Flows spread over equal paths, and in a ring of two campuses over its two
//! parallel links. With [`Paths::One`], all routes lead through the same nodes as ns-3's nix-vectors do, and
//! take the first of the parallel links, so each of its directions carries the data of one campus. In ns-3,
//! all routes take the second link.
//!
//! Source: G. Seguin, *Multi-core parallelism for ns-3 simulator*, INRIA 2009, which measured it.

use crate::description::{Ends, Framing};
use crate::flow::{Flow, Group, Limit};
use crate::network::{Network, NetworkError, PATHS_MEANING, SAMPLE_MEANING, Settings};
use crate::protocols::tcp::{Tcp, Writes};
use crate::queue::QueueLimit;
use crate::record::Record;
use crate::segment::SegmentRef;
use crate::traffic::{Pattern, Sizes};
use parades_config::units::KBPS;
use parades_config::{ConfigError, Values};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_tcp::control::Algorithm;
use parades_topology::generators::campus::{Campus, LinkKind, SERVERS};
use parades_topology::routing::Paths;
use parades_topology::{NodeId, Topology};

/// The purpose of the random streams from which traffic is drawn. Each host's id has a stream of its own.
pub const TRAFFIC_STREAM: u32 = 1;

/// The number of the first server in Net1.
const FIRST_SERVER: u32 = 2;

/// The parameters. The defaults are the published values, for two campuses.
#[derive(Clone, Debug, PartialEq, parades_config::Parameters)]
pub struct Parameters {
    /// The number of campuses. A single campus has no ring, and its hosts use its own servers.
    #[parameter(
        integer, default = Campus::PUBLISHED.networks as u64, range = 1..=1_000_000,
        meaning = "campuses; 1: no ring, a campus's hosts use its own servers"
    )]
    pub networks: u32,
    /// The number of hosts at each of the twelve LAN routers of a campus.
    #[parameter(
        integer, default = Campus::PUBLISHED.lan_clients as u64, range = 1..=1_000_000,
        meaning = "hosts at each of the twelve LAN routers of a campus"
    )]
    pub lan_clients: u32,
    /// The settings of TCP, for [`Parameters::streams`]. `packet_size` is its segment.
    #[parameter(
        choice, key = "congestion", default = "cubic", of = &["newreno", "cubic", "dctcp", "bbr", "vegas"], read = as_in_ns3,
        meaning = "congestion control of tcp, in the profile of ns-3"
    )]
    pub tcp: parades_tcp::settings::Settings,
    /// Payload that a server sends to one host, in bits per second.
    #[parameter(rate, changeable, key = "flow_rate", default = 500 * KBPS, positive, meaning = "payload of a flow in a second")]
    pub flow_rate_bps: u64,
    /// Payload of a packet, in bytes.
    #[parameter(size, key = "packet", default = 512, positive, meaning = "payload of a packet")]
    pub packet_size: u32,
    /// Payload that a host receives, in bytes.
    #[parameter(size, key = "flow", default = 500_224, positive, meaning = "payload that a host receives, in total")]
    pub flow_bytes: u64,
    /// The span from time zero within which flows start.
    #[parameter(duration, default = Delay::from_secs(10), meaning = "flows start at a random time between 0 and this")]
    pub start_span: Delay,
    /// Headers of a packet, in bytes.
    #[parameter(size, default = 30, meaning = "headers of a packet: UDP 8, IP 20, PPP 2")]
    pub headers: u32,
    /// The limit of every queue.
    #[parameter(
        integer, changeable, default = 100, range = 0..=1_000_000_000,
        meaning = "greatest number of packets in the queue of an interface"
    )]
    pub queue: QueueLimit,
    /// Rate of links inside a campus, in bits per second.
    #[parameter(
        rate, changeable, key = "inner_rate", default = Campus::PUBLISHED.inner.rate_bps, positive,
        meaning = "rate of links inside a campus"
    )]
    pub inner_rate_bps: u64,
    /// Delay of links inside a campus.
    #[parameter(duration, default = Campus::PUBLISHED.inner.delay, meaning = "delay of links inside a campus")]
    pub inner_delay: Delay,
    /// Rate of links to hosts, in bits per second.
    #[parameter(
        rate, changeable, key = "access_rate", default = Campus::PUBLISHED.access.rate_bps, positive,
        meaning = "rate of links to hosts"
    )]
    pub access_rate_bps: u64,
    /// Delay of links to hosts.
    #[parameter(duration, default = Campus::PUBLISHED.access.delay, meaning = "delay of links to hosts")]
    pub access_delay: Delay,
    /// Rate of links between campuses, in bits per second.
    #[parameter(
        rate, changeable, key = "ring_rate", default = Campus::PUBLISHED.ring.rate_bps, positive,
        needs = "networks>1", meaning = "rate of links between campuses"
    )]
    pub ring_rate_bps: u64,
    /// Delay of links between campuses.
    #[parameter(duration, default = Campus::PUBLISHED.ring.delay, needs = "networks>1", meaning = "delay of links between campuses")]
    pub ring_delay: Delay,
    /// The paths that flows may take.
    #[parameter(choice, default = "ecmp", meaning = PATHS_MEANING)]
    pub paths: Paths,
    /// The time between two samples; zero for none.
    #[parameter(duration, default = Delay::ZERO, meaning = SAMPLE_MEANING)]
    pub sample: Delay,
    /// The server and the start of each flow over TCP. Empty if they are drawn at random.
    #[parameter(skip, default = Vec::new())]
    pub starts: Vec<Start>,
}

/// The server and the start of the flow to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The campus of the host.
    pub campus: u32,
    /// The number of the host in its campus.
    pub host: u32,
    /// The number of the server in Net1 of the next campus: 2 to 5.
    pub server: u32,
    /// The time at which the server opens the connection.
    pub start: Time,
}

/// Returns the settings of TCP in the profile of ns-3, with the congestion control that a parameter names.
fn as_in_ns3(values: &Values, key: &str) -> Result<parades_tcp::settings::Settings, ConfigError> {
    let algorithm: Algorithm = values.choice(key).parse().expect("the parameter lists the algorithms");
    Ok(parades_tcp::settings::Settings { algorithm: algorithm.as_in_ns3(), ..parades_tcp::settings::Settings::ns3() })
}

impl Parameters {
    /// Makes the network. Its flows are drawn from the seed of the run.
    ///
    /// # Errors
    ///
    /// If a parameter is impossible.
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
        let topology = self.topology()?;
        let flows = (0..self.networks).flat_map(|z| self.flows(z, seed)).collect();
        Network::new(topology, flows, self.settings())
    }

    /// Makes the same network, but its flows use TCP: a server opens a connection to the host, and writes
    /// `packet_size` bytes at a time at `flow_rate_bps`, until `flow_bytes` are written. Links have frames of
    /// PPP.
    ///
    /// # Errors
    ///
    /// If a parameter is impossible.
    pub fn streams(&self, seed: u64) -> Result<Network<SegmentRef>, NetworkError> {
        let topology = self.topology()?;
        let flows = if self.starts.is_empty() {
            let flows = (0..self.networks).flat_map(|z| self.flows(z, seed));
            flows.map(|Flow { source, destination, start, .. }| Ends { source, destination, start }).collect()
        } else {
            self.starts.iter().map(|start| self.ends(start)).collect::<Result<Vec<Ends>, _>>()?
        };
        let writes = Some(Writes { bytes: self.packet_size, rate_bps: Some(self.flow_rate_bps) });
        let settings = parades_tcp::settings::Settings { mss: self.packet_size, ..self.tcp.clone() };
        let tcp = Tcp { settings, bytes: self.flow_bytes, writes, read_rate_bps: None };
        let settings = Settings { framing: Framing::Ppp, headers: 28, ..self.settings() };
        Network::streams(topology, tcp, flows, settings)
    }

    /// Returns the ends of a flow whose start is given.
    fn ends(&self, &Start { campus: z, host, server, start }: &Start) -> Result<Ends, NetworkError> {
        let campus = self.campus();
        let number = server.checked_sub(FIRST_SERVER).filter(|&server| server < SERVERS);
        let node = if z < campus.networks { campus.hosts(z).nth(host as usize) } else { None };
        match (node, number) {
            (Some(destination), Some(number)) => {
                Ok(Ends { source: campus.server((z + 1) % campus.networks, number), destination, start })
            }
            _ => Err(NetworkError::Parameter(format!(
                "there is no flow to host {host} of campus {z} from server {server}: with these parameters campuses are \
                 below {}, their hosts below {}, and servers are 2 to 5",
                campus.networks,
                campus.hosts(0).count(),
            ))),
        }
    }

    /// Makes the same network, but one server of each campus sends to all hosts of its campus. Server and
    /// start are drawn from the seed.
    ///
    /// # Errors
    ///
    /// If a parameter is impossible.
    ///
    /// # Examples
    ///
    /// ```
    /// use parades_core::shared::Shared;
    /// use parades_packet::campus::Parameters;
    /// let model = Parameters::default().multicast::<Shared<Box<[u8]>>>(1)?;
    /// assert_eq!(model.groups().len(), 2);
    /// assert!(model.groups().iter().all(|group| group.receivers.len() == 504));
    /// # Ok::<(), parades_packet::network::NetworkError>(())
    /// ```
    pub fn multicast<D: Record>(&self, seed: u64) -> Result<Network<D>, NetworkError> {
        let topology = self.topology()?;
        let groups = (0..self.networks).map(|z| self.group(z, seed)).collect();
        Network::multicast(topology, groups, self.settings())
    }

    /// Returns the campuses and their links.
    fn campus(&self) -> Campus {
        let &Parameters { networks, lan_clients, .. } = self;
        let inner = LinkKind { rate_bps: self.inner_rate_bps, delay: self.inner_delay };
        let access = LinkKind { rate_bps: self.access_rate_bps, delay: self.access_delay };
        let ring = LinkKind { rate_bps: self.ring_rate_bps, delay: self.ring_delay };
        Campus { networks, lan_clients, inner, access, ring }
    }

    fn settings(&self) -> Settings {
        let Parameters { headers, queue, sample, paths, .. } = *self;
        Settings { headers, queue: queue.into(), sample, paths, ..Settings::default() }
    }

    fn topology(&self) -> Result<Topology, NetworkError> {
        let parameter = |what: &str| NetworkError::Parameter(what.into());
        if self.networks == 0 || self.lan_clients == 0 {
            return Err(parameter("`networks` and `lan_clients` must be at least 1"));
        }
        if self.campus().nodes() >= u64::from(u32::MAX) {
            return Err(parameter("`networks` times `lan_clients` makes more than 2^32 nodes; lower one of them"));
        }
        Ok(self.campus().topology()?)
    }

    /// Returns the flows to the hosts of campus `z`.
    fn flows(&self, z: u32, seed: u64) -> impl Iterator<Item = Flow> {
        let campus = self.campus();
        campus.hosts(z).map(move |destination| {
            let (server, start) = self.draw(seed, destination);
            Flow {
                source: campus.server((z + 1) % campus.networks, server),
                destination,
                start,
                limit: Limit::Bytes(self.flow_bytes),
                sizes: Sizes::Constant(self.packet_size),
                pattern: Pattern::Constant { rate_bps: self.flow_rate_bps },
            }
        })
    }

    /// Returns the group of campus `z`.
    fn group(&self, z: u32, seed: u64) -> Group {
        let campus = self.campus();
        let (server, start) = self.draw(seed, campus.first_node(z));
        Group {
            source: campus.server(z, server),
            receivers: campus.hosts(z).collect(),
            start,
            limit: Limit::Bytes(self.flow_bytes),
            sizes: Sizes::Constant(self.packet_size),
            pattern: Pattern::Constant { rate_bps: self.flow_rate_bps },
        }
    }

    /// Draws a server's number and the start of its flow from the stream of a node.
    fn draw(&self, seed: u64, node: NodeId) -> (u32, Time) {
        let rng = Rng::substream(seed, node.0, TRAFFIC_STREAM);
        #[expect(clippy::cast_possible_truncation, reason = "below the number of servers")]
        let server = rng.below(u64::from(SERVERS)) as u32;
        (server, Time::from_ps(self.start_span.scaled(rng.unit()).as_ps()))
    }
}
