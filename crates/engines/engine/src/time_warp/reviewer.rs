//! Reviews of the number of workers, and the switch from several workers to one and back. Reviews of their
//! loads, and the moves of LPs between them.
//!
//! Workers may be kept from their cores, by other programs or by each other. Then many executions of one
//! worker are rolled back when the other catches up. So two quantities are measured: the rate of committed
//! events, and the cost of an undisturbed execution. Their product is the number of workers whose work is
//! kept. If it is small, one worker is tried, which rolls nothing back, while the others wait.
//!
//! Outcomes of offers say whether the workers of all ranks are equally busy. So a cut is made for balance only
//! if they are not. Clocks decide when LPs move, and never what is executed.

use super::site::{Counts, SiteBox};
use super::{Crew, Settings, place};
use crate::balance::{Balance, Balancer, BusiestWork, uneven_from};
use crate::costs::{CostsById, Load};
use crate::partition::{Partitioning, Placing, ranks};
use crate::retreat::{Retreat, Retreats, Spell};
use crate::stopwatch::{CoreClock, now, timed};
use crate::travel::{Places, Travel};
use parades_core::any_model::{AnyRestorable, AnySave};
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::placement::Placement;
use parades_core::time::Time;
use parades_core::world::World;
use parades_sync::barrier::Broken;
use parades_transport::Summary;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// If the work of fewer workers than this is kept, one worker is tried now and then. A lone worker leaves
/// no history, so that its executions cost less.
const WORKERS_KEPT: f64 = 2.0;

/// The load of the busiest worker, over that under another placement, from which the LPs are worth a move. For a
/// move, everything ahead of GVT is rolled back.
pub(super) const GAIN: f64 = 1.15;
/// The load of the busiest worker over the average from which a cut is made to look for another placement. A
/// placement that is not quite even must still be worth the move, or else the cut gains nothing.
const UNEVEN: f64 = GAIN * 1.05;

/// The cost of an undisturbed execution, in nanoseconds.
///
/// It follows the lower measurements. The higher ones were disturbed, or include rollbacks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost(Option<f64>);

impl Cost {
    /// Adds a measurement.
    pub(super) fn add(&mut self, ns: f64) {
        let before = self.0.unwrap_or(ns);
        let share = if ns < before { 1.0 / 4.0 } else { 1.0 / 64.0 };
        self.0 = Some(before + share * (ns - before));
    }

    /// Returns the cost. It is infinite until it has been measured.
    pub(super) fn ns(self) -> f64 {
        self.0.unwrap_or(f64::INFINITY)
    }
}

/// Decides when the run switches between several workers and one, and when LPs move between them.
#[derive(Debug)]
pub(super) struct Reviewer {
    balance: Balance,
    /// True on rank 0, which decides when LPs move.
    decides: bool,
    balancer: Balancer,
    /// The number of LPs that have come to this rank from others.
    pub(super) arrived: usize,
    work: BusiestWork,
    placing: Placing,
    /// True if a spell begins at the next outcome.
    begins_spell: bool,
    retreats: Retreats,
    retreat: Retreat,
    /// True once the run has retreated to one worker for lack of memory. It does not return.
    for_memory: bool,
    /// The number of workers of all ranks.
    workers: usize,
    lps: u32,
    /// The start of this spell.
    since: std::time::Instant,
    /// The leader's time on its core in this spell.
    core: CoreClock,
    /// The number of events kept before this spell.
    executed: u64,
    /// The number of times that GVT has been computed since the last switch.
    gvts: u32,
    /// The number of outcomes at which LPs could be forced to move, and of those when they last were.
    #[cfg(feature = "test-hooks")]
    outcomes: (u32, u32),
}

/// The run at a cut, as one rank sees it.
pub(super) struct AtCut<'a, 'g, 'k> {
    pub(super) crew: &'a Crew<'k>,
    pub(super) world: &'a World,
    pub(super) placement: &'a Placement,
    pub(super) sites: &'a mut [MutexGuard<'g, SiteBox<'k>>],
    /// Everything before this time has been executed, and nothing at it.
    pub(super) time: Time,
}

impl Reviewer {
    /// Makes the reviewer of a rank, which decides when LPs move if it `decides`. `workers` is the number of
    /// workers of all ranks.
    pub(super) fn new(settings: &Settings, workers: usize, lps: u32, decides: bool) -> Reviewer {
        let alone = workers == 1;
        Reviewer {
            balance: if alone { Balance::ByEvents } else { settings.balance },
            decides,
            balancer: Balancer::new(),
            arrived: 0,
            work: BusiestWork::default(),
            placing: settings.placing,
            begins_spell: true,
            retreats: if alone { Retreats::Never } else { settings.retreats },
            retreat: Retreat::new(WORKERS_KEPT / workers as f64),
            for_memory: false,
            workers,
            lps,
            since: now(),
            core: CoreClock::start(),
            executed: 0,
            gvts: 0,
            #[cfg(feature = "test-hooks")]
            outcomes: (0, 0),
        }
    }

    /// Returns true if the costs of LPs must be measured.
    pub(super) fn measures(&self) -> bool {
        self.balance != Balance::ByEvents
    }

    /// Returns the number of moves of LPs for balance.
    pub(super) fn lp_moves(&self) -> u64 {
        self.balancer.lp_moves
    }

    /// Ends the last interval of the workers' times, and returns the words of all of them.
    pub(super) fn work(&mut self, worked_ns: &[AtomicU64]) -> [u64; 2] {
        // While one worker executes alone, nothing is measured.
        self.end_interval(worked_ns);
        self.work.words()
    }

    fn end_interval(&mut self, worked_ns: &[AtomicU64]) {
        // Ordering: Relaxed; these are statistics.
        self.work.end_interval(worked_ns.iter().map(|ns| ns.load(Ordering::Relaxed)), true);
    }

    /// Returns true if all workers must come to a cut, because they are unequally busy by the outcome `all`.
    /// `worked_ns` has the times of this rank's workers.
    pub(super) fn wants_balance(&mut self, all: &Summary, worked_ns: &[AtomicU64]) -> bool {
        match self.balance {
            Balance::ByEvents => false,
            _ if self.is_alone() => false,
            Balance::Measured => self.balancer.is_due(now()) && self.is_uneven(all, worked_ns) && self.decides,
            #[cfg(feature = "test-hooks")]
            Balance::Forced { every, .. } => {
                self.outcomes.0 += 1;
                self.decides && self.outcomes.0 - self.outcomes.1 >= every
            }
        }
    }

    fn is_uneven(&mut self, all: &Summary, worked_ns: &[AtomicU64]) -> bool {
        self.balancer.note_review(Duration::ZERO);
        self.end_interval(worked_ns);
        let load = Load { ns: all.load_ns, squares: all.load_squares };
        if !load.is_measured() {
            return false;
        }
        let imbalance = all.busiest_ns * self.workers as f64 / load.ns;
        let is_uneven = imbalance >= uneven_from(UNEVEN, self.workers, load);
        if !is_uneven {
            self.balancer.note_balance();
        }
        is_uneven && self.balancer.may_move_lps(now())
    }

    /// Moves LPs to other workers, if these are more equally busy then. Returns the new placement. All ranks
    /// call this together.
    ///
    /// # Errors
    ///
    /// [`Broken`] if a rank is lost.
    pub(super) fn review(&mut self, mut cut: AtCut<'_, '_, '_>) -> Result<Option<Placement>, Broken> {
        let (next, took) = timed(|| {
            let (costs, events) = cut.share_costs()?;
            let next = self.next_placement(&cut, &costs, events);
            if let Some(next) = &next {
                self.arrived += cut.move_to(next, &costs)?;
            }
            Ok(next)
        });
        let next = next?;
        self.balancer.note_search(took, next.is_some());
        // Until now, the others have waited for the busiest worker, or rolled back.
        self.begins_spell |= next.is_some();
        Ok(next)
    }

    /// Returns a placement under which the workers are more equally busy, if there is one. `events` has the
    /// number of events of each LP.
    fn next_placement(&mut self, cut: &AtCut<'_, '_, '_>, costs: &CostsById, events: Vec<u64>) -> Option<Placement> {
        #[cfg(feature = "test-hooks")]
        if let Balance::Forced { seed, .. } = self.balance {
            return self.drawn_placement(seed);
        }
        let AtCut { world, placement: old, .. } = *cut;
        let weights = costs.weights(events);
        let next = place(world, self.workers, self.placing, Some(&weights));
        let workers = u32::try_from(self.workers).unwrap_or(u32::MAX);
        let busiest = |placement| Partitioning::busiest_share(placement, workers, &weights);
        if busiest(&next) * GAIN >= busiest(old) {
            return None;
        }
        let ids = || (0..self.lps).map(LpId);
        let names = ranks::renaming(self.workers, ids().map(|id| (next.partition(id), old.partition(id))));
        if names.is_sorted() {
            return Some(next);
        }
        let named: Vec<u32> = ids().map(|id| names[next.partition(id) as usize]).collect();
        Placement::table(&named)
    }

    /// Returns a placement that is drawn at random.
    #[cfg(feature = "test-hooks")]
    fn drawn_placement(&mut self, seed: u64) -> Option<Placement> {
        self.outcomes.1 = self.outcomes.0;
        let moves = u32::try_from(self.balancer.lp_moves).expect("a test has few moves");
        let rng = parades_core::random::Rng::shared(seed, moves);
        let workers = u32::try_from(self.workers).expect("workers are counted in 32 bits");
        #[expect(clippy::cast_possible_truncation, reason = "below `workers`")]
        let draw = |id: u32| if id < workers { id } else { rng.below(u64::from(workers)) as u32 };
        Placement::table(&(0..self.lps).map(draw).collect::<Vec<_>>())
    }

    /// Returns true while one worker executes all LPs.
    pub(super) fn is_alone(&self) -> bool {
        self.retreat.alone
    }

    /// Retreats to one worker, which needs the least memory, at the next switch. The run does not return.
    pub(super) fn retreat_for_memory(&mut self) {
        (self.retreats, self.for_memory) = (Retreats::Never, true);
    }

    /// Returns true if the run has retreated for lack of memory.
    pub(super) fn has_retreated_for_memory(&self) -> bool {
        self.for_memory
    }

    /// Returns the number of switches between several workers and one.
    pub(super) fn switches(&self) -> u32 {
        self.retreat.switches
    }

    /// Returns true if the run must switch now. `executed` events have been kept so far. An undisturbed
    /// execution costs `cost_ns` nanoseconds. About `pending` events are pending.
    pub(super) fn should_switch(&mut self, executed: u64, cost_ns: f64, pending: usize) -> bool {
        if std::mem::take(&mut self.begins_spell) {
            // Before the first outcome, LPs have started.
            self.begin_spell();
            self.executed = executed;
        }
        self.gvts += 1;
        self.retreat.set_items(self.lps as usize + pending);
        match self.retreats {
            Retreats::Never => false,
            #[cfg(feature = "test-hooks")]
            Retreats::Every(gvts) => self.gvts >= gvts,
            Retreats::WhereFaster => self.should_switch_after_spell(executed, cost_ns, self.since.elapsed()),
        }
    }

    /// Returns true if the run must switch after a spell that has lasted for `time`.
    fn should_switch_after_spell(&mut self, executed: u64, cost_ns: f64, time: Duration) -> bool {
        if !self.retreat.is_due(time) {
            return false;
        }
        let workers = if self.is_alone() { 1 } else { self.workers };
        let executed_now = executed.saturating_sub(self.executed);
        let share = executed_now as f64 * cost_ns / (time.as_nanos() as f64 * workers as f64);
        let (share_worked, share_on_core) = (share.min(1.0), self.core.share());
        let spell = Spell { executed: executed_now, time, workers, share_worked, share_on_core };
        if !self.retreat.can_decide(spell) {
            return false;
        }
        self.begin_spell();
        self.executed = executed;
        self.retreat.should_switch(spell)
    }

    /// Switches from several workers to one, or back to `several`, their last placement. Must be called at a cut.
    /// Returns the new placement.
    pub(super) fn switch_mode<'k>(
        &mut self,
        model: &'k dyn AnyRestorable<'k>,
        old: &Placement,
        several: &Placement,
        lps: u32,
        sites: &mut [MutexGuard<'_, SiteBox<'k>>],
    ) -> Placement {
        let next = if self.is_alone() { several.clone() } else { Placement::ranges(lps, lps) };
        let ((), took) = timed(|| move_all(model, sites, old, &next, lps));
        // Only the first site has summaries while it executes alone.
        let counts = sites.iter_mut().map(|site| std::mem::take(site.counts_mut()));
        let counts = counts.fold(Counts::default(), Counts::and);
        *sites[0].counts_mut() = counts;
        self.retreat.note_switch(took);
        self.gvts = 0;
        self.begin_spell();
        next
    }

    fn begin_spell(&mut self) {
        (self.since, self.core) = (now(), CoreClock::start());
    }
}

impl<'k> AtCut<'_, '_, 'k> {
    fn places<'p>(&'p self, placement: &'p Placement) -> Places<'p> {
        Places { placement, homes: &self.crew.homes }
    }

    /// Returns the costs of all LPs by the executions that are kept, and the number of events of each LP.
    fn share_costs(&self) -> Result<(CostsById, Vec<u64>), Broken> {
        let AtCut { crew, world, placement, sites, .. } = self;
        let site = |number: u32| &sites[number as usize];
        let shares: Vec<f64> = sites.iter().map(|site| site.useful_share()).collect();
        let share = |number: u32| shares[number as usize];
        let mut costs = CostsById::collect(|number| site(number).costs(), share, placement, world.lps());
        let sent = |id| site(placement.partition(id)).lps().sequence(placement.index(id));
        let events = costs.share(self.places(placement), &*crew.seat.peers, sent)?;
        Ok((costs, events))
    }

    /// Moves LPs, events, metrics and costs to the sites of another placement. Returns the number of LPs that
    /// have come from other ranks.
    fn move_to(&mut self, next: &Placement, costs: &CostsById) -> Result<usize, Broken> {
        let arrived = match self.crew.travel {
            None => {
                move_all(self.crew.model, self.sites, self.placement, next, self.world.lps());
                0
            }
            Some(save) => self.travel_to(next, save)?,
        };
        costs.distribute(self.sites.iter_mut().map(|site| site.costs_mut()), next);
        let here = self.crew.here();
        let others = self.sites.iter_mut().enumerate().filter(|(number, _)| !here.contains(number));
        others.for_each(|(_, site)| site.costs_mut().reset(0));
        Ok(arrived)
    }

    /// Does the same as [`AtCut::move_to`] for LPs, events and metrics, between ranks.
    fn travel_to(&mut self, next: &Placement, save: &'k dyn AnySave<'k>) -> Result<usize, Broken> {
        let AtCut { crew, world, time, .. } = *self;
        let here = crew.here();
        let travel = Travel {
            save,
            peers: &*crew.seat.peers,
            lps: world.lps(),
            old: Places { placement: self.placement, homes: &crew.homes },
            new: Places { placement: next, homes: &crew.homes },
            touched: (0..self.sites.len()).map(|number| here.contains(&number)).collect(),
            time,
        };
        let arrivals = travel.execute(self.sites)?;
        for site in &mut self.sites[here] {
            site.restart(next, false);
            site.pick_up();
        }
        let arrived = arrivals.count();
        for event in arrivals.events {
            self.sites[next.partition(event.receiver()) as usize].push_unmarked(event);
        }
        for (site, lps) in self.sites.iter_mut().zip(&arrivals.lps).filter(|(_, lps)| !lps.is_empty()) {
            site.renew_wakes(lps, world);
        }
        Ok(arrived)
    }
}

/// Moves LPs, events and metrics to other sites.
fn move_all<'k>(
    model: &'k dyn AnyRestorable<'k>,
    sites: &mut [MutexGuard<'_, SiteBox<'k>>],
    old: &Placement,
    new: &Placement,
    lps: u32,
) {
    let mut events = Vec::new();
    for (number, site) in sites.iter_mut().enumerate() {
        events.push(site.take_all());
        site.residents().0.put_down(number);
        site.restart(new, number == 0 && new.partitions() == 1);
    }
    model.distribute(old, new, lps);
    sites.iter_mut().for_each(|site| site.pick_up());
    for event in events.into_iter().flatten() {
        sites[new.partition(event.receiver()) as usize].push_unmarked(event);
    }
    let mut metrics: Vec<&mut Metrics> = sites.iter_mut().map(|site| site.residents().1).collect();
    Metrics::redistribute(&mut metrics, &|id| new.partition(id) as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_follows_the_cheaper_measurements() {
        let mut cost = Cost::default();
        assert!(cost.ns().is_infinite());
        for round in 0..1000 {
            cost.add(if round % 10 == 3 { 5_000.0 } else { 100.0 });
        }
        assert!((100.0..150.0).contains(&cost.ns()), "{cost:?}");
        (0..1000).for_each(|_| cost.add(300.0));
        assert!((290.0..=300.0).contains(&cost.ns()), "the cost rises if all measurements do: {cost:?}");
    }

    #[test]
    fn one_worker_takes_over_if_several_do_less_than_one_would() {
        let long = Duration::from_millis(20);
        // An undisturbed execution costs 100 ns.
        for (kept_ns, switches) in [(200, true), (60, false)] {
            let mut reviewer = Reviewer::new(&Settings::of_threads(2), 2, 16, true);
            let kept = 20_000_000 / kept_ns;
            let switched = (1..4).any(|spell| reviewer.should_switch_after_spell(spell * kept, 100.0, long));
            assert_eq!(switched, switches, "{kept_ns} ns for each event that is kept");
        }
        let mut alone = Reviewer::new(&Settings::of_threads(1), 1, 16, true);
        assert!((0..100).all(|executed| !alone.should_switch(executed, 1.0, 16)), "one stays alone");
    }
}
