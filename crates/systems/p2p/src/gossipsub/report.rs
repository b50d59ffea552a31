//! The metrics of a run of GossipSub.

use super::{GossipSub, Machine};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The counters, in the order of [`counts`].
const COUNTERS: [(&str, Unit); 19] = [
    ("messages", Unit::Count),
    ("bytes", Unit::Bytes),
    ("data_bytes", Unit::Bytes),
    ("deliveries", Unit::Count),
    ("repeated_deliveries", Unit::Count),
    ("duplicates", Unit::Count),
    ("rejected", Unit::Count),
    ("ignored", Unit::Count),
    ("grafts", Unit::Count),
    ("prunes", Unit::Count),
    ("early_grafts", Unit::Count),
    ("ihaves", Unit::Count),
    ("iwants", Unit::Count),
    ("broken_promises", Unit::Count),
    ("exchanged_peers", Unit::Count),
    ("mesh_links", Unit::Count),
    ("mesh_links_to_silent", Unit::Count),
    ("mesh_links_to_spammers", Unit::Count),
    ("negative_scores", Unit::Count),
];

/// The ids of the metrics. The counters come first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ids {
    /// The time from a publication to each delivery.
    pub(super) latency: IntegerId,
    /// The number of peers in a mesh, after each heartbeat from the first publication on.
    pub(super) degree: IntegerId,
    /// The fraction of subscribers that got a message, over all messages.
    coverage: ValueId,
    /// The number of copies of a message that a node gets beyond the first, on average.
    duplicates: ValueId,
    rate: ValueId,
    publications: TableId,
}

impl Ids {
    pub(super) fn declare(metrics: &mut Metrics) -> Ids {
        for (name, unit) in COUNTERS {
            metrics.counter(name, unit);
        }
        let columns = [
            ("message", Unit::Count),
            ("author", Unit::Count),
            ("topic", Unit::Count),
            ("published", Unit::Picoseconds),
            ("subscribers", Unit::Count),
            ("deliveries", Unit::Count),
        ];
        Ids {
            latency: metrics.histogram("latency", Unit::Picoseconds),
            degree: metrics.histogram("mesh_degree", Unit::Count),
            coverage: metrics.value("coverage", Unit::Ratio),
            duplicates: metrics.value("duplicates_per_node_and_message", Unit::Count),
            rate: metrics.value("bytes_per_node_and_second", Unit::Bytes),
            publications: metrics.table("publications", columns.map(|(name, unit)| Column::new(name, unit)).into()),
        }
    }

    /// Adds one node.
    pub(super) fn finish(&self, gossipsub: &GossipSub, machine: &Machine, metrics: &mut Metrics) {
        for (id, count) in (0..).zip(counts(gossipsub, machine)) {
            metrics.count(MetricId(id), count);
        }
        for (id, publication) in (0_u32..).zip(gossipsub.publications()) {
            let is_other = publication.author != machine.id;
            let subscribed = u64::from(is_other && machine.is_subscribed(publication.topic));
            let delivered = machine.delivered[(id / 64) as usize] >> (id % 64) & 1;
            metrics.add_to_sums(self.publications, u64::from(id), &[subscribed, delivered]);
        }
    }

    /// Writes the table of publications that lie before the end.
    pub(super) fn conclude(&self, gossipsub: &GossipSub, end: Time, metrics: &mut Metrics) {
        let nodes = f64::from(gossipsub.parameters().nodes);
        let sums = metrics.take_sums(self.publications);
        let (mut subscribers, mut deliveries, mut published) = (0, 0, 0_u32);
        for (&id, sums) in &sums {
            let publication = &gossipsub.publications()[usize::try_from(id).expect("an index")];
            if publication.time >= end {
                continue;
            }
            let (author, topic) = (u64::from(publication.author), u64::from(publication.topic));
            let cells = [id, author, topic, publication.time.as_ps(), sums[0], sums[1]];
            metrics.row(self.publications, cells.map(Cell::from));
            (subscribers, deliveries, published) = (subscribers + sums[0], deliveries + sums[1], published + 1);
        }
        if subscribers > 0 {
            metrics.set(self.coverage, deliveries as f64 / subscribers as f64);
        }
        let counter = |place: u32| metrics.by_id(MetricId(place)).and_then(MetricValue::counter).unwrap_or_default();
        let (bytes, duplicates) = (counter(1) as f64, counter(5) as f64);
        if published > 0 {
            metrics.set(self.duplicates, duplicates / nodes / f64::from(published));
        }
        if end > Time::ZERO {
            metrics.set(self.rate, bytes / nodes / end.as_secs_f64());
        }
    }
}

/// Returns the counts of a node, in the order of [`COUNTERS`].
fn counts(gossipsub: &GossipSub, machine: &Machine) -> [u64; COUNTERS.len()] {
    let books = &machine.books;
    let is_good = !gossipsub.is_silent(machine.id) && !gossipsub.is_spammer(machine.id);
    // Links and scores are those of nodes that behave well.
    let links: Vec<u32> = (0..gossipsub.parameters().topics).flat_map(|topic| machine.mesh(topic)).collect();
    let links = |wanted: &dyn Fn(u32) -> bool| links.iter().filter(|&&peer| is_good && wanted(peer)).count() as u64;
    let negative = machine.peers.iter().filter(|peer| is_good && peer.score() < 0.0).count();
    [
        books.messages,
        books.bytes,
        books.data_bytes,
        books.deliveries,
        books.repeated,
        books.duplicates,
        books.rejected,
        books.ignored,
        books.grafts,
        books.prunes,
        books.early_grafts,
        books.ihaves,
        books.iwants,
        books.broken_promises,
        books.exchanged,
        links(&|_| true),
        links(&|peer| gossipsub.is_silent(peer)),
        links(&|peer| gossipsub.is_spammer(peer)),
        negative as u64,
    ]
}
