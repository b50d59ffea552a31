//! Messages as packets: each is one packet on its way through the links, queues and routers of a network.
//!
//! Nodes of the program are at nodes of a [`Plane`], one at each. All other nodes of the plane are LPs of the
//! carrier's own. Each hop is one event, as in [`parades_packet::network`], whose ports, queues and routes
//! these are. Links have lookahead, so all engines without rollback run such a program in parallel.
//!
//! A message that is lost does not arrive, as with UDP. A sender that awaits its message learns of its
//! arrival, or of its loss ([`parades_program::Undelivered`]). The report travels back from the place of the
//! arrival or the loss, over the shortest path at the start of the run. It takes the least time of a packet
//! over each link, meets no queue, and is never lost itself. If no path leads back, the sender waits forever.
//! No report is sent for a message that nobody awaits.
//!
//! A packet has [`IP_HEADER`] bytes of header and what [`Format::bytes`] says, and the frames of links.
//!
//! Results: the table `links` has a row for each direction of a link that a packet was offered to;
//! `messages_failed` counts lost packets.

mod packet;
mod totals;

pub use packet::{Format, Packet};

use packet::{Hop, Message, Report};
use parades_core::channel::Port;
use parades_core::digest::{Digest, Payload};
use parades_core::event::{Body, LpId};
use parades_core::metrics::{MetricId, Metrics};
use parades_core::random::Rng;
use parades_core::restore::Undoable;
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed, Wire};
use parades_packet::network::NetworkError;
use parades_packet::packet::IP_HEADER;
use parades_packet::plane::{Loss, Plane, Ports, Surroundings};
use parades_program::{
    AtEnd, Carrier, CarrierContext, Copies, Departure, Held, Layout, Letter, NodeContext, RestorableCarrier,
    SaveCarrier, Undelivered, Wiring,
};
use parades_tcp::environment::Ecn;
use parades_topology::NodeId;
use std::fmt;

/// The greatest size of a packet in bytes, IP header included.
const PACKET_MAX: u32 = 65_535;

/// The carrier of a program whose messages `M` are packets.
///
/// # Examples
///
/// Two nodes at the ends of a line of three. A message of 980 bytes, 1000 with its IP header, takes 1 ms on a
/// link, and each link is 10 ms long. The sender learns of the arrival after the way back:
///
/// ```
/// use parades_carriers::packet_level::{Format, PacketLevel};
/// use parades_core::prelude::*;
/// use parades_packet::network::Settings;
/// use parades_packet::plane::Plane;
/// use parades_program::{Processes, Program, Start};
/// use parades_topology::{Link, NodeId, Topology};
///
/// struct OneWay(PacketLevel<u64>); // a message is its number of bytes
///
/// impl Program for OneWay {
///     type Message = u64;
///     type State = Option<Time>;
///     type Carrier = PacketLevel<u64>;
///     fn nodes(&self) -> u32 { 2 }
///     fn carrier(&self) -> &PacketLevel<u64> { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         start.spawn("main", |node| async move {
///             match node.id().0 {
///                 0 => assert_eq!(node.send(LpId(1), 980).await, Ok(())),
///                 _ => { node.receive().await; }
///             }
///             node.with(|here| *here.state = Some(here.now()));
///         });
///         None
///     }
///     fn finish(&self, id: LpId, done: &Option<Time>, _: &End, _: &mut Metrics) {
///         // There, 2 * (1 + 10) ms. Back, two links at 20 bytes each.
///         let us = if id == LpId(1) { 22_000 } else { 42_040 };
///         assert_eq!(*done, Time::ZERO.checked_add(Delay::from_us(us)));
///     }
/// }
///
/// let link = |a, b| Link { a: NodeId(a), b: NodeId(b), rate_bps: 8_000_000, delay: Delay::from_ms(10) };
/// let topology = Topology::new(&["left", "router", "right"], vec![link(0, 1), link(1, 2)])?;
/// let plane = Plane::new(topology, &[NodeId(0), NodeId(2)], Settings::default())?;
/// let carrier = PacketLevel::new(plane, Format::of_bytes(|&bytes| bytes as u32))?;
/// let outcome = parades_engine::sequential::run(&Processes::new(OneWay(carrier)), RunOptions::until(Time::from_secs(1)))?;
/// assert_eq!(outcome.metrics.get("links").and_then(|links| links.table()).unwrap().rows().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PacketLevel<M> {
    plane: Plane,
    /// The LP of each node of the network.
    places: Box<[Place]>,
    /// The nodes of the network that are LPs of the carrier's own.
    routers: Box<[NodeId]>,
    format: Format<M>,
}

/// The LP of a node of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The node of the program with this number.
    Node(u32),
    /// The carrier's own LP of this index.
    Own(u32),
}

impl<M> fmt::Debug for PacketLevel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PacketLevel({} nodes, {} routers)", self.plane.destinations().len(), self.routers.len())
    }
}

impl<M> PacketLevel<M> {
    /// Makes the carrier of a program whose nodes are at the destinations of a plane, in their order.
    ///
    /// # Errors
    ///
    /// If two nodes of the program would be at one node of the network.
    pub fn new(plane: Plane, format: Format<M>) -> Result<PacketLevel<M>, NetworkError> {
        let mut places: Vec<Option<Place>> = vec![None; plane.topology().nodes()];
        for (number, node) in (0..).zip(plane.destinations()) {
            if places[node.index()].replace(Place::Node(number)).is_some() {
                let name = plane.topology().name(*node);
                return Err(NetworkError::Parameter(format!(
                    "two nodes of the program are at `{name}`; give each its own"
                )));
            }
        }
        let routers: Box<[NodeId]> =
            plane.topology().node_ids().filter(|node| places[node.index()].is_none()).collect();
        for (index, router) in (0..).zip(&routers) {
            places[router.index()] = Some(Place::Own(index));
        }
        let places = places.into_iter().map(|place| place.expect("each node has its LP")).collect();
        Ok(PacketLevel { plane, places, routers, format })
    }

    /// Returns the network.
    pub fn plane(&self) -> &Plane {
        &self.plane
    }

    /// Returns the node of the network at which a node of the program is.
    ///
    /// # Panics
    ///
    /// If there is no such node.
    pub fn place_of(&self, node: LpId) -> NodeId {
        self.plane.destinations()[node.index()]
    }

    /// Returns the node of the network that an LP is.
    fn node_of(&self, lp: LpId, layout: Layout) -> NodeId {
        match layout.index(lp) {
            Some(own) => self.routers[own as usize],
            None => self.place_of(lp),
        }
    }

    fn lp_of(&self, node: NodeId, layout: Layout) -> LpId {
        match self.places[node.index()] {
            Place::Node(number) => LpId(number),
            Place::Own(index) => layout.own(index),
        }
    }

    /// Adds the rows of a node to the table of links.
    fn add_links<P: Undoable>(&self, ports: &Ports<P>, AtEnd { lp, layout, end, ids, metrics }: AtEnd<'_>) {
        let node = self.node_of(lp, layout);
        for port in self.plane.totals(node, ports, end.time) {
            totals::add(&self.plane, node, &port, end.time, ids[0].into(), metrics);
        }
    }
}

/// The state of the carrier at a node of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device<M: Clone> {
    ports: Ports<Message<M>>,
    /// Packets that were lost here.
    lost: u64,
}

/// A node of the network in action.
struct AtDevice<'a, M, C> {
    carrier: &'a PacketLevel<M>,
    node: NodeId,
    lost: &'a mut u64,
    ctx: &'a mut C,
}

impl<M: Payload + Clone, C: CarrierContext<Packet<M>>> AtDevice<'_, M, C> {
    /// Sends a report on. Returns it if its message was sent here.
    fn pass_report(&mut self, report: Report) -> Option<Report> {
        let plane = &self.carrier.plane;
        if plane.destinations()[report.to.index()] == self.node {
            return Some(report);
        }
        let port = plane.port_to(report.to.0, self.node, 0, Time::ZERO)?;
        let link = plane.topology().interfaces(self.node)[port as usize].link;
        self.ctx.send(Port(port), plane.lookahead(link, IP_HEADER), Packet(Hop::Report(report)));
        None
    }

    /// Reports the fate of a message to its sender, if that waits.
    fn report(&mut self, message: &Message<M>, outcome: Result<(), Undelivered>) {
        if let Some(report) = message.report(outcome)
            && let Some(own) = self.pass_report(report)
        {
            let id = self.ctx.id();
            self.ctx.send_to(id, Delay::ZERO, Packet(Hop::Report(own)));
        }
    }
}

impl<M: Payload + Clone, C: CarrierContext<Packet<M>>> Surroundings<Message<M>> for AtDevice<'_, M, C> {
    fn now(&self) -> Time {
        self.ctx.now()
    }
    fn precedes(&self, port: u32) -> Option<bool> {
        self.ctx.precedes(port)
    }
    fn rng(&mut self) -> &Rng {
        self.ctx.rng()
    }
    fn send(&mut self, port: u32, delay: Delay, message: Message<M>) {
        self.ctx.send(Port(port), delay, Packet(Hop::Message(message)));
    }
    fn wake_after(&mut self, port: u32, delay: Delay) {
        let id = self.ctx.id();
        self.ctx.send_to(id, delay, Packet(Hop::Wake { port }));
    }
    fn lose(&mut self, message: &Message<M>, _: Loss) {
        *self.lost += 1;
        self.report(message, Err(Undelivered));
    }
}

/// The news for the processes of a node.
enum News<M> {
    Message(Message<M>),
    Report(Report),
}

impl<M: Payload + Clone> PacketLevel<M> {
    fn device(&self, node: NodeId) -> Device<M> {
        Device { ports: self.plane.ports(node), lost: 0 }
    }

    /// Handles an event of a node of the network. Returns what is for the node's processes.
    fn handle<C: CarrierContext<Packet<M>>>(
        &self,
        hop: &Hop<M>,
        device: &mut Device<M>,
        ctx: &mut C,
    ) -> Option<News<M>> {
        let node = self.node_of(ctx.id(), ctx.layout());
        let Device { ports, lost } = device;
        let mut at = AtDevice { carrier: self, node, lost, ctx };
        match hop {
            Hop::Message(message) => {
                let message = self.plane.forward(node, ports, message.clone(), &mut at)?;
                at.report(&message, Ok(()));
                Some(News::Message(message))
            }
            Hop::Report(report) => at.pass_report(*report).map(News::Report),
            Hop::Wake { port } => {
                self.plane.wake(node, ports, *port, &mut at);
                None
            }
        }
    }
}

impl<M: Payload + Clone> RestorableCarrier<M> for PacketLevel<M> {
    type Restore = Copies;
}

impl<M: Payload + Clone + Wire> SaveCarrier<M> for PacketLevel<M> {
    fn can_save(&self) -> Result<(), String> {
        self.plane.can_save()
    }

    fn write_access(&self, device: &Device<M>, to: &mut Vec<u8>) {
        let Device { ports, lost } = device;
        wire::write(lost, to);
        self.plane.write_ports(ports, to);
    }

    fn read_access(&self, lp: LpId, layout: Layout, from: &mut &[u8]) -> Result<Device<M>, Malformed> {
        let lost = wire::read(from)?;
        let has_sender = |message: &Message<M>| message.from.0 < layout.nodes();
        Ok(Device { ports: self.plane.read_ports(self.node_of(lp, layout), has_sender, from)?, lost })
    }

    fn write_lp(&self, device: &Device<M>, to: &mut Vec<u8>) {
        self.write_access(device, to);
    }

    fn read_lp(&self, lp: LpId, layout: Layout, from: &mut &[u8]) -> Result<Device<M>, Malformed> {
        self.read_access(lp, layout, from)
    }
}

impl<M: Payload + Clone> Carrier<M> for PacketLevel<M> {
    type Packet = Packet<M>;
    type Access = Device<M>;
    type Lp = Device<M>;
    type Plan = ();

    const MAY_FAIL_AT_NODES: bool = true;

    fn lps(&self, _: u32) -> u32 {
        u32::try_from(self.routers.len()).expect("nodes are counted in 32 bits")
    }

    fn node_ports(&self, layout: Layout, node: LpId) -> u32 {
        let interfaces = self.plane.topology().interfaces(self.node_of(node, layout));
        u32::try_from(interfaces.len()).expect("links are counted in 32 bits")
    }

    fn lp_kind(&self, lp: LpId, layout: Layout) -> Option<&'static str> {
        layout.index(lp).map(|_| "router")
    }

    fn lp_name(&self, lp: LpId, layout: Layout) -> Option<String> {
        let is_known = lp.0 < layout.nodes() || layout.index(lp).is_some();
        is_known.then(|| self.plane.topology().name(self.node_of(lp, layout)).to_owned())
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        let places = self.plane.destinations().len();
        assert_eq!(layout.nodes() as usize, places, "the program has as many nodes as the plane has destinations");
        for node in self.plane.topology().node_ids() {
            for end in self.plane.topology().interfaces(node) {
                let lookahead = self.plane.lookahead(end.link, IP_HEADER);
                wiring.connect(self.lp_of(node, layout), self.lp_of(end.neighbour, layout), lookahead);
            }
        }
    }

    fn access(&self, node: LpId, layout: Layout) -> Device<M> {
        self.device(self.node_of(node, layout))
    }

    fn start(&self, lp: &mut impl CarrierContext<Packet<M>>) -> Device<M> {
        self.device(self.node_of(lp.id(), lp.layout()))
    }

    fn plan(&self, _: Departure<'_, M>, _: &mut Device<M>, _: &Rng) {}

    fn arrival(&self, (): (), _: Time) -> Option<Time> {
        None
    }

    fn post(&self, letter: Letter<M, ()>, device: &mut Device<M>, node: &mut impl CarrierContext<Packet<M>>) {
        let Letter { to, receipt, message, .. } = letter;
        let from = node.id();
        let message = Message::new(from, to, receipt, &self.format, message);
        if to.0 >= node.layout().nodes() {
            let nodes = node.layout().nodes();
            return node.fail(format!("it sent to node {}, but there are only {nodes} nodes", to.0));
        }
        if message.bytes > PACKET_MAX {
            let bytes = message.bytes;
            return node.fail(format!("it sent a packet of {bytes} bytes; an IP packet has at most {PACKET_MAX}"));
        }
        if to == from {
            return node.send_to(from, Delay::ZERO, Packet(Hop::Message(message)));
        }
        let none = self.handle(&Hop::Message(message), device, node);
        debug_assert!(none.is_none(), "a message to another node does not arrive here");
    }

    fn receive(&self, Packet(hop): &Packet<M>, device: &mut Device<M>, node: &mut impl NodeContext<M, Packet<M>>) {
        match self.handle(hop, device, node) {
            None => {}
            Some(News::Report(Report { receipt, outcome, .. })) => node.report(receipt, outcome),
            Some(News::Message(Message { from, ecn, mut message, .. })) => {
                if ecn == Ecn::Marked {
                    (self.format.mark)(&mut message);
                }
                node.deliver(from, message);
            }
        }
    }

    fn execute(&self, device: &mut Device<M>, event: Body<&Packet<M>>, ctx: &mut impl CarrierContext<Packet<M>>) {
        let Body::Message(Packet(hop)) = event else { unreachable!("routers set no timers") };
        let news = self.handle(hop, device, ctx);
        debug_assert!(news.is_none(), "messages and reports are for nodes of the program");
    }

    fn fold(&self, device: &Device<M>, digest: &mut Digest) {
        device.ports.fold(digest);
    }

    fn fold_access(&self, device: &Device<M>, digest: &mut Digest) {
        device.ports.fold(digest);
    }

    /// Each pending event of a port stands for one of the packets that it holds.
    fn held(&self, device: &Device<M>) -> Held {
        let on_their_way = device.ports.held().saturating_sub(device.ports.waking());
        Held { on_their_way, failed: device.lost, ..Held::default() }
    }

    fn held_at_node(&self, device: &Device<M>) -> Held {
        self.held(device)
    }

    fn metrics(&self, metrics: &mut Metrics) -> Vec<MetricId> {
        vec![totals::declare(metrics).into()]
    }

    fn finish(&self, device: &Device<M>, at_end: AtEnd<'_>) {
        self.add_links(&device.ports, at_end);
    }

    fn finish_access(&self, device: &Device<M>, at_end: AtEnd<'_>) {
        self.add_links(&device.ports, at_end);
    }
}
