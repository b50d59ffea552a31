//! The paths of flows, for results.

use crate::description::AppKind;
use crate::forwarding::Next;
use crate::network::Layout;
use crate::packet::{Packet, direction};
use crate::record::NoRecord;
use parades_core::time::Time;
use parades_topology::{Interface, LinkId, NodeId};

/// A hop: the node that sends, and its interface.
pub(super) type Hop = (NodeId, Interface);

/// Sets `hops` to those of packets that go in a direction of a flow at a time. Returns true if they lead to
/// the end, and all links are up.
pub(super) fn find(net: &Layout, flow: u32, is_back: bool, time: Time, hops: &mut Vec<Hop>) -> bool {
    hops.clear();
    append_path(net, flow, is_back, time, hops).is_some()
        && hops.iter().all(|(_, hop)| net.lines.of(hop.link).at(time).is_up)
}

/// Appends the hops of packets that go in a direction of a flow. `None` if they do not lead to the end.
fn append_path(net: &Layout, flow: u32, is_back: bool, time: Time, hops: &mut Vec<Hop>) -> Option<()> {
    let ends = &net.flows[flow as usize];
    let mut node = if is_back { ends.destination } else { ends.source };
    let direction = match net.kind_of(flow) {
        AppKind::Multicast(_) => net.slots.group_of(flow)?,
        _ => direction(flow, is_back),
    };
    if let Some(tables) = net.forwarding.tables_of(direction) {
        return tables.append_path(&net.topology, node, direction, time, hops).then_some(());
    }
    let first = net.forwarding.first_step(direction);
    let mut packet = Packet::<NoRecord>::new(direction, first, 0, 0, time, None);
    loop {
        let (port, step) = match net.forwarding.next(node, &packet, time) {
            Next::Port(exit) => (exit.port, exit.step),
            Next::Endpoint(_) => return Some(()),
            Next::Copies(..) if node == ends.destination => return Some(()),
            Next::Copies(_, branches) => {
                let leads = |to| net.forwarding.trees.flows_from(to).any(|below| below == flow);
                let branch = branches.iter().find(|branch| leads(branch.to))?;
                (branch.port, net.forwarding.step_of_place(branch.to))
            }
            Next::Nowhere => return None,
        };
        let hop = net.topology.interfaces(node)[port as usize];
        hops.push((node, hop));
        node = hop.neighbour;
        packet = packet.at_step(step);
    }
}

/// Returns the least value of the links on the paths of each flow, both ways, at all times.
pub(crate) fn least_on_paths<T: Ord>(net: &Layout, of: impl Fn(LinkId) -> Option<T>) -> Vec<Option<T>> {
    let mut least: Vec<Option<T>> = net.flows.iter().map(|_| None).collect();
    let mut hops = Vec::new();
    // The time is the outer loop, since each has its own table of routes.
    for time in std::iter::once(Time::ZERO).chain(net.turns.iter().copied()) {
        for (flow, least) in (0..).zip(&mut least) {
            for is_back in [false, true].into_iter().take(1 + usize::from(has_answers(net, flow))) {
                find(net, flow, is_back, time, &mut hops);
                let found = hops.iter().filter_map(|(_, hop)| of(hop.link));
                *least = found.chain(least.take()).min();
            }
        }
    }
    least
}

/// Returns true if packets of a flow go both ways.
fn has_answers(net: &Layout, flow: u32) -> bool {
    !matches!(net.kind_of(flow), AppKind::Datagrams(_) | AppKind::Multicast(_))
}

/// Returns true if packets of a flow find a path at a time, in every direction in which they go.
fn is_connected(net: &Layout, flow: u32, time: Time) -> bool {
    let mut hops = Vec::new();
    let mut leads = |is_back| find(net, flow, is_back, time, &mut hops);
    leads(false) && (!has_answers(net, flow) || leads(true))
}

/// Returns the time since which a flow has had no path, if it has none just before `end`.
pub(super) fn cut_since(net: &Layout, flow: u32, end: Time) -> Option<Time> {
    let last = Time::from_ps(end.as_ps().checked_sub(1)?);
    if net.forwarding.failures.all().is_empty() || is_connected(net, flow, last) {
        return None;
    }
    let mut since = last;
    for &turn in net.turns.iter().rev().skip_while(|turn| **turn > last) {
        if is_connected(net, flow, turn) {
            return Some(since);
        }
        since = turn;
    }
    Some(since)
}
