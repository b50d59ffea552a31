//! Activities in the max-min system: how they enter and leave it.
//!
//! Most activities are unconstrained: none of their resources can saturate. For these, the system only
//! reserves the demand, the rate is the bound, and there is nothing to solve. When a resource could saturate,
//! all unconstrained activities become variables at once. That happens to each activity at most once.

use super::FluidNetwork;
use super::activity::{Activity, Stage};
use crate::network_model::{MaxMinModel, NetworkModel};
use crate::solver::VariableId;

impl FluidNetwork {
    /// Lets an activity share its resources from now on.
    pub(super) fn share(&mut self, slot: u32) {
        let bound = self.bound(slot);
        let activity = &mut self.activities[slot as usize];
        activity.updated = self.now;
        if self.system.reserve(bound, &activity.elements) {
            let index = u32::try_from(self.unconstrained.len()).expect("no more than activities");
            activity.stage = Stage::Unconstrained(index);
            self.unconstrained.push(slot);
            activity.rate = bound * activity.rate_factor;
            let date = activity.completion_date(self.now);
            return self.calendar.set(slot, activity.serial, date);
        }
        self.constrain_all();
        let activity = &mut self.activities[slot as usize];
        let variable = self.system.add_variable(activity.penalty(), bound, &activity.elements);
        activity.stage = Stage::Sharing(variable);
        if activity.remaining <= 0.0 {
            self.calendar.set(slot, activity.serial, Some(self.now));
        }
        self.set_owner(variable, slot);
    }

    pub(super) fn set_owner(&mut self, variable: VariableId, slot: u32) {
        if self.owners.len() <= variable.0 as usize {
            self.owners.resize(variable.0 as usize + 1, u32::MAX);
        }
        self.owners[variable.0 as usize] = slot;
    }

    /// Replaces the reserved demands of all unconstrained activities by variables.
    pub(super) fn constrain_all(&mut self) {
        let mut unconstrained = std::mem::take(&mut self.unconstrained);
        for slot in unconstrained.drain(..) {
            let bound = self.bound(slot);
            let activity = &mut self.activities[slot as usize];
            let variable = self.system.add_reserved(activity.penalty(), bound, &activity.elements);
            activity.stage = Stage::Sharing(variable);
            self.set_owner(variable, slot);
        }
        self.unconstrained = unconstrained;
    }

    /// Removes an activity from the system, if it is part of it.
    pub(super) fn leave_system(&mut self, slot: u32) {
        match self.activities[slot as usize].stage {
            Stage::Sharing(variable) => self.system.remove_variable(variable),
            Stage::Unconstrained(index) => {
                let bound = self.bound(slot);
                self.system.release(bound, &self.activities[slot as usize].elements);
                self.unconstrained.swap_remove(index as usize);
                if let Some(&moved) = self.unconstrained.get(index as usize) {
                    self.activities[moved as usize].stage = Stage::Unconstrained(index);
                }
            }
            Stage::Latency | Stage::Timed | Stage::Suspended(_) | Stage::Ended => {}
        }
    }

    /// Returns the bound of an activity's variable: the rate of its resource, the limit that its owner has
    /// set and, for a flow with latency, that of TCP's window.
    pub(super) fn bound(&self, slot: u32) -> f64 {
        let Activity { latency, resource_rate, limit, .. } = self.activities[slot as usize];
        let resource_rate = if limit < resource_rate { limit } else { resource_rate };
        match self.model {
            NetworkModel::MaxMin(MaxMinModel { window, .. }) if latency > 0.0 => {
                resource_rate.min(window / (2.0 * latency))
            }
            _ => resource_rate,
        }
    }
}
