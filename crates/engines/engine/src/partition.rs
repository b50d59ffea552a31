//! Partitions: the sets of LPs that a conservative engine executes together.
//!
//! *Idea.* LPs of different partitions may be executed at the same time, as far ahead as the least
//! lookahead between partitions. So the cut goes through channels of long lookahead, yet leaves enough
//! partitions to keep every worker busy.
//!
//! *Search.* Suppose that a cut has some least lookahead. Then all shorter channels lie inside partitions.
//! Contracting these channels gives the smallest possible *components*.
//!
//! 1. Each lookahead that occurs is tried as the least one, with a quick lower bound of the cost.
//! 2. For the best of them, the components are gathered into partitions, neighbours together, and the full
//!    cost is estimated.
//! 3. Among the cuts that cost about as little as the best, the search takes the cut with the longest
//!    lookahead. That cut depends least on the guesses in the estimate.
//!
//! *Invariants.* Each LP is in one partition, and each partition has an LP. Channels of lookahead zero are
//! inside partitions. The same channels and wish give the same partitions, in whatever order the channels
//! were declared.
//!
//! *Cost.* For *n* LPs and *m* channels, O((*n* + *m*) log *m*) time. During the search some 30 bytes a
//! channel and 50 an LP. Afterwards only the [`Placement`] remains.
//!
//! *References.* D. Nicol, *Scalability, locality, partitioning and synchronization in PDES*, PADS, 1998;
//! S. Bai et al., *Unison: a parallel-efficient and user-transparent network simulation kernel*, EuroSys,
//! 2024, which cuts at the median delay; G. Karypis, V. Kumar, *A fast and high quality multilevel scheme
//! for partitioning irregular graphs*, SIAM J. Sci. Comput., 1998 (growing regions).
//!
//! *Groups.* LPs of one group ([`Channels::to_other_groups`]) count as neighbours at the least lookahead
//! within the group.
//!
//! *Ranges.* With [`Placing::Ranges`], the LPs are cut by their ids alone. LPs that must be together count as
//! neighbours of the first of them.
//!
//! *Read next*: `estimate.rs`, the cost of a cut; `search.rs`, the cuts that are tried; `grow.rs`, how
//! components are gathered; `ranks.rs`, the process of each partition.

mod estimate;
mod graph;
mod grow;
pub(crate) mod ranges;
pub(crate) mod ranks;
mod search;

use parades_core::channel::Channels;
use parades_core::event::LpId;
use parades_core::placement::Placement;
use parades_core::time::Delay;
pub use parades_transport::Between;
use std::collections::{BTreeMap, BTreeSet};

/// The most partitions of a worker, unless the settings ask for more.
pub(crate) const MOST_PER_WORKER: u32 = 16;

/// The number of LPs from which a single worker may have several partitions. With fewer LPs, all states fit
/// the caches near its core anyway.
pub(crate) const NEAR_LPS: u32 = 2_048;
/// The fewest events for each LP in a window that make several partitions of a single worker pay. An LP's
/// state then comes into the cache once for all of these events.
const EVENTS_PER_LP: f64 = 4.0;

/// The facts by which LPs are placed on partitions, and partitions on ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// The channels: neighbours are placed together, so that the cut crosses few channels.
    #[default]
    Channels,
    /// The ids: each partition and each rank has a range of them. For models whose neighbours have nearby
    /// ids, and for measurements of messages that cross.
    Ranges,
}

/// The purpose of a partitioning, and the measurements of the model.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// The number of workers that will execute the partitions.
    pub workers: u32,
    /// The most partitions; by default 16 for each worker. A single worker has several only if each holds
    /// many events in a window, so that its LPs are executed from the caches near the core.
    pub partitions: Option<u32>,
    /// Channels of a shorter lookahead than this are never cut.
    pub least_lookahead: Option<Delay>,
    /// The facts by which LPs are placed.
    pub placing: Placing,
    /// A limit of a window besides the lookahead between partitions: the control delay, if there are
    /// controllers.
    pub longest_window: Option<Delay>,
    /// The measured number of events of the whole model in a second of virtual time. By default, each LP is
    /// assumed to execute one event in the median lookahead.
    pub events_per_second: Option<f64>,
    /// The measured number of events of each LP. By default, an LP's work is assumed to grow with the
    /// number of its incoming channels.
    pub weights: Option<&'a [u64]>,
    /// True if LPs that have the same channels are shared out as evenly as measured weights allow, because
    /// the workers have been unequally busy.
    pub evenly: bool,
}

impl Wish<'static> {
    /// Asks for partitions for `workers` workers, without measurements.
    pub const fn of_workers(workers: u32) -> Wish<'static> {
        Wish {
            workers,
            partitions: None,
            least_lookahead: None,
            placing: Placing::Channels,
            longest_window: None,
            events_per_second: None,
            weights: None,
            evenly: false,
        }
    }
}

impl Wish<'_> {
    /// Returns the most partitions allowed.
    fn most(&self) -> u32 {
        match self.workers {
            _ if self.partitions.is_some() => self.partitions.unwrap_or(1),
            workers => workers.max(1).saturating_mul(MOST_PER_WORKER),
        }
    }

    /// Returns the least lookahead that a cut may have.
    fn floor(&self) -> Delay {
        self.least_lookahead.unwrap_or(Delay::ZERO).max(Delay::from_ps(1))
    }
}

/// An assignment of the LPs to partitions. Partitions are numbered from 0, in the order of their first LPs.
///
/// # Examples
///
/// If any LP may send to any other, partitions are ranges of ids, unless measured weights make the ranges
/// uneven:
///
/// ```
/// use parades_core::{channel::Channels, event::LpId, time::Delay};
/// use parades_engine::partition::{Partitioning, Wish};
/// let channels = Channels::whole(Delay::from_ms(1));
/// let found = Partitioning::find(&channels, 1024, &Wish::of_workers(4));
/// assert_eq!(found.partitions(), 4);
/// assert_eq!(found.of(LpId(512)), 2);
/// assert_eq!(found.members()[3][0], LpId(768));
/// assert_eq!(found.lookahead(), Some(Delay::from_ms(1)));
/// ```
#[derive(Clone, Debug)]
pub struct Partitioning {
    lps: u32,
    placement: Placement,
    lookahead: Option<Delay>,
    placing: Placing,
    speedup: f64,
    /// The estimated number of events of all partitions in a window.
    events_per_window: f64,
}

impl Partitioning {
    /// Finds partitions of `lps` LPs with these channels, which must be those of a
    /// [`parades_core::world::World`].
    ///
    /// There are several partitions if the channels and the wish allow it. There are at least as many as
    /// workers, unless a longer lookahead is worth more than the last worker. There is one partition if all
    /// LPs must be together: an LP may send to any other without delay, or channels of lookahead zero
    /// connect all.
    ///
    /// # Panics
    ///
    /// Panics if there are measured weights, but not one for each LP. Panics if the channels have never
    /// been part of a world.
    pub fn find(channels: &Channels, lps: u32, wish: &Wish<'_>) -> Partitioning {
        if let Some(weights) = wish.weights {
            assert_eq!(weights.len(), lps as usize, "there is one weight for each LP");
        }
        let anyone = channels.min_lookahead_to_other_groups(lps);
        // A single worker has nothing to balance.
        let alone = wish.workers <= 1 && wish.partitions.is_none();
        if alone && (lps < NEAR_LPS || (anyone.is_some() && !channels.has_groups())) {
            return Partitioning::one(lps);
        }
        if wish.most() <= 1 || lps <= 1 || anyone.is_some_and(|lookahead| lookahead < wish.floor()) {
            return Partitioning::one(lps);
        }
        let found = search::search(channels, lps, anyone, wish);
        if alone && found.events_per_window < EVENTS_PER_LP * f64::from(lps) { Partitioning::one(lps) } else { found }
    }

    /// Puts all LPs into one partition.
    pub fn one(lps: u32) -> Partitioning {
        Partitioning {
            lps,
            placement: Placement::one(lps),
            lookahead: None,
            placing: Placing::Channels,
            speedup: 1.0,
            events_per_window: f64::INFINITY,
        }
    }

    /// Places the LPs on at most `most` partitions at random. Channels of a shorter lookahead than `floor`,
    /// and those without lookahead, are not cut.
    #[cfg(feature = "test-hooks")]
    pub(crate) fn at_random(
        channels: &Channels,
        lps: u32,
        floor: Delay,
        most: u32,
        rng: &parades_core::random::Rng,
    ) -> Partitioning {
        let floor = floor.max(Delay::from_ps(1));
        if channels.min_lookahead_to_other_groups(lps).is_some_and(|lookahead| lookahead < floor) {
            return Partitioning::one(lps);
        }
        let (component, weights) = graph::Graph::new(channels, lps, floor, None).components.numbered();
        let most = 1 + rng.below(u64::from(most));
        #[expect(clippy::cast_possible_truncation, reason = "below `most`")]
        let drawn: Vec<u32> = weights.iter().map(|_| rng.below(most) as u32).collect();
        // Partitions without LPs have no number.
        let mut used = drawn.clone();
        used.sort_unstable();
        used.dedup();
        let number: std::collections::BTreeMap<u32, u32> = used.into_iter().zip(0..).collect();
        let home: Vec<u32> = component.iter().map(|&component| number[&drawn[component as usize]]).collect();
        let Some(placement) = Placement::table(&home) else { return Partitioning::one(lps) };
        let mut found = Partitioning { placement, ..Partitioning::one(lps) };
        found.lookahead = found.lookahead_of(channels);
        found
    }

    /// Returns the partitioning of a placement. Its lookahead and estimates are unknown.
    pub(crate) fn of_placement(lps: u32, placement: &Placement) -> Partitioning {
        Partitioning { placement: placement.clone(), ..Partitioning::one(lps) }
    }

    /// Returns the partition of each LP, and its index there.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Returns the facts by which the LPs were placed.
    pub(crate) fn placing(&self) -> Placing {
        self.placing
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> u32 {
        self.placement.partitions()
    }

    /// Returns the partition of an LP.
    #[inline]
    pub fn of(&self, lp: LpId) -> u32 {
        self.placement.partition(lp)
    }

    /// Returns the LPs of each partition, in id order.
    pub fn members(&self) -> Vec<Vec<LpId>> {
        self.placement.members(self.lps)
    }

    /// Returns the least lookahead between two partitions. `None` if no partition can send to another.
    pub fn lookahead(&self) -> Option<Delay> {
        self.lookahead
    }

    /// Returns the share of the total weight that the busiest of `workers` workers has under `placement`.
    pub(crate) fn busiest_share(placement: &Placement, workers: u32, weights: &[u64]) -> f64 {
        let mut loads = vec![0; placement.partitions() as usize];
        for (id, &events) in (0..).zip(weights) {
            loads[placement.partition(LpId(id)) as usize] += graph::weight(events);
        }
        estimate::busiest(workers, loads)
    }

    /// Returns the estimated speedup over a single worker. Below 1, a single worker is the better choice.
    pub fn speedup(&self) -> f64 {
        self.speedup
    }

    /// Returns the least lookahead between partitions for other channels, which a global event may have
    /// changed.
    pub fn lookahead_of(&self, channels: &Channels) -> Option<Delay> {
        if self.partitions() == 1 {
            return None;
        }
        let split = self.split_groups(channels);
        let of_sender = |lp| {
            let cut = channels.from_sender(lp).iter().filter(|channel| self.of(channel.receiver) != self.of(lp));
            let is_split = channels.group(lp).is_some_and(|group| split.contains_key(&group));
            let anyone =
                if is_split { channels.lookahead_to_anyone(lp) } else { channels.lookahead_to_other_groups(lp) };
            cut.map(|channel| channel.lookahead).chain(anyone).min()
        };
        (0..self.lps).filter_map(|lp| of_sender(LpId(lp))).min()
    }

    /// Returns the groups of LPs that are not in one partition, each with its partitions.
    fn split_groups(&self, channels: &Channels) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut first = BTreeMap::new();
        let mut split: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        if !channels.has_groups() {
            return split;
        }
        for lp in (0..self.lps).map(LpId) {
            let Some(group) = channels.group(lp) else { continue };
            let here = self.of(lp);
            let first = *first.entry(group).or_insert(here);
            if first != here {
                split.entry(group).or_insert_with(|| BTreeSet::from([first])).insert(here);
            }
        }
        split
    }

    /// Returns the least lookahead from each partition to each other that it may send to, ordered by `from`
    /// and `to`.
    ///
    /// Takes time in proportion to the number of channels and the length of the result.
    pub fn between(&self, channels: &Channels) -> Vec<Between> {
        let mut all = Vec::new();
        let mut least = vec![None; self.partitions() as usize];
        let split = self.split_groups(channels);
        for (from, members) in (0..).zip(self.members()) {
            let mut anyone = None;
            let mut reached = Vec::new();
            let mut reach = |to: u32, lookahead: Delay| {
                let least: &mut Option<Delay> = &mut least[to as usize];
                if to != from && least.is_none() {
                    reached.push(to);
                }
                *least = Some(least.map_or(lookahead, |least| least.min(lookahead)));
            };
            for lp in members {
                anyone = channels.lookahead_to_other_groups(lp).into_iter().chain(anyone).min();
                let parts = channels.group(lp).and_then(|group| split.get(&group));
                if let (Some(parts), Some(lookahead)) = (parts, channels.lookahead_to_anyone(lp)) {
                    parts.iter().for_each(|&to| reach(to, lookahead));
                }
                channels.from_sender(lp).iter().for_each(|channel| reach(self.of(channel.receiver), channel.lookahead));
            }
            if anyone.is_some() {
                reached = (0..self.partitions()).filter(|&to| to != from).collect();
            }
            reached.sort_unstable();
            least[from as usize] = None;
            all.extend(reached.into_iter().filter_map(|to| {
                let lookahead = least[to as usize].take().into_iter().chain(anyone).min()?;
                Some(Between { from, to, lookahead })
            }));
        }
        all
    }
}
