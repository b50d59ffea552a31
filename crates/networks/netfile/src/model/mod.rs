//! The model of a described network: one LP for each node, one event for each hop of a packet.
//!
//! *Idea.* A packet knows its way: the flow that it belongs to, there or back. A node looks up the port for it in a table of shortest paths
//! (`routes`); the port knows at once when the packet will be at the other end, or that it never will (`port`), so it is sent to the
//! neighbour there and then. Links that fail, change or come back, and nodes that are lost, are constants of the model, read off the clock
//! (`wire`), and so are the tables that hold from then on: nothing has to be told anybody, no engine has to stop for it, and it costs
//! nothing where it does not happen.
//!
//! *What is lost.* A packet that finds the queue full; one that chance takes, at the link's rate of loss, once it is transmitted; one that
//! waits, is transmitted or is on its way when the link goes down; one that is sent where there is no way. A link that comes up again is empty.
//!
//! *Lookahead* of a channel is the least delay that its link ever has, and the serialisation of the smallest packet at its greatest rate.
//!
//! *Conservation.* For each flow and each direction, packets sent = received + lost + in flight; the run fails where that does not hold.
//!
//! *Read next*: `transfer`, the reliable protocol; `requests`; `report`, what is measured.

pub(crate) mod delays;
pub(crate) mod node;
pub(crate) mod port;
pub(crate) mod report;
pub(crate) mod requests;
pub(crate) mod routes;
pub(crate) mod sample;
pub(crate) mod transfer;
pub(crate) mod wire;

pub use node::{Node, Packet, Undo};
pub use sample::{Sample, Summary};

use crate::description::{AppKind, Description, Flow};
use node::{Change, End, Journal, Role, way};
use parades_core::prelude::{
    Body, Channels, Context, Digest, LpId, Metrics, Model, Restorable, Time, TimerId, UndoLog, Unfinished,
};
use parades_core::run::End as RunEnd;
use parades_core::time::Delay;
use parades_packet::flow::Sink;
use parades_packet::source::Sending;
use port::{Loss, Port};
use report::Ids;
use requests::{Client, Server};
use routes::{Arcs, Routes, Target};
use std::collections::BTreeMap;
use transfer::{Receiver, Sender, Timer, early_words};
use wire::{Course, Presence, Wire};

/// One flow of the list of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    /// Its app.
    pub(crate) app: u32,
    pub(crate) flow: Flow,
}

/// Where a packet of a way goes.
#[derive(Clone, Copy, Debug)]
struct Goal {
    target: Target,
    /// The end of the flow there.
    slot: u32,
}

/// The model.
#[derive(Debug)]
pub struct Internetwork {
    pub(crate) description: Description,
    pub(crate) flows: Vec<Numbered>,
    kinds: Vec<Wire>,
    presence: Vec<Presence>,
    pub(crate) arcs: Arcs,
    routes: Routes,
    /// By way.
    goals: Vec<Goal>,
    /// The ends at each node: ways, those that begin there even, those that end there odd.
    ends: Vec<Box<[u32]>>,
    pub(crate) ids: Ids,
    packet_min: u32,
}

impl Internetwork {
    /// The network of a description.
    ///
    /// # Errors
    ///
    /// Where something in it makes no sense, in one sentence.
    pub fn new(description: Description) -> Result<Internetwork, String> {
        crate::check::check(&description)?;
        let Course { wires, presence, turns } = Course::of(&description);
        let course = Course { wires, presence, turns };
        let (kinds, kind_of_link) = kinds(&course.wires);
        let arcs = Arcs::new(&description, &kind_of_link);
        let numbered = |(app, of): (u32, &crate::description::App)| {
            of.flows.iter().map(move |&flow| Numbered { app, flow }).collect::<Vec<_>>()
        };
        let flows: Vec<Numbered> = (0..).zip(&description.apps).flat_map(numbered).collect();
        if flows.len() > (u32::MAX / 4) as usize {
            return Err("there are more than 2^30 flows".into());
        }
        let answers = |app: u32| !matches!(description.apps[app as usize].kind, AppKind::Datagrams { .. });
        let needed =
            flows.iter().flat_map(|of| std::iter::once(of.flow.to).chain(answers(of.app).then_some(of.flow.from)));
        let (routes, targets) = Routes::new(&description, (&course, &arcs), needed)?;
        for of in &flows {
            let ends = [(of.flow.from, of.flow.to), (of.flow.to, of.flow.from)];
            for (from, to) in ends.into_iter().take(if answers(of.app) { 2 } else { 1 }) {
                if !routes.leads(from, &targets[&to], &arcs) {
                    let name = |node: u32| &description.nodes[node as usize];
                    let app = &description.apps[of.app as usize].name;
                    return Err(format!(
                        "there is no way from `{}` to `{}`, for the app `{app}`",
                        name(from),
                        name(to)
                    ));
                }
            }
        }
        let (goals, ends) = ends(&flows, &targets, description.nodes.len());
        let payload_min = flows.iter().map(|of| least_payload(&description.apps[of.app as usize].kind)).min();
        let packet_min = payload_min.unwrap_or(0).saturating_add(description.headers);
        let ids = Ids::new(&description);
        let presence = course.presence;
        Ok(Internetwork { description, flows, kinds, presence, arcs, routes, goals, ends, ids, packet_min })
    }

    /// What it was made of.
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// The ways that end or begin at a node, by slot: of flows that begin there, even numbers, of others odd ones.
    pub(crate) fn ends_of(&self, node: LpId) -> &[u32] {
        &self.ends[node.index()]
    }

    fn kind_of(&self, flow: u32) -> &AppKind {
        &self.description.apps[self.flows[flow as usize].app as usize].kind
    }

    #[inline(always)]
    fn execute(&self, node: &mut Node, event: Body<&Packet>, ctx: &mut Context<'_, Self>, journal: Journal<'_>) {
        let Node { ports, ends, lost } = node;
        let mut out = Out { net: self, ports, lost, ctx, journal };
        match event {
            Body::Message(packet) => {
                let goal = &self.goals[packet.way() as usize];
                if goal.target.node == out.ctx.id().0 {
                    out.arrive(&mut ends[goal.slot as usize], goal.slot, packet);
                } else {
                    out.send(packet);
                }
            }
            Body::Timer(slot) => out.due(&mut ends[slot.0 as usize], slot),
        }
    }

    /// An end of a flow at its node, before anything happens; its timer is set.
    fn begin(&self, slot: u32, way: u32, ctx: &mut Context<'_, Self>) -> End {
        let (flow, begins) = (way / 2, way.is_multiple_of(2));
        let start = self.flows[flow as usize].flow.start;
        let timer = TimerId(slot);
        let mut early = 0;
        let role = match (self.kind_of(flow), begins) {
            (AppKind::Datagrams { sizes, pattern, limit }, true) => {
                Role::Source(Sending { start, limit: *limit, sizes, pattern }.begin(timer, ctx))
            }
            (AppKind::Transfer(_), true) => {
                ctx.set_timer(timer, start.since(Time::ZERO));
                Role::Sender(Sender::NEW)
            }
            (AppKind::Requests(_), true) => {
                ctx.set_timer(timer, start.since(Time::ZERO));
                Role::Client(Client::NEW)
            }
            (AppKind::Datagrams { .. }, false) => Role::Sink(Sink::NEW),
            (AppKind::Transfer(transfer), false) => {
                early = early_words(transfer.window);
                Role::Receiver(Receiver::NEW)
            }
            (AppKind::Requests(_), false) => Role::Server(Server::NEW),
        };
        let delays = (self.description.measure.percentiles && !begins).then(Default::default);
        End { role, delays, early: vec![0; early].into() }
    }
}

/// A node in action: its ports, and what it needs to send.
struct Out<'a, 'c> {
    net: &'a Internetwork,
    ports: &'a mut [Port],
    lost: &'a mut BTreeMap<u32, [u64; port::LOSSES]>,
    ctx: &'a mut Context<'c, Internetwork>,
    journal: Journal<'a>,
}

impl Out<'_, '_> {
    /// When the node is back, if it is away now: the end of time if it never comes back.
    #[inline]
    fn away_until(&self) -> Option<Time> {
        self.net.presence[self.ctx.id().index()].away_until(self.ctx.now())
    }

    /// Sends a packet on to where it goes, or loses it.
    #[inline(always)]
    fn send(&mut self, packet: &Packet) {
        let (me, now, net) = (self.ctx.id().0, self.ctx.now(), self.net);
        let goal = &net.goals[packet.way() as usize];
        let Some(number) = net.routes.port(me, &goal.target, now) else {
            return self.lose(packet.way(), Loss::Down);
        };
        let Some(arc) = net.arcs.of(me).get(number as usize) else {
            return self.lose(packet.way(), Loss::Down);
        };
        let port = &mut self.ports[number as usize];
        port.drain(now, |waiting| self.journal.record(|| Change::Left { port: number, waiting }));
        self.journal.record(|| Change::Accepting { port: number, before: port.before() });
        let bytes = packet.payload.saturating_add(net.description.headers);
        match port.accept(now, bytes, &net.kinds[arc.kind as usize], self.ctx.rng()) {
            Ok(delay) => self.ctx.send(parades_core::channel::Port(number), delay, *packet),
            Err(loss) => self.lose(packet.way(), loss),
        }
    }

    fn lose(&mut self, way: u32, loss: Loss) {
        self.journal.record(|| Change::Lost { way, loss });
        self.lost.entry(way).or_default()[loss as usize] += 1;
    }

    /// Sends a new packet.
    #[inline(always)]
    fn send_new(&mut self, way: u32, number: u32, payload: u32) {
        let packet = Packet::on(way, number, self.ctx.now().as_ps(), payload);
        self.send(&packet);
    }

    /// A packet has come to where it goes.
    #[inline(always)]
    fn arrive(&mut self, end: &mut End, slot: u32, packet: &Packet) {
        self.journal.record(|| Change::Role { slot, before: end.role });
        let now = self.ctx.now();
        let flow = packet.way() / 2;
        let back = way(flow, true);
        let delay = Delay::from_ps(now.as_ps().saturating_sub(packet.sent_ps));
        let app = self.net.flows[flow as usize].app;
        if packet.way().is_multiple_of(2) && !packet.served {
            self.ctx.observe(self.net.ids.delay(app), delay.as_ps());
            if let Some(delays) = &mut end.delays {
                self.journal.record(|| Change::Delay { slot, ps: delay.as_ps() });
                delays.observe(delay.as_ps());
            }
        }
        match (&mut end.role, self.net.kind_of(flow)) {
            (Role::Sink(sink), _) => sink.receive(now, packet.number, packet.payload, delay),
            (Role::Receiver(receiver), _) => {
                receiver.sink.receive(now, packet.number, packet.payload, delay);
                let journal = &mut self.journal;
                receiver.take(packet.number, &mut end.early, |word, before| {
                    journal.record(|| Change::Early { slot, word, before });
                });
                receiver.sent += 1;
                self.send_new(back, receiver.next, 0);
            }
            (Role::Sender(sender), AppKind::Transfer(transfer)) => {
                let orders = sender.acknowledge(now, packet.number, transfer);
                if let Some(segment) = orders.again {
                    self.send_new(way(flow, false), segment, transfer.payload(segment));
                }
                if sender.finished == now && orders.timer == Timer::Cancel {
                    let start = self.net.flows[flow as usize].flow.start;
                    self.ctx.observe(self.net.ids.took(app), now.since(start).as_ps());
                }
                self.set(TimerId(slot), orders.timer);
                self.send_segments(sender, flow, transfer);
            }
            (Role::Client(client), AppKind::Requests(requests)) => {
                if let Some(took) = client.receive(now, packet.number, packet.payload, requests) {
                    self.ctx.observe(self.net.ids.took(app), took.as_ps());
                    if client.responses < requests.count {
                        let think = requests.think.draw(self.ctx.rng());
                        self.ctx.set_timer(TimerId(slot), think);
                    } else {
                        self.ctx.cancel_timer(TimerId(slot));
                    }
                }
            }
            (Role::Server(server), AppKind::Requests(requests)) => {
                if packet.served
                    && let Some(back) = self.away_until()
                {
                    // A service that ends on a lost node is answered when the node is back.
                    if back < Time::MAX {
                        self.ctx.send_self(back.since(now), *packet);
                    }
                    return;
                }
                if !packet.served {
                    server.sink.receive(now, packet.number, packet.payload, delay);
                    let service = requests.service.draw(self.ctx.rng());
                    if service > Delay::ZERO {
                        return self.ctx.send_self(service, Packet { served: true, ..*packet });
                    }
                }
                for part in 0..requests.packets() {
                    server.sent += 1;
                    self.send_new(back, packet.number, requests.payload(part));
                }
            }
            _ => unreachable!("packets go to ends of their own flow"),
        }
    }

    fn set(&mut self, timer: TimerId, what: Timer) {
        match what {
            Timer::Keep => {}
            Timer::Set(delay) => self.ctx.set_timer(timer, delay),
            Timer::Cancel => self.ctx.cancel_timer(timer),
        }
    }

    /// Sends what the window lets a sender send.
    fn send_segments(&mut self, sender: &mut Sender, flow: u32, transfer: &crate::description::Transfer) {
        let now = self.ctx.now();
        while let Some(segment) = sender.next_segment(now, transfer) {
            self.send_new(way(flow, false), segment, transfer.payload(segment));
        }
    }

    /// The timer of an end is due.
    #[inline(always)]
    fn due(&mut self, end: &mut End, timer: TimerId) {
        let (me, now) = (self.ctx.id(), self.ctx.now());
        let flow = self.net.ends[me.index()][timer.0 as usize] / 2;
        self.journal.record(|| Change::Role { slot: timer.0, before: end.role });
        if let Some(back) = self.away_until() {
            // What runs on a lost node rests until it is back, and on periods rest with it.
            if back < Time::MAX {
                let span = back.since(now);
                if let Role::Source(source) = &mut end.role {
                    source.rest(span);
                }
                self.ctx.set_timer(timer, span);
            }
            return;
        }
        match (&mut end.role, self.net.kind_of(flow)) {
            (Role::Source(source), AppKind::Datagrams { sizes, pattern, limit }) => {
                let start = self.net.flows[flow as usize].flow.start;
                let sending = Sending { start, limit: *limit, sizes, pattern };
                match sending.next(source, timer, self.ctx) {
                    Some(due) => self.send_new(way(flow, false), due.sequence, due.payload),
                    None => self.ctx.fail(format!("flow {flow} has sent 2^32 packets; end it before that")),
                }
            }
            (Role::Sender(sender), AppKind::Transfer(transfer)) => {
                if sender.sent > 0 {
                    sender.time_out();
                }
                self.ctx.set_timer(timer, sender.timeout());
                self.send_segments(sender, flow, transfer);
            }
            (Role::Client(client), AppKind::Requests(requests)) => {
                if let Some(number) = client.ask(now, requests) {
                    self.ctx.set_timer(timer, requests.timeout);
                    self.send_new(way(flow, false), number, requests.request);
                }
            }
            _ => unreachable!("only ends that begin a flow have timers"),
        }
    }
}

/// The wires that differ, and which of them each link has.
fn kinds(wires: &[Wire]) -> (Vec<Wire>, Vec<u32>) {
    let mut kinds: Vec<Wire> = Vec::new();
    let mut known = BTreeMap::new();
    let mut of_link = Vec::with_capacity(wires.len());
    for wire in wires {
        let next = u32::try_from(kinds.len()).expect("there are fewer than 2^32 links");
        let key = (wire.first.rate_bps, wire.first.delay, wire.first.loss.to_bits(), wire.queue);
        // One that changes is the only one of its kind.
        let kind = if wire.changes.is_empty() { *known.entry(key).or_insert(next) } else { next };
        if kind == next {
            kinds.push(wire.clone());
        }
        of_link.push(kind);
    }
    (kinds, of_link)
}

/// Where packets of each way go, and the ends at each node.
fn ends(flows: &[Numbered], targets: &BTreeMap<u32, Target>, nodes: usize) -> (Vec<Goal>, Vec<Box<[u32]>>) {
    let mut goals = Vec::with_capacity(flows.len() * 2);
    let mut ends: Vec<Vec<u32>> = vec![Vec::new(); nodes];
    for (flow, of) in (0..).zip(flows) {
        let mut add = |node: u32, way: u32| {
            let slots = &mut ends[node as usize];
            slots.push(way);
            u32::try_from(slots.len() - 1).expect("there are fewer than 2^30 flows")
        };
        let from = add(of.flow.from, way(flow, false));
        let to = add(of.flow.to, way(flow, true));
        let there = targets[&of.flow.to];
        // Where nothing comes back, no packet asks.
        let back = targets.get(&of.flow.from).copied().unwrap_or(Target { node: of.flow.from, ..there });
        goals.push(Goal { target: there, slot: to });
        goals.push(Goal { target: back, slot: from });
    }
    (goals, ends.into_iter().map(Vec::into_boxed_slice).collect())
}

/// The least payload of a packet of an app, its answers included.
fn least_payload(kind: &AppKind) -> u32 {
    match kind {
        AppKind::Datagrams { sizes, pattern, limit } => {
            Sending { start: Time::ZERO, limit: *limit, sizes, pattern }.least_payload().unwrap_or(1)
        }
        AppKind::Transfer(_) => 0,
        AppKind::Requests(requests) => {
            let parts = requests.packets();
            requests.request.min(requests.payload(0)).min(requests.payload(parts - 1))
        }
    }
}

impl Model for Internetwork {
    type State = Node;
    type Message = Packet;
    type Global = Sample;

    fn lps(&self) -> u32 {
        LpId::from_index(self.description.nodes.len()).0
    }

    /// A channel for each port.
    fn channels(&self) -> Channels {
        let mut channels = Channels::none();
        for (from, arc) in self.arcs.all() {
            channels.connect(LpId(from), LpId(arc.to), self.kinds[arc.kind as usize].lookahead(self.packet_min));
        }
        channels
    }

    fn metrics(&self) -> Metrics {
        self.ids.declare(&self.description)
    }

    fn globals(&self) -> Vec<(Time, Sample)> {
        Sample::first(self.description.measure.every).into_iter().collect()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Node {
        let id = ctx.id();
        let ports = vec![Port::default(); self.arcs.of(id.0).len()].into();
        let ends = (0..).zip(self.ends_of(id)).map(|(slot, &way)| self.begin(slot, way, ctx)).collect();
        Node { ports, ends, lost: BTreeMap::new() }
    }

    #[inline]
    fn handle(&self, node: &mut Node, event: Body<&Packet>, ctx: &mut Context<'_, Self>) {
        self.execute(node, event, ctx, Journal(None));
    }

    fn fold(&self, node: &Node, digest: &mut Digest) {
        node.fold(digest);
    }

    fn finish(&self, id: LpId, node: &Node, end: &RunEnd, metrics: &mut Metrics) {
        report::finish(self, (id, node), end, metrics);
    }

    fn unfinished(&self, messages: Unfinished<Packet>, metrics: &mut Metrics) {
        for event in messages.in_order() {
            if let Body::Message(packet) = &event.body {
                report::in_flight(packet, metrics);
            }
        }
    }

    fn conclude(&self, end: &RunEnd, metrics: &mut Metrics) -> Result<(), String> {
        report::conclude(self, end, metrics)
    }
}

impl Restorable for Internetwork {
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
