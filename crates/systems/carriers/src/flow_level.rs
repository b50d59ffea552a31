//! Messages as flows: each is a flow over its route on a platform, and arrives when the flow ends.
//!
//! Nodes are on the platform's hosts in their order; where there are more nodes than hosts, several share a
//! host. A failure on the platform fails the messages that use the failed part. Processes that await such a
//! message learn of it ([`parades_program::Undelivered`]), and nodes learn of their hosts
//! ([`parades_program::Node::until_host_fails`]).
//!
//! The solver is one LP behind the nodes. A message goes to the solver as an event, and when its flow has
//! ended, on to its receiver as another. Neither event has a delay, since the flow alone says how long the
//! message takes. So there is no lookahead between nodes, and engines that need some go on with one worker.

use parades_core::digest::{Digest, Payload};
use parades_core::event::{Body, LpId, TimerId};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed, Wire};
use parades_flow::network::{FluidNetwork, Outcome};
use parades_flow::network_model::NetworkModel;
use parades_flow::platform::{HostId, Platform};
use parades_program::{
    Carrier, CarrierContext, Departure, Held, Layout, Letter, NodeContext, Receipt, SaveCarrier, Timed, Undelivered,
    Wiring,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The carrier of a program whose messages `M` are flows on a platform.
///
/// # Examples
///
/// Two nodes send 125 MB each to a third at the same time, over links of 125 MB/s. They share the link down
/// to the third.
///
/// ```
/// use parades_core::prelude::*;
/// use parades_carriers::FlowLevel;
/// use parades_flow::generators::star;
/// use parades_flow::network_model::{MaxMinModel, NetworkModel};
/// use parades_program::{Processes, Program, Start};
///
/// struct Meet(FlowLevel<u64>); // a message is its number of bytes
///
/// impl Program for Meet {
///     type Message = u64;
///     type State = Option<Time>;
///     type Carrier = FlowLevel<u64>;
///     fn nodes(&self) -> u32 { 3 }
///     fn carrier(&self) -> &FlowLevel<u64> { &self.0 }
///     fn start(&self, start: &mut Start<'_, Self>) -> Option<Time> {
///         start.spawn("main", |node| async move {
///             match node.id().0 {
///                 2 => for _ in 0..2 { node.receive().await; },
///                 _ => assert_eq!(node.send(LpId(2), 125_000_000).await, Ok(())),
///             }
///             node.with(|here| *here.state = Some(here.now()));
///         });
///         None
///     }
///     fn finish(&self, _: LpId, arrived: &Option<Time>, _: &End, _: &mut Metrics) {
///         // 600 µs of latency, then 250 MB at 125 MB/s.
///         assert_eq!(arrived.unwrap().as_secs_f64(), 2.0006);
///     }
/// }
///
/// let network_model = NetworkModel::MaxMin(MaxMinModel { cross_traffic: 0.0, ..MaxMinModel::CM02 });
/// let flows = FlowLevel::new(star(3).unwrap().into(), network_model, 3, |&bytes| bytes as f64);
/// let model = Processes::new(Meet(flows));
/// parades_engine::sequential::run(&model, RunOptions::until(Time::from_ps(9_000_000_000_000)))?;
/// # Ok::<(), parades_core::error::Error>(())
/// ```
pub struct FlowLevel<M> {
    platform: Arc<Platform>,
    network_model: NetworkModel,
    nodes: u32,
    bytes: fn(&M) -> f64,
}

impl<M> fmt::Debug for FlowLevel<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlowLevel { platform, network_model, nodes, .. } = self;
        write!(f, "FlowLevel({nodes} nodes on {platform:?}, {network_model:?})")
    }
}

impl<M> FlowLevel<M> {
    /// Makes the carrier of `nodes` nodes; `bytes` gives the length of a message.
    ///
    /// # Panics
    ///
    /// On a platform without hosts.
    pub fn new(platform: Arc<Platform>, network_model: NetworkModel, nodes: u32, bytes: fn(&M) -> f64) -> FlowLevel<M> {
        assert!(!platform.hosts().is_empty(), "nodes need a host");
        FlowLevel { platform, network_model, nodes, bytes }
    }

    /// Returns the platform.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Returns the host of a node.
    pub fn host(&self, node: LpId) -> HostId {
        let hosts = u32::try_from(self.platform.hosts().len()).expect("hosts are counted in 32 bits");
        HostId(node.0 % hosts)
    }

    /// Returns the nodes of a host.
    fn nodes_of(&self, HostId(host): HostId) -> impl Iterator<Item = LpId> {
        (host..self.nodes).step_by(self.platform.hosts().len()).map(LpId)
    }
}

/// A packet between the solver and the nodes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Packet<M> {
    /// From a node to the solver: a message sets out.
    Send {
        /// The receiver.
        to: LpId,
        /// The name by which the sender waits for the message to arrive.
        receipt: Option<Receipt>,
        /// The message.
        message: M,
    },
    /// From the solver to the receiver: a message has arrived.
    Arrived {
        /// The sender.
        from: LpId,
        /// The message.
        message: M,
    },
    /// From the solver to a sender that waits: its message has arrived, or has failed.
    Report {
        /// The name by which the sender waits.
        receipt: Receipt,
        /// The message has arrived, or not.
        outcome: Result<(), Undelivered>,
    },
    /// From the solver to a node: its host fails, or works again.
    Host {
        /// True if the host works.
        works: bool,
    },
}

impl<M: Payload> Payload for Packet<M> {
    #[inline]
    fn fold(&self, digest: &mut Digest) {
        let head = |kind: u64, id: u32| kind << 32 | u64::from(id);
        match self {
            Packet::Send { to, receipt, message } => {
                digest.word(head(1, to.0));
                digest.word(receipt.map_or(0, |Receipt(number)| u64::from(number.get())));
                message.fold(digest);
            }
            Packet::Arrived { from, message } => {
                digest.word(head(2, from.0));
                message.fold(digest);
            }
            Packet::Report { receipt: Receipt(number), outcome } => {
                digest.word(head(if outcome.is_ok() { 3 } else { 4 }, number.get()));
            }
            Packet::Host { works } => digest.word(head(5, u32::from(*works))),
        }
    }
}

/// How a message goes out.
#[derive(Clone, Copy, Debug)]
pub enum Plan {
    /// As a flow.
    Flow,
    /// Past the solver, after this delay.
    After(Delay),
}

/// The state of the solver's LP.
#[derive(Debug)]
pub struct Solver<M> {
    network: FluidNetwork,
    /// The message of each flow, by the slot of its activity.
    messages: Vec<Option<InFlight<M>>>,
    /// Flows that have ended, with their outcomes. Their slots may be used again before the nodes learn of
    /// them.
    ended: Vec<(InFlight<M>, Outcome)>,
    /// The time that the LP's timer is set to.
    armed: Time,
    /// Messages in `messages` and in `ended`.
    in_flight: u64,
    failed: u64,
}

/// A message on its way.
#[derive(Debug, Serialize, Deserialize)]
struct InFlight<M> {
    from: LpId,
    to: LpId,
    receipt: Option<Receipt>,
    message: M,
}

/// The timer of the solver's LP, which is due when the next flow ends.
const TIMER: TimerId = TimerId(0);

impl<M: Payload + Clone> Solver<M> {
    /// Collects the flows that have ended, before their slots are used again.
    #[inline]
    fn collect(&mut self) {
        while let Some(ended) = self.network.take_ended() {
            let message = self.messages[ended.id.slot()].take().expect("a flow ends once");
            self.ended.push((message, ended.outcome));
        }
    }

    /// Delivers the messages whose flows have ended, and reports the outcomes to their senders.
    #[inline]
    fn deliver(&mut self, ctx: &mut impl CarrierContext<Packet<M>>) {
        for (InFlight { from, to, receipt, message }, outcome) in self.ended.drain(..) {
            self.in_flight -= 1;
            let outcome = match outcome {
                Outcome::Done => {
                    ctx.send_to(to, Delay::ZERO, Packet::Arrived { from, message });
                    Ok(())
                }
                Outcome::Failed | Outcome::Cancelled => {
                    self.failed += 1;
                    Err(Undelivered)
                }
            };
            if let Some(receipt) = receipt {
                ctx.send_to(from, Delay::ZERO, Packet::Report { receipt, outcome });
            }
        }
    }

    /// Sets the LP's timer to the time at which something happens next.
    #[inline]
    fn arm(&mut self, ctx: &mut impl CarrierContext<Packet<M>>) {
        let next = if self.ended.is_empty() { self.network.next_event() } else { Some(self.network.now()) };
        let next = next.unwrap_or(Time::MAX);
        if next == self.armed {
            return;
        }
        self.armed = next;
        match next {
            Time::MAX => ctx.cancel_timer(TIMER),
            next => ctx.set_timer(TIMER, next.since(ctx.now())),
        }
    }
}

impl<M: Payload + Clone> FlowLevel<M> {
    /// Begins the flow of a message.
    #[inline]
    fn begin(&self, solver: &mut Solver<M>, now: Time, message: InFlight<M>) -> Result<(), String> {
        solver.network.advance(now);
        solver.collect();
        let (from, to) = (self.host(message.from), self.host(message.to));
        let started = solver.network.start_flow(from, to, (self.bytes)(&message.message));
        let slot = started.map_err(|why| why.to_string())?.slot();
        if solver.messages.len() <= slot {
            solver.messages.resize_with(slot + 1, || None);
        }
        solver.messages[slot] = Some(message);
        solver.in_flight += 1;
        // A flow over a part that has failed ends at once.
        solver.collect();
        Ok(())
    }

    /// Lets everything happen up to and including the present time, and tells the nodes.
    #[inline]
    fn advance(&self, solver: &mut Solver<M>, ctx: &mut impl CarrierContext<Packet<M>>) {
        solver.armed = Time::MAX;
        solver.network.advance(ctx.now());
        solver.collect();
        solver.deliver(ctx);
        while let Some((host, works)) = solver.network.take_host_change() {
            for node in self.nodes_of(host) {
                ctx.send_to(node, Delay::ZERO, Packet::Host { works });
            }
        }
    }
}

impl<M: Payload + Clone> Carrier<M> for FlowLevel<M> {
    type Packet = Packet<M>;
    type Access = ();
    type Lp = Box<Solver<M>>;
    type Plan = Plan;

    fn message(packet: &Packet<M>) -> Option<&M> {
        match packet {
            Packet::Send { message, .. } | Packet::Arrived { message, .. } => Some(message),
            Packet::Report { .. } | Packet::Host { .. } => None,
        }
    }

    fn lps(&self, _: u32) -> u32 {
        1
    }

    /// A node has the name of its host, with its own number where several nodes share a host.
    fn lp_name(&self, lp: LpId, layout: Layout) -> Option<String> {
        if let Some(own) = layout.index(lp) {
            return (own == 0).then(|| "solver".to_owned());
        }
        if lp.0 >= layout.nodes() {
            return None;
        }
        let host = &self.platform.hosts()[self.host(lp).0 as usize].name;
        let is_shared = self.nodes as usize > self.platform.hosts().len();
        Some(if is_shared { format!("{host} node {}", lp.0) } else { host.to_string() })
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        wiring.nodes_to_anyone(Delay::ZERO);
        wiring.to_anyone(layout.own(0), Delay::ZERO);
    }

    fn access(&self, _: LpId, _: Layout) {}

    fn start(&self, ctx: &mut impl CarrierContext<Packet<M>>) -> Box<Solver<M>> {
        let mut network = FluidNetwork::new(Arc::clone(&self.platform), self.network_model);
        network.watch_hosts();
        let (messages, ended) = (Vec::new(), Vec::new());
        let mut solver = Solver { network, messages, ended, armed: Time::MAX, in_flight: 0, failed: 0 };
        solver.arm(ctx);
        Box::new(solver)
    }

    #[inline]
    fn plan(&self, _: Departure<'_, M>, (): &mut (), _: &Rng) -> Plan {
        Plan::Flow
    }

    #[inline]
    fn arrival(&self, plan: Plan, now: Time) -> Option<Time> {
        match plan {
            Plan::Flow => None,
            Plan::After(delay) => Some(now.checked_add(delay).unwrap_or(Time::MAX)),
        }
    }

    #[inline]
    fn post(&self, letter: Letter<M, Plan>, (): &mut (), node: &mut impl CarrierContext<Packet<M>>) {
        let Letter { to, receipt, plan, message } = letter;
        match plan {
            Plan::Flow => {
                node.send_to(node.layout().own(0), Delay::ZERO, Packet::Send { to, receipt, message });
            }
            Plan::After(delay) => node.send_to(to, delay, Packet::Arrived { from: node.id(), message }),
        }
    }

    #[inline]
    fn receive(&self, packet: &Packet<M>, (): &mut (), node: &mut impl NodeContext<M, Packet<M>>) {
        match packet {
            Packet::Arrived { from, message } => node.deliver(*from, message.clone()),
            Packet::Report { receipt, outcome } => node.report(*receipt, *outcome),
            Packet::Host { works } => node.report_host(*works),
            Packet::Send { .. } => unreachable!("messages that set out go to the solver"),
        }
    }

    #[inline]
    fn execute(&self, solver: &mut Box<Solver<M>>, event: Body<&Packet<M>>, ctx: &mut impl CarrierContext<Packet<M>>) {
        match event {
            Body::Message(Packet::Send { to, receipt, message }) => {
                let from = ctx.sender().expect("nodes send");
                let message = InFlight { from, to: *to, receipt: *receipt, message: message.clone() };
                if let Err(why) = self.begin(solver, ctx.now(), message) {
                    return ctx.fail(why);
                }
            }
            Body::Message(_) => unreachable!("the solver is sent messages that set out, and nothing else"),
            Body::Timer(_) => self.advance(solver, ctx),
        }
        solver.arm(ctx);
    }

    fn held(&self, solver: &Box<Solver<M>>) -> Held {
        let is_active = solver.armed < Time::MAX;
        let (on_their_way, stuck) = if is_active { (solver.in_flight, 0) } else { (0, solver.in_flight) };
        Held { on_their_way, stuck, failed: solver.failed, is_active }
    }
}

/// The solver writes its network, and the message of each flow by its slot. Flows that have ended are
/// delivered at the same time, and the timer follows from the network.
impl<M: Payload + Clone + Wire> SaveCarrier<M> for FlowLevel<M> {
    fn write_access(&self, (): &(), _: &mut Vec<u8>) {}

    fn read_access(&self, _: LpId, _: Layout, _: &mut &[u8]) -> Result<(), Malformed> {
        Ok(())
    }

    fn write_lp(&self, solver: &Box<Solver<M>>, to: &mut Vec<u8>) {
        let Solver { network, messages, ended, armed: _, in_flight: _, failed } = &**solver;
        assert!(ended.is_empty(), "all that has ended is delivered before a later time comes");
        network.write(to);
        let messages = messages.iter().enumerate().filter_map(|(slot, message)| Some((slot, message.as_ref()?)));
        wire::write(&(failed, messages.collect::<Vec<_>>()), to);
    }

    fn read_lp(&self, _: LpId, layout: Layout, from: &mut &[u8]) -> Result<Box<Solver<M>>, Malformed> {
        let mut network = FluidNetwork::read(Arc::clone(&self.platform), self.network_model, from)?;
        network.watch_hosts();
        let (failed, read): (u64, Vec<(usize, InFlight<M>)>) = wire::read(from)?;
        let is_node = |node: LpId| node.0 < layout.nodes();
        let have_ends = read.iter().all(|(_, message)| is_node(message.from) && is_node(message.to));
        // Each flow has a message, in the order of slots.
        let have_flows = read.iter().map(|&(slot, _)| slot).eq(network.slots());
        if !have_ends || !have_flows || network.take_ended().is_some() {
            return Err(Malformed::new("a message on its way has no flow, or no end"));
        }
        let in_flight = read.len() as u64;
        let mut messages: Vec<Option<InFlight<M>>> = Vec::new();
        for (slot, message) in read {
            messages.resize_with(slot, || None);
            messages.push(Some(message));
        }
        let armed = network.next_event().unwrap_or(Time::MAX);
        Ok(Box::new(Solver { network, messages, ended: Vec::new(), armed, in_flight, failed }))
    }
}

impl<M: Payload + Clone> Timed<M> for FlowLevel<M> {
    fn after(delay: Delay) -> Plan {
        Plan::After(delay)
    }
}
