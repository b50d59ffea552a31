//! The results of each direction of each link.

use super::LINKS;
use super::columns::{LinkRow, of_links};
use crate::network::{Layout, Vocabulary};
use crate::node::Node;
use crate::port::LOSSES;
use parades_core::metrics::Metrics;
use parades_core::run::End;
use parades_core::time::{Delay, Time};
use parades_topology::{Interface, NodeId};
use std::cmp::Reverse;

/// Adds the part of a node to the results of its links: busy time, packets, losses, longest queue.
pub(super) fn finish(net: &Layout, (id, node): (NodeId, &Node), end: &End, metrics: &mut Metrics) {
    let first = net.topology.first_interface(id) as u64;
    let interfaces = net.topology.interfaces(id);
    for ((number, port), interface) in (first..).zip(&node.egress.ports).zip(interfaces) {
        let lost = port.lost();
        if port.sent.packets == 0 && lost == [0; LOSSES] {
            continue;
        }
        let busy = match net.vocabulary {
            // Rates are constant, so one rounding for all bytes is exact.
            Vocabulary::Flows => {
                let rate_bps = net.lines.of(interface.link).first.rate_bps;
                port.busy_before(end.time, Delay::serialisation(port.sent.bytes, rate_bps))
            }
            Vocabulary::Apps => port.busy_at(end.time),
        };
        let [queue, chance, down] = lost;
        let words = [busy.as_ps(), port.sent.packets, queue, chance, down, port.waiting_max().into()];
        metrics.add_to_sums(LINKS, number, &words);
    }
}

/// One direction of a link.
struct Direction {
    from: NodeId,
    interface: Interface,
    utilisation: f64,
    packets: u64,
    lost: [u64; LOSSES],
    queue_max: u64,
}

impl Direction {
    fn lost(&self) -> u64 {
        self.lost.iter().sum()
    }
}

/// Returns the directions that accepted or lost a packet. Rows of equal rank keep the order of this list.
fn used(net: &Layout, end: &End, metrics: &mut Metrics) -> Vec<Direction> {
    let sums = metrics.take_sums(LINKS);
    let of_node = |node| net.topology.interfaces(node).iter().map(move |interface| (node, *interface));
    let share = |busy: u64| if end.time > Time::ZERO { busy as f64 / end.time.as_ps() as f64 } else { 0.0 };
    let direction = |(number, (from, interface)): (u64, (NodeId, Interface))| {
        let &[busy, packets, queue, chance, down, queue_max] = &**sums.get(&number)? else { return None };
        let lost = [queue, chance, down];
        Some(Direction { from, interface, utilisation: share(busy), packets, lost, queue_max })
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
        let Direction { from, interface, utilisation, packets, lost, queue_max } = *direction;
        let [from, to] = [from, interface.neighbour].map(|node| net.topology.name(node));
        let row = LinkRow {
            rank,
            names: [net.link_names.get(interface.link.index()).map_or("", String::as_str), from, to],
            rate_bps: net.topology.link(interface.link).rate_bps,
            utilisation,
            packets,
            lost,
            queue_max,
        };
        metrics.row(LINKS, of_links(net.vocabulary).iter().map(|column| (column.cell)(&row)).collect::<Vec<_>>());
    }
    (utilisation_max, (net.topology.interface_count() - directions.len()) as u64)
}
