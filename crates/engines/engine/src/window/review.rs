//! Reviews of the plan by measurements: the worker of each partition, the partitions, and the number of
//! workers.

use super::part::Part;
use super::plan::{Plan, Workers};
use super::{Crew, Settings, first_partition, partition, workers_at_most};
use crate::partition::{Partitioning, Wish};
use crate::retreat::{BUSY, Retreat, Retreats, Spell};
use crate::stopwatch::{CoreClock, Stopwatch, timed};
use parades_core::error::{Error, ErrorKind};
use parades_core::metrics::Metrics;
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use std::sync::{Arc, MutexGuard};

/// The number of the window before which the first review is made. The number of windows doubles from
/// review to review.
const WINDOWS_FIRST: u64 = 8;
/// The number of events of the whole model from which partitions can be chosen by measurement.
const EVENTS_FIRST: u64 = 20_000;
/// The factor by which the number of events grows from choice to choice. The beginning of a run may differ
/// from the rest.
const EVENTS_GROWTH: u64 = 4;
/// The load of the busiest worker under the current partitions, over that under others, from which the
/// others are worth a move.
const GAIN: f64 = 1.08;
/// The fewest events from choice to choice for each microsecond that a choice takes. So choices take at
/// most a fiftieth of the run at 20 million events a second.
const EVENTS_PER_CHOICE_US: u64 = 50 * 20;

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
    /// The number of events of all partitions at which partitions are next chosen by measurement.
    next_choice: u64,
    retreats: Retreats,
    retreat: Retreat,
    /// The leader's time on its core in this spell.
    core: CoreClock,
    /// The number of windows before the last cut.
    windows: u64,
    /// The number of events of all partitions, and of windows, before this spell.
    spell_start: (u64, u64),
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
    pub(super) fn new(retreats: Retreats, workers: usize) -> Reviewer {
        let retreats = if workers == 1 { Retreats::Never } else { retreats };
        Reviewer {
            due: WINDOWS_FIRST,
            at: Time::ZERO,
            events: Vec::new(),
            changes: 0,
            next_choice: EVENTS_FIRST,
            retreats,
            retreat: Retreat::new(BUSY),
            core: CoreClock::start(),
            windows: 0,
            spell_start: (0, 0),
        }
    }

    /// Makes the reviewer try one worker now and then, however busy several workers are.
    pub(super) fn always_try(&mut self) {
        self.retreat = Retreat::new(f64::INFINITY);
    }

    /// Returns true if a review is due, after `windows` windows.
    pub(super) fn is_due(&self, windows: u64, stopwatch: &Stopwatch) -> bool {
        let may_switch = match self.retreats {
            Retreats::Never => false,
            Retreats::WhereFaster => self.retreat.is_due(stopwatch.time()),
            #[cfg(feature = "test-hooks")]
            Retreats::Every(each) => windows - self.spell_start.1 >= each.into(),
        };
        windows >= self.due || windows > self.windows && may_switch
    }

    /// Returns the number of switches between several workers and one.
    pub(super) fn switches(&self) -> u32 {
        self.retreat.switches
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
        let has_changed = world.lookahead_changes() != self.changes;
        if !has_changed && windows < self.due {
            return Ok(plan);
        }
        let mut next = if has_changed { plan.with_lookahead(world) } else { plan.unassigned() };
        self.changes = world.lookahead_changes();
        if has_changed && next.lookahead == Some(Delay::ZERO) {
            let why = "a channel between LPs of different partitions has lost its lookahead, and LPs do not move between ranks";
            return Err(Error::new(ErrorKind::Ranks(why.into())));
        }
        if has_changed {
            parts.iter_mut().for_each(|part| part.adapt_to_lookahead(&next));
        }
        self.events.resize(parts.len(), 0);
        let costs: Vec<u64> = parts.iter().zip(&self.events).map(|(part, before)| part.events - before).collect();
        next.assign(&costs, settings);
        if windows < self.due {
            return Ok(Arc::new(next));
        }
        self.restart(reached, parts);
        self.due = 2 * windows;
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
        }
        self.retreat.set_items(world.lps() as usize + parts.iter().map(|part| part.pending_events()).sum::<usize>());
        if world.lookahead_changes() != self.changes {
            return self.adapt_to_lookahead(crew, &plan, world, parts, reached, stopwatch);
        }
        if crew.model.stays_on_threads() {
            self.due = u64::MAX;
            return plan;
        }
        if let Some(other) = self.switch_mode(crew, &plan, world, parts, reached, stopwatch) {
            self.restart(reached, parts);
            return other;
        }
        if windows < self.due {
            return plan;
        }
        self.events.resize(parts.len(), 0);
        let costs: Vec<u64> = parts.iter().zip(&self.events).map(|(part, before)| part.events - before).collect();
        if self.may_choose_partitions(&plan, &crew.settings, &costs, total_events(parts))
            && let Some(next) = self.choose_partitions(crew, &plan, world, parts, bound)
        {
            self.restart(reached, parts);
            return next;
        }
        let mut next = plan.unassigned();
        next.assign(&costs, &crew.settings);
        self.restart(reached, parts);
        self.due = 2 * windows;
        Arc::new(next)
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
        let next = Plan::first(&found, Workers::alone(workers), world).reaching(crew.reach, world);
        Self::move_to(crew, plan, next, parts, reached.bound)
    }

    /// Returns true if partitions may be chosen by measurement, after `events` events of the run. By `costs`,
    /// partitions have executed since the last review.
    fn may_choose_partitions(&self, plan: &Plan, settings: &Settings, costs: &[u64], events: u64) -> bool {
        // Several workers may share the work more evenly. A single worker may have partitions that fit its
        // cache.
        let may_cut = plan.workers() > 1 || settings.threads == 1;
        let is_measured = costs.iter().sum::<u64>() > EVENTS_FIRST;
        may_cut && !self.retreat.alone && is_measured && events >= self.next_choice
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
            let found = self.measured_partitioning(crew, world, parts, &weights, bound);
            is_worth_a_move(&found, plan, &weights).then(|| {
                let next = Plan::by_weights(&found, plan.workers(), world, &weights).reaching(crew.reach, world);
                Self::move_to(crew, plan, next, parts, bound)
            })
        });
        let events = total_events(parts);
        let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.next_choice =
            (EVENTS_GROWTH * events).max(events.saturating_add(took_us.saturating_mul(EVENTS_PER_CHOICE_US)));
        next
    }

    /// Returns the partitioning that suits measured weights and the measured rate of events.
    fn measured_partitioning<'k>(
        &self,
        crew: &Crew<'k>,
        world: &World,
        parts: &[MutexGuard<'_, Part<'k>>],
        weights: &[u64],
        bound: Time,
    ) -> Partitioning {
        let rated = Wish::of_workers(workers_at_most(&crew.settings));
        let events_per_second = self.events_per_second(parts, bound);
        partition(world, &crew.settings, Wish { events_per_second, weights: Some(weights), ..rated })
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
        let (next, took) = timed(|| {
            let weights = measured_weights(plan, world.lps(), parts);
            let found = match self.retreat.alone {
                true => self.measured_partitioning(crew, world, parts, &weights, reached.bound),
                false => Partitioning::one(world.lps()),
            };
            let next = Plan::by_weights(&found, workers, world, &weights).reaching(crew.reach, world);
            Self::move_to(crew, plan, next, parts, reached.bound)
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
        old: &Plan,
        new: Plan,
        parts: &mut [MutexGuard<'_, Part<'k>>],
        bound: Time,
    ) -> Arc<Plan> {
        let busiest = parts.iter().max_by_key(|part| part.events);
        let found = busiest.and_then(|part| part.found_by_lp());
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
        let mut metrics: Vec<&mut Metrics> = parts.iter_mut().map(|part| &mut part.metrics).collect();
        Metrics::redistribute(&mut metrics, &|id| new.placement.partition(id) as usize);
        Arc::new(new)
    }
}

/// Returns the number of events that all partitions have executed.
fn total_events(parts: &[MutexGuard<'_, Part<'_>>]) -> u64 {
    parts.iter().map(|part| part.events).sum()
}

/// Returns the weight of each LP: its count of sends, which stands for its executed events.
fn measured_weights(plan: &Plan, lps: u32, parts: &[MutexGuard<'_, Part<'_>>]) -> Vec<u64> {
    let of = |id| parts[plan.placement.partition(id) as usize].lps.sequence(plan.placement.index(id));
    super::ids(lps).map(of).collect()
}

/// Returns true if the found partitions are better than those of the plan by enough to be worth a move.
fn is_worth_a_move(found: &Partitioning, plan: &Plan, weights: &[u64]) -> bool {
    let workers = u32::try_from(plan.workers()).unwrap_or(u32::MAX);
    let busiest = |placement| Partitioning::busiest_share(placement, workers, weights);
    found.lookahead() != plan.lookahead
        || found.partitions() != plan.placement.partitions()
        || busiest(found.placement()) * GAIN < busiest(&plan.placement)
}
