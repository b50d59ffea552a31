//! The nodes, links, queues and routes of a packet network, for packets of another model.
//!
//! A [`Plane`] does what happens to a packet between its source and its destination: forwarding, queueing,
//! transmission, impairments, losses, failures. The model makes the packets ([`Carried`]), owns the state of
//! each node ([`Ports`]), and moves packets from node to node ([`Surroundings`]). Each hop is one event; a
//! packet that waits in a queue whose discipline decides on departure needs two.
//!
//! It uses the ports, lines and tables of [`crate::network`], so a packet takes the same time in both.
//!
//! # Examples
//!
//! Three packets of 1000 bytes leave at once over a link of 8 Mbit/s and 10 ms. One of them finds no room in
//! the queue:
//!
//! ```
//! use parades_core::prelude::*;
//! use parades_packet::network::Settings;
//! use parades_packet::plane::{Carried, Loss, Plane, Surroundings};
//! use parades_packet::queue::QueueLimit;
//! use parades_topology::{Link, NodeId, Topology};
//!
//! #[derive(Clone, Debug, PartialEq, Undoable)]
//! #[undoable(whole)]
//! struct Letter;
//! impl Payload for Letter {
//!     fn fold(&self, _: &mut Digest) {}
//! }
//! impl Carried for Letter {
//!     fn bytes(&self) -> u32 { 1000 }
//!     fn destination(&self) -> u32 { 0 } // the first, and only, destination of the plane
//! }
//!
//! /// Lists the delays of packets, and counts the lost ones.
//! struct Watch { rng: Rng, delays: Vec<Delay>, lost: u32 }
//! impl Surroundings<Letter> for Watch {
//!     fn now(&self) -> Time { Time::ZERO }
//!     fn rng(&mut self) -> &Rng { &self.rng }
//!     fn send(&mut self, _port: u32, delay: Delay, _: Letter) { self.delays.push(delay) }
//!     fn wake_after(&mut self, _port: u32, _: Delay) { unreachable!("drop-tail queues need no events") }
//!     fn lose(&mut self, _: &Letter, why: Loss) { self.lost += u32::from(why == Loss::Queue) }
//! }
//!
//! let link = Link { a: NodeId(0), b: NodeId(1), rate_bps: 8_000_000, delay: Delay::from_ms(10) };
//! let settings = Settings { queue: QueueLimit::Packets(1).into(), ..Settings::default() };
//! let plane = Plane::new(Topology::new(&["here", "there"], vec![link])?, &[NodeId(1)], settings)?;
//! let mut ports = plane.ports(NodeId(0));
//! let mut watch = Watch { rng: Rng::stream(1, 1), delays: Vec::new(), lost: 0 };
//! for _ in 0..3 {
//!     assert_eq!(plane.forward(NodeId(0), &mut ports, Letter, &mut watch), None); // it is not for this node
//! }
//! assert_eq!((watch.delays, watch.lost), (vec![Delay::from_ms(11), Delay::from_ms(12)], 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod save;

use crate::description::Description;
use crate::forwarding::tables::Tables;
use crate::forwarding::{Exit, Next};
use crate::line::{Lines, ManagedLink, Policy};
use crate::network::{NetworkError, Settings, assemble};
use crate::node::{Egress, EgressMut};
pub use crate::port::Loss;
use crate::port::{Arrival, LOSSES, Passage, Port, Totals};
use crate::ports::{self, PortOwner};
use crate::queue::{Offered, flow_hash};
use parades_core::digest::{Digest, Payload};
use parades_core::random::Rng;
use parades_core::restore::{Undoable, Unrecorded, Whole};
use parades_core::time::{Delay, Time};
use parades_tcp::environment::Ecn;
use parades_topology::{LinkId, NodeId, Topology};

/// A packet that a plane carries.
pub trait Carried: Payload + Clone + Whole {
    /// Returns the size in bytes, IP header included and frames of links not included.
    fn bytes(&self) -> u32;

    /// Returns the place of the destination in the list that the plane was made with.
    fn destination(&self) -> u32;

    /// Returns a number that names the source, for queues that share fairly among hosts.
    fn source(&self) -> u32 {
        0
    }

    /// Returns a number that names the packet's flow. Packets of one flow take the same of several equal
    /// paths, and share a queue where flows have queues of their own.
    fn flow(&self) -> u32 {
        0
    }

    /// Returns the class, below [`crate::packet::CLASSES`]. Strict priorities serve the greatest class first.
    fn class(&self) -> u8 {
        0
    }

    /// Returns the codepoint for congestion marks.
    fn ecn(&self) -> Ecn {
        Ecn::NotCapable
    }

    /// Returns the packet, marked as one that met congestion. Only called if [`Carried::ecn`] allows marks.
    fn marked(self) -> Self {
        self
    }
}

/// The surroundings of a node while it handles a packet.
pub trait Surroundings<P> {
    /// Returns the time.
    fn now(&self) -> Time;

    /// Returns true if the packet arrives before another one leaves the port of this number at the same time.
    /// `None` if the port decides. Usually [`parades_core::prelude::Context::precedes`].
    fn precedes(&self, port: u32) -> Option<bool> {
        let _ = port;
        None
    }

    /// Returns the random stream of the node.
    fn rng(&mut self) -> &Rng;

    /// Sends a packet to the neighbour at the interface of this number. It arrives after `delay`, which is at
    /// least [`Plane::lookahead`].
    fn send(&mut self, port: u32, delay: Delay, packet: P);

    /// Calls [`Plane::wake`] for a port after a delay.
    fn wake_after(&mut self, port: u32, delay: Delay);

    /// Takes note of a packet that is lost.
    fn lose(&mut self, packet: &P, why: Loss);
}

/// A packet network without traffic of its own.
#[derive(Debug)]
pub struct Plane {
    pub(crate) topology: Topology,
    pub(crate) lines: Lines,
    pub(crate) tables: Tables,
    pub(crate) destinations: Box<[NodeId]>,
}

/// The ports of a node: its queues and transmitters, with the packets `P` that they hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports<P: Undoable> {
    egress: Egress<P>,
    /// Packets for which the node had no path.
    unrouted: u64,
}

/// The totals of a port, until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortTotals {
    /// The link behind the port.
    pub link: LinkId,
    /// The node at the far end.
    pub neighbour: NodeId,
    /// Transmitted packets.
    pub packets: u64,
    /// Their bytes, headers and frames included.
    pub bytes: u64,
    /// The time that the transmitter was busy.
    pub busy: Delay,
    /// Packets lost at a full queue, by chance, at a link that is down, and by early drops.
    pub lost: [u64; 4],
    /// Packets marked as ones that met congestion.
    pub marked: u64,
    /// Copies that the link made.
    pub duplicated: u64,
    /// The packets that wait.
    pub waiting: u64,
    /// The largest number of packets that ever waited.
    pub waiting_max: u32,
    /// The sum of the times that packets have waited.
    pub waited: Delay,
}

impl Plane {
    /// Makes a plane of a topology. Packets are sent to `destinations`, and name them by their places in this
    /// list. Of the settings, `headers` and `sample` have no effect.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, or a destination does not exist.
    pub fn new(topology: Topology, destinations: &[NodeId], settings: Settings) -> Result<Plane, NetworkError> {
        assemble::plane(topology, destinations, settings)
    }

    /// Makes the plane of a description, with its failures, static routes, queues and impairments. Of the
    /// description, `headers` and `measure` have no effect. A node that goes away loses its links.
    ///
    /// # Errors
    ///
    /// If something in the description is impossible, if it has apps, or if a destination does not exist.
    pub fn described(description: Description, destinations: &[NodeId]) -> Result<Plane, NetworkError> {
        assemble::described_plane(description, destinations)
    }

    /// Returns the nodes and links.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns the nodes that packets are sent to.
    pub fn destinations(&self) -> &[NodeId] {
        &self.destinations
    }

    /// Returns the least time that a packet of `bytes` bytes or more takes over a link, at any time of the
    /// run.
    pub fn lookahead(&self, link: LinkId, bytes: u32) -> Delay {
        let there = self.lines.of(link).lookahead(bytes);
        self.lines.back_of(link).map_or(there, |back| back.lookahead(bytes).min(there))
    }

    /// Returns the ports of a node at the start.
    pub fn ports<P: Carried>(&self, node: NodeId) -> Ports<P> {
        Ports { egress: Egress::new(self.topology.interfaces(node).len()), unrouted: 0 }
    }

    /// Returns the port by which a node sends packets of `flow` to a destination at a time. `None` if no path
    /// leads there, or the node is the destination.
    pub fn port_to(&self, destination: u32, node: NodeId, flow: u32, now: Time) -> Option<u32> {
        match self.tables.next_to(destination, node, flow, now) {
            Next::Port(exit) => Some(exit.port),
            _ => None,
        }
    }

    /// Handles a packet at a node, where it has arrived or starts. Returns the packet if the node is its
    /// destination. Otherwise sends it on, or loses it.
    pub fn forward<P: Carried>(
        &self,
        node: NodeId,
        ports: &mut Ports<P>,
        packet: P,
        around: &mut impl Surroundings<P>,
    ) -> Option<P> {
        match self.tables.next_to(packet.destination(), node, packet.flow(), around.now()) {
            Next::Endpoint(_) => return Some(packet),
            Next::Port(exit) => self.transmit(&mut ports.egress, packet, exit, around),
            _ => {
                ports.unrouted += 1;
                around.lose(&packet, Loss::Down);
            }
        }
        None
    }

    /// Handles the event of a port, which [`Surroundings::wake_after`] has asked for.
    pub fn wake<P: Carried>(&self, node: NodeId, ports: &mut Ports<P>, port: u32, around: &mut impl Surroundings<P>) {
        let line = self.lines.by(&self.topology, self.topology.interfaces(node)[port as usize]);
        let Policy::Managed(rules) = &line.policy else { unreachable!("only managed ports have events") };
        ports::wake(&mut AtNode { egress: ports.egress.unrecorded(), around }, port, ManagedLink { line, rules });
    }

    fn transmit<P: Carried>(&self, egress: &mut Egress<P>, packet: P, exit: Exit, around: &mut impl Surroundings<P>) {
        let line = &self.lines.kinds[exit.kind as usize];
        let bytes = packet.bytes().saturating_add(u32::from(line.first.framing.bytes()));
        let mut node = AtNode { egress: egress.unrecorded(), around };
        let sent = match &line.policy {
            Policy::Plain(limit) => {
                let arrival = Arrival { now: node.around.now(), precedes: node.around.precedes(exit.port) };
                let mut ports = node.egress.ports();
                let sent = ports.at(exit.port as usize).accept(arrival, bytes, line, *limit, node.around.rng());
                sent.map(|delay| node.around.send(exit.port, delay, packet.clone()))
            }
            Policy::Managed(rules) => {
                let (flow, class) = (flow_hash(packet.flow()), packet.class());
                let (source, destination) = (packet.source(), packet.destination());
                let is_capable = packet.ecn() != Ecn::NotCapable;
                let offered = Offered { bytes, flow, source, destination, class, is_capable };
                ports::send(&mut node, packet.clone(), exit.port, &offered, ManagedLink { line, rules })
            }
        };
        if let Err(loss) = sent {
            node.around.lose(&packet, loss);
        }
    }

    /// Returns the totals of the ports of a node that a packet was offered to, until `now`.
    pub fn totals<P: Undoable>(&self, node: NodeId, ports: &Ports<P>, now: Time) -> impl Iterator<Item = PortTotals> {
        let totals = totals_of(&self.topology, &self.lines, node, &ports.egress.ports, now);
        let used = |of: &PortTotals| of.packets > 0 || of.lost != [0; LOSSES] || of.marked > 0 || of.waiting_max > 0;
        totals.filter(move |of| used(of) || of.duplicated > 0 || of.waited > Delay::ZERO)
    }
}

/// Returns the totals of the ports of a node, until `now`.
pub(crate) fn totals_of(
    topology: &Topology,
    lines: &Lines,
    node: NodeId,
    ports: &[Port],
    now: Time,
) -> impl Iterator<Item = PortTotals> {
    topology.interfaces(node).iter().zip(ports).map(move |(interface, port)| {
        let Totals { lost, marked, duplicated, waiting_max, waited } = port.totals(now);
        PortTotals {
            link: interface.link,
            neighbour: interface.neighbour,
            packets: port.sent.packets,
            bytes: port.sent.bytes,
            busy: port.busy_at(now, lines.by(topology, *interface)),
            lost,
            marked,
            duplicated,
            waiting: port.waiting_at(now),
            waiting_max,
            waited,
        }
    })
}

impl<P: Carried> Ports<P> {
    /// Returns the number of packets that ports hold until their disciplines select them.
    pub fn held(&self) -> u64 {
        self.egress.held().count() as u64
    }

    /// Returns the number of ports with a pending event.
    pub fn waking(&self) -> u64 {
        self.egress.ports.iter().filter(|port| port.is_waking()).count() as u64
    }

    /// Returns the number of packets for which the node had no path.
    pub fn unrouted(&self) -> u64 {
        self.unrouted
    }

    /// Folds the state into a digest.
    pub fn fold(&self, digest: &mut Digest) {
        self.egress.ports.iter().for_each(|port| port.fold(digest));
        self.egress.held().for_each(|packet| packet.fold(digest));
        digest.word(self.unrouted);
    }
}

/// A node in action.
struct AtNode<'a, 'b, P: Carried, S> {
    egress: EgressMut<'a, P, Unrecorded>,
    around: &'b mut S,
}

impl<'a, P: Carried, S: Surroundings<P>> PortOwner<'a, P, Unrecorded> for AtNode<'a, '_, P, S> {
    fn now(&self) -> Time {
        self.around.now()
    }

    fn precedes(&self, port: u32) -> Option<bool> {
        self.around.precedes(port)
    }

    fn parts(&mut self) -> (&mut EgressMut<'a, P, Unrecorded>, &Rng) {
        (&mut self.egress, self.around.rng())
    }

    fn note_offer(&mut self, _: &P, _: u32, _: Option<Loss>) {}

    fn launch(&mut self, port: u32, packet: P, passage: &Passage) {
        let packet = if passage.is_marked { packet.marked() } else { packet };
        if let Some(delay) = passage.copy {
            self.around.send(port, delay, packet.clone());
        }
        self.around.send(port, passage.delay, packet);
    }

    fn lose_held(&mut self, packet: &P, _: u32, loss: Loss) {
        self.around.lose(packet, loss);
    }

    fn wake_after(&mut self, port: u32, delay: Delay) {
        self.around.wake_after(port, delay);
    }
}
