//! A site: the LPs of a worker, their pending events, and their history.

mod alone;
mod any;
mod commit;
mod execute;
mod rollback;

use super::coast::Coast;
use super::history::{History, NONE, Record};
use crate::balance::PACE;
use crate::costs::{Costs, Load, Sampler, Useful};
use crate::fetch::Fetcher;
use crate::handlers::new_restorable_lps;
use crate::ledger::Ledger;
use crate::stopwatch::now;
pub(super) use any::{AnySite, SiteBox, of_form};

use commit::Stretch;
use parades_core::any_model::{AnyRestorable, Packed, RestorableLps, Taggable};
use parades_core::effects::Effects;
use parades_core::error::Place;
use parades_core::event::{Event, LpId};
use parades_core::metrics::Metrics;
use parades_core::optimistic::{COMMITTED, NEVER, OptimisticSet, Sent, TaggedEvent, tag};
use parades_core::outbox::{Outbox, Pending};
use parades_core::pending::PendingSet;
use parades_core::placement::Placement;
use parades_core::time::{Instant, Time};
use parades_core::timer::TimerChange;
use parades_core::timesheet::Timesheets;
use parades_core::world::World;
use parades_raw::prefetch::Records;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The time for which costs are given: about the sum of the times between ageings, each of which counts half as
/// much as the next.
const SPAN: Duration = PACE.saturating_mul(2);

/// The LPs of a worker.
///
/// A site takes its pending events in the order of time. A straggler is found when it is taken: its LP has
/// then executed a later event.
struct Site<'k, P: Taggable> {
    model: &'k dyn AnyRestorable<'k>,
    number: u32,
    placement: Placement,
    /// The LPs, in the order of their ids.
    lps: Box<dyn RestorableLps<'k> + 'k>,
    /// The places of the LPs' records.
    records: Records,
    /// By LP: the position of its last execution in the history.
    heads: Vec<u32>,
    fetcher: Fetcher,
    history: History<P>,
    /// The position after the last undo record. A copy of [`RestorableLps::undos_end`], which is a call for
    /// each event.
    undos_end: u32,

    /// By LP whose last execution failed: events that come after the failure.
    behind_failures: BTreeMap<LpId, Vec<TaggedEvent<P>>>,

    /// The closed stretches of the history.
    stretches: VecDeque<Stretch>,
    /// The open stretch of the history.
    stretch: Stretch,

    /// The effects of executions. The outbox holds the pending set: an optimistic one, or a plain one while
    /// this worker executes alone.
    effects: Effects<P>,
    /// True once an execution has failed while this worker executes alone. Later events are then never
    /// executed.
    failed_alone: bool,
    /// The timer changes of the execution that is being undone. Empty at other times.
    timers: Vec<TimerChange>,
    coast: Coast<P>,

    /// The costs of the LPs, if the sampler is on.
    costs: Costs,
    sampler: Sampler,
    useful: Useful,
    /// The time when the costs last aged.
    aged: std::time::Instant,
    /// The time that the costs had been measured for when they last aged. It ages as they do.
    span: Duration,

    metrics: Metrics,
    ledger: Ledger<'k>,
    /// The uncommitted requests for global events: the position of the execution, and the time requested.
    requested: Vec<(u32, Time)>,
    /// The earliest time that committed executions have requested.
    requested_committed: Time,
    counts: Counts,
}

/// The facts that a site keeps beside what it must.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wants<'a> {
    /// True if committed executions are traced.
    pub(super) traces: bool,
    /// True if the costs of LPs are measured.
    pub(super) costs: bool,
    /// The timesheets of the run, which may measure handlers.
    pub(super) timesheets: Option<&'a Arc<Timesheets>>,
}

/// Counts of the work that a worker has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Events executed in closed stretches, including those rolled back.
    pub(super) executed: u64,
    /// Events rolled back.
    pub(super) rolled_back: u64,
    /// Events committed.
    pub(super) committed: u64,
    pub(super) rollbacks: u64,
    pub(super) anti_messages: u64,
    /// Events executed again while coasting forward.
    pub(super) coasted: u64,
    /// The most executions that the history has held.
    pub(super) history_max: u32,
}

impl Counts {
    /// Returns the counts of both.
    pub(super) fn and(self, other: Counts) -> Counts {
        Counts {
            executed: self.executed + other.executed,
            rolled_back: self.rolled_back + other.rolled_back,
            committed: self.committed + other.committed,
            rollbacks: self.rollbacks + other.rollbacks,
            anti_messages: self.anti_messages + other.anti_messages,
            coasted: self.coasted + other.coasted,
            history_max: self.history_max.max(other.history_max),
        }
    }
}

impl<'k, P: Packed<'k>> Site<'k, P> {
    fn new(
        number: u32,
        placement: Placement,
        model: &'k dyn AnyRestorable<'k>,
        wants: Wants<'_>,
        coast: Coast<P>,
    ) -> Site<'k, P> {
        let outbox = Outbox::optimistic(OptimisticSet::new(placement.clone(), number));
        let lps = placement.len(number) as usize;
        Site {
            number,
            placement,
            records: Records::of::<u8>(&[]),
            lps: new_restorable_lps(model, wants.timesheets),
            heads: Vec::new(),
            fetcher: Fetcher::without_steps(model, lps),
            model,
            history: History::new(),
            undos_end: 0,
            behind_failures: BTreeMap::new(),
            stretches: VecDeque::new(),
            stretch: Stretch::default(),
            effects: Effects::undoable(outbox),
            failed_alone: false,
            timers: Vec::new(),
            coast,
            metrics: model.metrics(),
            costs: Costs::default(),
            sampler: Sampler::new(wants.costs),
            useful: Useful::default(),
            aged: now(),
            span: Duration::ZERO,
            ledger: Ledger::new(wants.traces),
            requested: Vec::new(),
            requested_committed: Time::MAX,
            counts: Counts::default(),
        }
    }

    /// Bytes that an uncommitted execution takes in the logs, if it sends and changes little.
    fn execution_bytes(&self) -> usize {
        size_of::<Record<P>>() + 2 * size_of::<Sent>() + 2 * self.model.undo_bytes() + size_of::<TimerChange>()
    }

    /// Prepares the site, whose LPs have been taken away, for other LPs. If `alone`, it will execute
    /// all LPs of the run.
    fn restart(&mut self, placement: &Placement, alone: bool) {
        assert!(self.uncommitted() == 0 && self.in_stretch() == 0, "I5: LPs that move have committed everything");
        self.placement = placement.clone();
        self.heads = Vec::new();
        // Committed records stay in memory until they are overwritten.
        self.history.shrink();
        self.lps.shrink_undos();
        self.effects = match alone {
            true => Effects::with(Outbox::direct()),
            false => Effects::undoable(Outbox::optimistic(OptimisticSet::new(placement.clone(), self.number))),
        };
        self.stretches.clear();
        self.useful = Useful::default();
        // Costs that come with the LPs are those of this time.
        (self.aged, self.span) = (now(), SPAN);
    }

    /// Returns the cost of the executions that are kept, in [`SPAN`]. Ages the costs, if that is due.
    fn useful_load(&mut self) -> Load {
        let now = now();
        if now - self.aged >= PACE {
            self.span = (self.span + (now - self.aged)) / 2;
            self.aged = now;
            self.costs.age();
            self.useful.age(self.counts.committed, self.executed());
        }
        self.costs.load().times(self.useful_share())
    }

    /// Returns the share of the recent executions that are kept, scaled so that costs are those of [`SPAN`].
    /// Workers age their costs at different times, so costs as such do not compare.
    fn useful_share(&self) -> f64 {
        let span = self.span + (now() - self.aged);
        self.useful.share() * SPAN.as_secs_f64() / span.as_secs_f64().max(PACE.as_secs_f64() / 100.0)
    }

    /// Starts an LP of this worker. LPs start in the order of their ids. Returns false if the LP failed.
    fn start(&mut self, world: &World, id: LpId) -> bool {
        let effects = &mut self.effects;
        if self.lps.start(id, world, effects.hide()) {
            self.heads.push(NONE);
        }
        let others = &mut effects.others;
        others.timer_changes.as_mut().expect("they are undoable").clear(); // A start is never undone.
        let place = Place { instant: Instant::START, lp: Some(id), event: None };
        let failed = others.any && self.ledger.collect_at(place, id, others, &mut self.metrics);
        others.notes.clear();
        let sent = &mut effects.outbox.optimistic_mut().sent;
        sent.release_before(sent.end());
        !failed
    }

    // Pending events.

    /// Returns the optimistic pending set. It does not hold the events behind failures.
    #[inline(always)]
    fn ahead(&mut self) -> &mut OptimisticSet<P> {
        self.effects.outbox.optimistic_mut()
    }

    /// Adds a pending event, which may be a straggler.
    #[inline]
    fn push(&mut self, event: TaggedEvent<P>) {
        self.ahead().push(event);
    }

    /// Adds an event that is never annihilated.
    fn push_unmarked(&mut self, event: Event<P>) {
        match &mut self.effects.outbox.pending {
            Pending::ByTime(pending) => pending.push(event),
            _ => self.push(tag(COMMITTED, event)),
        }
    }

    /// Returns the instant of the earliest event, or [`NEVER`].
    fn next_instant(&mut self) -> Instant {
        match &mut self.effects.outbox.pending {
            Pending::ByTime(_) if self.failed_alone => NEVER,
            Pending::ByTime(pending) => pending.next_instant().unwrap_or(NEVER),
            _ => self.ahead().next_instant(),
        }
    }

    // At a cut.

    /// Frees memory that is not in use.
    fn shrink(&mut self) {
        self.history.shrink();
        self.lps.shrink_undos();
        if !self.is_alone() {
            self.ahead().shrink();
        }
    }

    /// Does the same as [`Site::shrink`], and also compacts the pending set. Without compaction, the set
    /// keeps the room for the most events that it has ever held.
    fn compact(&mut self) {
        self.history.shrink();
        self.lps.shrink_undos();
        self.effects.outbox.pending.compact();
    }

    fn allocated_bytes(&self) -> usize {
        let waiting = self.effects.outbox.pending.allocated_bytes();
        waiting
            + self.history.allocated_bytes()
            + self.lps.undos_allocated_bytes()
            + self.heads.capacity() * size_of::<u32>()
    }
}
