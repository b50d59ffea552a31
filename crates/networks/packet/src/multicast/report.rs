//! What becomes of packets that are copied on their way.

use super::{Multicast, SharedData};
use crate::node::{Node, Packet};
use crate::report::flows::{Sums, conclude as conclude_flows, finish_sinks};
use crate::report::{FLOWS, conclude_totals, finish_links, ratio};
use parades_core::metrics::MetricValue;
use parades_core::prelude::*;

/// The metrics of a network, and beside them how many copies were made.
pub(super) fn declare(is_sampled: bool) -> (Metrics, MetricId) {
    let mut metrics = crate::report::declare(is_sampled);
    let copies_made = metrics.counter("copies_made", Unit::Count);
    (metrics, copies_made)
}

/// The key of the sums that count copies; those before it count what each flow was to get.
fn copies_key<D>(model: &Multicast<D>) -> u32 {
    u32::try_from(model.flows.len()).expect("routes count flows in 32 bits")
}

/// Adds what a node knows of its groups, flows and links.
pub(super) fn finish<D: SharedData>(model: &Multicast<D>, id: LpId, node: &Node, metrics: &mut Metrics) {
    for (source, &group) in node.sources.iter().zip(model.outgoing.of(id)) {
        let sums = Sums { sent: source.packets, finished: u64::from(source.finished), ..Sums::default() };
        model.flows_of(group).chain([copies_key(model)]).for_each(|flow| sums.add_to(flow, metrics));
    }
    for (&place, &dropped) in &node.dropped {
        let sums = Sums { dropped, ..Sums::default() };
        model.flows_from(place).chain([copies_key(model)]).for_each(|flow| sums.add_to(flow, metrics));
    }
    finish_sinks(model.incoming.of(id), node, metrics);
    finish_links(&model.topology, id, node, metrics);
}

/// Adds a copy that was still on its way.
pub(super) fn in_flight<D: SharedData>(model: &Multicast<D>, packet: &Packet, metrics: &mut Metrics) {
    let sums = Sums { in_flight: 1, ..Sums::default() };
    model.flows_from(packet.step.get()).chain([copies_key(model)]).for_each(|flow| sums.add_to(flow, metrics));
}

/// Makes the tables and totals, and checks that neither a packet nor a copy was lost from sight.
pub(super) fn conclude<D: SharedData>(model: &Multicast<D>, end: &End, metrics: &mut Metrics) -> Result<(), String> {
    let mut sums = metrics.take_sums(FLOWS);
    let copies = sums.remove(&u64::from(copies_key(model)));
    let copies = copies.map_or_else(Sums::default, |words| Sums::from_words(&words));
    let mut totals = conclude_flows(&model.flows, &model.topology, sums, metrics)?;
    let lost = ratio(totals.sums.dropped as f64, totals.sums.sent as f64);
    let made = metrics.by_id(model.copies_made).and_then(MetricValue::counter).unwrap_or_default();
    let Sums { sent, dropped, in_flight, .. } = copies;
    let delivered = totals.sums.delivered;
    if u128::from(sent) + made != u128::from(delivered) + u128::from(dropped) + u128::from(in_flight) {
        return Err(format!(
            "{sent} packets were sent and {made} copies made, of which {delivered} were delivered, {dropped} dropped and {in_flight} in \
             flight at the end: these do not add up"
        ));
    }
    (totals.sums.sent, totals.sums.dropped, totals.sums.in_flight) = (sent, dropped, in_flight);
    conclude_totals(&totals, lost, &model.topology, (end, metrics))
}
