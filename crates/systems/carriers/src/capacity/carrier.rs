//! The carrier, as programs use it.

use super::Capacity;
use super::journal::Changes;
use super::packet::{Packet, Plan};
use super::solver::{OnItsWay, Solver};
use parades_core::digest::{Digest, Payload};
use parades_core::event::{Body, LpId};
use parades_core::metrics::{MetricId, Metrics, Unit};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_program::{
    AtEnd, Carrier, CarrierContext, Departure, Held, Layout, Letter, NodeContext, RestorableCarrier, Restore,
    Undelivered, Wiring,
};

impl<M: Payload + Clone> Carrier<M> for Capacity<M> {
    type Packet = Packet<M>;
    /// The messages sent here that a partition has cut.
    type Access = u64;
    type Lp = Box<Solver<M>>;
    type Plan = Plan;

    const MAY_FAIL_AT_NODES: bool = true;

    fn message(packet: &Packet<M>) -> Option<&M> {
        match packet {
            Packet::Send { message, .. } | Packet::Arrived { message, .. } => Some(message),
            Packet::Report { .. } => None,
        }
    }

    fn lps(&self, _: u32) -> u32 {
        self.groups.number()
    }

    fn node_ports(&self, _: Layout, _: LpId) -> u32 {
        u32::from(self.groups.number() > 1)
    }

    fn lp_kind(&self, lp: LpId, layout: Layout) -> Option<&'static str> {
        layout.index(lp).map(|_| "solver")
    }

    fn lp_name(&self, lp: LpId, layout: Layout) -> Option<String> {
        let group = layout.index(lp)?;
        Some(if self.groups.number() == 1 { "solver".to_owned() } else { format!("solver {group}") })
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        assert_eq!(layout.nodes() as usize, self.capacities.len(), "each node has its capacities");
        wiring.nodes_to_anyone(self.lead);
        (0..layout.lps()).for_each(|group| wiring.to_anyone(layout.own(group), self.lead));
        if layout.lps() > 1 {
            // Peers may send to anyone anyway. These channels tell the partitioner which solver they use.
            let nodes = (0..layout.nodes()).map(LpId);
            nodes.for_each(|node| wiring.connect(node, self.solver(node, layout), self.lead));
        }
    }

    fn access(&self, _: LpId, _: Layout) -> u64 {
        0
    }

    fn start(&self, lp: &mut impl CarrierContext<Packet<M>>) -> Box<Solver<M>> {
        let group = lp.layout().index(lp.id()).expect("an LP of this carrier");
        let peers = self.groups.members(group).iter();
        Box::new(Solver::new(peers.map(|&peer| self.capacities[peer as usize])))
    }

    #[inline]
    fn plan(&self, departure: Departure<'_, M>, cut: &mut u64, _: &Rng) -> Plan {
        let Departure { from, to, now, message } = departure;
        if to.index() >= self.capacities.len() {
            return Plan::Nowhere;
        }
        let Some(latency) = self.underlay.latency(from, to) else { return Plan::Nowhere };
        let has_data = (self.bits)(message) > 0.0;
        if self.underlay.is_cut(from, to, now, now.saturating_add(latency)) {
            *cut += 1;
            return Plan::Cut(latency);
        }
        if from == to || !has_data {
            Plan::Latency(latency)
        } else if self.groups.seat(from).group != self.groups.seat(to).group {
            Plan::OtherGroup
        } else {
            Plan::Transfer(Delay::from_ps(latency.as_ps() - self.lead.as_ps()))
        }
    }

    #[inline]
    fn arrival(&self, plan: Plan, now: Time) -> Option<Time> {
        match plan {
            Plan::Latency(latency) => Some(now.saturating_add(latency)),
            Plan::Transfer(_) | Plan::Cut(_) | Plan::Nowhere | Plan::OtherGroup => None,
        }
    }

    #[inline]
    fn post(&self, letter: Letter<M, Plan>, _: &mut u64, node: &mut impl CarrierContext<Packet<M>>) {
        let Letter { to, receipt, plan, message } = letter;
        match plan {
            Plan::Transfer(rest) => {
                let solver = self.solver(node.id(), node.layout());
                node.send_to(solver, self.lead, Packet::Send { to, rest, receipt, message });
            }
            Plan::Latency(latency) => node.send_to(to, latency, Packet::Arrived { from: node.id(), message }),
            Plan::Cut(latency) => {
                if let Some(receipt) = receipt {
                    node.send_to(node.id(), latency, Packet::Report { receipt, outcome: Err(Undelivered) });
                }
            }
            Plan::Nowhere => {
                let nodes = node.layout().nodes();
                node.fail(format!("it sent to node {}, but there are only {nodes} nodes", to.0));
            }
            Plan::OtherGroup => {
                let [own, other] = [node.id(), to].map(|peer| self.groups.seat(peer).group);
                node.fail(format!("it is in group {own} and sent data to node {} in group {other}", to.0));
            }
        }
    }

    #[inline]
    fn receive(&self, packet: &Packet<M>, _: &mut u64, node: &mut impl NodeContext<M, Packet<M>>) {
        match packet {
            Packet::Arrived { from, message } => node.deliver(*from, message.clone()),
            Packet::Report { receipt, outcome } => node.report(*receipt, *outcome),
            Packet::Send { .. } => unreachable!("messages that set out go to the solver"),
        }
    }

    #[inline]
    fn execute(&self, solver: &mut Box<Solver<M>>, event: Body<&Packet<M>>, ctx: &mut impl CarrierContext<Packet<M>>) {
        if let Body::Timer(_) = event {
            solver.on_timer();
        }
        solver.end_transfers(self.lead, ctx);
        if let Body::Message(packet) = event {
            let Packet::Send { to, rest, receipt, message } = packet else {
                unreachable!("the solver is sent messages that set out, and nothing else")
            };
            let from = ctx.sender().expect("peers send");
            let (bits, message) = ((self.bits)(message), message.clone());
            let ends = [from, *to].map(|peer| self.groups.seat(peer).index);
            solver.accept(ctx.now(), OnItsWay { from, to: *to, ends, bits, rest: *rest, receipt: *receipt, message });
        }
        solver.settle(ctx);
    }

    fn fold(&self, solver: &Box<Solver<M>>, digest: &mut Digest) {
        digest.word(solver.counts.on_their_way);
        digest.word(solver.counts.transfers);
    }

    fn fold_access(&self, cut: &u64, digest: &mut Digest) {
        digest.word(*cut);
    }

    fn held(&self, solver: &Box<Solver<M>>) -> Held {
        Held { on_their_way: solver.counts.on_their_way, is_active: solver.counts.on_their_way > 0, ..Held::default() }
    }

    fn held_at_node(&self, cut: &u64) -> Held {
        Held { failed: *cut, ..Held::default() }
    }

    fn metrics(&self, metrics: &mut Metrics) -> Vec<MetricId> {
        ["transfers", "transfer_bits"].map(|name| metrics.counter(name, Unit::Count).into()).to_vec()
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bits are counted from 0 on")]
    fn finish(&self, solver: &Box<Solver<M>>, at_end: AtEnd<'_>) {
        let counted = [solver.counts.transfers, solver.counts.bits as u64];
        at_end.ids.iter().zip(counted).for_each(|(&id, count)| at_end.metrics.count(id, count));
    }
}

impl<M> Capacity<M> {
    /// Returns the solver of a node.
    #[inline]
    fn solver(&self, node: LpId, layout: Layout) -> LpId {
        layout.own(self.groups.seat(node).group)
    }
}

impl<M: Payload + Clone> RestorableCarrier<M> for Capacity<M> {
    type Restore = Records;
}

/// Records the changes of each execution.
#[derive(Clone, Copy, Debug)]
pub struct Records;

impl<M: Payload + Clone> Restore<Box<Solver<M>>> for Records {
    type Undo = Changes<M>;

    const COPIES: bool = false;

    fn before(solver: &mut Box<Solver<M>>) -> Option<Changes<M>> {
        solver.record();
        None
    }

    fn after(solver: &mut Box<Solver<M>>) -> Option<Changes<M>> {
        solver.recorded()
    }

    fn undo(solver: &mut Box<Solver<M>>, undo: Option<Changes<M>>) {
        // An execution that panicked has left its changes in the solver.
        let changes = undo.or_else(|| solver.recorded()).expect("an execution is recorded");
        solver.undo(changes);
    }
}
