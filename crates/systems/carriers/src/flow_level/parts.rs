//! A solver for each part of a platform.

use super::FlowLevel;
use parades_core::channel::Port;
use parades_core::event::{LpId, TimerId};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_flow::platform::{HostId, Parts};
use parades_program::{CarrierContext, Layout, Wiring};
use std::sync::Arc;

/// The parts of a platform, each with a solver, and the nodes of each part.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) parts: Arc<Parts>,
    /// By node: its part, and its number among the nodes of that part, which is the solver's port to it.
    seats: Vec<(u32, u32)>,
}

impl Split {
    /// Makes the parts of nodes, given the host of each.
    pub(super) fn new(parts: Parts, hosts: impl Iterator<Item = HostId>) -> Split {
        let mut nodes = vec![0; parts.number() as usize];
        let seats = hosts.map(|host| {
            let part = parts.of(host);
            let next = &mut nodes[part as usize];
            *next += 1;
            (part, *next - 1)
        });
        Split { seats: seats.collect(), parts: Arc::new(parts) }
    }

    /// Connects each node with the solver of its part. Nothing connects parts.
    pub(super) fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        for (node, &(part, _)) in (0..).map(LpId).zip(&self.seats) {
            wiring.connect(node, layout.own(part), Delay::ZERO);
            wiring.connect(layout.own(part), node, Delay::ZERO);
        }
    }
}

/// The context of a solver, which sends to nodes.
pub(super) struct Wired<'a, X, M> {
    pub(super) ctx: &'a mut X,
    pub(super) carrier: &'a FlowLevel<M>,
}

impl<P, M, X: CarrierContext<P>> CarrierContext<P> for Wired<'_, X, M> {
    fn layout(&self) -> Layout {
        self.ctx.layout()
    }
    fn id(&self) -> LpId {
        self.ctx.id()
    }
    #[inline]
    fn now(&self) -> Time {
        self.ctx.now()
    }
    fn sender(&self) -> Option<LpId> {
        self.ctx.sender()
    }
    fn precedes(&self, what: u32) -> Option<bool> {
        self.ctx.precedes(what)
    }
    fn rng(&mut self) -> &Rng {
        self.ctx.rng()
    }
    fn send(&mut self, port: Port, delay: Delay, packet: P) {
        self.ctx.send(port, delay, packet);
    }
    /// Sends through the channel to the node, if each part has a solver.
    #[inline]
    fn send_to(&mut self, node: LpId, delay: Delay, packet: P) {
        let Some(split) = &self.carrier.split else { return self.ctx.send_to(node, delay, packet) };
        match split.seats.get(node.index()) {
            Some(&(part, port)) if self.layout().own(part) == self.id() => self.ctx.send(Port(port), delay, packet),
            _ => {
                let of = |node: LpId| match split.seats.get(node.index()) {
                    Some((part, _)) => format!("node {} in part {part} of the platform", node.0),
                    None => format!("node {}, which there is not,", node.0),
                };
                let why = match self.sender() {
                    Some(sender) => format!("{} acts on {}", of(sender), of(node)),
                    None => format!("the solver of a part acts on {}", of(node)),
                };
                self.ctx.fail(format!(
                    "{why}: no route connects them, and each part has a solver of its own; let them meet by \
                     leaving out `FlowLevel::with_solver_for_each_part`"
                ));
            }
        }
    }
    fn set_timer(&mut self, timer: TimerId, delay: Delay) {
        self.ctx.set_timer(timer, delay);
    }
    fn cancel_timer(&mut self, timer: TimerId) {
        self.ctx.cancel_timer(timer);
    }
    fn fail(&mut self, why: String) {
        self.ctx.fail(why);
    }
}
