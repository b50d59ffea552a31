//! The results of a packet-level network: what they are called, and how they are made.
//!
//! What is known of a flow is known in several places: at its source, at its sink, where its packets were dropped, and by those still in
//! flight. Each adds its part to sums by flow; at the end they become the rows of the table `flows`, and the totals, and the proof that no
//! packet was lost from sight. The table `links` has a row for each direction of a link that was used.

pub(crate) mod flows;
mod links;

use crate::network::Network;
use crate::node::{Node, Packet};
use flows::Totals;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;
use parades_topology::Topology;

pub(crate) const FLOWS: MetricId = MetricId(0);
const LINKS: MetricId = MetricId(1);
pub(crate) const DELAY: MetricId = MetricId(2);
/// The first of the counters, in the order of [`COUNTERS`].
const FIRST_COUNTER: u32 = 3;
const COUNTERS: [(&str, Unit); 8] = [
    ("flows_total", Unit::Count),
    ("flows_complete", Unit::Count),
    ("packets_sent", Unit::Count),
    ("packets_delivered", Unit::Count),
    ("packets_dropped", Unit::Count),
    ("packets_in_flight", Unit::Count),
    ("packets_reordered", Unit::Count),
    ("bytes_delivered", Unit::Bytes),
];
const LOSS_RATIO: MetricId = MetricId(11);
const JITTER_MEAN: MetricId = MetricId(12);
const UTILISATION_MAX: MetricId = MetricId(13);

/// The series of a network that is sampled ([`crate::sampling`]).
pub(crate) struct Series;

impl Series {
    pub(crate) const GOODPUT: MetricId = MetricId(14);
    pub(crate) const DROP_RATE: MetricId = MetricId(15);
    pub(crate) const PACKETS_WAITING: MetricId = MetricId(16);
    pub(crate) const QUEUE_LONGEST: MetricId = MetricId(17);

    fn declare(metrics: &mut Metrics) {
        assert_eq!(metrics.series("goodput", Unit::BitsPerSecond), Series::GOODPUT);
        assert_eq!(metrics.series("drop_rate", Unit::PerSecond), Series::DROP_RATE);
        assert_eq!(metrics.series("packets_waiting", Unit::Count), Series::PACKETS_WAITING);
        assert_eq!(metrics.series("queue_longest", Unit::Count), Series::QUEUE_LONGEST);
    }
}

/// The metrics of every packet-level network, and the series of one that is sampled.
pub(crate) fn declare(is_sampled: bool) -> Metrics {
    let columns = |of: &[(&str, Unit)]| of.iter().map(|&(name, unit)| Column::new(name, unit)).collect();
    let mut metrics = Metrics::new();
    assert_eq!(metrics.table("flows", columns(&flows::COLUMNS)), FLOWS);
    assert_eq!(metrics.table("links", columns(&links::COLUMNS)), LINKS);
    assert_eq!(metrics.histogram("delay", Unit::Picoseconds), DELAY);
    for (id, (name, unit)) in (FIRST_COUNTER..).zip(COUNTERS) {
        assert_eq!(metrics.counter(name, unit), MetricId(id));
    }
    assert_eq!(metrics.value("loss_ratio", Unit::Ratio), LOSS_RATIO);
    assert_eq!(metrics.value("jitter_mean", Unit::Seconds), JITTER_MEAN);
    assert_eq!(metrics.value("utilisation_max", Unit::Ratio), UTILISATION_MAX);
    if is_sampled {
        Series::declare(&mut metrics);
    }
    metrics
}

/// Adds what a node knows of its flows and links.
pub(crate) fn finish(network: &Network, id: LpId, node: &Node, metrics: &mut Metrics) {
    flows::finish(network, id, node, metrics);
    finish_links(&network.topology, id, node, metrics);
}

/// Adds what a node knows of its links.
pub(crate) fn finish_links(topology: &Topology, id: LpId, node: &Node, metrics: &mut Metrics) {
    links::finish(topology, id, node, metrics);
}

/// Adds a packet that was still on its way.
pub(crate) fn in_flight(packet: &Packet, metrics: &mut Metrics) {
    flows::in_flight(packet, metrics);
}

/// Makes the tables and totals, and checks that no packet was lost from sight.
pub(crate) fn conclude(network: &Network, end: &End, metrics: &mut Metrics) -> Result<(), String> {
    let sums = metrics.take_sums(FLOWS);
    let totals = flows::conclude(&network.flows, &network.topology, sums, metrics)?;
    let lost = ratio(totals.sums.dropped as f64, totals.sums.sent as f64);
    conclude_totals(&totals, lost, &network.topology, (end, metrics))
}

/// Sets the totals, and makes the table of links.
pub(crate) fn conclude_totals(
    totals: &Totals,
    lost: Cell,
    topology: &Topology,
    (end, metrics): (&End, &mut Metrics),
) -> Result<(), String> {
    let measured = metrics.by_id(DELAY).and_then(MetricValue::tally).map_or(0, |delays| delays.count());
    let delivered = totals.sums.delivered;
    if measured != delivered {
        return Err(format!("{delivered} packets were delivered, but the delays of {measured} were measured"));
    }
    for (id, total) in (FIRST_COUNTER..).zip(totals.counters()) {
        metrics.count(MetricId(id), total);
    }
    metrics.set(LOSS_RATIO, lost);
    metrics.set(JITTER_MEAN, ratio(totals.jitter_sum as f64 / 1e12, totals.jittered as f64));
    let utilisation_max = links::conclude(topology, end, metrics);
    metrics.set(UTILISATION_MAX, utilisation_max);
    Ok(())
}

/// A quotient; nothing where there is nothing to divide by.
pub(crate) fn ratio(of: f64, by: f64) -> Cell {
    if by > 0.0 { Cell::Float(of / by) } else { Cell::Empty }
}
