//! The packet-level network: one LP for each node, one event for each hop.
//!
//! *Idea.* A packet arrives at a node, which reads from the packet's source route ([`Routes`]) the interface that it leaves by. That
//! interface knows at once when the packet's last bit will leave (`interface.rs`), so it is sent to the neighbour there and then, with
//! delay = wait + serialisation + propagation. Where the route ends, the sink of the flow measures it.
//!
//! *Lookahead.* No packet is smaller than the headers and the least payload of any flow, and serialisation does not decrease with size.
//! So the delay of a channel is at least the link's propagation delay and the serialisation of that smallest packet, and that is what
//! is declared: positive even where the propagation delay is zero.
//!
//! *Cost.* A hop touches the node, one of its transmitters, and one word of the route. A source has a timer for each of its flows, so an
//! event costs the same however many flows a node sends; messages to itself instead were measured to save a twentieth of a run, and
//! would make packets of what is none. What is constant about links is kept once for each kind of link, and equal routes once.
//!
//! *Conservation.* For each flow, packets sent = delivered + dropped + in flight; the run fails where that does not hold.

use crate::flow::{Flow, Sink};
use crate::interface::Transmitter;
use crate::layout::{ARRIVED, Slots, Step, Steps, Wires};
use crate::node::{Change, Journal, Node, Packet, Undo};
use crate::queue::QueueLimit;
use crate::report;
use crate::sampling::Sample;
use crate::source::Due;
use parades_core::prelude::*;
use parades_topology::routing::{Metric, Routes, RoutingError};
use parades_topology::{LinkId, NodeId, Topology};

/// What holds for the whole network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of headers that come to every payload: UDP 8, IP 20 and PPP 2 are 30, as in ns-3's point-to-point links.
    pub headers: u32,
    /// What makes a path short.
    pub metric: Metric,
    /// The bound of every interface's queue.
    pub queue: QueueLimit,
    /// The bounds of both directions of some links, where they differ; the last one counts.
    pub queues: Vec<(LinkId, QueueLimit)>,
    /// The time between two samples ([`crate::sampling`]); zero for none.
    pub sample: Delay,
}

impl Default for Settings {
    /// 30 bytes of headers, fewest hops, 100 packets, no samples.
    fn default() -> Settings {
        let queue = QueueLimit::Packets(100);
        Settings { headers: 30, metric: Metric::Hops, queue, queues: Vec::new(), sample: Delay::ZERO }
    }
}

/// Why there is no such network; each displays as one sentence with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A flow makes no sense.
    #[error("flow {flow} {what}")]
    Flow {
        /// Its place in the list.
        flow: usize,
        /// What does not.
        what: String,
    },
    /// A group makes no sense.
    #[error("group {group} {what}")]
    Group {
        /// Its place in the list.
        group: usize,
        /// What does not.
        what: String,
    },
    /// A flow has no route.
    #[error(transparent)]
    Routing(#[from] RoutingError),
    /// A queue's bound is given for a link that does not exist.
    #[error("a queue is given for link {link}, but there are {links} links, numbered from 0; name one of them")]
    UnknownLink {
        /// The number given.
        link: u32,
        /// How many links there are.
        links: usize,
    },
    /// A parameter of a generated network makes no sense.
    #[error("{0}")]
    Parameter(String),
}

/// The model.
///
/// # Examples
///
/// One packet of 970 bytes over one link, 1000 bytes with its headers: 8 µs on the wire, and 3 µs along it.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_packet::flow::{Flow, Limit};
/// use parades_packet::network::{Network, Settings};
/// use parades_topology::{Link, NodeId, Topology};
/// use parades_packet::traffic::{Pattern, Sizes};
///
/// let link = Link { a: NodeId(0), b: NodeId(1), rate_bps: 1_000_000_000, delay: Delay::from_us(3) };
/// let topology = Topology::new(&["here", "there"], vec![link])?;
/// let flow = Flow {
///     source: NodeId(0),
///     destination: NodeId(1),
///     start: Time::ZERO,
///     limit: Limit::Bytes(970),
///     sizes: Sizes::Constant(970),
///     pattern: Pattern::Constant { rate_bps: 1_000_000 },
/// };
/// let network = Network::new(topology, vec![flow], Settings::default())?;
/// let outcome = parades_engine::sequential::run(&network, RunOptions::until(Time::from_secs_f64(1.0).unwrap()))?;
/// let delay = outcome.metrics.get("delay").and_then(|metric| metric.tally()).and_then(|delays| delays.max());
/// assert_eq!(delay, Some(Delay::from_us(11).as_ps()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Network {
    pub(crate) topology: Topology,
    pub(crate) flows: Vec<Flow>,
    headers: u32,
    pub(crate) sample: Delay,
    steps: Steps,
    wires: Wires,
    /// Of flows at their sources, and at their sinks.
    pub(crate) outgoing: Slots,
    pub(crate) incoming: Slots,
    /// The bytes of the smallest packet there is.
    packet_min: u32,
}

impl Network {
    /// The network of these flows.
    ///
    /// # Errors
    ///
    /// Where a flow makes no sense or has no route, or a queue is given to a link that does not exist.
    pub fn new(topology: Topology, flows: Vec<Flow>, settings: Settings) -> Result<Network, NetworkError> {
        for (number, flow) in flows.iter().enumerate() {
            flow.check().map_err(|what| NetworkError::Flow { flow: number, what })?;
        }
        let ends: Vec<_> = flows.iter().map(|flow| (flow.source, flow.destination)).collect();
        let routes = Routes::for_flows(&topology, &ends, settings.metric)?;
        Network::routed(topology, flows, &routes, settings)
    }

    /// The network of flows that have been checked, with their routes.
    pub(crate) fn routed(
        topology: Topology,
        flows: Vec<Flow>,
        routes: &Routes,
        settings: Settings,
    ) -> Result<Network, NetworkError> {
        let wires = Wires::new(&topology, &settings)?;
        let outgoing = Slots::new(topology.nodes(), &flows, |flow| flow.source);
        let incoming = Slots::new(topology.nodes(), &flows, |flow| flow.destination);
        let steps = Steps::new(&topology, &flows, routes, (&wires, &incoming.slot_of_flow()))?;
        let payload_min = flows.iter().filter_map(|flow| flow.sending().least_payload()).min().unwrap_or(1);
        let packet_min = payload_min.saturating_add(settings.headers);
        let Settings { headers, sample, .. } = settings;
        Ok(Network { topology, flows, headers, sample, steps, wires, outgoing, incoming, packet_min })
    }

    /// Its nodes and links.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Its flows.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// How many links a packet of this flow crosses.
    ///
    /// # Panics
    ///
    /// Where there is no such flow.
    pub fn hops(&self, flow: usize) -> usize {
        self.steps.hops(flow)
    }

    /// A packet is on the wire for so many bytes.
    fn wire_bytes(&self, packet: &Packet) -> u32 {
        packet.payload.saturating_add(self.headers)
    }

    /// Does what is to be done about an event, and records what it changed.
    #[inline(always)]
    fn execute(&self, node: &mut Node, event: Body<&Packet>, ctx: &mut Context<'_, Self>, mut journal: Journal<'_>) {
        match event {
            Body::Message(packet) => match self.steps.all[packet.step.get() as usize] {
                Step { interface: ARRIVED, kind_or_slot } => {
                    self.deliver(node, packet, kind_or_slot, ctx, &mut journal);
                }
                step => self.forward(node, packet, step, ctx, &mut journal),
            },
            Body::Timer(slot) => self.emit(node, slot, ctx, &mut journal),
        }
    }

    /// Sends a packet on to the neighbour at an interface, or drops it.
    #[inline(always)]
    fn forward(
        &self,
        node: &mut Node,
        packet: &Packet,
        Step { interface, kind_or_slot: kind }: Step,
        ctx: &mut Context<'_, Self>,
        journal: &mut Journal<'_>,
    ) {
        let wire = &self.wires.kinds[kind as usize];
        match node.transmit(interface, self.wire_bytes(packet), wire, ctx.now(), journal) {
            Some(delay) => {
                let step = packet.step.saturating_add(1);
                ctx.send(Port(interface), delay, Packet { step, ..*packet });
            }
            None => {
                node.drop_packet(packet.flow, journal);
            }
        }
    }

    /// Measures a packet at the end of its route.
    #[inline(always)]
    fn deliver(
        &self,
        node: &mut Node,
        packet: &Packet,
        slot: u32,
        ctx: &mut Context<'_, Self>,
        journal: &mut Journal<'_>,
    ) {
        let sink = &mut node.sinks[slot as usize];
        journal.record(|| Change::Sink { slot, before: *sink });
        let now = ctx.now();
        let delay = now.since(packet.sent());
        sink.receive(now, packet.sequence, packet.payload, delay);
        ctx.observe(report::DELAY, delay.as_ps());
    }

    /// Sends the next packet of a flow that starts here, and sets its timer to the one after it.
    fn emit(&self, node: &mut Node, timer: TimerId, ctx: &mut Context<'_, Self>, journal: &mut Journal<'_>) {
        let number = self.outgoing.of(ctx.id())[timer.0 as usize];
        let flow = &self.flows[number as usize];
        let source = &mut node.sources[timer.0 as usize];
        journal.record(|| Change::Source { slot: timer.0, before: *source });
        let Some(Due { sequence, payload }) = flow.sending().next(source, timer, ctx) else {
            return ctx.fail(format!("flow {number} has sent 2^32 packets; end it before that"));
        };
        let sent_ps = ctx.now().as_ps();
        let step = self.steps.first[number as usize];
        let packet = Packet { flow: number, sequence, sent_ps, payload, step };
        self.forward(node, &packet, self.steps.all[step.get() as usize], ctx, journal);
    }
}

impl Model for Network {
    type State = Node;
    type Message = Packet;
    type Global = Sample;

    fn lps(&self) -> u32 {
        LpId::from_index(self.topology.nodes()).0
    }

    /// A channel for each interface, at the port of its number.
    fn channels(&self) -> Channels {
        self.wires.channels(&self.topology, self.packet_min)
    }

    fn metrics(&self) -> Metrics {
        report::declare(self.sample > Delay::ZERO)
    }

    fn globals(&self) -> Vec<(Time, Sample)> {
        Sample::first(self.sample).into_iter().collect()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Node {
        let id = ctx.id();
        let interfaces = self.topology.interfaces(NodeId(id.0)).len();
        let starting = (0..).zip(self.outgoing.of(id));
        let start = |(slot, &flow): (u32, &u32)| self.flows[flow as usize].sending().begin(TimerId(slot), ctx);
        Node {
            transmitters: vec![Transmitter::default(); interfaces].into(),
            sources: starting.map(start).collect(),
            sinks: vec![Sink::NEW; self.incoming.of(id).len()].into(),
            dropped: Default::default(),
        }
    }

    #[inline]
    fn handle(&self, node: &mut Node, event: Body<&Packet>, ctx: &mut Context<'_, Self>) {
        self.execute(node, event, ctx, Journal(None));
    }

    fn fold(&self, node: &Node, digest: &mut Digest) {
        node.fold(digest);
    }

    fn finish(&self, id: LpId, node: &Node, _: &End, metrics: &mut Metrics) {
        report::finish(self, id, node, metrics);
    }

    fn unfinished(&self, messages: Unfinished<Packet>, metrics: &mut Metrics) {
        for event in messages.in_order() {
            if let Body::Message(packet) = &event.body {
                report::in_flight(packet, metrics);
            }
        }
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        report::conclude(self, end, metrics)
    }
}

impl Restorable for Network {
    type Undo = Undo;

    fn handle_undoable(
        &self,
        node: &mut Node,
        event: Body<&Packet>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Undo>,
    ) {
        self.execute(node, event, ctx, Journal(Some(log)));
    }

    fn undo(&self, node: &mut Node, _: Body<&Packet>, log: &mut UndoLog<Undo>) {
        node.undo(log);
    }
}
