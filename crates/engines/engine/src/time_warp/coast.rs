//! Copies of only some states, and what is executed anew from them.
//!
//! *Idea.* Where a model restores by copy, not each execution need leave one. An LP is taken back to the last copy before where it is to be, and *coasts
//! forward* from there: what it has executed since is executed anew, and what that sends is dropped, as it has been sent. It pays where states are
//! large, rollbacks few, and an LP executes several events between two commits.
//!
//! *Invariants.* C1: the executions of an LP in one stretch of the history lead back to one that left a copy, but for wakes for nothing at its begin,
//! so that a stretch can be forgotten without a look at the next. C2: an event that is executed anew draws, sets, counts and ends as it did the first time;
//! else the model's handler depends on more than it is given, and the run fails.
//!
//! *References.* D. Jefferson, *Virtual time*, ACM TOPLAS 7, 1985; Y.-B. Lin, B. Preiss, W. Loucks, E. Lazowska, *Selecting the checkpoint interval in Time
//! Warp simulation*, PADS, 1993; J. Fleischmann, P. Wilsey, *Comparative analysis of periodic state saving techniques in Time Warp simulators*, PADS, 1995.

use super::history::History;
use super::site::Of;
use parades_core::effects::Effects;
use parades_core::event::LpId;
use parades_core::lp::Lp;
use parades_core::optimistic::body_of;
use parades_core::outbox::Outbox;
use parades_core::restore::{Restorable, UndoLog};
use parades_core::ring::positions;
use parades_core::timer::TimerChange;

/// What the record of a wake for nothing has where a copy was due: it leaves none, since it changes nothing; the next execution does.
pub(super) const NO_COPY: u16 = u16::MAX;

/// Bytes of a state, without what it points to, from which copying it costs more than now and then executing a few events anew, and how many executions a
/// copy then has to do for. Between what was measured (`parades bench restore`): of 4 KiB, 1.1 to 1.9 times as fast; of 16 B, up to 7 % slower.
const LARGE: usize = 1 << 10;
const EVERY: u16 = 8;

/// How many executions of an LP one copy has to do for where nobody says so.
pub(super) fn usual<S>() -> u16 {
    if size_of::<S>() < LARGE { 1 } else { EVERY }
}

/// How often states are copied; and what coasting needs, to be used again.
pub(super) struct Coast<M: Restorable> {
    every: u16,
    /// Of what is executed anew.
    effects: Effects<M>,
    log: UndoLog<M::Undo>,
    timers: Vec<TimerChange>,
    /// Positions of what is executed anew, the last first.
    executions: Vec<u32>,
}

impl<M: Restorable> Coast<M> {
    /// For a copy at each so-manieth execution of an LP.
    pub(super) fn new(every: u16) -> Coast<M> {
        Coast {
            every,
            effects: Effects::undoable(Outbox::buffered()),
            log: UndoLog::default(),
            timers: Vec::new(),
            executions: Vec::new(),
        }
    }

    /// Whether each execution leaves what taking it back needs.
    #[inline(always)]
    pub(super) fn is_off(&self) -> bool {
        self.every <= 1
    }

    /// How many executions ago an LP will have left a copy when it has executed its next event; 0 where that is to leave one. Its last execution is at `head`,
    /// and the stretch that is being added to begins at `begin`.
    pub(super) fn since_copy(&self, history: &History<M>, begin: u32, (lp, head): (LpId, u32)) -> u16 {
        if self.is_off() {
            return 0;
        }
        let is_in_stretch = head.wrapping_sub(begin) < history.records.end().wrapping_sub(begin);
        match history.live(head, lp).filter(|_| is_in_stretch).map(|last| last.since_copy) {
            None | Some(NO_COPY) => 0,
            Some(last) => (last + 1) % self.every,
        }
    }

    /// Restores the state of an LP whose last execution is at `head`, all later ones having been taken back, but for their states. How many events were
    /// executed anew, and the position of the first that did something else than the first time.
    #[cold]
    #[inline(never)]
    pub(super) fn forward(
        &mut self,
        (model, world): Of<'_, M>,
        lp: &mut Lp<M::State>,
        history: &mut History<M>,
        (id, head): (LpId, u32),
    ) -> (u64, Option<u32>) {
        let Coast { effects, log, timers, executions, .. } = self;
        let History { records, undos, timers: changes, .. } = history;
        let undos = undos.records_mut();
        let (reached, mut at) = (lp.checkpoint_kernel(), head);
        let ends = |at: u32| records.get(at.wrapping_add(1)).map_or(changes.end(), |next| next.begins.timers);
        executions.clear();
        loop {
            let record = records.get(at).expect("C1: it is in the stretch");
            let event =
                record.event.as_ref().filter(|event| event.receiver == id).expect("C1: it has not been taken back");
            timers.extend(positions(record.begins.timers, ends(at)).filter_map(|at| changes.get(at).copied()));
            let is_copied = record.since_copy == 0;
            if is_copied {
                log.push(undos.take(record.begins.undos).expect("C1: it left a copy"));
            }
            let body = body_of(event).expect("it is none of an anti-message");
            lp.undo_logged(
                model,
                body,
                (record.execution, record.before.clone()),
                timers,
                is_copied.then_some(&mut *log),
            );
            executions.push(at);
            if is_copied {
                break;
            }
            at = record.previous;
        }
        let mut differs = None;
        for (index, &at) in executions.iter().enumerate().rev() {
            let record = records.get(at).expect("it was just there");
            let event = record.event.as_ref().expect("it was just there");
            let body = body_of(event).expect("it was just there");
            let is_copied = record.since_copy == 0;
            let execution =
                lp.reexecute(model, world, (event.parts().0, body), effects, is_copied.then_some(&mut *log));
            if let Some(copy) = log.pop() {
                undos.put(record.begins.undos, copy);
            }
            let after = match index.checked_sub(1) {
                Some(next) => &records.get(executions[next]).expect("it was just there").before,
                None => &reached,
            };
            let changed = positions(record.begins.timers, ends(at)).filter_map(|at| changes.get(at));
            let is_same = execution == record.execution
                && effects.failure.is_none()
                && lp.checkpoint_kernel() == *after
                && effects.timer_changes.iter().flatten().eq(changed);
            effects.outbox.buffer.clear();
            effects.clear_beyond_sends();
            effects.timer_changes.iter_mut().for_each(Vec::clear);
            if !is_same {
                differs = Some(at);
                break;
            }
        }
        if differs.is_some() {
            // What it sends until the run ends has keys of its own.
            lp.restore_kernel(reached);
        }
        (executions.len() as u64, differs)
    }
}
