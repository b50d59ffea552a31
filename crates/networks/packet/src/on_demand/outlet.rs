//! A node in action: the environment of the ends of its flows.

use super::OnDemand;
use super::message::{Carriage, Kind, Message};
use crate::forwarding::{Exit, Next};
use crate::line::{ManagedLink, Policy};
use crate::node::{EgressMut, EgressUndo};
use crate::packet::{Packet, payload_of_segment};
use crate::port::{Arrival, Loss, Passage};
use crate::ports::{self, PortOwner};
use crate::protocols::tcp::Heard;
use crate::protocols::{Duration, Environment, Setup, TIMERS_MAX};
use crate::queue::{Offered, flow_hash};
use crate::record::Record;
use crate::segment::{SegmentRef, TcpSegment};
use parades_core::event::TimerId;
use parades_core::prelude::{Context, Delay, Port, Rng, Time};
use parades_core::restore::Recorder;
use parades_tcp::environment::Ecn;
use parades_topology::NodeId;
use std::num::NonZeroU32;

/// The end of a flow that reacts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) address: u32,
    pub(super) app: u32,
    pub(super) peer: u32,
    pub(super) place: u32,
}

/// A node in action.
pub(super) struct Outlet<'a, 'c, R> {
    net: &'a OnDemand,
    pub(super) egress: EgressMut<'a, Carriage, R>,
    pub(super) ctx: &'a mut Context<'c, OnDemand>,
    /// `None` while no end of a flow reacts.
    seat: Option<Seat>,
    /// The segments that this end has sent over TCP.
    pub(super) sent: Heard,
}

impl<'a, 'c, R: Recorder<EgressUndo<Carriage>>> Outlet<'a, 'c, R> {
    pub(super) fn new(
        net: &'a OnDemand,
        egress: EgressMut<'a, Carriage, R>,
        ctx: &'a mut Context<'c, OnDemand>,
    ) -> Outlet<'a, 'c, R> {
        Outlet { net, egress, ctx, seat: None, sent: Heard::default() }
    }

    /// Returns the outlet of an end that reacts.
    pub(super) fn with_seat(self, seat: Seat, sent: Heard) -> Outlet<'a, 'c, R> {
        Outlet { seat: Some(seat), sent, ..self }
    }

    fn node(&self) -> NodeId {
        NodeId(self.ctx.id().0)
    }

    fn seat(&self) -> Seat {
        self.seat.expect("an end of a flow reacts")
    }

    /// Sends a packet on to the next node, or loses it.
    pub(super) fn forward(&mut self, carriage: Carriage) {
        let now = self.ctx.now();
        match self.net.tables.next_to(carriage.to, self.node(), carriage.packet.direction(), now) {
            Next::Port(exit) => {
                let carriage = Carriage { port: exit.port, ..carriage };
                if let Err(loss) = self.transmit(&carriage, exit) {
                    self.lose(&carriage, loss);
                }
            }
            _ => self.lose(&carriage, Loss::Down),
        }
    }

    fn transmit(&mut self, carriage: &Carriage, Exit { port, kind, .. }: Exit) -> Result<(), Loss> {
        let line = &self.net.lines.kinds[kind as usize];
        let packet = &carriage.packet;
        let bytes = packet.payload().saturating_add(self.net.headers + u32::from(line.first.framing.bytes()));
        match &line.policy {
            Policy::Plain(limit) => {
                let arrival = Arrival { now: self.ctx.now(), precedes: self.ctx.precedes(port) };
                let rng = self.ctx.rng();
                let delay = self.egress.ports().at(port as usize).accept(arrival, bytes, line, *limit, rng)?;
                self.ctx.send(Port(port), delay, Message(Kind::Packet(carriage.clone())));
                Ok(())
            }
            Policy::Managed(rules) => {
                let offered = Offered {
                    bytes,
                    flow: flow_hash(packet.direction()),
                    source: carriage.from,
                    destination: carriage.to,
                    class: packet.class(),
                    is_capable: packet.ecn() != Ecn::NotCapable,
                };
                ports::send(self, carriage.clone(), port, &offered, ManagedLink { line, rules })
            }
        }
    }

    /// Handles the event of a port: its device takes the next packet.
    pub(super) fn on_wake(&mut self, port: u32) {
        let net = self.net;
        let line = net.lines.by(&net.topology, net.topology.interfaces(self.node())[port as usize]);
        let Policy::Managed(rules) = &line.policy else { unreachable!("only managed ports have events") };
        ports::wake(self, port, ManagedLink { line, rules });
    }

    fn lose(&mut self, carriage: &Carriage, loss: Loss) {
        self.ctx.count(self.net.ids.packets_lost, 1);
        let Carriage { from, to, ref packet, .. } = *carriage;
        self.ctx.note(|| format!("packet {} of {from} for {to} is lost: {loss:?}", packet.number()));
    }

    /// Sends a packet of the end that reacts.
    fn dispatch(&mut self, packet: Packet<SegmentRef>) {
        self.ctx.count(self.net.ids.packets_sent, 1);
        let (from, again) = (self.ctx.id().0, self.sent.repeated);
        self.forward(Carriage { from, to: self.seat().peer, port: 0, again, packet });
    }

    fn timer(&self, number: u32) -> TimerId {
        timer_of(self.seat().place, number)
    }
}

impl<'a, R: Recorder<EgressUndo<Carriage>>> PortOwner<'a, Carriage, R> for Outlet<'a, '_, R> {
    fn now(&self) -> Time {
        self.ctx.now()
    }

    fn precedes(&self, port: u32) -> Option<bool> {
        self.ctx.precedes(port)
    }

    fn parts(&mut self) -> (&mut EgressMut<'a, Carriage, R>, &Rng) {
        (&mut self.egress, self.ctx.rng())
    }

    fn note_offer(&mut self, _: &Carriage, _: u32, _: Option<Loss>) {}

    fn launch(&mut self, port: u32, carriage: Carriage, passage: &Passage) {
        let Carriage { packet, .. } = carriage;
        let packet = if passage.is_marked { packet.marked() } else { packet };
        let packet = if passage.copy.is_some() { packet.copied() } else { packet };
        let carriage = Carriage { packet, ..carriage };
        if let Some(delay) = passage.copy {
            self.ctx.send(Port(port), delay, Message(Kind::Packet(carriage.clone())));
        }
        self.ctx.send(Port(port), passage.delay, Message(Kind::Packet(carriage)));
    }

    fn lose_held(&mut self, carriage: &Carriage, _: u32, loss: Loss) {
        self.lose(carriage, loss);
    }

    fn wake_after(&mut self, port: u32, delay: Delay) {
        self.ctx.send_self(delay, Message(Kind::Own(Packet::wake(port))));
    }
}

impl<R: Recorder<EgressUndo<Carriage>>> Setup for Outlet<'_, '_, R> {
    fn rng(&mut self) -> &Rng {
        self.ctx.rng()
    }

    fn set_timer(&mut self, timer: u32, delay: Delay) {
        self.ctx.set_timer(self.timer(timer), delay);
    }
}

impl<R: Recorder<EgressUndo<Carriage>>> Environment for Outlet<'_, '_, R> {
    type Record = SegmentRef;

    fn now(&self) -> Time {
        self.ctx.now()
    }

    fn flow(&self) -> u32 {
        self.seat().address / 2
    }

    fn cancel_timer(&mut self, timer: u32) {
        self.ctx.cancel_timer(self.timer(timer));
    }

    fn send(&mut self, number: u32, payload: u32, record: Option<SegmentRef>) {
        let Seat { address, app, .. } = self.seat();
        let packet = Packet::new(address, NonZeroU32::MIN, number, payload, self.ctx.now(), record);
        self.dispatch(self.net.apps[app as usize].marking.mark(packet));
    }

    fn send_data(&mut self, number: u32, payload: u32, data: &[u8]) {
        let now = self.ctx.now();
        let record = || SegmentRef::of_data(now, data).expect("references to segments carry data too");
        self.send(number, payload, (!data.is_empty()).then(record));
    }

    fn send_segment(&mut self, number: u32, segment: TcpSegment, ecn: Ecn) {
        let Seat { address, app, .. } = self.seat();
        self.sent = self.sent.after(&segment);
        let bytes = segment.header.bytes() + segment.bytes + self.net.ip.header_bytes();
        let payload = payload_of_segment(bytes, self.net.headers);
        let record = SegmentRef::of_segment(segment);
        let packet = Packet::new(address, NonZeroU32::MIN, number, payload, self.ctx.now(), record);
        self.dispatch(packet.with_ecn(ecn).with_class(self.net.apps[app as usize].marking.class));
    }

    fn call_app(&mut self, delay: Delay, number: u32) {
        let Seat { address, place, .. } = self.seat();
        self.ctx.send_self(delay, Message(Kind::Own(Packet::served(address, place, number))));
    }

    fn observe(&mut self, duration: Duration, value: Delay) {
        let Seat { address, app, .. } = self.seat();
        let ids = self.net.ids.apps[app as usize];
        let id = match duration {
            Duration::Delay => ids.delay,
            Duration::Completion => ids.completion,
        };
        self.ctx.observe_of(|| address / 2, id, value.as_ps());
    }

    #[cold]
    fn fail(&mut self, what: &str) {
        self.ctx.fail(format!("flow {} {what}", self.seat().address / 2));
    }
}

/// The setting up of an end at the start of the run: its first timer is set.
pub(super) struct Starting<'a, 'c> {
    pub(super) ctx: &'a mut Context<'c, OnDemand>,
    pub(super) place: u32,
}

impl Setup for Starting<'_, '_> {
    fn rng(&mut self) -> &Rng {
        self.ctx.rng()
    }

    fn set_timer(&mut self, timer: u32, delay: Delay) {
        self.ctx.set_timer(timer_of(self.place, timer), delay);
    }
}

/// The setting up of an end that begins at once: its first timer counts as due.
pub(super) struct Beginning<'a, 'c>(pub(super) &'a mut Context<'c, OnDemand>);

impl Setup for Beginning<'_, '_> {
    fn rng(&mut self) -> &Rng {
        self.0.rng()
    }

    fn set_timer(&mut self, _: u32, _: Delay) {}
}

/// Returns the node's timer for a timer of the end at a place.
pub(super) fn timer_of(place: u32, number: u32) -> TimerId {
    TimerId(place * TIMERS_MAX + number)
}
