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
//!
//! Where no route connects the parts of a platform, each part may have a solver of its own
//! ([`FlowLevel::with_solver_for_each_part`]). Then nothing connects the LPs of different parts either:
//! `window` and `null-message` run the parts in parallel, and `rounds` runs the solvers of one instant in
//! parallel.
//!
//! Requests of one time are solved together, in a round of their own, after all of them have come.
//!
//! Processes also compute, use disks, and meet processes of other hosts at mailboxes, mutexes, semaphores,
//! barriers and conditions ([`OnPlatform`]). Their calls go to the solver, as system calls to a kernel, and
//! are answered by it.
//!
//! *References*: H. Casanova et al., *Versatile, Scalable, and Accurate Simulation of Distributed
//! Applications and Platforms*, JPDC 74(10), 2014 (SimGrid, whose actors these are).

mod calls;
mod deployment;
mod mail;
mod meeting;
mod on_platform;
mod packet;
mod parts;
mod solver;

pub use deployment::{Deployment, Function};
pub use on_platform::{
    AcquireShared, Activity, Mailbox, OnPlatform, PlatformProgram, SharedCondition, SharedPermit, SharedSemaphore,
};
pub use packet::{Answer, ChangeOfCall, Failure, Meeting, Name, Packet, Request, Semaphore};
pub use solver::Solver;

use parades_core::channel::Port;
use parades_core::digest::Payload;
use parades_core::event::{Body, LpId};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed, Wire};
use parades_flow::network::FluidNetwork;
use parades_flow::network_model::NetworkModel;
use parades_flow::platform::{HostId, Platform};
use parades_program::{
    Carrier, CarrierContext, Departure, Held, Layout, Letter, NodeContext, ProcessId, Receipt, Received, SaveCarrier,
    Serves, Timed, ToProcesses, Wiring,
};
use parts::{Split, Wired};
use solver::{InFlight, Owner};
use std::any::Any;
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
    kills: bool,
    /// The parts of the platform, if each has a solver.
    split: Option<Split>,
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
        FlowLevel { platform, network_model, nodes, bytes, kills: false, split: None }
    }

    /// Lets the processes of a node end with the failure of its host, and begin again when the host works
    /// again ([`parades_program::Program::restart`]), as SimGrid's actors. Without it, processes are told,
    /// and go on.
    #[must_use]
    pub fn with_ends_of_processes(self) -> FlowLevel<M> {
        FlowLevel { kills: true, ..self }
    }

    /// Gives each part of the platform ([`Platform::parts`]) a solver of its own, so that engines run the
    /// parts in parallel. No route connects the parts.
    ///
    /// Names of mailboxes, mutexes, semaphores, barriers and conditions then hold within a part: a barrier of
    /// two parts would be two barriers. A process that acts on a host or process of another part is an error
    /// of the run, as is a message. With one part, and under a model without routes
    /// ([`NetworkModel::Constant`]), nothing changes.
    #[must_use]
    pub fn with_solver_for_each_part(self) -> FlowLevel<M> {
        let has_routes = !matches!(self.network_model, NetworkModel::Constant(_));
        let parts = has_routes.then(|| self.platform.parts()).filter(|parts| parts.number() > 1);
        let split = parts.map(|parts| Split::new(parts, (0..self.nodes).map(|node| self.host(LpId(node)))));
        FlowLevel { split, ..self }
    }

    /// Returns the number of solvers.
    pub fn solvers(&self) -> u32 {
        self.split.as_ref().map_or(1, |split| split.parts.number())
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

    /// Sends a packet from a node to its solver.
    #[inline]
    fn to_solver(&self, packet: Packet<M>, node: &mut impl CarrierContext<Packet<M>>) {
        match &self.split {
            None => node.send_to(node.layout().own(0), Delay::ZERO, packet),
            Some(_) => node.send(Port(0), Delay::ZERO, packet),
        }
    }

    /// Sends a packet from a node to another one; where parts have solvers, through that of the part.
    fn to_node(&self, to: LpId, delay: Delay, packet: Packet<M>, node: &mut impl CarrierContext<Packet<M>>) {
        match &self.split {
            None => node.send_to(to, delay, packet),
            Some(_) => node.send(Port(0), Delay::ZERO, Packet::Pass { to, delay, packet: Box::new(packet) }),
        }
    }

    /// Makes the network of a solver.
    fn network(&self, lp: LpId, layout: Layout) -> FluidNetwork {
        let platform = Arc::clone(&self.platform);
        let mut network = match &self.split {
            None => FluidNetwork::new(platform, self.network_model),
            Some(split) => {
                FluidNetwork::of_part(platform, Arc::clone(&split.parts), self.part(lp, layout), self.network_model)
            }
        };
        network.watch_hosts();
        network
    }

    /// Returns the part of the platform that a solver has.
    fn part(&self, lp: LpId, layout: Layout) -> u32 {
        layout.index(lp).expect("an LP of this carrier")
    }

    /// Returns the host that a request is about, if the network of its solver does not have it.
    fn host_elsewhere(&self, network: &FluidNetwork, request: &Request<M>) -> Option<HostId> {
        match *request {
            Request::Compute(host, _) | Request::SetHost(host, _) | Request::SetPowerState(host, _) => {
                Some(host).filter(|&host| self.split.is_some() && !network.has_host(host))
            }
            _ => None,
        }
    }

    /// Returns the nodes of a host.
    fn nodes_of(&self, HostId(host): HostId) -> impl Iterator<Item = LpId> {
        (host..self.nodes).step_by(self.platform.hosts().len()).map(LpId)
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

impl<M: Payload + Clone> FlowLevel<M> {
    /// Begins the flow of a message.
    #[inline]
    fn begin(&self, solver: &mut Solver<M>, now: Time, message: InFlight<M>) -> Result<(), String> {
        solver.network.come_to(now);
        solver.collect();
        let (from, to) = (self.host(message.from), self.host(message.to));
        let started = solver.network.start_flow(from, to, (self.bytes)(&message.message));
        solver.set_owner(started.map_err(|why| why.to_string())?, Owner::Message(message));
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
        self.settle(solver, ctx);
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
            Packet::Call { request: Request::Put(_, message), .. } => Some(message),
            Packet::Answer(_, Answer::Message(Ok((_, message)))) => Some(message),
            Packet::Pass { packet, .. } => Self::message(packet),
            _ => None,
        }
    }

    fn lps(&self, _: u32) -> u32 {
        self.solvers()
    }

    fn node_ports(&self, _: Layout, _: LpId) -> u32 {
        u32::from(self.split.is_some())
    }

    /// A node has the name of its host, with its own number where several nodes share a host.
    fn lp_kind(&self, lp: LpId, layout: Layout) -> Option<&'static str> {
        layout.index(lp).map(|_| "solver")
    }

    fn lp_name(&self, lp: LpId, layout: Layout) -> Option<String> {
        if let Some(own) = layout.index(lp) {
            return Some(if self.split.is_none() { "solver".to_owned() } else { format!("solver {own}") });
        }
        if lp.0 >= layout.nodes() {
            return None;
        }
        let host = &self.platform.hosts()[self.host(lp).0 as usize].name;
        let is_shared = self.nodes as usize > self.platform.hosts().len();
        Some(if is_shared { format!("{host} node {}", lp.0) } else { host.to_string() })
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        if let Some(split) = &self.split {
            return split.wire(layout, wiring);
        }
        wiring.nodes_to_anyone(Delay::ZERO);
        wiring.to_anyone(layout.own(0), Delay::ZERO);
    }

    fn access(&self, _: LpId, _: Layout) {}

    fn start(&self, ctx: &mut impl CarrierContext<Packet<M>>) -> Box<Solver<M>> {
        let mut solver = Solver::new(self.network(ctx.id(), ctx.layout()));
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
            Plan::Flow => self.to_solver(Packet::Send { to, receipt, message }, node),
            Plan::After(delay) => self.to_node(to, delay, Packet::Arrived { from: node.id(), message }, node),
        }
    }

    #[inline]
    fn receive(&self, packet: &Packet<M>, (): &mut (), node: &mut impl NodeContext<M, Packet<M>>) {
        match packet {
            Packet::Arrived { from, message } => node.deliver(*from, message.clone()),
            Packet::Report { receipt, outcome } => node.report(*receipt, *outcome),
            Packet::Host { works } => node.report_host(*works),
            Packet::Answer(receipt, answer) => node.tell(ToProcesses::Answer(*receipt, opened(answer))),
            Packet::Order(process, order) => node.tell(ToProcesses::Order(*process, *order)),
            &Packet::Join { process, from, receipt } => node.tell(ToProcesses::Join { process, from, receipt }),
            Packet::Send { .. } | Packet::Call { .. } | Packet::GiveUp(_) | Packet::Pass { .. } => {
                unreachable!("the requests of nodes go to the solver")
            }
        }
    }

    fn post_call(&self, packet: Packet<M>, node: &mut impl CarrierContext<Packet<M>>) {
        self.to_solver(packet, node);
    }

    fn give_up(&self, receipt: Receipt, node: &mut impl CarrierContext<Packet<M>>) {
        self.to_solver(Packet::GiveUp(receipt), node);
    }

    fn report_end(&self, to: LpId, receipt: Receipt, node: &mut impl CarrierContext<Packet<M>>) {
        self.to_node(to, Delay::ZERO, Packet::Answer(receipt, Answer::Ended), node);
    }

    fn kills_with_host(&self) -> bool {
        self.kills
    }

    #[inline]
    fn execute(&self, solver: &mut Box<Solver<M>>, event: Body<&Packet<M>>, ctx: &mut impl CarrierContext<Packet<M>>) {
        let ctx = &mut Wired { ctx, carrier: self };
        match event {
            Body::Message(Packet::Send { to, receipt, message }) => {
                let from = ctx.sender().expect("nodes send");
                let message = InFlight { from, to: *to, receipt: *receipt, message: message.clone() };
                if let Err(why) = self.begin(solver, ctx.now(), message) {
                    return ctx.fail(why);
                }
            }
            Body::Message(Packet::Call { process, receipt, request }) => {
                if let Some(host) = self.host_elsewhere(&solver.network, request) {
                    let name = &self.platform.hosts()[host.0 as usize].name;
                    return ctx.fail(format!(
                        "it acts on the host `{name}`, which is in another part of the platform: each part has a solver \
                         of its own; leave out `FlowLevel::with_solver_for_each_part`"
                    ));
                }
                self.serve(solver, *process, *receipt, request, ctx);
            }
            Body::Message(Packet::GiveUp(receipt)) => {
                let node = ctx.sender().expect("nodes give up");
                self.take_back(solver, (node, *receipt), ctx);
            }
            Body::Message(Packet::Pass { to, delay, packet }) => ctx.send_to(*to, *delay, (**packet).clone()),
            Body::Message(_) => unreachable!("the solver gets the requests of nodes only"),
            Body::Timer(_) => self.advance(solver, ctx),
        }
        solver.arm(ctx);
    }

    fn held(&self, solver: &Box<Solver<M>>) -> Held {
        let is_active = solver.armed < Time::MAX;
        let (on_their_way, stuck) = if is_active { (solver.in_flight, 0) } else { (0, solver.in_flight) };
        Held { on_their_way, stuck, unread: solver.calls.unread(), failed: solver.failed, is_active }
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
        let Solver { network, owners, ended, armed: _, in_flight: _, failed, calls } = &**solver;
        assert!(ended.is_empty(), "all that has ended is delivered before a later time comes");
        assert!(calls.is_empty(), "only programs make calls, and they are replayed");
        network.write(to);
        let messages = owners.iter().enumerate().filter_map(|(slot, owner)| match owner {
            Some(Owner::Message(message)) => Some((slot, message)),
            _ => None,
        });
        wire::write(&(failed, messages.collect::<Vec<_>>()), to);
    }

    fn read_lp(&self, lp: LpId, layout: Layout, from: &mut &[u8]) -> Result<Box<Solver<M>>, Malformed> {
        let mut network = self.network(lp, layout);
        network.read_state(from)?;
        network.watch_hosts();
        let (failed, read): (u64, Vec<(usize, InFlight<M>)>) = wire::read(from)?;
        let is_node = |node: LpId| node.0 < layout.nodes() && network.has_host(self.host(node));
        let have_ends = read.iter().all(|(_, message)| is_node(message.from) && is_node(message.to));
        // Each flow has a message, in the order of slots.
        let have_flows = read.iter().map(|&(slot, _)| slot).eq(network.slots());
        if !have_ends || !have_flows || network.take_ended().is_some() {
            return Err(Malformed::new("a message on its way has no flow, or no end"));
        }
        let in_flight = read.len() as u64;
        let mut owners: Vec<Option<Owner<M>>> = Vec::new();
        for (slot, message) in read {
            owners.resize_with(slot, || None);
            owners.push(Some(Owner::Message(message)));
        }
        let armed = network.next_event().unwrap_or(Time::MAX);
        Ok(Box::new(Solver { owners, armed, in_flight, failed, ..Solver::new(network) }))
    }
}

/// Returns the answer as the call awaits it.
fn opened<M: Payload + Clone>(answer: &Answer<M>) -> Box<dyn Any + Send> {
    match answer {
        Answer::Done(outcome) => Box::new(*outcome),
        Answer::Message(outcome) => Box::new(outcome.clone().map(|(from, message)| Received { from, message })),
        Answer::Passed(flag) | Answer::Permit(flag) => Box::new(*flag),
        Answer::Ended => Box::new(()),
        Answer::Remaining(amount) => Box::new(*amount),
    }
}

impl<M: Payload + Clone> Serves<M> for FlowLevel<M> {
    type Request = Request<M>;

    fn packet(&self, request: Request<M>, process: ProcessId, receipt: Option<Receipt>) -> Packet<M> {
        Packet::Call { process, receipt, request }
    }
}

impl<M: Payload + Clone> Timed<M> for FlowLevel<M> {
    fn after(delay: Delay) -> Plan {
        Plan::After(delay)
    }
}
