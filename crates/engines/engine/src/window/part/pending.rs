//! The pending events of a partition, whatever the form of their messages, and the loop that executes them.

use crate::costs::{Costs, Sampler};
use crate::fetch::Fetcher;
use crate::grace::Grace;
use crate::ledger::Ledger;
use parades_core::any_model::{
    AnyEvent, AnyLeftover, AnyModel, Form, Lps, Packed, Taggable, any_event, event_of, hide_body, in_form,
};
use parades_core::effects::{AnyEffects, Effects, HiddenEffects};
use parades_core::event::{Event, LpId};
use parades_core::lp::Execution;
use parades_core::metrics::Metrics;
use parades_core::outbox::Pending;
use parades_core::pending::{Grid, LpOrderedPending, PendingSet, Unordered, WindowedPending};
use parades_core::placement::Placement;
use parades_core::run::Control;
use parades_core::time::Time;
use parades_core::world::World;
use parades_transport::{Arrived, Conservative, ParcelRef};

/// The panic of an event that violates invariant I1.
pub(super) const TOO_EARLY: &str = "I1: an event arrived below the bound executed to";

/// The pending events of a partition. This table of functions is all that is compiled for each form of
/// messages.
pub(super) trait AnyPending<'k>: Send {
    /// Adds an event.
    fn push(&mut self, event: AnyEvent<'k>);

    /// Adds the events that have arrived. Everything before `reached` has been executed. Returns the
    /// earliest time of these events.
    ///
    /// # Panics
    ///
    /// If an event is before `reached`.
    fn receive(&mut self, arrived: ParcelRef<'_, 'k, Conservative>, reached: Time) -> Time;

    /// Calls `act` with the effects of LPs of `partition`, whose pending events these are.
    fn with_effects(
        &mut self,
        partition: u32,
        effects: &mut AnyEffects<'k>,
        act: &mut dyn FnMut(HiddenEffects<'_, 'k>),
    );

    /// Executes events before the bound of a task. In the order of time, it may end early: after
    /// [`EVENTS_MAX`] events, or where the user has stopped the run.
    fn execute(&mut self, task: Task<'_, 'k>, effects: &mut AnyEffects<'k>) -> Executed;

    /// Returns the time of the earliest event, or [`Time::MAX`].
    fn next_time(&mut self) -> Time;

    /// Returns true if the events of a window are executed LP by LP.
    fn is_by_lp(&self) -> bool;

    /// Returns true if events of an open window are left, because the run is given up.
    fn has_open_window(&self) -> bool;

    /// Opens the next window that is executed LP by LP, if it has events before `bound`.
    fn open_window(&mut self, bound: Time);

    /// Returns the number of events.
    fn len(&self) -> usize;

    /// Returns the bytes of memory that the set holds, not counting memory that payloads own.
    fn allocated_bytes(&self) -> usize;

    /// Removes and returns all events, in no order.
    fn take_all(&mut self) -> AnyLeftover<'k>;

    /// Changes to LP by LP in the windows of `grid`, for LPs with ids within `bounds`. Changes to the order
    /// of time if there is no grid, or if its windows would hold fewer than `events_min` events on average.
    fn change_to(&mut self, grid: Option<Grid>, bounds: (LpId, LpId), events_min: f64);
}

/// The LPs of a partition, and everything that they need in order to execute before a bound.
pub(super) struct Task<'a, 'k> {
    pub(super) partition: u32,
    pub(super) lps: &'a mut (dyn Lps<'k> + 'k),
    pub(super) metrics: &'a mut Metrics,
    pub(super) costs: &'a mut Costs,
    pub(super) sampler: &'a mut Sampler,
    pub(super) placement: &'a Placement,
    pub(super) ledger: &'a mut Ledger<'k>,
    pub(super) model: &'k dyn AnyModel<'k>,
    pub(super) world: &'a World,
    /// Events before this time are executed.
    pub(super) bound: Time,
    /// By this the user stops the run.
    pub(super) control: Option<&'a Control>,
    /// The time that is left since the user has stopped the run.
    pub(super) grace: &'a Grace<'k>,
}

/// The most events of a task in the order of time. Between two tasks the run reports its progress.
const EVENTS_MAX: u64 = 1 << 17;
/// Events between two looks at whether the user has stopped the run. One event may take long.
const EVENTS_PER_LOOK: u64 = 1 << 5;

/// The result of a [`Task`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Executed {
    /// The number of events executed.
    pub(super) events: u64,
    /// The time of the last one; [`Time::ZERO`] if there was none. LP by LP, others may be later.
    pub(super) last: Time,
    /// True if an execution has failed.
    pub(super) failed: bool,
}

/// Makes an empty set for messages of this form, in the order of time.
pub(super) fn of_form<'k>(form: Form) -> Box<dyn AnyPending<'k> + 'k> {
    fn in_time<'k, P: Packed<'k>>() -> Box<dyn AnyPending<'k> + 'k> {
        Box::new(Pending::<P>::ByTime(WindowedPending::default()))
    }
    in_form!(form, in_time())
}

impl<'k, P: Packed<'k>> AnyPending<'k> for Pending<P> {
    fn push(&mut self, event: AnyEvent<'k>) {
        push_all(self, std::iter::once(event_of(event)));
    }

    fn receive(&mut self, arrived: ParcelRef<'_, 'k, Conservative>, reached: Time) -> Time {
        let mut next = Time::MAX;
        let arrived = Arrived::of(arrived.show::<P>()).inspect(|event| {
            assert!(event.time() >= reached, "{TOO_EARLY}");
            next = event.time().min(next);
        });
        push_all(self, arrived);
        next
    }

    fn with_effects(
        &mut self,
        partition: u32,
        effects: &mut AnyEffects<'k>,
        act: &mut dyn FnMut(HiddenEffects<'_, 'k>),
    ) {
        let effects = effects.of_mut::<P>();
        let mut lent = effects.lend(partition, self);
        act(lent.hide());
        effects.reclaim(lent, self);
    }

    fn execute(&mut self, task: Task<'_, 'k>, effects: &mut AnyEffects<'k>) -> Executed {
        let placement = task.placement;
        let mask = placement.index_mask();
        let own = effects.of_mut::<P>();
        let mut effects = own.lend(task.partition, self);
        let by_lp = effects.outbox.pending.is_by_lp();
        let executed = match (by_lp, mask) {
            (false, None) => execute_by::<P, WindowedPending<P>>(task, &mut effects, |id| placement.index(id)),
            (true, None) => execute_by::<P, LpOrderedPending<P>>(task, &mut effects, |id| placement.index(id)),
            (false, Some(mask)) => execute_by::<P, WindowedPending<P>>(task, &mut effects, masked(mask)),
            (true, Some(mask)) => execute_by::<P, LpOrderedPending<P>>(task, &mut effects, masked(mask)),
        };
        own.reclaim(effects, self);
        executed
    }

    fn next_time(&mut self) -> Time {
        Pending::next_time(self)
    }

    fn is_by_lp(&self) -> bool {
        Pending::is_by_lp(self)
    }

    fn has_open_window(&self) -> bool {
        matches!(self, Pending::ByLp(pending) if pending.has_open_window())
    }

    fn open_window(&mut self, bound: Time) {
        if let Pending::ByLp(pending) = self {
            pending.open_window(bound);
        }
    }

    fn len(&self) -> usize {
        Pending::len(self)
    }

    fn allocated_bytes(&self) -> usize {
        Pending::allocated_bytes(self)
    }

    fn take_all(&mut self) -> AnyLeftover<'k> {
        Box::new(Pending::take_all(self).map(any_event))
    }

    fn change_to(&mut self, grid: Option<Grid>, bounds: (LpId, LpId), events_min: f64) {
        let all = match std::mem::replace(self, Pending::Elsewhere) {
            Pending::ByTime(pending) => pending.into_unordered(),
            Pending::ByLp(pending) => pending.into_unordered(),
            Pending::Elsewhere | Pending::Optimistic(_) => Unordered::default(),
        };
        *self = match grid.filter(|&grid| all.events_per_window(grid) >= events_min) {
            Some(grid) => Pending::ByLp(LpOrderedPending::from_unordered(grid, bounds, all)),
            None => Pending::ByTime(all.into()),
        };
    }
}

/// Adds events to a set.
#[inline(always)]
fn push_all<P: Taggable>(pending: &mut Pending<P>, events: impl Iterator<Item = Event<P>>) {
    match pending {
        Pending::ByTime(pending) => events.for_each(|event| pending.push(event)),
        Pending::ByLp(pending) => events.for_each(|event| pending.push(event)),
        Pending::Elsewhere | Pending::Optimistic(_) => unreachable!("`change_to` makes one of the two"),
    }
}

/// Executes the events before the bound of a task. `index` returns the index of an LP in the partition.
/// Always inlined into the frame that holds the effects; see [`Effects::lend`] for the reason.
#[inline(always)]
fn execute_by<'k, P: Packed<'k>, Q: Queue<P>>(
    task: Task<'_, 'k>,
    effects: &mut Effects<P>,
    index: impl Fn(LpId) -> usize + Copy,
) -> Executed {
    let Task { lps, metrics, costs, sampler, ledger, model, world, bound, control, grace, .. } = task;
    let (mut fetcher, records) = (Fetcher::of(model, lps.len()), lps.records());
    let (mut events, mut last) = (0_u64, Time::ZERO);
    let mut failed = Vec::new();
    loop {
        let pending = Q::of(&mut effects.outbox.pending);
        let Some(event) = pending.pop_before(bound) else { break };
        let id = event.receiver();
        fetcher.each(|ahead| pending.upcoming(ahead), |id| records.prefetch(index(id)));
        fetcher.steps(|ahead| pending.upcoming(ahead), |id, step| lps.fetch(index(id), step));
        if !failed.is_empty() && failed.contains(&id) {
            continue; // The event comes after its LP's failure.
        }
        let is_timed = sampler.begins();
        let execution = lps.execute(index(id), event.header_ref(), hide_body(&event.body), world, effects.hide());
        if is_timed {
            sampler.end(costs, index(id));
        }
        if effects.others.any && ledger.collect(event.key(), id, &mut effects.others, metrics) {
            failed.push(id);
            if Q::IN_TIME {
                break;
            }
        }
        if execution == Execution::Done {
            events += 1;
            last = event.time();
            if ledger.traces {
                ledger.trace(event, &mut effects.others);
            }
        }
        if events.is_multiple_of(EVENTS_PER_LOOK) {
            let may_end = Q::IN_TIME && (events >= EVENTS_MAX || control.is_some_and(Control::is_stopped));
            // A run that is given up has no digest, so LPs need not be at one time.
            if may_end || grace.is_over() {
                break;
            }
        }
    }
    Executed { events, last, failed: !failed.is_empty() }
}

/// Returns a function that finds the index of an LP by a mask.
#[inline(always)]
fn masked(mask: u32) -> impl Fn(LpId) -> usize + Copy {
    move |id| (id.0 & mask) as usize
}

/// The operations of a pending set in the loop above.
trait Queue<P: Taggable> {
    /// True if events come out in the order of time.
    const IN_TIME: bool;
    fn of(pending: &mut Pending<P>) -> &mut Self;
    fn pop_before(&mut self, bound: Time) -> Option<Event<P>>;
    fn upcoming(&self, ahead: usize) -> Option<LpId>;
}

impl<P: Taggable> Queue<P> for WindowedPending<P> {
    const IN_TIME: bool = true;
    #[inline(always)]
    fn of(pending: &mut Pending<P>) -> &mut Self {
        let Pending::ByTime(pending) = pending else { unreachable!("the caller has checked the kind") };
        pending
    }
    #[inline(always)]
    fn pop_before(&mut self, bound: Time) -> Option<Event<P>> {
        PendingSet::pop_before(self, bound)
    }
    #[inline(always)]
    fn upcoming(&self, ahead: usize) -> Option<LpId> {
        PendingSet::upcoming(self, ahead)
    }
}

impl<P: Taggable> Queue<P> for LpOrderedPending<P> {
    const IN_TIME: bool = false;
    #[inline(always)]
    fn of(pending: &mut Pending<P>) -> &mut Self {
        let Pending::ByLp(pending) = pending else { unreachable!("the caller has checked the kind") };
        pending
    }
    #[inline(always)]
    fn pop_before(&mut self, bound: Time) -> Option<Event<P>> {
        LpOrderedPending::pop_before(self, bound)
    }
    #[inline(always)]
    fn upcoming(&self, ahead: usize) -> Option<LpId> {
        LpOrderedPending::upcoming(self, ahead)
    }
}
