//! Periodic checkpoints, and coasting forward from them.
//!
//! *Idea.* If a model restores by copy, not each execution needs to leave a checkpoint, a copy of the LP's
//! state. An LP is rolled back to the last checkpoint before its target, and *coasts forward* from there:
//! it executes the events since the checkpoint again. The events that these executions send are dropped,
//! because they have been sent before. This pays if states are large, rollbacks are few, and an LP executes
//! several events between two commits.
//!
//! *Invariants.* C1: within one stretch of the history, the executions of an LP begin with one that left a
//! checkpoint. Only wakes without effect may precede it. So a stretch can be freed without looking at the
//! next. C2: an event that is executed again draws the same random numbers, sets the same timers, sends as
//! many events, and ends in the same way as before. Otherwise the model's handler depends on more than its
//! inputs, and the run fails.
//!
//! *References.* D. Jefferson, *Virtual time*, ACM TOPLAS 7, 1985; Y.-B. Lin, B. Preiss, W. Loucks, E.
//! Lazowska, *Selecting the checkpoint interval in Time Warp simulation*, PADS, 1993; J. Fleischmann, P.
//! Wilsey, *Comparative analysis of periodic state saving techniques in Time Warp simulators*, PADS, 1995.

use super::hide_tagged;
use super::history::History;
use parades_core::any_model::{AnyRestorable, Packed, RestorableLps, Taggable, Undone};
use parades_core::effects::Effects;
use parades_core::event::LpId;
use parades_core::outbox::Outbox;
use parades_core::ring::positions;
use parades_core::timer::TimerChange;
use parades_core::world::World;

/// Marks the record of a wake without effect at which a checkpoint was due. The wake leaves no checkpoint,
/// because it changes nothing. The next execution leaves one.
pub(super) const NO_CHECKPOINT: u16 = u16::MAX;

/// The size of a state in bytes, without the memory it points to, from which checkpoints are periodic.
/// Copying a state of this size at each execution costs more than executing a few events again now and
/// then. The value lies between the sizes that `parades bench restore` measures: coasting gains at 4 KiB,
/// and loses at 16 B.
const LARGE_STATE: usize = 1 << 10;
/// Executions of an LP for each checkpoint of a large state.
const INTERVAL_LARGE: u16 = 8;

/// Returns the number of executions of an LP for each checkpoint, by the `wish` of the user, or else by the size
/// of the states.
pub(super) fn interval<'k>(model: &'k dyn AnyRestorable<'k>, wish: Option<u16>, is_traced: bool) -> u16 {
    // With a trace, executions are committed one by one, and their events leave the history. Coasting forward
    // would need these events.
    match wish {
        _ if is_traced || !model.copies() => 1,
        Some(wish) => wish,
        None if model.state_bytes() < LARGE_STATE => 1,
        None => INTERVAL_LARGE,
    }
}

/// The checkpoint interval, and the buffers for coasting forward.
pub(super) struct Coast<P: Taggable> {
    /// Executions of an LP for each checkpoint.
    interval: u16,
    /// The effects of executions that are repeated.
    effects: Effects<P>,
    timers: Vec<TimerChange>,
    /// The positions of the executions to repeat, the last first.
    executions: Vec<u32>,
}

impl<'k, P: Packed<'k>> Coast<P> {
    /// Makes a checkpoint at each `interval`-th execution of an LP.
    pub(super) fn new(interval: u16) -> Coast<P> {
        Coast { interval, effects: Effects::undoable(Outbox::buffered()), timers: Vec::new(), executions: Vec::new() }
    }

    /// Returns true if each execution can be undone by itself, so that no LP ever coasts forward.
    #[inline(always)]
    pub(super) fn is_off(&self) -> bool {
        self.interval <= 1
    }

    /// Returns the number of executions of an LP since its last checkpoint, counting its next one. 0 if the
    /// next one must leave a checkpoint. The LP's last execution is at `head`; the open stretch begins at
    /// `begin`.
    pub(super) fn since_checkpoint(&self, history: &History<P>, begin: u32, lp: LpId, head: u32) -> u16 {
        if self.is_off() {
            return 0;
        }
        let is_in_stretch = head.wrapping_sub(begin) < history.records.end().wrapping_sub(begin);
        match history.find(head, lp).filter(|_| is_in_stretch).map(|last| last.since_checkpoint) {
            None | Some(NO_CHECKPOINT) => 0,
            Some(last) => (last + 1) % self.interval,
        }
    }

    /// Restores the state of an LP whose last execution is at `head`. All later executions have been
    /// undone, except for the state. Returns the number of events that were executed again, and the
    /// position of the first that behaved differently.
    #[cold]
    #[inline(never)]
    pub(super) fn forward(
        &mut self,
        world: &World,
        lps: &mut (dyn RestorableLps<'k> + 'k),
        lp: usize,
        history: &History<P>,
        id: LpId,
        head: u32,
    ) -> (u64, Option<u32>) {
        let Coast { effects, timers, executions, .. } = self;
        let History { records, timers: changes, .. } = history;
        let (reached, mut at) = (lps.checkpoint(lp), head);
        let ends = |at: u32| records.get(at.wrapping_add(1)).map_or(changes.end(), |next| next.begins.timers);
        executions.clear();
        loop {
            let record = records.get(at).expect("C1: the checkpoint is in the same stretch");
            let event =
                record.event.as_ref().filter(|event| event.receiver() == id).expect("C1: it has not been undone");
            timers.extend(positions(record.begins.timers, ends(at)).filter_map(|at| changes.get(at).copied()));
            let has_checkpoint = record.since_checkpoint == 0;
            let undos = record.begins.undos;
            let undone = Undone {
                execution: record.execution,
                before: record.before.clone(),
                timers,
                records: has_checkpoint.then(|| (undos, undos.wrapping_add(1))),
            };
            lps.undo(lp, (&event.header(), hide_tagged(event)), undone);
            executions.push(at);
            if has_checkpoint {
                break;
            }
            at = record.previous;
        }
        let mut differs = None;
        for (index, &at) in executions.iter().enumerate().rev() {
            let record = records.get(at).expect("it was found above");
            let event = record.event.as_ref().expect("it was found above");
            let copy = (record.since_checkpoint == 0).then_some(record.begins.undos);
            let execution = lps.repeat(lp, &event.header(), hide_tagged(event), copy, world, effects.hide());
            let after = match index.checked_sub(1) {
                Some(next) => &records.get(executions[next]).expect("it was found above").before,
                None => &reached,
            };
            let changed = positions(record.begins.timers, ends(at)).filter_map(|at| changes.get(at));
            let is_same = execution == record.execution
                && effects.others.failure.is_none()
                && lps.checkpoint(lp) == *after
                && effects.others.timer_changes.iter().flatten().eq(changed);
            effects.outbox.buffer.clear();
            effects.others.clear();
            effects.others.timer_changes.iter_mut().for_each(Vec::clear);
            if !is_same {
                differs = Some(at);
                break;
            }
        }
        if differs.is_some() {
            // The events that the LP sends before the run ends must not repeat keys.
            lps.restore_kernel(lp, reached);
        }
        (executions.len() as u64, differs)
    }
}
