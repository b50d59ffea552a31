//! Changes of capacities, penalties and bounds.

use super::demand::units_of_demand;
use super::{Constraint, SharingPolicy, System, Variable, VariableId};

impl System {
    /// Changes the capacity of a constraint.
    pub fn set_capacity(&mut self, constraint: u32, capacity: f64) {
        assert!(capacity >= 0.0, "a constraint cannot have a capacity of {capacity}");
        let changed = &mut self.constraints[constraint as usize];
        changed.capacity = capacity;
        self.demands[constraint as usize].set_capacity(capacity);
        if changed.policy == SharingPolicy::Shared {
            return self.statuses[constraint as usize].mark_modified(constraint, &mut self.modified_constraints);
        }
        let users = std::mem::take(&mut changed.users);
        users.iter().for_each(|user| self.renew_variable(user.variable));
        self.constraints[constraint as usize].users = users;
    }

    /// Changes the penalty and the bound of a variable.
    pub fn set_penalty_and_bound(&mut self, id: VariableId, penalty: f64, bound: f64) {
        assert!(penalty > 0.0 && bound >= 0.0, "a variable cannot have penalty {penalty} and bound {bound}");
        let variable = &mut self.variables[id.0 as usize];
        (variable.penalty, variable.own_bound) = (penalty, bound);
        for element in &variable.elements {
            self.constraints[element.constraint as usize].users[element.place as usize].usage =
                element.weight / penalty;
        }
        self.renew_variable(id.0);
    }

    /// Computes the bound and the demands of a variable again, after a change of its own or of a fat pipe.
    fn renew_variable(&mut self, slot: u32) {
        let variable = &mut self.variables[slot as usize];
        variable.renew_bound(&self.constraints, self.fat_pipes);
        for element in &mut variable.elements {
            let number = element.constraint;
            self.statuses[number as usize].mark_modified(number, &mut self.modified_constraints);
            let demand = &mut self.demands[number as usize];
            demand.remove(element.units);
            element.units = units_of_demand(element.weight * variable.bound);
            demand.add(element.units);
        }
        self.mark_variable_modified(slot);
    }
}

impl Variable {
    /// Computes the bound again: a variable on a fat pipe takes at most the whole pipe.
    #[inline]
    pub(super) fn renew_bound(&mut self, constraints: &[Constraint], fat_pipes: u32) {
        self.bound = self.own_bound;
        if fat_pipes == 0 {
            return;
        }
        for element in &self.elements {
            let constraint = &constraints[element.constraint as usize];
            if constraint.policy == SharingPolicy::FatPipe {
                self.bound = self.bound.min(constraint.capacity / element.weight);
            }
        }
    }
}
