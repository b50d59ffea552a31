//! Selects the components that a solution must compute.

use super::fill::{Problem, Workspace};
use super::{Constraint, Status, System, Variable};
use std::ops::Range;

/// The constraints and variables whose solution modifications may change, component by component. It holds no
/// information between solutions, so a copy of a system gets an empty one.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub(super) constraints: Vec<u32>,
    pub(super) variables: Vec<u32>,
    pub(super) components: Vec<Component>,
    /// By slot of the variable: true if it is selected.
    selected: Vec<bool>,
    /// The constraints and variables at which the search begins.
    first_constraints: Vec<u32>,
    first_variables: Vec<u32>,
}

impl Clone for Selection {
    fn clone(&self) -> Selection {
        Selection::default()
    }
}

/// A connected component: its places among the selected constraints and variables.
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub(super) constraints: Range<usize>,
    pub(super) variables: Range<usize>,
}

impl System {
    /// Selects the constraints and variables whose solution the modifications may change: their connected
    /// components.
    pub(super) fn select_components(&mut self) {
        let System { constraints, statuses, variables, selection, .. } = self;
        for number in self.modified_constraints.drain(..) {
            let status = &mut statuses[number as usize];
            status.modified = false;
            let can_saturate = self.demands[number as usize].can_saturate();
            let could_saturate = std::mem::replace(&mut status.could_saturate, can_saturate);
            // A constraint that has limited variables before must release them, even if it cannot limit any
            // now.
            if (could_saturate || can_saturate) && !constraints[number as usize].users.is_empty() {
                selection.first_constraints.push(number);
            }
        }
        for slot in self.modified_variables.drain(..) {
            let variable = &mut variables[slot as usize];
            variable.modified = false;
            if variable.alive {
                selection.first_variables.push(slot);
            }
        }
        selection.search(constraints, statuses, variables);
    }
}

impl Selection {
    /// Selects the components of the first constraints and variables.
    fn search(&mut self, constraints: &[Constraint], statuses: &mut [Status], variables: &[Variable]) {
        if self.selected.len() < variables.len() {
            self.selected.resize(variables.len(), false);
        }
        self.constraints.clear();
        self.variables.clear();
        self.components.clear();
        let mut first_constraints = std::mem::take(&mut self.first_constraints);
        for number in first_constraints.drain(..) {
            if !std::mem::replace(&mut statuses[number as usize].selected, true) {
                self.constraints.push(number);
                self.complete(constraints, statuses, variables);
            }
        }
        self.first_constraints = first_constraints;
        let mut first_variables = std::mem::take(&mut self.first_variables);
        for slot in first_variables.drain(..) {
            if self.select_variable(slot) {
                self.complete(constraints, statuses, variables);
            }
        }
        self.first_variables = first_variables;
    }

    /// Selects a variable. Returns false if it is selected already.
    #[inline]
    fn select_variable(&mut self, slot: u32) -> bool {
        let is_new = !std::mem::replace(&mut self.selected[slot as usize], true);
        if is_new {
            self.variables.push(slot);
        }
        is_new
    }

    /// Completes a component: selects everything that is connected with what was selected after the component
    /// before, in breadth-first order.
    ///
    /// Only constraints that can saturate connect their variables.
    fn complete(&mut self, constraints: &[Constraint], statuses: &mut [Status], variables: &[Variable]) {
        let before = self.components.last();
        let (from_constraint, from_variable) =
            before.map_or((0, 0), |before| (before.constraints.end, before.variables.end));
        let (mut next_constraint, mut next_variable) = (from_constraint, from_variable);
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
                break;
            }
        }
        self.components
            .push(Component { constraints: from_constraint..next_constraint, variables: from_variable..next_variable });
    }

    /// Finds the rates of some of the components.
    pub(super) fn fill(&self, components: Range<usize>, problem: Problem<'_>, workspace: &mut Workspace) {
        workspace.make_room(problem);
        for Component { constraints, variables } in self.components[components].iter().cloned() {
            workspace.fill(problem, &self.constraints[constraints], &self.variables[variables]);
        }
    }

    /// Leaves the selection as the next one expects it.
    #[inline]
    pub(super) fn release(&mut self, statuses: &mut [Status]) {
        for &number in &self.constraints {
            statuses[number as usize].selected = false;
        }
        for &slot in &self.variables {
            self.selected[slot as usize] = false;
        }
    }
}
