//! Runs of networks on demand that are saved, and branches of them.

use super::OnDemand;
use super::message::{Carriage, Kind, Message, What, Wish};
use super::node::{Ended, FREE, Fates, FlowEnd, Node, PLACES_MAX};
use crate::description::AppKind;
use crate::line::Policy;
use crate::node::Egress;
use crate::packet::CLASSES;
use crate::port::{Port, replan_ports};
use crate::protocols::Endpoint;
use crate::protocols::tcp::{ENDLESS, Heard};
use crate::record::Record;
use crate::save::{check, is_number};
use crate::segment::TcpSegment;
use parades_core::any_model::SaveModel;
use parades_core::cut::InTransit;
use parades_core::prelude::*;
use parades_core::wire::{self, Malformed};
use parades_topology::NodeId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The part of an end's state beside its endpoint: its app, the other end, the bytes of its flow if a program
/// has asked for it, its place, its start, the data sent and heard, and whether it has told the flow's fate.
type Frame = (u32, u32, Option<u64>, u32, Time, Heard, u64, bool);

impl SaveModel for OnDemand {
    fn can_save(&self) -> Result<(), String> {
        self.apps.iter().try_for_each(|app| app.kind.can_save())?;
        self.lines.can_save()
    }

    fn write_state(&self, _: LpId, node: &Node, to: &mut Vec<u8>) {
        let Node { egress, ends, places, free, ended, fates } = node;
        egress.write(to);
        wire::write(&(places, free, ended, fates, u64::try_from(ends.len()).expect("few")), to);
        for (&address, end) in ends {
            let FlowEnd { endpoint, app, kind, peer, place, start, sent, heard, is_told } = &**end;
            let bytes = match &**kind {
                AppKind::Tcp(tcp) if address / 2 >= self.first_asked() => Some(tcp.bytes),
                _ => None,
            };
            let frame: Frame = (*app, *peer, bytes, *place, *start, *sent, *heard, *is_told);
            wire::write(&(address, frame), to);
            endpoint.write(to);
        }
    }

    fn read_state(&self, lp: LpId, from: &mut &[u8]) -> Result<Node, Malformed> {
        let id = NodeId(lp.0);
        let interfaces = self.topology.interfaces(id);
        let port = |interface| Port::read(&self.lines.by(&self.topology, interface).policy, from);
        let ports = interfaces.iter().copied().map(port).collect::<Result<Box<[Port]>, Malformed>>()?;
        let egress: Egress<Carriage> = Egress::read(ports, from)?;
        check(egress.held().all(|carriage| self.may_travel(carriage)), "a node")?;
        let (places, free, ended): (Vec<u32>, Vec<u32>, VecDeque<Ended>) = wire::read(from)?;
        let (fates, count): (Fates, u64) = wire::read(from)?;
        let mut ends = BTreeMap::new();
        for _ in 0..count {
            let (address, end) = self.read_end(lp, from)?;
            let is_new = places.get(end.place as usize) == Some(&address) && !ends.contains_key(&address);
            check(is_new, "an end of a flow")?;
            ends.insert(address, Box::new(end));
        }
        let taken = places.iter().filter(|&&address| address != FREE).count();
        let mut is_free: Vec<bool> = places.iter().map(|&address| address == FREE).collect();
        let are_free = free.iter().all(|&place| is_free.get_mut(place as usize).is_some_and(std::mem::take));
        let is_possible = places.len() <= PLACES_MAX as usize
            && taken == ends.len()
            && are_free
            && taken + free.len() == places.len()
            && ended.iter().is_sorted_by_key(|ended| ended.at)
            && ended.iter().all(|ended| is_number(ended.bytes));
        check(is_possible, "a node")?;
        Ok(Node { egress, ends, places, free, ended, fates })
    }

    fn check_message(&self, lp: LpId, Message(kind): &Message) -> Result<(), Malformed> {
        let is_possible = match kind {
            Kind::Packet(carriage) => self.may_travel(carriage),
            Kind::Own(packet) => match packet.waking_port() {
                _ if !packet.is_served() => false,
                None => true,
                Some(port) => {
                    let interface = self.topology.interfaces(NodeId(lp.0)).get(port as usize);
                    let policy = interface.map(|end| &self.lines.by(&self.topology, *end).policy);
                    matches!(policy, Some(Policy::Managed(_)))
                }
            },
            Kind::Wish(Wish { what: What::Cancel, .. }) => true,
            Kind::Wish(Wish { address, what: What::Begin { peer, tcp_app, bytes }, .. }) => {
                *address < FREE - 1
                    && address / 2 >= self.first_asked()
                    && self.is_other(lp, *peer)
                    && (*tcp_app as usize) < self.tcp_apps.len()
                    && (1..ENDLESS).contains(bytes)
            }
        };
        check(is_possible, "an event of a node")
    }

    /// Plans the transmissions of packets that wait again, where a link changes at the cut.
    fn branch(&self, lp: LpId, time: Time, node: &mut Node, sent: &mut [InTransit<'_, Message>]) -> Result<(), String> {
        let payload = |message: &Message, port: u32| match &message.0 {
            Kind::Packet(carriage) if carriage.port == port => Some(carriage.packet.payload()),
            _ => None,
        };
        let around = (&self.topology, &self.lines);
        replan_ports(&mut node.egress.ports, around, NodeId(lp.0), self.headers, time, sent, payload).map_err(|link| {
            format!("packets wait for the link `{}`, which changes again later", self.link_names[link.index()])
        })
    }
}

impl OnDemand {
    /// Returns the number of the first flow that a program asks for.
    fn first_asked(&self) -> u32 {
        u32::try_from(self.flows.len()).expect("there are at most 2^30 flows")
    }

    /// Returns true if `node` is one, and not the LP.
    fn is_other(&self, lp: LpId, node: u32) -> bool {
        node != lp.0 && (node as usize) < self.topology.nodes()
    }

    /// Returns true if a packet that was read may be on its way.
    fn may_travel(&self, carriage: &Carriage) -> bool {
        let Carriage { from, to, packet, again, .. } = carriage;
        let nodes = self.topology.nodes();
        let flow = packet.direction() / 2;
        let needs_segment = match self.app_of_flow.get(flow as usize) {
            Some(&app) => matches!(self.apps[app as usize].kind, AppKind::Tcp(_) | AppKind::Stream(_)),
            None => true,
        };
        let has_segment = packet.record().is_some_and(|record| record.segment().is_some_and(TcpSegment::is_possible));
        // Segments of a transfer are numbered from 0, and acknowledgements name the next one.
        let number_max = match self.app_of_flow.get(flow as usize).map(|&app| &self.apps[app as usize].kind) {
            Some(AppKind::Transfer(transfer)) => transfer.segments() - u32::from(packet.direction().is_multiple_of(2)),
            _ => u32::MAX,
        };
        !packet.is_served()
            && from != to
            && (*from).max(*to) < u32::try_from(nodes).expect("nodes are counted in 32 bits")
            && packet.class() < CLASSES
            && is_number(*again)
            && has_segment == needs_segment
            && packet.number() <= number_max
    }

    fn read_end(&self, lp: LpId, from: &mut &[u8]) -> Result<(u32, FlowEnd), Malformed> {
        let (address, frame): (u32, Frame) = wire::read(from)?;
        let (app, peer, bytes, place, start, sent, heard, is_told) = frame;
        let (flow, begins) = (address / 2, address.is_multiple_of(2));
        let first_tcp_app = self.apps.len() - self.tcp_apps.len();
        let kind = match (bytes, (app as usize).checked_sub(first_tcp_app)) {
            (Some(bytes), Some(tcp_app)) if flow >= self.first_asked() && (1..ENDLESS).contains(&bytes) => {
                self.tcp_apps.get(tcp_app).map(|tcp_app| tcp_app.kind(bytes))
            }
            (None, None) if self.app_of_flow.get(flow as usize) == Some(&app) => {
                Some(self.apps[app as usize].kind.clone())
            }
            _ => None,
        };
        let kind =
            kind.filter(|_| self.is_other(lp, peer) && place < PLACES_MAX && sent.is_possible() && is_number(heard));
        let kind = kind.ok_or_else(|| Malformed::new("an end of a flow has a state that none can have"))?;
        let endpoint = Endpoint::read(&kind, begins, start, self.has_percentiles, from)?;
        let kind = Arc::new(kind);
        Ok((address, FlowEnd { endpoint, app, kind, peer, place, start, sent, heard, is_told }))
    }
}
