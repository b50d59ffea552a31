//! Planning anew, by what has been measured: who executes which partition, and which partitions there are.

use super::part::Part;
use super::plan::{Plan, Workers};
use super::{Crew, Settings, first_partition, partition, workers_at_most};
use crate::partition::{Partitioning, Wish};
use crate::retreat::{BUSY, Retreat, Retreats, Spell};
use crate::stopwatch::{CoreClock, Stopwatch, timed};
use parades_core::error::{Error, ErrorKind};
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use std::sync::{Arc, MutexGuard};

/// Windows after which the work is reviewed for the first time; each time after that, twice as many.
const FIRST: u64 = 8;
/// Events of the whole model from which they say enough to choose partitions by.
const ENOUGH: u64 = 20_000;
/// How many times as many there are at the next choice: what was measured at first may have been a
/// beginning that is unlike the rest.
const MORE: u64 = 4;
/// How many times less the busiest worker must have to do in other partitions than in those there are.
const EVENER: f64 = 1.08;
/// Events from one choice to the next, at least, for each microsecond that a choice takes: a fiftieth of
/// the run at 20 million events a second.
const EVENTS_PER_CHOICE_US: u64 = 50 * 20;

/// When the work was last looked at, and what was found.
#[derive(Debug)]
pub(super) struct Reviewer {
    /// The window before which it is next.
    due: u64,
    /// Everything before it had been executed at the last review.
    at: Time,
    /// Events that each partition had executed by then.
    events: Vec<u64>,
    /// Changes of lookahead that the plan knows of.
    changes: u64,
    /// Events that all partitions will have executed when they are next chosen by measurement.
    choice: u64,
    retreats: Retreats,
    retreat: Retreat,
    /// Since it was last decided.
    core: CoreClock,
    /// Windows executed at the last rest.
    rested: u64,
    /// Events that all partitions had executed, and windows, when it was last decided whether several
    /// workers pay.
    decided: (u64, u64),
}

impl Reviewer {
    /// Of a run of so many workers.
    pub(super) fn new(retreats: Retreats, workers: usize) -> Reviewer {
        let retreats = if workers == 1 { Retreats::Never } else { retreats };
        Reviewer {
            due: FIRST,
            at: Time::ZERO,
            events: Vec::new(),
            changes: 0,
            choice: ENOUGH,
            retreats,
            retreat: Retreat::new(BUSY),
            core: CoreClock::start(),
            rested: 0,
            decided: (0, 0),
        }
    }

    /// Tries one worker now and then, however busy several are.
    pub(super) fn always_try(&mut self) {
        self.retreat = Retreat::new(f64::INFINITY);
    }

    /// Whether a review is due before the next window.
    pub(super) fn is_due(&self, windows: u64, stopwatch: &Stopwatch) -> bool {
        let may_turn = match self.retreats {
            Retreats::Never => false,
            Retreats::WhereFaster => self.retreat.is_due(stopwatch.time()),
            Retreats::Every(each) => windows - self.decided.1 >= each.into(),
        };
        windows >= self.due || windows > self.rested && may_turn
    }

    /// How often the run went from several workers to one, or back.
    pub(super) fn switches(&self) -> u32 {
        self.retreat.turns
    }

    /// Reviews the work of one of several ranks: partitions stay, and are dealt out anew to the workers of the rank.
    ///
    /// # Errors
    ///
    /// If a channel between partitions has lost its lookahead: its LPs would have to move to one partition.
    pub(super) fn review_rank<M: Model>(
        &mut self,
        plan: Arc<Plan>,
        (world, settings): (&World, &Settings),
        parts: &[MutexGuard<'_, Part<M>>],
        (windows, bound): (u64, Time),
    ) -> Result<Arc<Plan>, Error> {
        if world.lookahead_changes() != self.changes {
            self.changes = world.lookahead_changes();
            let next = plan.with_lookahead(world);
            if next.lookahead == Some(Delay::ZERO) {
                let why = "a channel between LPs of different partitions has lost its lookahead, and LPs do not move between ranks";
                return Err(Error::new(ErrorKind::Ranks(why.into())));
            }
            return Ok(Arc::new(next));
        }
        if windows < self.due {
            return Ok(plan);
        }
        self.events.resize(parts.len(), 0);
        let costs: Vec<u64> = parts.iter().zip(&self.events).map(|(part, before)| part.events - before).collect();
        let mut next = plan.unassigned();
        next.assign(&costs, settings);
        self.restart(windows, bound, parts);
        self.due = 2 * windows;
        Ok(Arc::new(next))
    }

    /// The plan to follow from here on: the old one, unless a lookahead has changed or a review finds better.
    pub(super) fn review<M: Model>(
        &mut self,
        crew: &Crew<'_, M>,
        plan: Arc<Plan>,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<M>>],
        (windows, bound, stopwatch): (u64, Time, &mut Stopwatch),
    ) -> Arc<Plan> {
        self.rested = windows;
        if windows == 0 {
            // Those who had few LPs to set up have waited for the others, which says nothing of the windows
            // to come.
            *stopwatch = Stopwatch::new();
            self.begin_spell(parts, windows, stopwatch);
        }
        self.retreat.weighs(world.lps() as usize + parts.iter().map(|part| part.pending_events()).sum::<usize>());
        let workers = plan.workers();
        let rated = Wish::of_workers(workers_at_most(&crew.settings));
        if world.lookahead_changes() != self.changes {
            self.changes = world.lookahead_changes();
            self.retreat.forget();
            self.begin_spell(parts, windows, stopwatch);
            self.choice = match workers {
                // It can go on as it is, and looking for partitions takes time.
                1 => self.choice.max(total(parts) + ENOUGH),
                _ => total(parts) + ENOUGH,
            };
            let found = first_partition(world, &crew.settings, 1);
            self.restart(windows, bound, parts);
            return Self::move_to(crew, (&plan, Plan::first(&found, Workers::alone(workers), world)), parts, bound);
        }
        if let Some(other) = self.turn(crew, &plan, world, parts, (windows, bound, stopwatch)) {
            self.restart(windows, bound, parts);
            return other;
        }
        if windows < self.due {
            return plan;
        }
        self.events.resize(parts.len(), 0);
        let costs: Vec<u64> = parts.iter().zip(&self.events).map(|(part, before)| part.events - before).collect();
        let executed = costs.iter().sum::<u64>();
        // Several share the work anew; the only one there is may do it in parts that fit its cache.
        let may_cut = workers > 1 || crew.settings.threads == 1;
        if may_cut && !self.retreat.alone && executed > ENOUGH && total(parts) >= self.choice {
            let (next, took) = timed(|| {
                let weights: Vec<u64> = weights(&plan, world.lps(), parts);
                let events_per_second = self.events_per_second(parts, bound);
                let measured = Wish { events_per_second, weights: Some(&weights), ..rated };
                let found = partition(world, &crew.settings, measured);
                is_other(&found, &plan, &weights).then(|| {
                    let next = Plan::by_weights(&found, workers, world, &weights);
                    Self::move_to(crew, (&plan, next), parts, bound)
                })
            });
            let events = total(parts);
            let took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            self.choice = (MORE * events).max(events.saturating_add(took_us.saturating_mul(EVENTS_PER_CHOICE_US)));
            if let Some(next) = next {
                self.restart(windows, bound, parts);
                return next;
            }
        }
        let mut next = plan.unassigned();
        next.assign(&costs, &crew.settings);
        self.restart(windows, bound, parts);
        self.due = 2 * windows;
        Arc::new(next)
    }

    /// Goes from several workers to one or back, if that seems faster.
    fn turn<M: Model>(
        &mut self,
        crew: &Crew<'_, M>,
        plan: &Plan,
        world: &World,
        parts: &mut [MutexGuard<'_, Part<M>>],
        (windows, bound, stopwatch): (u64, Time, &mut Stopwatch),
    ) -> Option<Arc<Plan>> {
        if plan.has_one_partition() && !self.retreat.alone {
            return None; // There is but one way to go on, whatever was wished.
        }
        let (time, workers) = (stopwatch.time(), plan.workers());
        let (share_worked, share_on_core) = (stopwatch.share_worked(), self.core.share());
        let spell = Spell { executed: total(parts) - self.decided.0, time, workers, share_worked, share_on_core };
        let windows_since = windows - self.decided.1;
        let turns = match self.retreats {
            Retreats::Never => return None,
            Retreats::Every(each) if windows_since < each.into() => return None,
            Retreats::Every(_) => true,
            Retreats::WhereFaster if self.retreat.gives_up(spell, windows_since) => true,
            Retreats::WhereFaster if !self.retreat.is_due(time) => return None,
            Retreats::WhereFaster if !self.retreat.can_decide(spell) => return None,
            Retreats::WhereFaster => self.retreat.turns_after(spell),
        };
        // One worker's spell goes on until it is time to try several again.
        if turns || !self.retreat.alone {
            self.begin_spell(parts, windows, stopwatch);
        }
        if !turns {
            return None;
        }
        let (next, took) = timed(|| {
            let weights = weights(plan, world.lps(), parts);
            let found = if self.retreat.alone {
                let rated = Wish::of_workers(workers_at_most(&crew.settings));
                let events_per_second = self.events_per_second(parts, bound);
                partition(world, &crew.settings, Wish { events_per_second, weights: Some(&weights), ..rated })
            } else {
                Partitioning::one(world.lps())
            };
            let next = Plan::by_weights(&found, workers, world, &weights);
            Self::move_to(crew, (plan, next), parts, bound)
        });
        self.retreat.has_turned(took);
        self.core = CoreClock::start();
        Some(next)
    }

    /// Events in a second of virtual time since the last review, if there has been any time.
    fn events_per_second<M: Model>(&self, parts: &[MutexGuard<'_, Part<M>>], bound: Time) -> Option<f64> {
        let executed = total(parts) - self.events.iter().sum::<u64>();
        let span = bound.since(self.at).as_secs_f64();
        (executed > 0 && span > 0.0).then(|| executed as f64 / span)
    }

    /// From now on it is measured whether several workers pay.
    fn begin_spell<M: Model>(&mut self, parts: &[MutexGuard<'_, Part<M>>], windows: u64, stopwatch: &mut Stopwatch) {
        self.decided = (total(parts), windows);
        stopwatch.reset();
        self.core = CoreClock::start();
    }

    fn restart<M: Model>(&mut self, windows: u64, bound: Time, parts: &[MutexGuard<'_, Part<M>>]) {
        self.due = windows + FIRST;
        self.at = bound;
        self.events = parts.iter().map(|part| part.events).collect();
    }

    /// Moves LPs, events and metrics to the partitions of another plan.
    fn move_to<M: Model>(
        crew: &Crew<'_, M>,
        (old, new): (&Plan, Plan),
        parts: &mut [MutexGuard<'_, Part<M>>],
        bound: Time,
    ) -> Arc<Plan> {
        let busiest = parts.iter().max_by_key(|part| part.events);
        let found = busiest.and_then(|part| part.found_by_lp());
        // What has been moved away from is given back as soon as it is empty, since it is as large as the
        // run.
        let mut events = Vec::new();
        let mut lps = Vec::new();
        for part in parts.iter_mut() {
            events.push(part.take_all());
            lps.push(std::mem::take(&mut part.lps).into_iter());
            part.restart(bound);
        }
        for number in 0..new.placement.partitions() {
            let part = &mut parts[number as usize];
            let lps = new.placement.len(number) as usize;
            part.set_order(crew.settings.order, &new, found);
            part.reserve(lps);
        }
        for id in super::ids(crew.lps) {
            let from = &mut lps[old.placement.partition(id) as usize];
            let lp = from.next().expect("each LP is in its partition");
            if from.len() == 0 {
                *from = Vec::new().into_iter();
            }
            parts[new.placement.partition(id) as usize].lps.push(lp);
        }
        for event in events.into_iter().flatten() {
            parts[new.placement.partition(event.receiver) as usize].push(event);
        }
        for number in 0..new.placement.partitions() {
            parts[number as usize].guess_order();
        }
        let mut metrics: Vec<&mut Metrics> = parts.iter_mut().map(|part| &mut part.metrics).collect();
        Metrics::redistribute(&mut metrics, &|id| new.placement.partition(id) as usize);
        Arc::new(new)
    }
}

/// Events that all partitions have executed.
fn total<M: Model>(parts: &[MutexGuard<'_, Part<M>>]) -> u64 {
    parts.iter().map(|part| part.events).sum()
}

/// How much each LP has executed.
fn weights<M: Model>(plan: &Plan, lps: u32, parts: &[MutexGuard<'_, Part<M>>]) -> Vec<u64> {
    let of = |id| parts[plan.placement.partition(id) as usize].lps[plan.placement.index(id)].sequence();
    super::ids(lps).map(of).collect()
}

/// Whether partitions are so different from those there are that it pays to move: LPs have executed so many
/// events each.
fn is_other(found: &Partitioning, plan: &Plan, weights: &[u64]) -> bool {
    let workers = u32::try_from(plan.workers()).unwrap_or(u32::MAX);
    let busiest = |placement| Partitioning::busiest_share(placement, workers, weights);
    found.lookahead() != plan.lookahead
        || found.partitions() != plan.placement.partitions()
        || busiest(found.placement()) * EVENER < busiest(&plan.placement)
}
