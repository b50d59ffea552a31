//! The flows of a network, from its apps.

use crate::description::{App, AppKind, Ends};
use crate::forwarding::failures::Sender;
use crate::forwarding::trees::Members;
use crate::network::NetworkError;
use crate::network::slots::Slots;
use crate::packet::{direction, payload_of_segment};
use parades_capture::address::IpVersion;
use parades_core::event::TimerId;
use parades_tcp::header::BASE_BYTES;
use parades_topology::{NodeId, Topology};

/// All flows of a network.
pub(super) struct Traffic {
    pub(super) flows: Vec<Ends>,
    pub(super) app_of_flow: Vec<u32>,
    /// The apps without their flows.
    pub(super) apps: Vec<App>,
    /// The range of each group's flows: the first flow, and the end.
    groups: Vec<(u32, u32)>,
}

impl Traffic {
    pub(super) fn new(mut apps: Vec<App>) -> Result<Traffic, NetworkError> {
        let count: usize = apps.iter().map(|app| app.flows.len()).sum();
        if count > (u32::MAX / 4) as usize {
            return Err(NetworkError::Parameter("there are more than 2^30 flows".into()));
        }
        let mut traffic = Traffic {
            flows: Vec::with_capacity(count),
            app_of_flow: Vec::with_capacity(count),
            apps: Vec::new(),
            groups: Vec::new(),
        };
        for (number, app) in (0..).zip(&mut apps) {
            let first = traffic.flows.len();
            traffic.flows.append(&mut app.flows);
            app.flows = Vec::new();
            traffic.app_of_flow.resize(traffic.flows.len(), number);
            if matches!(app.kind, AppKind::Multicast(_)) {
                let [first, end] = [first, traffic.flows.len()].map(|n| u32::try_from(n).expect("bounded above"));
                traffic.groups.push((first, end));
            }
        }
        traffic.apps = apps;
        Ok(traffic)
    }

    /// Returns the direction of the first group.
    pub(super) fn first_group(&self) -> u32 {
        u32::try_from(self.flows.len() * 2).expect("there are at most 2^30 flows")
    }

    pub(super) fn kind(&self, flow: u32) -> &AppKind {
        &self.apps[self.app_of_flow[flow as usize] as usize].kind
    }

    pub(super) fn name_of_app(&self, flow: usize) -> String {
        self.apps[self.app_of_flow[flow] as usize].name.clone()
    }

    /// Returns true if packets of a flow go back.
    pub(super) fn answers(&self, flow: u32) -> bool {
        !matches!(self.kind(flow), AppKind::Datagrams(_) | AppKind::Multicast(_))
    }

    /// Returns true if packets of a flow itself go in a direction. Packets of a group go down its tree.
    pub(super) fn sends(&self, flow: u32, is_back: bool) -> bool {
        !matches!(self.kind(flow), AppKind::Multicast(_)) && (!is_back || self.answers(flow))
    }

    /// Returns the first `count` directions, with their sources and destinations. The directions to the
    /// destinations of all flows come first, then the directions back, if there are any. A direction that is
    /// not used has an empty route.
    pub(super) fn directions(&self, count: usize) -> impl Iterator<Item = (u32, NodeId, NodeId)> {
        let flows = || (0..).zip(&self.flows);
        let has_answers = flows().any(|(flow, _)| self.answers(flow));
        let there = flows().map(|(flow, ends)| (direction(flow, false), ends.source, ends.destination));
        let back = flows().filter(move |_| has_answers);
        let back = back.map(|(flow, ends)| (direction(flow, true), ends.destination, ends.source));
        there.chain(back).take(count).map(|(direction, source, destination)| {
            let is_used = self.sends(direction / 2, !direction.is_multiple_of(2));
            (direction, source, if is_used { destination } else { source })
        })
    }

    /// Returns all flows and groups that send packets.
    pub(super) fn senders(&self) -> Vec<Sender> {
        let of_flow = |(flow, ends): (u32, &Ends)| {
            let directions = [(false, ends.source), (true, ends.destination)];
            let directions = directions.into_iter().filter(|&(is_back, _)| self.sends(flow, is_back));
            let directions = directions.map(|(is_back, source)| (direction(flow, is_back), source)).collect();
            Sender { start: ends.start, directions }
        };
        let of_group = |(direction, &(first, _)): (u32, &(u32, u32))| {
            let Ends { source, start, .. } = self.flows[first as usize];
            Sender { start, directions: vec![(direction, source)] }
        };
        let flows = (0..).zip(&self.flows).filter(|&(flow, _)| self.sends(flow, false));
        flows.map(of_flow).chain((self.first_group()..).zip(&self.groups).map(of_group)).collect()
    }

    /// Returns the sources and destinations of the flows of all groups.
    pub(super) fn pairs_of_groups(&self) -> Vec<(NodeId, NodeId)> {
        let flows = self.groups.iter().flat_map(|&(first, end)| &self.flows[first as usize..end as usize]);
        flows.map(|ends| (ends.source, ends.destination)).collect()
    }

    /// Returns the groups, given the slots of all ends by address.
    pub(super) fn members(&self, slot_of: &[u32]) -> Vec<Members> {
        let members = |&(first, end): &(u32, u32)| Members {
            source: self.flows[first as usize].source,
            receivers: (first..end).map(|flow| (flow, slot_of[direction(flow, true) as usize])).collect(),
        };
        self.groups.iter().map(members).collect()
    }

    /// Lays out the endpoints.
    pub(super) fn slots(&self, topology: &Topology) -> Result<Slots, NetworkError> {
        let mut endpoints = Vec::with_capacity(self.flows.len() * 2);
        let mut groups = (self.first_group()..).zip(&self.groups).peekable();
        for (flow, ends) in (0..).zip(&self.flows) {
            match groups.next_if(|(_, (first, _))| *first == flow) {
                Some((address, _)) => endpoints.push((ends.source, address)),
                None if self.sends(flow, false) => endpoints.push((ends.source, direction(flow, false))),
                None => {}
            }
            endpoints.push((ends.destination, direction(flow, true)));
        }
        let first_flows = self.groups.iter().map(|&(first, _)| first).collect();
        let slots = Slots::new(topology.nodes(), &endpoints, self.first_group(), first_flows);
        match topology.node_ids().find(|&node| slots.of(node).len() > TimerId::MAX.0 as usize) {
            None => Ok(slots),
            Some(node) => Err(NetworkError::Parameter(format!(
                "at most 2^20 flows begin or end at a node, but at `{}` there are more",
                topology.name(node)
            ))),
        }
    }

    /// Returns the least payload of a packet, answers included.
    pub(super) fn least_payload(&self, ip: IpVersion, headers: u32) -> u32 {
        let least = |app: &u32| match &self.apps[*app as usize].kind {
            AppKind::Datagrams(datagrams) | AppKind::Multicast(datagrams) => datagrams.least_payload().unwrap_or(1),
            AppKind::Transfer(_) => 0,
            AppKind::Tcp(_) | AppKind::Stream(_) => payload_of_segment(BASE_BYTES + ip.header_bytes(), headers),
            AppKind::Other(other) => other.least_payload(),
            AppKind::Requests(requests) => {
                let last = requests.payload(requests.packets() - 1);
                requests.request.min(requests.payload(0)).min(last)
            }
        };
        // Only apps with flows count.
        let mut apps = self.app_of_flow.clone();
        apps.dedup();
        apps.iter().map(least).min().unwrap_or(1)
    }
}
