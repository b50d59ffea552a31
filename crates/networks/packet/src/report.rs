//! The results of a network: their names and their computation.
//!
//! The data of a row are spread over the network: the source of a flow, its sink, the nodes where its packets
//! were lost, and the packets still in flight. Each of them adds its part to sums by flow. At the end the
//! sums become rows, totals, and the proof that every packet is accounted for.
//!
//! There are two vocabularies ([`Vocabulary`]). Both are lists of columns and totals over the same facts.

mod columns;
mod connections;
mod exchanges;
mod failures;
mod flows;
mod ideal;
mod links;
mod path;
mod state;

use crate::description::{App, AppKind};
use crate::network::{Layout, Vocabulary, measures_ends};
use crate::node::Node;
use crate::packet::Packet;
use crate::protocols::Duration;
use crate::record::Record;
use crate::sampling::{self, Series};
use parades_core::metrics::{Cell, Column, CounterId, IntegerId, MetricId, Metrics, TableId, Unit, ValueId};
use parades_core::run::End;
use parades_core::time::Delay;
use parades_topology::NodeId;
pub(crate) use path::least_on_paths;

pub(crate) use flows::in_flight;

const FLOWS: MetricId = MetricId(0);
const LINKS: MetricId = MetricId(1);
// Tables of networks that are described app by app.
const TRANSFERS: MetricId = MetricId(2);
const REQUESTS: MetricId = MetricId(3);

/// The name of the metric that is a note for the user. It is no figure.
const NOTE: &str = "note";

/// The metrics of a network, beside the tables.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// The delays of all packets, in networks that do not measure them app by app.
    delay: Option<IntegerId>,
    /// The durations of all TCP streams, in such networks.
    completion: Option<IntegerId>,
    /// The table of TCP connections, in networks that have some.
    connections: Option<TableId>,
    apps: Vec<AppIds>,
    counters: Vec<CounterId>,
    loss_ratio: Option<ValueId>,
    jitter_mean: Option<ValueId>,
    utilisation_max: Option<ValueId>,
    /// Directions of links that no packet was offered to. The table of links leaves them out.
    link_directions_idle: Option<ValueId>,
    pub(crate) series: Option<Series>,
    /// Copies made of packets of groups, in networks that have groups.
    pub(crate) copies_made: Option<CounterId>,
    /// The table of failures, in networks that have some.
    failures: Option<TableId>,
    /// The mean, two percentiles and the greatest of the slowdowns of flows, in networks that measure them.
    slowdowns: Option<[ValueId; 4]>,
    /// A sentence on flows that could not complete.
    note: Option<ValueId>,
}

/// The metrics of an app.
#[derive(Clone, Copy, Debug)]
struct AppIds {
    /// The delays of its packets, answers left out.
    delay: IntegerId,
    throughput: ValueId,
    loss_ratio: ValueId,
    /// The durations of its transfers or responses, if it has any.
    completion: Option<IntegerId>,
    /// Its unfinished flows or, if it has requests, its unfinished requests.
    unfinished: Option<ValueId>,
}

impl Ids {
    /// Returns the metric of a duration that an endpoint of an app measures.
    #[inline]
    pub(crate) fn duration(&self, duration: Duration, app: impl FnOnce() -> u32) -> IntegerId {
        match (duration, self.delay) {
            (Duration::Delay, Some(delay)) => delay,
            (Duration::Delay, None) => self.apps[app() as usize].delay,
            (Duration::Completion, _) => {
                let of_app = || self.apps[app() as usize].completion.expect("the app measures completions");
                self.completion.unwrap_or_else(of_app)
            }
        }
    }
}

/// Declares the metrics of a network.
pub(crate) fn declare(net: &Layout) -> (Metrics, Ids) {
    let columns = |of: &[(&str, Unit)]| of.iter().map(|&(name, unit)| Column::new(name, unit)).collect();
    let (mut metrics, mut ids) = (Metrics::new(), Ids::default());
    let of_flows = columns::of_flows(net).map(columns::OfFlow::heading);
    assert_eq!(metrics.table("flows", of_flows.collect()), FLOWS);
    let of_links = columns::of_links(net.vocabulary).iter().map(|column| Column::new(column.name, column.unit));
    assert_eq!(metrics.table("links", of_links.collect()), LINKS);
    match net.vocabulary {
        Vocabulary::Flows => ids.delay = Some(metrics.histogram("delay", Unit::Picoseconds)),
        Vocabulary::Apps => {
            assert_eq!(metrics.table("transfers", columns(&exchanges::TRANSFER_COLUMNS)), TRANSFERS);
            assert_eq!(metrics.table("requests", columns(&exchanges::REQUEST_COLUMNS)), REQUESTS);
        }
    }
    if net.has_connections() {
        ids.connections = Some(metrics.table("connections", columns(&connections::COLUMNS)));
        if net.vocabulary == Vocabulary::Flows {
            ids.completion = Some(metrics.histogram("completion", Unit::Picoseconds));
        }
    }
    let counters = columns::totals(net.vocabulary).iter();
    ids.counters = counters.map(|total| metrics.counter(total.name, total.unit)).collect();
    ids.loss_ratio = Some(metrics.value("loss_ratio", Unit::Ratio));
    if net.vocabulary == Vocabulary::Flows {
        ids.jitter_mean = Some(metrics.value("jitter_mean", Unit::Seconds));
    }
    if net.has_ends() {
        let name = |of: &str| format!("slowdown_{of}");
        let names = ["mean", "p50", "p99", "max"].map(name);
        ids.slowdowns = Some(names.map(|name| metrics.value(&name, Unit::Ratio)));
    }
    ids.utilisation_max = Some(metrics.value("utilisation_max", Unit::Ratio));
    ids.link_directions_idle = Some(metrics.value("link_directions_idle", Unit::Count));
    if net.vocabulary == Vocabulary::Apps {
        ids.apps = net.apps.iter().map(|app| declare_app(app, &mut metrics)).collect();
    }
    if net.measure.every > Delay::ZERO {
        ids.series = Some(Series::declare(net, &mut metrics));
    }
    if net.slots.groups() > 0 {
        ids.copies_made = Some(metrics.counter("copies_made", Unit::Count));
    }
    if !net.forwarding.failures.all().is_empty() {
        ids.failures = Some(metrics.table("failures", columns(&failures::COLUMNS)));
    }
    if ids.failures.is_some() || net.has_connections() || net.has_ends() {
        ids.note = Some(metrics.value(NOTE, Unit::Count));
    }
    (metrics, ids)
}

fn declare_app(App { name, kind, .. }: &App, metrics: &mut Metrics) -> AppIds {
    let completion = match kind {
        AppKind::Datagrams(_) | AppKind::Multicast(_) => None,
        AppKind::Transfer(_) | AppKind::Tcp(_) | AppKind::Other(_) | AppKind::Stream(_) => Some("completion"),
        AppKind::Requests(_) => Some("response"),
    };
    AppIds {
        delay: metrics.histogram(&format!("delay_{name}"), Unit::Picoseconds),
        throughput: metrics.value(&format!("throughput_{name}"), Unit::BitsPerSecond),
        loss_ratio: metrics.value(&format!("loss_ratio_{name}"), Unit::Ratio),
        completion: completion.map(|what| metrics.histogram(&format!("{what}_{name}"), Unit::Picoseconds)),
        unfinished: measures_ends(kind).then(|| metrics.value(&format!("unfinished_{name}"), Unit::Count)),
    }
}

/// Adds the part of a node.
pub(crate) fn finish<D: Record>(net: &Layout, id: NodeId, node: &Node<Packet<D>>, end: &End, metrics: &mut Metrics) {
    for (endpoint, &address) in node.endpoints.iter().zip(net.slots.of(id)) {
        flows::finish_endpoint(net, address, endpoint, end, metrics);
        exchanges::finish_endpoint(net, address, endpoint, end, metrics);
        connections::finish_endpoint(net, address, endpoint, metrics);
    }
    for (&key, &lost) in &node.egress.lost {
        if !failures::finish_lost(net, key, lost, metrics) {
            flows::finish_lost(net, key, lost, metrics);
        }
    }
    for (key, copies) in node.egress.duplicated() {
        flows::finish_duplicated(net, key, copies, metrics);
    }
    for (slot, copies) in node.egress.copies() {
        flows::finish_copies(net, net.slots.of(id)[slot as usize], copies, metrics);
    }
    links::finish(net, id, &node.egress.ports, end, metrics);
}

/// Makes tables and totals, and checks that every packet is accounted for.
pub(crate) fn conclude(net: &Layout, end: &End, metrics: &mut Metrics) -> Result<(), String> {
    flows::conclude(net, end, metrics)?;
    let (utilisation_max, idle) = links::conclude(net, end, metrics);
    set(metrics, net.ids.utilisation_max, utilisation_max);
    set(metrics, net.ids.link_directions_idle, idle);
    sampling::conclude(net, end.time, metrics);
    if net.vocabulary == Vocabulary::Apps {
        exchanges::conclude(net, metrics);
    }
    connections::conclude(net, metrics);
    if let Some(id) = net.ids.failures {
        failures::conclude(net, id, end, metrics);
    }
    Ok(())
}

/// Sets a value, if the network has the metric.
fn set(metrics: &mut Metrics, id: Option<ValueId>, value: impl Into<Cell>) {
    if let Some(id) = id {
        metrics.set(id, value);
    }
}

/// Returns a quotient; an empty cell if the divisor is not positive.
fn ratio(of: f64, by: f64) -> Cell {
    if by > 0.0 { Cell::Float(of / by) } else { Cell::Empty }
}
