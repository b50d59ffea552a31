//! Packets in captures.

use super::Layout;
use super::outlet::Outlet;
use crate::description::{Framing, headers_by_default};
use crate::node::EgressUndo;
use crate::packet::Packet;
use crate::port::Loss;
use crate::record::Record;
use parades_capture::address::flow_ports;
use parades_capture::fields::{Host, PacketFields, Protocol};
use parades_core::capture::{CapturePoint, Captured, LinkLayer};
use parades_core::event::LpId;
use parades_core::restore::Recorder;
use parades_core::time::Delay;
use parades_topology::{Interface, LinkId, NodeId};

impl Layout {
    /// Returns all ports of all nodes, in order.
    pub(super) fn capture_points(&self) -> Vec<CapturePoint> {
        let of_node = |node| (0..).zip(self.topology.interfaces(node)).map(move |(port, at)| (at.link, node, port));
        let mut ends: Vec<(LinkId, NodeId, u32)> = self.topology.node_ids().flat_map(of_node).collect();
        ends.sort_unstable();
        let mut points = Vec::with_capacity(ends.len());
        for of_link in ends.chunk_by(|(a, ..), (b, ..)| a == b) {
            let &(link, node, port) = &of_link[0];
            let interface = self.topology.interfaces(node)[port as usize];
            let here = (LpId(node.0), port);
            let there = match of_link.get(1) {
                Some(&(_, node, port)) => (LpId(node.0), port),
                None => (LpId(interface.neighbour.0), self.port_of_receiver(interface)),
            };
            points.extend([(here, there), (there, here)].map(|(here, there)| self.capture_point(here, there, link)));
        }
        points.sort_by_key(|point| (point.lp, point.port));
        points
    }

    fn capture_point(&self, (lp, port): (LpId, u32), peer: (LpId, u32), link: LinkId) -> CapturePoint {
        let is_end = !self.slots.of(NodeId(lp.0)).is_empty();
        CapturePoint { lp, port, peer, link: self.link_name(link), layer: self.link_layer(link), is_end }
    }

    /// Returns the number of the port at the other end of an interface's link.
    fn port_at_other_end(&self, node: NodeId, interface: Interface) -> u32 {
        let Interface { neighbour, link, .. } = interface;
        let mut ports = (0..).zip(self.topology.interfaces(neighbour));
        let port = ports.find(|(_, end)| end.link == link && end.neighbour == node).map(|(port, _)| port);
        port.unwrap_or_else(|| self.port_of_receiver(interface))
    }

    /// Returns a number for the receiving end of a link in one direction, where there is no port. It is that
    /// of the link, counted after all ports.
    fn port_of_receiver(&self, Interface { neighbour, link, .. }: Interface) -> u32 {
        let number = self.topology.interfaces(neighbour).len() + link.index();
        u32::try_from(number).expect("ports and links are counted in 32 bits")
    }

    /// Returns the name of a link. A link without a name is called by its ends: `east--west`.
    pub(crate) fn link_name(&self, link: LinkId) -> String {
        self.link_names.get(link.index()).cloned().unwrap_or_else(|| {
            let link = self.topology.link(link);
            format!("{}--{}", self.topology.name(link.a), self.topology.name(link.b))
        })
    }

    /// Returns the layer below IP on a link. Headers of 30 bytes have room for IPv4, UDP and PPP, and those
    /// of 50 bytes for IPv6.
    fn link_layer(&self, link: LinkId) -> LinkLayer {
        match self.lines.of(link).first.framing {
            Framing::Ppp => LinkLayer::Ppp,
            Framing::Ethernet => LinkLayer::Ethernet,
            Framing::None if self.headers == headers_by_default(self.ip, false) => LinkLayer::Ppp,
            Framing::None => LinkLayer::None,
        }
    }

    /// Returns the fields of a packet.
    fn fields<D: Record>(&self, packet: &Packet<D>) -> PacketFields {
        let direction = packet.direction();
        let (flow, begins) = self.slots.role(direction);
        let ends = &self.flows[flow as usize];
        let [source, destination] = [ends.source, ends.destination].map(|node| Host::Node(node.0));
        let group = self.slots.group(direction);
        let (source, destination) = match group {
            Some(group) => (source, Host::Group(group)),
            None if begins => (source, destination),
            None => (destination, source),
        };
        let flow = group.unwrap_or(flow);
        let (protocol, payload) = match packet.record().and_then(Record::segment) {
            Some(segment) => (Protocol::Tcp(segment.header), segment.bytes),
            None => {
                let (first, other) = flow_ports(flow);
                let ports = if begins { (first, other) } else { (other, first) };
                (Protocol::Udp(ports.0, ports.1), packet.payload())
            }
        };
        #[expect(clippy::cast_possible_truncation, reason = "the identification is the low half of the number")]
        let identification = packet.number() as u16;
        PacketFields {
            version: self.ip,
            source,
            destination,
            protocol,
            payload,
            class: packet.class(),
            ecn: packet.ecn() as u8,
            identification,
            flow,
        }
    }
}

impl<D: Record, R: Recorder<EgressUndo<Packet<D>>>> Outlet<'_, '_, D, R> {
    /// Captures a packet that is given to a plain port, where its future is known at once: as sent here, and
    /// as arriving at the neighbour, unless it is lost.
    #[cold]
    #[inline(never)]
    pub(super) fn capture(&mut self, packet: &Packet<D>, port: u32, accepted: Result<Delay, Loss>) {
        self.capture_sent(packet, port, accepted.err());
        if let Ok(delay) = accepted {
            self.capture_arrival(packet, port, delay);
        }
    }

    /// Captures a packet that is given to a port, before the queue. `loss` is the reason why the packet is
    /// lost, if that is known already.
    pub(super) fn capture_sent(&mut self, packet: &Packet<D>, port: u32, loss: Option<Loss>) {
        if !self.ctx.has_captures() {
            return;
        }
        let (net, node, now) = (self.net, self.node(), self.ctx.now());
        let lp = LpId(node.0);
        self.ctx.capture(lp, || Captured {
            lp,
            port,
            is_arrival: false,
            time: now,
            packet: net.fields(packet).encode(),
            remark: loss.map_or_else(String::new, |loss| net.loss_text(packet, node, Some(port), loss, now)),
        });
    }

    /// Captures a packet that a port sends, or the copy that the link makes of it, as it arrives at the
    /// neighbour.
    pub(super) fn capture_arrival(&mut self, packet: &Packet<D>, port: u32, delay: Delay) {
        if !self.ctx.has_captures() {
            return;
        }
        let (net, node, now) = (self.net, self.node(), self.ctx.now());
        let interface = net.topology.interfaces(node)[port as usize];
        if let Some(time) = now.checked_add(delay) {
            let lp = LpId(interface.neighbour.0);
            self.ctx.capture(lp, || Captured {
                lp,
                port: net.port_at_other_end(node, interface),
                is_arrival: true,
                time,
                packet: net.fields(packet).encode(),
                remark: String::new(),
            });
        }
    }
}
