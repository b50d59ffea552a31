//! Partitions: which LPs a conservative engine executes together.
//!
//! *Idea.* LPs of different partitions may be executed at the same time as far ahead as the least lookahead between partitions. So the cut
//! goes through channels of long lookahead, yet leaves enough partitions to keep every worker busy.
//!
//! *Search.* For a least lookahead that a cut may have, all shorter channels lie inside partitions: contracting them gives the smallest
//! *components*. (1) Every lookahead that occurs is tried as that least one, with a quick lower bound of the cost. (2) For the best of them
//! the components are gathered into partitions, neighbours together, and the cost is estimated in full. (3) Of those that
//! cost about as little as the best, the one with the longest lookahead is taken: it depends least on the guesses that went into
//! the estimate.
//!
//! *Invariants.* Each LP is in one partition, and each partition has an LP. Channels of lookahead zero are inside partitions. The same
//! channels and wish give the same partitions, in whatever order the channels were declared.
//!
//! *Cost.* For n LPs and m channels O((n + m) log m) time; some 30 bytes a channel and 50 an LP while it is at work. What stays is what
//! the [`Placement`] takes.
//!
//! *References.* D. Nicol, *Scalability, locality, partitioning and synchronization in PDES*, PADS, 1998; S. Bai et al., *Unison: a
//! parallel-efficient and user-transparent network simulation kernel*, EuroSys, 2024, which cuts at the median delay; G. Karypis, V. Kumar,
//! *A fast and high quality multilevel scheme for partitioning irregular graphs*, SIAM J. Sci. Comput., 1998 (growing regions).
//!
//! *Read next*: `estimate.rs`, what a cut costs; `search.rs`, which cuts are tried; `grow.rs`, how components are gathered.

mod estimate;
mod graph;
mod grow;
mod search;

use parades_core::channel::Channels;
use parades_core::event::LpId;
use parades_core::placement::Placement;
use parades_core::time::Delay;

/// The most partitions that a worker is given, unless more are wished for.
pub(crate) const MOST_PER_WORKER: u32 = 16;

/// LPs from which on one worker may be given several partitions. By measurement (`parades run campus --engine window
/// --threads 1 --set networks=N --until 20s`, with `--tune partitions=1` and without): 1,076 LPs take 1.05 of the time in two partitions, 1,614 0.93, 2,152 0.89,
/// 4,304 0.78, 17,216 0.75.
pub(crate) const NEAR_LPS: u32 = 2_048;
/// Events that a window must then hold for each LP, whose state comes into the caches once for all of them.
const EVENTS_PER_LP: f64 = 4.0;

/// What a partitioning is for, and what is known of the model beyond its channels.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// How many workers will execute the partitions.
    pub workers: u32,
    /// The most partitions; by default 16 for each worker. A single worker is given several only where a window holds so much for each that its LPs
    /// are executed from the caches near its core.
    pub partitions: Option<u32>,
    /// Channels of a shorter lookahead than this are never cut.
    pub least_lookahead: Option<Delay>,
    /// What bounds a window besides the lookahead between partitions: the control delay, where there are controllers.
    pub longest_window: Option<Delay>,
    /// Events of the whole model in a second of virtual time, as measured. Without it, each LP is taken to execute one event in
    /// the median lookahead.
    pub events_per_second: Option<f64>,
    /// Events that each LP executed, as measured. Without it, an LP's work is taken to grow with the number of its incoming channels.
    pub weights: Option<&'a [u64]>,
}

impl Wish<'static> {
    /// Partitions for so many workers, of a model of which nothing has been measured.
    pub const fn of_workers(workers: u32) -> Wish<'static> {
        Wish {
            workers,
            partitions: None,
            least_lookahead: None,
            longest_window: None,
            events_per_second: None,
            weights: None,
        }
    }
}

impl Wish<'_> {
    /// The most partitions that may be made.
    fn most(&self) -> u32 {
        match self.workers {
            _ if self.partitions.is_some() => self.partitions.unwrap_or(1),
            workers => workers.max(1).saturating_mul(MOST_PER_WORKER),
        }
    }

    /// The least lookahead that a cut may have.
    fn floor(&self) -> Delay {
        self.least_lookahead.unwrap_or(Delay::ZERO).max(Delay::from_ps(1))
    }
}

/// How the LPs are dealt out to partitions, which are numbered from 0 in the order of their first LPs.
///
/// # Examples
///
/// Where anyone may send to anyone, partitions are ranges of ids, unless measured weights make these uneven:
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
    speedup: f64,
    /// Events of all partitions in a window, as estimated.
    events_per_window: f64,
}

/// The least lookahead from one partition to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Between {
    /// The partition of the senders.
    pub from: u32,
    /// The partition of the receivers; another one.
    pub to: u32,
    /// No event from one to the other has a shorter delay.
    pub lookahead: Delay,
}

impl Partitioning {
    /// Deals out `lps` LPs with these channels, which are those of a [`parades_core::world::World`].
    ///
    /// There are several partitions if the channels and the wish allow it: at least as many as workers, except where a longer lookahead is
    /// worth more than the last worker. Where all LPs must be together (one may send to anyone without delay, or channels of lookahead zero
    /// connect all), there is one.
    ///
    /// # Panics
    ///
    /// If there are measured weights, but not one for each LP; or if the channels have never been part of a world.
    pub fn find(channels: &Channels, lps: u32, wish: &Wish<'_>) -> Partitioning {
        if let Some(weights) = wish.weights {
            assert_eq!(weights.len(), lps as usize, "there is one weight for each LP");
        }
        let anyone = channels.min_lookahead_to_anyone();
        // One worker need not balance anything.
        let alone = wish.workers <= 1 && wish.partitions.is_none();
        if alone && (lps < NEAR_LPS || anyone.is_some()) {
            return Partitioning::one(lps);
        }
        if wish.most() <= 1 || lps <= 1 || anyone.is_some_and(|lookahead| lookahead < wish.floor()) {
            return Partitioning::one(lps);
        }
        let found = search::search(channels, lps, anyone, wish);
        if alone && found.events_per_window < EVENTS_PER_LP * f64::from(lps) { Partitioning::one(lps) } else { found }
    }

    /// All LPs in one partition.
    pub fn one(lps: u32) -> Partitioning {
        Partitioning {
            lps,
            placement: Placement::one(lps),
            lookahead: None,
            speedup: 1.0,
            events_per_window: f64::INFINITY,
        }
    }

    /// What is known where only the placement is kept.
    pub(crate) fn of_placement(lps: u32, placement: &Placement) -> Partitioning {
        Partitioning { placement: placement.clone(), ..Partitioning::one(lps) }
    }

    /// Where each LP is.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// How many partitions there are.
    pub fn partitions(&self) -> u32 {
        self.placement.partitions()
    }

    /// The partition of an LP.
    #[inline]
    pub fn of(&self, lp: LpId) -> u32 {
        self.placement.partition(lp)
    }

    /// The LPs of each partition, in id order.
    pub fn members(&self) -> Vec<Vec<LpId>> {
        self.placement.members(self.lps)
    }

    /// The least lookahead of any channel between two partitions; `None` where no partition can send to another.
    pub fn lookahead(&self) -> Option<Delay> {
        self.lookahead
    }

    /// The share of the weight of all LPs that the busiest of so many workers has where LPs are placed like this.
    pub(crate) fn busiest_share(placement: &Placement, workers: u32, weights: &[u64]) -> f64 {
        let mut loads = vec![0; placement.partitions() as usize];
        for (id, &events) in (0..).zip(weights) {
            loads[placement.partition(LpId(id)) as usize] += graph::weight(events);
        }
        estimate::busiest(workers, loads)
    }

    /// How many times as fast as one worker the wished number is estimated to be. Below 1, one worker is the better choice.
    pub fn speedup(&self) -> f64 {
        self.speedup
    }

    /// The least lookahead between partitions if the channels were these: after a global event has changed them, say.
    pub fn lookahead_of(&self, channels: &Channels) -> Option<Delay> {
        if self.partitions() == 1 {
            return None;
        }
        let of_sender = |lp| {
            let cut = channels.from_sender(lp).iter().filter(|channel| self.of(channel.receiver) != self.of(lp));
            cut.map(|channel| channel.lookahead).chain(channels.lookahead_to_anyone(lp)).min()
        };
        (0..self.lps).filter_map(|lp| of_sender(LpId(lp))).min()
    }

    /// The least lookahead from each partition to each that it may send to, ordered by partitions.
    ///
    /// Takes time in proportion to the channels and to what it returns.
    pub fn between(&self, channels: &Channels) -> Vec<Between> {
        let mut all = Vec::new();
        let mut least = vec![None; self.partitions() as usize];
        for (from, members) in (0..).zip(self.members()) {
            let mut anyone = None;
            let mut reached = Vec::new();
            for lp in members {
                anyone = channels.lookahead_to_anyone(lp).into_iter().chain(anyone).min();
                for channel in channels.from_sender(lp) {
                    let to = self.of(channel.receiver);
                    let least: &mut Option<Delay> = &mut least[to as usize];
                    if to != from && least.is_none() {
                        reached.push(to);
                    }
                    *least = Some(least.map_or(channel.lookahead, |least| least.min(channel.lookahead)));
                }
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
