//! Tables of next hops: one for each state of the network's links during the run.
//!
//! All failures are known before the run, so all tables are made then. A node reads the table that holds at
//! its time. Equal states share a table.

use super::{Exit, LOOK_UP, Next};
use crate::line::{Line, Lines};
use parades_core::time::{Delay, Time};
use parades_topology::routing::{Destination, NextHops, RoutingError, Rules, Table};
use parades_topology::{Interface, LinkId, NodeId, Topology};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of entries of all tables together: four gigabytes.
const ENTRIES_MAX: u64 = 1 << 31;

/// The end of a direction.
#[derive(Clone, Copy, Debug)]
struct Goal {
    destination: Destination,
    /// The slot of the endpoint there.
    slot: u32,
}

/// The tables.
#[derive(Debug)]
pub(crate) struct Tables {
    next_hops: NextHops,
    /// The time from which each table holds, ascending. The first one holds from the start.
    epochs: Vec<(Time, u32)>,
    tables: Vec<Table>,
    /// The end of each direction.
    goals: Box<[Goal]>,
    /// The place of each node's first port in `kinds`.
    first_port: Box<[u32]>,
    /// The kind of each port's line.
    kinds: Box<[u32]>,
}

/// The times at which routes may change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns<'a> {
    /// The times at which links change, ascending.
    pub(crate) times: &'a [Time],
    /// The time from a change until routes follow.
    pub(crate) convergence: Delay,
}

impl Turns<'_> {
    /// Returns the times at which links change or routes follow, ascending.
    pub(crate) fn all(&self) -> Box<[Time]> {
        let later = |turn: &Time| turn.checked_add(self.convergence);
        let all: BTreeSet<Time> = self.times.iter().copied().chain(self.times.iter().filter_map(later)).collect();
        all.into_iter().collect()
    }
}

/// The reason why tables cannot be made.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The tables of all states would be too large.
    TooLarge,
    /// There is no table for the state of the links at a time.
    Routing(Time, RoutingError),
}

impl Tables {
    /// Finds the tables for all states of the links. `ends` has the node and the slot where each direction
    /// ends.
    pub(crate) fn new(
        topology: &Topology,
        lines: &Lines,
        rules: Rules<'_>,
        turns: Turns<'_>,
        ends: &[(NodeId, u32)],
    ) -> Result<Tables, Refusal> {
        let next_hops = NextHops::new(topology, ends.iter().map(|&(node, _)| node), rules.statics);
        let mut epochs: Vec<(Time, u32)> = Vec::new();
        let mut tables = Vec::new();
        let mut known: BTreeMap<Vec<(u32, u64)>, u32> = BTreeMap::new();
        for turn in std::iter::once(Time::ZERO).chain(turns.times.iter().copied()) {
            let state = differences(lines, turn);
            let table = match known.get(&state) {
                Some(&table) => table,
                None => {
                    if next_hops.entries() * (tables.len() as u64 + 1) > ENTRIES_MAX {
                        return Err(Refusal::TooLarge);
                    }
                    let number = u32::try_from(tables.len()).expect("there are fewer than 2^32 events");
                    let cost = |link: LinkId| {
                        let quality = lines.of(link).at(turn);
                        quality.is_up.then_some(rules.metric.cost(quality.delay))
                    };
                    tables.push(next_hops.table(topology, rules, cost).map_err(|why| Refusal::Routing(turn, why))?);
                    known.insert(state, number);
                    number
                }
            };
            let from = match turn {
                Time::ZERO => Time::ZERO,
                turn => turn.checked_add(turns.convergence).unwrap_or(Time::MAX),
            };
            epochs.pop_if(|(before, _)| *before == from);
            epochs.push((from, table));
        }
        let goal = |&(node, slot): &(NodeId, u32)| {
            let destination = next_hops.destination(node).expect("tables are made for all ends");
            Goal { destination, slot }
        };
        let goals = ends.iter().map(goal).collect();
        let interfaces = topology.node_ids().flat_map(|node| topology.interfaces(node));
        let kinds = interfaces.map(|interface| lines.kind_by(topology, *interface)).collect();
        let place = |node| u32::try_from(topology.first_interface(node)).expect("a topology has fewer than 2^31 links");
        let first_port = topology.node_ids().map(place).collect();
        Ok(Tables { next_hops, epochs, tables, goals, first_port, kinds })
    }

    /// Returns the action of a node on a packet of a direction at a time.
    #[inline]
    pub(super) fn next(&self, node: NodeId, direction: u32, now: Time) -> Next<'_> {
        self.next_to(direction, node, direction, now)
    }

    /// Returns the action of a node on a packet for the end of the direction `goal`. `flow` is the number
    /// from which the packet's path is chosen.
    #[inline]
    pub(crate) fn next_to(&self, goal: u32, node: NodeId, flow: u32, now: Time) -> Next<'_> {
        let goal = &self.goals[goal as usize];
        if goal.destination.node == node {
            return Next::Endpoint(goal.slot);
        }
        let table = &self.tables[self.number_at(now) as usize];
        match self.next_hops.interface(table, node, &goal.destination, flow) {
            Some(port) => {
                let kind = self.kinds[(self.first_port[node.index()] + port) as usize];
                Next::Port(Exit { port, kind, step: LOOK_UP })
            }
            None => Next::Nowhere,
        }
    }

    /// Appends the hops of packets of a direction that start at `source`, by the table that holds at a time,
    /// whether links are up or not. Returns true if they arrive.
    pub(crate) fn append_path(
        &self,
        topology: &Topology,
        source: NodeId,
        direction: u32,
        time: Time,
        path: &mut Vec<(NodeId, Interface)>,
    ) -> bool {
        let table = &self.tables[self.number_at(time) as usize];
        let destination = &self.goals[direction as usize].destination;
        let mut at = source;
        while at != destination.node {
            let Some(port) = self.next_hops.interface(table, at, destination, direction) else { return false };
            let hop = topology.interfaces(at)[port as usize];
            path.push((at, hop));
            at = hop.neighbour;
        }
        true
    }

    /// Returns the number of the table that holds at a time.
    #[inline]
    pub(super) fn number_at(&self, time: Time) -> u32 {
        let epoch = match &self.epochs[..] {
            [_] => 0,
            several => several.partition_point(|(from, _)| *from <= time) - 1,
        };
        self.epochs[epoch].1
    }

    /// Returns true if a path leads from a node to the end of a direction, by the table that holds at a time.
    pub(crate) fn is_reachable(&self, topology: &Topology, node: NodeId, direction: u32, time: Time) -> bool {
        let table = &self.tables[self.number_at(time) as usize];
        self.next_hops.is_reachable(topology, table, node, &self.goals[direction as usize].destination)
    }
}

/// Returns the differences from the start: links that are down, and links whose delay has changed.
fn differences(lines: &Lines, time: Time) -> Vec<(u32, u64)> {
    let difference = |line: &Line| {
        let quality = line.at(time);
        match quality.is_up {
            false => Some(u64::MAX),
            true => (quality.delay != line.first.delay).then_some(quality.delay.as_ps()),
        }
    };
    let kinds: Vec<Option<u64>> = lines.kinds.iter().map(difference).collect();
    let of_link = |(link, &kind): (u32, &u32)| Some((link, kinds[kind as usize]?));
    (0..).zip(lines.kinds_of_links()).filter_map(of_link).collect()
}
