//! Failures of links and nodes, and the flows that each of them concerns.

use super::tables::Tables;
use super::trees::Trees;
use crate::description::{Change, Event};
use crate::line::Lines;
use parades_core::time::{Delay, Time};
use parades_topology::{Interface, LinkId, NodeId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// A link or a node that goes down during the run. The results count the packets lost at it: on the link, or
/// on a link of the node, from the failure until the return. Packets that find no path any more are not among
/// them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failure {
    /// The time at which it goes down.
    pub at: Time,
    /// The change.
    pub change: Change,
    /// The flows that have started before, and whose path in one direction leads over the link or the node.
    pub flows_on_path: u64,
    /// The flows that have no path in one direction, once the routes have followed the failure. Flows that an
    /// earlier failure has cut off are among them.
    pub flows_cut_off: u64,
}

/// The failures of a network, in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Failures(Box<[Failure]>);

/// A flow or a group, to count.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) start: Time,
    /// Each direction in which packets of the flow go, with the node where they start. A group has one.
    pub(crate) directions: Vec<(u32, NodeId)>,
}

/// The network whose flows are counted.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) topology: &'a Topology,
    pub(crate) lines: &'a Lines,
    pub(crate) tables: &'a Tables,
    pub(crate) trees: &'a Trees,
}

impl Failures {
    /// Collects the failures among events. Their flows are still to be counted.
    pub(crate) fn of(events: &[Event]) -> Failures {
        let is_failure = |event: &&Event| {
            matches!(event.change, Change::Link { is_up: false, .. } | Change::Node { is_up: false, .. })
        };
        let failure = |&Event { at, change }: &Event| Failure { at, change, flows_on_path: 0, flows_cut_off: 0 };
        let mut failures: Vec<Failure> = events.iter().filter(is_failure).map(failure).collect();
        failures.sort_by_key(|failure| failure.at);
        Failures(failures.into())
    }

    /// Returns all failures.
    pub(crate) fn all(&self) -> &[Failure] {
        &self.0
    }

    /// Counts the flows that each failure concerns.
    pub(crate) fn count(&mut self, ground: Ground<'_>, convergence: Delay, senders: &[Sender]) {
        // Failures that meet the same tables meet the same paths.
        let mut by_tables: BTreeMap<[u32; 2], Vec<usize>> = BTreeMap::new();
        for (place, failure) in self.0.iter().enumerate() {
            let tables = times(failure.at, convergence).map(|time| ground.tables.number_at(time));
            by_tables.entry(tables).or_default().push(place);
        }
        for places in by_tables.values() {
            let first = self.0[places[0]].at;
            let [before, after] = times(first, convergence);
            let concerned = Concerned::new(&self.0, places);
            let (mut path, mut later) = (Vec::new(), Vec::new());
            for Sender { start, directions } in senders {
                if ground.trees.root(directions[0].0).is_some() {
                    let (direction, source) = directions[0];
                    ground.trees.each_path(ground.topology, direction, source, |path| {
                        let hit = concerned.by(path);
                        let is_cut = !path.iter().all(|(_, hop)| ground.is_up(hop, first));
                        self.add(places, *start, hit, is_cut);
                    });
                    continue;
                }
                path.clear();
                let mut is_cut = false;
                for &(direction, source) in directions {
                    ground.append_path(source, direction, before, &mut path);
                    later.clear();
                    let arrives = ground.append_path(source, direction, after, &mut later);
                    // A leaf sends by its only link even if the link is down.
                    is_cut |= !arrives || !later.iter().all(|(_, hop)| ground.is_up(hop, first));
                }
                self.add(places, *start, concerned.by(&path), is_cut);
            }
        }
    }

    /// Counts a flow for the failures at `places`.
    fn add(&mut self, places: &[usize], start: Time, hit: BTreeSet<usize>, is_cut: bool) {
        for place in hit {
            let failure = &mut self.0[place];
            failure.flows_on_path += u64::from(start <= failure.at);
        }
        places.iter().for_each(|&place| self.0[place].flows_cut_off += u64::from(is_cut));
    }

    /// Returns the failure by which a link was down at `now`, or goes down next.
    pub(crate) fn of_loss(&self, topology: &Topology, lines: &Lines, link: LinkId, now: Time) -> Option<u32> {
        let down = lines.of(link).down_since(now)?;
        let ends = topology.link(link);
        let is_it = |failure: &Failure| match failure.change {
            Change::Link { link: failed, .. } => LinkId(failed) == link,
            Change::Node { node, .. } => NodeId(node) == ends.a || NodeId(node) == ends.b,
            Change::Quality { .. } => false,
        };
        let first = self.0.partition_point(|failure| failure.at < down);
        let of_time = self.0[first..].iter().take_while(|failure| failure.at == down);
        let place = of_time.enumerate().find(|(_, failure)| is_it(failure))?.0;
        u32::try_from(first + place).ok()
    }
}

/// Returns the last time before a failure, and the time when routes have followed it.
fn times(at: Time, convergence: Delay) -> [Time; 2] {
    [Time::from_ps(at.as_ps().saturating_sub(1)), at.checked_add(convergence).unwrap_or(Time::MAX)]
}

/// A hop: the node that sends, and its interface.
pub(crate) type Hop = (NodeId, Interface);

/// The links and nodes of some failures, with the places of the failures.
struct Concerned {
    links: BTreeMap<u32, Vec<usize>>,
    nodes: BTreeMap<u32, Vec<usize>>,
}

impl Concerned {
    fn new(all: &[Failure], places: &[usize]) -> Concerned {
        let mut concerned = Concerned { links: BTreeMap::new(), nodes: BTreeMap::new() };
        for &place in places {
            match all[place].change {
                Change::Link { link, .. } => concerned.links.entry(link).or_default().push(place),
                Change::Node { node, .. } => concerned.nodes.entry(node).or_default().push(place),
                Change::Quality { .. } => {}
            }
        }
        concerned
    }

    /// Returns the failures of links and nodes on a path.
    fn by(&self, path: &[Hop]) -> BTreeSet<usize> {
        let of_hop = |(from, hop): &Hop| {
            let of_nodes = [*from, hop.neighbour].map(|node| self.nodes.get(&node.0));
            [self.links.get(&hop.link.0)].into_iter().chain(of_nodes)
        };
        path.iter().flat_map(of_hop).flatten().flatten().copied().collect()
    }
}

impl Ground<'_> {
    /// Appends the path of packets that start at `source` at `time`. Returns true if they arrive.
    fn append_path(&self, source: NodeId, direction: u32, time: Time, path: &mut Vec<Hop>) -> bool {
        self.tables.append_path(self.topology, source, direction, time, path)
    }

    /// Returns true if the link of an interface is up at a time.
    fn is_up(&self, hop: &Interface, time: Time) -> bool {
        self.lines.of(hop.link).at(time).is_up
    }
}
