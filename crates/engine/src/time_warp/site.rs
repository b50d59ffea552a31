//! The LPs of a worker, what waits at them, and their history.

use super::history::{Begins, History, NONE, Rare, Record, Sent};
use super::marked::{Mark, Marked, MarkedEvent, is_anti, mark_of, with_mark, without_mark};
use crate::transport::Transport;
use crate::window::hand::Ledger;
use parades_core::effects::Effects;
use parades_core::error::Place;
use parades_core::event::{Body, Event, EventKey, LpId, Sender};
use parades_core::lp::{Execution, Lp};
use parades_core::metrics::Metrics;
use parades_core::pending::{PendingSet, WindowedPending};
use parades_core::placement::Placement;
use parades_core::restore::{Restorable, UndoLog};
use parades_core::ring::positions;
use parades_core::time::{Instant, Time};
use parades_core::timer::TimerChange;
use parades_core::world::World;
use parades_raw::prefetch::prefetch;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

/// How many events ahead of its execution the LP of an event is fetched into the cache.
const PREFETCH_DISTANCE: usize = 8;

/// After every instant at which something happens.
pub(super) const NEVER: Instant = Instant { time: Time::MAX, round: u32::MAX };

/// What an execution may look at beside its LP.
pub(super) type Of<'a, M> = (&'a M, &'a World);

/// A worker's LPs.
///
/// Events are taken in the order of time as far as they are there. What comes late is found when it is its turn: then its LP has executed what is later.
pub(super) struct Site<M: Restorable> {
    number: u32,
    placement: Placement,
    /// In the order of ids.
    pub(super) lps: Vec<Lp<M::State>>,
    /// The last execution of each LP in the history.
    heads: Vec<u32>,
    history: History<M>,

    /// What waits, from `frontier` on.
    pending: WindowedPending<Marked<M::Message>>,
    /// The least of it, where it had to be looked at.
    held: Option<MarkedEvent<M::Message>>,
    /// When what was taken from `pending` last was due.
    frontier: Instant,
    /// What waits before that: what came late, and what has been taken back.
    past: BinaryHeap<Reverse<MarkedEvent<M::Message>>>,
    /// Anti-messages that wait for their twins' turn.
    antis: BinaryHeap<Reverse<MarkedEvent<M::Message>>>,
    /// The time of the first of them.
    antis_from: Time,
    /// What waits at LPs whose last execution failed.
    behind_failures: BTreeMap<LpId, Vec<MarkedEvent<M::Message>>>,

    /// The history in stretches, and the one that is being added to.
    stretches: VecDeque<Stretch>,
    stretch: Stretch,

    effects: Effects<M>,
    /// What the execution that is being taken back left: only then is there anything in it.
    undo_log: UndoLog<M::Undo>,
    timers: Vec<TimerChange>,
    /// What goes to other workers, by their numbers.
    parcels: Vec<Vec<MarkedEvent<M::Message>>>,

    pub(super) metrics: Metrics,
    pub(super) ledger: Ledger<M>,
    /// The times for which executions in the history ask for global events, and the positions of those executions.
    asked: Vec<(u32, Time)>,
    /// The least time for which committed executions have asked for one.
    asked_for_good: Time,
    pub(super) counts: Counts,
}

/// A stretch of the history, which ends where it is closed.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The position after it.
    end: u32,
    /// The last time at which something was executed in it.
    last: Time,
    /// Executions that count.
    events: u64,
    /// Whether nothing of it was taken back, nor has anything but its sends to be seen to when it is committed.
    is_plain: bool,
}

impl Default for Stretch {
    fn default() -> Stretch {
        Stretch { end: 0, last: Time::ZERO, events: 0, is_plain: true }
    }
}

impl Stretch {
    #[inline(always)]
    fn add<P>(&mut self, event: &Event<P>, execution: Execution) {
        self.last = self.last.max(event.time());
        self.events += u64::from(execution == Execution::Done);
        self.is_plain &= event.instant().round == 0 && !std::mem::needs_drop::<P>();
    }
}

/// What a worker has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Events executed, those taken back later included.
    pub(super) executed: u64,
    /// Events executed and taken back.
    pub(super) undone: u64,
    /// Events executed for good.
    pub(super) committed: u64,
    pub(super) rollbacks: u64,
    pub(super) anti_messages: u64,
    /// Executions in the history at most.
    pub(super) history_max: u32,
}

impl<M: Restorable> Site<M> {
    /// What an execution that is not committed takes in the logs, if it sends and changes little.
    pub(super) const EXECUTION_BYTES: usize =
        size_of::<Record<M>>() + 2 * size_of::<Sent>() + 2 * size_of::<M::Undo>() + size_of::<TimerChange>();

    pub(super) fn new(number: u32, placement: Placement, metrics: Metrics, traces: bool) -> Site<M> {
        let parcels = std::iter::repeat_with(Vec::new).take(placement.partitions() as usize).collect();
        Site {
            number,
            placement,
            lps: Vec::new(),
            heads: Vec::new(),
            history: History::new(),
            pending: WindowedPending::default(),
            held: None,
            frontier: Instant::START,
            past: BinaryHeap::new(),
            antis: BinaryHeap::new(),
            antis_from: Time::MAX,
            behind_failures: BTreeMap::new(),
            stretches: VecDeque::new(),
            stretch: Stretch::default(),
            effects: Effects::undoable(),
            undo_log: UndoLog::default(),
            timers: Vec::new(),
            parcels,
            metrics,
            ledger: Ledger::new(traces),
            asked: Vec::new(),
            asked_for_good: Time::MAX,
            counts: Counts::default(),
        }
    }

    /// Sets up an LP of this worker's; they come in the order of ids. False if it failed.
    pub(super) fn start(&mut self, (model, world): Of<'_, M>, id: LpId) -> bool {
        let effects = &mut self.effects;
        self.lps.extend(Lp::start(model, world, id, effects));
        self.heads.push(NONE);
        effects.timer_changes.as_mut().expect("they are undoable").clear(); // Nobody takes a start back.
        let place = Place { instant: Instant::START, lp: Some(id), event: None };
        let failed = effects.beyond_sends && self.ledger.settle_at(place, id, effects, &mut self.metrics);
        for event in std::mem::take(&mut effects.outbox.buffer) {
            self.push(with_mark(NONE, event));
        }
        self.effects.notes.clear();
        !failed
    }

    // What waits.

    /// Adds what waits here, late or not.
    #[inline]
    pub(super) fn push(&mut self, event: MarkedEvent<M::Message>) {
        if is_anti(&event) {
            self.put_anti(event);
        } else if event.instant() < self.frontier {
            self.past.push(Reverse(event));
        } else {
            // What is held stays the least: an anti-message that finds something later believes that its twin has been executed.
            if let Some(held) = self.held.take_if(|held| event <= *held) {
                self.pending.push(held);
            }
            self.pending.push(event);
        }
    }

    /// The instant of the least event; [`NEVER`] where there is none.
    pub(super) fn next_instant(&mut self) -> Instant {
        let anti = self.antis.peek().map_or(NEVER, |Reverse(anti)| anti.instant());
        if let Some(Reverse(event)) = self.past.peek() {
            return event.instant().min(anti);
        }
        let held = self.held.as_ref().map_or(NEVER, Event::instant);
        held.min(self.pending.next_instant().unwrap_or(NEVER)).min(anti)
    }

    /// The time of the least event; [`Time::MAX`] where there is none.
    pub(super) fn next_time(&mut self) -> Time {
        self.next_instant().time
    }

    /// Takes the least event before `bound`. All that is late comes before all that is not.
    #[inline(always)]
    fn take_before(&mut self, bound: Time) -> Option<MarkedEvent<M::Message>> {
        if self.past.is_empty() && self.held.is_none() {
            let event = self.pending.pop_before(bound)?;
            self.frontier = event.instant();
            return Some(event);
        }
        self.take_seldom(bound)
    }

    #[cold]
    #[inline(never)]
    fn take_seldom(&mut self, bound: Time) -> Option<MarkedEvent<M::Message>> {
        match self.past.peek() {
            Some(Reverse(event)) if event.time() < bound => self.past.pop().map(|Reverse(event)| event),
            Some(_) => None,
            None => self.held.take_if(|event| event.time() < bound),
        }
    }

    /// Puts back what was just taken.
    fn put_back(&mut self, event: MarkedEvent<M::Message>) {
        if event.instant() < self.frontier {
            self.past.push(Reverse(event));
        } else {
            self.held = Some(event);
        }
    }

    /// Whether an event waits behind the failure of its LP. One that comes before the failure does not: it takes the failure back.
    fn is_behind_failure(&self, id: LpId, key: &EventKey) -> bool {
        let head = || self.history.last_key(self.heads[self.placement.index(id)], id);
        self.behind_failures.contains_key(&id) && head().is_none_or(|failed| failed < *key)
    }

    /// Sees to the anti-messages whose turn it may be before that of `event`, which was just taken. The event, if none was.
    #[cold]
    #[inline(never)]
    fn see_to_antis(&mut self, of: Of<'_, M>, event: MarkedEvent<M::Message>) -> Option<MarkedEvent<M::Message>> {
        let Some(Reverse(anti)) = self.antis.peek() else { return Some(event) };
        match event.cmp(anti) {
            Ordering::Less => return Some(event),
            Ordering::Equal => self.annihilate(of, event),
            Ordering::Greater => {
                self.put_back(event);
                self.chase(of);
            }
        }
        None
    }

    /// Lets the first anti-messages annihilate their twins among the events of their key, of which `first` was just taken. An event that was sent again may
    /// be there while the first one of its key is not.
    fn annihilate(&mut self, of: Of<'_, M>, first: MarkedEvent<M::Message>) {
        let mut events = vec![first];
        while let Some(next) = self.take_before(Time::MAX) {
            if next != events[0] {
                self.put_back(next);
                break;
            }
            events.push(next);
        }
        let mut antis = Vec::new();
        while self.antis.peek().is_some_and(|Reverse(anti)| *anti == events[0]) {
            antis.extend(self.take_anti());
        }
        antis.retain(|anti| match events.iter().position(|event| mark_of(event) == mark_of(anti)) {
            Some(twin) => {
                events.swap_remove(twin);
                false
            }
            None => true,
        });
        events.into_iter().for_each(|event| self.push(event));
        if !antis.is_empty() {
            antis.into_iter().for_each(|anti| self.put_anti(anti));
            self.chase(of);
        }
    }

    /// Finds the twin of the first anti-message, which does not wait where events do: it has been executed, or waits behind a failure.
    fn chase(&mut self, of: Of<'_, M>) {
        let Some(anti) = self.take_anti() else { return };
        let (key, id) = (anti.key(), anti.receiver);
        if self.is_behind_failure(id, &key) {
            let waiting = self.behind_failures.entry(id).or_default();
            let twin = waiting.iter().position(|event| identity(event) == identity(&anti));
            waiting.swap_remove(twin.expect("I4: an anti-message met no event of its mark behind a failure"));
            return;
        }
        let undone = self.roll_back(of, id, &key);
        assert!(undone > 0, "I4: an anti-message met no event of its mark: {key} for {id}");
        self.put_anti(anti);
    }

    fn put_anti(&mut self, anti: MarkedEvent<M::Message>) {
        self.antis_from = self.antis_from.min(anti.time());
        self.antis.push(Reverse(anti));
    }

    /// Takes the first anti-message.
    fn take_anti(&mut self) -> Option<MarkedEvent<M::Message>> {
        let first = self.antis.pop().map(|Reverse(anti)| anti);
        self.antis_from = self.antis.peek().map_or(Time::MAX, |Reverse(anti)| anti.time());
        first
    }

    // Executing.

    /// Executes what waits before `bound`, at most so many events; how many there were.
    #[inline(never)]
    pub(super) fn execute_before(&mut self, of: Of<'_, M>, bound: Time, most: u32) -> u32 {
        let mut steps = 0;
        while steps < most && self.step(of, bound) {
            steps += 1;
        }
        steps
    }

    /// As [`Site::execute_before`], of what waits up to an instant.
    #[cold]
    #[inline(never)]
    pub(super) fn execute_round(&mut self, of: Of<'_, M>, last: Instant, bound: Time, most: u32) -> u32 {
        let mut steps = 0;
        while steps < most && self.next_instant() <= last && self.execute_before(of, bound, 1) > 0 {
            steps += 1;
        }
        steps
    }

    /// Executes the least event before `bound`; false where there is none.
    #[inline(always)]
    fn step(&mut self, of: Of<'_, M>, bound: Time) -> bool {
        let Some(mut event) = self.take_before(bound) else {
            let is_due = self.antis_from < bound;
            if is_due {
                self.chase(of);
            }
            return is_due;
        };
        if event.time() >= self.antis_from {
            match self.see_to_antis(of, event) {
                Some(left) => event = left,
                None => return true,
            }
        }
        if let Some(id) = self.pending.upcoming(PREFETCH_DISTANCE) {
            let index = self.placement.index(id);
            prefetch(&self.lps[index]);
            prefetch(&self.heads[index]);
        }
        let (key, id) = (event.key(), event.receiver);
        if !self.behind_failures.is_empty() && self.is_behind_failure(id, &key) {
            self.behind_failures.entry(id).or_default().push(event);
            return true;
        }
        let index = self.placement.index(id);
        if event.time() <= self.lps[index].last() {
            self.roll_back(of, id, &key);
        }
        self.execute(of, index, event);
        true
    }

    #[inline(always)]
    fn execute(&mut self, (model, world): Of<'_, M>, index: usize, event: MarkedEvent<M::Message>) {
        let Site { lps, history, effects, .. } = self;
        let mark = mark_of(&event);
        let event = without_mark(event).expect("anti-messages have been seen to");
        let position = history.records.end();
        let begins = history.ends();
        let (execution, before) = lps[index].execute_ahead(model, world, &event, effects, &mut history.undos);
        if let Some(changes) = &mut effects.timer_changes
            && !changes.is_empty()
        {
            changes.drain(..).for_each(|change| history.timers.push(change));
        }
        self.counts.executed += u64::from(execution == Execution::Done);
        self.stretch.add(&event, execution);
        self.stretch.is_plain &= !self.effects.beyond_sends;
        let rare = if self.effects.beyond_sends { self.keep_rare(position, event.receiver) } else { None };
        let previous = std::mem::replace(&mut self.heads[index], position);
        self.send_all(position);
        self.history.records.push(Record { event: Some(event), mark, previous, execution, before, begins, rare });
    }

    /// Keeps what an execution did besides sending.
    #[inline(never)]
    fn keep_rare(&mut self, position: u32, id: LpId) -> Option<Box<Rare<M>>> {
        let Site { effects, history, asked, .. } = self;
        effects.beyond_sends = false;
        effects.samples.drain(..).for_each(|sample| history.samples.push(sample));
        if effects.notes.is_empty() && effects.requests.is_empty() && effects.failure.is_none() {
            return None;
        }
        let (notes, requests) = (std::mem::take(&mut effects.notes), std::mem::take(&mut effects.requests));
        let failure = effects.failure.take();
        if failure.is_some() {
            // It sends nothing, and its LP waits.
            effects.outbox.buffer.clear();
            self.behind_failures.entry(id).or_default();
        } else {
            asked.extend(requests.iter().map(|request| (position, request.key.instant.time)));
        }
        Some(Box::new(Rare { notes, requests, failure }))
    }

    /// Sends what the execution at `position` has sent, and notes it.
    #[inline(always)]
    fn send_all(&mut self, position: u32) {
        // In any order: they have keys, and nothing else of this execution's is on its way.
        while let Some(event) = self.effects.outbox.buffer.pop() {
            let (key, receiver) = (event.key(), event.receiver);
            self.history.sends.push(Sent::of(&key, receiver));
            let body = Body::Message(Marked::new(position, event.body));
            let is_ahead = key.instant > self.frontier && self.held.is_none();
            match self.parcel_of(receiver) {
                None if is_ahead => self.pending.push_parts(key, receiver, body),
                None => self.push(Event::new(key, receiver, body)),
                Some(parcel) => parcel.push(Event::new(key, receiver, body)),
            }
        }
    }

    /// What goes to the worker of an LP; none for this one.
    #[inline(always)]
    fn parcel_of(&mut self, receiver: LpId) -> Option<&mut Vec<MarkedEvent<M::Message>>> {
        if self.parcels.len() == 1 {
            return None;
        }
        let to = self.placement.partition(receiver);
        if to == self.number { None } else { Some(&mut self.parcels[to as usize]) }
    }

    /// Sends to wherever the receiver is.
    fn send(&mut self, event: MarkedEvent<M::Message>) {
        match self.parcel_of(event.receiver) {
            None => self.push(event),
            Some(parcel) => parcel.push(event),
        }
    }

    /// Hands over what is for other workers, and says when the first of it is due.
    pub(super) fn flush(&mut self, transport: &impl Transport<Marked<M::Message>>) -> Instant {
        let mut next = NEVER;
        let worker = self.number as usize;
        for (to, parcel) in (0..).zip(&mut self.parcels) {
            if !parcel.is_empty() {
                next = parcel.iter().map(Event::instant).fold(next, Instant::min);
                transport.send(worker, to, parcel);
                transport.notify(to as usize);
            }
        }
        next
    }

    // Taking back.

    /// Takes back all that an LP executed from `key` on, and sends anti-messages after what it sent. How many executions that were.
    #[cold]
    #[inline(never)]
    fn roll_back(&mut self, of: Of<'_, M>, id: LpId, key: &EventKey) -> u32 {
        let index = self.placement.index(id);
        let mut undone = 0;
        while self.history.last_key(self.heads[index], id).is_some_and(|last| last >= *key) {
            self.take_back_last(of, index);
            undone += 1;
        }
        let last = self.lps[index].last();
        assert!(last <= key.instant.time, "I2: {key} came for {id}, which has committed what it executed at {last}");
        if undone > 0 {
            self.counts.rollbacks += 1;
        }
        undone
    }

    /// Takes back the last execution of an LP.
    fn take_back_last(&mut self, (model, _): Of<'_, M>, index: usize) {
        let position = self.heads[index];
        let ends = self.history.ends_of(position);
        let History { records, sends, undos, timers, samples } = &mut self.history;
        // It stays as a gap, which says where the logs of its neighbours end.
        let record = records.get_mut(position).expect("it is in the history");
        let event = record.event.take().expect("it has not been taken back");
        let Record { mark, begins, execution, .. } = *record;
        let (id, rare) = (event.receiver, record.rare.take());
        self.heads[index] = record.previous;
        for at in positions(begins.undos, ends.undos) {
            self.undo_log.push(undos.records_mut().take(at).expect("it was left there"));
        }
        self.timers.extend(positions(begins.timers, ends.timers).filter_map(|at| timers.take(at)));
        for at in positions(begins.samples, ends.samples) {
            samples.take(at);
        }
        let left = (execution, record.before.clone());
        self.lps[index].take_back(model, &event, left, &mut self.timers, &mut self.undo_log);
        let sent = positions(begins.sends, ends.sends).filter_map(|at| sends.take(at));
        let antis = sent
            .map(|sent| Event::new(sent.key(Sender::lp(id)), sent.receiver(), Body::Message(Marked::Anti(position))));
        let antis: Vec<_> = antis.collect();
        if let Some(rare) = rare {
            self.asked.retain(|(of, _)| *of != position);
            if rare.failure.is_some() {
                let waiting = self.behind_failures.remove(&id).unwrap_or_default();
                waiting.into_iter().for_each(|event| self.push(event));
            }
        }
        self.counts.undone += u64::from(execution == Execution::Done);
        self.mar(position);
        self.counts.anti_messages += antis.len() as u64;
        self.push(with_mark(mark, event));
        antis.into_iter().for_each(|anti| self.send(anti));
    }

    /// Takes back all that was executed from `time` on.
    pub(super) fn take_back_from(&mut self, of: Of<'_, M>, time: Time) {
        self.close_stretch();
        let records = &self.history.records;
        for position in positions(records.first(), records.end()).rev() {
            let record = self.history.records.get(position).expect("it is between the ends");
            if let Some(event) = record.event.as_ref().filter(|event| event.time() >= time) {
                let (key, id) = (event.key(), event.receiver);
                self.roll_back(of, id, &key);
            }
        }
        let before = Time::from_ps(time.as_ps().saturating_sub(1));
        self.stretches.iter_mut().for_each(|stretch| stretch.last = stretch.last.min(before));
    }

    // Committing.

    /// Ends a stretch of the history: what has been executed since the last was.
    pub(super) fn close_stretch(&mut self) {
        let end = self.history.records.end();
        if self.stretches.back().map_or(self.history.records.first(), |last| last.end) != end {
            self.stretches.push_back(Stretch { end, ..std::mem::take(&mut self.stretch) });
        }
    }

    /// Something was taken back at this position.
    fn mar(&mut self, position: u32) {
        let first = self.history.records.first();
        let of =
            self.stretches.partition_point(|stretch| stretch.end.wrapping_sub(first) <= position.wrapping_sub(first));
        self.stretches.get_mut(of).unwrap_or(&mut self.stretch).is_plain = false;
    }

    /// Commits what was executed before `gvt`: in the order of execution, a stretch at a time; where a trace is kept, all of it.
    pub(super) fn commit_before(&mut self, world: &World, gvt: Time) {
        self.counts.history_max = self.counts.history_max.max(self.history.records.len());
        if self.ledger.traces {
            return self.commit_each_before(world, gvt);
        }
        let mut first = self.history.records.first();
        while let Some(stretch) = self.stretches.pop_front_if(|stretch| stretch.last < gvt) {
            if stretch.is_plain {
                self.counts.committed += stretch.events;
            } else {
                positions(first, stretch.end).for_each(|position| self.commit(world, position));
            }
            first = stretch.end;
        }
        self.release_before(first);
    }

    /// Commits what was executed before `gvt`, wherever it lies in the history.
    fn commit_each_before(&mut self, world: &World, gvt: Time) {
        self.stretches.clear();
        let mut first = None;
        for position in positions(self.history.records.first(), self.history.records.end()) {
            let event = self.history.records.get(position).and_then(|record| record.event.as_ref());
            if event.is_some_and(|event| event.time() >= gvt) {
                first = first.or(Some(position));
            } else {
                self.commit(world, position);
            }
        }
        self.release_before(first.unwrap_or(self.history.records.end()));
    }

    /// Forgets the history before a position.
    fn release_before(&mut self, first: u32) {
        let begins = self.history.records.get(first).map_or_else(|| self.history.ends(), |record| record.begins);
        self.history.release_before(first, begins);
    }

    /// Commits the execution at a position, unless it has been committed or taken back.
    #[inline(always)]
    fn commit(&mut self, world: &World, position: u32) {
        let Begins { samples, .. } = self.history.ends_of(position);
        let History { records, samples: kept, .. } = &mut self.history;
        let record = records.get_mut(position).expect("it is between the ends");
        let Some(event) = record.event.as_ref() else { return };
        let (id, is_done) = (event.receiver, record.execution == Execution::Done);
        if is_done {
            self.counts.committed += 1;
            world.watch_rounds(event.instant(), id);
        }
        for at in positions(record.begins.samples, samples) {
            if let Some(sample) = kept.get(at) {
                self.metrics.apply(id, sample);
            }
        }
        let rare = record.rare.take();
        if rare.is_some() || self.ledger.traces {
            let event = record.event.take().expect("it was there");
            self.commit_rare(position, event, is_done, rare);
        } else if std::mem::needs_drop::<M::Message>() {
            record.event = None;
        }
    }

    #[cold]
    #[inline(never)]
    fn commit_rare(&mut self, position: u32, event: Event<M::Message>, is_done: bool, rare: Option<Box<Rare<M>>>) {
        let mut notes = Vec::new();
        if let Some(rare) = rare {
            let Rare { notes: made, requests, failure } = *rare;
            notes = made;
            if let Some(kind) = failure {
                let place = Place { instant: event.instant(), lp: Some(event.receiver), event: Some(event.key()) };
                return self.ledger.fail(place, kind);
            }
            self.asked.retain(|(of, _)| *of != position);
            for request in requests {
                self.asked_for_good = self.asked_for_good.min(request.key.instant.time);
                self.ledger.requests.push(request);
            }
        }
        if self.ledger.traces && is_done {
            self.ledger.trace.push((event, notes));
        }
    }

    /// When the first execution failed that can no longer be taken back. It need not be committed yet: what was executed before it may be later than GVT.
    pub(super) fn failed_before(&self, gvt: Time) -> Time {
        let last = |id: &LpId| self.lps[self.placement.index(*id)].last();
        let times = self.behind_failures.keys().map(last).filter(|time| *time < gvt);
        times.fold(self.ledger.failed_at(), Time::min)
    }

    /// The least time for which a global event is asked for.
    pub(super) fn asked(&self) -> Time {
        self.asked.iter().map(|(_, time)| *time).fold(self.asked_for_good, Time::min)
    }

    /// How many executions are not committed.
    #[inline]
    pub(super) fn uncommitted(&self) -> u32 {
        self.history.records.len()
    }

    // While all rest.

    /// Takes out what the others will see to: everything before the horizon has been committed.
    pub(super) fn leave(&mut self) -> Ledger<M> {
        self.asked_for_good = Time::MAX;
        let traces = self.ledger.traces;
        std::mem::replace(&mut self.ledger, Ledger::new(traces))
    }

    /// Takes all messages and wakes that wait here, in no order. No anti-message is on its way any more.
    pub(super) fn take_all(&mut self) -> Vec<Event<M::Message>> {
        let mut all = self.pending.take_all();
        all.extend(self.held.take());
        all.extend(std::mem::take(&mut self.past).into_iter().map(|Reverse(event)| event));
        all.extend(std::mem::take(&mut self.behind_failures).into_values().flatten());
        let annihilated: BTreeSet<_> =
            std::mem::take(&mut self.antis).iter().map(|Reverse(anti)| identity(anti)).collect();
        all.retain(|event| !annihilated.contains(&identity(event)));
        all.into_iter().filter_map(without_mark).collect()
    }

    /// Gives back memory that is not needed now.
    pub(super) fn shrink(&mut self) {
        self.history.shrink();
        self.past.shrink_to_fit();
        self.antis.shrink_to_fit();
        self.parcels.iter_mut().for_each(Vec::shrink_to_fit);
    }

    /// As [`Site::shrink`], and puts what waits into a new set: the old one has the room that it needed when most waited.
    pub(super) fn compact(&mut self) {
        self.shrink();
        self.pending.take_all().into_iter().for_each(|event| self.pending.push(event));
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        let of_parcels: usize = self.parcels.iter().map(Vec::capacity).sum();
        self.pending.allocated_bytes()
            + self.history.allocated_bytes()
            + (self.past.capacity() + self.antis.capacity() + of_parcels) * size_of::<MarkedEvent<M::Message>>()
            + self.heads.capacity() * size_of::<u32>()
    }
}

/// What an event and its anti-message have in common, and no other.
fn identity<P>(event: &MarkedEvent<P>) -> (EventKey, LpId, Mark) {
    (event.key(), event.receiver, mark_of(event))
}
