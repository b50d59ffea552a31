//! What each direction of each link carried.

use super::LINKS;
use crate::node::Node;
use parades_core::prelude::*;
use parades_topology::{Interface, NodeId, Topology};
use std::cmp::Reverse;

/// The columns of the table `links`. Rank 1 is the direction that dropped the most packets; of those alike, the busiest.
pub(super) const COLUMNS: [(&str, Unit); 8] = [
    ("rank", Unit::Count),
    ("from", Unit::Count),
    ("to", Unit::Count),
    ("rate", Unit::BitsPerSecond),
    ("utilisation", Unit::Ratio),
    ("packets_sent", Unit::Count),
    ("packets_dropped", Unit::Count),
    ("queue_max", Unit::Count),
];

/// What is known of one direction of a link; one node alone knows it.
#[derive(Clone, Copy, Debug)]
struct Sums {
    busy_until: Time,
    packets: u64,
    bytes: u64,
    dropped: u64,
    queue_max: u64,
}

impl Sums {
    fn to_words(self) -> [u64; 5] {
        [self.busy_until.as_ps(), self.packets, self.bytes, self.dropped, self.queue_max]
    }

    fn from_words(words: &[u64]) -> Option<Sums> {
        let &[busy_until, packets, bytes, dropped, queue_max] = words else { return None };
        Some(Sums { busy_until: Time::from_ps(busy_until), packets, bytes, dropped, queue_max })
    }

    /// The share of the time until `end` in which a transmitter of this rate was busy.
    fn utilisation(&self, rate_bps: u64, end: Time) -> f64 {
        // What was accepted and not yet transmitted does not count; the transmitter is busy with it from the end on.
        let after = self.busy_until.since(end);
        let busy = Delay::serialisation(self.bytes, rate_bps).as_ps().saturating_sub(after.as_ps());
        if end > Time::ZERO { busy as f64 / end.as_ps() as f64 } else { 0.0 }
    }
}

/// Adds what a node knows of its links.
pub(super) fn finish(topology: &Topology, id: LpId, node: &Node, metrics: &mut Metrics) {
    let first = topology.first_interface(NodeId(id.0)) as u64;
    for (interface, transmitter) in (first..).zip(&node.transmitters) {
        let (sent, dropped) = (transmitter.sent(), transmitter.dropped());
        if sent.packets + dropped > 0 {
            let sums = Sums {
                busy_until: sent.busy_until,
                packets: sent.packets,
                bytes: sent.bytes,
                dropped,
                queue_max: transmitter.waiting_max().into(),
            };
            metrics.add_to_sums(LINKS, interface, &sums.to_words());
        }
    }
}

/// One direction of a link at the end.
#[derive(Debug)]
struct Direction {
    from: NodeId,
    to: NodeId,
    rate_bps: u64,
    utilisation: f64,
    sums: Sums,
}

impl Direction {
    fn row(&self, rank: u64, topology: &Topology) -> [Cell; COLUMNS.len()] {
        [
            rank.into(),
            topology.name(self.from).into(),
            topology.name(self.to).into(),
            self.rate_bps.into(),
            self.utilisation.into(),
            self.sums.packets.into(),
            self.sums.dropped.into(),
            self.sums.queue_max.into(),
        ]
    }
}

/// All directions of links that accepted or dropped a packet, in the order of interfaces.
fn used(topology: &Topology, end: &End, metrics: &mut Metrics) -> Vec<Direction> {
    let sums = metrics.take_sums(LINKS);
    let of_node = |node| topology.interfaces(node).iter().map(move |interface| (node, interface));
    let direction = |(number, (from, interface)): (u64, (NodeId, &Interface))| {
        let sums = Sums::from_words(sums.get(&number)?)?;
        let rate_bps = topology.link(interface.link).rate_bps;
        let utilisation = sums.utilisation(rate_bps, end.time);
        Some(Direction { from, to: interface.neighbour, rate_bps, utilisation, sums })
    };
    (0..).zip(topology.node_ids().flat_map(of_node)).filter_map(direction).collect()
}

/// Makes the rows; the greatest utilisation.
pub(super) fn conclude(topology: &Topology, end: &End, metrics: &mut Metrics) -> f64 {
    let mut directions = used(topology, end, metrics);
    // Stable sorts: directions alike stay in the order of their interfaces.
    directions.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    let utilisation_max = directions.first().map_or(0.0, |direction| direction.utilisation);
    directions.sort_by_key(|direction| Reverse(direction.sums.dropped));
    for (rank, direction) in (1..).zip(&directions) {
        metrics.row(LINKS, direction.row(rank, topology));
    }
    utilisation_max
}
