//! A network in full: every node, link, flow and event, all names resolved and nothing left to be drawn.
//!
//! Network files are read into a description. A program may also make one without a file:
//!
//! ```
//! use parades_core::prelude::*;
//! use parades_packet::description::{App, AppKind, Description, Ends, Link, Marking};
//! use parades_packet::protocols::Datagrams;
//! use parades_packet::flow::Limit;
//! use parades_packet::network::Network;
//! use parades_packet::queue::QueueLimit;
//! use parades_packet::traffic::{Pattern, Sizes};
//! use parades_topology::NodeId;
//!
//! let rate_bps = 8_000_000; // A packet of 1000 bytes with its headers takes 1 ms.
//! let queue = QueueLimit::Packets(10).into();
//! let delay = Delay::from_ms(10);
//! let link = Link { name: "a-b".into(), from: 0, to: 1, is_duplex: true, rate_bps, delay, queue, ..Link::default() };
//! let pattern = Pattern::Constant { rate_bps: 970_000 };
//! let kind = AppKind::Datagrams(Datagrams { sizes: Sizes::Constant(970), pattern, limit: Limit::Bytes(97_000) });
//! let ends = Ends { source: NodeId(0), destination: NodeId(1), start: Time::ZERO };
//! let description = Description {
//!     nodes: vec!["a".into(), "b".into()],
//!     links: vec![link],
//!     apps: vec![App { name: "stream".into(), kind, marking: Marking::default(), flows: vec![ends] }],
//!     ..Description::default()
//! };
//! let network = Network::described(description)?;
//! let outcome = parades_engine::sequential::run(&network, RunOptions::until(Time::try_from_secs_f64(2.0).unwrap())).unwrap();
//! let delays = outcome.metrics.get("delay_stream").and_then(|metric| metric.tally()).unwrap();
//! assert_eq!((delays.count(), delays.max()), (100, Some(Delay::from_ms(11).as_ps())));
//! # Ok::<(), parades_packet::network::NetworkError>(())
//! ```

mod check;

pub use check::{WINDOW_MAX, check_kind};
pub(crate) use check::{check, check_group};

use crate::impairment::Impairments;
use crate::line::PortRules;
use crate::packet::Packet;
use crate::protocols::{Datagrams, OtherProtocol, OtherStream, Requests, Tcp, Transfer};
use crate::queue::Discipline;
use crate::record::Record;
pub use parades_capture::address::IpVersion;
use parades_core::time::{Delay, Time};
use parades_tcp::environment::Ecn;
use parades_topology::NodeId;
use parades_topology::routing::{Metric, Paths};

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The names of the nodes. A node's number is its place here.
    pub nodes: Vec<String>,
    /// The links. A link's number is its place here.
    pub links: Vec<Link>,
    /// The traffic.
    pub apps: Vec<App>,
    /// Changes of links and nodes, in any order. Events of the same time happen in the order of this list.
    pub events: Vec<Event>,
    /// The measure of a path's length.
    pub routing: Metric,
    /// The paths that flows may take. Groups have one path to each receiver, and follow no static route.
    pub paths: Paths,
    /// Static routes. A later one replaces an earlier one for the same node and destination.
    pub routes: Vec<StaticRoute>,
    /// The time from a failure or a return until routes follow. Until then packets are sent along the old
    /// routes, and lost at links that are down.
    pub convergence: Delay,
    /// The version of IP. It decides on the size of TCP segments, and on the addresses in captures.
    pub ip: IpVersion,
    /// The headers of every datagram, in bytes: see [`headers_by_default`].
    pub headers: u32,
    /// Optional measurements.
    pub measure: Measure,
}

impl Default for Description {
    /// No nodes; all shortest paths by delay; 30 bytes of headers (UDP 8, IP 20, PPP 2); routes that follow
    /// failures at once.
    fn default() -> Description {
        Description {
            nodes: Vec::new(),
            links: Vec::new(),
            apps: Vec::new(),
            events: Vec::new(),
            routing: Metric::Delay,
            paths: Paths::All,
            routes: Vec::new(),
            convergence: Delay::ZERO,
            ip: IpVersion::V4,
            headers: headers_by_default(IpVersion::V4, false),
            measure: Measure::default(),
        }
    }
}

/// Returns the usual headers of a datagram in bytes: UDP 8, IP 20 or 40, and PPP 2, unless the links of the
/// network have frames of their own.
///
/// ```
/// use parades_capture::address::IpVersion;
/// use parades_packet::description::headers_by_default;
/// assert_eq!([IpVersion::V4, IpVersion::V6].map(|ip| headers_by_default(ip, false)), [30, 50]);
/// assert_eq!([IpVersion::V4, IpVersion::V6].map(|ip| headers_by_default(ip, true)), [28, 48]);
/// ```
#[must_use]
pub const fn headers_by_default(ip: IpVersion, has_frames: bool) -> u32 {
    const UDP: u32 = 8;
    let framing = if has_frames { Framing::None } else { Framing::Ppp };
    UDP + ip.header_bytes() + framing.bytes() as u32
}

/// A link. Each direction has a transmitter, a queue before it, and the whole rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// One end: the sending end, if the link is not duplex.
    pub from: u32,
    /// The other end.
    pub to: u32,
    /// True if the link carries packets both ways.
    pub is_duplex: bool,
    /// Bits per second.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay: Delay,
    /// The probability that a packet does not arrive after it is transmitted.
    pub loss: f64,
    /// The queue at each end.
    pub queue: Discipline,
    /// The packets that wait in the device at each end, below the queue's discipline, which does not see
    /// them.
    pub device: u32,
    /// Jitter, reordering, duplication, and losses in bursts.
    pub impairments: Impairments,
    /// The frames in which packets travel.
    pub framing: Framing,
    /// The way back of a duplex link, if it differs, as on an ADSL line. `None` if both ways are alike.
    pub back: Option<Box<Back>>,
}

/// The way of a link from `to` back to `from`. All else is as on the way there.
#[derive(Clone, Debug, PartialEq)]
pub struct Back {
    /// Bits per second.
    pub rate_bps: u64,
    /// The queue at the end `to`.
    pub queue: Discipline,
    /// The packets that wait in the device there.
    pub device: u32,
}

impl Default for Link {
    /// Duplex, from node 0 to node 1, 1 Gbit/s, no delay, no losses, drop-tail queues of 100 packets.
    fn default() -> Link {
        Link {
            name: String::new(),
            from: 0,
            to: 1,
            is_duplex: true,
            rate_bps: 1_000_000_000,
            delay: Delay::ZERO,
            loss: 0.0,
            queue: Discipline::default(),
            device: 0,
            impairments: Impairments::default(),
            framing: Framing::None,
            back: None,
        }
    }
}

impl Link {
    pub(crate) fn rules(&self) -> PortRules {
        PortRules { discipline: self.queue.clone(), device: self.device, impairments: self.impairments }
    }

    /// Returns the queues of the link: one, or that of the way there and that of the way back.
    pub fn queues(&self) -> impl Iterator<Item = &Discipline> {
        std::iter::once(&self.queue).chain(self.back.iter().map(|back| &back.queue))
    }
}

/// The marks of the packets of an app, in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marking {
    /// The class, below [`crate::packet::CLASSES`]. Queues with priorities serve the highest class first.
    pub class: u8,
    /// True if queues may mark the packets as ones that met congestion, instead of dropping them.
    pub is_ecn_capable: bool,
}

impl Marking {
    pub(crate) fn mark<D: Record>(self, packet: Packet<D>) -> Packet<D> {
        let ecn = if self.is_ecn_capable { Ecn::Capable0 } else { Ecn::NotCapable };
        packet.with_class(self.class).with_ecn(ecn)
    }
}

/// The frames of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Framing {
    /// Packets travel without frames.
    #[default]
    None,
    /// PPP as in ns-3: two bytes of protocol.
    Ppp,
    /// Ethernet II (IEEE 802.3): addresses, type and checksum. On the wire, a short frame is padded, and each
    /// frame has a preamble and a gap to the next one.
    Ethernet,
}

impl Framing {
    /// Returns the bytes that a frame adds to a packet. Queues and counts of bytes include them.
    pub const fn bytes(self) -> u8 {
        match self {
            Framing::None => 0,
            Framing::Ppp => 2,
            Framing::Ethernet => 18,
        }
    }

    /// Returns the bytes for which a frame of `frame` bytes occupies a link.
    ///
    /// ```
    /// use parades_packet::description::Framing;
    /// assert_eq!([46, 1518].map(|frame| Framing::Ethernet.bytes_on_wire(frame)), [84, 1538]);
    /// assert_eq!(Framing::Ppp.bytes_on_wire(46), 46);
    /// ```
    #[must_use]
    #[inline]
    pub const fn bytes_on_wire(self, frame: u64) -> u64 {
        /// The least frame of Ethernet, checksum included.
        const LEAST: u64 = 64;
        /// Eight bytes of preamble and start delimiter, and a gap of twelve.
        const PREAMBLE_AND_GAP: u64 = 8 + 12;
        match self {
            Framing::None | Framing::Ppp => frame,
            Framing::Ethernet => (if frame < LEAST { LEAST } else { frame }) + PREAMBLE_AND_GAP,
        }
    }
}

/// Next hops that are given. At their nodes, they replace the shortest paths to the destinations. If all of
/// its links are down, a static route does not count, and the shortest paths hold again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticRoute {
    /// The nodes that have the route.
    pub at: Vec<u32>,
    /// The destinations.
    pub to: Vec<u32>,
    /// The next hop.
    pub via: Via,
}

/// The next hop of a static route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// A link of each of its nodes.
    Link(u32),
    /// A neighbour of each of its nodes, by any of the links to the neighbour.
    Node(u32),
}

/// Flows of one kind, which are measured together.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// Its name.
    pub name: String,
    /// The protocol of its flows, and the protocol's parameters.
    pub kind: AppKind,
    /// The marks of its packets.
    pub marking: Marking,
    /// Its flows.
    pub flows: Vec<Ends>,
}

/// The ends of a flow, and its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The node that begins.
    pub source: NodeId,
    /// The node that it sends to.
    pub destination: NodeId,
    /// The time at which it begins.
    pub start: Time,
}

/// A protocol and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum AppKind {
    /// Packets without answers, from the first end of each flow to the second.
    Datagrams(Datagrams),
    /// One stream of such packets for all flows: the network copies packets on the way to the flows'
    /// destinations. All flows must have the same source and start.
    Multicast(Datagrams),
    /// Bytes moved reliably, through a sliding window.
    Transfer(Transfer),
    /// A client asks a server, waits for the whole response, thinks, and asks again.
    Requests(Requests),
    /// A stream of bytes over TCP, from the first end of each flow to the second.
    Tcp(Box<Tcp>),
    /// A protocol of another crate.
    Other(OtherProtocol),
    /// An application of another crate over TCP.
    Stream(Box<OtherStream>),
}

/// A change of a link or a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// The time of the change.
    pub at: Time,
    /// The change.
    pub change: Change,
}

/// The kinds of changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// A link goes down, and loses the packets in its queues and on their way; or it comes up again, empty.
    Link {
        /// The link.
        link: u32,
        /// True if the link is up from now on.
        is_up: bool,
    },
    /// A link's quality changes for the packets that are transmitted from now on.
    Quality {
        /// The link.
        link: u32,
        /// Its new rate, if that changes. If the link has a [`Back`], only the way there changes.
        rate_bps: Option<u64>,
        /// The new rate of its [`Back`], if that changes.
        rate_back_bps: Option<u64>,
        /// Its new delay, if that changes.
        delay: Option<Delay>,
        /// Its new probability of loss, if that changes.
        loss: Option<f64>,
    },
    /// A node goes away with all its links, or comes back. While it is away, its endpoints rest.
    Node {
        /// The node.
        node: u32,
        /// True if the node is there from now on.
        is_up: bool,
    },
}

/// Optional measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The time between two samples; zero for none.
    pub every: Delay,
    /// The largest number of samples. All samples are kept in memory until the run's end. A run goes on
    /// without further samples, and reports the number of periods without one as `samples_left_out`.
    pub samples_max: u64,
    /// The links whose utilisation and queue are sampled one by one.
    pub links: Vec<u32>,
    /// The apps whose throughput is sampled one by one.
    pub apps: Vec<u32>,
    /// The flows whose goodput is sampled one by one, and of TCP flows the state of the sender. The number of
    /// a flow counts the flows of all apps, in order.
    pub flows: Vec<u32>,
    /// True if the percentiles of each flow's delay are measured. They take some kilobytes a flow.
    pub percentiles: bool,
    /// The treatment of unfinished flows and requests.
    pub unfinished: Unfinished,
}

/// The treatment of flows and requests that are unfinished at the end of a run, in the distributions of
/// completion times, response times and slowdowns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unfinished {
    /// They are left out.
    #[default]
    LeftOut,
    /// Their time so far counts, which is a lower bound.
    SoFar,
}

impl Default for Measure {
    /// No samples and no percentiles.
    fn default() -> Measure {
        Measure {
            every: Delay::ZERO,
            samples_max: u64::MAX,
            links: Vec::new(),
            apps: Vec::new(),
            flows: Vec::new(),
            percentiles: false,
            unfinished: Unfinished::LeftOut,
        }
    }
}
