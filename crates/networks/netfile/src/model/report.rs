//! The results: what they are called, and how they are made.
//!
//! Whoever knows a part of what a row needs (the source of a flow, its sink, where its packets were lost, those still on their way) adds it
//! to sums by flow; at the end they become rows, totals, and the proof that no packet was lost from sight.

use crate::description::{App, AppKind, Description};
use crate::model::node::{Node, Packet, Role};
use crate::model::port::LOSSES;
use crate::model::sample::Series;
use crate::model::{Internetwork, Numbered};
use parades_core::event::LpId;
use parades_core::metrics::{Cell, Column, MetricId, Metrics, Unit};
use parades_core::run::End;
use parades_core::time::{Delay, Time};
use parades_packet::flow::Sink;

const FLOWS: MetricId = MetricId(0);
const LINKS: MetricId = MetricId(1);
const TRANSFERS: MetricId = MetricId(2);
const REQUESTS: MetricId = MetricId(3);
const FIRST_COUNTER: u32 = 4;
const COUNTERS: [(&str, Unit); 10] = [
    ("flows_total", Unit::Count),
    ("flows_complete", Unit::Count),
    ("packets_sent", Unit::Count),
    ("packets_received", Unit::Count),
    ("packets_lost", Unit::Count),
    ("packets_lost_queue", Unit::Count),
    ("packets_lost_chance", Unit::Count),
    ("packets_lost_down", Unit::Count),
    ("packets_in_flight", Unit::Count),
    ("bytes_received", Unit::Bytes),
];
const LOSS_RATIO: MetricId = MetricId(14);
const UTILISATION_MAX: MetricId = MetricId(15);
const FIRST_OF_APPS: u32 = 16;

/// The columns of the table `flows`. `duration` is from the flow's start to the last arrival, `throughput` what was received in it; of a transfer,
/// once; of requests, both are of what comes back.
const FLOW_COLUMNS: [(&str, Unit); 26] = [
    ("flow", Unit::Count),
    ("app", Unit::Count),
    ("source", Unit::Count),
    ("destination", Unit::Count),
    ("packets_sent", Unit::Count),
    ("packets_received", Unit::Count),
    ("packets_lost", Unit::Count),
    ("delay_mean", Unit::Picoseconds),
    ("delay_p95", Unit::Picoseconds),
    ("throughput", Unit::BitsPerSecond),
    ("start", Unit::Picoseconds),
    ("duration", Unit::Picoseconds),
    ("complete", Unit::Count),
    ("bytes_received", Unit::Bytes),
    ("lost_queue", Unit::Count),
    ("lost_chance", Unit::Count),
    ("lost_down", Unit::Count),
    ("delay_min", Unit::Picoseconds),
    ("delay_p50", Unit::Picoseconds),
    ("delay_p99", Unit::Picoseconds),
    ("delay_max", Unit::Picoseconds),
    ("jitter", Unit::Picoseconds),
    ("packets_reordered", Unit::Count),
    ("answers_sent", Unit::Count),
    ("answers_received", Unit::Count),
    ("answers_lost", Unit::Count),
];

/// The columns of `links`. Rank 1 is the direction that lost the most packets; of those alike, the busiest.
const LINK_COLUMNS: [(&str, Unit); 11] = [
    ("rank", Unit::Count),
    ("link", Unit::Count),
    ("from", Unit::Count),
    ("to", Unit::Count),
    ("rate", Unit::BitsPerSecond),
    ("utilisation", Unit::Ratio),
    ("packets_sent", Unit::Count),
    ("lost_queue", Unit::Count),
    ("lost_chance", Unit::Count),
    ("lost_down", Unit::Count),
    ("queue_max", Unit::Count),
];

const TRANSFER_COLUMNS: [(&str, Unit); 10] = [
    ("flow", Unit::Count),
    ("app", Unit::Count),
    ("source", Unit::Count),
    ("destination", Unit::Count),
    ("bytes", Unit::Bytes),
    ("bytes_acknowledged", Unit::Bytes),
    ("segments_sent", Unit::Count),
    ("segments_sent_again", Unit::Count),
    ("timeouts", Unit::Count),
    ("completion", Unit::Picoseconds),
];

const REQUEST_COLUMNS: [(&str, Unit); 9] = [
    ("flow", Unit::Count),
    ("app", Unit::Count),
    ("client", Unit::Count),
    ("server", Unit::Count),
    ("responses", Unit::Count),
    ("timeouts", Unit::Count),
    ("response_mean", Unit::Picoseconds),
    ("response_min", Unit::Picoseconds),
    ("response_max", Unit::Picoseconds),
];

/// Which metrics there are.
#[derive(Debug)]
pub(crate) struct Ids {
    /// The first of each app's: its delays, its throughput, its loss ratio; of some, how long their transfers or responses took.
    apps: Vec<u32>,
    series: Option<Series>,
}

impl Ids {
    pub(crate) fn new(description: &Description) -> Ids {
        let mut next = FIRST_OF_APPS;
        let apps = description.apps.iter().map(|app| {
            let first = next;
            next += if took(&app.kind).is_some() { 4 } else { 3 };
            first
        });
        let apps = apps.collect();
        let sampled = description.measure.every > Delay::ZERO;
        Ids { apps, series: sampled.then(|| Series::new(description, next)) }
    }

    fn of_app(&self, app: u32, place: u32) -> MetricId {
        MetricId(self.apps[app as usize] + place)
    }

    /// The delays of an app's packets, answers left out.
    #[inline]
    pub(crate) fn delay(&self, app: u32) -> MetricId {
        self.of_app(app, 0)
    }

    /// How long an app's transfers took, or its clients waited.
    pub(crate) fn took(&self, app: u32) -> MetricId {
        self.of_app(app, 3)
    }

    /// Of a network that is sampled.
    pub(crate) fn series(&self) -> Option<&Series> {
        self.series.as_ref()
    }

    /// The metrics of a network.
    pub(crate) fn declare(&self, description: &Description) -> Metrics {
        let columns = |of: &[(&str, Unit)]| of.iter().map(|&(name, unit)| Column::new(name, unit)).collect();
        let mut metrics = Metrics::new();
        assert_eq!(metrics.table("flows", columns(&FLOW_COLUMNS)), FLOWS);
        assert_eq!(metrics.table("links", columns(&LINK_COLUMNS)), LINKS);
        assert_eq!(metrics.table("transfers", columns(&TRANSFER_COLUMNS)), TRANSFERS);
        assert_eq!(metrics.table("requests", columns(&REQUEST_COLUMNS)), REQUESTS);
        for (id, (name, unit)) in (FIRST_COUNTER..).zip(COUNTERS) {
            assert_eq!(metrics.counter(name, unit), MetricId(id));
        }
        assert_eq!(metrics.value("loss_ratio", Unit::Ratio), LOSS_RATIO);
        assert_eq!(metrics.value("utilisation_max", Unit::Ratio), UTILISATION_MAX);
        for (number, App { name, kind, .. }) in (0..).zip(&description.apps) {
            assert_eq!(metrics.histogram(&format!("delay_{name}"), Unit::Picoseconds), self.delay(number));
            metrics.value(&format!("throughput_{name}"), Unit::BitsPerSecond);
            metrics.value(&format!("loss_ratio_{name}"), Unit::Ratio);
            if let Some(what) = took(kind) {
                assert_eq!(metrics.histogram(&format!("{what}_{name}"), Unit::Picoseconds), self.took(number));
            }
        }
        if let Some(series) = &self.series {
            series.declare(description, &mut metrics);
        }
        metrics
    }
}

/// What an app measures the duration of.
fn took(kind: &AppKind) -> Option<&'static str> {
    match kind {
        AppKind::Datagrams { .. } => None,
        AppKind::Transfer(_) => Some("completion"),
        AppKind::Requests(_) => Some("response"),
    }
}

// The places of a flow's sums.
const SENT: usize = 0;
const RECEIVED: usize = 1;
const BYTES: usize = 2;
const LOST: usize = 3;
const IN_FLIGHT: usize = LOST + LOSSES;
const BACK_SENT: usize = IN_FLIGHT + 1;
const BACK_RECEIVED: usize = BACK_SENT + 1;
const BACK_LOST: usize = BACK_RECEIVED + 1;
const BACK_IN_FLIGHT: usize = BACK_LOST + LOSSES;
const MEAN: usize = BACK_IN_FLIGHT + 1;
const MIN: usize = MEAN + 1;
const P50: usize = MIN + 1;
const P95: usize = P50 + 1;
const P99: usize = P95 + 1;
const MAX: usize = P99 + 1;
const JITTER: usize = MAX + 1;
const REORDERED: usize = JITTER + 1;
const LAST: usize = REORDERED + 1;
/// Set by the source where all has been sent, and by the ends of transfers and requests where all is done.
const DONE: usize = LAST + 1;
const SUMS: usize = DONE + 1;

type Sums = [u64; SUMS];

fn add(flow: u32, metrics: &mut Metrics, of: impl IntoIterator<Item = (usize, u64)>) {
    let mut sums: Sums = [0; SUMS];
    of.into_iter().for_each(|(place, amount)| sums[place] += amount);
    metrics.add_to_sums(FLOWS, u64::from(flow), &sums);
}

/// Adds a packet that was still on its way.
pub(crate) fn in_flight(packet: &Packet, metrics: &mut Metrics) {
    if !packet.served {
        let place = if packet.way().is_multiple_of(2) { IN_FLIGHT } else { BACK_IN_FLIGHT };
        add(packet.way() / 2, metrics, [(place, 1)]);
    }
}

/// Adds what a node knows.
pub(crate) fn finish(net: &Internetwork, (id, node): (LpId, &Node), end: &End, metrics: &mut Metrics) {
    for (part, &way) in node.ends.iter().zip(net.ends_of(id)) {
        finish_end(net, way / 2, part, metrics);
    }
    for (&way, lost) in &node.lost {
        let place = if way.is_multiple_of(2) { LOST } else { BACK_LOST };
        add(way / 2, metrics, (place..).zip(*lost));
    }
    for (number, port) in (u64::from(net.arcs.first(id.0))..).zip(&node.ports) {
        let (sent, lost) = (port.sent(), port.lost());
        if sent.packets > 0 || lost != [0; LOSSES] {
            let busy = port.busy_at(end.time).as_ps();
            let [queue, chance, down] = lost;
            let words = [busy, sent.packets, queue, chance, down, port.waiting_max().into()];
            metrics.add_to_sums(LINKS, number, &words);
        }
    }
}

fn finish_end(net: &Internetwork, flow: u32, end: &crate::model::node::End, metrics: &mut Metrics) {
    let of_sink = |sink: &Sink, bytes: u64| {
        let arrived = if sink.packets > 0 {
            let percentile = |percent| {
                let found = end.delays.as_ref().and_then(|delays| delays.percentile(percent));
                // The middle of a bucket may lie beyond all that is in it.
                found.map_or(0, |delay| delay.clamp(sink.delay_min.as_ps(), sink.delay_max.as_ps()))
            };
            vec![
                (MEAN, sink.delay_mean().as_ps()),
                (MIN, sink.delay_min.as_ps()),
                (P50, percentile(50)),
                (P95, percentile(95)),
                (P99, percentile(99)),
                (MAX, sink.delay_max.as_ps()),
                (JITTER, sink.jitter().as_ps()),
                (LAST, sink.last.as_ps()),
            ]
        } else {
            Vec::new()
        };
        arrived.into_iter().chain([(RECEIVED, sink.packets), (BYTES, bytes), (REORDERED, sink.reordered)])
    };
    match (&end.role, net.kind_of(flow)) {
        (Role::Source(source), _) => {
            add(flow, metrics, [(SENT, source.packets), (DONE, u64::from(source.finished))]);
        }
        (Role::Sink(sink), _) => add(flow, metrics, of_sink(sink, sink.bytes)),
        (Role::Sender(sender), AppKind::Transfer(transfer)) => {
            let done = sender.finished < Time::MAX;
            let sums = [(SENT, sender.sent), (BACK_RECEIVED, sender.acknowledgements), (DONE, u64::from(done))];
            add(flow, metrics, sums);
            let took = sender.finished.since(net.flows[flow as usize].flow.start).as_ps();
            let words = [
                transfer.bytes_below(sender.acknowledged()),
                sender.sent,
                sender.sent_again,
                sender.timeouts,
                if done { took } else { u64::MAX },
            ];
            metrics.add_to_sums(TRANSFERS, u64::from(flow), &words);
        }
        (Role::Receiver(receiver), AppKind::Transfer(transfer)) => {
            let bytes = transfer.bytes_below(receiver.next);
            add(flow, metrics, of_sink(&receiver.sink, bytes).chain([(BACK_SENT, receiver.sent)]));
        }
        (Role::Client(client), AppKind::Requests(requests)) => {
            let done = client.responses >= requests.count;
            let sums = [(SENT, u64::from(client.asked)), (BACK_RECEIVED, client.packets), (DONE, u64::from(done))];
            // What a client is there for is what comes back.
            add(flow, metrics, sums.into_iter().chain([(BYTES, client.bytes), (LAST, client.last.as_ps())]));
            let mean = client.sum.checked_div(client.responses).unwrap_or(0);
            let (least, greatest) = (client.least.as_ps(), client.greatest.as_ps());
            let words = [client.responses, client.timeouts, mean, least, greatest];
            metrics.add_to_sums(REQUESTS, u64::from(flow), &words);
        }
        (Role::Server(server), _) => {
            let of_requests = of_sink(&server.sink, 0).filter(|(place, _)| *place != LAST);
            add(flow, metrics, of_requests.chain([(BACK_SENT, server.sent)]));
        }
        _ => unreachable!("ends are of their flow's kind"),
    }
}

/// Makes tables and totals, and checks that no packet was lost from sight.
pub(crate) fn conclude(net: &Internetwork, end: &End, metrics: &mut Metrics) -> Result<(), String> {
    let all = metrics.take_sums(FLOWS);
    let mut totals: Sums = [0; SUMS];
    let mut complete = 0;
    let mut of_apps: Vec<(Sums, Time)> = vec![([0; SUMS], Time::MAX); net.description.apps.len()];
    for (flow, words) in all {
        let of = net.flows[usize::try_from(flow).expect("flows are counted in 32 bits")];
        let mut sums: Sums = [0; SUMS];
        sums.iter_mut().zip(&words).for_each(|(sum, word)| *sum = *word);
        check(flow, &sums)?;
        let app = &mut of_apps[of.app as usize];
        app.1 = app.1.min(of.flow.start);
        // Statistics are not added up.
        for place in 0..MEAN {
            totals[place] += sums[place];
            app.0[place] += sums[place];
        }
        let is_complete = is_complete(net, &of, &sums);
        complete += u64::from(is_complete);
        metrics.row(FLOWS, flow_row(net, (flow, &of), &sums, is_complete));
    }
    for (number, (sums, start)) in (0..).zip(&of_apps) {
        let seconds = end.time.since(*start).as_secs_f64();
        metrics.set(net.ids.of_app(number, 1), ratio(sums[BYTES] as f64 * 8.0, seconds));
        metrics.set(net.ids.of_app(number, 2), ratio(lost(sums) as f64, (sums[SENT] + sums[BACK_SENT]) as f64));
    }
    let sent = totals[SENT] + totals[BACK_SENT];
    let of_reason = |reason: usize| totals[LOST + reason] + totals[BACK_LOST + reason];
    let counters = [
        net.flows.len() as u64,
        complete,
        sent,
        totals[RECEIVED] + totals[BACK_RECEIVED],
        lost(&totals),
        of_reason(0),
        of_reason(1),
        of_reason(2),
        totals[IN_FLIGHT] + totals[BACK_IN_FLIGHT],
        totals[BYTES],
    ];
    for (id, total) in (FIRST_COUNTER..).zip(counters) {
        metrics.count(MetricId(id), total);
    }
    metrics.set(LOSS_RATIO, ratio(lost(&totals) as f64, sent as f64));
    links(net, end, metrics);
    exchanges(net, metrics);
    Ok(())
}

/// Lost packets both ways.
fn lost(sums: &Sums) -> u64 {
    sums[LOST..LOST + LOSSES].iter().chain(&sums[BACK_LOST..BACK_LOST + LOSSES]).sum()
}

/// Packets sent = received + lost + in flight.
fn check(flow: u64, sums: &Sums) -> Result<(), String> {
    let ways = [
        ("", [SENT, RECEIVED, LOST, IN_FLIGHT]),
        ("answers of ", [BACK_SENT, BACK_RECEIVED, BACK_LOST, BACK_IN_FLIGHT]),
    ];
    for (of, [sent, received, first_lost, in_flight]) in ways {
        let [sent, received, in_flight] = [sent, received, in_flight].map(|place| sums[place]);
        let lost: u64 = sums[first_lost..first_lost + LOSSES].iter().sum();
        if sent != received + lost + in_flight {
            return Err(format!(
                "of {of}flow {flow}, {sent} packets were sent, {received} received, {lost} lost and {in_flight} in flight at the end: \
                 these do not add up"
            ));
        }
    }
    Ok(())
}

fn is_complete(net: &Internetwork, of: &Numbered, sums: &Sums) -> bool {
    match net.description.apps[of.app as usize].kind {
        AppKind::Datagrams { .. } => sums[DONE] == 1 && sums[RECEIVED] == sums[SENT],
        AppKind::Transfer(_) | AppKind::Requests(_) => sums[DONE] == 1,
    }
}

fn flow_row(net: &Internetwork, (number, of): (u64, &Numbered), sums: &Sums, complete: bool) -> Vec<Cell> {
    let Description { nodes, apps, measure, .. } = &net.description;
    let app = &apps[of.app as usize];
    let arrived = |x: u64| if sums[RECEIVED] > 0 { Cell::Integer(x) } else { Cell::Empty };
    let percentile = |place: usize| if measure.percentiles { arrived(sums[place]) } else { Cell::Empty };
    let duration = sums[LAST].saturating_sub(of.flow.start.as_ps());
    let sent: u64 = sums[LOST..LOST + LOSSES].iter().sum();
    let back: u64 = sums[BACK_LOST..BACK_LOST + LOSSES].iter().sum();
    vec![
        number.into(),
        (&*app.name).into(),
        (&*nodes[of.flow.from as usize]).into(),
        (&*nodes[of.flow.to as usize]).into(),
        sums[SENT].into(),
        sums[RECEIVED].into(),
        sent.into(),
        arrived(sums[MEAN]),
        percentile(P95),
        ratio(sums[BYTES] as f64 * 8.0, duration as f64 / 1e12),
        of.flow.start.as_ps().into(),
        if sums[LAST] > 0 { duration.into() } else { Cell::Empty },
        u64::from(complete).into(),
        sums[BYTES].into(),
        sums[LOST].into(),
        sums[LOST + 1].into(),
        sums[LOST + 2].into(),
        arrived(sums[MIN]),
        percentile(P50),
        percentile(P99),
        arrived(sums[MAX]),
        arrived(sums[JITTER]),
        sums[REORDERED].into(),
        sums[BACK_SENT].into(),
        sums[BACK_RECEIVED].into(),
        back.into(),
    ]
}

/// Makes the rows of transfers and of requests.
fn exchanges(net: &Internetwork, metrics: &mut Metrics) {
    let ends = |flow: u64| {
        let of = &net.flows[usize::try_from(flow).expect("flows are counted in 32 bits")];
        let Description { nodes, apps, .. } = &net.description;
        let app = &apps[of.app as usize];
        let cells = [
            flow.into(),
            (&*app.name).into(),
            (&*nodes[of.flow.from as usize]).into(),
            (&*nodes[of.flow.to as usize]).into(),
        ];
        (app, Vec::<Cell>::from(cells))
    };
    for (flow, words) in metrics.take_sums(TRANSFERS) {
        let (app, mut row) = ends(flow);
        let AppKind::Transfer(transfer) = &app.kind else { continue };
        row.push(transfer.bytes.into());
        row.extend(words[..4].iter().map(|&word| Cell::Integer(word)));
        row.push(if words[4] == u64::MAX { Cell::Empty } else { words[4].into() });
        metrics.row(TRANSFERS, row);
    }
    for (flow, words) in metrics.take_sums(REQUESTS) {
        let (_, mut row) = ends(flow);
        row.extend(words[..2].iter().map(|&word| Cell::Integer(word)));
        let answered = words[0] > 0;
        row.extend(words[2..5].iter().map(|&word| if answered { Cell::Integer(word) } else { Cell::Empty }));
        metrics.row(REQUESTS, row);
    }
}

/// Makes the rows of links.
fn links(net: &Internetwork, end: &End, metrics: &mut Metrics) {
    let sums = metrics.take_sums(LINKS);
    let used = (0_u64..).zip(net.arcs.all()).filter_map(|(number, ends)| Some((ends, sums.get(&number)?)));
    let share = |busy: u64| if end.time > Time::ZERO { busy as f64 / end.time.as_ps() as f64 } else { 0.0 };
    let mut rows: Vec<_> = used.map(|((from, arc), words)| (from, arc, share(words[0]), words)).collect();
    // Stable sorts: directions alike stay in the order of their ports.
    rows.sort_by(|a, b| b.2.total_cmp(&a.2));
    metrics.set(UTILISATION_MAX, rows.first().map_or(0.0, |row| row.2));
    rows.sort_by_key(|(_, _, _, words)| std::cmp::Reverse(words[2] + words[3] + words[4]));
    let Description { nodes, links, .. } = &net.description;
    for (rank, (from, arc, utilisation, words)) in (1_u64..).zip(rows) {
        let link = &links[arc.link as usize];
        let first = [
            rank.into(),
            (&*link.name).into(),
            (&*nodes[from as usize]).into(),
            (&*nodes[arc.to as usize]).into(),
            link.rate_bps.into(),
            utilisation.into(),
        ];
        metrics.row(LINKS, first.into_iter().chain(words[1..].iter().map(|&word| Cell::Integer(word))));
    }
}

/// A quotient; nothing where there is nothing to divide by.
pub(crate) fn ratio(of: f64, by: f64) -> Cell {
    if by > 0.0 { Cell::Float(of / by) } else { Cell::Empty }
}
