//! How the constants of a network are laid out for its handlers: compact, and what is used together side by side.

use crate::flow::Flow;
use crate::interface::Wire;
use crate::network::{NetworkError, Settings};
use parades_core::channel::Channels;
use parades_core::event::LpId;
use parades_core::time::Delay;
use parades_topology::routing::{Routes, RoutingError};
use parades_topology::{Interface, Link, LinkId, NodeId, Topology};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Which flows belong to which node: the slots of node `n` are `flows[first[n]..first[n + 1]]`.
#[derive(Debug)]
pub(crate) struct Slots {
    first: Box<[u32]>,
    flows: Box<[u32]>,
}

impl Slots {
    pub(crate) fn new<F>(nodes: usize, of_flows: &[F], node: impl Fn(&F) -> NodeId) -> Slots {
        let mut first = vec![0; nodes + 1];
        for flow in of_flows {
            first[node(flow).index() + 1] += 1;
        }
        for n in 0..nodes {
            first[n + 1] += first[n];
        }
        let mut free = first.clone();
        let mut flows = vec![0; of_flows.len()];
        for (number, flow) in (0..).zip(of_flows) {
            let place = &mut free[node(flow).index()];
            flows[*place as usize] = number;
            *place += 1;
        }
        Slots { first: first.into(), flows: flows.into() }
    }

    /// The flows of a node, by slot.
    pub(crate) fn of(&self, node: LpId) -> &[u32] {
        &self.flows[self.first[node.index()] as usize..self.first[node.index() + 1] as usize]
    }

    /// The slot of each flow at its node.
    pub(crate) fn slot_of_flow(&self) -> Vec<u32> {
        let mut slots = vec![0; self.flows.len()];
        for bounds in self.first.windows(2) {
            for (slot, &flow) in (0..).zip(&self.flows[bounds[0] as usize..bounds[1] as usize]) {
                slots[flow as usize] = slot;
            }
        }
        slots
    }
}

/// What a node does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Step {
    /// The number of the interface that it sends it to, or [`ARRIVED`].
    pub(crate) interface: u32,
    /// The kind of that interface; at the end, the slot of the flow.
    pub(crate) kind_or_slot: u32,
}

/// The interface of the last step.
pub(crate) const ARRIVED: u32 = u32::MAX;

/// The routes of all flows, laid out so that a packet needs one word of them at each hop, and finds there what it needs next. Interfaces
/// bear each node's own numbers, so that routes in like parts of a network are equal; equal ones are kept once, and stay in the cache.
#[derive(Debug)]
pub(crate) struct Steps {
    pub(crate) all: Box<[Step]>,
    /// The first step of each flow.
    pub(crate) first: Box<[NonZeroU32]>,
}

impl Steps {
    pub(crate) fn new(
        topology: &Topology,
        flows: &[Flow],
        routes: &Routes,
        (wires, slots): (&Wires, &[u32]),
    ) -> Result<Steps, NetworkError> {
        // No route starts at place 0, so that places have a niche.
        let mut all = vec![Step { interface: ARRIVED, kind_or_slot: 0 }];
        let mut places: BTreeMap<Vec<Step>, NonZeroU32> = BTreeMap::new();
        let mut first = Vec::with_capacity(flows.len());
        for (number, (flow, &slot)) in flows.iter().zip(slots).enumerate() {
            let route = routes.route(number);
            let hops = route.iter().zip(topology.follow(flow.source, route));
            let kind = |end: Interface| wires.kind_of_link[end.link.index()];
            let step = |(&interface, end)| Step { interface, kind_or_slot: kind(end) };
            let last = Step { interface: ARRIVED, kind_or_slot: slot };
            let steps: Vec<Step> = hops.map(step).chain([last]).collect();
            if let Some(&place) = places.get(&steps) {
                first.push(place);
                continue;
            }
            let place = u32::try_from(all.len()).ok().and_then(NonZeroU32::new);
            let place = place.ok_or(RoutingError::TooLarge)?;
            first.push(place);
            all.extend_from_slice(&steps);
            places.insert(steps, place);
        }
        match u32::try_from(all.len()) {
            Ok(_) => Ok(Steps { all: all.into(), first: first.into() }),
            Err(_) => Err(RoutingError::TooLarge.into()),
        }
    }

    /// How many links the route of a flow has.
    pub(crate) fn hops(&self, flow: usize) -> usize {
        let from = self.first[flow].get() as usize;
        self.all[from..].iter().take_while(|step| step.interface != ARRIVED).count()
    }
}

/// What is constant about all interfaces.
#[derive(Debug)]
pub(crate) struct Wires {
    pub(crate) kinds: Box<[Wire]>,
    pub(crate) kind_of_link: Box<[u32]>,
}

impl Wires {
    pub(crate) fn new(topology: &Topology, settings: &Settings) -> Result<Wires, NetworkError> {
        let wire = |link: &Link| Wire { rate_bps: link.rate_bps, delay: link.delay, queue: settings.queue };
        let mut wires: Vec<Wire> = topology.links().iter().map(wire).collect();
        let links = wires.len();
        for &(link, queue) in &settings.queues {
            match wires.get_mut(link.index()) {
                Some(wire) => wire.queue = queue,
                None => return Err(NetworkError::UnknownLink { link: link.0, links }),
            }
        }
        let mut kinds = wires.clone();
        kinds.sort_unstable();
        kinds.dedup();
        let kind = |wire| u32::try_from(kinds.partition_point(|kind| kind < wire));
        let kind = |wire| kind(wire).expect("a topology has fewer than 2^31 links");
        let kind_of_link = wires.iter().map(kind).collect();
        Ok(Wires { kind_of_link, kinds: kinds.into() })
    }

    /// What is constant about both interfaces of a link.
    pub(crate) fn of(&self, link: LinkId) -> &Wire {
        &self.kinds[self.kind_of_link[link.index()] as usize]
    }

    /// A channel for each interface of a network whose smallest packet has `packet_min` bytes: the link's delay and the serialisation of
    /// that packet are its lookahead.
    pub(crate) fn channels(&self, topology: &Topology, packet_min: u32) -> Channels {
        let mut channels = Channels::none();
        for node in topology.node_ids() {
            for end in topology.interfaces(node) {
                let wire = self.of(end.link);
                let least = Delay::serialisation(u64::from(packet_min), wire.rate_bps);
                let lookahead = wire.delay.saturating_add(least);
                channels.connect(LpId(node.0), LpId(end.neighbour.0), lookahead);
            }
        }
        channels
    }
}
