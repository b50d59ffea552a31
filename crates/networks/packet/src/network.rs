//! The packet network: one LP for each node, one event for each hop of a packet.
//!
//! *Idea.* A packet arrives at a node. The module `forwarding` selects the port by which it leaves. That port
//! knows at once when the packet will be at the far end, or that it will be lost (`port.rs`). So the node
//! sends the packet to the neighbour at once. Only disciplines that decide on departure hold packets
//! ([`crate::queue`]). At its destination, an endpoint reacts to it
//! ([`crate::protocols`]).
//!
//! *Changes.* Links that fail, change or come back, and nodes that go away, are constants of the model, which
//! handlers read from the clock. The tables of routes after each change are constants too. No engine stops
//! for a change.
//!
//! *Losses.* A packet is lost in four cases. The queue drops it. It is lost by chance, once it is
//! transmitted. The link is down, or goes down while the packet waits, is transmitted or is on its way. Or no
//! path leads on from the node. A link that comes up again is empty.
//!
//! *Lookahead.* Serialisation time does not decrease with size. So the delay of a channel is at least the sum
//! of two times: the link's least propagation delay, and the serialisation of the smallest packet at the
//! link's greatest rate. The channel declares this sum. It is positive even if the propagation delay is zero.
//!
//! *Cost.* A hop touches the node, one of its ports, and one word of a source route, or an entry of a table.
//! A source has a timer for each of its flows, so an event costs the same however many flows a node sends.
//! The constants of links are kept once for each kind of link, and equal routes once.
//!
//! *Conservation.* For each flow and direction, packets sent + duplicated by links = arrived + copies arrived
//! after their packets + lost + in flight. Packets that ports hold are in flight. For a group, the copies
//! made are added to the packets sent. Otherwise the run fails.

pub(crate) mod assemble;
mod captures;
mod layout;
mod model;
mod outlet;
mod save;
pub(crate) mod slots;
mod words;

pub use crate::forwarding::failures::Failure;
pub(crate) use layout::{Layout, has_end, measures_ends};

use crate::description::{App, AppKind, Description, Ends, Framing};
use crate::flow::{Flow, Group};
use crate::protocols::Tcp;
use crate::queue::Discipline;
use crate::record::{NoRecord, Record};
use crate::segment::SegmentRef;
use parades_core::prelude::*;
use parades_topology::routing::{Metric, Paths, RoutingError};
use parades_topology::{LinkId, Topology, TopologyError};
use std::marker::PhantomData;

/// The meaning of the parameter for [`Settings::paths`].
pub(crate) const PATHS_MEANING: &str = "ecmp: flows spread over equally short paths, by a hash of the flow and the \
                                        node; single: all take the first of them";

/// The meaning of the parameter for [`Settings::sample`].
pub(crate) const SAMPLE_MEANING: &str =
    "time between two samples of goodput, drops and queues, as series; 0: no samples";

/// The settings of a network of UDP flows or groups.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Headers of every packet, in bytes: UDP 8, IP 20 and PPP 2 are 30, as in ns-3's point-to-point links.
    pub headers: u32,
    /// The frames of all links.
    pub framing: Framing,
    /// The measure of a path's length.
    pub metric: Metric,
    /// The paths that flows may take. Groups have one path to each receiver.
    pub paths: Paths,
    /// The discipline of every queue.
    pub queue: Discipline,
    /// The disciplines of both directions of some links, where they differ from `queue`. The last discipline
    /// of a link counts.
    pub queues: Vec<(LinkId, Discipline)>,
    /// The probability that a packet does not arrive after it is transmitted, for each link. Links beyond the
    /// end of the list lose none.
    pub losses: Vec<f64>,
    /// The time between two samples ([`crate::sampling`]); zero for none.
    pub sample: Delay,
}

impl Default for Settings {
    /// 30 bytes of headers, fewest hops, all shortest paths, 100 packets, no losses, no samples.
    fn default() -> Settings {
        Settings {
            headers: 30,
            framing: Framing::None,
            metric: Metric::Hops,
            paths: Paths::All,
            queue: Discipline::default(),
            queues: Vec::new(),
            losses: Vec::new(),
            sample: Delay::ZERO,
        }
    }
}

/// The reason why a network is impossible. Each reason displays as one sentence with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A flow is impossible.
    #[error("flow {flow} {what}")]
    Flow {
        /// Its place in the list.
        flow: usize,
        /// The reason.
        what: String,
    },
    /// A group is impossible.
    #[error("group {group} {what}")]
    Group {
        /// Its place in the list.
        group: usize,
        /// The reason.
        what: String,
    },
    /// Nodes and links make no network.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// A flow has no route.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// No path leads from one node to another, for an app of a description.
    #[error("there is no way from `{source_name}` to `{destination}`, for the app `{app}`")]
    NoPath {
        /// The name of the node where packets start.
        source_name: String,
        /// The name of the node that they are sent to.
        destination: String,
        /// The name of the app.
        app: String,
    },
    /// A queue's limit is given for a link that does not exist.
    #[error("a queue is given for link {link}, but there are {links} links, numbered from 0; name one of them")]
    UnknownLink {
        /// The number given.
        link: u32,
        /// The number of links.
        links: usize,
    },
    /// A parameter or a part of a description is impossible.
    #[error("{0}")]
    Parameter(String),
}

/// The names of a network's results. Networks of UDP flows and groups measure the same as networks that are
/// described app by app, and name it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    Flows,
    Apps,
}

/// The model. `D` is the type of the records that packets may carry ([`crate::record`]).
///
/// # Examples
///
/// One packet of 970 bytes over one link, 1000 bytes with its headers: 8 µs of transmission, and 3 µs of
/// propagation.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_packet::flow::{Flow, Limit};
/// use parades_packet::network::{Network, Settings};
/// use parades_packet::traffic::{Pattern, Sizes};
/// use parades_topology::{Link, NodeId, Topology};
///
/// let link = Link { a: NodeId(0), b: NodeId(1), rate_bps: 1_000_000_000, delay: Delay::from_us(3) };
/// let topology = Topology::new(&["here", "there"], vec![link])?;
/// let flow = Flow {
///     source: NodeId(0),
///     destination: NodeId(1),
///     start: Time::ZERO,
///     limit: Limit::Bytes(970),
///     sizes: Sizes::Constant(970),
///     pattern: Pattern::Constant { rate_bps: 1_000_000 },
/// };
/// let network = Network::new(topology, vec![flow], Settings::default())?;
/// let outcome = parades_engine::sequential::run(&network, RunOptions::until(Time::try_from_secs_f64(1.0).unwrap()))?;
/// let delay = outcome.metrics.get("delay").and_then(|metric| metric.tally()).and_then(|delays| delays.max());
/// assert_eq!(delay, Some(Delay::from_us(11).as_ps()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Restorable)]
pub struct Network<D: Record = NoRecord> {
    pub(crate) layout: Layout,
    records: PhantomData<fn() -> D>,
}

impl<D: Record> From<Layout> for Network<D> {
    fn from(layout: Layout) -> Network<D> {
        Network { layout, records: PhantomData }
    }
}

impl Network {
    /// Makes a network of UDP flows.
    ///
    /// # Errors
    ///
    /// If a flow is impossible or has no route, or a queue is given to a link that does not exist.
    pub fn new(topology: Topology, flows: Vec<Flow>, settings: Settings) -> Result<Network, NetworkError> {
        assemble::of_flows(topology, flows, settings, None).map(Network::from)
    }
}

impl Network<SegmentRef> {
    /// Makes a network of TCP streams, all with the same parameters.
    ///
    /// # Errors
    ///
    /// If a flow or a parameter is impossible, or a flow has no route.
    pub fn streams(
        topology: Topology,
        tcp: Tcp,
        flows: Vec<Ends>,
        settings: Settings,
    ) -> Result<Network<SegmentRef>, NetworkError> {
        assemble::of_streams(topology, tcp, flows, settings).map(Network::from)
    }

    /// Makes the network of a description.
    ///
    /// # Errors
    ///
    /// If something in it is impossible, or a flow has no path at the start.
    pub fn described(description: Description) -> Result<Network<SegmentRef>, NetworkError> {
        assemble::described(description).map(Network::from)
    }
}

impl<D: Record> Network<D> {
    /// Makes a network of multicast groups. Each receiver of each group counts as a flow, and has a row of
    /// the table `flows`, in order. The totals `packets_*` count copies, and there is a total `copies_made`.
    /// `loss_ratio` is that of the flows: a copy lost on the way counts as lost for every receiver below in
    /// the tree.
    ///
    /// # Errors
    ///
    /// If a group is impossible or has no route to one of its receivers, or a queue is given to a link that
    /// does not exist.
    ///
    /// # Examples
    ///
    /// One packet of 970 bytes, 1000 with its headers, from a source over a router to three hosts: one packet
    /// sent, two more copies.
    ///
    /// ```
    /// use parades_core::prelude::*;
    /// use parades_packet::flow::{Group, Limit};
    /// use parades_packet::network::{Network, Settings};
    /// use parades_packet::traffic::{Pattern, Sizes};
    /// use parades_topology::{Link, NodeId, Topology};
    ///
    /// let link = |a, b| Link { a: NodeId(a), b: NodeId(b), rate_bps: 8_000_000, delay: Delay::from_ms(10) };
    /// let links = vec![link(0, 1), link(1, 2), link(1, 3), link(1, 4)];
    /// let topology = Topology::new(&["source", "router", "a", "b", "c"], links)?;
    /// let group = Group {
    ///     source: NodeId(0),
    ///     receivers: vec![NodeId(2), NodeId(3), NodeId(4)],
    ///     start: Time::ZERO,
    ///     limit: Limit::Bytes(970),
    ///     sizes: Sizes::Constant(970),
    ///     pattern: Pattern::Constant { rate_bps: 1_000_000 },
    /// };
    /// let model = Network::<Shared<Box<[u8]>>>::multicast(topology, vec![group], Settings::default())?;
    /// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::try_from_secs_f64(1.0).unwrap()))?;
    /// let count = |name| outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap();
    /// assert_eq!((count("packets_sent"), count("copies_made"), count("packets_delivered")), (1, 2, 3));
    /// let delays = outcome.metrics.get("delay").and_then(|metric| metric.tally()).unwrap();
    /// assert_eq!(delays.max(), Some(Delay::from_ms(2 * (1 + 10)).as_ps()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multicast(topology: Topology, groups: Vec<Group>, settings: Settings) -> Result<Network<D>, NetworkError> {
        assemble::of_groups(topology, groups, settings).map(Network::from)
    }

    /// Returns the nodes and links.
    pub fn topology(&self) -> &Topology {
        &self.layout.topology
    }

    /// Returns the ends of all flows. A receiver of a group counts as a flow.
    pub fn flows(&self) -> &[Ends] {
        &self.layout.flows
    }

    /// Returns all groups.
    pub fn groups(&self) -> Vec<Group> {
        let flows_of = |app: usize| {
            let first = self.layout.app_of_flow.partition_point(|&of| (of as usize) < app);
            let end = self.layout.app_of_flow.partition_point(|&of| of as usize <= app);
            &self.layout.flows[first..end]
        };
        let group = |(number, app): (usize, &App)| match &app.kind {
            AppKind::Multicast(datagrams) => Group::of(datagrams, flows_of(number)),
            _ => None,
        };
        self.layout.apps.iter().enumerate().filter_map(group).collect()
    }

    /// Returns the number of links that a packet of this flow crosses, in a network whose links do not
    /// change.
    ///
    /// # Panics
    ///
    /// If there is no such flow.
    pub fn hops(&self, flow: u32) -> usize {
        self.layout.forwarding.routes.hops(crate::packet::direction(flow, false))
    }

    /// Returns the least value of the links on the paths of each flow, both ways, at all times of a run.
    /// `None` for a flow whose links have none.
    pub fn least_on_paths<T: Ord>(&self, of: impl Fn(LinkId) -> Option<T>) -> Vec<Option<T>> {
        crate::report::least_on_paths(&self.layout, of)
    }

    /// Returns the failures of links and nodes, in the order of time, with the flows that each concerns.
    pub fn failures(&self) -> &[Failure] {
        self.layout.forwarding.failures.all()
    }

    /// Returns the words for the link or node that fails: `link a-b`, `node a`.
    pub fn name_of(&self, failure: &Failure) -> String {
        self.layout.name_of(failure)
    }

    /// Returns the memory that the routes of all flows take, in bytes.
    pub fn route_bytes(&self) -> usize {
        self.layout.forwarding.routes.bytes()
    }

    /// Returns the number of links of all trees. If each group sends one packet and none is lost, the packets
    /// and their copies cross this number of links.
    ///
    /// ```
    /// # use parades_core::shared::Shared;
    /// use parades_packet::campus::Parameters;
    /// let campus = Parameters { networks: 1, lan_clients: 1, ..Parameters::default() };
    /// let model = campus.multicast::<Shared<Box<[u8]>>>(1)?;
    /// assert!((12 + 12..46).contains(&model.tree_links())); // Twelve hosts and their routers, of 46 nodes.
    /// # Ok::<(), parades_packet::network::NetworkError>(())
    /// ```
    pub fn tree_links(&self) -> usize {
        self.layout.forwarding.trees.links()
    }
}
