//! A network in full: every node, link, flow and event, all names resolved. What a file comes to, and what the model is made of.
//!
//! Programs may make one without any file:
//!
//! ```
//! use parades_core::prelude::*;
//! use parades_packet::flow::Limit;
//! use parades_packet::queue::QueueLimit;
//! use parades_packet::traffic::{Pattern, Sizes};
//! use parades_netfile::description::{App, AppKind, Description, Flow, Link};
//! use parades_netfile::model::Internetwork;
//!
//! let rate_bps = 8_000_000; // A packet of 1000 bytes with its headers takes 1 ms.
//! let link = Link { name: "a-b".into(), from: 0, to: 1, duplex: true, rate_bps, delay: Delay::from_ms(10), loss: 0.0, queue: QueueLimit::Packets(10) };
//! let kind = AppKind::Datagrams { sizes: Sizes::Constant(970), pattern: Pattern::Constant { rate_bps: 970_000 }, limit: Limit::Bytes(97_000) };
//! let description = Description {
//!     nodes: vec!["a".into(), "b".into()],
//!     links: vec![link],
//!     apps: vec![App { name: "stream".into(), kind, flows: vec![Flow { from: 0, to: 1, start: Time::ZERO }] }],
//!     ..Description::default()
//! };
//! let network = Internetwork::new(description)?;
//! let outcome = parades_engine::sequential::run(&network, RunOptions::until(Time::from_secs_f64(2.0).unwrap())).unwrap();
//! let delays = outcome.metrics.get("delay_stream").and_then(|metric| metric.tally()).unwrap();
//! assert_eq!((delays.count(), delays.max()), (100, Some(Delay::from_ms(11).as_ps())));
//! # Ok::<(), String>(())
//! ```
//!
//! *Read next*: [`crate::model`].

use parades_core::time::{Delay, Time};
use parades_packet::flow::Limit;
use parades_packet::queue::QueueLimit;
use parades_packet::traffic::{Pattern, Period, Sizes};
use parades_topology::routing::Metric;

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The names of the nodes; a node's number is its place here.
    pub nodes: Vec<String>,
    /// The links; a link's number is its place here.
    pub links: Vec<Link>,
    /// What sends.
    pub apps: Vec<App>,
    /// What befalls links and nodes, in any order; of one time, in the order of this list.
    pub events: Vec<Event>,
    /// What makes a path short.
    pub routing: Metric,
    /// From a failure or a return until routes are anew; meanwhile packets are sent as before, and lost where that leads nowhere.
    pub convergence: Delay,
    /// Bytes of headers that come to every payload.
    pub headers: u32,
    /// What is measured beside what always is.
    pub measure: Measure,
}

impl Default for Description {
    /// Nothing, with shortest paths by delay, 30 bytes of headers (UDP 8, IP 20, PPP 2), and routes that change at once.
    fn default() -> Description {
        Description {
            nodes: Vec::new(),
            links: Vec::new(),
            apps: Vec::new(),
            events: Vec::new(),
            routing: Metric::Delay,
            convergence: Delay::ZERO,
            headers: 30,
            measure: Measure::default(),
        }
    }
}

/// A link. Each direction has a transmitter, a drop-tail queue before it, and the whole rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// One end: the sending one, where it is not duplex.
    pub from: u32,
    /// The other end.
    pub to: u32,
    /// Whether it carries packets both ways.
    pub duplex: bool,
    /// Bits per second.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay: Delay,
    /// The probability that a packet which has been transmitted does not arrive.
    pub loss: f64,
    /// How much may wait at each end; the packet in transmission does not wait.
    pub queue: QueueLimit,
}

/// Flows of one kind, whose delays are measured together.
#[derive(Clone, Debug, PartialEq)]
pub struct App {
    /// Its name.
    pub name: String,
    /// What each of its flows does.
    pub kind: AppKind,
    /// Its flows.
    pub flows: Vec<Flow>,
}

/// From where to where, and from when on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The node that begins.
    pub from: u32,
    /// The node that it sends to.
    pub to: u32,
    /// When it begins.
    pub start: Time,
}

/// What a flow does.
#[derive(Clone, Debug, PartialEq)]
pub enum AppKind {
    /// It sends, and nobody answers: at a constant rate, as a Poisson process, or on and off.
    Datagrams {
        /// How much a packet carries.
        sizes: Sizes,
        /// When packets are sent.
        pattern: Pattern,
        /// When it ends.
        limit: Limit,
    },
    /// It moves so many bytes reliably, through a sliding window ([`crate::model`] has the protocol).
    Transfer(Transfer),
    /// A client asks a server, waits for the whole answer, thinks, and asks again.
    Requests(Requests),
}

/// A reliable transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// What is to arrive.
    pub bytes: u64,
    /// The payload of a segment; the last one carries what is left.
    pub segment: u32,
    /// Segments that may be under way.
    pub window: u32,
    /// Whether the window adapts to losses.
    pub control: Control,
}

/// How many segments of a transfer's window are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// All, always.
    Fixed,
    /// As many as Reno's slow start, congestion avoidance and fast recovery allow (RFC 5681, RFC 6582).
    Reno,
}

/// Requests and responses.
#[derive(Clone, Debug, PartialEq)]
pub struct Requests {
    /// The payload of a request, one packet.
    pub request: u32,
    /// The payload of a response.
    pub response: u64,
    /// The greatest payload of a packet of a response.
    pub packet: u32,
    /// From a response to the next request.
    pub think: Period,
    /// From a request's arrival to its response.
    pub service: Period,
    /// How long a client waits for a response before it asks again.
    pub timeout: Delay,
    /// When no more is asked.
    pub stop: Time,
    /// How many responses it wants; `u64::MAX` where there is no bound.
    pub count: u64,
}

/// Something that befalls a link or a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub at: Time,
    /// What.
    pub what: What,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum What {
    /// A link goes down, losing what is on it and before it, or comes up again, empty.
    Link {
        /// Which.
        link: u32,
        /// Whether it is up from now on.
        up: bool,
    },
    /// A link's qualities change; what is transmitted from now on has the new ones.
    Change {
        /// Which.
        link: u32,
        /// Its rate from now on, if that changes.
        rate_bps: Option<u64>,
        /// Its delay from now on, if that changes.
        delay: Option<Delay>,
        /// Its probability of loss from now on, if that changes.
        loss: Option<f64>,
    },
    /// A node is lost with all its links, or comes back. What runs on it rests meanwhile.
    Node {
        /// Which.
        node: u32,
        /// Whether it is there from now on.
        up: bool,
    },
}

/// What is measured beside what always is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measure {
    /// The time between two samples; zero for none.
    pub every: Delay,
    /// The links whose utilisation and queue are sampled one by one.
    pub links: Vec<u32>,
    /// The apps whose throughput is sampled one by one.
    pub apps: Vec<u32>,
    /// Whether each flow has percentiles of its delay, for a kilobyte or so each.
    pub percentiles: bool,
}
