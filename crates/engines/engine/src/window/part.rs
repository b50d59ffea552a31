//! A partition: LPs that are executed together, and their pending events.
//!
//! *Read next*: `window/part/pending.rs`, the loop that executes.

mod pending;

use super::Order;
use super::hand::Hand;
use super::order::OrderTuner;
use super::plan::Plan;
use crate::costs::Costs;
use crate::course::just_after;
use crate::grace::Grace;
use crate::handlers::new_lps;
use crate::stopwatch::{now, timed};
use parades_core::any_model::{AnyEvent, AnyLeftover, AnyModel, Lps};
use parades_core::effects::AnyEffects;
use parades_core::error::Place;
use parades_core::event::LpId;
use parades_core::metrics::Metrics;
use parades_core::pending::Grid;
use parades_core::run::Control;
use parades_core::time::{Delay, Instant, Time};
use parades_core::timesheet::Timesheets;
use parades_core::world::World;
use parades_transport::{Conservative, ParcelRef};
use pending::{AnyPending, Executed, TOO_EARLY, Task};
use std::sync::Arc;
use std::time::Duration;

/// The size of LPs' records and pending events, in bytes, from which a partition begins LP by LP. They then
/// do not fit any cache near the core. Below this size a partition begins in the order of time.
const OUT_OF_CACHE: usize = 32 << 20;

/// The fewest events in a window, on average over windows that have events, with which LP by LP is allowed.
/// Each window takes some time of its own.
const EVENTS_PER_WINDOW_MIN: f64 = 1.25;

/// The virtual time of the first visit LP by LP, when nothing is known of the events. Those that are pending
/// say little: an LP may send itself any number of others before the bound.
const STRIDE_FIRST: Delay = Delay::from_ps(2);
/// The most events of a visit LP by LP, as far as is known.
const STRIDE_EVENTS_MAX: u64 = 1 << 20;
/// The longest time of a visit LP by LP, as far as is known. A stop by the user waits for the visits of all
/// partitions.
const VISIT_MAX: Duration = Duration::from_millis(50);
/// The greatest growth of the stride from visit to visit. Events may become more frequent, or costlier. A
/// small growth means many visits, each of which opens a window.
const STRIDE_GROWTH: u64 = 64;

/// The ways by which a visit ends early when the user stops the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop<'a, 'k> {
    /// The stop itself. `None` once the leader has found the end of the run that follows from it.
    pub(crate) control: Option<&'a Control>,
    /// The time that is left since the stop.
    pub(crate) grace: &'a Grace<'k>,
}

/// A partition.
pub(crate) struct Part<'k> {
    pub(crate) number: u32,
    /// The ids of its LPs, until the LPs have started.
    pub(crate) members: Vec<LpId>,
    /// The messages in transit to its LPs, until the run goes on from a cut. `None` if the LPs start.
    pub(crate) resumes: Option<Vec<AnyEvent<'k>>>,
    /// Its LPs, in the order of ids.
    pub(crate) lps: Box<dyn Lps<'k> + 'k>,
    /// The bytes of an LP's record.
    lp_bytes: usize,
    pending: Box<dyn AnyPending<'k> + 'k>,
    /// The metrics of its LPs.
    pub(crate) metrics: Metrics,
    /// A lower bound on the times of its pending events.
    pub(crate) next: Time,
    /// Everything before this time has been executed.
    pub(crate) reached: Time,
    /// A time that is later than each executed event.
    pub(crate) executed_to: Time,
    /// The most virtual time of a visit LP by LP.
    stride: Delay,
    /// The number of events executed.
    pub(crate) events: u64,
    /// The costs of its LPs, if they are measured.
    pub(crate) costs: Costs,
    /// True once an execution has failed. Later events of the partition are then never executed.
    pub(crate) failed: bool,
    /// The width of windows in which its LPs cannot affect each other, if they have a lookahead.
    width: Option<Delay>,
    /// The least and the greatest id of its LPs.
    bounds: (LpId, LpId),
    choice: Choice,
}

/// The choice of the order of events.
#[derive(Debug)]
enum Choice {
    /// The order stays as it is.
    Fixed,
    /// The faster order is measured.
    Measured(Box<OrderTuner>),
    /// The order changes after each `visits` visits. `since` counts the visits since the last change.
    #[cfg(feature = "test-hooks")]
    Every { visits: u32, since: u32 },
}

impl<'k> Part<'k> {
    pub(crate) fn new(
        number: u32,
        members: Vec<LpId>,
        model: &'k dyn AnyModel<'k>,
        timesheets: Option<&Arc<Timesheets>>,
    ) -> Part<'k> {
        Part {
            number,
            members,
            resumes: None,
            lps: new_lps(model, timesheets),
            lp_bytes: model.lp_bytes(),
            pending: pending::of_form(model.form()),
            metrics: model.metrics(),
            next: Time::MAX,
            reached: Time::ZERO,
            executed_to: Time::ZERO,
            stride: STRIDE_FIRST,
            events: 0,
            costs: Costs::default(),
            failed: false,
            width: None,
            bounds: (LpId(0), LpId(0)),
            choice: Choice::Fixed,
        }
    }

    /// Adds a pending event.
    pub(crate) fn push(&mut self, event: AnyEvent<'k>) {
        let time = event.time();
        assert!(time >= self.reached, "{TOO_EARLY}");
        self.pending.push(event);
        self.next = self.next.min(time);
    }

    /// Adds pending events that have arrived.
    pub(crate) fn receive(&mut self, arrived: ParcelRef<'_, 'k, Conservative>) {
        self.next = self.next.min(self.pending.receive(arrived, self.reached));
    }

    /// Starts the LPs of [`Part::members`], until one fails or the user has stopped the run. If the run goes
    /// on from a cut, takes the LPs of the cut instead, and what is pending for them.
    pub(crate) fn start(&mut self, world: &World, hand: &mut Hand<'k>, control: Option<&Control>) {
        let members = std::mem::take(&mut self.members);
        if let Some(messages) = self.resumes.take() {
            self.lps.pick_up(self.number as usize);
            let members: Vec<_> = members.into_iter().enumerate().collect();
            self.renew_wakes(&members, world, &mut hand.effects);
            return messages.into_iter().for_each(|event| self.push(event));
        }
        let Part { lps, pending, metrics, number, .. } = self;
        let Hand { effects, ledger, .. } = hand;
        lps.reserve(members.len());
        pending.with_effects(*number, effects, &mut |mut effects| {
            for &id in &members {
                if control.is_some_and(Control::is_stopped) {
                    break; // The leader ends the run.
                }
                lps.start(id, world, effects.reborrow());
                let place = Place { instant: Instant::START, lp: Some(id), event: None };
                if effects.others.any && ledger.collect_at(place, id, effects.others, metrics) {
                    break; // The failure ends the run. The remaining LPs need not start.
                }
                effects.others.notes.clear();
            }
        });
    }

    /// Sends the wakes of the timers of LPs that have come from another rank. `arrived` has their indices and
    /// ids.
    pub(super) fn renew_wakes(&mut self, arrived: &[(usize, LpId)], world: &World, effects: &mut AnyEffects<'k>) {
        let Part { lps, pending, number, .. } = self;
        pending.with_effects(*number, effects, &mut |mut effects| {
            for &(index, id) in arrived {
                lps.renew_wakes(index, id, world, effects.reborrow());
            }
        });
    }

    /// Drops what a cut has for the partition, which is another rank's.
    pub(crate) fn forget(&mut self) {
        self.lps.pick_up(self.number as usize);
        self.lps.clear();
        self.metrics = self.metrics.declarations();
        self.resumes = None;
    }

    /// Executes the events before `bound`. Stops earlier if that would take long. Updates `next` and
    /// `reached`.
    pub(crate) fn execute_before(
        &mut self,
        bound: Time,
        model: &'k dyn AnyModel<'k>,
        world: &World,
        hand: &mut Hand<'k>,
        stop: Stop<'_, 'k>,
    ) {
        if self.failed {
            self.next = Time::MAX;
        }
        if self.next < bound {
            let mut near = bound;
            if self.is_by_lp() {
                near = self.within_stride(bound);
                self.pending.open_window(near);
            }
            self.execute_some(near, model, world, hand, stop);
        }
        self.reached = self.reached.max(bound.min(self.next));
    }

    fn execute_some(
        &mut self,
        bound: Time,
        model: &'k dyn AnyModel<'k>,
        world: &World,
        hand: &mut Hand<'k>,
        stop: Stop<'_, 'k>,
    ) {
        let Stop { control, grace } = stop;
        let span = bound.since(self.next);
        let begin = self.is_by_lp().then(now);
        let Hand { placement, ledger, effects, sampler, .. } = hand;
        let Part { number, lps, metrics, costs, .. } = self;
        let task = Task {
            partition: *number,
            lps: &mut **lps,
            metrics,
            costs,
            sampler,
            placement,
            ledger,
            model,
            world,
            bound,
            control,
            grace,
        };
        let Executed { events, last, failed } = self.pending.execute(task, effects);
        self.failed = failed;
        self.events += events;
        hand.events += events;
        self.next = if failed { Time::MAX } else { self.pending.next_time() };
        let by_lp = self.is_by_lp();
        if events > 0 {
            self.executed_to = if by_lp { bound } else { just_after(last) };
        }
        if let Some(begin) = begin {
            self.adapt_stride(events, begin.elapsed(), span);
        }
    }

    /// Returns a bound up to which LP by LP does not take long, as far as is known. Events of an LP are
    /// executed to the bound before those of the next LP, so a visit cannot end early.
    fn within_stride(&self, bound: Time) -> Time {
        let near = self.next.checked_add(self.stride).filter(|&near| near < bound);
        let even = |near| self.width.map(Grid::new).map(|grid| grid.floor(near)).filter(|&even| even > self.next);
        near.map_or(bound, |near| even(near).unwrap_or(near))
    }

    /// Adapts the stride to a visit that spanned `span` of virtual time, and took this time after its window
    /// had been opened. Opening a window may take long, and is repeated in each visit that does not execute
    /// all of it.
    fn adapt_stride(&mut self, events: u64, took: Duration, span: Delay) {
        let stride = self.stride.as_ps();
        let times = |part: u128, whole: u128| u64::try_from(whole / part.max(1)).unwrap_or(u64::MAX);
        let (took, longest) = (took.as_nanos(), VISIT_MAX.as_nanos());
        let room = times(took, longest).min(STRIDE_EVENTS_MAX / events.max(1));
        let stride = match room {
            0 => stride.min(span.as_ps()) / times(longest, took).max(2),
            1 => stride,
            _ => stride.saturating_mul(room.min(STRIDE_GROWTH)),
        };
        self.stride = Delay::from_ps(stride).max(STRIDE_FIRST);
    }

    /// Sets `next` to the time of the earliest pending event.
    pub(crate) fn update_next(&mut self) {
        self.next = self.pending.next_time();
    }

    /// Returns true if the partition executes LP by LP.
    pub(crate) fn is_by_lp(&self) -> bool {
        self.pending.is_by_lp()
    }

    /// Returns the number of pending events.
    pub(crate) fn pending_events(&self) -> usize {
        self.pending.len()
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        self.pending.allocated_bytes()
    }

    /// Removes and returns all pending events, in no order.
    pub(crate) fn take_all(&mut self) -> AnyLeftover<'k> {
        self.next = Time::MAX;
        self.pending.take_all()
    }

    /// Empties the partition for new LPs. Everything before `reached` has been executed.
    pub(crate) fn restart(&mut self, reached: Time) {
        self.reached = reached;
        self.next = Time::MAX;
    }

    /// Calls `act`, in which a worker receives events and executes them. Measures the call while the orders
    /// of events are being compared.
    #[inline(always)]
    pub(crate) fn visit<T>(&mut self, act: impl FnOnce(&mut Part<'k>) -> T) -> T {
        let begin = self.begin_visit().then(|| (now(), self.events));
        let result = act(self);
        if let Some((begin, executed)) = begin {
            self.record_visit(self.events - executed, begin.elapsed());
        }
        result
    }

    /// Begins a visit. Returns true if the visit must be measured.
    fn begin_visit(&mut self) -> bool {
        match &mut self.choice {
            _ if self.width.is_none() => false,
            Choice::Fixed => false,
            Choice::Measured(tuner) => tuner.begin_visit(self.events, || self.pending.len()),
            #[cfg(feature = "test-hooks")]
            Choice::Every { visits, since } => {
                *since += 1;
                if *since >= *visits {
                    *since = 0;
                    self.change_order();
                }
                false
            }
        }
    }

    /// Records a measured visit, and changes the order of events if that is due.
    #[cold]
    fn record_visit(&mut self, events: u64, time: Duration) {
        let Choice::Measured(tuner) = &mut self.choice else { return };
        if tuner.record_visit(events, time, self.events) {
            let (changed, took) = timed(|| self.change_order());
            if let Choice::Measured(tuner) = &mut self.choice {
                if changed { tuner.note_change(took) } else { tuner.refuse(self.events) }
            }
        }
    }

    /// Sets the order of events by `order`, for the LPs that `plan` places here. There must be no pending
    /// events. If the order is measured, `found` is the faster order that other partitions have found, if
    /// they have.
    pub(crate) fn set_order(&mut self, order: Order, plan: &Plan, found: Option<bool>) {
        let lps = plan.placement.len(self.number) as usize;
        self.bounds = plan.placement.bounds(self.number);
        self.width = plan.width;
        self.choice = match order {
            Order::Measured => Choice::Measured(Box::new(OrderTuner::new(found.is_some(), self.events))),
            #[cfg(feature = "test-hooks")]
            Order::Every(visits) => Choice::Every { visits, since: 0 },
            Order::Time | Order::Lp => Choice::Fixed,
        };
        let by_lp = match order {
            Order::Measured => found.unwrap_or_else(|| lps * self.lp_bytes >= OUT_OF_CACHE),
            Order::Time => false,
            #[cfg(feature = "test-hooks")]
            Order::Every(_) => false,
            Order::Lp => true,
        };
        self.change_to(self.width.filter(|_| by_lp));
    }

    /// Adapts to the plan after a change of lookahead. LP by LP, the windows have the new width.
    pub(crate) fn adapt_to_lookahead(&mut self, plan: &Plan) {
        self.width = plan.width;
        let by_lp = self.is_by_lp();
        self.change_to(self.width.filter(|_| by_lp));
    }

    /// Guesses the order of events, once the LPs and their pending events are there: LP by LP if they are
    /// large. Does nothing if the order is fixed, or has been measured.
    pub(crate) fn guess_order(&mut self) {
        let is_open = matches!(&self.choice, Choice::Measured(tuner) if tuner.found_by_lp(false).is_none());
        let bytes = self.lps.len() * self.lp_bytes + self.allocated_bytes();
        if is_open && bytes >= OUT_OF_CACHE {
            self.change_to(self.width);
        }
    }

    /// Returns the faster order, once it has been measured: true if LP by LP.
    pub(crate) fn found_by_lp(&self) -> Option<bool> {
        let Choice::Measured(tuner) = &self.choice else { return None };
        tuner.found_by_lp(self.is_by_lp())
    }

    /// Changes to the other order. Returns false if that order is not possible.
    fn change_order(&mut self) -> bool {
        if self.pending.has_open_window() {
            return false;
        }
        let by_lp = self.is_by_lp();
        self.change_to(if by_lp { None } else { self.width });
        self.is_by_lp() != by_lp
    }

    /// Changes to LP by LP in windows of `width`, or to the order of time if there is no width. If the
    /// order is measured, also changes to the order of time if such windows would hold too few events.
    fn change_to(&mut self, width: Option<Delay>) {
        let is_free = matches!(self.choice, Choice::Measured(_));
        let events_min = if is_free { EVENTS_PER_WINDOW_MIN } else { 0.0 };
        self.pending.change_to(width.map(Grid::new), self.bounds, events_min);
    }
}
