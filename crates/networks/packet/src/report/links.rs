//! The results of each direction of each link.

use super::LINKS;
use super::columns::{LinkRow, of_links};
use crate::description::Framing;
use crate::network::{Layout, Vocabulary};
use crate::port::{Port, Totals};
use parades_core::metrics::Metrics;
use parades_core::run::End;
use parades_core::time::{Delay, Time};
use parades_topology::{Interface, NodeId};
use std::cmp::Reverse;

/// Adds the part of a node to the results of its links: busy time, packets, losses, longest queue.
pub(super) fn finish(net: &Layout, id: NodeId, ports: &[Port], end: &End, metrics: &mut Metrics) {
    let first = net.topology.first_interface(id) as u64;
    let interfaces = net.topology.interfaces(id);
    for ((number, port), interface) in (first..).zip(ports).zip(interfaces) {
        let totals = port.totals(end.time);
        if port.sent.packets == 0 && totals == Totals::default() {
            continue;
        }
        let line = net.lines.by(&net.topology, *interface);
        let busy = match net.vocabulary {
            // Rates are constant, so one rounding for all bytes is exact.
            Vocabulary::Flows if line.first.framing != Framing::Ethernet => {
                let busy = Delay::serialisation(port.sent.bytes, line.first.rate_bps);
                port.busy_before(end.time, busy, line)
            }
            _ => port.busy_at(end.time, line),
        };
        let Totals { lost: [queue, chance, down, early], marked, duplicated, waiting_max, waited } = totals;
        let others = [early, marked, duplicated, waited.as_ps()];
        let words = [busy.as_ps(), port.sent.packets, queue, chance, down, waiting_max.into()];
        metrics.add_to_sums(LINKS, number, &[&words[..], &others[..]].concat());
    }
}

/// One direction of a link.
struct Direction {
    from: NodeId,
    interface: Interface,
    utilisation: f64,
    packets: u64,
    totals: Totals,
}

impl Direction {
    fn lost(&self) -> u64 {
        self.totals.lost.iter().sum()
    }
}

/// Returns a sum of times as a share of the run.
fn share(ps: u64, end: Time) -> f64 {
    if end > Time::ZERO { ps as f64 / end.as_ps() as f64 } else { 0.0 }
}

/// Returns the directions that accepted or lost a packet. Rows of equal rank keep the order of this list.
fn used(net: &Layout, end: &End, metrics: &mut Metrics) -> Vec<Direction> {
    let sums = metrics.take_sums(LINKS);
    let of_node = |node| net.topology.interfaces(node).iter().map(move |interface| (node, *interface));
    let direction = |(number, (from, interface)): (u64, (NodeId, Interface))| {
        let &[busy, packets, queue, chance, down, waiting_max, early, marked, duplicated, waited] =
            &**sums.get(&number)?
        else {
            unreachable!("a direction has exactly these sums");
        };
        let waiting_max = u32::try_from(waiting_max).expect("it was a number of 32 bits");
        let (lost, waited) = ([queue, chance, down, early], Delay::from_ps(waited));
        let totals = Totals { lost, marked, duplicated, waiting_max, waited };
        Some(Direction { from, interface, utilisation: share(busy, end.time), packets, totals })
    };
    let all = (0..).zip(net.topology.node_ids().flat_map(of_node));
    let mut used: Vec<Direction> = all.filter_map(direction).collect();
    if net.vocabulary == Vocabulary::Flows {
        used.sort_by_key(|direction| (direction.from, direction.interface));
    }
    used
}

/// Makes the rows. The directions that lost the most packets come first; of equal ones, the busiest. Returns
/// the greatest utilisation, and the number of directions without a row: those that no packet was offered to.
pub(super) fn conclude(net: &Layout, end: &End, metrics: &mut Metrics) -> (f64, u64) {
    let mut directions = used(net, end, metrics);
    // Stable sorts: equal directions stay in order.
    directions.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    let utilisation_max = directions.first().map_or(0.0, |direction| direction.utilisation);
    directions.sort_by_key(|direction| Reverse(direction.lost()));
    for (rank, direction) in (1..).zip(&directions) {
        let Direction { from, interface, utilisation, packets, totals } = *direction;
        let [from, to] = [from, interface.neighbour].map(|node| net.topology.name(node));
        let row = LinkRow {
            rank,
            names: [net.link_names.get(interface.link.index()).map_or("", String::as_str), from, to],
            rate_bps: net.lines.by(&net.topology, interface).first.rate_bps,
            utilisation,
            packets,
            totals,
            queue_mean: share(totals.waited.as_ps(), end.time),
        };
        metrics.row(LINKS, of_links(net.vocabulary).iter().map(|column| (column.cell)(&row)).collect::<Vec<_>>());
    }
    (utilisation_max, (net.topology.interface_count() - directions.len()) as u64)
}
