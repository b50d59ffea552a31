//! Reviews of the plan by measurements: the worker of each partition, the partitions, and the number of
//! workers.
//!
//! *By events.* From the beginning, the number of events that LPs have executed decides, after 8 windows, 16,
//! 32 and so on. Nothing else is known as soon.
//!
//! *By time.* Events differ in cost, and the load of LPs changes. So workers measure the cost of their LPs
//! (`costs.rs`), and the leader compares the workers some fifty times a second, for as long as the run goes
//! on. If the busiest one has more to do than the average, by more than noise, partitions move from it to the
//! least loaded. If that is not enough, because partitions are few or one of them holds the costly LPs, the
//! LPs are gathered into other partitions, by their costs.

mod by_time;

use super::part::Part;
use super::plan::{Plan, Workers};
use super::{Crew, Settings, first_partition, partition, workers_at_most};
use crate::balance::{Balance, Balancer, BusiestWork, GAIN};
use crate::costs::{CostsById, Load};
use crate::partition::{Partitioning, Wish};
use crate::retreat::{BUSY, Retreat, Retreats, Spell};
use crate::stopwatch::{CoreClock, Stopwatch, now, timed};
use parades_core::error::{Error, ErrorKind};
use parades_core::metrics::Metrics;
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

/// The number of the window before which the first review is made. The number of windows doubles from
/// review to review.
const WINDOWS_FIRST: u64 = 8;
/// The number of events of the whole model from which partitions can be chosen by measurement.
const EVENTS_FIRST: u64 = 20_000;
/// The factor by which the number of events grows from choice to choice. The beginning of a run may differ
/// from the rest.
const EVENTS_GROWTH: u64 = 4;
/// The time from choice to choice, over the time that a choice takes, at least.
const PAUSE_OF_CHOICE: u32 = 50;

/// The events of a window beside which its exchange takes no time.
const EVENTS_OF_LONG_WINDOW: u64 = 1 << 11;
/// A leader that waits for less than this share of its time hardly waits.
const HARDLY_WAITS: f64 = 0.05;

/// Decides when the plan is reviewed, and makes the next plan.
#[derive(Debug)]
pub(super) struct Reviewer {
    /// The number of the window before which the next review is made.
    due: u64,
    /// Everything before this time had been executed at the last review.
    at: Time,
    /// By partition: the number of events executed at the last review.
    events: Vec<u64>,
    /// The number of changes of lookahead that the plan takes into account.
    changes: u64,
    /// The number of events of all partitions from which partitions are next chosen by measurement.
    next_choice: u64,
    /// The time from which they are.
    choice_from: Instant,
    balance: Balance,
    balancer: Balancer,
    work: BusiestWork,
    retreats: Retreats,
    retreat: Retreat,
    /// The leader's time on its core in this spell.
    core: CoreClock,
    /// The number of windows before the last cut.
    windows: u64,
    /// True if the states of LPs stay on their threads. Nothing moves, so no review is due.
    stays: bool,
    /// The number of events of all partitions, and of windows, before this spell.
    spell_start: (u64, u64),
    /// The number of reviews at which LPs could be forced to move.
    #[cfg(feature = "test-hooks")]
    reviews: u32,
}

/// The progress of the run at a cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    /// The number of windows so far.
    pub(super) windows: u64,
    /// Everything before this time has been executed.
    pub(super) bound: Time,
}

impl Reviewer {
    /// Makes the reviewer of a run with `workers` workers.
    pub(super) fn new(settings: &Settings, workers: usize) -> Reviewer {
        let retreats = if workers == 1 { Retreats::Never } else { settings.retreats };
        let balance = if workers == 1 { Balance::ByEvents } else { settings.balance };
        Reviewer {
            balance,
            balancer: Balancer::new(),
            work: BusiestWork::default(),
            due: WINDOWS_FIRST,
            at: Time::ZERO,
            events: Vec::new(),
            changes: 0,
            next_choice: EVENTS_FIRST,
            choice_from: now(),
            retreats,
            retreat: Retreat::new(BUSY),
            core: CoreClock::start(),
            windows: 0,
            stays: false,
            spell_start: (0, 0),
            #[cfg(feature = "test-hooks")]
            reviews: 0,
        }
    }

    /// Makes the reviewer try one worker now and then, however busy several workers are.
    pub(super) fn always_try(&mut self) {
        self.retreat = Retreat::new(f64::INFINITY);
    }

    /// Returns true if a review is due, after `windows` windows.
    pub(super) fn is_due(&self, windows: u64, stopwatch: &Stopwatch) -> bool {
        if self.stays {
            return false;
        }
        let may_switch = match self.retreats {
            Retreats::Never => false,
            Retreats::WhereFaster => self.retreat.is_review_due(stopwatch.time()),
            #[cfg(feature = "test-hooks")]
            Retreats::Every(each) => windows - self.spell_start.1 >= each.into(),
        };
        let may_balance = match self.balance {
            Balance::ByEvents => false,
            Balance::Measured => self.balancer.is_due(stopwatch.since()),
            #[cfg(feature = "test-hooks")]
            Balance::Forced { every, .. } => windows - self.windows >= every.into(),
        };
        windows >= self.due || windows > self.windows && (may_switch || may_balance)
    }

    /// Ends an interval of the measurement of the workers' times, if a review for balance is due. Must be
    /// called before the review.
    pub(super) fn measure_work(&mut self, crew: &Crew<'_>, plan: &Plan) {
        if self.balancer.is_due(now()) {
            self.end_interval(crew, plan);
        }
    }

    fn end_interval(&mut self, crew: &Crew<'_>, plan: &Plan) {
        // Ordering: Relaxed; the workers are at rest, and the exchange before the cut publishes the stores.
        let worked_ns = crew.worked_ns.iter().map(|ns| ns.load(Ordering::Relaxed));
        self.work.end_interval(worked_ns, !plan.has_one_partition());
    }

    /// Ends the last interval, and returns the words of all of them.
    pub(super) fn work(&mut self, crew: &Crew<'_>, plan: &Plan) -> [u64; 2] {
        self.end_interval(crew, plan);
        self.work.words()
    }

    /// Returns the moves for balance so far.
    pub(super) fn balancer(&self) -> &Balancer {
        &self.balancer
    }

    /// Returns true if several workers hardly wait, in windows of many events. Another engine has little to
    /// gain there.
    pub(super) fn is_busy(&self, windows: u64, events: u64, stopwatch: &Stopwatch) -> bool {
        // In short windows, the time of exchanges is measured as work.
        let are_long = events >= EVENTS_OF_LONG_WINDOW * windows;
        are_long && !self.retreat.alone && !self.retreat.ignores_busyness() && stopwatch.share_waited() < HARDLY_WAITS
    }

    /// Returns the number of switches between several workers and one.
    pub(super) fn switches(&self) -> u32 {
        self.retreat.switches
    }

    /// Reviews a run in which the states of LPs stay on their threads. Partitions and their workers stay as
    /// they are, so the plan only follows changes of lookahead.
    ///
    /// # Errors
    ///
    /// An error if a channel between partitions has lost its lookahead. Its LPs would have to move to one
    /// thread.
    pub(super) fn review_in_place(
        &mut self,
        plan: Arc<Plan>,
        world: &World,
        settings: &Settings,
        parts: &mut [MutexGuard<'_, Part<'_>>],
    ) -> Result<Arc<Plan>, Error> {
        self.stays = true;
        if world.lookahead_changes() == self.changes {
            return Ok(plan);
        }
        self.changes = world.lookahead_changes();
        let next = plan.in_place(world, settings);
        if next.lookahead == Some(Delay::ZERO) {
            let why = "a channel between LPs of different threads has lost its lookahead, and the states of these LPs \
                       stay on their threads; run the model with one thread";
            return Err(Error::new(ErrorKind::Model(why.into())));
        }
        parts.iter_mut().for_each(|part| part.adapt_to_lookahead(&next));
        Ok(Arc::new(next))
    }

    /// Reviews the work of one of several ranks. The partitions stay, and are assigned again to the workers
    /// of the rank.
    ///
    /// # Errors
    ///
    /// An error if a channel between partitions has lost its lookahead. Its LPs would have to move to one
    /// partition.
    pub(super) fn review_rank<'k>(
        &mut self,
        plan: Arc<Plan>,
        world: &World,
        settings: &Settings,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        reached: Position,
    ) -> Result<Arc<Plan>, Error> {
        let windows = reached.windows;
        self.windows = windows;
        let is_due = windows >= self.due;
        if is_due {
            self.due = 2 * windows;
        }
        let has_changed = world.lookahead_changes() != self.changes;
        #[cfg(feature = "test-hooks")]
        if let Balance::Forced { seed, .. } = self.balance
            && !has_changed
        {
            let rng = self.next_draws(seed);
            let costs: Vec<u64> = parts.iter().map(|_| rng.below(1_000)).collect();
            let mut next = plan.unassigned();
            next.assign(&costs, settings);
            return Ok(Arc::new(next));
        }
        if !has_changed && (!is_due || self.is_by_time(settings, parts)) {
            return Ok(self.move_partitions(&plan, settings, parts).map_or(plan, Arc::new));
        }
        let mut next = if has_changed { plan.with_lookahead(world) } else { plan.unassigned() };
        self.changes = world.lookahead_changes();
        if has_changed && next.lookahead == Some(Delay::ZERO) {
            let why = "a channel between LPs of different partitions has lost its lookahead, and several ranks do not gather such \
                       LPs in one partition; run the model in one process";
            return Err(Error::new(ErrorKind::Ranks(why.into())));
        }
        if has_changed {
            parts.iter_mut().for_each(|part| part.adapt_to_lookahead(&next));
        }
        next.assign(&self.costs(parts), settings);
        if is_due {
            self.restart(reached, parts);
            self.due = 2 * windows;
        }
        Ok(Arc::new(next))
    }

    /// Returns the plan to follow from now on. It is the old plan, unless a lookahead has changed or a
    /// review finds a better plan.
    pub(super) fn review<'k>(
        &mut self,
        crew: &Crew<'k>,
        plan: Arc<Plan>,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        reached: Position,
        stopwatch: &mut Stopwatch,
    ) -> Arc<Plan> {
        let Position { windows, bound } = reached;
        self.windows = windows;
        if windows == 0 {
            // Until now, LPs have started. Workers with few LPs have waited for the others.
            *stopwatch = Stopwatch::new();
            self.begin_spell(parts, windows, stopwatch);
            self.balancer = Balancer::new();
        }
        self.retreat.set_items(world.lps() as usize + parts.iter().map(|part| part.pending_events()).sum::<usize>());
        if world.lookahead_changes() != self.changes {
            return self.adapt_to_lookahead(crew, &plan, world, parts, reached, stopwatch);
        }
        let moves = self.balancer.lp_moves;
        if let Some(next) = self.balance(crew, &plan, world, parts, bound) {
            if self.balancer.lp_moves > moves {
                self.restart(reached, parts);
                // Until now, the workers have waited for the busiest of them.
                self.begin_spell(parts, windows, stopwatch);
            }
            return next;
        }
        if let Some(other) = self.switch_mode(crew, &plan, world, parts, reached, stopwatch) {
            self.restart(reached, parts);
            return other;
        }
        if windows < self.due {
            return plan;
        }
        let executed = total_events(parts) - self.events.iter().sum::<u64>();
        if self.may_choose_partitions(&plan, &crew.settings, executed, total_events(parts))
            && let Some(next) = self.choose_partitions(crew, &plan, world, parts, bound)
        {
            self.restart(reached, parts);
            return next;
        }
        let costs = self.costs(parts);
        self.restart(reached, parts);
        self.due = 2 * windows;
        if self.is_by_time(&crew.settings, parts) {
            return plan; // The partitions move when the workers are unequally busy.
        }
        let mut next = plan.unassigned();
        next.assign(&costs, &crew.settings);
        Arc::new(next)
    }

    /// Returns the cost of each partition: by time, or the number of events since the last review while too
    /// little is known of time.
    fn costs(&mut self, parts: &[MutexGuard<'_, Part<'_>>]) -> Vec<u64> {
        self.events.resize(parts.len(), 0);
        if total_load(parts).is_measured() {
            return parts.iter().map(|part| part.costs.load().whole_ns()).collect();
        }
        parts.iter().zip(&self.events).map(|(part, before)| part.events - before).collect()
    }

    /// Returns the plan to follow after a change of lookahead, as if the run began.
    fn adapt_to_lookahead<'k>(
        &mut self,
        crew: &Crew<'k>,
        plan: &Plan,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        reached: Position,
        stopwatch: &mut Stopwatch,
    ) -> Arc<Plan> {
        self.changes = world.lookahead_changes();
        self.retreat.forget();
        self.begin_spell(parts, reached.windows, stopwatch);
        let workers = plan.workers();
        self.next_choice = match workers {
            // A single worker can go on without other partitions, and finding them takes time.
            1 => self.next_choice.max(total_events(parts) + EVENTS_FIRST),
            _ => total_events(parts) + EVENTS_FIRST,
        };
        let found = first_partition(world, &crew.settings, 1);
        self.restart(reached, parts);
        let next = Plan::first(&found, Workers::alone(workers), world);
        Self::move_to(crew, world, plan, next, parts, reached.bound)
    }

    /// Returns true if partitions may be chosen by measurement, after `events` events of the run, of which
    /// `executed` have been executed since the last review.
    fn may_choose_partitions(&self, plan: &Plan, settings: &Settings, executed: u64, events: u64) -> bool {
        // Several workers may share the work more evenly. A single worker may have partitions that fit its
        // cache.
        let may_cut = plan.workers() > 1 || settings.threads == 1;
        let is_measured = executed > EVENTS_FIRST;
        may_cut && !self.retreat.alone && is_measured && events >= self.next_choice && now() >= self.choice_from
    }

    /// Chooses partitions by measurement. Returns the plan with them, if they are worth a move.
    fn choose_partitions<'k>(
        &mut self,
        crew: &Crew<'k>,
        plan: &Plan,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        bound: Time,
    ) -> Option<Arc<Plan>> {
        let (next, took) = timed(|| {
            let weights = measured_weights(plan, world.lps(), parts);
            let found = self.measured_partitioning(crew, world, &weights, self.events_per_second(parts, bound), false);
            is_worth_a_move(&found, plan, &weights).then(|| {
                let next = Plan::by_weights(&found, plan.workers(), world, &weights);
                Self::move_to(crew, world, plan, next, parts, bound)
            })
        });
        self.next_choice = EVENTS_GROWTH * total_events(parts);
        self.choice_from = now() + PAUSE_OF_CHOICE * took;
        next
    }

    /// Returns the partitioning that suits measured weights and the measured rate of events; see [`Wish`] for
    /// `evenly`.
    fn measured_partitioning(
        &self,
        crew: &Crew<'_>,
        world: &World,
        weights: &[u64],
        events_per_second: Option<f64>,
        evenly: bool,
    ) -> Partitioning {
        let rated = Wish::of_workers(workers_at_most(&crew.settings));
        partition(world, &crew.settings, Wish { events_per_second, weights: Some(weights), evenly, ..rated })
    }

    /// Switches from several workers to one, or back, if that is due. Returns the next plan.
    fn switch_mode<'k>(
        &mut self,
        crew: &Crew<'k>,
        plan: &Plan,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        reached: Position,
        stopwatch: &mut Stopwatch,
    ) -> Option<Arc<Plan>> {
        if plan.has_one_partition() && !self.retreat.alone {
            return None; // The channels allow only one partition.
        }
        let workers = plan.workers();
        let spell = Spell {
            executed: total_events(parts) - self.spell_start.0,
            time: stopwatch.time(),
            workers,
            share_worked: stopwatch.share_worked(),
            share_on_core: self.core.share(),
        };
        let switches = self.decide(spell, reached.windows - self.spell_start.1)?;
        self.begin_spell(parts, reached.windows, stopwatch);
        if !switches {
            return None;
        }
        self.end_interval(crew, plan);
        let (next, took) = timed(|| {
            let weights = measured_weights(plan, world.lps(), parts);
            let found = match self.retreat.alone {
                true => {
                    let events_per_second = self.events_per_second(parts, reached.bound);
                    self.measured_partitioning(crew, world, &weights, events_per_second, true)
                }
                false => Partitioning::one(world.lps()),
            };
            let next = Plan::by_weights(&found, workers, world, &weights);
            Self::move_to(crew, world, plan, next, parts, reached.bound)
        });
        self.retreat.note_switch(took);
        self.core = CoreClock::start();
        Some(next)
    }

    /// Returns true if the run must switch after a spell of `windows` windows, or `None` if the spell goes
    /// on.
    fn decide(&mut self, spell: Spell, windows: u64) -> Option<bool> {
        match self.retreats {
            Retreats::Never => None,
            #[cfg(feature = "test-hooks")]
            Retreats::Every(each) => (windows >= each.into()).then_some(true),
            Retreats::WhereFaster if self.retreat.gives_up(spell, windows) => Some(true),
            Retreats::WhereFaster if !self.retreat.is_due(spell.time) => None,
            Retreats::WhereFaster => self.retreat.can_decide(spell).then(|| self.retreat.should_switch(spell)),
        }
    }

    /// Returns the events in a second of virtual time since the last review, if virtual time has passed.
    fn events_per_second<'k>(&self, parts: &[MutexGuard<'_, Part<'k>>], bound: Time) -> Option<f64> {
        let executed = total_events(parts) - self.events.iter().sum::<u64>();
        let span = bound.since(self.at).as_secs_f64();
        (executed > 0 && span > 0.0).then(|| executed as f64 / span)
    }

    /// Begins a spell, which measures the current number of workers.
    fn begin_spell<'k>(&mut self, parts: &[MutexGuard<'_, Part<'k>>], windows: u64, stopwatch: &mut Stopwatch) {
        self.spell_start = (total_events(parts), windows);
        stopwatch.reset();
        self.core = CoreClock::start();
    }

    /// Begins to measure the partitions.
    fn restart<'k>(&mut self, reached: Position, parts: &[MutexGuard<'_, Part<'k>>]) {
        self.due = reached.windows + WINDOWS_FIRST;
        self.at = reached.bound;
        self.events = parts.iter().map(|part| part.events).collect();
    }

    /// Moves LPs, events and metrics to the partitions of another plan.
    fn move_to<'k>(
        crew: &Crew<'k>,
        world: &World,
        old: &Plan,
        new: Plan,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        bound: Time,
    ) -> Arc<Plan> {
        let busiest = parts.iter().max_by_key(|part| part.events);
        let found = busiest.and_then(|part| part.found_by_lp());
        let costs = crew.samples().then(|| costs_by_id(old, crew.lps, parts));
        let mut events = Vec::new();
        for (number, part) in parts.iter_mut().enumerate() {
            events.push(part.take_all());
            part.lps.put_down(number);
            part.restart(bound);
        }
        crew.model.distribute(&old.placement, &new.placement, crew.lps);
        for number in 0..new.placement.partitions() {
            let part = &mut parts[number as usize];
            part.set_order(crew.settings.order, &new, found);
            part.lps.pick_up(number as usize);
        }
        for event in events.into_iter().flatten() {
            parts[new.placement.partition(event.receiver()) as usize].push(event);
        }
        for number in 0..new.placement.partitions() {
            parts[number as usize].guess_order();
        }
        if let Some(costs) = costs {
            costs.distribute(parts.iter_mut().map(|part| &mut part.costs), &new.placement);
        }
        let mut metrics: Vec<&mut Metrics> = parts.iter_mut().map(|part| &mut part.metrics).collect();
        Metrics::redistribute(&mut metrics, &|id| new.placement.partition(id) as usize);
        Arc::new(new.reaching(crew.reach, world))
    }
}

/// Returns the number of events that all partitions have executed.
fn total_events(parts: &[MutexGuard<'_, Part<'_>>]) -> u64 {
    parts.iter().map(|part| part.events).sum()
}

/// Returns the cost of all LPs.
fn total_load(parts: &[MutexGuard<'_, Part<'_>>]) -> Load {
    parts.iter().map(|part| part.costs.load()).fold(Load::default(), |all, part| all + part)
}

fn costs_by_id(plan: &Plan, lps: u32, parts: &[MutexGuard<'_, Part<'_>>]) -> CostsById {
    CostsById::collect(|partition| &parts[partition as usize].costs, |_| 1.0, &plan.placement, lps)
}

/// Returns the weight of each LP: its cost by time, or else its count of sends, which stands for its executed
/// events ([`CostsById::weights`]).
fn measured_weights(plan: &Plan, lps: u32, parts: &[MutexGuard<'_, Part<'_>>]) -> Vec<u64> {
    let of = |id| parts[plan.placement.partition(id) as usize].lps.sequence(plan.placement.index(id));
    let events = super::ids(lps).map(of).collect();
    if total_load(parts).is_measured() { costs_by_id(plan, lps, parts).weights(events) } else { events }
}

/// Returns true if the found partitions are better than those of the plan by enough to be worth a move.
fn is_worth_a_move(found: &Partitioning, plan: &Plan, weights: &[u64]) -> bool {
    let workers = u32::try_from(plan.workers()).unwrap_or(u32::MAX);
    let busiest = |placement| Partitioning::busiest_share(placement, workers, weights);
    found.lookahead() != plan.lookahead
        || found.partitions() != plan.placement.partitions()
        || busiest(found.placement()) * GAIN < busiest(&plan.placement)
}
