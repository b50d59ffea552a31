//! A packet network whose flows begin when a program asks for them, while the network runs.
//!
//! *Idea.* The nodes, ports and paths are those of [`crate::network`], and so are the ends of flows
//! ([`crate::protocols`]). There, all flows are constants of the model. Here, an end is a part of its node's
//! state: it comes with an event from outside, and goes when its connection is closed. Packets carry their
//! source and destination, since no table knows their flow.
//!
//! *Equality.* A flow that begins at a time has the packets, and the times, of the same flow in the file of a
//! [`crate::network::Network`] with this `start`, if three things agree. Its number is that which it would
//! have there: the flows of the description come first, then those that are asked for, in their order; equal
//! paths and fair queues go by it. No packet meets a random draw (loss, jitter, early drops): here initial
//! sequence numbers are drawn when a flow begins, and there at the start of the run. And no packet arrives at
//! its source at the very picosecond of its start: events from outside come last at their time, and there the
//! start is a timer of the node.
//!
//! *Paths.* All packets look up their next hops. So links may change in any way in a branch
//! ([`parades_core::cut::Branch`]) of a run.
//!
//! *Memory.* A connection is kept until it is closed at both ends; the end that closes first then waits for
//! [`Settings::time_wait`] more. A flow that has ended is remembered until the program has taken note of it,
//! and its node hears of the next wish.
//!
//! *Results.* Counters of packets and of flows, and for each app `NAME` the histograms
//! `delay_NAME` and `completion_NAME`.

mod message;
mod node;
mod outlet;
mod save;

pub use message::Message;
pub use node::{Ended, Fate, Node};

use crate::description::{App, AppKind, Description, Ends, IpVersion, Marking};
use crate::forwarding::tables::Tables;
use crate::line::{Lines, Presence};
use crate::network::slots::Slots;
use crate::network::{NetworkError, assemble};
use crate::plane::{PortTotals, totals_of};
use crate::protocols::tcp::{APPLICATION, ENDLESS, Heard, Tcp};
use crate::protocols::{Endpoint, EndpointMut, Segment, Signal, TIMERS_MAX};
use message::{Carriage, Kind, What, Wish};
use node::{FREE, FlowEnd, NodeMut, NodeParts, NodeUndo, PLACES_MAX};
use outlet::{Beginning, Outlet, Seat, Starting, timer_of};
use parades_core::prelude::*;
use parades_core::restore::Recorder;
use parades_tcp::settings::Settings;
use parades_topology::{NodeId, Topology};
use std::sync::Arc;

/// A way to send: TCP with its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpApp {
    /// Its name in results.
    pub name: String,
    /// The settings of both ends of a connection.
    pub settings: Settings,
    /// The class of all packets, below [`crate::packet::CLASSES`].
    pub class: u8,
}

impl TcpApp {
    /// Returns a TCP app of class 0, which has the name of its congestion control.
    #[must_use]
    pub fn new(settings: Settings) -> TcpApp {
        TcpApp { name: settings.algorithm.name().to_owned(), settings, class: 0 }
    }

    /// Returns the protocol of a flow of this many bytes.
    fn kind(&self, bytes: u64) -> AppKind {
        AppKind::Tcp(Box::new(Tcp { settings: self.settings.clone(), bytes, writes: None, read_rate_bps: None }))
    }

    /// Returns the app of its flows, whose kind stands for that of each.
    pub(crate) fn app(&self) -> App {
        let marking = Marking { class: self.class, is_ecn_capable: false };
        App { name: self.name.clone(), kind: self.kind(1), marking, flows: Vec::new() }
    }
}

/// The model.
#[derive(Debug, Restorable)]
pub struct OnDemand {
    pub(crate) topology: Topology,
    pub(crate) lines: Lines,
    pub(crate) link_names: Vec<String>,
    pub(crate) presence: Box<[Presence]>,
    /// The destinations are all nodes, by their numbers.
    pub(crate) tables: Tables,
    /// The apps of the description without their flows, and then the TCP apps.
    pub(crate) apps: Vec<App>,
    pub(crate) tcp_apps: Vec<TcpApp>,
    /// The flows of the description.
    pub(crate) flows: Vec<Ends>,
    pub(crate) app_of_flow: Vec<u32>,
    pub(crate) slots: Slots,
    pub(crate) ip: IpVersion,
    pub(crate) headers: u32,
    /// The bytes of the smallest packet, headers included.
    pub(crate) packet_min: u32,
    pub(crate) has_percentiles: bool,
    pub(crate) ids: Ids,
}

/// The metrics.
#[derive(Debug)]
pub(crate) struct Ids {
    packets_sent: CounterId,
    packets_lost: CounterId,
    done: CounterId,
    failed: CounterId,
    cancelled: CounterId,
    delivered: CounterId,
    /// By app.
    apps: Vec<AppIds>,
}

#[derive(Clone, Copy, Debug)]
struct AppIds {
    delay: IntegerId,
    completion: IntegerId,
}

/// Declares the metrics of a network with these apps.
pub(crate) fn declare(apps: &[App]) -> (Metrics, Ids) {
    let mut metrics = Metrics::new();
    let mut counter = |name, unit| metrics.counter(name, unit);
    let mut ids = Ids {
        packets_sent: counter("packets_sent", Unit::Count),
        packets_lost: counter("packets_lost", Unit::Count),
        done: counter("flows_done", Unit::Count),
        failed: counter("flows_failed", Unit::Count),
        cancelled: counter("flows_cancelled", Unit::Count),
        delivered: counter("bytes_delivered", Unit::Bytes),
        apps: Vec::new(),
    };
    let of_app = |App { name, .. }: &App| AppIds {
        delay: metrics.histogram(&format!("delay_{name}"), Unit::Picoseconds),
        completion: metrics.histogram(&format!("completion_{name}"), Unit::Picoseconds),
    };
    ids.apps = apps.iter().map(of_app).collect();
    (metrics, ids)
}

/// A flow that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its number: that of the flows of the description, and of those asked for before.
    pub flow: u32,
    /// The node that sends.
    pub source: NodeId,
    /// The node that receives, another one.
    pub destination: NodeId,
    /// The place of its TCP app.
    pub tcp_app: u32,
    /// Its bytes, above zero and below [`u64::MAX`].
    pub bytes: u64,
}

impl OnDemand {
    /// Makes the network of a description, over which flows are sent by these TCP apps. Of the description,
    /// the samples of `measure` have no effect.
    ///
    /// # Errors
    ///
    /// If something in the description is impossible, one of its apps is multicast, or a flow of it has no
    /// path at the start. Also if a TCP app is impossible, or has the name of another one or of an app.
    pub fn new(description: Description, tcp_apps: Vec<TcpApp>) -> Result<OnDemand, NetworkError> {
        assemble::on_demand(description, tcp_apps)
    }

    /// Returns the nodes and links.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns the flows of the description, with the bytes of those over TCP that have an end.
    pub fn flows(&self) -> impl Iterator<Item = (Ends, Option<u64>)> {
        self.flows.iter().zip(&self.app_of_flow).map(|(&ends, &app)| {
            let bytes = match &self.apps[app as usize].kind {
                AppKind::Tcp(tcp) if tcp.bytes < ENDLESS => Some(tcp.bytes),
                _ => None,
            };
            (ends, bytes)
        })
    }

    /// Returns true if a path leads from a node to another one by the routes that hold at a time.
    pub fn has_path(&self, from: NodeId, to: NodeId, now: Time) -> bool {
        self.tables.is_reachable(&self.topology, from, to.0, now)
    }

    /// Returns the events by which a flow begins, for the two LPs. The program has taken note of what had
    /// ended before `taken`.
    pub fn begin(&self, asked: Asked, taken: Time) -> [(LpId, Message); 2] {
        let Asked { flow, source, destination, tcp_app, bytes } = asked;
        [(destination, source, 1), (source, destination, 0)].map(|(at, peer, is_back)| {
            let what = What::Begin { peer: peer.0, tcp_app, bytes };
            (LpId(at.0), Message(Kind::Wish(Wish { address: flow * 2 + is_back, taken, what })))
        })
    }

    /// Returns the events by which a flow over TCP is given up, for the two LPs. Its sender resets the
    /// connection.
    pub fn cancel(&self, flow: u32, source: NodeId, destination: NodeId, taken: Time) -> [(LpId, Message); 2] {
        [(destination, 1), (source, 0)].map(|(at, is_back)| {
            (LpId(at.0), Message(Kind::Wish(Wish { address: flow * 2 + is_back, taken, what: What::Cancel })))
        })
    }

    /// Returns the totals of the ports of a node, until `now`.
    pub fn ports(&self, id: NodeId, node: &Node, now: Time) -> Vec<PortTotals> {
        totals_of(&self.topology, &self.lines, id, &node.egress.ports, now).collect()
    }

    /// Returns the place of a TCP app in the list of apps.
    fn app_of_tcp_app(&self, tcp_app: u32) -> u32 {
        u32::try_from(self.apps.len() - self.tcp_apps.len()).expect("there are few apps") + tcp_app
    }

    /// Returns the end of a flow of the description.
    fn end_at_start(&self, address: u32, place: u32, ctx: &mut Context<'_, Self>) -> FlowEnd {
        let (flow, begins) = (address / 2, address.is_multiple_of(2));
        let Ends { source, destination, start } = self.flows[flow as usize];
        let app = self.app_of_flow[flow as usize];
        let kind = Arc::new(self.apps[app as usize].kind.clone());
        let mut setup = Starting { ctx, place };
        let endpoint = Endpoint::on_start(&kind, flow, begins, start, self.has_percentiles, &mut setup);
        let peer = if begins { destination.0 } else { source.0 };
        FlowEnd { endpoint, app, kind, peer, place, start, sent: Heard::default(), heard: 0, is_told: false }
    }

    /// Does what the program outside asks for.
    fn obey<R: Recorder<NodeUndo>>(&self, node: &mut NodeMut<'_, R>, wish: Wish, ctx: &mut Context<'_, Self>) {
        let Wish { address, taken, what } = wish;
        node.forget(taken);
        match what {
            What::Begin { peer, tcp_app, bytes } => {
                let (now, flow, begins) = (ctx.now(), address / 2, address.is_multiple_of(2));
                let kind = Arc::new(self.tcp_apps[tcp_app as usize].kind(bytes));
                let setup = &mut Beginning(ctx);
                let endpoint = Endpoint::on_start(&kind, flow, begins, now, self.has_percentiles, setup);
                let Some(place) = node.take_place(address) else {
                    return ctx.fail(format!("has more than {PLACES_MAX} ends of flows at one time"));
                };
                let app = self.app_of_tcp_app(tcp_app);
                let (sent, heard) = (Heard::default(), 0);
                let end = FlowEnd { endpoint, app, kind, peer, place, start: now, sent, heard, is_told: false };
                node.ends().insert(address, Box::new(end));
                if begins {
                    self.react(node, address, Stimulus::Start, ctx);
                }
            }
            What::Cancel => self.give_up(node, address, ctx),
        }
    }

    /// Gives a flow over TCP up at one of its ends.
    fn give_up<R: Recorder<NodeUndo>>(&self, node: &mut NodeMut<'_, R>, address: u32, ctx: &mut Context<'_, Self>) {
        let Some(end) = node.ends.get(&address) else { return };
        match &end.endpoint {
            Endpoint::TcpSender(_) => self.react(node, address, Stimulus::Abort, ctx),
            Endpoint::TcpReceiver(receiver) if !end.is_told => {
                let bytes = receiver.progress.bytes;
                self.tell(node, address, Fate::Cancelled, bytes, ctx);
                self.remove(node, address, ctx);
            }
            _ => {}
        }
    }

    /// Lets an end react, and takes note of what it comes to.
    fn react<R: Recorder<NodeUndo>>(
        &self,
        node: &mut NodeMut<'_, R>,
        address: u32,
        stimulus: Stimulus<'_>,
        ctx: &mut Context<'_, Self>,
    ) {
        let NodeParts { egress, mut ends, .. } = node.split();
        // Packets of a connection that is gone find nobody.
        let Some(mut end) = ends.try_at(address) else { return };
        let seat = Seat { address, app: end.app, peer: end.peer, place: end.place };
        let (kind, before) = (Arc::clone(&end.kind), end.sent);
        let mut outlet = Outlet::new(self, egress, ctx).with_seat(seat, before);
        let signal = match stimulus {
            Stimulus::Packet(Carriage { again, packet, .. }) => {
                let (number, payload, sent) = (packet.number(), packet.payload(), packet.sent());
                let is_copy = packet.has_copies() && outlet.egress.arrives_again(address, sent, number);
                if *again > end.heard {
                    *end.heard() = *again;
                }
                let segment = Segment { number, payload, sent, record: packet.record(), ecn: packet.ecn(), is_copy };
                end.endpoint().on_signal(|| &*kind, Signal::Segment(&segment), &mut outlet);
                None
            }
            Stimulus::Start => Some(Signal::Timer(APPLICATION)),
            Stimulus::Timer(number) => Some(Signal::Timer(number)),
            Stimulus::App(number) => Some(Signal::App(number)),
            Stimulus::Rest(span) => Some(Signal::Rest(span)),
            Stimulus::Abort => {
                if let (EndpointMut::TcpSender(mut sender), AppKind::Tcp(tcp)) = (end.endpoint(), &*kind) {
                    sender.abort(tcp, &mut outlet);
                }
                None
            }
        };
        if let Some(signal) = signal {
            end.endpoint().on_signal(|| &*kind, signal, &mut outlet);
        }
        let after = outlet.sent;
        if after != before {
            *end.sent() = after;
        }
        let (news, is_over) = (node.ends[&address].news(), node.ends[&address].is_over());
        if let Some((fate, bytes)) = news {
            self.tell(node, address, fate, bytes, ctx);
        }
        if is_over && !matches!(stimulus, Stimulus::Rest(_)) {
            self.remove(node, address, ctx);
        }
    }

    /// Notes the fate of a flow.
    fn tell<R: Recorder<NodeUndo>>(
        &self,
        node: &mut NodeMut<'_, R>,
        address: u32,
        fate: Fate,
        bytes: u64,
        ctx: &mut Context<'_, Self>,
    ) {
        node.note(address, ctx.now(), fate, bytes);
        let counter = match fate {
            Fate::Done => self.ids.done,
            Fate::Failed => self.ids.failed,
            Fate::Cancelled => self.ids.cancelled,
        };
        ctx.count(counter, 1);
        ctx.count(self.ids.delivered, bytes);
    }

    /// Removes an end, with its timers.
    fn remove<R: Recorder<NodeUndo>>(&self, node: &mut NodeMut<'_, R>, address: u32, ctx: &mut Context<'_, Self>) {
        let place = node.ends[&address].place;
        (0..TIMERS_MAX).for_each(|number| ctx.cancel_timer(timer_of(place, number)));
        node.remove(address);
    }

    /// Returns the time at which a node is back, if it is away at `now`.
    fn away_until(&self, node: LpId, now: Time) -> Option<Time> {
        self.presence.get(node.index())?.away_until(now)
    }
}

/// Something that an end reacts to.
#[derive(Clone, Copy, Debug)]
enum Stimulus<'a> {
    Start,
    Packet(&'a Carriage),
    Timer(u32),
    App(u32),
    Rest(Delay),
    Abort,
}

impl Model for OnDemand {
    type State = Node;
    type Message = Message;
    type Global = NoGlobal;

    fn lps(&self) -> u32 {
        LpId::from_index(self.topology.nodes()).0
    }

    /// A channel for each interface, at the port of the interface's number.
    fn channels(&self) -> Channels {
        let mut channels = Channels::none();
        for node in self.topology.node_ids() {
            for end in self.topology.interfaces(node) {
                let lookahead = self.lines.by(&self.topology, *end).lookahead(self.packet_min);
                channels.connect(LpId(node.0), LpId(end.neighbour.0), lookahead);
            }
        }
        channels
    }

    fn metrics(&self) -> Metrics {
        declare(&self.apps).0
    }

    fn lp_kind(&self, lp: LpId) -> String {
        // Flows begin and end at hosts.
        if self.slots.of(NodeId(lp.0)).is_empty() { "router" } else { "host" }.to_owned()
    }

    fn lp_name(&self, lp: LpId) -> Option<String> {
        (lp.0 < self.lps()).then(|| self.topology.name(NodeId(lp.0)).to_owned())
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Node {
        let id = NodeId(ctx.id().0);
        let mut node = Node::new(self.topology.interfaces(id).len());
        node.places = self.slots.of(id).to_vec();
        for (place, &address) in (0..).zip(self.slots.of(id)) {
            node.ends.insert(address, Box::new(self.end_at_start(address, place, ctx)));
        }
        node
    }

    fn handle(&self, node: &mut Node, event: Body<&Message>, ctx: &mut Context<'_, Self>) {
        self.execute(node.unrecorded(), event, ctx);
    }

    fn fold(&self, node: &Node, digest: &mut Digest) {
        node.fold(digest);
    }
}

impl ByRecord for OnDemand {
    fn execute<R: Recorder<NodeUndo>>(
        &self,
        mut node: NodeMut<'_, R>,
        event: Body<&Message>,
        ctx: &mut Context<'_, Self>,
    ) {
        let (id, now) = (ctx.id(), ctx.now());
        let away = || self.away_until(id, now);
        match event {
            Body::Message(Message(Kind::Packet(carriage))) if carriage.to == id.0 => {
                self.react(&mut node, carriage.packet.direction() ^ 1, Stimulus::Packet(carriage), ctx);
            }
            Body::Message(Message(Kind::Packet(carriage))) => {
                Outlet::new(self, node.split().egress, ctx).forward(carriage.clone());
            }
            Body::Message(Message(Kind::Own(packet))) => match (packet.waking_port(), away()) {
                (Some(port), _) => Outlet::new(self, node.split().egress, ctx).on_wake(port),
                (None, None) => {
                    self.react(&mut node, packet.direction(), Stimulus::App(packet.number()), ctx);
                }
                (None, Some(Time::MAX)) => {}
                (None, Some(back)) => ctx.send_self(back.since(now), Message(Kind::Own(packet.clone()))),
            },
            Body::Message(Message(Kind::Wish(wish))) => match away() {
                None => self.obey(&mut node, *wish, ctx),
                // The wish waits for the return of its node.
                Some(Time::MAX) => {}
                Some(back) => ctx.send_self(back.since(now), Message(Kind::Wish(*wish))),
            },
            Body::Timer(timer) => {
                let (place, number) = (timer.0 / TIMERS_MAX, timer.0 % TIMERS_MAX);
                let address = node.places.get(place as usize).copied().unwrap_or(FREE);
                match away() {
                    _ if address == FREE => ctx.fail("has a timer, and no end of a flow that has set it"),
                    None => self.react(&mut node, address, Stimulus::Timer(number), ctx),
                    Some(Time::MAX) => {}
                    Some(back) => {
                        let span = back.since(now);
                        self.react(&mut node, address, Stimulus::Rest(span), ctx);
                        ctx.set_timer(timer, span);
                    }
                }
            }
        }
    }
}
