//! Runs of packet networks that are saved.

use super::{Layout, Network};
use crate::description::AppKind;
use crate::line::Policy;
use crate::node::Node;
use crate::packet::Packet;
use crate::port::replan_ports;
use crate::record::Record;
use crate::save::check;
use crate::segment::TcpSegment;
use parades_core::any_model::SaveModel;
use parades_core::cut::InTransit;
use parades_core::prelude::*;
use parades_core::wire::Malformed;
use parades_topology::NodeId;

impl<D: Record> SaveModel for Network<D> {
    fn can_save(&self) -> Result<(), String> {
        self.layout.apps.iter().try_for_each(|app| app.kind.can_save())?;
        self.layout.lines.can_save()
    }

    fn write_state(&self, _: LpId, node: &Node<Packet<D>>, to: &mut Vec<u8>) {
        node.write(to);
    }

    fn read_state(&self, lp: LpId, from: &mut &[u8]) -> Result<Node<Packet<D>>, Malformed> {
        Node::read(&self.layout, NodeId(lp.0), from)
    }

    fn check_message(&self, lp: LpId, packet: &Packet<D>) -> Result<(), Malformed> {
        let node = NodeId(lp.0);
        let is_possible = match packet.waking_port() {
            _ if !packet.is_served() => self.layout.may_arrive(node, packet),
            Some(port) => {
                let interface = self.layout.topology.interfaces(node).get(port as usize);
                let policy = interface.map(|end| &self.layout.lines.by(&self.layout.topology, *end).policy);
                matches!(policy, Some(Policy::Managed(_)))
            }
            None => self.layout.slots.of(node).get(packet.served_slot() as usize) == Some(&packet.direction()),
        };
        check(is_possible, "a packet")
    }

    /// Plans the transmissions of packets that wait again, where the rate or delay of their link changes at
    /// the cut, and moves their arrivals.
    fn branch(
        &self,
        lp: LpId,
        time: Time,
        node: &mut Node<Packet<D>>,
        sent: &mut [InTransit<'_, Packet<D>>],
    ) -> Result<(), String> {
        let Layout { topology, lines, headers, .. } = &self.layout;
        let payload = |packet: &Packet<D>, _| (!packet.is_served()).then(|| packet.payload());
        let (ports, node) = (&mut node.egress.ports, NodeId(lp.0));
        replan_ports(ports, (topology, lines), node, *headers, time, sent, payload).map_err(|link| {
            let name = self.layout.link_name(link);
            format!("packets wait for the link {name}, which changes again later")
        })
    }
}

impl Layout {
    /// Returns true if packets may be counted under a key: a direction, a place of a tree, or a failure.
    pub(crate) fn has_key(&self, key: u32) -> bool {
        let failures = u32::try_from(self.forwarding.failures.all().len()).expect("failures are counted in 32 bits");
        key < self.failure_key(failures)
    }

    /// Returns true if a packet that was read may arrive at a node: its way leads from there to the right
    /// endpoints, and it carries what they expect.
    pub(crate) fn may_arrive<D: Record>(&self, node: NodeId, packet: &Packet<D>) -> bool {
        let direction = packet.direction();
        if packet.is_served() || direction >= self.slots.end() {
            return false;
        }
        let ((flow, begins), group) = (self.slots.role(direction), self.slots.group(direction));
        let is_group = matches!(self.kind_of(flow), AppKind::Multicast(_));
        let needs_segment = matches!(self.kind_of(flow), AppKind::Tcp(_) | AppKind::Stream(_));
        let has_segment = packet.record().is_some_and(|record| record.segment().is_some_and(TcpSegment::is_possible));
        let receives = |node: NodeId, slot: u32| {
            let address = self.slots.of(node).get(slot as usize);
            address.is_some_and(|&address| match group {
                Some(_) => self.slots.group(address).is_none() && self.group_of(address) == Some(direction),
                None => address == self.slots.receiver(direction),
            })
        };
        // Segments of a transfer are numbered from 0, and acknowledgements name the next one.
        let number_max = match self.kind_of(flow) {
            AppKind::Transfer(transfer) => transfer.segments() - u32::from(begins),
            _ => u32::MAX,
        };
        is_group == group.is_some()
            && has_segment == needs_segment
            && packet.number() <= number_max
            && self.forwarding.leads(&self.topology, &self.lines, node, packet, receives)
    }

    /// Returns the address of the source that sends to an endpoint, if the endpoint belongs to a group.
    fn group_of(&self, address: u32) -> Option<u32> {
        let flow = self.slots.role(address).0;
        self.slots.group_of(flow).filter(|_| matches!(self.kind_of(flow), AppKind::Multicast(_)))
    }
}
