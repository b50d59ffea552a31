//! Executing. The earliest event moves from the pending set into the history, and its LP executes it there.

use super::Site;
use crate::time_warp::coast::NO_CHECKPOINT;
use crate::time_warp::hide_tagged;
use crate::time_warp::history::{History, LogEnds, RareEffects, Record};
use parades_core::any_model::{Kept, Packed};
use parades_core::event::{EventKey, Header, LpId, Sender};
use parades_core::lp::Execution;
use parades_core::optimistic::{Matched, TaggedEvent, identity};
use parades_core::time::{Instant, Time};
use parades_core::world::World;
use parades_raw::prefetch::prefetch;

/// The result of the slow path, for an event that could not simply move into the history.
enum SlowPath {
    /// The event is now the last of the history, and its LP, which has this index, must execute it.
    Recorded(usize, Header),
    /// The event was annihilated or set aside behind a failure, or an anti-message was handled first.
    Handled,
    /// There is no event.
    Empty,
}

impl<'k, P: Packed<'k>> Site<'k, P> {
    /// Executes at most `most` events before `bound`. Returns the number of steps, which includes
    /// annihilations.
    #[inline(never)]
    pub(super) fn execute_before(&mut self, world: &World, bound: Time, most: u32) -> u32 {
        let mut steps = 0;
        while steps < most && self.step(world, bound) {
            steps += 1;
        }
        steps
    }

    /// Does the same as [`Site::execute_before`], for events up to instant `last`.
    #[cold]
    #[inline(never)]
    pub(super) fn execute_round(&mut self, world: &World, last: Instant, bound: Time, most: u32) -> u32 {
        let mut steps = 0;
        while steps < most && self.next_instant() <= last && self.execute_before(world, bound, 1) > 0 {
            steps += 1;
        }
        steps
    }

    /// Executes the earliest event before `bound`, and now and then measures the time that this takes. Returns
    /// false if there is no such event.
    #[inline(always)]
    fn step(&mut self, world: &World, bound: Time) -> bool {
        let is_timed = self.sampler.begins();
        let (index, header) = match self.record_next(world, bound) {
            Ok(recorded) => recorded,
            Err(SlowPath::Recorded(index, header)) => (index, header),
            Err(none) => {
                if is_timed {
                    self.sampler.cancel();
                }
                return matches!(none, SlowPath::Handled);
            }
        };
        let Site { fetcher, placement, records, heads, effects, .. } = self;
        let ahead = effects.outbox.optimistic_ref();
        let fetch = |id| {
            let index = placement.index(id);
            records.prefetch(index);
            prefetch(&heads[index]);
        };
        fetcher.each(|events| ahead.upcoming(events), fetch);
        self.execute_last(world, index, header);
        if is_timed {
            self.sampler.end(&mut self.costs, index);
        }
        true
    }

    /// Moves the earliest event before `bound` into the history, without an intermediate copy. Returns the
    /// index of its LP, and its header. The header is returned because reading it from where it has just
    /// been written would stall.
    #[inline(always)]
    fn record_next(&mut self, world: &World, bound: Time) -> Result<(usize, Header), SlowPath> {
        let Site { placement, lps, heads, history, undos_end, effects, behind_failures, stretch, coast, .. } = self;
        let ahead = effects.outbox.optimistic_mut();
        let (next_anti_message_time, sends) = (ahead.next_anti_message_time(), ahead.sent.end());
        let Some(slot) = ahead.pop_slot_before(bound) else { return Err(self.record_slowly(world, bound, None)) };
        let header = *slot.header();
        let index = placement.index(header.receiver());
        if header.time() >= next_anti_message_time || header.time() <= lps.last(index) || !behind_failures.is_empty() {
            let event = slot.take();
            return Err(self.record_slowly(world, bound, event));
        }
        let id = header.receiver();
        let since_checkpoint =
            if coast.is_off() { 0 } else { coast.since_checkpoint(history, stretch.begin, id, heads[index]) };
        let event = slot.take().expect("the slot holds it");
        history.add(event, &mut heads[index], since_checkpoint, LogEnds { sends, undos: *undos_end });
        Ok((index, header))
    }

    /// Does the same as [`Site::record_next`], if there may be a straggler, an anti-message, or a failed LP.
    /// `event` is the earliest event if it has already been taken out of the pending set.
    #[cold]
    #[inline(never)]
    fn record_slowly(&mut self, world: &World, bound: Time, event: Option<TaggedEvent<P>>) -> SlowPath {
        let ahead = self.ahead();
        let Some(mut event) = event.or_else(|| ahead.pop_before(bound)) else {
            if ahead.next_anti_message_time() < bound {
                self.handle_anti_message(world);
                return SlowPath::Handled;
            }
            return SlowPath::Empty;
        };
        if event.time() >= ahead.next_anti_message_time() {
            match ahead.match_anti_messages(event) {
                Matched::Ready(this) => event = this,
                Matched::Annihilated => return SlowPath::Handled,
                Matched::TwinExecuted => {
                    self.handle_anti_message(world);
                    return SlowPath::Handled;
                }
            }
        }
        let (key, id) = (event.key(), event.receiver());
        if self.is_behind_failure(id, &key) {
            self.behind_failures.entry(id).or_default().push(event);
            return SlowPath::Handled;
        }
        let index = self.placement.index(id);
        if event.time() <= self.lps.last(index) {
            self.roll_back(world, id, &key);
        }
        let sends = self.ahead().sent.end();
        self.stretch.last = self.stretch.last.max(event.time());
        self.stretch.slow += 1;
        let header = event.parts().0;
        let Site { heads, history, undos_end, stretch, coast, .. } = self;
        let since_checkpoint = coast.since_checkpoint(history, stretch.begin, id, heads[index]);
        history.add(event, &mut heads[index], since_checkpoint, LogEnds { sends, undos: *undos_end });
        SlowPath::Recorded(index, header)
    }

    /// Executes the event of the last record.
    #[inline(always)]
    fn execute_last(&mut self, world: &World, index: usize, header: Header) {
        let Site { lps, history, undos_end, effects, .. } = self;
        let History { records, .. } = history;
        effects.outbox.optimistic_mut().execution = records.end().wrapping_sub(1);
        let Record { event, before, since_checkpoint, .. } = records.last_mut().expect("it was just written");
        let event = (&header, hide_tagged(event.as_ref().expect("it was just written")));
        let kept = Kept { before, records: *since_checkpoint == 0 };
        let execution;
        (execution, *undos_end) = lps.execute_optimistically(index, event, kept, world, effects.hide());
        if execution != Execution::Done || effects.others.any || header.instant().round > 0 {
            self.keep_other_effects(execution);
        }
    }

    /// Moves the effects of the last execution other than its sends into the history.
    #[inline(never)]
    fn keep_other_effects(&mut self, execution: Execution) {
        let Site { effects, history, requested, stretch, .. } = self;
        effects.others.any = false;
        let position = history.records.end().wrapping_sub(1);
        let record = history.records.get_mut(position).expect("it is the last");
        record.execution = execution;
        if execution == Execution::Skipped && record.since_checkpoint == 0 {
            record.since_checkpoint = NO_CHECKPOINT;
        }
        stretch.skipped += u64::from(execution == Execution::Skipped);
        stretch.is_plain &= record.event.as_ref().is_some_and(|event| event.instant().round == 0);
        for change in effects.others.timer_changes.iter_mut().flat_map(|changes| changes.drain(..)) {
            history.timers.push(change);
        }
        stretch.is_plain &= effects.others.samples.is_empty();
        for sample in effects.others.samples.drain(..) {
            history.samples.push(sample);
        }
        let others = &mut effects.others;
        if others.notes.is_empty() && others.requests.is_empty() && others.failure.is_none() {
            return;
        }
        stretch.is_plain = false;
        let (notes, requests) = (std::mem::take(&mut others.notes), std::mem::take(&mut others.requests));
        let failure = others.failure.take();
        if failure.is_some() {
            // The failed execution sends nothing, and its LP executes nothing more.
            let id = record.event.as_ref().expect("it is the last").receiver();
            let ahead = effects.outbox.optimistic_mut();
            ahead.send_anti_messages(Sender::lp(id), position, record.begins.sends, ahead.sent.end());
            self.behind_failures.entry(id).or_default();
        } else {
            requested.extend(requests.iter().map(|request| (position, request.key.instant.time)));
        }
        record.has_rare = true;
        history.rares.insert(position, RareEffects { notes, requests, failure });
    }

    /// Returns true if an event comes after the failure of its LP. An event before the failure rolls the
    /// failure back.
    fn is_behind_failure(&self, id: LpId, key: &EventKey) -> bool {
        let head = || self.history.last_key(self.heads[self.placement.index(id)], id);
        self.behind_failures.contains_key(&id) && head().is_none_or(|failed| failed < *key)
    }

    /// Handles the first anti-message, whose twin is not in the pending set: rolls the twin's execution
    /// back, or removes the twin from behind a failure.
    fn handle_anti_message(&mut self, world: &World) {
        let Some(anti) = self.ahead().pop_anti_message() else { return };
        let (key, id) = (anti.key(), anti.receiver());
        if self.is_behind_failure(id, &key) {
            let waiting = self.behind_failures.entry(id).or_default();
            let twin = waiting.iter().position(|event| identity(event) == identity(&anti));
            waiting.swap_remove(twin.expect("I4: an anti-message met no event of its execution behind a failure"));
            return;
        }
        let count = self.roll_back(world, id, &key);
        assert!(count > 0, "I4: an anti-message met no event of its execution: {key} for {id}");
        self.ahead().insert_anti_message(anti);
    }
}
