//! The underlay, as programs use it.

use super::Underlay;
use super::packet::{Packet, Plan};
use parades_core::digest::{Digest, Payload};
use parades_core::event::{Body, LpId};
use parades_core::metrics::{MetricId, Metrics, Unit};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_program::{
    AtEnd, Carrier, CarrierContext, Departure, Held, Layout, Letter, NodeContext, Undelivered, Wiring,
};

/// The counts of an underlay at an LP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages for others that the router of this LP has sent on.
    hops: u64,
    /// Messages sent here that were lost by chance.
    lost: u64,
    /// Messages sent here that each partition has cut.
    cut: Box<[u64]>,
}

impl Counts {
    fn failed(&self) -> u64 {
        self.lost + self.cut.iter().sum::<u64>()
    }
}

impl Underlay {
    /// Sends a message on from a router to the next one.
    #[inline]
    fn pass<M: Payload>(&self, extra: Delay, packet: Packet<M>, ctx: &mut impl CarrierContext<Packet<M>>) {
        let (Packet::Passing { to, .. }, Some(hops)) = (&packet, &self.hops) else {
            unreachable!("only messages that travel hop by hop are passed on");
        };
        let (port, delay) = hops.next(ctx.id(), *to, ctx.layout());
        ctx.send(port, delay.saturating_add(extra), packet);
    }

    /// Returns true if a message that departs now is lost, and counts the loss.
    #[inline]
    fn loses(&self, ends: (LpId, LpId), times: (Time, Time), counts: &mut Counts, rng: &Rng) -> bool {
        if self.loss > 0.0 && rng.chance(self.loss) {
            counts.lost += 1;
            return true;
        }
        let cut = self.partitions.iter().position(|partition| partition.cuts(ends, times.0, times.1));
        if let Some(partition) = cut {
            counts.cut[partition] += 1;
        }
        cut.is_some()
    }
}

impl<M: Payload + Clone> Carrier<M> for Underlay {
    type Packet = Packet<M>;
    type Access = Counts;
    type Lp = Counts;
    type Plan = Plan;

    const POSTS_AT_ONCE: bool = true;
    const MAY_FAIL_AT_NODES: bool = true;

    fn lps(&self, _: u32) -> u32 {
        self.hops.as_ref().map_or(0, |hops| hops.others())
    }

    fn node_ports(&self, layout: Layout, node: LpId) -> u32 {
        self.hops.as_ref().map_or(0, |hops| hops.links_of(node, layout))
    }

    fn lp_name(&self, lp: LpId, layout: Layout) -> Option<String> {
        self.hops.as_ref()?.name(lp, layout).map(str::to_owned)
    }

    fn wire(&self, layout: Layout, wiring: &mut Wiring) {
        if let Some(peers) = self.distances.peers() {
            assert_eq!(layout.nodes(), peers, "the program has as many nodes as the underlay has peers");
        }
        match &self.hops {
            Some(hops) => hops.wire(layout, wiring),
            None => self.distances.wire(layout, wiring),
        }
    }

    fn access(&self, _: LpId, _: Layout) -> Counts {
        Counts { cut: vec![0; self.partitions.len()].into(), ..Counts::default() }
    }

    fn start(&self, _: &mut impl CarrierContext<Packet<M>>) -> Counts {
        Counts::default()
    }

    #[inline]
    fn plan(&self, departure: Departure<'_, M>, counts: &mut Counts, rng: &Rng) -> Plan {
        let Departure { from, to, now, .. } = departure;
        if from == to {
            return Plan::Arrives { delay: Delay::ZERO, jitter: Delay::ZERO };
        }
        let Some(latency) = self.latency(from, to) else { return Plan::Nowhere };
        let jitter = self.jitter.as_ref().map_or(Delay::ZERO, |jitter| jitter.draw((from, to), rng));
        let delay = latency.saturating_add(jitter);
        let times = (now, now.saturating_add(delay));
        if self.loses((from, to), times, counts, rng) {
            return Plan::Lost(delay);
        }
        Plan::Arrives { delay, jitter }
    }

    #[inline]
    fn arrival(&self, plan: Plan, now: Time) -> Option<Time> {
        match plan {
            Plan::Arrives { delay, .. } => Some(now.saturating_add(delay)),
            Plan::Lost(_) | Plan::Nowhere => None,
        }
    }

    #[inline]
    fn post(&self, letter: Letter<M, Plan>, _: &mut Counts, node: &mut impl CarrierContext<Packet<M>>) {
        let Letter { to, receipt, plan, message } = letter;
        let from = node.id();
        match plan {
            Plan::Arrives { jitter, .. } if self.hops.is_some() && to != from => {
                self.pass(jitter, Packet::Passing { from, to, message }, node);
            }
            Plan::Arrives { delay, .. } => node.send_to(to, delay, Packet::Direct(message)),
            Plan::Lost(delay) => {
                if let Some(receipt) = receipt {
                    node.send_to(from, delay, Packet::Lost(receipt));
                }
            }
            Plan::Nowhere => {
                let nodes = node.layout().nodes();
                node.fail(format!("it sent to node {}, but there are only {nodes} nodes", to.0));
            }
        }
    }

    #[inline]
    fn receive(&self, packet: &Packet<M>, counts: &mut Counts, node: &mut impl NodeContext<M, Packet<M>>) {
        match packet {
            Packet::Direct(message) => {
                // A message without a sender began with the node.
                let from = node.sender().unwrap_or(node.id());
                node.deliver(from, message.clone());
            }
            Packet::Passing { from, to, message } if *to == node.id() => node.deliver(*from, message.clone()),
            Packet::Passing { .. } => {
                counts.hops += 1;
                self.pass(Delay::ZERO, packet.clone(), node);
            }
            Packet::Lost(receipt) => node.report(*receipt, Err(Undelivered)),
        }
    }

    #[inline]
    fn execute(&self, counts: &mut Counts, event: Body<&Packet<M>>, ctx: &mut impl CarrierContext<Packet<M>>) {
        let Body::Message(packet) = event else { unreachable!("routers set no timers") };
        counts.hops += 1;
        self.pass(Delay::ZERO, packet.clone(), ctx);
    }

    fn fold(&self, counts: &Counts, digest: &mut Digest) {
        digest.word(counts.hops);
    }

    fn fold_access(&self, counts: &Counts, digest: &mut Digest) {
        digest.word(counts.failed());
    }

    fn held_at_node(&self, counts: &Counts) -> Held {
        Held { failed: counts.failed(), ..Held::default() }
    }

    fn metrics(&self, metrics: &mut Metrics) -> Vec<MetricId> {
        let mut ids =
            vec![metrics.counter("underlay_hops", Unit::Count), metrics.counter("underlay_losses", Unit::Count)];
        for number in 1..=self.partitions.len() {
            ids.push(metrics.counter(&format!("partition_{number}_cuts"), Unit::Count));
        }
        ids
    }

    fn finish(&self, counts: &Counts, at_end: AtEnd<'_>) {
        let counted = [counts.hops, counts.lost].into_iter().chain(counts.cut.iter().copied());
        at_end.ids.iter().zip(counted).for_each(|(&id, count)| at_end.metrics.count(id, count));
    }

    fn finish_access(&self, counts: &Counts, at_end: AtEnd<'_>) {
        Carrier::<M>::finish(self, counts, at_end);
    }
}
