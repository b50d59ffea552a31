//! The LPs of a worker, what waits at them, and their history.

mod alone;
mod commit;
mod execute;
mod take_back;

use super::coast::Coast;
use super::history::{History, NONE, Record};
use crate::fetch::Fetcher;
use crate::ledger::Ledger;
use crate::transport::{Arrived, Transport};
use commit::Stretch;
use parades_core::effects::Effects;
use parades_core::error::Place;
use parades_core::event::{Event, LpId};
use parades_core::lp::Lp;
use parades_core::metrics::Metrics;
use parades_core::optimistic::{COMMITTED, NEVER, OptimisticSet, Sent, Tagged, TaggedEvent, tag};
use parades_core::outbox::{Outbox, Pending};
use parades_core::pending::{Leftover, PendingSet};
use parades_core::placement::Placement;
use parades_core::restore::{Restorable, UndoLog};
use parades_core::time::{Instant, Time};
use parades_core::timer::TimerChange;
use parades_core::world::World;
use parades_raw::huge_pages;
use std::collections::{BTreeMap, VecDeque};

/// What an execution may look at beside its LP.
pub(super) type Of<'a, M> = (&'a M, &'a World);

/// A worker's LPs.
///
/// Events are taken in the order of time as far as they are there. What comes late is found when it is its turn: then its LP has executed what is later.
pub(super) struct Site<M: Restorable> {
    pub(super) number: u32,
    placement: Placement,
    /// In the order of ids.
    pub(super) lps: Vec<Lp<M::State>>,
    /// The last execution of each LP in the history.
    pub(super) heads: Vec<u32>,
    pub(super) fetcher: Fetcher,
    history: History<M>,

    /// What waits at LPs whose last execution failed.
    behind_failures: BTreeMap<LpId, Vec<TaggedEvent<M::Message>>>,

    /// The history in stretches, and the one that is being added to.
    stretches: VecDeque<Stretch>,
    stretch: Stretch,

    /// What executions do; what they send waits here, like all else: where it may be taken back, or, while this worker executes alone, where nothing is.
    effects: Effects<M>,
    /// Alone, an execution has failed: what would come later will never count.
    failed_alone: bool,
    /// What the execution that is being taken back left: only then is there anything in it.
    undo_log: UndoLog<M::Undo>,
    timers: Vec<TimerChange>,
    coast: Coast<M>,

    pub(super) metrics: Metrics,
    pub(super) ledger: Ledger<M>,
    /// The times for which executions in the history ask for global events, and the positions of those executions.
    requested: Vec<(u32, Time)>,
    /// The least time for which committed executions have requested for one.
    requested_committed: Time,
    pub(super) counts: Counts,
}

/// What a worker has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Events executed in stretches that are closed, those taken back later included.
    pub(super) executed: u64,
    /// Events executed and taken back.
    pub(super) rolled_back: u64,
    /// Events executed for good.
    pub(super) committed: u64,
    pub(super) rollbacks: u64,
    pub(super) anti_messages: u64,
    /// Events executed anew from a copy.
    pub(super) coasted: u64,
    /// Executions in the history at most.
    pub(super) history_max: u32,
}

impl Counts {
    /// Both together.
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

impl<M: Restorable> Site<M> {
    /// What an execution that is not committed takes in the logs, if it sends and changes little.
    pub(super) const EXECUTION_BYTES: usize =
        size_of::<Record<M>>() + 2 * size_of::<Sent>() + 2 * size_of::<M::Undo>() + size_of::<TimerChange>();

    pub(super) fn new(
        number: u32,
        placement: Placement,
        metrics: Metrics,
        (traces, coast): (bool, Coast<M>),
    ) -> Site<M> {
        let outbox = Outbox::optimistic(OptimisticSet::new(placement.clone(), number));
        let lps = placement.len(number) as usize;
        Site {
            number,
            placement,
            lps: Vec::new(),
            heads: Vec::new(),
            fetcher: Fetcher::without_steps::<M::State>(lps),
            history: History::new(),
            behind_failures: BTreeMap::new(),
            stretches: VecDeque::new(),
            stretch: Stretch::default(),
            effects: Effects::undoable(outbox),
            failed_alone: false,
            undo_log: UndoLog::default(),
            timers: Vec::new(),
            coast,
            metrics,
            ledger: Ledger::new(traces),
            requested: Vec::new(),
            requested_committed: Time::MAX,
            counts: Counts::default(),
        }
    }

    /// Makes room for so many LPs.
    pub(super) fn reserve(&mut self, lps: usize) {
        self.lps.reserve_exact(lps);
        self.heads.reserve_exact(lps);
        huge_pages::ask_for(&self.lps);
    }

    /// Begins anew with other LPs, so many, all that it had having been taken; everything has been committed. `alone`, it will execute all LPs there are.
    pub(super) fn restart(&mut self, placement: &Placement, lps: usize, alone: bool) {
        assert!(self.uncommitted() == 0 && self.in_stretch() == 0, "I5: what moves is committed");
        self.placement = placement.clone();
        self.heads = Vec::new();
        // What is committed lies there until it is written over.
        self.history.shrink();
        self.effects = match alone {
            true => Effects::with(Outbox::direct()),
            false => Effects::undoable(Outbox::optimistic(OptimisticSet::new(placement.clone(), self.number))),
        };
        self.stretches.clear();
        self.reserve(lps);
    }

    /// Sets up an LP of this worker's; they come in the order of ids. False if it failed.
    pub(super) fn start(&mut self, (model, world): Of<'_, M>, id: LpId) -> bool {
        let effects = &mut self.effects;
        self.lps.extend(Lp::start(model, world, id, effects));
        self.heads.push(NONE);
        effects.timer_changes.as_mut().expect("they are undoable").clear(); // Nobody takes a start back.
        let place = Place { instant: Instant::START, lp: Some(id), event: None };
        let failed = effects.beyond_sends && self.ledger.collect_at(place, id, effects, &mut self.metrics);
        effects.notes.clear();
        let sent = &mut effects.outbox.optimistic_mut().sent;
        sent.release_before(sent.end());
        !failed
    }

    // What waits.

    /// What waits here, but for what waits behind failures.
    #[inline(always)]
    fn ahead(&mut self) -> &mut OptimisticSet<M::Message> {
        self.effects.outbox.optimistic_mut()
    }

    /// Adds what waits here, late or not.
    #[inline]
    pub(super) fn push(&mut self, event: TaggedEvent<M::Message>) {
        self.ahead().push(event);
    }

    /// Adds what nobody will take back.
    pub(super) fn push_unmarked(&mut self, event: Event<M::Message>) {
        match &mut self.effects.outbox.pending {
            Pending::ByTime(pending) => pending.push(event),
            _ => self.push(tag(COMMITTED, event)),
        }
    }

    /// Adds what has arrived from others.
    #[inline(always)]
    pub(super) fn push_all(&mut self, arrived: Arrived<'_, Tagged<M::Message>>) {
        let ahead = self.ahead();
        for event in arrived {
            let (header, body) = event.into_parts();
            ahead.push_parts(header, body);
        }
    }

    /// The instant of the least event; [`NEVER`] where there is none.
    pub(super) fn next_instant(&mut self) -> Instant {
        match &mut self.effects.outbox.pending {
            Pending::ByTime(_) if self.failed_alone => NEVER,
            Pending::ByTime(pending) => pending.next_instant().unwrap_or(NEVER),
            _ => self.ahead().next_instant(),
        }
    }

    /// The time of the least event; [`Time::MAX`] where there is none.
    pub(super) fn next_time(&mut self) -> Time {
        self.next_instant().time
    }

    /// As [`OptimisticSet::len_from_frontier`].
    pub(super) fn waiting(&self) -> usize {
        self.effects.outbox.optimistic_ref().len_from_frontier()
    }

    /// The workers that there is something for.
    pub(super) fn full_parcels(&self) -> impl Iterator<Item = u32> {
        let parcels = (0..).zip(&self.effects.outbox.optimistic_ref().parcels);
        parcels.filter(|(_, parcel)| !parcel.is_empty()).map(|(to, _)| to)
    }

    /// Hands over what is for other workers, and says when the first of it is due.
    pub(super) fn flush(&mut self, transport: &impl Transport<Tagged<M::Message>>) -> Instant {
        let mut next = NEVER;
        let worker = self.number as usize;
        for (to, parcel) in (0..).zip(&mut self.ahead().parcels) {
            if !parcel.is_empty() {
                next = parcel.iter().map(Event::instant).fold(next, Instant::min);
                transport.send(worker, to, parcel);
                transport.notify(to as usize);
            }
        }
        next
    }

    // While all rest.

    /// Takes out what the others will see to: everything before the horizon has been committed.
    pub(super) fn take_ledger(&mut self) -> Ledger<M> {
        self.requested_committed = Time::MAX;
        self.ledger.take()
    }

    /// Takes all messages and wakes that wait here, in no order. No anti-message is on its way any more.
    pub(super) fn take_all(&mut self) -> Leftover<M::Message> {
        let behind = std::mem::take(&mut self.behind_failures).into_values().flatten();
        behind.for_each(|event| self.push(event));
        match &mut self.effects.outbox.pending {
            Pending::ByTime(pending) => pending.take_all(),
            _ => self.ahead().take_all(),
        }
    }

    /// Gives back memory that is not needed now.
    pub(super) fn shrink(&mut self) {
        self.history.shrink();
        if !self.is_alone() {
            self.ahead().shrink();
        }
    }

    /// As [`Site::shrink`], and puts what waits anew: it has the room that it needed when most waited.
    pub(super) fn compact(&mut self) {
        self.history.shrink();
        match &mut self.effects.outbox.pending {
            Pending::ByTime(pending) => pending.compact(),
            _ => self.ahead().compact(),
        }
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        let waiting = match &self.effects.outbox.pending {
            Pending::ByTime(pending) => pending.allocated_bytes(),
            _ => self.effects.outbox.optimistic_ref().allocated_bytes(),
        };
        waiting + self.history.allocated_bytes() + self.heads.capacity() * size_of::<u32>()
    }
}
