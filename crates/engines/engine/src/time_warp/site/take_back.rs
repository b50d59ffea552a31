//! Taking back: rolling an LP back, with anti-messages after what it sent.

use super::{Of, Site};
use crate::time_warp::history::{History, Record};
use parades_core::error::{ErrorKind, Place};
use parades_core::event::{EventKey, LpId, Sender};
use parades_core::lp::Execution;
use parades_core::optimistic::body_of;
use parades_core::restore::Restorable;
use parades_core::ring::positions;
use parades_core::time::Time;

impl<M: Restorable> Site<M> {
    /// Takes back all that an LP executed from `key` on, and sends anti-messages after what it sent. How many executions that were.
    #[cold]
    #[inline(never)]
    pub(super) fn roll_back(&mut self, of: Of<'_, M>, id: LpId, key: &EventKey) -> u32 {
        let index = self.placement.index(id);
        let (mut rolled_back, mut is_restored) = (0, true);
        while self.history.last_key(self.heads[index], id).is_some_and(|last| last >= *key) {
            is_restored = self.take_back_last(of, index, is_restored);
            rolled_back += 1;
        }
        if !is_restored {
            self.coast_forward(of, index, id);
        }
        let last = self.lps[index].last();
        assert!(last <= key.instant.time, "I2: {key} came for {id}, which has committed what it executed at {last}");
        if rolled_back > 0 {
            self.counts.rollbacks += 1;
        }
        rolled_back
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
            ledger.failure.add(place, ErrorKind::NotRepeated);
        }
    }

    /// Takes back the last execution of an LP. Whether its state is then restored too, given whether it was.
    fn take_back_last(&mut self, (model, _): Of<'_, M>, index: usize, is_restored: bool) -> bool {
        let position = self.heads[index];
        let ends = self.history.ends_of(position, self.effects.outbox.optimistic_ref().sent.end());
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
        self.lps[index].undo_logged(model, body, left, &mut self.timers, log);
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
        is_copied || execution == Execution::Skipped && is_restored
    }

    /// Takes back all that was executed from `time` on.
    pub(in crate::time_warp) fn roll_back_all_from(&mut self, of: Of<'_, M>, time: Time) {
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
        let Some(before) = time.as_ps().checked_sub(1).map(Time::from_ps) else {
            // No time is before that of what has been taken back: all that there is, and nothing is to be committed.
            self.stretches.clear();
            return self.release_before(self.history.records.end());
        };
        self.stretches.iter_mut().for_each(|stretch| stretch.last = stretch.last.min(before));
    }
}
