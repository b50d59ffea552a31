//! The network as a model: an event at a node.

use super::Network;
use super::outlet::{Outlet, Starting};
use crate::forwarding::Next;
use crate::node::{Node, NodeMut, NodeParts, NodeUndo};
use crate::packet::Packet;
use crate::port::Loss;
use crate::protocols::Endpoint;
use crate::record::Record;
use crate::report;
use crate::sampling::{self, Sample};
use parades_core::capture::CapturePoint;
use parades_core::prelude::*;
use parades_core::restore::Recorder;
use parades_topology::NodeId;
use std::fmt;

impl<D: Record> Model for Network<D> {
    type State = Node<Packet<D>>;
    type Message = Packet<D>;
    type Global = Sample;

    fn lps(&self) -> u32 {
        LpId::from_index(self.layout.topology.nodes()).0
    }

    /// A channel for each interface, at the port of the interface's number.
    fn channels(&self) -> Channels {
        let lookaheads: Vec<Delay> =
            self.layout.lines.kinds.iter().map(|line| line.lookahead(self.layout.packet_min)).collect();
        let mut channels = Channels::none();
        for node in self.layout.topology.node_ids() {
            for end in self.layout.topology.interfaces(node) {
                let kind = self.layout.lines.kind_by(&self.layout.topology, *end);
                channels.connect(LpId(node.0), LpId(end.neighbour.0), lookaheads[kind as usize]);
            }
        }
        channels
    }

    fn metrics(&self) -> Metrics {
        report::declare(&self.layout).0
    }

    fn globals(&self) -> Vec<(Time, Sample)> {
        Sample::first(self.layout.measure.every).into_iter().collect()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Node<Packet<D>> {
        let node = NodeId(ctx.id().0);
        let addresses = self.layout.slots.of(node);
        let start = |(slot, &address): (u32, &u32)| {
            let (flow, begins) = self.layout.slots.role(address);
            let start = self.layout.flows[flow as usize].start;
            let mut setup = Starting { ctx, slot, slots: addresses.len() };
            Endpoint::on_start(
                self.layout.kind_of(flow),
                flow,
                begins,
                start,
                self.layout.measure.percentiles,
                &mut setup,
            )
        };
        let endpoints = (0..).zip(addresses).map(start);
        let mut node_state = Node::new(self.layout.topology.interfaces(node).len(), endpoints.collect());
        sampling::measure_sojourns(&self.layout, node, &mut node_state);
        node_state
    }

    // Always inlined into the kernel's function of the same name. As a call, its arguments would go through
    // memory, and the compiler does not inline a function of this size by itself.
    #[inline(always)]
    fn handle(&self, node: &mut Node<Packet<D>>, event: Body<&Packet<D>>, ctx: &mut Context<'_, Self>) {
        self.execute(node.unrecorded(), event, ctx);
    }

    fn fold(&self, node: &Node<Packet<D>>, digest: &mut Digest) {
        node.fold(digest);
    }

    fn finish(&self, id: LpId, node: &Node<Packet<D>>, end: &End, metrics: &mut Metrics) {
        report::finish(&self.layout, NodeId(id.0), node, end, metrics);
        node.egress.held().for_each(|packet| report::in_flight(&self.layout, packet, metrics));
    }

    fn splits_unfinished(&self) -> bool {
        true
    }

    fn unfinished(&self, messages: Unfinished<Packet<D>>, metrics: &mut Metrics) {
        for event in messages.in_any_order() {
            if let Body::Message(packet) = &event.body {
                report::in_flight(&self.layout, packet, metrics);
            }
        }
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        report::conclude(&self.layout, end, metrics)
    }

    fn lp_kind(&self, lp: LpId) -> String {
        // Flows begin and end at hosts.
        if self.layout.slots.of(NodeId(lp.0)).is_empty() { "router" } else { "host" }.to_owned()
    }

    fn lp_name(&self, lp: LpId) -> Option<String> {
        (lp.0 < self.lps()).then(|| self.layout.topology.name(NodeId(lp.0)).to_owned())
    }

    fn capture_points(&self) -> Vec<CapturePoint> {
        self.layout.capture_points()
    }

    fn describe(&self, event: &Event<&Packet<D>>, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&match &event.body {
            Body::Message(packet) => self.layout.packet_text(packet),
            Body::Timer(timer) => self.layout.timer_text(event.receiver(), *timer, event.time()),
        })
    }
}

impl<D: Record> ByRecord for Network<D> {
    #[inline(always)]
    fn execute<R: Recorder<NodeUndo<Packet<D>>>>(
        &self,
        mut node: NodeMut<'_, Packet<D>, R>,
        event: Body<&Packet<D>>,
        ctx: &mut Context<'_, Self>,
    ) {
        let NodeParts { egress, mut endpoints } = node.split();
        let mut outlet = Outlet::new(&self.layout, egress, ctx);
        match event {
            Body::Message(packet) if packet.is_served() => outlet.serve(&mut endpoints, packet),
            Body::Message(packet) => match self.layout.forwarding.next(outlet.node(), packet, outlet.ctx.now()) {
                Next::Port(exit) => outlet.forward(packet, exit),
                Next::Endpoint(slot) => outlet.deliver(&mut endpoints, slot, packet),
                Next::Copies(place, hops) => {
                    outlet.count_copies(hops.len() + usize::from(place.receiver().is_some()));
                    if let Some(slot) = place.receiver() {
                        outlet.deliver(&mut endpoints, slot, packet);
                    }
                    outlet.copy(packet, hops);
                }
                Next::Nowhere => outlet.lose(packet, packet.direction(), None, Loss::Down),
            },
            Body::Timer(timer) => outlet.on_timer(&mut endpoints, timer),
        }
    }
}
