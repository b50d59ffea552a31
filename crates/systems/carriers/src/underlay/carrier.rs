//! The underlay, as programs use it.

use super::Underlay;
use super::decoration::{Effect, Passage, Record};
use super::order::OnTheirWay;
use super::packet::{Packet, Plan};
use parades_core::digest::{Digest, Payload};
use parades_core::event::{Body, LpId};
use parades_core::metrics::{Cell, Column, MetricId, Metrics, Unit};
use parades_core::random::Rng;
use parades_core::time::{Delay, Time};
use parades_core::wire::{self, Malformed, Wire};
use parades_program::{
    AtEnd, Carrier, CarrierContext, Copies, Departure, Held, Layout, Letter, NodeContext, RestorableCarrier,
    SaveCarrier, Undelivered, Wiring,
};
use serde::{Deserialize, Serialize};

/// The counts of an underlay at an LP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Messages for others that the router of this LP has sent on.
    hops: u64,
    /// Messages sent here that were lost by chance.
    lost: u64,
    /// Messages sent here that decorations have lost.
    dropped: u64,
    /// Messages sent here that each partition has cut.
    cut: Box<[u64]>,
    /// Messages sent here, as far as a record keeps them.
    record: Record,
    /// Messages sent here, where messages keep their order.
    on_their_way: OnTheirWay,
}

impl Counts {
    fn failed(&self) -> u64 {
        self.lost + self.dropped + self.cut.iter().sum::<u64>()
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

    /// Returns the time that decorations add to that of a message; `None` if one of them loses it.
    #[inline]
    fn decorate(&self, passage: Passage, counts: &mut Counts, rng: &Rng) -> Option<Delay> {
        let mut added = Delay::ZERO;
        for decoration in &self.decorations {
            let passage = Passage { delay: passage.delay.saturating_add(added), ..passage };
            match decoration.on_message(passage, rng) {
                Effect::None => {}
                Effect::Delay(delay) => added = added.saturating_add(delay),
                Effect::Lose => {
                    counts.dropped += 1;
                    return None;
                }
            }
        }
        Some(added)
    }

    /// Returns true if the order of messages must be kept. Messages of one latency keep it by themselves.
    #[inline]
    fn keeps_order(&self) -> bool {
        self.in_order && (self.jitter.is_some() || !self.decorations.is_empty())
    }

    /// Returns true if a message that departs now is lost, and counts the loss.
    #[inline]
    fn loses(&self, from: LpId, to: LpId, departs: Time, arrives: Time, counts: &mut Counts, rng: &Rng) -> bool {
        if self.loss > 0.0 && rng.chance(self.loss) {
            counts.lost += 1;
            return true;
        }
        let cut = self.partitions.iter().position(|partition| partition.cuts(from, to, departs, arrives));
        if let Some(partition) = cut {
            counts.cut[partition] += 1;
        }
        cut.is_some()
    }
}

impl<M: Payload + Clone> RestorableCarrier<M> for Underlay {
    type Restore = Copies;
}

/// Of a router without a peer, the hops alone are written: nothing else changes there.
impl<M: Payload + Clone + Wire> SaveCarrier<M> for Underlay {
    fn write_access(&self, counts: &Counts, to: &mut Vec<u8>) {
        wire::write(counts, to);
    }

    fn read_access(&self, _: LpId, _: Layout, from: &mut &[u8]) -> Result<Counts, Malformed> {
        let counts: Counts = wire::read(from)?;
        if counts.cut.len() != self.partitions.len() {
            let (found, partitions) = (counts.cut.len(), self.partitions.len());
            return Err(Malformed::new(format!("{found} partitions are counted, and the underlay has {partitions}")));
        }
        if counts.record.len() > self.recorded.map_or(0, |recorded| recorded.messages_max) {
            return Err(Malformed::new("more messages are recorded than the underlay records"));
        }
        Ok(counts)
    }

    fn write_lp(&self, counts: &Counts, to: &mut Vec<u8>) {
        wire::write(&counts.hops, to);
    }

    fn read_lp(&self, _: LpId, _: Layout, from: &mut &[u8]) -> Result<Counts, Malformed> {
        Ok(Counts { hops: wire::read(from)?, ..Counts::default() })
    }
}

impl<M: Payload + Clone> Carrier<M> for Underlay {
    type Packet = Packet<M>;
    type Access = Counts;
    type Lp = Counts;
    type Plan = Plan;

    const POSTS_AT_ONCE: bool = true;
    const MAY_FAIL_AT_NODES: bool = true;

    fn message(packet: &Packet<M>) -> Option<&M> {
        match packet {
            Packet::Direct(message) | Packet::Passing { message, .. } => Some(message),
            Packet::Lost(_) => None,
        }
    }

    fn lps(&self, _: u32) -> u32 {
        self.hops.as_ref().map_or(0, |hops| hops.others())
    }

    fn node_ports(&self, layout: Layout, node: LpId) -> u32 {
        self.hops.as_ref().map_or(0, |hops| hops.links_of(node, layout))
    }

    fn lp_kind(&self, lp: LpId, layout: Layout) -> Option<&'static str> {
        layout.index(lp).map(|_| "router")
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
            return Plan::Arrives { delay: Delay::ZERO, extra: Delay::ZERO };
        }
        // No latency leads to a node that does not exist. Then `post` fails.
        let Some(latency) = self.latency(from, to) else { return Plan::Lost(Delay::ZERO) };
        let jitter = self.jitter.as_ref().map_or(Delay::ZERO, |jitter| jitter.draw(from, to, rng));
        let passage = Passage { from, to, departs: now, delay: latency.saturating_add(jitter) };
        let added = self.decorate(passage, counts, rng);
        let varying = jitter.saturating_add(added.unwrap_or(Delay::ZERO));
        let delay = match latency.saturating_add(varying) {
            delay if self.keeps_order() => counts.on_their_way.delay_behind(to, now, delay),
            delay => delay,
        };
        let arrival = now.saturating_add(delay);
        let arrives = added.is_some() && !self.loses(from, to, now, arrival, counts, rng);
        if self.keeps_order() && arrives {
            counts.on_their_way.add(to, now, arrival);
        }
        if let Some(recorded) = self.recorded.filter(|recorded| recorded.has(&passage)) {
            counts.record.push(Passage { delay, ..passage }, arrives, recorded.messages_max);
        }
        // Hop by hop, the routers add what the links take.
        let extra = Delay::from_ps(delay.as_ps() - latency.as_ps()).saturating_add(self.access_of(from, to));
        if arrives { Plan::Arrives { delay, extra } } else { Plan::Lost(delay) }
    }

    #[inline]
    fn arrival(&self, plan: Plan, now: Time) -> Option<Time> {
        match plan {
            Plan::Arrives { delay, .. } => Some(now.saturating_add(delay)),
            Plan::Lost(_) => None,
        }
    }

    #[inline]
    fn post(&self, letter: Letter<M, Plan>, _: &mut Counts, node: &mut impl CarrierContext<Packet<M>>) {
        let Letter { to, receipt, plan, message } = letter;
        let (from, nodes) = (node.id(), node.layout().nodes());
        if to.0 >= nodes {
            return node.fail(format!("it sent to node {}, but there are only {nodes} nodes", to.0));
        }
        match plan {
            Plan::Arrives { extra, .. } if self.hops.is_some() && to != from => {
                self.pass(extra, Packet::Passing { from, to, message }, node);
            }
            Plan::Arrives { delay, .. } => node.send_to(to, delay, Packet::Direct(message)),
            Plan::Lost(delay) => {
                if let Some(receipt) = receipt {
                    node.send_to(from, delay, Packet::Lost(receipt));
                }
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
        let mut ids: Vec<MetricId> = ["underlay_hops", "underlay_losses", "underlay_drops"]
            .into_iter()
            .map(|name| metrics.counter(name, Unit::Count).into())
            .collect();
        for number in 1..=self.partitions.len() {
            ids.push(metrics.counter(&format!("partition_{number}_cuts"), Unit::Count).into());
        }
        if self.recorded.is_some() {
            let columns = [
                ("from", Unit::Count),
                ("to", Unit::Count),
                ("departs", Unit::Picoseconds),
                ("takes", Unit::Picoseconds),
                ("arrives", Unit::Count),
            ];
            let columns = columns.map(|(name, unit)| Column::new(name, unit));
            ids.push(metrics.table("underlay_record", columns.into_iter().collect()).into());
        }
        ids
    }

    fn finish(&self, counts: &Counts, at_end: AtEnd<'_>) {
        let AtEnd { ids, metrics, .. } = at_end;
        let counted = [counts.hops, counts.lost, counts.dropped].into_iter().chain(counts.cut.iter().copied());
        ids.iter().zip(counted).for_each(|(&id, count)| metrics.count(id, count));
        for (Passage { from, to, departs, delay }, arrives) in counts.record.messages() {
            let cells = [u64::from(from.0), u64::from(to.0), departs.as_ps(), delay.as_ps(), u64::from(arrives)];
            metrics.row(*ids.last().expect("the table is declared"), cells.map(Cell::from));
        }
    }

    fn finish_access(&self, counts: &Counts, at_end: AtEnd<'_>) {
        Carrier::<M>::finish(self, counts, at_end);
    }
}
