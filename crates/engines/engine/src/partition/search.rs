//! The search: the cuts that are tried, and the choice among them.

use super::estimate::{Cut, Estimate};
use super::graph::{Components, Edge, Graph};
use super::{Partitioning, Placing, Wish, grow, ranges};
use parades_core::channel::Channels;
use parades_core::event::LpId;
use parades_core::placement::Placement;
use parades_core::time::Delay;
use std::cmp::Reverse;

/// The number of least lookaheads that are tried in full.
const FINALISTS: usize = 4;
/// The cost of an acceptable cut of longer lookahead, over that of the best cut, if weights or rate are
/// guesses.
const SLACK_GUESSED: f64 = 1.25;
/// The same if both have been measured.
const SLACK_MEASURED: f64 = 1.1;

/// Finds the best partitioning. It has several partitions if the channels allow it. `anyone` is the least
/// lookahead of channels to any LP of another group.
pub(super) fn search(channels: &Channels, lps: u32, anyone: Option<Delay>, wish: &Wish<'_>) -> Partitioning {
    if !channels.has_pairs() && !channels.has_groups() && wish.placing == Placing::Channels {
        return alike(lps, anyone, wish);
    }
    let graph = Graph::new(channels, lps, wish.floor(), wish.weights);
    if wish.placing == Placing::Ranges {
        let estimate = Estimate::new(wish, lps, graph.median().or(anyone));
        let search = Search { channels, lps, anyone, wish, estimate };
        return search.by_ranges(graph).unwrap_or_else(|| Partitioning::one(lps));
    }
    if graph.edges.is_empty() && graph.components.count == lps {
        let used = || anyone.is_some() || (0..lps).any(|lp| !channels.from_sender(LpId(lp)).is_empty());
        assert!(channels.min_lookahead().is_none() || used(), "the channels are those of a world");
        return alike(lps, anyone, wish);
    }
    let estimate = Estimate::new(wish, lps, graph.median().or(anyone));
    Search { channels, lps, anyone, wish, estimate }.by_pairs(graph).unwrap_or_else(|| Partitioning::one(lps))
}

/// The cost of acceptable ranges, over that of stripes. Ranges are preferred, because neighbours in a range
/// often communicate more with each other.
const SLACK_RANGES: f64 = 1.05;

/// Finds partitions of LPs that have the same channels: ranges of ids of equal length; or stripes, if
/// measured weights make these ranges uneven; or ranges of equal weight, if stripes are uneven too and the
/// wish is for even loads. Stripe *k* of *n* holds the ids that are *k* modulo *n*.
fn alike(lps: u32, anyone: Option<Delay>, wish: &Wish<'_>) -> Partitioning {
    let estimate = Estimate::new(wish, lps, anyone);
    let most = wish.most().min(lps);
    let enough = wish.workers.clamp(2, most);
    let cut = |bits: u32| {
        let partitions = lps.div_ceil(1 << bits);
        let last = u64::from(lps - ((partitions - 1) << bits));
        let weights = match wish.weights {
            Some(weights) => weights.chunks(1 << bits).map(sum).collect(),
            None => (1..partitions).map(|_| 1 << bits).chain([last]).collect(),
        };
        // Each LP is assumed to be an equally likely receiver.
        let crossing = if anyone.is_some() { 1.0 - 1.0 / f64::from(partitions) } else { 0.0 };
        Cut { lookahead: anyone, partitions, busiest: estimate.busiest(weights), crossing }
    };
    let possible = (0..u32::BITS).filter(|&bits| (2..=most).contains(&lps.div_ceil(1 << bits)));
    let missing = |cut: &Cut| Reverse(cut.partitions.min(enough));
    let best = possible.map(|bits| (bits, cut(bits))).min_by(|(_, a), (_, b)| {
        missing(a).cmp(&missing(b)).then_with(|| estimate.cost(a).total_cmp(&estimate.cost(b)))
    });
    let (bits, cut) = best.expect("half of the ids are a range if more partitions are too many");
    if let Some(measured) = wish.weights {
        let weights: Vec<u64> = measured.iter().map(|&events| super::graph::weight(events)).collect();
        let crossing = if anyone.is_some() { 1.0 - 1.0 / f64::from(enough) } else { 0.0 };
        let cut_of = |home: &[u32]| {
            let mut loads = vec![0; enough as usize];
            home.iter().zip(&weights).for_each(|(&home, weight)| loads[home as usize] += weight);
            Cut { lookahead: anyone, partitions: enough, busiest: estimate.busiest(loads), crossing }
        };
        let stripes: Vec<u32> = (0..lps).map(|id| id % enough).collect();
        let shares = wish.evenly.then(|| ranges::shares(&weights, enough));
        let (mut best, mut cost) = (None, estimate.cost(&cut));
        for home in [Some(stripes), shares].into_iter().flatten() {
            let cut = cut_of(&home);
            if estimate.cost(&cut) * SLACK_RANGES < cost {
                (best, cost) = (Some((home, cut)), estimate.cost(&cut));
            }
        }
        if let Some((placement, cut)) = best.and_then(|(home, cut)| Some((Placement::table(&home)?, cut))) {
            let speedup = estimate.speedup(&cut);
            let events_per_window = estimate.events_per_window(anyone);
            let placing = Placing::Channels;
            return Partitioning { lps, placement, lookahead: anyone, placing, speedup, events_per_window };
        }
    }
    let placement = Placement::ranges(lps, 1 << bits);
    let (speedup, events_per_window) = (estimate.speedup(&cut), estimate.events_per_window(anyone));
    Partitioning { lps, placement, lookahead: anyone, placing: Placing::Channels, speedup, events_per_window }
}

/// Returns the weight of LPs with the measured numbers of events. It is limited so that the sum over all
/// LPs fits a `u64`.
fn sum(measured: &[u64]) -> u64 {
    measured.iter().map(|&events| super::graph::weight(events)).sum()
}

/// A candidate for the least lookahead of the cut.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// The number of edges with a shorter lookahead.
    shorter: usize,
    /// The class of the lookahead; `None` if no edge is cut.
    class: Option<u8>,
    /// The lower bound of the cost of a cut with this least lookahead.
    bound: f64,
}

/// A cut that was tried in full, and its cost.
struct Tried {
    /// The partition of each LP.
    home: Vec<u32>,
    cut: Cut,
    cost: f64,
}

/// The inputs that stay the same while cuts are compared.
struct Search<'a> {
    channels: &'a Channels,
    lps: u32,
    anyone: Option<Delay>,
    wish: &'a Wish<'a>,
    estimate: Estimate,
}

impl Search<'_> {
    /// Finds partitions for channels by pair. `None` if all LPs must be together, or nearly all of them are.
    fn by_pairs(&self, graph: Graph) -> Option<Partitioning> {
        let finalists = self.finalists(&graph);
        let Graph { edges, mut components, .. } = graph;
        let mut contracted = 0;
        let mut tried = Vec::with_capacity(finalists.len());
        for Candidate { shorter, .. } in finalists {
            edges[contracted..shorter].iter().for_each(|edge| components.contract(edge));
            contracted = shorter;
            tried.push(self.try_cut(&edges[contracted..], &mut components));
        }
        self.choose(tried)
    }

    /// Returns the least lookaheads to try in full, in order: the best of each class by lower bound, and of
    /// these the best few.
    fn finalists(&self, graph: &Graph) -> Vec<Candidate> {
        let mut components = graph.components.clone();
        let mut best: Vec<Candidate> = Vec::new();
        let mut shorter = 0;
        while components.count > 1 {
            let edge = graph.edges.get(shorter);
            let lookahead = self.or_anyone(edge.map(|edge| edge.lookahead));
            let bound = self.lower_bound(&components, graph.total, lookahead);
            let candidate = Candidate { shorter, class: edge.map(grow::class), bound };
            match best.last_mut() {
                Some(last) if last.class == candidate.class => {
                    if bound <= last.bound {
                        *last = candidate;
                    }
                }
                _ => best.push(candidate),
            }
            let Some(edge) = edge else { break };
            if self.anyone.is_some_and(|anyone| anyone <= edge.lookahead) {
                break; // Cutting only longer channels gains nothing, because channels to any LP are cut anyway.
            }
            for equal in graph.edges[shorter..].iter().take_while(|equal| equal.lookahead == edge.lookahead) {
                components.contract(equal);
                shorter += 1;
            }
        }
        best.sort_by(|a, b| a.bound.total_cmp(&b.bound).then(b.shorter.cmp(&a.shorter)));
        best.truncate(FINALISTS);
        best.sort_unstable_by_key(|candidate| candidate.shorter);
        best
    }

    /// Returns the cost of a cut between components if they pack perfectly and no event crosses.
    fn lower_bound(&self, components: &Components, total: u64, lookahead: Option<Delay>) -> f64 {
        let shares = self.wish.workers.clamp(1, components.count);
        let busiest = (components.heaviest as f64 / total as f64).max(1.0 / f64::from(shares));
        let partitions = self.partitions(components.count, lookahead);
        self.estimate.cost(&Cut { lookahead, partitions, busiest, crossing: 0.0 })
    }

    /// Returns the number of partitions for two or more components. It is a multiple of the number of
    /// workers, unless each component becomes a partition.
    fn partitions(&self, components: u32, lookahead: Option<Delay>) -> u32 {
        let (workers, most) = (self.wish.workers.max(1), self.wish.most());
        let most = if components > most && most > workers { most - most % workers } else { most };
        let wanted = self.estimate.partitions_per_worker(lookahead).saturating_mul(workers);
        wanted.min(most).clamp(2, components)
    }

    fn or_anyone(&self, lookahead: Option<Delay>) -> Option<Delay> {
        lookahead.into_iter().chain(self.anyone).min()
    }

    /// Gathers components into partitions. `edges` are the edges that may be cut.
    fn try_cut(&self, edges: &[Edge], components: &mut Components) -> Tried {
        let (mut home, weights) = components.numbered();
        let least = self.or_anyone(edges.first().map(|edge| edge.lookahead));
        let partitions = self.partitions(components.count, least);
        let mut loads = weights;
        if partitions < components.count {
            let region = grow::grow(edges, &home, &loads, partitions);
            let mut gathered = vec![0; partitions as usize];
            region.iter().zip(&loads).for_each(|(&region, weight)| gathered[region as usize] += weight);
            home.iter_mut().for_each(|home| *home = region[*home as usize]);
            loads = gathered;
        }
        self.assess(home, loads, edges)
    }

    /// Cuts the ids into ranges, one for each worker unless the wish names another number. `None` if all LPs
    /// must be together.
    fn by_ranges(&self, graph: Graph) -> Option<Partitioning> {
        let Graph { edges, mut components, .. } = graph;
        let (mut home, weights) = components.numbered();
        let wanted = self.wish.partitions.unwrap_or(self.wish.workers).clamp(1, components.count);
        let range = ranges::shares(&weights, wanted);
        let mut loads = vec![0; wanted as usize];
        range.iter().zip(&weights).for_each(|(&range, weight)| loads[range as usize] += weight);
        home.iter_mut().for_each(|home| *home = range[*home as usize]);
        if wanted > 1 { self.choose(vec![self.assess(home, loads, &edges)]) } else { None }
    }

    /// Returns a cut with its cost. `home` is the partition of each LP, and `loads` has the weight of each
    /// partition. `edges` are the edges that may be cut, in order.
    fn assess(&self, home: Vec<u32>, loads: Vec<u64>, edges: &[Edge]) -> Tried {
        let partitions = u32::try_from(loads.len()).expect("partitions are counted in 32 bits");
        let cut_edge = edges.iter().find(|edge| home[edge.low as usize] != home[edge.high as usize]);
        let lookahead = self.or_anyone(cut_edge.map(|edge| edge.lookahead));
        let crossing = self.crossing(&home, partitions);
        let cut = Cut { lookahead, partitions, busiest: self.estimate.busiest(loads), crossing };
        Tried { home, cut, cost: self.estimate.cost(&cut) }
    }

    /// Returns the share of events that cross between partitions, if each LP uses its channels equally often,
    /// and an LP that has only a channel to anyone sends to all LPs equally often.
    fn crossing(&self, home: &[u32], partitions: u32) -> f64 {
        let (mut crossing, mut all) = (0.0, 0.0);
        let mut sizes = vec![0_u32; partitions as usize];
        home.iter().for_each(|&home| sizes[home as usize] += 1);
        for (id, &from) in (0..).zip(home) {
            let channels = self.channels.from_sender(LpId(id));
            if !channels.is_empty() {
                let events = self.wish.weights.map_or(channels.len() as f64, |weights| weights[id as usize] as f64);
                let cut = channels.iter().filter(|channel| home[channel.receiver.index()] != from).count();
                crossing += events * (cut as f64 / channels.len() as f64);
                all += events;
            } else if self.channels.lookahead_to_anyone(LpId(id)).is_some() {
                let events = self.wish.weights.map_or(1.0, |weights| weights[id as usize] as f64);
                crossing += events * (1.0 - f64::from(sizes[from as usize]) / f64::from(self.lps));
                all += events;
            }
        }
        if all > 0.0 { crossing / all } else { 0.0 }
    }

    /// Chooses the cut of the longest lookahead among those that cost about as little as the best.
    fn choose(&self, tried: Vec<Tried>) -> Option<Partitioning> {
        let measured = self.wish.weights.is_some() && self.wish.events_per_second.is_some();
        let slack = if measured { SLACK_MEASURED } else { SLACK_GUESSED };
        let least = tried.iter().map(|tried| tried.cost).fold(f64::INFINITY, f64::min);
        let length = |tried: &Tried| tried.cut.lookahead.unwrap_or(Delay::MAX);
        let good = tried.into_iter().filter(|tried| tried.cost <= least * slack);
        let best = good.max_by(|a, b| length(a).cmp(&length(b)).then_with(|| b.cost.total_cmp(&a.cost)));
        let Tried { mut home, cut, .. } = best?;
        number_by_first(&mut home, cut.partitions);
        // Without room for a table there are billions of LPs, nearly all in one partition.
        let placement = Placement::table(&home)?;
        let speedup = self.estimate.speedup(&cut);
        let events_per_window = self.estimate.events_per_window(cut.lookahead);
        let (lps, placing) = (self.lps, self.wish.placing);
        Some(Partitioning { lps, placement, lookahead: cut.lookahead, placing, speedup, events_per_window })
    }
}

/// Renumbers partitions in the order of their first LPs.
fn number_by_first(home: &mut [u32], partitions: u32) {
    let mut number = vec![u32::MAX; partitions as usize];
    let mut next = 0;
    for home in home {
        let number = &mut number[*home as usize];
        if *number == u32::MAX {
            *number = next;
            next += 1;
        }
        *home = *number;
    }
    assert_eq!(next, partitions, "each partition has an LP");
}
