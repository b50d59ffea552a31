//! The channels as an undirected graph of weighted LPs, and the graph's components under contraction. The LPs
//! of a group are a chain in it.

use parades_core::channel::Channels;
use parades_core::event::LpId;
use parades_core::time::Delay;
use std::collections::BTreeMap;

/// A pair of LPs with a channel in either direction, or next to each other in a group. Edges are ordered by
/// lookahead, which is the order of contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) lookahead: Delay,
    pub(super) low: u32,
    pub(super) high: u32,
}

/// The components: sets of LPs that must be together. A union-find structure.
#[derive(Clone, Debug)]
pub(super) struct Components {
    /// By LP: a parent, which leads to the root of its component. The root is the component's first LP.
    parent: Vec<u32>,
    /// By root: the weight of its component.
    weight: Vec<u64>,
    pub(super) count: u32,
    /// The weight of the heaviest component.
    pub(super) heaviest: u64,
}

impl Components {
    fn of_each(weight: Vec<u64>, lps: u32) -> Components {
        let heaviest = weight.iter().copied().max().unwrap_or(0);
        Components { parent: (0..lps).collect(), weight, count: lps, heaviest }
    }

    fn root(&mut self, mut lp: u32) -> u32 {
        while self.parent[lp as usize] != lp {
            let above = self.parent[lp as usize];
            self.parent[lp as usize] = self.parent[above as usize];
            lp = above;
        }
        lp
    }

    /// Unites the components of an edge's two ends.
    pub(super) fn contract(&mut self, edge: &Edge) {
        let (a, b) = (self.root(edge.low), self.root(edge.high));
        if a != b {
            let (low, high) = (a.min(b), a.max(b));
            self.parent[high as usize] = low;
            self.weight[low as usize] += self.weight[high as usize];
            self.heaviest = self.heaviest.max(self.weight[low as usize]);
            self.count -= 1;
        }
    }

    /// Returns the component of each LP, and the weight of each component. Components are numbered in the
    /// order of their first LPs.
    pub(super) fn numbered(&mut self) -> (Vec<u32>, Vec<u64>) {
        let mut number = vec![0; self.parent.len()];
        let mut weights = Vec::with_capacity(self.count as usize);
        let mut next = 0;
        for lp in 0..self.parent.len() {
            // A parent has a lower id than its child. So the parent's parent is the root by now.
            let root = self.parent[self.parent[lp] as usize];
            self.parent[lp] = root;
            if root as usize == lp {
                number[lp] = next;
                next += 1;
                weights.push(self.weight[lp]);
            } else {
                number[lp] = number[root as usize];
            }
        }
        (number, weights)
    }
}

/// The graph, in which the channels that must never be cut are already contracted.
#[derive(Debug)]
pub(super) struct Graph {
    /// The edges that may be cut, in order, without duplicates.
    pub(super) edges: Vec<Edge>,
    pub(super) components: Components,
    /// The weight of all LPs.
    pub(super) total: u64,
}

impl Graph {
    /// Builds the graph of groups and the channels by pair, and contracts edges with a lookahead below
    /// `floor`.
    pub(super) fn new(channels: &Channels, lps: u32, floor: Delay, measured: Option<&[u64]>) -> Graph {
        let weights = weights(channels, lps, measured);
        let total = weights.iter().sum();
        let mut components = Components::of_each(weights, lps);
        let in_groups = if channels.has_groups() { lps as usize } else { 0 };
        let count = (0..lps).map(|lp| channels.from_sender(LpId(lp)).len()).sum::<usize>() + in_groups;
        let mut edges = Vec::with_capacity(count); // About exact, because there may be millions.
        let mut add = |a: LpId, b: LpId, lookahead| {
            let edge = Edge { lookahead, low: a.0.min(b.0), high: a.0.max(b.0) };
            if edge.lookahead < floor {
                components.contract(&edge);
            } else if a != b {
                edges.push(edge);
            }
        };
        for channel in (0..lps).flat_map(|lp| channels.from_sender(LpId(lp))) {
            add(channel.sender, channel.receiver, channel.lookahead);
        }
        for group in groups(channels, lps).into_values() {
            let Some(lookahead) = group.lookahead else { continue };
            group.members.windows(2).for_each(|next| add(next[0], next[1], lookahead));
        }
        edges.sort_unstable();
        edges.dedup();
        edges.shrink_to_fit();
        Graph { edges, components, total }
    }

    /// Returns the median lookahead of the edges that may be cut.
    pub(super) fn median(&self) -> Option<Delay> {
        self.edges.get(self.edges.len() / 2).map(|edge| edge.lookahead)
    }
}

/// A group of LPs.
#[derive(Default)]
struct Group {
    members: Vec<LpId>,
    /// The least lookahead from a member to another one, if there is a member that may send.
    lookahead: Option<Delay>,
}

/// Returns the groups by their numbers.
fn groups(channels: &Channels, lps: u32) -> BTreeMap<u32, Group> {
    let mut groups: BTreeMap<u32, Group> = BTreeMap::new();
    for lp in (0..lps).map(LpId) {
        let Some(group) = channels.group(lp) else { continue };
        let group = groups.entry(group).or_default();
        group.members.push(lp);
        group.lookahead = channels.lookahead_to_anyone(lp).into_iter().chain(group.lookahead).min();
    }
    groups
}

/// Returns the weight of an LP that executed `events` events. It is above zero, and limited so that no sum
/// overflows.
pub(super) fn weight(events: u64) -> u64 {
    1 + events.min(u64::from(u32::MAX - 1))
}

/// Returns the weight of each LP: by its measured events, or else by the number of its incoming channels.
fn weights(channels: &Channels, lps: u32, measured: Option<&[u64]>) -> Vec<u64> {
    if let Some(measured) = measured {
        return measured.iter().map(|&events| weight(events)).collect();
    }
    let mut weights = vec![1; lps as usize];
    for lp in 0..lps {
        for channel in channels.from_sender(LpId(lp)) {
            weights[channel.receiver.index()] += 1;
        }
    }
    weights
}
