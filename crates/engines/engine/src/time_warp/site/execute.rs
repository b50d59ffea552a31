//! Executing: the least event goes into the history, and its LP executes it there.

use super::{Of, Site};
use crate::time_warp::coast::NO_COPY;
use crate::time_warp::history::{History, Rare};
use parades_core::event::{EventKey, Header, LpId, Sender};
use parades_core::lp::Execution;
use parades_core::optimistic::{Matched, TaggedEvent, body_of, identity};
use parades_core::restore::Restorable;
use parades_core::time::{Instant, Time};
use parades_raw::prefetch::prefetch;

/// What became of the least event, where it did not simply go into the history.
enum Seldom {
    /// It is the last of the history nevertheless, and to be executed by the LP of this index: all of it but its body.
    Recorded(usize, Header),
    /// Something else had to be done first, or it was annihilated, or waits behind a failure.
    SeenTo,
    /// There is none.
    Nothing,
}

impl<M: Restorable> Site<M> {
    /// Executes what waits before `bound`, at most so many events; how many there were.
    #[inline(never)]
    pub(in crate::time_warp) fn execute_before(&mut self, of: Of<'_, M>, bound: Time, most: u32) -> u32 {
        let mut steps = 0;
        while steps < most && self.step(of, bound) {
            steps += 1;
        }
        steps
    }

    /// As [`Site::execute_before`], of what waits up to an instant.
    #[cold]
    #[inline(never)]
    pub(in crate::time_warp) fn execute_round(&mut self, of: Of<'_, M>, last: Instant, bound: Time, most: u32) -> u32 {
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
        let Site { fetcher, placement, lps, heads, effects, .. } = self;
        let ahead = effects.outbox.optimistic_ref();
        let fetch = |id| {
            let index = placement.index(id);
            prefetch(&lps[index]);
            prefetch(&heads[index]);
        };
        fetcher.each(|events| ahead.upcoming(events), fetch);
        self.execute_last(of, (index, header));
        true
    }

    /// Writes the least event before `bound` into the history. It goes from where it waited to where it stays, and nowhere between. The index of its LP, and
    /// all of it but its body: read back from where it has just been written, in other pieces, it would not be there yet.
    #[inline(always)]
    fn record_next(&mut self, of: Of<'_, M>, bound: Time) -> Result<(usize, Header), Seldom> {
        let Site { placement, lps, heads, history, effects, behind_failures, stretch, coast, .. } = self;
        let ahead = effects.outbox.optimistic_mut();
        let (next_anti_message_time, sends) = (ahead.next_anti_message_time(), ahead.sent.end());
        let Some(slot) = ahead.pop_slot_before(bound) else { return Err(self.record_seldom(of, bound, None)) };
        let header = *slot.header();
        let index = placement.index(header.receiver());
        let lp = &mut lps[index];
        if header.time() >= next_anti_message_time || header.time() <= lp.last() || !behind_failures.is_empty() {
            let event = slot.take();
            return Err(self.record_seldom(of, bound, event));
        }
        let id = header.receiver();
        let since_copy = if coast.is_off() { 0 } else { coast.since_copy(history, stretch.begin, (id, heads[index])) };
        let event = slot.take().expect("it waits there");
        history.add(event, (&mut heads[index], since_copy), lp.checkpoint_kernel(), sends);
        Ok((index, header))
    }

    /// As [`Site::record_next`], where something came late, failed or has been taken back. `event` is the least if it has been taken.
    #[cold]
    #[inline(never)]
    fn record_seldom(&mut self, of: Of<'_, M>, bound: Time, event: Option<TaggedEvent<M::Message>>) -> Seldom {
        let ahead = self.ahead();
        let Some(mut event) = event.or_else(|| ahead.pop_before(bound)) else {
            if ahead.next_anti_message_time() < bound {
                self.chase(of);
                return Seldom::SeenTo;
            }
            return Seldom::Nothing;
        };
        if event.time() >= ahead.next_anti_message_time() {
            match ahead.match_anti_messages(event) {
                Matched::Ready(this) => event = this,
                Matched::Annihilated => return Seldom::SeenTo,
                Matched::TwinExecuted => {
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
        history.add(event, (&mut heads[index], since_copy), lps[index].checkpoint_kernel(), sends);
        Seldom::Recorded(index, header)
    }

    /// Executes the event of the last record.
    #[inline(always)]
    fn execute_last(&mut self, (model, world): Of<'_, M>, (index, header): (usize, Header)) {
        let Site { lps, history, effects, .. } = self;
        let History { records, undos, .. } = history;
        effects.outbox.optimistic_mut().execution = records.end().wrapping_sub(1);
        let record = records.last().expect("it was just written");
        let event = record.event.as_ref().expect("it was just written");
        let body = body_of(event).expect("anti-messages have been seen to");
        let log = (record.since_copy == 0).then_some(undos);
        let execution = lps[index].execute_optimistically(model, world, (header, body), effects, log);
        if execution != Execution::Done || effects.beyond_sends || header.instant().round > 0 {
            self.keep_more(execution);
        }
    }

    /// Keeps what the last execution did besides sending.
    #[inline(never)]
    fn keep_more(&mut self, execution: Execution) {
        let Site { effects, history, requested, stretch, .. } = self;
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
            let ahead = effects.outbox.optimistic_mut();
            ahead.send_anti_messages(Sender::lp(id), position, record.begins.sends, ahead.sent.end());
            self.behind_failures.entry(id).or_default();
        } else {
            requested.extend(requests.iter().map(|request| (position, request.key.instant.time)));
        }
        record.is_rare = true;
        history.rares.insert(position, Rare { notes, requests, failure });
    }

    /// Whether an event waits behind the failure of its LP. One that comes before the failure does not: it takes the failure back.
    fn is_behind_failure(&self, id: LpId, key: &EventKey) -> bool {
        let head = || self.history.last_key(self.heads[self.placement.index(id)], id);
        self.behind_failures.contains_key(&id) && head().is_none_or(|failed| failed < *key)
    }

    /// Finds the twin of the first anti-message, which does not wait where events do: it has been executed, or waits behind a failure.
    fn chase(&mut self, of: Of<'_, M>) {
        let Some(anti) = self.ahead().pop_anti_message() else { return };
        let (key, id) = (anti.key(), anti.receiver);
        if self.is_behind_failure(id, &key) {
            let waiting = self.behind_failures.entry(id).or_default();
            let twin = waiting.iter().position(|event| identity(event) == identity(&anti));
            waiting.swap_remove(twin.expect("I4: an anti-message met no event of its execution behind a failure"));
            return;
        }
        let count = self.roll_back(of, id, &key);
        assert!(count > 0, "I4: an anti-message met no event of its execution: {key} for {id}");
        self.ahead().insert_anti_message(anti);
    }
}
