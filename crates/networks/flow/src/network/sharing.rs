//! Taking part in what is shared: most activities are held back by nothing, and the system only counts on them.
//!
//! As long as no link or processor that an activity uses could be asked for more than it has, the activity has its bound for its rate, and there is nothing to
//! solve. Only when that is no longer so is the system given those that it counts on, all at once, which happens to each activity once at most.

use super::Network;
use super::activity::{Activity, Stage};
use crate::solver::VariableId;
use crate::terms::{Sharing, Terms};

impl Network {
    /// Lets an activity take part in what it uses.
    pub(super) fn share(&mut self, slot: u32) {
        let bound = self.bound(slot);
        let activity = &mut self.activities[slot as usize];
        activity.updated = self.now;
        if self.system.reserve(bound, &activity.uses) {
            activity.stage = Stage::Free(u32::try_from(self.unheld.len()).expect("no more than activities"));
            self.unheld.push(slot);
            activity.rate = bound * activity.factor;
            let date = activity.end_from(self.now);
            return self.calendar.set(slot, activity.serial, date);
        }
        self.hold();
        let activity = &mut self.activities[slot as usize];
        let variable = self.system.add_variable(activity.penalty(), bound, &activity.uses);
        activity.stage = Stage::Sharing(variable);
        if activity.remaining <= 0.0 {
            self.calendar.set(slot, activity.serial, Some(self.now));
        }
        self.own(variable, slot);
    }

    fn own(&mut self, variable: VariableId, slot: u32) {
        if self.owners.len() <= variable.0 as usize {
            self.owners.resize(variable.0 as usize + 1, u32::MAX);
        }
        self.owners[variable.0 as usize] = slot;
    }

    /// Gives the system all activities that it only counts on: from now on something may hold them back. That happens to each once at most.
    pub(super) fn hold(&mut self) {
        let mut unheld = std::mem::take(&mut self.unheld);
        for slot in unheld.drain(..) {
            let bound = self.bound(slot);
            let activity = &mut self.activities[slot as usize];
            let variable = self.system.add_counted(activity.penalty(), bound, &activity.uses);
            activity.stage = Stage::Sharing(variable);
            self.own(variable, slot);
        }
        self.unheld = unheld;
    }

    /// Takes an activity's part away from what it uses.
    pub(super) fn leave(&mut self, slot: u32) {
        match self.activities[slot as usize].stage {
            Stage::Sharing(variable) => self.system.remove_variable(variable),
            Stage::Free(place) => {
                let bound = self.bound(slot);
                self.system.release(bound, &self.activities[slot as usize].uses);
                self.unheld.swap_remove(place as usize);
                if let Some(&moved) = self.unheld.get(place as usize) {
                    self.activities[moved as usize].stage = Stage::Free(place);
                }
            }
            Stage::Waiting | Stage::Ending | Stage::Over => {}
        }
    }

    /// What bounds an activity besides what it shares.
    pub(super) fn bound(&self, slot: u32) -> f64 {
        let Activity { latency, width, .. } = self.activities[slot as usize];
        match self.terms {
            Terms::Shared(Sharing { window, .. }) if latency > 0.0 => width.min(window / (2.0 * latency)),
            _ => width,
        }
    }
}
