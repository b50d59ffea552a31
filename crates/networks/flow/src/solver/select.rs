//! Selects the subsystem that a solution must compute.

use super::fill::{Residual, Scratch, Stage};
use super::{Constraint, Status, System, Variable};

impl System {
    /// Selects the constraints and variables whose solution the modifications may change: their connected
    /// components.
    pub(super) fn select_subsystem(&mut self) {
        let System { constraints, statuses, variables, scratch, .. } = self;
        if scratch.residuals.len() < constraints.len() {
            scratch.residuals.resize(constraints.len(), Residual::default());
        }
        if scratch.stages.len() < variables.len() {
            scratch.stages.resize(variables.len(), Stage::NotSelected);
        }
        scratch.constraints.clear();
        scratch.variables.clear();
        for number in self.modified_constraints.drain(..) {
            let constraint = &constraints[number as usize];
            let status = &mut statuses[number as usize];
            status.modified = false;
            let can_saturate = self.demands[number as usize].can_saturate();
            let could_saturate = std::mem::replace(&mut status.could_saturate, can_saturate);
            // A constraint that has limited variables before must release them, even if it cannot limit any
            // now.
            if (could_saturate || can_saturate) && !constraint.users.is_empty() {
                status.selected = true;
                scratch.constraints.push(number);
            }
        }
        for slot in self.modified_variables.drain(..) {
            let variable = &mut variables[slot as usize];
            variable.modified = false;
            if variable.alive {
                scratch.select_variable(slot);
            }
        }
        scratch.select_neighbours(constraints, statuses, variables);
    }
}

impl Scratch {
    #[inline]
    fn select_variable(&mut self, slot: u32) {
        let stage = &mut self.stages[slot as usize];
        if *stage == Stage::NotSelected {
            *stage = Stage::Unfixed;
            self.variables.push(slot);
        }
    }

    /// Selects everything that is connected with the selected constraints and variables, in breadth-first
    /// order.
    ///
    /// Only constraints that can saturate connect their variables.
    fn select_neighbours(&mut self, constraints: &[Constraint], statuses: &mut [Status], variables: &[Variable]) {
        let (mut next_constraint, mut next_variable) = (0, 0);
        loop {
            if let Some(&number) = self.constraints.get(next_constraint) {
                next_constraint += 1;
                for user in &constraints[number as usize].users {
                    self.select_variable(user.variable);
                }
            } else if let Some(&slot) = self.variables.get(next_variable) {
                next_variable += 1;
                for element in &variables[slot as usize].elements {
                    let status = &mut statuses[element.constraint as usize];
                    if status.could_saturate && !status.selected {
                        status.selected = true;
                        self.constraints.push(element.constraint);
                    }
                }
            } else {
                return;
            }
        }
    }
}
