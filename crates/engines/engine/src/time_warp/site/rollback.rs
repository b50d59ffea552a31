//! Rolling back: an LP is restored, and anti-messages follow the events that it had sent.

use super::Site;
use crate::time_warp::hide_tagged;
use crate::time_warp::history::{History, Record};
use parades_core::any_model::{Packed, Undone};
use parades_core::error::{ErrorKind, Place};
use parades_core::event::{EventKey, LpId, Sender};
use parades_core::lp::Execution;
use parades_core::ring::positions;
use parades_core::time::Time;
use parades_core::world::World;

impl<'k, P: Packed<'k>> Site<'k, P> {
    /// Rolls an LP back: undoes its executions from `key` on, and sends anti-messages. Returns the number
    /// of executions.
    #[cold]
    #[inline(never)]
    pub(super) fn roll_back(&mut self, world: &World, id: LpId, key: &EventKey) -> u32 {
        let index = self.placement.index(id);
        let (mut count, mut is_restored) = (0, true);
        while self.history.last_key(self.heads[index], id).is_some_and(|last| last >= *key) {
            is_restored = self.undo_last(index, is_restored);
            count += 1;
        }
        if !is_restored {
            self.coast_forward(world, index, id);
        }
        let last = self.lps.last(index);
        assert!(last <= key.instant.time, "I2: {key} came for {id}, which has committed what it executed at {last}");
        if count > 0 {
            self.counts.rollbacks += 1;
        }
        count
    }

    /// Restores the state of an LP, by coasting forward. The kernel's part of the LP has been restored
    /// already.
    #[cold]
    fn coast_forward(&mut self, world: &World, index: usize, id: LpId) {
        let Site { lps, heads, history, coast, ledger, counts, .. } = self;
        let head = heads[index];
        let (executed, differs) = coast.forward(world, &mut **lps, index, history, id, head);
        counts.coasted += executed;
        if let Some(key) = differs.and_then(|at| history.last_key(at, id)) {
            let place = Place { instant: key.instant, lp: Some(id), event: Some(key) };
            ledger.failure.add(place, ErrorKind::NotRepeated.into());
        }
    }

    /// Undoes the last execution of an LP. Returns true if the state is then restored too; `is_restored`
    /// says so of the state before.
    fn undo_last(&mut self, index: usize, is_restored: bool) -> bool {
        let position = self.heads[index];
        let ends = self.history.ends_of(position, self.log_ends());
        let rare = self.history.take_rare(position);
        let History { records, timers, samples, .. } = &mut self.history;
        // The record stays as a gap, because the effects of its neighbours end where its own begin or end.
        let record = records.get_mut(position).expect("it is in the history");
        let event = record.event.take().expect("it has not been undone");
        let Record { begins, execution, since_checkpoint, .. } = *record;
        let has_checkpoint = since_checkpoint == 0;
        let id = event.receiver();
        self.heads[index] = record.previous;
        self.timers.extend(positions(begins.timers, ends.timers).filter_map(|at| timers.take(at)));
        for at in positions(begins.samples, ends.samples) {
            samples.take(at);
        }
        let undone = Undone {
            execution,
            before: record.before.clone(),
            timers: &mut self.timers,
            records: has_checkpoint.then_some((begins.undos, ends.undos)),
        };
        self.lps.undo(index, (&event.header(), hide_tagged(&event)), undone);
        if let Some(rare) = rare {
            self.requested.retain(|(of, _)| *of != position);
            if rare.failure.is_some() {
                let waiting = self.behind_failures.remove(&id).unwrap_or_default();
                waiting.into_iter().for_each(|event| self.push(event));
            }
        }
        if execution == Execution::Done {
            self.counts.rolled_back += 1;
            self.stretch_of(position).rolled_back += 1;
        }
        self.push(event);
        self.counts.anti_messages +=
            self.ahead().send_anti_messages(Sender::lp(id), position, begins.sends, ends.sends);
        has_checkpoint || execution == Execution::Skipped && is_restored
    }

    /// Rolls all LPs back to `time`.
    pub(super) fn roll_back_all_from(&mut self, world: &World, time: Time) {
        self.close_stretch();
        let records = &self.history.records;
        // An LP's keys increase. So with its first execution from `time` on, all later ones are undone too.
        for position in positions(records.first(), records.end()) {
            let record = self.history.records.get(position).expect("the position is in the history");
            if let Some(event) = record.event.as_ref().filter(|event| event.time() >= time) {
                let (key, id) = (event.key(), event.receiver());
                self.roll_back(world, id, &key);
            }
        }
        let Some(before) = time.as_ps().checked_sub(1).map(Time::from_ps) else {
            // `time` is the least of all. So everything has been rolled back, and nothing remains to be
            // committed.
            self.stretches.clear();
            return self.release_before(self.history.records.end());
        };
        self.stretches.iter_mut().for_each(|stretch| stretch.last = stretch.last.min(before));
    }
}
