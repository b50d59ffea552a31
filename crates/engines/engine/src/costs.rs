//! The cost of events by the clock, LP by LP.
//!
//! *Idea.* A worker times some of its events. One event in `stride` is timed, and its time counts `stride`
//! times. So the sum over any set of LPs estimates the time that their events take. The number of events from
//! one timed event to the next is drawn at random, so no rhythm of the model can hide from the clock.
//!
//! *Cost.* Readings of the clock take a 200th of a worker's time: costly events are all timed, and cheap ones
//! seldom.
//!
//! *Other programs.* Time in which the thread had no core is not part of an event's cost. It is found by the
//! thread's processor time, whose reading is a system call. So only an event that seems to take long is
//! checked.
//!
//! *Ageing.* New samples count more than old ones ([`Costs::age`]), so costs follow a model that changes. To
//! age, the costs of LPs need not be touched: the scale of later samples grows instead.
//!
//! *References.* G. Seguin, *Multi-core parallelism for ns-3 simulator*, INRIA, 2009, section 4.3, which
//! proposes to balance by measured time; D. Glazer, C. Tropper, *On process migration and load balancing in
//! Time Warp*, IEEE TPDS 4, 1993.

use crate::peers::Peers;
use crate::stopwatch::{core_time, now};
use crate::travel::Places;
use parades_core::event::LpId;
use parades_core::placement::Placement;
use parades_sync::barrier::Broken;
use std::ops::Add;
use std::time::{Duration, Instant};

/// The share of a worker's time in which it reads the clock.
const CLOCK_SHARE: f64 = 1.0 / 200.0;
/// The least time to read the clock, in nanoseconds. A coarse clock shows none.
const CLOCK_NS_MIN: f64 = 10.0;
/// The most events from one timed event to the next, on average.
const STRIDE_MAX: f64 = 256.0;
/// The weight of a new sample in the mean time of an event.
const MEAN_SHARE: f64 = 1.0 / 16.0;
/// The time of an event from which the thread may have been without a core.
const SUSPECT: Duration = Duration::from_micros(50);
/// The time after which the thread's processor time is read again, before an event is timed.
const CORE_READING: Duration = Duration::from_micros(200);
/// The factor by which samples count less after each ageing.
const KEPT: f32 = 1.0 / 2.0;
/// The scale from which the costs are scaled down.
const SCALE_MAX: f32 = (1_u64 << 40) as f32;
/// The fewest samples by which costs are compared.
const SAMPLES_MIN: f64 = 64.0;
/// The samples of a group of LPs, on average, in the test of [`weights`].
const SAMPLES_PER_GROUP: f64 = 8.0;
/// The mean squared difference between a group's cost and that of its events, over the difference that
/// chance makes, from which costs count instead of events.
const SIGNIFICANT: f64 = 2.0;

/// A wall time, and the processor time that the calling thread had taken then. `None` if the system does not
/// report it.
pub(crate) type CoreReading = (Instant, Option<Duration>);

/// Reads the processor time of this thread, which is a system call.
pub(crate) fn core_reading() -> CoreReading {
    (now(), core_time())
}

/// Times some of the events that a thread executes.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    /// The number of events before the next one that is timed, and that event.
    left: u32,
    /// The average of `left` when it was last drawn. A timed event counts this many times.
    stride: f64,
    is_on: bool,
    begin: Instant,
    /// The mean time of an event, in nanoseconds; `None` before the first sample.
    mean_ns: Option<f64>,
    /// The time to read the clock, in nanoseconds.
    clock_ns: f64,
    /// The share of the thread's time in which it reads the clock.
    clock_share: f64,
    random: u32,
    /// The last reading of the thread's processor time.
    core: CoreReading,
    /// The time that all events of the thread have taken, in nanoseconds, as far as it is known by samples.
    worked_ns: f64,
}

impl Sampler {
    /// Makes a sampler, which times nothing unless it `is_on`.
    pub(crate) fn new(is_on: bool) -> Sampler {
        Sampler::with_share(is_on, CLOCK_SHARE)
    }

    /// Makes a sampler that reads the clock in this share of the thread's time.
    pub(crate) fn with_share(is_on: bool, clock_share: f64) -> Sampler {
        let begin = now();
        // The least of some differences: the thread may be interrupted between two readings.
        let clock = (0..8).map(|_| now()).map(|at| now() - at).min().unwrap_or_default();
        Sampler {
            left: 1,
            stride: 1.0,
            is_on,
            begin,
            mean_ns: None,
            clock_ns: (clock.as_nanos() as f64).max(CLOCK_NS_MIN),
            clock_share,
            random: 0x9E37_79B9,
            core: (begin, core_time()),
            worked_ns: 0.0,
        }
    }

    /// Returns true if events are timed.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Counts an event that is about to be executed. Returns true if it is timed.
    #[inline(always)]
    pub(crate) fn begins(&mut self) -> bool {
        self.counts() && self.begin()
    }

    /// Counts an event. Returns true if it is timed, from [`Sampler::begin`] on.
    #[inline(always)]
    pub(crate) fn counts(&mut self) -> bool {
        self.left = self.left.wrapping_sub(1);
        self.left == 0
    }

    /// Goes on in the thread of this reading, after events of another one.
    pub(crate) fn move_to_thread(&mut self, reading: CoreReading) {
        self.core = reading;
    }

    /// Returns the last reading of the thread's processor time.
    #[cfg(test)]
    pub(crate) fn core(&self) -> CoreReading {
        self.core
    }

    /// Begins the time of an event. Returns false if the sampler is off.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin(&mut self) -> bool {
        if !self.is_on {
            return false; // The next time is after four billion events.
        }
        self.begin = now();
        if self.begin - self.core.0 >= CORE_READING {
            self.core = (self.begin, core_time());
            self.begin = now();
        }
        true
    }

    /// Ends the time of an event, which the LP `index` of `costs` has executed.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(&mut self, costs: &mut Costs, index: usize) {
        let (ns, weight) = self.finish();
        costs.add(index, ns * weight);
        self.worked_ns += ns * weight;
    }

    /// Ends the time of an event. Returns it in nanoseconds, and the number of events for which it counts.
    pub(crate) fn finish(&mut self) -> (f64, f64) {
        let end = now();
        let mut took = end - self.begin;
        if took >= SUSPECT {
            took = took.saturating_sub(self.time_without_core(end));
        }
        self.record(took)
    }

    /// Drops the time that has begun, because no LP has executed anything.
    #[cold]
    #[inline(never)]
    pub(crate) fn cancel(&mut self) {
        self.draw();
    }

    fn record(&mut self, took: Duration) -> (f64, f64) {
        let ns = (took.as_nanos() as f64 - self.clock_ns).max(1.0);
        let before = self.mean_ns.unwrap_or(ns);
        self.mean_ns = Some(before + MEAN_SHARE * (ns - before));
        let weight = self.stride;
        self.draw();
        (ns, weight)
    }

    /// Draws the next event that is timed.
    fn draw(&mut self) {
        let mean_ns = self.mean_ns.unwrap_or(f64::INFINITY).max(1.0);
        self.stride = (2.0 * self.clock_ns / (self.clock_share * mean_ns)).clamp(1.0, STRIDE_MAX).round();
        // Xorshift (G. Marsaglia, 2003). The engines' random streams belong to the model.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most twice the greatest stride"
        )]
        let most = 2 * self.stride as u32 - 1;
        self.left = 1 + self.random % most;
    }

    /// Returns the time since the last reading in which the thread had no core.
    fn time_without_core(&mut self, end: Instant) -> Duration {
        let (since, before) = std::mem::replace(&mut self.core, (end, core_time()));
        match (before, self.core.1) {
            (Some(before), Some(after)) => (end - since).saturating_sub(after.saturating_sub(before)),
            _ => Duration::ZERO,
        }
    }

    /// Returns the time that all events of the thread have taken, in nanoseconds.
    pub(crate) fn worked_ns(&self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the time of a run")]
        let ns = self.worked_ns as u64;
        ns
    }
}

/// The cost of a set of LPs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    /// The time of their events, in nanoseconds. Recent events count more.
    pub(crate) ns: f64,
    /// The sum of the squares of the samples, each multiplied by its stride.
    pub(crate) squares: f64,
}

impl Load {
    /// Returns the number of samples of equal weight that would be as certain as these.
    pub(crate) fn samples(self) -> f64 {
        if self.squares > 0.0 { self.ns * self.ns / self.squares } else { 0.0 }
    }

    /// Returns this share of the load.
    pub(crate) fn times(self, share: f64) -> Load {
        Load { ns: self.ns * share, squares: self.squares * share * share }
    }

    /// Returns true if there are enough samples to compare costs.
    pub(crate) fn is_measured(self) -> bool {
        self.samples() >= SAMPLES_MIN
    }

    /// Returns the cost in whole nanoseconds.
    pub(crate) fn whole_ns(self) -> u64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time above zero")]
        let ns = self.ns as u64;
        ns
    }
}

impl Add for Load {
    type Output = Load;
    fn add(self, other: Load) -> Load {
        Load { ns: self.ns + other.ns, squares: self.squares + other.squares }
    }
}

/// The share of a worker's executions that are kept, where some are rolled back. Recent ones count more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Useful {
    committed: f64,
    executed: f64,
    /// The numbers of events committed and executed when this last aged.
    last: Option<(u64, u64)>,
}

impl Useful {
    /// Makes earlier executions count less than those since the last ageing. The worker has committed and
    /// executed these numbers of events so far.
    pub(crate) fn age(&mut self, committed: u64, executed: u64) {
        if let Some((committed_before, executed_before)) = self.last.replace((committed, executed)) {
            let kept = f64::from(KEPT);
            self.committed = kept * self.committed + committed.saturating_sub(committed_before) as f64;
            self.executed = kept * self.executed + executed.saturating_sub(executed_before) as f64;
        }
    }

    /// Returns the share.
    pub(crate) fn share(self) -> f64 {
        if self.executed > 0.0 { (self.committed / self.executed).min(1.0) } else { 1.0 }
    }
}

/// The costs of the LPs of a list, by their index there.
#[derive(Debug)]
pub(crate) struct Costs {
    by_lp: Vec<f32>,
    total: f64,
    squares: f64,
    /// The factor of new samples. All other fields contain it.
    scale: f32,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { by_lp: Vec::new(), total: 0.0, squares: 0.0, scale: 1.0 }
    }
}

impl Costs {
    /// Forgets all costs, and makes room for `lps` LPs.
    pub(crate) fn reset(&mut self, lps: usize) {
        *self = Costs { by_lp: vec![0.0; lps], ..Costs::default() };
    }

    fn add(&mut self, index: usize, ns: f64) {
        let scaled = ns * f64::from(self.scale);
        self.total += scaled;
        self.squares += scaled * scaled;
        if let Some(cost) = self.by_lp.get_mut(index) {
            *cost += rough(scaled);
        }
    }

    /// Makes all samples so far count less than later ones.
    pub(crate) fn age(&mut self) {
        self.scale /= KEPT;
        if self.scale > SCALE_MAX {
            let factor = 1.0 / self.scale;
            self.by_lp.iter_mut().for_each(|cost| *cost *= factor);
            self.total *= f64::from(factor);
            self.squares *= f64::from(factor) * f64::from(factor);
            self.scale = 1.0;
        }
    }

    /// Returns the cost of all LPs.
    pub(crate) fn load(&self) -> Load {
        let scale = f64::from(self.scale);
        Load { ns: self.total / scale, squares: self.squares / (scale * scale) }
    }

    /// Returns the cost of an LP, in nanoseconds.
    fn of(&self, index: usize) -> f32 {
        self.by_lp.get(index).map_or(0.0, |cost| cost / self.scale)
    }
}

/// Returns a number with the precision that a cost has.
fn rough(number: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "samples are less precise")]
    let number = number as f32;
    number
}

/// The costs of all LPs, by id, while LPs move.
#[derive(Debug)]
pub(crate) struct CostsById {
    /// In nanoseconds.
    by_id: Vec<f32>,
    load: Load,
}

impl CostsById {
    /// Collects the costs of `lps` LPs from the lists of the partitions. `share` returns the share of a
    /// partition's cost that counts.
    pub(crate) fn collect<'c>(
        of: impl Fn(u32) -> &'c Costs,
        share: impl Fn(u32) -> f64,
        placement: &Placement,
        lps: u32,
    ) -> CostsById {
        let cost = |id| {
            let partition = placement.partition(id);
            of(partition).of(placement.index(id)) * rough(share(partition))
        };
        let load = (0..placement.partitions())
            .map(|number| of(number).load().times(share(number)))
            .fold(Load::default(), Load::add);
        CostsById { by_id: (0..lps).map(LpId).map(cost).collect(), load }
    }

    /// Shares the costs of LPs with the other ranks. Each rank has collected the costs of its own LPs. Returns
    /// the number of events of each LP: `sent` returns its count of sends, which stands for its events.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a rank is lost.
    pub(crate) fn share<'k>(
        &mut self,
        places: Places<'_>,
        peers: &dyn Peers<'k>,
        sent: impl Fn(LpId) -> u64,
    ) -> Result<Vec<u64>, Broken> {
        let ids = (0..).take(self.by_id.len()).map(LpId);
        let of_rank = |rank: usize| ids.clone().filter(move |id| places.home_of(*id) as usize == rank);
        let cost = |id: LpId| u64::from(self.by_id[id.index()].to_bits());
        let own = of_rank(peers.rank());
        let load = [self.load.ns, self.load.squares].map(f64::to_bits);
        let mine: Vec<u64> = load.into_iter().chain(own.clone().map(cost)).chain(own.map(sent)).collect();
        let mut events = vec![0; self.by_id.len()];
        self.load = Load::default();
        for (rank, words) in peers.share_words(&mine)?.iter().enumerate() {
            let (load, words) = words.split_at(2);
            self.load = self.load + Load { ns: f64::from_bits(load[0]), squares: f64::from_bits(load[1]) };
            let (of_costs, of_sends) = words.split_at(words.len() / 2);
            for (id, (&cost, &sends)) in of_rank(rank).zip(of_costs.iter().zip(of_sends)) {
                self.by_id[id.index()] = f32::from_bits(u32::try_from(cost).unwrap_or(0));
                events[id.index()] = sends;
            }
        }
        Ok(events)
    }

    /// Gives each list the costs of its LPs. `lists` are those of the partitions of `placement`, and others
    /// without LPs.
    pub(crate) fn distribute<'c>(&self, lists: impl Iterator<Item = &'c mut Costs>, placement: &Placement) {
        let mut lists: Vec<&mut Costs> = lists.collect();
        for (number, list) in (0..).zip(&mut lists) {
            **list = Costs { by_lp: Vec::with_capacity(placement.len(number) as usize), ..Costs::default() };
        }
        for (id, &cost) in (0..).map(LpId).zip(&self.by_id) {
            let list = &mut lists[placement.partition(id) as usize];
            list.by_lp.push(cost);
            list.total += f64::from(cost);
        }
        for list in lists {
            list.squares = if self.load.ns > 0.0 { self.load.squares * list.total / self.load.ns } else { 0.0 };
        }
    }

    /// Returns the weight of each LP: its cost in nanoseconds, if costs follow something else than the number
    /// of events. If they do not, or if too little is known, the weight is `events`, the number of events of
    /// each LP, which is exact.
    ///
    /// The LPs are tested in groups of neighbouring ids, each with a few samples. If all events cost the
    /// same, the cost of a group differs from its share of the events by chance alone. The squares of the
    /// samples say how much that is.
    pub(crate) fn weights(&self, events: Vec<u64>) -> Vec<u64> {
        if !self.load.is_measured() {
            return events;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "above zero, and saturates")]
        let groups = (self.load.samples() / SAMPLES_PER_GROUP) as usize;
        let size = self.by_id.len().div_ceil(groups.max(1)).max(1);
        let all_events = events.iter().sum::<u64>() as f64;
        // A group without events must not divide by zero.
        let least = all_events / self.by_id.len() as f64 / 100.0 + 1.0;
        let (mut sum, mut count) = (0.0, 0.0);
        for (costs, events) in self.by_id.chunks(size).zip(events.chunks(size)) {
            let share = (events.iter().sum::<u64>() as f64).max(least) / all_events.max(least);
            let cost = costs.iter().copied().map(f64::from).sum::<f64>();
            let difference = cost - share * self.load.ns;
            sum += difference * difference / (share * self.load.squares);
            count += 1.0;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times above zero")]
        let of_costs = || self.by_id.iter().map(|&cost| cost as u64).collect();
        if sum > SIGNIFICANT * count { of_costs() } else { events }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parades_core::random::Rng;

    /// Returns costs of 64 LPs that have executed `events` events, in turn. `ns` returns the time of an event
    /// of an LP.
    fn sampled(events: u32, ns: impl Fn(usize) -> u64) -> Costs {
        let (mut sampler, mut costs) = (Sampler::new(true), Costs::default());
        sampler.clock_ns = 25.0;
        costs.reset(64);
        let rng = Rng::shared(1, 1);
        for _ in 0..events {
            let lp = usize::try_from(rng.below(64)).expect("it is below 64");
            if sampler.begins() {
                let (ns, weight) = sampler.record(Duration::from_nanos(25 + ns(lp)));
                costs.add(lp, ns * weight);
            }
        }
        costs
    }

    fn by_id(costs: &Costs) -> CostsById {
        CostsById::collect(|_| costs, |_| 1.0, &Placement::one(64), 64)
    }

    #[test]
    fn samples_estimate_the_time_of_all_events() {
        for ns in [20, 100, 10_000] {
            let load = sampled(1_000_000, |_| ns).load();
            let expected = 1e6 * ns as f64;
            assert!((load.ns / expected - 1.0).abs() < 0.05, "{ns}: {load:?}");
        }
    }

    #[test]
    fn costly_events_are_all_timed_and_cheap_ones_seldom() {
        let samples = |ns| sampled(100_000, |_| ns).load().samples();
        assert!(samples(10_000) > 99_000.0);
        // 50 ns of clock for each sample, a 200th of 100,000 events of 100 ns.
        assert!((900.0..1_100.0).contains(&samples(100)), "{}", samples(100));
    }

    #[test]
    fn weights_are_events_where_those_cost_the_same_and_costs_elsewhere() {
        let events: Vec<u64> = (1..=64).collect();
        let equal = by_id(&sampled(1_000_000, |_| 100));
        let even = vec![7; 64];
        assert_eq!(equal.weights(even.clone()), even);
        let first = by_id(&sampled(1_000_000, |lp| if lp < 16 { 1_000 } else { 100 }));
        let weights = first.weights(even.clone());
        let share = weights[..16].iter().sum::<u64>() as f64 / weights.iter().sum::<u64>() as f64;
        assert!((share / (16.0 * 1_000.0 / (16.0 * 1_000.0 + 48.0 * 100.0)) - 1.0).abs() < 0.05, "{share}");
        assert_eq!(by_id(&sampled(100, |_| 100)).weights(events.clone()), events, "too few samples");
    }

    #[test]
    fn an_lp_that_sends_nothing_has_the_cost_of_its_events() {
        let costs = by_id(&sampled(1_000_000, |lp| if lp == 3 { 5_000 } else { 100 }));
        let mut events = vec![9; 64];
        events[3] = 0;
        let weights = costs.weights(events);
        assert!(weights[3] > 40 * weights[4], "{weights:?}");
    }

    #[test]
    fn costs_follow_what_is_new_and_stay_with_their_lps() {
        let mut costs = Costs::default();
        costs.reset(2);
        costs.add(0, 1_000.0);
        (0..200).for_each(|_| costs.age());
        costs.add(1, 1_000.0);
        assert!(costs.of(0) < 1e-6 && (costs.of(1) - 1_000.0).abs() < 1.0, "{costs:?}");
        let moved = CostsById::collect(|_| &costs, |_| 1.0, &Placement::one(2), 2);
        let mut lists = [Costs::default(), Costs::default()];
        moved.distribute(lists.iter_mut(), &Placement::table(&[1, 0]).expect("two LPs fit"));
        assert!((lists[0].load().ns - 1_000.0).abs() < 1.0 && lists[1].load().ns < 1e-6, "{lists:?}");
    }

    #[test]
    fn a_sampler_that_is_off_times_nothing() {
        let mut sampler = Sampler::new(false);
        assert!((0..1_000).all(|_| !sampler.begins()));
    }
}
