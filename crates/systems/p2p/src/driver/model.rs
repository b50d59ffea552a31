//! A protocol as a model: the handler of an LP drives the machine of each node.

use super::Protocol;
use super::few::Few;
use super::node::{Event, NodeState};
use parades_core::prefetch::prefetch_all;
use parades_core::prelude::*;
use parades_core::profile::short_name;
use parades_program::{
    AtEnd, AtNode, Carrier, Kernel, Layout, Mailbox, Receipt, RestorableCarrier, Restore, Undelivered, Wiring,
};
use std::fmt;

/// The number of the kernel's timers that a node's driver uses.
pub(super) const TIMERS: u32 = 2;

/// The number of nodes up to which nothing is prefetched: their states lie in the caches near the core.
const CACHED: u32 = 1500;

/// The model of a protocol's nodes, over the carrier `C`.
#[derive(Debug)]
pub struct AsModel<P, C> {
    pub(super) protocol: P,
    pub(super) carrier: C,
    pub(super) layout: Layout,
    metrics: Metrics,
    /// The ids of the carrier's metrics.
    carrier_ids: Vec<MetricId>,
    /// True if the nodes' states are too large for the caches, so that they are prefetched.
    fetches: bool,
}

impl<P: Protocol, C: Carrier<P::Message>> AsModel<P, C> {
    /// Makes the model.
    pub fn new(protocol: P, carrier: C) -> AsModel<P, C> {
        let nodes = protocol.nodes();
        let layout = Layout::new(nodes, nodes, carrier.lps(nodes));
        let mut metrics = protocol.metrics();
        let carrier_ids = carrier.metrics(&mut metrics);
        AsModel { protocol, carrier, layout, metrics, carrier_ids, fetches: nodes > CACHED }
    }

    /// Returns the protocol.
    pub fn protocol(&self) -> &P {
        &self.protocol
    }

    /// Lets the carrier handle an event at a node, and then the node's driver the messages from it.
    #[inline]
    fn carry(
        &self,
        node: &mut NodeState<P::Machine, P::Message, C::Access>,
        ctx: &mut Context<'_, Self>,
        handle: impl FnOnce(&C, &mut C::Access, &mut AtNode<'_, '_, Self, Arrived<P::Message>>),
    ) {
        let mut at = AtNode { kernel: Kernel::node(ctx, self.layout), mailbox: Arrived(Few::new()) };
        handle(&self.carrier, &mut node.access, &mut at);
        let Arrived(messages) = at.mailbox;
        if !messages.is_empty() {
            Event::run(self, node, ctx, |event| event.on_messages(messages));
        }
    }
}

/// The state of an LP: a node with the machine `S`, the messages `M` and the carrier's state `A`; or an LP of
/// the carrier's own.
#[derive(Clone, Debug, PartialEq)]
pub enum LpState<S, M, A, L> {
    /// A node.
    Node(NodeState<S, M, A>),
    /// An LP of the carrier's own.
    Carrier(L),
}

/// The messages that have arrived in one event.
struct Arrived<M>(Few<(LpId, M)>);

impl<M> Mailbox<M> for Arrived<M> {
    #[inline]
    fn deliver(&mut self, from: LpId, message: M) {
        self.0.push((from, message));
    }

    fn report(&mut self, _: Receipt, _: Result<(), Undelivered>) {
        unreachable!("machines ask for no receipts");
    }

    /// Machines do not hear of their host. Their messages do not arrive.
    fn report_host(&mut self, _: bool) {}
}

impl<P: Protocol, C: Carrier<P::Message>> Model for AsModel<P, C> {
    type State = LpState<P::Machine, P::Message, C::Access, C::Lp>;
    type Message = C::Packet;
    type Global = NoGlobal;

    const FETCHES: usize = 3;

    fn lps(&self) -> u32 {
        self.layout.nodes().saturating_add(self.layout.lps())
    }

    fn lp_name(&self, lp: LpId) -> Option<String> {
        self.carrier.lp_name(lp, self.layout)
    }

    fn lp_kind(&self, lp: LpId) -> String {
        let of_node = || short_name(std::any::type_name::<P>());
        self.carrier.lp_kind(lp, self.layout).unwrap_or_else(of_node).to_owned()
    }

    fn describe(&self, event: &parades_core::event::Event<&Self::Message>, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match event.body {
            Body::Message(packet) => match C::message(packet) {
                Some(message) => self.protocol.describe(message, to),
                None => write!(to, "{packet:?}"),
            },
            Body::Timer(timer) => write!(to, "timer {}", timer.0),
        }
    }

    fn channels(&self) -> Channels {
        let mut wiring = Wiring::new(self.layout.nodes(), self.lps());
        self.carrier.wire(self.layout, &mut wiring);
        wiring.into_channels()
    }

    fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    fn start(&self, ctx: &mut Context<'_, Self>) -> Self::State {
        let id = ctx.id();
        if id.0 >= self.layout.nodes() {
            return LpState::Carrier(self.carrier.start(&mut Kernel::own(ctx, self.layout)));
        }
        let machine = self.protocol.machine(id, ctx.rng());
        let mut node = NodeState::new(machine, self.carrier.access(id, self.layout));
        Event::run(self, &mut node, ctx, |_| true);
        LpState::Node(node)
    }

    #[inline]
    fn fetches(&self) -> bool {
        self.fetches
    }

    /// Step 0 prefetches the node, and the others are those of [`Protocol::fetch`].
    #[inline]
    fn fetch(&self, lp: &Self::State, step: usize) {
        let LpState::Node(node) = lp else { return };
        match step {
            0 => prefetch_all(node),
            _ => self.protocol.fetch(&node.machine, step - 1),
        }
    }

    #[inline]
    fn handle(&self, lp: &mut Self::State, event: Body<&C::Packet>, ctx: &mut Context<'_, Self>) {
        let node = match lp {
            LpState::Node(node) => node,
            LpState::Carrier(own) => return self.carrier.execute(own, event, &mut Kernel::own(ctx, self.layout)),
        };
        match event {
            Body::Message(packet) => self.carry(node, ctx, |carrier, access, at| carrier.receive(packet, access, at)),
            Body::Timer(TimerId(timer)) if timer < TIMERS => {
                Event::run(self, node, ctx, |event| event.on_timer(timer as usize));
            }
            Body::Timer(TimerId(timer)) => {
                self.carry(node, ctx, |carrier, access, at| carrier.timer(TimerId(timer - TIMERS), access, at));
            }
        }
    }

    fn fold(&self, lp: &Self::State, digest: &mut Digest) {
        match lp {
            LpState::Node(node) => {
                digest.word(node.word());
                self.carrier.fold_access(&node.access, digest);
                self.protocol.fold(&node.machine, digest);
            }
            LpState::Carrier(own) => self.carrier.fold(own, digest),
        }
    }

    fn finish(&self, id: LpId, lp: &Self::State, end: &End, metrics: &mut Metrics) {
        if let LpState::Node(node) = lp {
            self.protocol.finish(id, &node.machine, end, metrics);
        }
        let at_end = AtEnd { lp: id, layout: self.layout, end, ids: &self.carrier_ids, metrics };
        match lp {
            LpState::Node(node) => self.carrier.finish_access(&node.access, at_end),
            LpState::Carrier(own) => self.carrier.finish(own, at_end),
        }
    }

    fn conclude(&self, end: &End, metrics: &mut Metrics) -> Result<(), String> {
        self.protocol.conclude(end, metrics)
    }
}

/// The record of an execution, which undoes it. `S`, `M` and `A` are those of [`LpState`]. `U` is the
/// carrier's record for an LP of its own.
#[derive(Debug)]
pub enum Undo<S, M, A, U> {
    /// The node before the execution.
    Node(NodeState<S, M, A>),
    /// Of an LP of the carrier's own.
    Carrier(U),
}

/// A node is restored from a copy, and an LP of the carrier's own as the carrier says.
impl<P, C> Restorable for AsModel<P, C>
where
    P: Protocol<Machine: Clone>,
    C: RestorableCarrier<P::Message>,
{
    type Undo = Undo<P::Machine, P::Message, C::Access, <C::Restore as Restore<C::Lp>>::Undo>;

    #[inline]
    fn handle_undoable(
        &self,
        lp: &mut Self::State,
        event: Body<&C::Packet>,
        ctx: &mut Context<'_, Self>,
        log: &mut UndoLog<Self::Undo>,
    ) {
        match lp {
            LpState::Node(node) => log.push(Undo::Node(node.clone())),
            LpState::Carrier(own) => C::Restore::before(own).into_iter().for_each(|undo| log.push(Undo::Carrier(undo))),
        }
        self.handle(lp, event, ctx);
        if let LpState::Carrier(own) = lp {
            C::Restore::after(own).into_iter().for_each(|undo| log.push(Undo::Carrier(undo)));
        }
    }

    fn copies(&self) -> bool {
        C::Restore::COPIES
    }

    #[inline]
    fn undo(&self, lp: &mut Self::State, _: Body<&C::Packet>, log: &mut UndoLog<Self::Undo>) {
        let mut undo = None;
        while let Some(record) = log.pop() {
            match record {
                Undo::Node(copy) => return *lp = LpState::Node(copy),
                // Where there are two records, the latter is what counts, and it comes first.
                Undo::Carrier(record) => undo = undo.or(Some(record)),
            }
        }
        if let LpState::Carrier(own) = lp {
            C::Restore::undo(own, undo);
        }
    }
}
