//! Committing. The history consists of stretches, each of which is committed and fossil-collected as a whole.

use super::Site;
use crate::time_warp::history::{Begins, History, LogEnds, RareEffects};
use parades_core::any_model::{Packed, any_event};
use parades_core::error::Place;
use parades_core::event::{Event, LpId};
use parades_core::lp::Execution;
use parades_core::optimistic::untag;
use parades_core::ring::positions;
use parades_core::time::Time;
use parades_core::world::World;

/// Executions after which a stretch is closed, if checkpoints are periodic. Each LP leaves at least one
/// checkpoint in each stretch.
const STRETCH: u32 = 1 << 10;
/// The least number of stretches among the executions that may be uncommitted, so that some can always be
/// committed.
const STRETCHES: u32 = 4;

/// A stretch of the history. It is open until it is closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// Its first position.
    pub(super) begin: u32,
    /// The position after its last.
    pub(super) end: u32,
    /// The latest time of its executions. While it is open, the latest time of those recorded by the slow
    /// path.
    pub(super) last: Time,
    /// The number of executions recorded by the slow path, which may be out of the order of time.
    pub(super) slow: u32,
    /// The number of executed events, including those rolled back.
    pub(super) events: u64,
    /// The number of executions that do not count as events: wakes without effect.
    pub(super) skipped: u64,
    /// The number of events rolled back.
    pub(super) rolled_back: u64,
    /// True if its executions have no effects other than sends to handle at the commit.
    pub(super) is_plain: bool,
}

impl Default for Stretch {
    fn default() -> Stretch {
        Stretch { begin: 0, end: 0, last: Time::ZERO, slow: 0, events: 0, skipped: 0, rolled_back: 0, is_plain: true }
    }
}

impl<'k, P: Packed<'k>> Site<'k, P> {
    /// Returns the number of executions in the open stretch.
    pub(super) fn in_stretch(&self) -> u32 {
        self.history.records.end().wrapping_sub(self.stretch.begin)
    }

    /// Returns the number of events executed so far, including those rolled back.
    pub(super) fn executed(&self) -> u64 {
        self.counts.executed + u64::from(self.in_stretch()) - self.stretch.skipped
    }

    /// Ends a batch of `executed` events: closes the stretch, unless checkpoints are periodic and the
    /// stretch is short. `most_uncommitted` is the number of executions that may be uncommitted.
    pub(super) fn end_batch(&mut self, executed: u32, most_uncommitted: u32) {
        let is_short = || self.in_stretch() < STRETCH.min(most_uncommitted / STRETCHES);
        if self.coast.is_off() || executed == 0 || !is_short() {
            self.close_stretch();
        }
    }

    /// Closes the open stretch, and opens another.
    pub(super) fn close_stretch(&mut self) {
        let executions = self.in_stretch();
        if executions == 0 {
            return;
        }
        let end = self.history.records.end();
        let mut stretch = std::mem::replace(&mut self.stretch, Stretch { begin: end, ..Stretch::default() });
        let events = u64::from(executions) - stretch.skipped;
        self.counts.executed += events;
        let is_plain = stretch.is_plain && !std::mem::needs_drop::<P>();
        if stretch.slow < executions {
            stretch.last = stretch.last.max(self.ahead().frontier().time);
        }
        self.stretches.push_back(Stretch { end, events, is_plain, ..stretch });
    }

    /// Returns the stretch of the execution at `position`.
    pub(super) fn stretch_of(&mut self, position: u32) -> &mut Stretch {
        let first = self.history.records.first();
        let of =
            self.stretches.partition_point(|stretch| stretch.end.wrapping_sub(first) <= position.wrapping_sub(first));
        self.stretches.get_mut(of).unwrap_or(&mut self.stretch)
    }

    /// Commits the stretches that end before `gvt`, in the order of execution. With a trace, commits each
    /// execution before `gvt`.
    pub(super) fn commit_before(&mut self, world: &World, gvt: Time) {
        if self.is_alone() {
            return; // Each event was committed when it was executed.
        }
        self.counts.history_max = self.counts.history_max.max(self.history.records.len());
        if self.ledger.traces {
            return self.commit_each_before(world, gvt);
        }
        let mut first = self.history.records.first();
        while let Some(stretch) = self.stretches.pop_front_if(|stretch| stretch.last < gvt) {
            if stretch.is_plain {
                self.counts.committed += stretch.events - stretch.rolled_back;
            } else {
                positions(first, stretch.end).for_each(|position| self.commit(world, position));
            }
            first = stretch.end;
        }
        self.release_before(first);
    }

    /// Commits each execution before `gvt`, wherever it lies in the history.
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

    /// Returns the positions after the last send and after the last undo record.
    pub(super) fn log_ends(&self) -> LogEnds {
        LogEnds { sends: self.effects.outbox.optimistic_ref().sent.end(), undos: self.undos_end }
    }

    /// Frees the history before position `first`.
    pub(super) fn release_before(&mut self, first: u32) {
        let ends = self.log_ends();
        let begins = self.history.records.get(first).map_or_else(|| self.history.ends(ends), |record| record.begins);
        self.history.release_before(first, begins);
        self.lps.release_undos_before(begins.undos);
        self.ahead().sent.release_before(begins.sends);
    }

    /// Commits the execution at `position`, unless it has been committed or rolled back.
    #[inline(always)]
    fn commit(&mut self, world: &World, position: u32) {
        let Begins { samples, .. } = self.history.ends_of(position, self.log_ends());
        let History { records, samples: kept, .. } = &mut self.history;
        let record = records.get_mut(position).expect("the position is in the history");
        let Some(event) = record.event.as_ref() else { return };
        let (id, is_done) = (event.receiver(), record.execution == Execution::Done);
        if is_done {
            self.counts.committed += 1;
            world.note_round(event.instant(), id);
        }
        for at in positions(record.begins.samples, samples) {
            if let Some(sample) = kept.get(at) {
                self.metrics.apply(id, sample);
            }
        }
        if record.has_rare || self.ledger.traces {
            let event = record.event.take().and_then(untag).expect("it is a message or a wake");
            let rare = self.history.take_rare(position);
            self.commit_rare(position, event, is_done, rare);
        } else if std::mem::needs_drop::<P>() {
            record.event = None;
        }
    }

    #[cold]
    #[inline(never)]
    fn commit_rare(&mut self, position: u32, event: Event<P>, is_done: bool, rare: Option<RareEffects>) {
        let mut notes = Vec::new();
        if let Some(rare) = rare {
            let RareEffects { notes: its_notes, requests, failure } = rare;
            notes = its_notes;
            if let Some(failure) = failure {
                let place = Place { instant: event.instant(), lp: Some(event.receiver()), event: Some(event.key()) };
                return self.ledger.failure.add(place, failure);
            }
            self.requested.retain(|(of, _)| *of != position);
            for request in requests {
                self.requested_committed = self.requested_committed.min(request.key.instant.time);
                self.ledger.requests.push(request);
            }
        }
        if self.ledger.traces && is_done {
            self.ledger.trace.push((any_event(event), notes));
        }
    }

    /// Returns the time of the earliest failure that can no longer be rolled back. The failure may still be
    /// uncommitted, because executions before it in the history may be later than GVT.
    pub(super) fn failed_before(&self, gvt: Time) -> Time {
        let last = |id: &LpId| self.lps.last(self.placement.index(*id));
        let times = self.behind_failures.keys().map(last).filter(|time| *time < gvt);
        times.fold(self.ledger.failure.time(), Time::min)
    }

    /// Returns the earliest time for which a global event is requested.
    pub(super) fn requested(&self) -> Time {
        self.requested.iter().map(|(_, time)| *time).fold(self.requested_committed, Time::min)
    }

    /// Returns the number of uncommitted executions, including those rolled back.
    #[inline]
    pub(super) fn uncommitted(&self) -> u32 {
        self.history.records.len()
    }
}
