//! The results of a packet-level network.
//!
//! What is known of a flow is known in several places: at its source, at its sink, where its packets were dropped, and by those still in
//! flight. Each adds its part to sums by flow; at the end they become the rows of the table `flows`, and the totals, and the proof that no
//! packet was lost from sight.

use crate::network::Network;
use crate::node::{Node, Packet};
use crate::topology::NodeId;
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

pub(crate) const FLOWS: MetricId = MetricId(0);
pub(crate) const DELAY: MetricId = MetricId(1);
const BUSIEST: MetricId = MetricId(2);
const DROPPING: MetricId = MetricId(3);
/// How many counters there are.
const COUNTER_COUNT: u32 = 8;
/// The first of the counters, in the order of [`COUNTERS`].
const FIRST_COUNTER: u32 = 4;
const COUNTERS: [(&str, Unit); COUNTER_COUNT as usize] = [
    ("flows_total", Unit::Count),
    ("flows_complete", Unit::Count),
    ("packets_sent", Unit::Count),
    ("packets_delivered", Unit::Count),
    ("packets_dropped", Unit::Count),
    ("packets_in_flight", Unit::Count),
    ("packets_reordered", Unit::Count),
    ("bytes_delivered", Unit::Bytes),
];
/// The first of the values, in the order of [`VALUES`].
const FIRST_VALUE: u32 = FIRST_COUNTER + COUNTER_COUNT;
const VALUES: [(&str, Unit); 8] = [
    ("delay_mean", Unit::Seconds),
    ("delay_p50", Unit::Seconds),
    ("delay_p95", Unit::Seconds),
    ("delay_p99", Unit::Seconds),
    ("jitter_mean", Unit::Seconds),
    ("loss_ratio", Unit::Ratio),
    ("goodput", Unit::BitsPerSecond),
    ("utilisation_max", Unit::Ratio),
];

const FLOW_COLUMNS: [(&str, Unit); 21] = [
    ("flow", Unit::Count),
    ("source", Unit::Count),
    ("destination", Unit::Count),
    ("start", Unit::Picoseconds),
    ("complete", Unit::Count),
    ("packets_sent", Unit::Count),
    ("packets_delivered", Unit::Count),
    ("packets_dropped", Unit::Count),
    ("packets_in_flight", Unit::Count),
    ("packets_reordered", Unit::Count),
    ("bytes_sent", Unit::Bytes),
    ("bytes_delivered", Unit::Bytes),
    ("delay_mean", Unit::Picoseconds),
    ("delay_min", Unit::Picoseconds),
    ("delay_max", Unit::Picoseconds),
    ("jitter", Unit::Picoseconds),
    ("first_arrival", Unit::Picoseconds),
    ("last_arrival", Unit::Picoseconds),
    ("duration", Unit::Picoseconds),
    ("loss_ratio", Unit::Ratio),
    ("goodput", Unit::BitsPerSecond),
];
const LINK_COLUMNS: [(&str, Unit); 8] = [
    ("rank", Unit::Count),
    ("from", Unit::Count),
    ("to", Unit::Count),
    ("utilisation", Unit::Ratio),
    ("packets", Unit::Count),
    ("bytes", Unit::Bytes),
    ("dropped", Unit::Count),
    ("queue_max", Unit::Count),
];
/// How many links the tables of links list.
const LINKS_LISTED: usize = 10;

/// The metrics of every packet-level network.
pub(crate) fn declare() -> Metrics {
    let columns = |of: &[(&str, Unit)]| of.iter().map(|&(name, unit)| Column::new(name, unit)).collect();
    let mut metrics = Metrics::new();
    assert_eq!(metrics.table("flows", columns(&FLOW_COLUMNS)), FLOWS);
    assert_eq!(metrics.histogram("delay", Unit::Picoseconds), DELAY);
    assert_eq!(metrics.table("links_busiest", columns(&LINK_COLUMNS)), BUSIEST);
    assert_eq!(metrics.table("links_dropping", columns(&LINK_COLUMNS)), DROPPING);
    for (id, (name, unit)) in (FIRST_COUNTER..).zip(COUNTERS) {
        assert_eq!(metrics.counter(name, unit), MetricId(id));
    }
    for (id, (name, unit)) in (FIRST_VALUE..).zip(VALUES) {
        assert_eq!(metrics.value(name, unit), MetricId(id));
    }
    metrics
}

/// What is known of a flow, as sums in this order: zero wherever it is not known.
#[derive(Clone, Copy, Debug, Default)]
struct FlowSums {
    // At the source.
    sent: u64,
    bytes_sent: u64,
    finished: u64,
    // On the way.
    dropped: u64,
    in_flight: u64,
    // At the sink.
    delivered: u64,
    bytes_delivered: u64,
    reordered: u64,
    delay_mean: u64,
    delay_min: u64,
    delay_max: u64,
    jitter: u64,
    first: u64,
    last: u64,
}

impl FlowSums {
    fn to_words(self) -> [u64; 14] {
        let FlowSums { sent, bytes_sent, finished, dropped, in_flight, delivered, bytes_delivered, .. } = self;
        let FlowSums { reordered, delay_mean, delay_min, delay_max, jitter, first, last, .. } = self;
        [
            sent,
            bytes_sent,
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
            first,
            last,
        ]
    }

    fn from_words(words: &[u64]) -> FlowSums {
        let word = |index: usize| words.get(index).copied().unwrap_or(0);
        FlowSums {
            sent: word(0),
            bytes_sent: word(1),
            finished: word(2),
            dropped: word(3),
            in_flight: word(4),
            delivered: word(5),
            bytes_delivered: word(6),
            reordered: word(7),
            delay_mean: word(8),
            delay_min: word(9),
            delay_max: word(10),
            jitter: word(11),
            first: word(12),
            last: word(13),
        }
    }

    /// Whether the source has sent all, and all of that has arrived.
    fn is_complete(&self) -> bool {
        self.finished == 1 && self.delivered == self.sent
    }

    fn row(&self, number: u64, flow: &crate::flow::Flow) -> Vec<Cell> {
        let arrived = |x: u64| if self.delivered > 0 { Cell::Integer(x) } else { Cell::Empty };
        let duration = self.last.saturating_sub(flow.start.as_ps());
        let mut row: Vec<Cell> = [
            number,
            u64::from(flow.source.0),
            u64::from(flow.destination.0),
            flow.start.as_ps(),
            u64::from(self.is_complete()),
            self.sent,
            self.delivered,
            self.dropped,
            self.in_flight,
            self.reordered,
            self.bytes_sent,
            self.bytes_delivered,
        ]
        .map(Cell::Integer)
        .into();
        let times = [self.delay_mean, self.delay_min, self.delay_max, self.jitter, self.first];
        row.extend(times.map(arrived));
        row.extend([self.last, duration].map(arrived));
        row.push(ratio(self.dropped, self.sent));
        row.push(ratio_of(self.bytes_delivered as f64 * 8.0, duration as f64 / 1e12));
        row
    }
}

/// A quotient; nothing where there is nothing to divide by.
fn ratio_of(of: f64, by: f64) -> Cell {
    if by > 0.0 { Cell::Float(of / by) } else { Cell::Empty }
}

fn ratio(of: u64, by: u64) -> Cell {
    ratio_of(of as f64, by as f64)
}

/// Adds what a node knows of its flows and links.
pub(crate) fn finish(network: &Network, id: LpId, node: &Node, metrics: &mut Metrics) {
    let mut add = |flow: u32, sums: FlowSums| {
        metrics.add_to_sums(FLOWS, u64::from(flow), &sums.to_words());
    };
    for (source, &flow) in node.sources.iter().zip(network.outgoing.of(id)) {
        let finished = u64::from(source.finished);
        let (sent, bytes_sent) = (source.packets, source.bytes);
        add(flow, FlowSums { sent, bytes_sent, finished, ..FlowSums::default() });
    }
    for (&flow, &dropped) in &node.dropped {
        add(flow, FlowSums { dropped, ..FlowSums::default() });
    }
    for (sink, &flow) in node.sinks.iter().zip(network.incoming.of(id)) {
        if sink.packets > 0 {
            let sums = FlowSums {
                delivered: sink.packets,
                bytes_delivered: sink.bytes,
                reordered: sink.reordered,
                delay_mean: sink.delay_mean().as_ps(),
                delay_min: sink.delay_min.as_ps(),
                delay_max: sink.delay_max.as_ps(),
                jitter: sink.jitter().as_ps(),
                first: sink.first.as_ps(),
                last: sink.last.as_ps(),
                ..FlowSums::default()
            };
            add(flow, sums);
        }
    }
    let first = network.topology.first_interface(NodeId(id.0)) as u64;
    for (interface, transmitter) in (first..).zip(&node.transmitters) {
        let (sent, queued) = (transmitter.sent(), transmitter.queued());
        if sent.packets + queued.dropped > 0 {
            let sums = LinkSums {
                busy_until: sent.busy_until.as_ps(),
                packets: sent.packets,
                bytes: sent.bytes,
                dropped: queued.dropped,
                queue_max: queued.waiting_max.into(),
            };
            metrics.add_to_sums(BUSIEST, interface, &sums.to_words());
        }
    }
}

/// Adds a packet that was still on its way.
pub(crate) fn in_flight(packet: &Packet, metrics: &mut Metrics) {
    let sums = FlowSums { in_flight: 1, ..FlowSums::default() };
    metrics.add_to_sums(FLOWS, u64::from(packet.flow), &sums.to_words());
}

/// Makes the tables and totals, and checks that no packet was lost from sight.
pub(crate) fn conclude(network: &Network, end: &End, metrics: &mut Metrics) -> Result<(), String> {
    let totals = conclude_flows(network, metrics)?;
    for (id, total) in (FIRST_COUNTER..).zip(totals.counters()) {
        metrics.count(MetricId(id), total);
    }
    let utilisation_max = conclude_links(network, end, metrics);
    let delays = metrics.by_id(DELAY).and_then(MetricValue::histogram);
    let percentile = |percent| {
        let delay = delays.and_then(|delays| delays.percentile(percent));
        delay.map_or(Cell::Empty, |ps| Cell::Float(ps as f64 / 1e12))
    };
    let mean = delays.and_then(|delays| delays.tally().mean());
    let values = [
        mean.map_or(Cell::Empty, |ps| Cell::Float(ps / 1e12)),
        percentile(50.0),
        percentile(95.0),
        percentile(99.0),
        ratio_of(totals.jitter_sum as f64 / 1e12, totals.jittered as f64),
        ratio(totals.dropped, totals.sent),
        ratio_of(totals.bytes_delivered as f64 * 8.0, end.time.as_secs_f64()),
        Cell::Float(utilisation_max),
    ];
    for (id, value) in (FIRST_VALUE..).zip(values) {
        metrics.set(MetricId(id), value);
    }
    Ok(())
}

/// Sums over all flows.
#[derive(Debug, Default)]
struct Totals {
    flows: u64,
    complete: u64,
    sent: u64,
    delivered: u64,
    dropped: u64,
    in_flight: u64,
    reordered: u64,
    bytes_delivered: u64,
    /// In picoseconds, over the flows that delivered two packets or more.
    jitter_sum: u128,
    jittered: u64,
}

impl Totals {
    fn add(&mut self, flow: &FlowSums) {
        self.flows += 1;
        self.complete += u64::from(flow.is_complete());
        self.sent += flow.sent;
        self.delivered += flow.delivered;
        self.dropped += flow.dropped;
        self.in_flight += flow.in_flight;
        self.reordered += flow.reordered;
        self.bytes_delivered += flow.bytes_delivered;
        if flow.delivered > 1 {
            self.jitter_sum += u128::from(flow.jitter);
            self.jittered += 1;
        }
    }

    /// In the order of [`COUNTERS`].
    fn counters(&self) -> [u64; COUNTERS.len()] {
        let Totals { flows, complete, sent, delivered, dropped, in_flight, reordered, .. } = *self;
        [flows, complete, sent, delivered, dropped, in_flight, reordered, self.bytes_delivered]
    }
}

/// Makes a row of each flow, and checks it: packets sent = delivered + dropped + in flight.
fn conclude_flows(network: &Network, metrics: &mut Metrics) -> Result<Totals, String> {
    let mut totals = Totals::default();
    for (number, words) in metrics.take_sums(FLOWS) {
        let flow = network.flows.get(usize::try_from(number).unwrap_or(usize::MAX));
        let flow = flow.ok_or_else(|| format!("flow {number} was measured, but does not exist"))?;
        let sums = FlowSums::from_words(&words);
        let FlowSums { sent, delivered, dropped, in_flight, .. } = sums;
        if sent != delivered + dropped + in_flight {
            return Err(format!(
                "flow {number} sent {sent} packets, of which {delivered} were delivered, {dropped} dropped and {in_flight} in \
                 flight at the end: these do not add up"
            ));
        }
        totals.add(&sums);
        metrics.row(FLOWS, sums.row(number, flow));
    }
    assert_eq!(totals.flows, network.flows.len() as u64, "every flow has a source that reports it");
    let Totals { sent, delivered, dropped, in_flight, .. } = totals;
    assert_eq!(sent, delivered + dropped + in_flight, "what holds of each flow holds of all");
    let measured = metrics.by_id(DELAY).and_then(MetricValue::tally).map_or(0, |delays| delays.count());
    if measured != delivered {
        return Err(format!("{delivered} packets were delivered, but the delays of {measured} were measured"));
    }
    Ok(totals)
}

/// What is known of one direction of a link, as sums in this order; one node alone knows it.
#[derive(Clone, Copy, Debug)]
struct LinkSums {
    busy_until: u64,
    packets: u64,
    bytes: u64,
    dropped: u64,
    queue_max: u64,
}

impl LinkSums {
    fn to_words(self) -> [u64; 5] {
        [self.busy_until, self.packets, self.bytes, self.dropped, self.queue_max]
    }

    fn from_words(words: &[u64]) -> LinkSums {
        let word = |index: usize| words.get(index).copied().unwrap_or(0);
        let [busy_until, packets, bytes, dropped, queue_max] = [0, 1, 2, 3, 4].map(word);
        LinkSums { busy_until, packets, bytes, dropped, queue_max }
    }

    /// The share of the time until `end` in which a transmitter of this rate was busy.
    fn utilisation(&self, rate_bps: u64, end: Time) -> f64 {
        // What was accepted and not yet transmitted does not count; the transmitter is busy with it from the end on.
        let after = Time::from_ps(self.busy_until).since(end);
        let busy = Delay::serialisation(self.bytes, rate_bps).as_ps().saturating_sub(after.as_ps());
        if end > Time::ZERO { busy as f64 / end.as_ps() as f64 } else { 0.0 }
    }
}

/// One direction of a link at the end.
#[derive(Debug)]
struct LinkResult {
    ends: (NodeId, NodeId),
    utilisation: f64,
    sums: LinkSums,
}

impl LinkResult {
    fn row(&self, rank: u64, network: &Network) -> [Cell; 8] {
        let LinkSums { packets, bytes, dropped, queue_max, .. } = self.sums;
        let (from, to) = self.ends;
        [
            Cell::Integer(rank),
            network.topology.name(from).into(),
            network.topology.name(to).into(),
            Cell::Float(self.utilisation),
            Cell::Integer(packets),
            Cell::Integer(bytes),
            Cell::Integer(dropped),
            Cell::Integer(queue_max),
        ]
    }
}

/// All directions of links that carried or dropped a packet, in the order of interfaces.
fn used_links(network: &Network, end: &End, metrics: &mut Metrics) -> Vec<LinkResult> {
    let sums = metrics.take_sums(BUSIEST);
    let topology = &network.topology;
    let of_node = |node| topology.interfaces(node).iter().map(move |interface| (node, interface));
    let result = |(number, (node, interface)): (u64, (NodeId, &crate::topology::Interface))| {
        let sums = LinkSums::from_words(sums.get(&number)?);
        let utilisation = sums.utilisation(topology.link(interface.link).rate_bps, end.time);
        Some(LinkResult { ends: (node, interface.neighbour), utilisation, sums })
    };
    (0..).zip(topology.node_ids().flat_map(of_node)).filter_map(result).collect()
}

/// Makes the rows of the busiest and of the most dropping links; the greatest utilisation.
fn conclude_links(network: &Network, end: &End, metrics: &mut Metrics) -> f64 {
    let mut links = used_links(network, end, metrics);
    // Stable sorts: links alike stay in the order of their interfaces.
    links.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    for (rank, link) in (1..).zip(links.iter().take(LINKS_LISTED)) {
        metrics.row(BUSIEST, link.row(rank, network));
    }
    let utilisation_max = links.first().map_or(0.0, |link| link.utilisation);
    links.retain(|link| link.sums.dropped > 0);
    links.sort_by_key(|link| std::cmp::Reverse(link.sums.dropped));
    for (rank, link) in (1..).zip(links.iter().take(LINKS_LISTED)) {
        metrics.row(DROPPING, link.row(rank, network));
    }
    utilisation_max
}
