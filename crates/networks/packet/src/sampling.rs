//! Samples of a network while it runs: series over virtual time.
//!
//! A global event looks at all nodes while no LP executes, records a point of each series, and schedules the
//! next sample, a period later:
//!
//! - `goodput` or, in networks that are described app by app, `throughput`: payload received in the period,
//!   in bits per second; of a transfer, only data that arrived in order;
//! - `payload_received`, in networks with streams or transfers that are described app by app: the payload of
//!   all segments that arrived in the period, in bits per second. After a loss, `throughput` waits for the
//!   missing segment, and then jumps above the rate of the links; this series does not;
//! - `loss_rate`: packets lost in the period, per second;
//! - `packets_waiting`: packets that wait in all queues at that moment; a packet in transmission does not
//!   wait;
//! - `queue_longest`: packets in the longest of the queues;
//! - `app_throughput_APP` and `app_payload_received_APP` of each app that is asked for, and `app_delay_APP`,
//!   the mean delay of its packets that arrived in the period;
//! - `link_utilisation_LINK`, `link_queue_LINK` and `link_queue_bytes_LINK` of each link that is asked for:
//!   the utilisation of its busier direction in the period, and the packets, and the bytes of the packets,
//!   that wait in the longer of its two queues; and `link_queue_delay_LINK` and `link_queue_delay_max_LINK`,
//!   the mean and the greatest time for which the packets have waited that left the queue in the period, in
//!   the queue where it is longer. They have no point without such packets;
//! - `flow_goodput_FLOW` of each flow that is asked for ([`crate::flow::name`]): the payload that the
//!   receiver got in the period, as in `goodput`; and `flow_payload_received_FLOW`. Of a TCP flow also, at
//!   that moment, the congestion window `flow_cwnd_FLOW`, the threshold of slow start `flow_ssthresh_FLOW`,
//!   the bytes believed to be in the network `flow_in_flight_FLOW`, and the smoothed round trip
//!   `flow_rtt_FLOW`; and `flow_delivery_rate_FLOW`, the payload that acknowledgements reported as delivered
//!   in the period. A threshold that is not set yet and a round trip that is not measured yet have no point.
//!
//! The amount of a period is the difference of two totals, and the event carries the totals of the sample
//! before. Ports note the times for which packets have waited, at the links that are asked for, and a visit
//! takes these notes. It changes nothing else at a node. Sampling changes only the run's series and the
//! digest of its global events.

mod flows;

use crate::description::{App, AppKind, Measure};
use crate::network::{Layout, Network, Vocabulary};
use crate::node::Node;
use crate::packet::Packet;
use crate::port::SojournTotals;
use crate::protocols::Endpoint;
use crate::record::Record;
use flows::{FlowSeries, FlowState, FlowTotals};
use parades_core::metrics::{Metrics, SeriesId, Unit, ValueId};
use parades_core::prelude::{Context, Delay, Global, GlobalContext, Time};
use parades_topology::NodeId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The global event.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sample {
    period: Delay,
    /// The totals of the sample before.
    before: Arc<Totals>,
}

/// The payload that receivers got, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Payload {
    /// As [`Endpoint::received_bytes`] counts it: of streams and transfers, in order.
    usable: u64,
    /// Of all packets that arrived.
    arrived: u64,
}

impl Payload {
    fn of(endpoint: &Endpoint, kind: &AppKind) -> Payload {
        Payload { usable: endpoint.received_bytes(kind), arrived: endpoint.arrived_bytes() }
    }

    fn add(&mut self, other: Payload) {
        self.usable += other.usable;
        self.arrived += other.arrived;
    }
}

/// The series of the payload that some flows received. `arrived` only where that may differ from `usable`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct PayloadSeries {
    usable: SeriesId,
    arrived: Option<SeriesId>,
}

impl PayloadSeries {
    /// Declares the series of apps of some kinds.
    fn declare<'a>(
        names: [&str; 2],
        net: &Layout,
        mut kinds: impl Iterator<Item = &'a AppKind>,
        metrics: &mut Metrics,
    ) -> PayloadSeries {
        let in_order = |kind: &AppKind| matches!(kind, AppKind::Transfer(_) | AppKind::Tcp(_) | AppKind::Stream(_));
        let differ = net.vocabulary == Vocabulary::Apps && kinds.any(in_order);
        let [usable, arrived] = names;
        let usable = metrics.series(usable, Unit::BitsPerSecond);
        PayloadSeries { usable, arrived: differ.then(|| metrics.series(arrived, Unit::BitsPerSecond)) }
    }

    /// Returns the points of a sample. `before` is the payload of the sample before, a period ago.
    fn points(&self, now: Payload, before: Payload, period: Delay) -> impl Iterator<Item = (SeriesId, f64)> {
        let rate = move |bytes: u64| bytes as f64 * 8.0 / period.as_secs_f64();
        let arrived = self.arrived.map(|id| (id, rate(now.arrived.saturating_sub(before.arrived))));
        std::iter::once((self.usable, rate(now.usable.saturating_sub(before.usable)))).chain(arrived)
    }
}

/// Times of packets, and the number of these packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Times {
    /// In picoseconds.
    sum: u128,
    packets: u64,
}

impl Times {
    fn add(&mut self, other: Times) {
        self.sum += other.sum;
        self.packets += other.packets;
    }

    /// Returns the mean of the times since `before`, in seconds. `None` if there are none.
    fn mean_since(self, before: Times) -> Option<f64> {
        let packets = self.packets.saturating_sub(before.packets);
        let sum = self.sum.saturating_sub(before.sum);
        (packets > 0).then(|| sum as f64 / 1e12 / packets as f64)
    }
}

/// The totals of an app.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct AppTotals {
    payload: Payload,
    /// The delays of packets that have arrived.
    delays: Times,
}

impl AppTotals {
    fn add(&mut self, other: AppTotals) {
        self.payload.add(other.payload);
        self.delays.add(other.delays);
    }
}

/// Totals up to a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Totals {
    payload: Payload,
    lost: u64,
    /// The totals of the apps that are asked for.
    of_apps: BTreeMap<u32, AppTotals>,
    /// Totals of the flows that are asked for.
    of_flows: BTreeMap<u32, FlowTotals>,
    /// The busy time of each direction of the links that are asked for.
    busy: BTreeMap<(u32, bool), Delay>,
    /// The packets that have left the queue there.
    started: BTreeMap<(u32, bool), u64>,
}

/// The totals of some nodes, and the packets that wait at them.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    totals: Totals,
    waiting: u64,
    longest: u64,
    /// The packets and the bytes in the longer queue of each link that is asked for. The two queues are
    /// compared by packets, then by bytes.
    queues: BTreeMap<u32, (u64, u64)>,
    /// The times for which the packets have waited that left the queue in the period, by direction of each
    /// link that is asked for.
    sojourns: BTreeMap<(u32, bool), SojournTotals>,
    /// The states of the flows that are asked for. Their totals are still to be added to `totals`.
    flows: BTreeMap<u32, FlowState>,
}

/// The series of a network.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Series {
    throughput: PayloadSeries,
    loss_rate: SeriesId,
    waiting: SeriesId,
    longest: SeriesId,
    /// The number of periods that end within the run and have no sample, if samples are bounded.
    left_out: Option<ValueId>,
    /// The series of each app that is asked for.
    apps: BTreeMap<u32, AppSeries>,
    links: BTreeMap<u32, LinkSeries>,
    flows: BTreeMap<u32, FlowSeries>,
}

/// The series of an app.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct AppSeries {
    payload: PayloadSeries,
    delay: SeriesId,
}

/// The series of a link.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct LinkSeries {
    utilisation: SeriesId,
    queue: SeriesId,
    queue_bytes: SeriesId,
    queue_delay: SeriesId,
    queue_delay_max: SeriesId,
}

impl LinkSeries {
    fn declare(net: &Layout, link: u32, metrics: &mut Metrics) -> LinkSeries {
        let name = &net.link_names[link as usize];
        LinkSeries {
            utilisation: metrics.series(&format!("link_utilisation_{name}"), Unit::Ratio),
            queue: metrics.series(&format!("link_queue_{name}"), Unit::Count),
            queue_bytes: metrics.series(&format!("link_queue_bytes_{name}"), Unit::Bytes),
            queue_delay: metrics.series(&format!("link_queue_delay_{name}"), Unit::Seconds),
            queue_delay_max: metrics.series(&format!("link_queue_delay_max_{name}"), Unit::Seconds),
        }
    }
}

impl Series {
    /// Declares the series of a network.
    pub(crate) fn declare(net: &Layout, metrics: &mut Metrics) -> Series {
        let Measure { apps, links, flows, .. } = &net.measure;
        let throughput = match net.vocabulary {
            Vocabulary::Flows => "goodput",
            Vocabulary::Apps => "throughput",
        };
        let kinds = || net.apps.iter().map(|app| &app.kind);
        let is_bounded = net.measure.samples_max < u64::MAX;
        Series {
            throughput: PayloadSeries::declare([throughput, "payload_received"], net, kinds(), metrics),
            loss_rate: metrics.series("loss_rate", Unit::PerSecond),
            waiting: metrics.series("packets_waiting", Unit::Count),
            longest: metrics.series("queue_longest", Unit::Count),
            left_out: is_bounded.then(|| metrics.value("samples_left_out", Unit::Count)),
            apps: apps
                .iter()
                .map(|&app| {
                    let App { name, kind, .. } = &net.apps[app as usize];
                    let names = ["throughput", "payload_received"].map(|what| format!("app_{what}_{name}"));
                    let kinds = std::iter::once(kind);
                    let payload = PayloadSeries::declare([&names[0], &names[1]], net, kinds, metrics);
                    (app, AppSeries { payload, delay: metrics.series(&format!("app_delay_{name}"), Unit::Seconds) })
                })
                .collect(),
            links: links.iter().map(|&link| (link, LinkSeries::declare(net, link, metrics))).collect(),
            flows: flows.iter().map(|&flow| (flow, FlowSeries::declare(net, flow, metrics))).collect(),
        }
    }
}

/// Reports the number of periods that have no sample because there were too many. A period counts if it ends
/// at the run's end or before, as the last sample of a run is at its end.
pub(crate) fn conclude(net: &Layout, end: Time, metrics: &mut Metrics) {
    if let Some(left_out) = net.ids.series.as_ref().and_then(|series| series.left_out) {
        let wanted = end.as_ps() / net.measure.every.as_ps().max(1);
        metrics.set(left_out, wanted.saturating_sub(net.measure.samples_max));
    }
}

/// Begins to measure the times for which packets wait at a node, at the links that are asked for.
pub(crate) fn measure_sojourns<D: Record>(net: &Layout, id: NodeId, node: &mut Node<Packet<D>>) {
    let Some(series) = net.ids.series.as_ref().filter(|series| !series.links.is_empty()) else { return };
    let last = Time::from_ps(net.measure.every.as_ps().saturating_mul(net.measure.samples_max));
    for (port, interface) in node.egress.ports.iter_mut().zip(net.topology.interfaces(id)) {
        if series.links.contains_key(&interface.link.0) {
            port.measure_sojourns(net.lines.by(&net.topology, *interface), last);
        }
    }
}

impl Summary {
    fn of_node<D: Record>(net: &Layout, id: NodeId, node: &mut Node<Packet<D>>, now: Time) -> Summary {
        let mut summary = Summary::default();
        let Some(series) = &net.ids.series else { return summary };
        summary.totals.lost = node.egress.lost.values().flatten().sum();
        for (endpoint, &address) in node.endpoints.iter().zip(net.slots.of(id)) {
            let (flow, _) = net.slots.role(address);
            let payload = Payload::of(endpoint, net.kind_of(flow));
            summary.totals.payload.add(payload);
            let app = net.app_of_flow[flow as usize];
            if series.apps.contains_key(&app) {
                let delays = endpoint.sink().map_or_else(Times::default, |sink| Times {
                    sum: sink.delay_sum(),
                    packets: sink.arrivals.packets,
                });
                summary.totals.of_apps.entry(app).or_default().add(AppTotals { payload, delays });
            }
            if series.flows.contains_key(&flow) {
                summary.flows.entry(flow).or_default().add(&FlowState::of_end(endpoint, payload));
            }
        }
        for (port, interface) in node.egress.ports.iter_mut().zip(net.topology.interfaces(id)) {
            let waiting = port.waiting_at(now);
            summary.waiting += waiting;
            summary.longest = summary.longest.max(waiting);
            let link = interface.link.0;
            if series.links.contains_key(&link) {
                let is_back = net.topology.link(interface.link).a != id;
                summary.totals.busy.insert((link, is_back), port.busy_at(now, net.lines.by(&net.topology, *interface)));
                summary.totals.started.insert((link, is_back), port.started_at(now));
                summary.sojourns.insert((link, is_back), port.take_sojourns(now));
                let longer = summary.queues.entry(link).or_default();
                *longer = (waiting, port.waiting_bytes_at(now)).max(*longer);
            }
        }
        summary
    }
}

impl Sample {
    /// Returns the first sample of a run, and its time. `None` if the period is zero.
    pub(crate) fn first(period: Delay) -> Option<(Time, Sample)> {
        let time = Time::ZERO.checked_add(period).filter(|&time| time > Time::ZERO)?;
        Some((time, Sample { period, before: Arc::default() }))
    }

    /// Records the points of the apps, links and flows that are asked for.
    fn selected<D: Record>(&self, series: &Series, summary: &Summary, ctx: &mut GlobalContext<'_, Network<D>>) {
        let (before, now) = (&self.before, &summary.totals);
        for (app, of_app) in &series.apps {
            let of = |totals: &Totals| totals.of_apps.get(app).copied().unwrap_or_default();
            let (now, before) = (of(now), of(before));
            for (id, x) in of_app.payload.points(now.payload, before.payload, self.period) {
                ctx.point(id, x);
            }
            if let Some(delay) = now.delays.mean_since(before.delays) {
                ctx.point(of_app.delay, delay);
            }
        }
        for (&link, of_link) in &series.links {
            let busy = |totals: &Totals, is_back| totals.busy.get(&(link, is_back)).map_or(0, |busy| busy.as_ps());
            let busier =
                [false, true].map(|is_back| busy(now, is_back).saturating_sub(busy(before, is_back))).into_iter().max();
            ctx.point(of_link.utilisation, busier.unwrap_or(0) as f64 / self.period.as_ps() as f64);
            let (packets, bytes) = summary.queues.get(&link).copied().unwrap_or_default();
            ctx.point(of_link.queue, packets as f64);
            ctx.point(of_link.queue_bytes, bytes as f64);
            let sojourns = |is_back| {
                let started = |totals: &Totals| totals.started.get(&(link, is_back)).copied().unwrap_or_default();
                let packets = started(now).saturating_sub(started(before));
                let SojournTotals { sum, max } = summary.sojourns.get(&(link, is_back)).copied().unwrap_or_default();
                (packets > 0).then(|| (sum as f64 / 1e12 / packets as f64, max.as_secs_f64()))
            };
            let directions = || [false, true].into_iter().filter_map(sojourns);
            if let Some(longer) = directions().map(|(mean, _)| mean).max_by(f64::total_cmp) {
                ctx.point(of_link.queue_delay, longer);
            }
            if let Some(longest) = directions().map(|(_, max)| max).max_by(f64::total_cmp) {
                ctx.point(of_link.queue_delay_max, longest);
            }
        }
        for (flow, of_flow) in &series.flows {
            let before = before.of_flows.get(flow).copied().unwrap_or_default();
            let state = summary.flows.get(flow).copied().unwrap_or_default();
            for (id, x) in of_flow.points(&state, before, self.period) {
                ctx.point(id, x);
            }
        }
    }

    /// Returns the number of samples until `now`.
    fn number(&self, now: Time) -> u64 {
        now.as_ps() / self.period.as_ps().max(1)
    }

    fn per_second(&self, of: u64) -> f64 {
        of as f64 / self.period.as_secs_f64()
    }
}

impl<D: Record> Global<Network<D>> for Sample {
    type Summary = Summary;

    fn visit(&self, net: &Network<D>, node: &mut Node<Packet<D>>, ctx: &mut Context<'_, Network<D>>) -> Summary {
        Summary::of_node(&net.layout, NodeId(ctx.id().0), node, ctx.now())
    }

    fn fold(&self, mut left: Summary, right: Summary) -> Summary {
        left.totals.payload.add(right.totals.payload);
        left.totals.lost += right.totals.lost;
        left.waiting += right.waiting;
        left.longest = left.longest.max(right.longest);
        left.totals.busy.extend(right.totals.busy);
        left.totals.started.extend(right.totals.started);
        left.sojourns.extend(right.sojourns);
        for (app, totals) in right.totals.of_apps {
            left.totals.of_apps.entry(app).or_default().add(totals);
        }
        for (link, waiting) in right.queues {
            let longer = left.queues.entry(link).or_default();
            *longer = waiting.max(*longer);
        }
        flows::merge(&mut left.flows, right.flows);
        left
    }

    fn act(&self, net: &Network<D>, summary: Summary, ctx: &mut GlobalContext<'_, Network<D>>) {
        let Some(series) = &net.layout.ids.series else { return };
        // All samples are kept until the end, so their number is bounded. The length of the run is not known
        // when the network is described, so the number is checked here. The run goes on without more samples.
        if self.number(ctx.now()) > net.layout.measure.samples_max {
            return;
        }
        let (before, now) = (&self.before, &summary.totals);
        for (id, x) in series.throughput.points(now.payload, before.payload, self.period) {
            ctx.point(id, x);
        }
        ctx.point(series.loss_rate, self.per_second(now.lost.saturating_sub(before.lost)));
        ctx.point(series.waiting, summary.waiting as f64);
        ctx.point(series.longest, summary.longest as f64);
        self.selected(series, &summary, ctx);
        // The last possible sample is the last one before the end of time.
        if ctx.now().checked_add(self.period).is_some() {
            let of_flows = summary.flows.iter().map(|(&flow, state)| (flow, state.totals)).collect();
            let before = Arc::new(Totals { of_flows, ..summary.totals });
            ctx.schedule(self.period, Sample { period: self.period, before });
        }
    }
}
