//! A node in action: the environment of its endpoints.

use super::{Layout, Network};
use crate::forwarding::trees::Hop;
use crate::forwarding::{Exit, Next};
use crate::line::{ManagedLink, Policy};
use crate::node::{EgressMut, EgressUndo};
use crate::packet::{Packet, payload_of_segment};
use crate::port::{Arrival, Loss, Passage};
use crate::ports::{self, PortOwner};
use crate::protocols::{Duration, Endpoint, EndpointUndo, Environment, Segment, Setup, Signal};
use crate::queue::{Offered, flow_hash};
use crate::record::Record;
use crate::segment::TcpSegment;
use parades_core::event::TimerId;
use parades_core::prelude::{Context, Delay, Port, Rng, Time};
use parades_core::restore::{At, Recorder, Tracked};
use parades_tcp::environment::Ecn;
use parades_topology::NodeId;

/// The endpoints of a node.
type Endpoints<'a, R> = Tracked<'a, Box<[Endpoint]>, R>;

/// A node in action.
pub(super) struct Outlet<'a, 'c, D: Record, R> {
    pub(super) net: &'a Layout,
    egress: EgressMut<'a, Packet<D>, R>,
    pub(super) ctx: &'a mut Context<'c, Network<D>>,
    /// The slot of the endpoint that reacts.
    slot: u32,
    /// The address of that endpoint. For the receiver of a group, which sends nothing, it is the source's.
    address: u32,
}

impl<'a, 'c, D: Record, R: Recorder<EgressUndo<Packet<D>>>> Outlet<'a, 'c, D, R> {
    #[inline(always)]
    pub(super) fn new(
        net: &'a Layout,
        egress: EgressMut<'a, Packet<D>, R>,
        ctx: &'a mut Context<'c, Network<D>>,
    ) -> Outlet<'a, 'c, D, R> {
        Outlet { net, egress, ctx, slot: 0, address: 0 }
    }

    #[inline(always)]
    pub(super) fn node(&self) -> NodeId {
        NodeId(self.ctx.id().0)
    }

    /// Returns the flow of the endpoint that reacts, or the first flow of its group.
    #[inline]
    fn flow_of_endpoint(&self) -> u32 {
        self.net.slots.role(self.address).0
    }

    /// Sends a packet by a port, or counts it as lost.
    #[inline(always)]
    pub(super) fn forward(&mut self, packet: &Packet<D>, exit: Exit) {
        if let Err(loss) = self.transmit(packet, exit) {
            self.lose(packet, packet.direction(), Some(exit.port), loss);
        }
    }

    #[inline(always)]
    fn transmit(&mut self, packet: &Packet<D>, Exit { port, kind, step }: Exit) -> Result<(), Loss> {
        let line = &self.net.lines.kinds[kind as usize];
        let bytes = packet.payload().saturating_add(self.net.headers + u32::from(line.first.framing.bytes()));
        match &line.policy {
            Policy::Plain(limit) => {
                let arrival = Arrival { now: self.ctx.now(), precedes: self.ctx.precedes(port) };
                let rng = self.ctx.rng();
                let accepted = self.egress.ports().at(port as usize).accept(arrival, bytes, line, *limit, rng);
                if self.ctx.has_captures() {
                    self.capture(packet, port, accepted);
                }
                self.ctx.send(Port(port), accepted?, packet.at_step(step));
                Ok(())
            }
            Policy::Managed(rules) => self.manage(packet.at_step(step), port, bytes, ManagedLink { line, rules }),
        }
    }

    /// Sends a packet by a port that is more than a drop-tail queue.
    fn manage(&mut self, packet: Packet<D>, port: u32, bytes: u32, link: ManagedLink<'_>) -> Result<(), Loss> {
        let is_capable = packet.ecn() != Ecn::NotCapable;
        let direction = packet.direction();
        let [source, destination] =
            if link.rules.discipline.looks_at_hosts() { self.net.hosts_of(direction) } else { [0; 2] };
        let (flow, class) = (flow_hash(direction), packet.class());
        let offered = Offered { bytes, flow, source, destination, class, is_capable };
        ports::send(self, packet, port, &offered, link)
    }

    /// Handles the event of a port: its device takes the next packet.
    fn on_wake(&mut self, port: u32) {
        let net = self.net;
        let line = net.lines.by(&net.topology, net.topology.interfaces(self.node())[port as usize]);
        let Policy::Managed(rules) = &line.policy else { unreachable!("only managed ports have events") };
        ports::wake(self, port, ManagedLink { line, rules });
    }

    /// Returns the key that counts a packet on its way to the next node: its direction, or the place of a
    /// tree.
    fn key(&self, packet: &Packet<D>) -> u32 {
        match self.net.forwarding.place_of(packet.step()) {
            Some(place) => self.net.lost_key(place),
            None => packet.direction(),
        }
    }

    /// Sends a packet of an endpoint on its path.
    #[inline(never)]
    fn dispatch(&mut self, packet: &Packet<D>) {
        match self.net.forwarding.next(self.node(), packet, self.ctx.now()) {
            Next::Port(exit) => self.forward(packet, exit),
            Next::Copies(_, hops) => {
                self.count_copies(hops.len());
                self.copy(packet, hops);
            }
            Next::Nowhere => self.lose(packet, packet.direction(), None, Loss::Down),
            Next::Endpoint(_) => unreachable!("no flow leads from a node to itself"),
        }
    }

    /// Sends copies of a group's packet down the branches of its tree. A lost copy is counted at the place to
    /// which it was sent.
    #[inline(always)]
    pub(super) fn copy(&mut self, packet: &Packet<D>, hops: &[Hop]) {
        for &Hop { port, kind, to } in hops {
            let exit = Exit { port, kind, step: self.net.forwarding.step_of_place(to) };
            if let Err(loss) = self.transmit(packet, exit) {
                self.lose(packet, self.net.lost_key(to), Some(port), loss);
            }
        }
    }

    /// Counts the copies that a node makes of a packet, in addition to the packet itself.
    #[inline(always)]
    pub(super) fn count_copies(&mut self, copies: usize) {
        if let Some(copies_made) = self.net.ids.copies_made
            && copies > 1
        {
            self.ctx.count(copies_made, copies as u64 - 1);
        }
    }

    /// Counts a lost packet, and notes the reason in the trace. `port` is the port by which the packet was to
    /// leave; `None` if there is none.
    pub(super) fn lose(&mut self, packet: &Packet<D>, key: u32, port: Option<u32>, loss: Loss) {
        self.egress.lose(key, loss);
        let (net, node, now) = (self.net, self.node(), self.ctx.now());
        if let (Some(port), Loss::Down) = (port, loss)
            && let Some(failure) = net.failure_of(node, port, now)
        {
            self.egress.lose(net.failure_key(failure), loss);
        }
        self.ctx.note(|| net.loss_text(packet, node, port, loss, now));
    }

    /// Gives a packet to an endpoint.
    #[inline(always)]
    pub(super) fn deliver<E: Recorder<At<EndpointUndo>>>(
        &mut self,
        endpoints: &mut Endpoints<'_, E>,
        slot: u32,
        packet: &Packet<D>,
    ) {
        let (number, payload, sent) = (packet.number(), packet.payload(), packet.sent());
        let is_copy = packet.has_copies() && self.egress.arrives_again(slot, sent, number);
        let segment = Segment { number, payload, sent, record: packet.record(), ecn: packet.ecn(), is_copy };
        let address = self.net.slots.receiver(packet.direction());
        self.signal(endpoints, slot, address, Signal::Segment(&segment));
    }

    /// Lets an endpoint react.
    #[inline(always)]
    fn signal<E: Recorder<At<EndpointUndo>>>(
        &mut self,
        endpoints: &mut Endpoints<'_, E>,
        slot: u32,
        address: u32,
        signal: Signal<'_, D>,
    ) {
        (self.slot, self.address) = (slot, address);
        let net = self.net;
        let kind = || net.kind_of(net.slots.role(address).0);
        endpoints.at(slot as usize).on_signal(kind, signal, self);
    }

    /// Handles a message of the node to itself: calls the application of an endpoint, or a port. At a node
    /// that is away, the call waits for the node's return.
    pub(super) fn serve<E: Recorder<At<EndpointUndo>>>(
        &mut self,
        endpoints: &mut Endpoints<'_, E>,
        packet: &Packet<D>,
    ) {
        if let Some(port) = packet.waking_port() {
            return self.on_wake(port);
        }
        let now = self.ctx.now();
        match self.net.away_until(self.ctx.id(), now) {
            Some(Time::MAX) => {}
            Some(back) => self.ctx.send_self(back.since(now), packet.clone()),
            None => {
                let (slot, address) = (packet.served_slot(), packet.direction());
                self.signal(endpoints, slot, address, Signal::App(packet.number()));
            }
        }
    }

    /// Handles a timer that is due. At a node that is away, the endpoint rests, and the timer is set to the
    /// node's return.
    #[inline(always)]
    pub(super) fn on_timer<E: Recorder<At<EndpointUndo>>>(&mut self, endpoints: &mut Endpoints<'_, E>, timer: TimerId) {
        let addresses = self.net.slots.of(self.node());
        let (slot, number) = endpoint_and_number(timer, addresses.len());
        let Some(&address) = addresses.get(slot as usize) else {
            return self.ctx.fail("has a timer, and no endpoint that has set it");
        };
        let now = self.ctx.now();
        match self.net.away_until(self.ctx.id(), now) {
            Some(Time::MAX) => {}
            Some(back) => {
                let span = back.since(now);
                self.signal(endpoints, slot, address, Signal::Rest(span));
                self.ctx.set_timer(timer, span);
            }
            None => self.signal(endpoints, slot, address, Signal::Timer(number)),
        }
    }
}

impl<'a, D: Record, R: Recorder<EgressUndo<Packet<D>>>> PortOwner<'a, Packet<D>, R> for Outlet<'a, '_, D, R> {
    fn now(&self) -> Time {
        self.ctx.now()
    }

    fn precedes(&self, port: u32) -> Option<bool> {
        self.ctx.precedes(port)
    }

    fn parts(&mut self) -> (&mut EgressMut<'a, Packet<D>, R>, &Rng) {
        (&mut self.egress, self.ctx.rng())
    }

    fn note_offer(&mut self, packet: &Packet<D>, port: u32, refusal: Option<Loss>) {
        self.capture_sent(packet, port, refusal);
    }

    fn launch(&mut self, port: u32, packet: Packet<D>, passage: &Passage) {
        let packet = if passage.is_marked { packet.marked() } else { packet };
        let packet = if passage.copy.is_some() { packet.copied() } else { packet };
        self.capture_arrival(&packet, port, passage.delay);
        if let Some(delay) = passage.copy {
            self.egress.duplicate(self.key(&packet));
            self.capture_arrival(&packet, port, delay);
            self.ctx.send(Port(port), delay, packet.clone());
        }
        self.ctx.send(Port(port), passage.delay, packet);
    }

    fn lose_held(&mut self, packet: &Packet<D>, port: u32, loss: Loss) {
        self.lose(packet, self.key(packet), Some(port), loss);
    }

    fn wake_after(&mut self, port: u32, delay: Delay) {
        self.ctx.send_self(delay, Packet::wake(port));
    }
}

impl<D: Record, R: Recorder<EgressUndo<Packet<D>>>> Setup for Outlet<'_, '_, D, R> {
    #[inline]
    fn rng(&mut self) -> &Rng {
        self.ctx.rng()
    }

    #[inline]
    fn set_timer(&mut self, timer: u32, delay: Delay) {
        let timer = timer_of(self.slot, timer, || self.net.slots.of(self.node()).len());
        self.ctx.set_timer(timer, delay);
    }
}

impl<D: Record, R: Recorder<EgressUndo<Packet<D>>>> Environment for Outlet<'_, '_, D, R> {
    type Record = D;

    #[inline]
    fn now(&self) -> Time {
        self.ctx.now()
    }

    fn flow(&self) -> u32 {
        self.net.slots.group(self.address).unwrap_or_else(|| self.flow_of_endpoint())
    }

    fn cancel_timer(&mut self, timer: u32) {
        let timer = timer_of(self.slot, timer, || self.net.slots.of(self.node()).len());
        self.ctx.cancel_timer(timer);
    }

    #[inline]
    fn send(&mut self, number: u32, payload: u32, record: Option<D>) {
        let step = self.net.forwarding.first_step(self.address);
        let mut packet = Packet::new(self.address, step, number, payload, self.ctx.now(), record);
        if self.net.has_marks {
            let app = self.net.app_of_flow[self.flow_of_endpoint() as usize];
            packet = self.net.apps[app as usize].marking.mark(packet);
        }
        self.dispatch(&packet);
    }

    fn send_data(&mut self, number: u32, payload: u32, data: &[u8]) {
        let now = self.ctx.now();
        let record = || D::of_data(now, data).expect("a network that is described carries records of data");
        self.send(number, payload, (!data.is_empty()).then(record));
    }

    fn send_segment(&mut self, number: u32, segment: TcpSegment, ecn: Ecn) {
        let step = self.net.forwarding.first_step(self.address);
        let bytes = segment.header.bytes() + segment.bytes + self.net.ip.header_bytes();
        let payload = payload_of_segment(bytes, self.net.headers);
        let record = D::of_segment(segment).expect("a network with TCP flows carries records of segments");
        let packet = Packet::new(self.address, step, number, payload, self.ctx.now(), Some(record));
        let class = if self.net.has_marks {
            let app = self.net.app_of_flow[self.flow_of_endpoint() as usize];
            self.net.apps[app as usize].marking.class
        } else {
            0
        };
        self.dispatch(&packet.with_ecn(ecn).with_class(class));
    }

    fn call_app(&mut self, delay: Delay, number: u32) {
        self.ctx.send_self(delay, Packet::served(self.address, self.slot, number));
    }

    #[inline(always)]
    fn observe(&mut self, duration: Duration, value: Delay) {
        let id = self.net.ids.duration(duration, || self.net.app_of_flow[self.flow_of_endpoint() as usize]);
        let (net, address) = (self.net, self.address);
        self.ctx.observe_of(|| net.slots.role(address).0, id, value.as_ps());
    }

    #[cold]
    fn fail(&mut self, what: &str) {
        self.ctx.fail(match self.net.slots.group(self.address) {
            Some(group) => format!("group {group} {what}"),
            None => format!("flow {} {what}", self.flow_of_endpoint()),
        });
    }
}

/// A node that starts: its endpoints set their first timers.
pub(super) struct Starting<'a, 'c, D: Record> {
    pub(super) ctx: &'a mut Context<'c, Network<D>>,
    pub(super) slot: u32,
    /// The number of endpoints of the node.
    pub(super) slots: usize,
}

impl<D: Record> Setup for Starting<'_, '_, D> {
    fn rng(&mut self) -> &Rng {
        self.ctx.rng()
    }

    fn set_timer(&mut self, timer: u32, delay: Delay) {
        self.ctx.set_timer(timer_of(self.slot, timer, || self.slots), delay);
    }
}

/// Returns the node's timer for a timer of an endpoint. Timers of number 0 come first, since most endpoints
/// have no other.
#[inline]
fn timer_of(slot: u32, number: u32, endpoints: impl FnOnce() -> usize) -> TimerId {
    if number == 0 {
        return TimerId(slot);
    }
    let endpoints = u32::try_from(endpoints()).expect("endpoints are counted in 32 bits");
    TimerId(slot + number * endpoints)
}

/// Returns the endpoint and the number of a timer of a node.
#[inline]
pub(super) fn endpoint_and_number(TimerId(timer): TimerId, endpoints: usize) -> (u32, u32) {
    if (timer as usize) < endpoints {
        return (timer, 0);
    }
    let endpoints = u32::try_from(endpoints).expect("endpoints are counted in 32 bits");
    (timer % endpoints.max(1), timer / endpoints.max(1))
}
