//! Multicast: a source sends each packet once, and the network makes the copies.
//!
//! *Idea.* The shortest paths from a source to its receivers are a tree, as every part of such a path is itself the path between its ends
//! ([`parades_topology::routing`]). Where the tree branches, a node sends a copy down each branch; a receiver keeps one. What a node does with a packet
//! is a constant of the model, found by one word that the copy carries.
//!
//! *The data* of a packet are written once, at the source. All copies share them, at every hop; how the references to them are counted is
//! the type parameter `D` ([`SharedData`]), [`Shared`] unless one says otherwise. Each receiver compares the first bytes with what the source
//! wrote, so a scheme that gives memory back too early fails the run.
//!
//! *Conservation.* Packets sent + copies made = delivered + dropped + in flight; and for each receiver, sent = delivered + dropped + in
//! flight, where a copy lost on the way is lost to every receiver beyond. The run fails where either does not hold.
//!
//! *Results* are those of a [`crate::network::Network`], with a flow, and a row of the table `flows`, for each receiver of each group. The
//! totals `packets_*` count copies, beside which there is `copies_made`; `loss_ratio` is that of the flows.

mod data;
mod group;
mod report;
mod trees;

pub use data::{PacketCopy, SharedData};
pub use group::Group;

use crate::flow::{Flow, Sink};
use crate::interface::Transmitter;
use crate::layout::{Slots, Wires};
use crate::network::{NetworkError, Settings};
use crate::node::{Change, Journal, Node, Packet, Undo};
use crate::report::DELAY;
use crate::sampling::Sample;
use crate::source::Due;
use parades_core::prelude::*;
use parades_topology::routing::Routes;
use parades_topology::{NodeId, Topology};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use trees::{Hop, Place, Trees};

/// The model.
///
/// # Examples
///
/// One packet of 970 bytes, 1000 with its headers, from a source over a router to three hosts: one packet sent, two copies more.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_packet::flow::Limit;
/// use parades_packet::multicast::{Group, Multicast};
/// use parades_packet::network::Settings;
/// use parades_topology::{Link, NodeId, Topology};
/// use parades_packet::traffic::{Pattern, Sizes};
///
/// let link = |a, b| Link { a: NodeId(a), b: NodeId(b), rate_bps: 8_000_000, delay: Delay::from_ms(10) };
/// let links = vec![link(0, 1), link(1, 2), link(1, 3), link(1, 4)];
/// let topology = Topology::new(&["source", "router", "a", "b", "c"], links)?;
/// let group = Group {
///     source: NodeId(0),
///     receivers: vec![NodeId(2), NodeId(3), NodeId(4)],
///     start: Time::ZERO,
///     limit: Limit::Bytes(970),
///     sizes: Sizes::Constant(970),
///     pattern: Pattern::Constant { rate_bps: 1_000_000 },
/// };
/// let model = Multicast::<Shared<Box<[u8]>>>::new(topology, vec![group], Settings::default())?;
/// let outcome = parades_engine::sequential::run(&model, RunOptions::until(Time::from_secs_f64(1.0).unwrap()))?;
/// let count = |name| outcome.metrics.get(name).and_then(|metric| metric.counter()).unwrap();
/// assert_eq!((count("packets_sent"), count("copies_made"), count("packets_delivered")), (1, 2, 3));
/// let delays = outcome.metrics.get("delay").and_then(|metric| metric.tally()).unwrap();
/// assert_eq!(delays.max(), Some(Delay::from_ms(2 * (1 + 10)).as_ps()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Multicast<D> {
    topology: Topology,
    groups: Vec<Group>,
    /// A flow for each receiver of each group.
    flows: Vec<Flow>,
    headers: u32,
    sample: Delay,
    trees: Trees,
    wires: Wires,
    /// Of groups at their sources, and of flows at their sinks.
    outgoing: Slots,
    incoming: Slots,
    packet_min: u32,
    copies_made: MetricId,
    /// The data are no part of the model.
    data: PhantomData<fn() -> D>,
}

impl<D: SharedData> Multicast<D> {
    /// The network of these groups.
    ///
    /// # Errors
    ///
    /// Where a group makes no sense or has no route to one of its receivers, or a queue is given to a link that does not exist. Errors of
    /// routes name flows: the receivers of all groups, numbered in order.
    pub fn new(topology: Topology, groups: Vec<Group>, settings: Settings) -> Result<Multicast<D>, NetworkError> {
        for (number, group) in groups.iter().enumerate() {
            group.check().map_err(|what| NetworkError::Group { group: number, what })?;
        }
        let flows: Vec<Flow> = groups.iter().flat_map(Group::flows).collect();
        let ends: Vec<_> = flows.iter().map(|flow| (flow.source, flow.destination)).collect();
        let routes = Routes::for_flows(&topology, &ends, settings.metric)?;
        let wires = Wires::new(&topology, &settings)?;
        let outgoing = Slots::new(topology.nodes(), &groups, |group| group.source);
        let incoming = Slots::new(topology.nodes(), &flows, |flow| flow.destination);
        let trees = Trees::new(&topology, &groups, &routes, (&wires, &incoming.slot_of_flow()))?;
        let payload_min = groups.iter().filter_map(|group| group.sending().least_payload()).min().unwrap_or(1);
        let Settings { headers, sample, .. } = settings;
        let packet_min = payload_min.saturating_add(headers);
        let (_, copies_made) = report::declare(sample > Delay::ZERO);
        let data = PhantomData;
        Ok(Multicast {
            topology,
            groups,
            flows,
            headers,
            sample,
            trees,
            wires,
            outgoing,
            incoming,
            packet_min,
            copies_made,
            data,
        })
    }

    /// Its nodes and links.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Its groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// How many links all trees have: a packet of each group crosses so many in all, where none is dropped.
    ///
    /// ```
    /// # use parades_core::shared::Shared;
    /// use parades_packet::campus::Parameters;
    /// let campus = Parameters { networks: 1, lan_clients: 1, ..Parameters::default() };
    /// let model = campus.multicast::<Shared<Box<[u8]>>>(1)?;
    /// assert!((12 + 12..46).contains(&model.tree_links())); // Twelve hosts and their routers, of 46 nodes.
    /// # Ok::<(), parades_packet::network::NetworkError>(())
    /// ```
    pub fn tree_links(&self) -> usize {
        self.trees.links()
    }

    /// Does what is to be done about an event, and records what it changed.
    #[inline(always)]
    fn execute(
        &self,
        node: &mut Node,
        event: Body<&PacketCopy<D>>,
        ctx: &mut Context<'_, Self>,
        mut journal: Journal<'_>,
    ) {
        match event {
            Body::Message(copy) => self.spread(node, copy, ctx, &mut journal),
            Body::Timer(slot) => self.emit(node, slot, ctx, &mut journal),
        }
    }

    /// Does with a packet what is to be done at its place in the tree: a copy to each branch, and one to the node itself if it receives.
    #[inline(always)]
    fn spread(&self, node: &mut Node, copy: &PacketCopy<D>, ctx: &mut Context<'_, Self>, journal: &mut Journal<'_>) {
        let (place, hops) = self.trees.at(copy.packet.step);
        let copies = hops.len() + usize::from(place.receives());
        if copies > 1 {
            ctx.count(self.copies_made, copies as u64 - 1);
        }
        if place.receives() {
            self.deliver(node, copy, place, ctx, journal);
        }
        for hop in hops {
            self.forward(node, copy, hop, ctx, journal);
        }
    }

    /// Sends a copy to the neighbour at an interface, or drops it.
    #[inline(always)]
    fn forward(
        &self,
        node: &mut Node,
        PacketCopy { packet, data }: &PacketCopy<D>,
        hop: &Hop,
        ctx: &mut Context<'_, Self>,
        journal: &mut Journal<'_>,
    ) {
        let wire = &self.wires.kinds[hop.kind as usize];
        let bytes = packet.payload.saturating_add(self.headers);
        match node.transmit(hop.interface, bytes, wire, ctx.now(), journal) {
            Some(delay) => {
                let packet = Packet { step: hop.to, ..*packet };
                ctx.send(Port(hop.interface), delay, PacketCopy { packet, data: data.clone() });
            }
            None => node.drop_packet(hop.to.get(), journal),
        }
    }

    /// Measures a packet at a receiver, which looks at its data.
    #[inline(always)]
    fn deliver(
        &self,
        node: &mut Node,
        PacketCopy { packet, data }: &PacketCopy<D>,
        place: &Place,
        ctx: &mut Context<'_, Self>,
        journal: &mut Journal<'_>,
    ) {
        let Packet { flow: group, sequence, payload, .. } = *packet;
        if !data::is_whole(data, group, sequence, payload) {
            return ctx
                .fail(format!("packet {sequence} of group {group} arrived with data that its source did not write"));
        }
        let slot = place.slot;
        let sink = &mut node.sinks[slot as usize];
        journal.record(|| Change::Sink { slot, before: *sink });
        let now = ctx.now();
        let delay = now.since(packet.sent());
        sink.receive(now, sequence, payload, delay);
        ctx.observe(DELAY, delay.as_ps());
    }

    /// Sends the next packet of a group that starts here, and sets its timer to the one after it.
    fn emit(&self, node: &mut Node, timer: TimerId, ctx: &mut Context<'_, Self>, journal: &mut Journal<'_>) {
        let number = self.outgoing.of(ctx.id())[timer.0 as usize];
        let source = &mut node.sources[timer.0 as usize];
        journal.record(|| Change::Source { slot: timer.0, before: *source });
        let Some(Due { sequence, payload }) = self.groups[number as usize].sending().next(source, timer, ctx) else {
            return ctx.fail(format!("group {number} has sent 2^32 packets; end it before that"));
        };
        let step = self.trees.root(number);
        let packet = Packet { flow: number, sequence, sent_ps: ctx.now().as_ps(), payload, step };
        let data = D::write(&data::content(number, sequence, payload));
        self.spread(node, &PacketCopy { packet, data }, ctx, journal);
    }

    /// The flows of a group.
    fn flows_of(&self, group: u32) -> impl Iterator<Item = u32> {
        self.trees.flows_from(self.trees.root(group))
    }

    /// The flows that a copy on its way to a place is for.
    fn flows_from(&self, place: u32) -> impl Iterator<Item = u32> {
        self.trees.flows_from(NonZeroU32::new(place).expect("no place of a tree is 0"))
    }
}

impl<D: SharedData> Model for Multicast<D> {
    type State = Node;
    type Message = PacketCopy<D>;
    type Global = Sample;

    fn lps(&self) -> u32 {
        LpId::from_index(self.topology.nodes()).0
    }

    /// A channel for each interface, at the port of its number.
    fn channels(&self) -> Channels {
        self.wires.channels(&self.topology, self.packet_min)
    }

    fn metrics(&self) -> Metrics {
        report::declare(self.sample > Delay::ZERO).0
    }

    fn globals(&self) -> Vec<(Time, Sample)> {
        Sample::first(self.sample).into_iter().collect()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Node {
        let id = ctx.id();
        let interfaces = self.topology.interfaces(NodeId(id.0)).len();
        let starting = (0..).map(TimerId).zip(self.outgoing.of(id));
        Node {
            transmitters: vec![Transmitter::default(); interfaces].into(),
            sources: starting.map(|(timer, &group)| self.groups[group as usize].sending().begin(timer, ctx)).collect(),
            sinks: vec![Sink::NEW; self.incoming.of(id).len()].into(),
            dropped: Default::default(),
        }
    }

    #[inline]
    fn handle(&self, node: &mut Node, event: Body<&PacketCopy<D>>, ctx: &mut Context<'_, Self>) {
        self.execute(node, event, ctx, Journal(None));
    }

    fn fold(&self, node: &Node, digest: &mut Digest) {
        node.fold(digest);
    }

    fn finish(&self, id: LpId, node: &Node, _: &End, metrics: &mut Metrics) {
        report::finish(self, id, node, metrics);
    }

    fn unfinished(&self, messages: Unfinished<PacketCopy<D>>, metrics: &mut Metrics) {
        for event in messages.in_order() {
            if let Body::Message(copy) = &event.body {
                report::in_flight(self, &copy.packet, metrics);
            }
        }
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        report::conclude(self, end, metrics)
    }
}

impl<D: SharedData> Restorable for Multicast<D> {
    type Undo = Undo;

    fn handle_undoable(
        &self,
        node: &mut Node,
        event: Body<&PacketCopy<D>>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Undo>,
    ) {
        self.execute(node, event, ctx, Journal(Some(log)));
    }

    fn undo(&self, node: &mut Node, _: Body<&PacketCopy<D>>, log: &mut UndoLog<Undo>) {
        node.undo(log);
    }
}
