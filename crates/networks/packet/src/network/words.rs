//! Packets, timers and losses in the words of a network: for traces.

use super::outlet::endpoint_and_number;
use super::{Failure, Layout, Vocabulary};
use crate::description::{AppKind, Change};
use crate::packet::Packet;
use crate::port::Loss;
use crate::protocols::{own, stream, tcp};
use crate::record::Record;
use parades_core::event::{LpId, TimerId};
use parades_core::time::Time;
use parades_topology::NodeId;

impl Layout {
    /// Returns the text of a packet: `app video #188, 1200 B, east.0 to west.0`.
    pub(super) fn packet_text<D: Record>(&self, packet: &Packet<D>) -> String {
        if let Some(port) = packet.waking_port() {
            return format!("port {port} transmits the next packet that waits");
        }
        let (number, direction) = (packet.number(), packet.direction());
        let (flow, begins) = self.slots.role(direction);
        let traffic = self.traffic(direction);
        if packet.is_served() {
            return format!("{traffic} request #{number} served, for {}", self.ends(direction).1);
        }
        let what = match (self.kind_of(flow), begins) {
            (AppKind::Requests(_), true) => " request",
            (AppKind::Requests(_), false) => " response",
            (AppKind::Transfer(_), false) => " acknowledgement",
            (AppKind::Tcp(_), _) => " segment",
            (AppKind::Other(other), _) => &format!(" {}", other.name()),
            (AppKind::Stream(stream), _) => &format!(" {} segment", stream.name()),
            _ => "",
        };
        let (from, to) = self.ends(direction);
        let path =
            if self.slots.group(direction).is_some() { format!("from {from}") } else { format!("{from} to {to}") };
        match packet.record().and_then(Record::segment) {
            Some(segment) => format!("{traffic}{what} #{number} {}, {path}", segment.text()),
            None => format!("{traffic}{what} #{number}, {} B, {path}", packet.payload()),
        }
    }

    /// Returns the text of a timer that is due at a node.
    pub(super) fn timer_text(&self, node: LpId, timer: TimerId, now: Time) -> String {
        let addresses = self.slots.of(NodeId(node.0));
        let (slot, number) = endpoint_and_number(timer, addresses.len());
        let Some(&address) = addresses.get(slot as usize) else { return format!("timer {}", timer.0) };
        let (flow, _) = self.slots.role(address);
        let start = self.flows[flow as usize].start;
        let is_start = now == start || self.away_until(node, start) == Some(now);
        let purpose = match self.kind_of(flow) {
            AppKind::Datagrams(_) | AppKind::Multicast(_) => "next packet",
            AppKind::Transfer(_) if is_start => "start",
            AppKind::Transfer(_) => "retransmission",
            AppKind::Requests(_) => "request or retry",
            AppKind::Tcp(_) => tcp::timer_text(number),
            AppKind::Other(other) => &own::timer_text(other, number),
            AppKind::Stream(stream) => &stream::timer_text(stream, number),
        };
        let traffic = self.traffic(address);
        match self.slots.group(address) {
            Some(_) => format!("timer: {purpose} of {traffic}"),
            None => format!("timer: {purpose} of {traffic} to {}", self.ends(address).1),
        }
    }

    /// Returns the sentence about a packet that is lost at a node. `port` is the port by which the packet was
    /// to leave; `None` if there is none.
    pub(super) fn loss_text<D: Record>(
        &self,
        packet: &Packet<D>,
        node: NodeId,
        port: Option<u32>,
        loss: Loss,
        now: Time,
    ) -> String {
        let packet = self.packet_text(packet);
        let Some(port) = port else {
            return format!("lost: {packet}: no path leads on from {}", self.topology.name(node));
        };
        let end = self.topology.interfaces(node)[port as usize];
        let to = self.topology.name(end.neighbour);
        let link = match self.link_names.get(end.link.index()) {
            Some(name) => format!("link {name} to {to}"),
            None => format!("the link to {to}"),
        };
        let line = self.lines.of(end.link);
        let down = if line.at(now).is_up { line.next_down(now) } else { now };
        let ends = [node, end.neighbour];
        let failed = ends.into_iter().find(|node| self.away_until(LpId(node.0), down).is_some());
        let reason = match (loss, failed) {
            (Loss::Queue, _) => format!("the queue of {link} is full"),
            (Loss::Early, _) => format!("the queue of {link} drops it early"),
            (Loss::Chance, _) => format!("by chance, on {link}"),
            (Loss::Down, Some(node)) if down == now => format!("node {} has failed", self.topology.name(node)),
            (Loss::Down, Some(node)) => {
                format!("node {} fails at {down}, before the packet has crossed {link}", self.topology.name(node))
            }
            (Loss::Down, None) if down == now => format!("{link} is down"),
            (Loss::Down, None) => format!("{link} goes down at {down}, before the packet has crossed it"),
        };
        format!("lost: {packet}: {reason}")
    }

    /// Returns the words for the link or node that fails: `link a-b`, `node a`.
    pub(crate) fn name_of(&self, failure: &Failure) -> String {
        match failure.change {
            Change::Link { link, .. } | Change::Quality { link, .. } => {
                format!("link {}", self.link_names.get(link as usize).map_or("", String::as_str))
            }
            Change::Node { node, .. } => format!("node {}", self.topology.name(NodeId(node))),
        }
    }

    /// Returns the name of the traffic of a direction: its app, flow or group.
    fn traffic(&self, direction: u32) -> String {
        let (flow, _) = self.slots.role(direction);
        match (self.vocabulary, self.slots.group(direction)) {
            (Vocabulary::Apps, _) => format!("app {}", self.apps[self.app_of_flow[flow as usize] as usize].name),
            (Vocabulary::Flows, Some(group)) => format!("group {group}"),
            (Vocabulary::Flows, None) => format!("flow {flow}"),
        }
    }

    /// Returns the names of the nodes at which packets of a direction start and end.
    fn ends(&self, direction: u32) -> (&str, &str) {
        let (flow, begins) = self.slots.role(direction);
        let ends = &self.flows[flow as usize];
        let [source, destination] = [ends.source, ends.destination].map(|node| self.topology.name(node));
        if begins { (source, destination) } else { (destination, source) }
    }
}
