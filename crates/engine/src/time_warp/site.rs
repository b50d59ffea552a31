//! The LPs of a worker, what waits at them, and their history.

use super::coast::{Coast, NO_COPY};
use super::history::{Begins, History, NONE, Rare, Record};
use crate::ledger::Ledger;
use crate::transport::{Arrived, Transport};
use parades_core::ahead::{Ahead, Marked, MarkedEvent, NEVER, Sent, Turn, body_of, identity, without_mark};
use parades_core::effects::Effects;
use parades_core::error::{ErrorKind, Place};
use parades_core::event::{Event, EventKey, Header, LpId, Sender};
use parades_core::lp::{Execution, Lp};
use parades_core::metrics::Metrics;
use parades_core::outbox::Outbox;
use parades_core::pending::Leftover;
use parades_core::placement::Placement;
use parades_core::restore::{Restorable, UndoLog};
use parades_core::ring::positions;
use parades_core::time::{Instant, Time};
use parades_core::timer::TimerChange;
use parades_core::world::World;
use parades_raw::huge_pages;
use parades_raw::prefetch::prefetch;
use std::collections::{BTreeMap, VecDeque};

/// How many events ahead of its execution the LP of an event is fetched into the cache.
const PREFETCH_DISTANCE: usize = 8;

/// Executions from which a stretch is long enough, where an LP leaves a copy of its state in each stretch rather than at each execution.
const STRETCH: u32 = 1 << 10;
/// And the share of what may be uncommitted, so that there are always some to be committed.
const STRETCHES: u32 = 4;

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
    history: History<M>,

    /// What waits at LPs whose last execution failed.
    behind_failures: BTreeMap<LpId, Vec<MarkedEvent<M::Message>>>,

    /// The history in stretches, and the one that is being added to.
    stretches: VecDeque<Stretch>,
    stretch: Stretch,

    /// What executions do; what they send waits here, like all else.
    effects: Effects<M>,
    /// What the execution that is being taken back left: only then is there anything in it.
    undo_log: UndoLog<M::Undo>,
    timers: Vec<TimerChange>,
    coast: Coast<M>,

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
    /// Its first position.
    begin: u32,
    /// The position after it.
    end: u32,
    /// Nothing later was executed in it; as long as it is not closed, of what was taken out of the order of time.
    last: Time,
    /// How many executions were.
    seldom: u32,
    /// Executions that count, those taken back included; those that do not; and those that count and were taken back.
    events: u64,
    skipped: u64,
    undone: u64,
    /// Whether none of them has left anything but sends to be seen to when it is committed.
    is_plain: bool,
}

impl Default for Stretch {
    fn default() -> Stretch {
        Stretch { begin: 0, end: 0, last: Time::ZERO, seldom: 0, events: 0, skipped: 0, undone: 0, is_plain: true }
    }
}

/// What became of the least event, where it did not simply go into the history.
enum Seldom {
    /// It is the last of the history nevertheless, and to be executed by the LP of this index: all of it but its body.
    Recorded(usize, Header),
    /// Something else had to be done first, or it was annihilated, or waits behind a failure.
    SeenTo,
    /// There is none.
    Nothing,
}

/// What a worker has done so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Events executed in stretches that are closed, those taken back later included.
    pub(super) executed: u64,
    /// Events executed and taken back.
    pub(super) undone: u64,
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
            undone: self.undone + other.undone,
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
        let outbox = Outbox::ahead(Ahead::new(placement.clone(), number));
        Site {
            number,
            placement,
            lps: Vec::new(),
            heads: Vec::new(),
            history: History::new(),
            behind_failures: BTreeMap::new(),
            stretches: VecDeque::new(),
            stretch: Stretch::default(),
            effects: Effects::undoable(outbox),
            undo_log: UndoLog::default(),
            timers: Vec::new(),
            coast,
            metrics,
            ledger: Ledger::new(traces),
            asked: Vec::new(),
            asked_for_good: Time::MAX,
            counts: Counts::default(),
        }
    }

    /// Makes room for so many LPs.
    pub(super) fn reserve(&mut self, lps: usize) {
        self.lps.reserve_exact(lps);
        self.heads.reserve_exact(lps);
        huge_pages::ask_for(&self.lps);
    }

    /// Begins anew with other LPs, so many, all that it had having been taken; everything has been committed.
    pub(super) fn restart(&mut self, placement: &Placement, lps: usize) {
        assert!(self.uncommitted() == 0 && self.in_stretch() == 0, "I5: what moves is committed");
        self.placement = placement.clone();
        self.heads = Vec::new();
        *self.ahead() = Ahead::new(placement.clone(), self.number);
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
        let failed = effects.beyond_sends && self.ledger.settle_at(place, id, effects, &mut self.metrics);
        effects.notes.clear();
        let sent = &mut effects.outbox.ahead_mut().sent;
        sent.release_before(sent.end());
        !failed
    }

    // What waits.

    /// What waits here, but for what waits behind failures.
    #[inline(always)]
    fn ahead(&mut self) -> &mut Ahead<M::Message> {
        self.effects.outbox.ahead_mut()
    }

    /// Adds what waits here, late or not.
    #[inline]
    pub(super) fn push(&mut self, event: MarkedEvent<M::Message>) {
        self.ahead().push(event);
    }

    /// Adds what has arrived from others.
    #[inline(always)]
    pub(super) fn push_all(&mut self, arrived: Arrived<'_, Marked<M::Message>>) {
        let ahead = self.ahead();
        for event in arrived {
            let (header, body) = event.into_parts();
            ahead.push_parts(header, body);
        }
    }

    /// The instant of the least event; [`NEVER`] where there is none.
    pub(super) fn next_instant(&mut self) -> Instant {
        self.ahead().next_instant()
    }

    /// The time of the least event; [`Time::MAX`] where there is none.
    pub(super) fn next_time(&mut self) -> Time {
        self.next_instant().time
    }

    /// Whether an event waits behind the failure of its LP. One that comes before the failure does not: it takes the failure back.
    fn is_behind_failure(&self, id: LpId, key: &EventKey) -> bool {
        let head = || self.history.last_key(self.heads[self.placement.index(id)], id);
        self.behind_failures.contains_key(&id) && head().is_none_or(|failed| failed < *key)
    }

    /// Finds the twin of the first anti-message, which does not wait where events do: it has been executed, or waits behind a failure.
    fn chase(&mut self, of: Of<'_, M>) {
        let Some(anti) = self.ahead().take_anti() else { return };
        let (key, id) = (anti.key(), anti.receiver);
        if self.is_behind_failure(id, &key) {
            let waiting = self.behind_failures.entry(id).or_default();
            let twin = waiting.iter().position(|event| identity(event) == identity(&anti));
            waiting.swap_remove(twin.expect("I4: an anti-message met no event of its mark behind a failure"));
            return;
        }
        let undone = self.roll_back(of, id, &key);
        assert!(undone > 0, "I4: an anti-message met no event of its mark: {key} for {id}");
        self.ahead().put_anti(anti);
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

    /// As [`Ahead::waiting`].
    pub(super) fn waiting(&self) -> usize {
        self.effects.outbox.ahead_ref().waiting()
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
        let (index, header) = match self.record_next(of, bound) {
            Ok(recorded) => recorded,
            Err(Seldom::Recorded(index, header)) => (index, header),
            Err(Seldom::SeenTo) => return true,
            Err(Seldom::Nothing) => return false,
        };
        if let Some(id) = self.effects.outbox.ahead_ref().upcoming(PREFETCH_DISTANCE) {
            let index = self.placement.index(id);
            prefetch(&self.lps[index]);
            prefetch(&self.heads[index]);
        }
        self.execute_last(of, (index, header));
        true
    }

    /// Writes the least event before `bound` into the history. It goes from where it waited to where it stays, and nowhere between. The index of its LP, and
    /// all of it but its body: read back from where it has just been written, in other pieces, it would not be there yet.
    #[inline(always)]
    fn record_next(&mut self, of: Of<'_, M>, bound: Time) -> Result<(usize, Header), Seldom> {
        let Site { placement, lps, heads, history, effects, behind_failures, stretch, coast, .. } = self;
        let ahead = effects.outbox.ahead_mut();
        let (antis_from, sends) = (ahead.antis_from(), ahead.sent.end());
        let Some(slot) = ahead.slot_before(bound) else { return Err(self.record_seldom(of, bound, None)) };
        let header = *slot.header();
        let index = placement.index(header.receiver());
        let lp = &mut lps[index];
        if header.time() >= antis_from || header.time() <= lp.last() || !behind_failures.is_empty() {
            let event = slot.take();
            return Err(self.record_seldom(of, bound, event));
        }
        let id = header.receiver();
        let since_copy = if coast.is_off() { 0 } else { coast.since_copy(history, stretch.begin, (id, heads[index])) };
        let event = slot.take().expect("it waits there");
        history.add(event, (&mut heads[index], since_copy), lp.before(), sends);
        Ok((index, header))
    }

    /// As [`Site::record_next`], where something came late, failed or has been taken back. `event` is the least if it has been taken.
    #[cold]
    #[inline(never)]
    fn record_seldom(&mut self, of: Of<'_, M>, bound: Time, event: Option<MarkedEvent<M::Message>>) -> Seldom {
        let ahead = self.ahead();
        let Some(mut event) = event.or_else(|| ahead.take_before(bound)) else {
            if ahead.antis_from() < bound {
                self.chase(of);
                return Seldom::SeenTo;
            }
            return Seldom::Nothing;
        };
        if event.time() >= ahead.antis_from() {
            match ahead.turn_of(event) {
                Turn::Its(this) => event = this,
                Turn::Annihilated => return Seldom::SeenTo,
                Turn::Chase => {
                    self.chase(of);
                    return Seldom::SeenTo;
                }
            }
        }
        let (key, id) = (event.key(), event.receiver);
        if self.is_behind_failure(id, &key) {
            self.behind_failures.entry(id).or_default().push(event);
            return Seldom::SeenTo;
        }
        let index = self.placement.index(id);
        if event.time() <= self.lps[index].last() {
            self.roll_back(of, id, &key);
        }
        let sends = self.ahead().sent.end();
        self.stretch.last = self.stretch.last.max(event.time());
        self.stretch.seldom += 1;
        let header = event.parts().0;
        let Site { lps, heads, history, stretch, coast, .. } = self;
        let since_copy = coast.since_copy(history, stretch.begin, (id, heads[index]));
        history.add(event, (&mut heads[index], since_copy), lps[index].before(), sends);
        Seldom::Recorded(index, header)
    }

    /// Executes the event of the last record.
    #[inline(always)]
    fn execute_last(&mut self, (model, world): Of<'_, M>, (index, header): (usize, Header)) {
        let Site { lps, history, effects, .. } = self;
        let History { records, undos, .. } = history;
        effects.outbox.ahead_mut().mark = records.end().wrapping_sub(1);
        let record = records.last().expect("it was just written");
        let event = record.event.as_ref().expect("it was just written");
        let body = body_of(event).expect("anti-messages have been seen to");
        let log = (record.since_copy == 0).then_some(undos);
        let execution = lps[index].execute_ahead(model, world, (header, body), effects, log);
        if execution != Execution::Done || effects.beyond_sends || header.instant().round > 0 {
            self.keep_more(execution);
        }
    }

    /// Keeps what the last execution did besides sending.
    #[inline(never)]
    fn keep_more(&mut self, execution: Execution) {
        let Site { effects, history, asked, stretch, .. } = self;
        effects.beyond_sends = false;
        let position = history.records.end().wrapping_sub(1);
        let record = history.records.get_mut(position).expect("it is the last");
        record.execution = execution;
        if execution == Execution::Skipped && record.since_copy == 0 {
            record.since_copy = NO_COPY;
        }
        stretch.skipped += u64::from(execution == Execution::Skipped);
        stretch.is_plain &= record.event.as_ref().is_some_and(|event| event.instant().round == 0);
        for change in effects.timer_changes.iter_mut().flat_map(|changes| changes.drain(..)) {
            history.timers.push(change);
        }
        stretch.is_plain &= effects.samples.is_empty();
        for sample in effects.samples.drain(..) {
            history.samples.push(sample);
        }
        if effects.notes.is_empty() && effects.requests.is_empty() && effects.failure.is_none() {
            return;
        }
        stretch.is_plain = false;
        let (notes, requests) = (std::mem::take(&mut effects.notes), std::mem::take(&mut effects.requests));
        let failure = effects.failure.take();
        if failure.is_some() {
            // It sends nothing, and its LP waits.
            let id = record.event.as_ref().expect("it is the last").receiver;
            let ahead = effects.outbox.ahead_mut();
            ahead.send_antis(Sender::lp(id), position, record.begins.sends, ahead.sent.end());
            self.behind_failures.entry(id).or_default();
        } else {
            asked.extend(requests.iter().map(|request| (position, request.key.instant.time)));
        }
        record.is_rare = true;
        history.rares.insert(position, Rare { notes, requests, failure });
    }

    /// The workers that there is something for.
    pub(super) fn full_parcels(&self) -> impl Iterator<Item = u32> {
        let parcels = (0..).zip(&self.effects.outbox.ahead_ref().parcels);
        parcels.filter(|(_, parcel)| !parcel.is_empty()).map(|(to, _)| to)
    }

    /// Hands over what is for other workers, and says when the first of it is due.
    pub(super) fn flush(&mut self, transport: &impl Transport<Marked<M::Message>>) -> Instant {
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

    // Taking back.

    /// Takes back all that an LP executed from `key` on, and sends anti-messages after what it sent. How many executions that were.
    #[cold]
    #[inline(never)]
    fn roll_back(&mut self, of: Of<'_, M>, id: LpId, key: &EventKey) -> u32 {
        let index = self.placement.index(id);
        let (mut undone, mut is_restored) = (0, true);
        while self.history.last_key(self.heads[index], id).is_some_and(|last| last >= *key) {
            is_restored = self.take_back_last(of, index, is_restored);
            undone += 1;
        }
        if !is_restored {
            self.coast_forward(of, index, id);
        }
        let last = self.lps[index].last();
        assert!(last <= key.instant.time, "I2: {key} came for {id}, which has committed what it executed at {last}");
        if undone > 0 {
            self.counts.rollbacks += 1;
        }
        undone
    }

    /// Restores the state of an LP all else of which has been.
    #[cold]
    fn coast_forward(&mut self, of: Of<'_, M>, index: usize, id: LpId) {
        let Site { lps, heads, history, coast, ledger, counts, .. } = self;
        let head = heads[index];
        let (executed, differs) = coast.forward(of, &mut lps[index], history, (id, head));
        counts.coasted += executed;
        if let Some(key) = differs.and_then(|at| history.last_key(at, id)) {
            let place = Place { instant: key.instant, lp: Some(id), event: Some(key) };
            ledger.failure.note(place, ErrorKind::NotRepeated);
        }
    }

    /// Takes back the last execution of an LP. Whether its state is then restored too, given whether it was.
    fn take_back_last(&mut self, (model, _): Of<'_, M>, index: usize, is_restored: bool) -> bool {
        let position = self.heads[index];
        let ends = self.history.ends_of(position, self.effects.outbox.ahead_ref().sent.end());
        let rare = self.history.take_rare(position);
        let History { records, undos, timers, samples, .. } = &mut self.history;
        // It stays as a gap, which says where the logs of its neighbours end.
        let record = records.get_mut(position).expect("it is in the history");
        let event = record.event.take().expect("it has not been taken back");
        let Record { begins, execution, since_copy, .. } = *record;
        let is_copied = since_copy == 0;
        let id = event.receiver;
        self.heads[index] = record.previous;
        for at in positions(begins.undos, ends.undos) {
            self.undo_log.push(undos.records_mut().take(at).expect("it was left there"));
        }
        self.timers.extend(positions(begins.timers, ends.timers).filter_map(|at| timers.take(at)));
        for at in positions(begins.samples, ends.samples) {
            samples.take(at);
        }
        let left = (execution, record.before.clone());
        let body = body_of(&event).expect("it is none of an anti-message");
        let log = is_copied.then_some(&mut self.undo_log);
        self.lps[index].take_back(model, body, left, &mut self.timers, log);
        if let Some(rare) = rare {
            self.asked.retain(|(of, _)| *of != position);
            if rare.failure.is_some() {
                let waiting = self.behind_failures.remove(&id).unwrap_or_default();
                waiting.into_iter().for_each(|event| self.push(event));
            }
        }
        if execution == Execution::Done {
            self.counts.undone += 1;
            self.stretch_of(position).undone += 1;
        }
        self.push(event);
        self.counts.anti_messages += self.ahead().send_antis(Sender::lp(id), position, begins.sends, ends.sends);
        is_copied || execution == Execution::Skipped && is_restored
    }

    /// Takes back all that was executed from `time` on.
    pub(super) fn take_back_from(&mut self, of: Of<'_, M>, time: Time) {
        self.close_stretch();
        let records = &self.history.records;
        // An LP's keys increase: with the first all of its later ones are taken back.
        for position in positions(records.first(), records.end()) {
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

    /// Executions in the stretch that is being added to.
    fn in_stretch(&self) -> u32 {
        self.history.records.end().wrapping_sub(self.stretch.begin)
    }

    /// Events executed so far, those taken back later included.
    pub(super) fn executed(&self) -> u64 {
        self.counts.executed + u64::from(self.in_stretch()) - self.stretch.skipped
    }

    /// Sees to it that what was executed can be committed: so many events just now, where so many may be uncommitted.
    pub(super) fn end_turn(&mut self, executed: u32, most_uncommitted: u32) {
        let is_short = || self.in_stretch() < STRETCH.min(most_uncommitted / STRETCHES);
        if self.coast.is_off() || executed == 0 || !is_short() {
            self.close_stretch();
        }
    }

    /// Ends a stretch of the history: what has been executed since the last was.
    pub(super) fn close_stretch(&mut self) {
        let executions = self.in_stretch();
        if executions == 0 {
            return;
        }
        let end = self.history.records.end();
        let mut stretch = std::mem::replace(&mut self.stretch, Stretch { begin: end, ..Stretch::default() });
        let events = u64::from(executions) - stretch.skipped;
        self.counts.executed += events;
        let is_plain = stretch.is_plain && !std::mem::needs_drop::<M::Message>();
        if stretch.seldom < executions {
            stretch.last = stretch.last.max(self.ahead().frontier().time);
        }
        self.stretches.push_back(Stretch { end, events, is_plain, ..stretch });
    }

    /// The stretch that the execution at this position is in.
    fn stretch_of(&mut self, position: u32) -> &mut Stretch {
        let first = self.history.records.first();
        let of =
            self.stretches.partition_point(|stretch| stretch.end.wrapping_sub(first) <= position.wrapping_sub(first));
        self.stretches.get_mut(of).unwrap_or(&mut self.stretch)
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
                self.counts.committed += stretch.events - stretch.undone;
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
        let sends = self.ahead().sent.end();
        let begins = self.history.records.get(first).map_or_else(|| self.history.ends(sends), |record| record.begins);
        self.history.release_before(first, begins);
        self.ahead().sent.release_before(begins.sends);
    }

    /// Commits the execution at a position, unless it has been committed or taken back.
    #[inline(always)]
    fn commit(&mut self, world: &World, position: u32) {
        let Begins { samples, .. } = self.history.ends_of(position, self.effects.outbox.ahead_ref().sent.end());
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
        if record.is_rare || self.ledger.traces {
            let event = record.event.take().and_then(without_mark).expect("it was there");
            let rare = self.history.take_rare(position);
            self.commit_rare(position, event, is_done, rare);
        } else if std::mem::needs_drop::<M::Message>() {
            record.event = None;
        }
    }

    #[cold]
    #[inline(never)]
    fn commit_rare(&mut self, position: u32, event: Event<M::Message>, is_done: bool, rare: Option<Rare<M>>) {
        let mut notes = Vec::new();
        if let Some(rare) = rare {
            let Rare { notes: made, requests, failure } = rare;
            notes = made;
            if let Some(kind) = failure {
                let place = Place { instant: event.instant(), lp: Some(event.receiver), event: Some(event.key()) };
                return self.ledger.failure.note(place, kind);
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
        times.fold(self.ledger.failure.time(), Time::min)
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
        self.ledger.leave()
    }

    /// Takes all messages and wakes that wait here, in no order. No anti-message is on its way any more.
    pub(super) fn take_all(&mut self) -> Leftover<M::Message> {
        let behind = std::mem::take(&mut self.behind_failures).into_values().flatten();
        behind.for_each(|event| self.push(event));
        self.ahead().take_all()
    }

    /// Gives back memory that is not needed now.
    pub(super) fn shrink(&mut self) {
        self.history.shrink();
        self.ahead().shrink();
    }

    /// As [`Site::shrink`], and puts what waits into a new set: the old one has the room that it needed when most waited.
    pub(super) fn compact(&mut self) {
        self.history.shrink();
        self.ahead().compact();
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        self.effects.outbox.ahead_ref().allocated_bytes()
            + self.history.allocated_bytes()
            + self.heads.capacity() * size_of::<u32>()
    }
}
