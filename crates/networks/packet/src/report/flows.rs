//! What becomes of each flow, and of all of them.

use super::{COUNTERS, FLOWS, ratio};
use crate::flow::Flow;
use crate::network::Network;
use crate::node::{Node, Packet};
use parades_core::prelude::*;
use parades_topology::Topology;
use std::collections::BTreeMap;

/// The columns of the table `flows`. `duration` is from the flow's start to the last arrival, and `goodput` is what was delivered in it.
pub(super) const COLUMNS: [(&str, Unit); 16] = [
    ("flow", Unit::Count),
    ("source", Unit::Count),
    ("destination", Unit::Count),
    ("packets_sent", Unit::Count),
    ("packets_dropped", Unit::Count),
    ("delay_mean", Unit::Picoseconds),
    ("jitter", Unit::Picoseconds),
    ("goodput", Unit::BitsPerSecond),
    ("start", Unit::Picoseconds),
    ("duration", Unit::Picoseconds),
    ("complete", Unit::Count),
    ("packets_delivered", Unit::Count),
    ("packets_reordered", Unit::Count),
    ("bytes_delivered", Unit::Bytes),
    ("delay_min", Unit::Picoseconds),
    ("delay_max", Unit::Picoseconds),
];

/// What is known of a flow, each field as a sum: zero wherever it is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    // At the source.
    pub(crate) sent: u64,
    pub(crate) finished: u64,
    // On the way.
    pub(crate) dropped: u64,
    pub(crate) in_flight: u64,
    // At the sink.
    pub(crate) delivered: u64,
    pub(crate) bytes_delivered: u64,
    pub(crate) reordered: u64,
    pub(crate) delay_mean: u64,
    pub(crate) delay_min: u64,
    pub(crate) delay_max: u64,
    pub(crate) jitter: u64,
    pub(crate) last: u64,
}

impl Sums {
    /// The fields, in the order in which they are kept.
    fn fields(&mut self) -> [&mut u64; 12] {
        let Sums { sent, finished, dropped, in_flight, delivered, bytes_delivered, .. } = self;
        let Sums { reordered, delay_mean, delay_min, delay_max, jitter, last, .. } = self;
        [
            sent,
            finished,
            dropped,
            in_flight,
            delivered,
            bytes_delivered,
            reordered,
            delay_mean,
            delay_min,
            delay_max,
            jitter,
            last,
        ]
    }

    pub(crate) fn add_to(mut self, flow: u32, metrics: &mut Metrics) {
        metrics.add_to_sums(FLOWS, u64::from(flow), &self.fields().map(|field| *field));
    }

    pub(crate) fn from_words(words: &[u64]) -> Sums {
        let mut sums = Sums::default();
        for (field, word) in sums.fields().into_iter().zip(words) {
            *field = *word;
        }
        sums
    }

    /// Whether the source has sent all, and all of that has arrived.
    fn is_complete(&self) -> bool {
        self.finished == 1 && self.delivered == self.sent
    }

    fn row(&self, number: u64, flow: &Flow, topology: &Topology) -> [Cell; COLUMNS.len()] {
        let arrived = |x: u64| if self.delivered > 0 { Cell::Integer(x) } else { Cell::Empty };
        let duration = self.last.saturating_sub(flow.start.as_ps());
        [
            number.into(),
            topology.name(flow.source).into(),
            topology.name(flow.destination).into(),
            self.sent.into(),
            self.dropped.into(),
            arrived(self.delay_mean),
            arrived(self.jitter),
            ratio(self.bytes_delivered as f64 * 8.0, duration as f64 / 1e12),
            flow.start.as_ps().into(),
            arrived(duration),
            u64::from(self.is_complete()).into(),
            self.delivered.into(),
            self.reordered.into(),
            self.bytes_delivered.into(),
            arrived(self.delay_min),
            arrived(self.delay_max),
        ]
    }
}

/// Adds what a node knows of flows.
pub(super) fn finish(network: &Network, id: LpId, node: &Node, metrics: &mut Metrics) {
    for (source, &flow) in node.sources.iter().zip(network.outgoing.of(id)) {
        let finished = u64::from(source.finished);
        Sums { sent: source.packets, finished, ..Sums::default() }.add_to(flow, metrics);
    }
    for (&flow, &dropped) in &node.dropped {
        Sums { dropped, ..Sums::default() }.add_to(flow, metrics);
    }
    finish_sinks(network.incoming.of(id), node, metrics);
}

/// Adds what the sinks of a node measured; `flows` are theirs, by slot.
pub(crate) fn finish_sinks(flows: &[u32], node: &Node, metrics: &mut Metrics) {
    for (sink, &flow) in node.sinks.iter().zip(flows) {
        if sink.packets > 0 {
            let sums = Sums {
                delivered: sink.packets,
                bytes_delivered: sink.bytes,
                reordered: sink.reordered,
                delay_mean: sink.delay_mean().as_ps(),
                delay_min: sink.delay_min.as_ps(),
                delay_max: sink.delay_max.as_ps(),
                jitter: sink.jitter().as_ps(),
                last: sink.last.as_ps(),
                ..Sums::default()
            };
            sums.add_to(flow, metrics);
        }
    }
}

/// Adds a packet that was still on its way.
pub(super) fn in_flight(packet: &Packet, metrics: &mut Metrics) {
    Sums { in_flight: 1, ..Sums::default() }.add_to(packet.flow, metrics);
}

/// What all flows come to.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    flows: u64,
    complete: u64,
    /// Of these, what is a sum over flows.
    pub(crate) sums: Sums,
    /// In picoseconds, over the flows that delivered two packets or more.
    pub(super) jitter_sum: u128,
    pub(super) jittered: u64,
}

impl Totals {
    fn add(&mut self, flow: &Sums) {
        self.flows += 1;
        self.complete += u64::from(flow.is_complete());
        self.sums.sent += flow.sent;
        self.sums.delivered += flow.delivered;
        self.sums.dropped += flow.dropped;
        self.sums.in_flight += flow.in_flight;
        self.sums.reordered += flow.reordered;
        self.sums.bytes_delivered += flow.bytes_delivered;
        if flow.delivered > 1 {
            self.jitter_sum += u128::from(flow.jitter);
            self.jittered += 1;
        }
    }

    /// In the order of [`COUNTERS`].
    pub(super) fn counters(&self) -> [u64; COUNTERS.len()] {
        let Sums { sent, delivered, dropped, in_flight, reordered, bytes_delivered, .. } = self.sums;
        [self.flows, self.complete, sent, delivered, dropped, in_flight, reordered, bytes_delivered]
    }
}

/// Makes a row of each flow from the sums of all, and checks it: packets sent = delivered + dropped + in flight.
pub(crate) fn conclude(
    flows: &[Flow],
    topology: &Topology,
    sums: BTreeMap<u64, Box<[u64]>>,
    metrics: &mut Metrics,
) -> Result<Totals, String> {
    let mut totals = Totals::default();
    for (number, words) in sums {
        let flow = flows.get(usize::try_from(number).unwrap_or(usize::MAX));
        let flow = flow.ok_or_else(|| format!("flow {number} was measured, but does not exist"))?;
        let sums = Sums::from_words(&words);
        let Sums { sent, delivered, dropped, in_flight, .. } = sums;
        if sent != delivered + dropped + in_flight {
            return Err(format!(
                "flow {number} sent {sent} packets, of which {delivered} were delivered, {dropped} dropped and {in_flight} in \
                 flight at the end: these do not add up"
            ));
        }
        totals.add(&sums);
        metrics.row(FLOWS, sums.row(number, flow, topology));
    }
    assert_eq!(totals.flows, flows.len() as u64, "every flow has a source that reports it");
    Ok(totals)
}
