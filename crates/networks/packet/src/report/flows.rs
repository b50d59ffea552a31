//! The results of each flow, of each app, and of all flows.

use super::columns::{FlowRow, Totals, of_flows, totals as totals_of};
use super::ideal::{self, Life, Ways};
use super::state::{Fate, State, Unable};
use super::{FLOWS, ratio, set};
use crate::description::{AppKind, Unfinished};
use crate::network::{Layout, has_end, measures_ends};
use crate::packet::Packet;
use crate::port::LOSSES;
use crate::protocols::Endpoint;
use crate::record::Record;
use parades_core::metrics::{Cell, IntegerId, MetricValue, Metrics};
use parades_core::run::End;
use parades_core::time::{Delay, Time};

// The places of a flow's sums. A flow's packets go to its destination; answers go back.
pub(super) const SENT: usize = 0;
pub(super) const RECEIVED: usize = 1;
/// Payload that arrived. Each byte of a transfer counts once. Of requests, the responses count.
pub(super) const BYTES: usize = 2;
/// Lost packets, by reason.
pub(super) const LOST: usize = 3;
/// Copies that links made of packets.
pub(super) const DUPLICATED: usize = LOST + LOSSES;
/// Copies that arrived after their packets. They do not count as received.
pub(super) const COPIES: usize = DUPLICATED + 1;
pub(super) const IN_FLIGHT: usize = COPIES + 1;
/// 1 if the source has sent everything, or a transfer or all requests are done.
pub(super) const DONE: usize = IN_FLIGHT + 1;
pub(super) const REORDERED: usize = DONE + 1;
/// From here on: answers.
pub(super) const BACK: usize = REORDERED + 1;
pub(super) const BACK_SENT: usize = BACK;
pub(super) const BACK_RECEIVED: usize = BACK_SENT + 1;
pub(super) const BACK_LOST: usize = BACK_RECEIVED + 1;
pub(super) const BACK_DUPLICATED: usize = BACK_LOST + LOSSES;
pub(super) const BACK_COPIES: usize = BACK_DUPLICATED + 1;
pub(super) const BACK_IN_FLIGHT: usize = BACK_COPIES + 1;
/// From here on: statistics, which are not summed over flows.
const STATISTICS: usize = BACK_IN_FLIGHT + 1;
pub(super) const MEAN: usize = STATISTICS;
pub(super) const MIN: usize = MEAN + 1;
pub(super) const MAX: usize = MIN + 1;
pub(super) const JITTER: usize = MAX + 1;
/// The last arrival.
pub(super) const LAST: usize = JITTER + 1;
pub(super) const P50: usize = LAST + 1;
pub(super) const P95: usize = P50 + 1;
pub(super) const P99: usize = P95 + 1;
/// The time that a stream or a transfer took, or the mean time of a response, in picoseconds; 0 if it is not
/// complete.
const TOOK: usize = P99 + 1;
/// The responses of a client, if [`TOOK`] is their mean time.
const RESPONSES: usize = TOOK + 1;
/// The time so far of the request that a client waits for, in picoseconds; 0 if there is none.
pub(super) const WAITS: usize = RESPONSES + 1;
/// The [`Ending`](crate::protocols::tcp::Ending) of a connection that has ended early, or 0.
pub(super) const ENDING: usize = WAITS + 1;
const SUMS: usize = ENDING + 1;

pub(super) type Sums = [u64; SUMS];
pub(super) const NO_SUMS: Sums = [0; SUMS];

/// Adds amounts to the sums of a flow.
fn add(flow: u32, metrics: &mut Metrics, of: impl IntoIterator<Item = (usize, u64)>) {
    let mut sums: Sums = NO_SUMS;
    of.into_iter().for_each(|(place, amount)| sums[place] += amount);
    // Zeros at the end need no memory.
    let used = SUMS - sums.iter().rev().take_while(|sum| **sum == 0).count();
    metrics.add_to_sums(FLOWS, u64::from(flow), &sums[..used]);
}

/// Returns the key of the sums that count the copies of all groups. The keys before it are those of flows.
fn copies_key(net: &Layout) -> u32 {
    u32::try_from(net.flows.len()).expect("flows are counted in 32 bits")
}

/// Adds amounts to the sums of some flows of a group, and to those of the copies.
fn add_to_group(
    net: &Layout,
    flows: impl Iterator<Item = u32>,
    metrics: &mut Metrics,
    of: impl IntoIterator<Item = (usize, u64)> + Clone,
) {
    flows.chain([copies_key(net)]).for_each(|flow| add(flow, metrics, of.clone()));
}

/// Adds a packet that was still in flight.
pub(crate) fn in_flight<D: Record>(net: &Layout, packet: &Packet<D>, metrics: &mut Metrics) {
    if packet.is_served() {
        return;
    }
    match net.forwarding.place_of(packet.step()) {
        Some(place) => add_to_group(net, net.forwarding.trees.flows_from(place), metrics, [(IN_FLIGHT, 1)]),
        None => {
            let (flow, is_there) = net.slots.role(packet.direction());
            add(flow, metrics, [(if is_there { IN_FLIGHT } else { BACK_IN_FLIGHT }, 1)]);
        }
    }
}

/// Adds packets that a node lost: of a direction, or on the way to a place of a tree.
pub(super) fn finish_lost(net: &Layout, key: u32, lost: [u64; LOSSES], metrics: &mut Metrics) {
    let at = |is_there| (if is_there { LOST } else { BACK_LOST }..).zip(lost);
    add_by_key(net, key, metrics, at);
}

/// Adds copies that the links of a node made, by the same keys.
pub(super) fn finish_duplicated(net: &Layout, key: u32, copies: u64, metrics: &mut Metrics) {
    add_by_key(net, key, metrics, |is_there| [(if is_there { DUPLICATED } else { BACK_DUPLICATED }, copies)]);
}

/// Adds copies that arrived at the endpoint of an address after their packets.
pub(super) fn finish_copies(net: &Layout, address: u32, copies: u64, metrics: &mut Metrics) {
    let (flow, begins) = net.slots.role(address);
    add(flow, metrics, [(if begins { BACK_COPIES } else { COPIES }, copies)]);
}

/// Adds amounts to the sums of a direction, or of the flows below a place of a tree. `of` returns the
/// amounts; its argument is true for packets in the direction in which their flows begin.
fn add_by_key<A: IntoIterator<Item = (usize, u64)> + Clone>(
    net: &Layout,
    key: u32,
    metrics: &mut Metrics,
    of: impl FnOnce(bool) -> A,
) {
    match net.place_of_key(key) {
        Some(place) => add_to_group(net, net.forwarding.trees.flows_from(place), metrics, of(true)),
        None => {
            let (flow, is_there) = net.slots.role(key);
            add(flow, metrics, of(is_there));
        }
    }
}

/// Adds the part of an endpoint to the results of its flow.
pub(super) fn finish_endpoint(net: &Layout, address: u32, endpoint: &Endpoint, end: &End, metrics: &mut Metrics) {
    let (flow, _) = net.slots.role(address);
    let kind = net.kind_of(flow);
    if let Some(sink) = endpoint.sink().filter(|sink| sink.arrivals.packets > 0) {
        let percentile = |percent| sink.percentile(percent).map_or(0, |delay| delay.as_ps());
        let counts = [(RECEIVED, sink.arrivals.packets), (REORDERED, sink.arrivals.reordered.into())];
        let times = [
            (MEAN, sink.delay_mean().as_ps()),
            (MIN, sink.delays.min.as_ps()),
            (MAX, sink.delays.max.as_ps()),
            (JITTER, sink.jitter().as_ps()),
            (P50, percentile(50)),
            (P95, percentile(95)),
            (P99, percentile(99)),
        ];
        // The results of requests are responses.
        let is_result = !matches!(kind, AppKind::Requests(_));
        // After the stream of a connection, its end is still acknowledged.
        let last = match endpoint {
            Endpoint::TcpReceiver(receiver) => sink.last().min(receiver.progress.last),
            _ => sink.last(),
        };
        let results = [(BYTES, endpoint.received_bytes(kind)), (LAST, last.as_ps())];
        add(flow, metrics, counts.into_iter().chain(times).chain(results.into_iter().filter(|_| is_result)));
    }
    match endpoint {
        Endpoint::DatagramSource(source) => {
            add(flow, metrics, [(SENT, source.packets), (DONE, u64::from(source.is_finished))]);
        }
        Endpoint::GroupSource(source) => {
            let sums = [(SENT, source.datagrams.packets), (DONE, u64::from(source.datagrams.is_finished))];
            let root = net.forwarding.trees.root(address).expect("a group has a tree");
            add_to_group(net, net.forwarding.trees.flows_from(root), metrics, sums);
        }
        Endpoint::TransferSender(sender) => {
            let is_done = u64::from(sender.finished < Time::MAX);
            let sums = [(SENT, sender.sent), (BACK_RECEIVED, sender.acknowledgements), (DONE, is_done)];
            add(flow, metrics, sums.into_iter().chain([(TOOK, took(net, flow, sender.finished))]));
        }
        Endpoint::TransferReceiver(receiver) => add(flow, metrics, [(BACK_SENT, receiver.sent)]),
        Endpoint::RequestClient(client) => {
            let is_done = matches!(kind, AppKind::Requests(requests) if client.responses >= requests.count);
            let sums = [(SENT, u64::from(client.asked)), (BACK_RECEIVED, client.packets), (DONE, u64::from(is_done))];
            let mean = client.sum_ps.checked_div(client.responses).unwrap_or(0);
            let results = [(BYTES, client.bytes), (LAST, client.last.as_ps()), (TOOK, mean)];
            let waits = client.waits_since().map_or(0, |since| end.time.since(since).as_ps());
            let requests = [(RESPONSES, client.responses), (WAITS, waits)];
            add(flow, metrics, sums.into_iter().chain(results).chain(requests));
        }
        Endpoint::RequestServer(server) => add(flow, metrics, [(BACK_SENT, server.sent)]),
        Endpoint::TcpSender(sender) => {
            let ending = sender.ending().map_or(0, |ending| ending as u64);
            let sums = [(SENT, sender.counts.sent), (BACK_RECEIVED, sender.counts.received), (ENDING, ending)];
            add(flow, metrics, sums);
        }
        Endpoint::TcpReceiver(receiver) => {
            let is_done = u64::from(receiver.progress.last < Time::MAX);
            let took = took(net, flow, receiver.progress.last);
            add(flow, metrics, [(BACK_SENT, receiver.counts.sent), (DONE, is_done), (TOOK, took)]);
        }
        Endpoint::Other(end) if end.begins => {
            let sums = [(SENT, end.counts.sent), (BACK_RECEIVED, end.counts.received)];
            add(flow, metrics, sums.into_iter().chain([(DONE, u64::from(end.is_complete()))]));
        }
        Endpoint::Other(end) => add(flow, metrics, [(BACK_SENT, end.counts.sent)]),
        Endpoint::Stream(end) if end.begins => {
            let ending = end.ending().map_or(0, |ending| ending as u64);
            let sums = [(SENT, end.counts.sent), (BACK_RECEIVED, end.counts.received), (BYTES, end.progress.bytes)];
            add(flow, metrics, sums.into_iter().chain([(DONE, u64::from(end.is_complete())), (ENDING, ending)]));
        }
        Endpoint::Stream(end) => add(flow, metrics, [(BACK_SENT, end.counts.sent)]),
        Endpoint::DatagramSink(_) | Endpoint::GroupSink(_) => {}
    }
}

/// Returns the time from the start of a flow to its end in picoseconds; 0 if the end is not reached.
fn took(net: &Layout, flow: u32, end: Time) -> u64 {
    if end == Time::MAX { 0 } else { end.since(net.flows[flow as usize].start).as_ps() }
}

/// The time that a flow took.
#[derive(Clone, Copy, Debug)]
struct Taken {
    /// To its end, in picoseconds; of requests, the mean of their responses. 0 if there is no such time.
    took: u64,
    /// The time so far of an unfinished flow or request, in picoseconds. 0 if there is none.
    so_far: u64,
}

impl Taken {
    /// Returns the time that a flow took in a run that ends at `end`.
    fn of(net: &Layout, flow: u32, sums: &Sums, is_unfinished: bool, end: Time) -> Taken {
        let so_far = match net.kind_of(flow) {
            AppKind::Requests(_) => sums[WAITS],
            _ if is_unfinished => end.since(net.flows[flow as usize].start).as_ps(),
            _ => 0,
        };
        Taken { took: sums[TOOK], so_far }
    }

    /// Returns the time that counts for the slowdown. `responses` is the number of responses in the mean.
    fn counted(self, unfinished: Unfinished, responses: u64) -> u64 {
        match unfinished {
            Unfinished::SoFar if self.so_far > 0 => {
                let sum = u128::from(self.took) * u128::from(responses) + u128::from(self.so_far);
                u64::try_from(sum / (u128::from(responses) + 1)).unwrap_or(u64::MAX)
            }
            _ => self.took,
        }
    }
}

/// A flow at the end of a run.
struct AtEnd {
    flow: u32,
    sums: Sums,
    is_complete: bool,
    fate: Fate,
    is_unfinished: bool,
    taken: Taken,
}

/// The number of flows whose slowdowns are found together. It bounds the memory for their paths.
const AT_ONCE: usize = 1 << 13;

impl AtEnd {
    /// Returns a flow in a run that ends at `end`.
    fn of(net: &Layout, number: u64, words: &[u64], end: Time) -> Result<AtEnd, String> {
        let sums = from_words(words);
        check(number, &sums)?;
        let flow = u32::try_from(number).expect("flows are counted in 32 bits");
        let kind = net.kind_of(flow);
        let is_complete = match kind {
            AppKind::Datagrams(_) | AppKind::Multicast(_) => sums[DONE] == 1 && sums[RECEIVED] == sums[SENT],
            _ => sums[DONE] == 1,
        };
        let fate = Fate::of(net, flow, &sums, is_complete, end);
        let is_unfinished = has_end(kind) && !matches!(fate.state, State::Complete | State::NotStarted);
        let taken = Taken::of(net, flow, &sums, is_unfinished, end);
        Ok(AtEnd { flow, sums, is_complete, fate, is_unfinished, taken })
    }

    /// Returns the time that counts for the slowdown, in picoseconds; 0 if there is none.
    fn took(&self, net: &Layout) -> u64 {
        self.taken.counted(net.measure.unfinished, self.sums[RESPONSES])
    }

    /// Returns the time during which the flow may have used paths. `None` if it has no slowdown: datagrams,
    /// and a flow that has not reached its end.
    fn life(&self, net: &Layout) -> Option<Life> {
        let (flow, took) = (self.flow, self.took(net));
        // Nothing is known of the packets that a protocol of another crate would send.
        if took == 0 || !measures_ends(net.kind_of(flow)) {
            return None;
        }
        let first = net.flows[flow as usize].start;
        // Requests are spread over the life of their flow, and a mean tells nothing of their times.
        let last = match net.kind_of(flow) {
            AppKind::Requests(_) => Time::MAX,
            _ => first.saturating_add(Delay::from_ps(took)),
        };
        Some(Life { flow, first, last })
    }

    /// Returns the slowdown of a flow that has used these ways: of a request, the mean over all responses.
    /// `None` for a flow that had no path.
    fn slowdown(&self, net: &Layout, ways: &Ways) -> Option<f64> {
        let alone = match net.kind_of(self.flow) {
            AppKind::Tcp(tcp) => ideal::of_tcp(net, tcp, ways)?,
            AppKind::Transfer(transfer) => ideal::of_transfer(net, transfer, ways)?,
            AppKind::Requests(requests) => ideal::of_requests(net, requests, ways)?,
            AppKind::Datagrams(_) | AppKind::Multicast(_) | AppKind::Other(_) | AppKind::Stream(_) => return None,
        };
        ideal::slowdown(Delay::from_ps(self.took(net)), alone)
    }

    /// Returns the slowdown of each flow that has one.
    fn slowdowns(net: &Layout, flows: &[AtEnd]) -> Vec<Option<f64>> {
        let lives: Vec<Option<Life>> = flows.iter().map(|at_end| at_end.life(net)).collect();
        let ways = Ways::of(net, &lives.iter().flatten().copied().collect::<Vec<_>>());
        let mut ways = ways.iter();
        let slowdown = |(at_end, life): (&AtEnd, Option<Life>)| at_end.slowdown(net, life.and_then(|_| ways.next())?);
        flows.iter().zip(lives).map(slowdown).collect()
    }
}

/// Notes an unfinished flow or request, with its time so far if that counts.
fn add_unfinished(net: &Layout, app: u32, so_far: u64, metrics: &mut Metrics) {
    let completion = net.ids.completion.or_else(|| net.ids.apps.get(app as usize)?.completion);
    if let (Unfinished::SoFar, Some(id)) = (net.measure.unfinished, completion) {
        metrics.observe(id, so_far);
    }
}

/// Sets the mean, the percentiles and the greatest of some slowdowns.
fn summarise(net: &Layout, mut slowdowns: Vec<f64>, metrics: &mut Metrics) {
    let Some([mean, p50, p99, max]) = net.ids.slowdowns else { return };
    slowdowns.sort_by(f64::total_cmp);
    let Some(&greatest) = slowdowns.last() else { return };
    let count = slowdowns.len();
    // The least value that `percent` percent of the flows do not exceed.
    let at = |percent: usize| slowdowns[(count * percent).div_ceil(100).max(1) - 1];
    metrics.set(mean, slowdowns.iter().sum::<f64>() / count as f64);
    metrics.set(p50, at(50));
    metrics.set(p99, at(99));
    metrics.set(max, greatest);
}

/// Returns the share of packets that were lost, both ways, among those sent and the copies that links made.
fn loss_ratio(sums: &Sums) -> Cell {
    let sent: u64 = [SENT, DUPLICATED, BACK_SENT, BACK_DUPLICATED].iter().map(|&place| sums[place]).sum();
    ratio(lost(sums) as f64, sent as f64)
}

/// Returns the lost packets of a flow, both ways.
pub(super) fn lost(sums: &Sums) -> u64 {
    sums[LOST..LOST + LOSSES].iter().chain(&sums[BACK_LOST..BACK_LOST + LOSSES]).sum()
}

/// Checks that packets sent + duplicated = arrived + copies arrived + lost + in flight, both ways.
fn check(flow: u64, sums: &Sums) -> Result<(), String> {
    let ways = [
        ("", [SENT, DUPLICATED, RECEIVED, COPIES, LOST, IN_FLIGHT]),
        ("answers of ", [BACK_SENT, BACK_DUPLICATED, BACK_RECEIVED, BACK_COPIES, BACK_LOST, BACK_IN_FLIGHT]),
    ];
    for (of, [sent, duplicated, received, copies, first_lost, in_flight]) in ways {
        let [sent, duplicated, received, copies, in_flight] =
            [sent, duplicated, received, copies, in_flight].map(|place| sums[place]);
        let lost: u64 = sums[first_lost..first_lost + LOSSES].iter().sum();
        if sent + duplicated != received + copies + lost + in_flight {
            return Err(format!(
                "of {of}flow {flow}, {sent} packets were sent and {duplicated} duplicated, {received} arrived, {copies} \
                 arrived again, {lost} were lost and {in_flight} in flight at the end: these do not add up"
            ));
        }
    }
    Ok(())
}

/// The sums of some flows, and the earliest start among them.
#[derive(Clone, Copy)]
struct OfApp {
    sums: Sums,
    start: Time,
    unfinished: u64,
}

/// Makes the rows of flows, the totals, and the values of apps.
pub(super) fn conclude(net: &Layout, end: &End, metrics: &mut Metrics) -> Result<(), String> {
    let mut all = metrics.take_sums(FLOWS);
    let copies = all.remove(&u64::from(copies_key(net))).map(|words| from_words(&words));
    let mut totals = Totals::new();
    let mut received_by_groups = 0;
    let mut sums_of_flows: Sums = NO_SUMS;
    let (mut unable, mut slowdowns) = (Unable::default(), Vec::new());
    let mut of_apps = vec![OfApp { sums: NO_SUMS, start: Time::MAX, unfinished: 0 }; net.apps.len()];
    let mut all = all.into_iter();
    loop {
        let some = all.by_ref().take(AT_ONCE).map(|(number, words)| AtEnd::of(net, number, &words, end.time));
        let some = some.collect::<Result<Vec<_>, _>>()?;
        if some.is_empty() {
            break;
        }
        for (at_end, slowdown) in some.iter().zip(AtEnd::slowdowns(net, &some)) {
            let AtEnd { flow, sums, is_complete, fate, is_unfinished, taken } = at_end;
            let (ends, app) = (net.flows[*flow as usize], net.app_of_flow[*flow as usize]);
            let of_app = &mut of_apps[app as usize];
            of_app.start = of_app.start.min(ends.start);
            let is_group = matches!(net.kind_of(*flow), AppKind::Multicast(_));
            received_by_groups += if is_group { sums[RECEIVED] + sums[COPIES] } else { 0 };
            for place in 0..STATISTICS {
                sums_of_flows[place] += sums[place];
                of_app.sums[place] += sums[place];
                // Packets of groups are counted as copies.
                let is_of_copies = is_group && matches!(place, SENT | LOST..=DUPLICATED | IN_FLIGHT);
                totals.sums[place] += if is_of_copies { 0 } else { sums[place] };
            }
            if taken.so_far > 0 {
                add_unfinished(net, app, taken.so_far, metrics);
                of_app.unfinished += 1;
            }
            unable.add(net, *flow, *fate, *is_unfinished, sums);
            slowdowns.extend(slowdown);
            totals.add_flow(*is_complete, *is_unfinished, *fate, sums);
            let row = FlowRow {
                number: (*flow).into(),
                app: &net.apps[app as usize].name,
                names: [ends.source, ends.destination].map(|node| net.topology.name(node)),
                start: ends.start,
                sums,
                is_complete: *is_complete,
                fate: *fate,
                slowdown,
                unfinished_for: is_unfinished.then(|| end.time.since(ends.start)),
                has_percentiles: net.measure.percentiles,
            };
            let cells = of_flows(net).map(|column| (column.cell)(&row));
            metrics.row(FLOWS, cells.collect::<Vec<_>>());
        }
    }
    assert_eq!(totals.flows, net.flows.len() as u64, "every flow has an end that reports it");
    if let Some(copies) = copies {
        check_copies(net, &copies, received_by_groups, metrics)?;
        (0..STATISTICS).for_each(|place| totals.sums[place] += copies[place]);
    }
    check_delays(net.ids.delay, &totals, metrics)?;
    for (&id, total) in net.ids.counters.iter().zip(totals_of(net.vocabulary)) {
        metrics.count(id, (total.count)(&totals));
    }
    summarise(net, slowdowns, metrics);
    if let (Some(id), Some(note)) = (net.ids.note, unable.note(net)) {
        metrics.set(id, note.as_str());
    }
    set(metrics, net.ids.loss_ratio, loss_ratio(&sums_of_flows));
    set(metrics, net.ids.jitter_mean, ratio(totals.jitter_sum as f64 / 1e12, totals.jittered as f64));
    set_apps(net, end.time, &of_apps, metrics);
    Ok(())
}

/// Sets the values of apps.
fn set_apps(net: &Layout, end: Time, of_apps: &[OfApp], metrics: &mut Metrics) {
    for (ids, OfApp { sums, start, unfinished }) in net.ids.apps.iter().zip(of_apps) {
        set(metrics, ids.unfinished, *unfinished);
        let seconds = end.since(*start).as_secs_f64();
        metrics.set(ids.throughput, ratio(sums[BYTES] as f64 * 8.0, seconds));
        metrics.set(ids.loss_ratio, loss_ratio(sums));
    }
}

fn from_words(words: &[u64]) -> Sums {
    let mut sums: Sums = NO_SUMS;
    sums.iter_mut().zip(words).for_each(|(sum, word)| *sum = *word);
    sums
}

/// Checks that packets of groups sent + copies made + duplicated = arrived + lost + in flight.
fn check_copies(net: &Layout, copies: &Sums, received: u64, metrics: &Metrics) -> Result<(), String> {
    let made = net.ids.copies_made.and_then(|id| metrics.by_id(id)).and_then(MetricValue::counter).unwrap_or(0);
    let (sent, duplicated, in_flight) = (copies[SENT], copies[DUPLICATED], copies[IN_FLIGHT]);
    let lost: u64 = copies[LOST..LOST + LOSSES].iter().sum();
    if u128::from(sent) + u128::from(duplicated) + made
        != u128::from(received) + u128::from(lost) + u128::from(in_flight)
    {
        return Err(format!(
            "{sent} packets of groups were sent, {duplicated} duplicated and {made} copies made, of which {received} arrived, {lost} were lost and \
             {in_flight} in flight at the end: these do not add up"
        ));
    }
    Ok(())
}

/// Checks that the delay of every arrived packet was measured, in networks that measure delays together.
fn check_delays(delay: Option<IntegerId>, totals: &Totals, metrics: &Metrics) -> Result<(), String> {
    let Some(delay) = delay else { return Ok(()) };
    let measured = metrics.by_id(delay).and_then(MetricValue::tally).map_or(0, |delays| delays.count());
    let arrived = totals.sums[RECEIVED];
    match measured == arrived {
        true => Ok(()),
        false => Err(format!("{arrived} packets arrived, but the delays of {measured} were measured")),
    }
}
