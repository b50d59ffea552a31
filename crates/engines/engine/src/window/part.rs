//! A partition: LPs that are executed together, and the events that wait at them.

use super::Order;
use super::hand::Hand;
use super::order::Trial;
use super::plan::Plan;
use crate::fetch::Fetcher;
use crate::ledger::Ledger;
use crate::stopwatch::{now, timed};
use parades_core::effects::Effects;
use parades_core::event::{Event, Header, LpId};
use parades_core::lp::{Execution, Lp};
use parades_core::metrics::Metrics;
use parades_core::model::Model;
use parades_core::outbox::Pending;
use parades_core::pending::{Grid, Leftover, LpOrderedPending, PendingSet, Unordered, WindowedPending};
use parades_core::time::{Delay, Time};
use parades_core::world::World;
use parades_raw::huge_pages;
use std::time::Duration;

/// Bytes of LPs' records and of the events that wait at them from which executing LP by LP is taken to be
/// faster than in the order of time until that has been tried: those that no cache near the core holds. By
/// measurement (`parades run phold --engine window --threads 1 --set lps=262144`, with `--tune order=lp`
/// and `order=time`): as fast with 16 MiB of records and 11 of events, 1.2 times as fast with 92 of events
/// (`--set start_events=8`).
const OUT_OF_CACHE: usize = 32 << 20;

/// Events in each window that has any from which LP by LP may be faster, as each window costs something. By
/// measurement: PHOLD of 16,384 LPs with a lookahead of 10 us has 1.1, and takes 200 times as long so
/// (`parades run phold --engine null-message --threads 1 --set lps=16384 --set lookahead=10us --until 20s`,
/// with `--tune order=lp` and `order=time`).
const PAYS: f64 = 1.25;

/// A partition.
pub(crate) struct Part<M: Model> {
    pub(crate) number: u32,
    /// Who will be its LPs, until they are set up.
    pub(crate) members: Vec<LpId>,
    /// Its LPs, in the order of ids.
    pub(crate) lps: Vec<Lp<M::State>>,
    pub(crate) pending: Pending<M::Message>,
    /// What its LPs recorded.
    pub(crate) metrics: Metrics,
    /// No event waits here before it.
    pub(crate) next: Time,
    /// Everything before it has been executed.
    reached: Time,
    /// Events executed.
    pub(crate) events: u64,
    /// An execution has failed: what would come later here will never count.
    pub(crate) failed: bool,
    /// The width of windows in which its LPs cannot reach each other, if there is any.
    width: Option<Delay>,
    /// The least and the greatest of its LPs.
    bounds: (LpId, LpId),
    choice: Choice,
}

/// How the order of events is chosen.
#[derive(Debug)]
enum Choice {
    Fixed,
    Measured(Trial),
    /// Changed after so many visits.
    Every {
        visits: u32,
        since: u32,
    },
}

impl<M: Model> Part<M> {
    pub(crate) fn new(number: u32, members: Vec<LpId>, metrics: Metrics) -> Part<M> {
        let pending = Pending::ByTime(WindowedPending::default());
        Part {
            number,
            members,
            lps: Vec::new(),
            pending,
            metrics,
            next: Time::MAX,
            reached: Time::ZERO,
            events: 0,
            failed: false,
            width: None,
            bounds: (LpId(0), LpId(0)),
            choice: Choice::Fixed,
        }
    }

    /// Makes room for so many LPs, of which it has none.
    pub(crate) fn make_room(&mut self, lps: usize) {
        self.lps.reserve_exact(lps);
        huge_pages::ask_for(&self.lps);
    }

    /// Adds an event that waits here.
    pub(crate) fn push(&mut self, event: Event<M::Message>) {
        self.push_all(std::iter::once(event));
    }

    /// Adds events that wait here, each in its parts: it is made where it waits.
    #[inline(always)]
    pub(crate) fn push_all(&mut self, events: impl Iterator<Item = Event<M::Message>>) {
        let Part { pending, next, reached, .. } = self;
        let mut arrives = |header: &Header| {
            assert!(header.time() >= *reached, "I1: an event arrived below the bound executed to");
            *next = header.time().min(*next);
        };
        match pending {
            Pending::ByTime(pending) => events.map(Event::into_parts).for_each(|(header, body)| {
                arrives(&header);
                pending.push_parts(header.key(), header.receiver(), body);
            }),
            Pending::ByLp(pending) => events.map(Event::into_parts).for_each(|(header, body)| {
                arrives(&header);
                pending.push_parts(header.key(), header.receiver(), body);
            }),
            Pending::Elsewhere | Pending::Optimistic(_) => {
                unreachable!("the pending set is lent out only during an execution")
            }
        }
    }

    /// Executes what waits before `bound`, and says when the next event is due.
    #[inline(never)]
    pub(crate) fn execute_before(&mut self, bound: Time, of: (&M, &World), hand: &mut Hand<M>) {
        self.reached = bound;
        if self.failed {
            self.next = Time::MAX;
        }
        if self.next >= bound {
            return;
        }
        let Hand { placement, ledger, .. } = hand;
        let placement = &*placement;
        let mask = placement.index_mask();
        let mut effects = hand.effects.lend(self.number, &mut self.pending);
        let by_lp = effects.outbox.pending.is_by_lp();
        let with = (&mut effects, ledger);
        let events = match (by_lp, mask) {
            (false, None) => self.execute_by::<WindowedPending<_>>(bound, of, with, |id| placement.index(id)),
            (true, None) => self.execute_by::<LpOrderedPending<_>>(bound, of, with, |id| placement.index(id)),
            (false, Some(mask)) => self.execute_by::<WindowedPending<_>>(bound, of, with, masked(mask)),
            (true, Some(mask)) => self.execute_by::<LpOrderedPending<_>>(bound, of, with, masked(mask)),
        };
        hand.effects.reclaim(effects, &mut self.pending);
        self.events += events;
        hand.events += events;
        self.next = if self.failed { Time::MAX } else { self.next_time() };
    }

    /// Executes what waits before `bound`, `index` saying where an LP is among its own; how many events.
    /// Always inlined, into the frame that has the effects.
    #[inline(always)]
    fn execute_by<Q: Queue<M::Message>>(
        &mut self,
        bound: Time,
        (model, world): (&M, &World),
        (effects, ledger): (&mut Effects<M>, &mut Ledger<M>),
        index: impl Fn(LpId) -> usize + Copy,
    ) -> u64 {
        let Part { lps, metrics, .. } = self;
        let lps = &mut lps[..];
        let mut fetcher = Fetcher::of(model, lps.len());
        let mut events = 0;
        let mut failed = Vec::new();
        loop {
            let pending = Q::of(&mut effects.outbox.pending);
            let Some(event) = pending.pop_before(bound) else { break };
            let (header, body) = event.into_parts();
            let id = header.receiver();
            let all = &lps[..];
            let lp_of = move |id| &all[index(id)];
            fetcher.records(model, |ahead| pending.upcoming(ahead), lp_of);
            if !failed.is_empty() && failed.contains(&id) {
                continue; // It waits behind its failure.
            }
            let lp = &mut lps[index(id)];
            let execution = lp.execute(model, world, (header, body.as_ref()), effects);
            if effects.beyond_sends && ledger.collect((header.key(), id), effects, metrics) {
                failed.push(id);
                if Q::IN_TIME {
                    break;
                }
            }
            if execution == Execution::Done {
                events += 1;
                if ledger.traces {
                    ledger.trace(header.with(body), effects);
                }
            }
        }
        self.failed = !failed.is_empty();
        events
    }

    /// Looks when the next event is due.
    pub(crate) fn look(&mut self) {
        self.next = self.next_time();
    }

    pub(crate) fn is_by_lp(&self) -> bool {
        self.pending.is_by_lp()
    }

    fn next_time(&mut self) -> Time {
        match &mut self.pending {
            Pending::ByTime(pending) => pending.next_time().unwrap_or(Time::MAX),
            Pending::ByLp(pending) => pending.next_time(),
            Pending::Elsewhere | Pending::Optimistic(_) => Time::MAX,
        }
    }

    /// How many events wait in it.
    pub(crate) fn waiting(&self) -> usize {
        len(&self.pending)
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        match &self.pending {
            Pending::ByTime(pending) => pending.allocated_bytes(),
            Pending::ByLp(pending) => pending.allocated_bytes(),
            Pending::Elsewhere | Pending::Optimistic(_) => 0,
        }
    }

    /// Takes all that waits here, in no order.
    pub(crate) fn take_all(&mut self) -> Leftover<M::Message> {
        self.next = Time::MAX;
        match &mut self.pending {
            Pending::ByTime(pending) => pending.take_all(),
            Pending::ByLp(pending) => pending.take_all(),
            Pending::Elsewhere | Pending::Optimistic(_) => Box::new(std::iter::empty()),
        }
    }

    /// Starts anew, all before `reached` having been executed.
    pub(crate) fn restart(&mut self, reached: Time) {
        self.reached = reached;
        self.next = Time::MAX;
    }

    /// Has `act` do what a worker does when it comes by: take in what has arrived, execute it. Finds out by
    /// that which order of events is faster.
    #[inline(always)]
    pub(crate) fn visit<T>(&mut self, act: impl FnOnce(&mut Part<M>) -> T) -> T {
        let begin = self.is_measured().then(|| (now(), self.events));
        let result = act(self);
        if let Some((begin, executed)) = begin {
            self.has_measured(self.events - executed, begin.elapsed());
        }
        result
    }

    /// Whether the visit that begins is to be measured.
    fn is_measured(&mut self) -> bool {
        match &mut self.choice {
            _ if self.width.is_none() => false,
            Choice::Fixed => false,
            Choice::Measured(trial) => trial.measures(self.events, || len(&self.pending)),
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

    /// A visit of so many events has taken so long.
    #[cold]
    fn has_measured(&mut self, events: u64, time: Duration) {
        let Choice::Measured(trial) = &mut self.choice else { return };
        if trial.visited(events, time, self.events) {
            let (changed, took) = timed(|| self.change_order());
            if let Choice::Measured(trial) = &mut self.choice {
                if changed { trial.has_changed(took) } else { trial.is_refused(self.events) }
            }
        }
    }

    /// From now on, when nothing waits here, has its events in the order that `order` says, for the LPs
    /// that `plan` places here. Where it is to be found out, it begins with what has been found faster
    /// elsewhere, if that is known.
    pub(crate) fn order_by(&mut self, order: Order, plan: &Plan, found: Option<bool>) {
        let lps = plan.placement.len(self.number) as usize;
        self.bounds = plan.placement.bounds(self.number);
        self.width = plan.width;
        self.choice = match order {
            Order::Measured => Choice::Measured(Trial::new(found.is_some(), self.events)),
            Order::Every(visits) => Choice::Every { visits, since: 0 },
            Order::Time | Order::Lp => Choice::Fixed,
        };
        let by_lp = match order {
            Order::Measured => found.unwrap_or_else(|| lps * size_of::<Lp<M::State>>() >= OUT_OF_CACHE),
            Order::Time | Order::Every(_) => false,
            Order::Lp => true,
        };
        self.change_to(self.width.filter(|_| by_lp));
    }

    /// Goes on LP by LP if what waits here now is so large that this is probably faster, and nothing is
    /// known yet; in the order of time if windows hold next to nothing.
    pub(crate) fn suit(&mut self) {
        let is_open = matches!(&self.choice, Choice::Measured(trial) if trial.found_by_lp(false).is_none());
        let bytes = self.lps.len() * size_of::<Lp<M::State>>() + self.allocated_bytes();
        if is_open && bytes >= OUT_OF_CACHE {
            self.change_to(self.width);
        }
    }

    /// Whether it executes LP by LP, if that has been found out by trying.
    pub(crate) fn found_by_lp(&self) -> Option<bool> {
        let Choice::Measured(trial) = &self.choice else { return None };
        trial.found_by_lp(self.is_by_lp())
    }

    /// Goes on in the other order, if it can; whether it does.
    fn change_order(&mut self) -> bool {
        let by_lp = self.is_by_lp();
        self.change_to(if by_lp { None } else { self.width });
        self.is_by_lp() != by_lp
    }

    /// From now on executes LP by LP in windows of `width`, or in the order of time: also where it is free
    /// to choose and such windows would hold next to nothing, as each window costs something.
    fn change_to(&mut self, width: Option<Delay>) {
        let all = match std::mem::replace(&mut self.pending, Pending::Elsewhere) {
            Pending::ByTime(pending) => pending.into_unordered(),
            Pending::ByLp(pending) => pending.into_unordered(),
            Pending::Elsewhere | Pending::Optimistic(_) => Unordered::default(),
        };
        let is_free = matches!(self.choice, Choice::Measured(_));
        self.pending = match width.map(Grid::new).filter(|&grid| !is_free || all.events_per_window(grid) >= PAYS) {
            Some(grid) => Pending::ByLp(LpOrderedPending::from_unordered(grid, self.bounds, all)),
            None => Pending::ByTime(all.into()),
        };
    }
}

/// Where an LP is, found by a mask.
#[inline(always)]
fn masked(mask: u32) -> impl Fn(LpId) -> usize + Copy {
    move |id| (id.0 & mask) as usize
}

/// How many events wait.
fn len<P>(pending: &Pending<P>) -> usize {
    match pending {
        Pending::ByTime(pending) => pending.len(),
        Pending::ByLp(pending) => pending.len(),
        Pending::Elsewhere | Pending::Optimistic(_) => 0,
    }
}

/// A pending set as the loop above uses it.
trait Queue<P> {
    /// Whether what comes out is in the order of time.
    const IN_TIME: bool;
    fn of(pending: &mut Pending<P>) -> &mut Self;
    fn pop_before(&mut self, bound: Time) -> Option<Event<P>>;
    fn upcoming(&self, ahead: usize) -> Option<LpId>;
}

impl<P> Queue<P> for WindowedPending<P> {
    const IN_TIME: bool = true;
    #[inline(always)]
    fn of(pending: &mut Pending<P>) -> &mut Self {
        let Pending::ByTime(pending) = pending else { unreachable!("it was looked at before") };
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

impl<P> Queue<P> for LpOrderedPending<P> {
    const IN_TIME: bool = false;
    #[inline(always)]
    fn of(pending: &mut Pending<P>) -> &mut Self {
        let Pending::ByLp(pending) = pending else { unreachable!("it was looked at before") };
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
