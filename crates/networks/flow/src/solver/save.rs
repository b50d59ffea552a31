//! The bytes of a system's state.
//!
//! Penalties, bounds and elements of variables are not written, nor are the demands, which are exact sums:
//! who reads a system gives it the variables again. The order of the users of a constraint is written, as
//! sums of their usages are rounded.

use super::demand::{UNBOUNDED, units_of_demand};
use super::{Demand, Status, System, User, Variable, VariableId};
use parades_core::wire::{self, Malformed};

/// A variable that was read: its rate, and the arguments of [`System::add_variable`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadVariable<'a> {
    pub(crate) rate: f64,
    pub(crate) penalty: f64,
    pub(crate) bound: f64,
    pub(crate) elements: &'a [(u32, f64)],
}

/// The users of a constraint: variables, and the places of their elements.
type Users = Vec<(u32, u32)>;

fn malformed() -> Malformed {
    Malformed::new("a system of shared resources has a state that none can have")
}

impl System {
    /// Appends the bytes of the state, except for the variables.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let used = (0_u32..).zip(&self.constraints).filter(|(_, constraint)| !constraint.users.is_empty());
        let users = |users: &[User]| users.iter().map(|user| (user.variable, user.position)).collect();
        let used: Vec<(u32, Users)> = used.map(|(number, constraint)| (number, users(&constraint.users))).collect();
        let saturated = (0_u32..).zip(&self.statuses).filter(|(_, status)| status.could_saturate);
        let saturated: Vec<u32> = saturated.map(|(number, _)| number).collect();
        wire::write(&(used, saturated, &self.free, &self.modified_constraints, &self.modified_variables), to);
    }

    /// Adds a variable that was read, at its place.
    pub(crate) fn resume_variable(
        &mut self,
        VariableId(slot): VariableId,
        read: ReadVariable<'_>,
    ) -> Result<(), Malformed> {
        let ReadVariable { rate, penalty, bound, elements } = read;
        let is_held = bound < f64::INFINITY || !elements.is_empty();
        if !(penalty > 0.0 && penalty < f64::INFINITY && bound >= 0.0 && rate >= 0.0 && is_held) {
            return Err(malformed());
        }
        if self.variables.len() <= slot as usize {
            self.variables.resize(slot as usize + 1, Variable::none());
        }
        let place = Some(&mut self.variables[slot as usize]).filter(|variable| !variable.alive);
        let place = place.ok_or_else(malformed)?;
        *place = Variable { penalty, bound, own_bound: bound, rate, alive: true, ..Variable::none() };
        place.use_constraints(elements, &self.constraints);
        place.renew_bound(&self.constraints, self.fat_pipes);
        for element in &mut place.elements {
            element.units = units_of_demand(element.weight * place.bound);
            self.demands[element.constraint as usize].add(element.units);
        }
        Ok(())
    }

    /// Reserves the demand of a variable that was read, and that is no part of the system yet.
    pub(crate) fn resume_reserved(&mut self, bound: f64, elements: &[(u32, f64)]) -> Result<(), Malformed> {
        for &(number, weight) in elements {
            let units = units_of_demand(weight * bound);
            if units == UNBOUNDED {
                return Err(malformed());
            }
            self.demands[number as usize].add(units);
        }
        Ok(())
    }

    /// Sets the capacity of a constraint that has no users yet.
    pub(crate) fn resume_capacity(&mut self, constraint: u32, capacity: f64) {
        self.constraints[constraint as usize].capacity = capacity;
        let policy = self.demands[constraint as usize].policy;
        self.demands[constraint as usize] = Demand::new(capacity, policy);
    }

    /// Reads the rest of the state of a system with `alive` variables, which are known.
    pub(crate) fn read(&mut self, alive: usize, from: &mut &[u8]) -> Result<(), Malformed> {
        let (used, saturated): (Vec<(u32, Users)>, Vec<u32>) = wire::read(from)?;
        (self.free, self.modified_constraints, self.modified_variables) = wire::read(from)?;
        self.variables.resize(self.variables.len().max(alive + self.free.len()), Variable::none());
        for (number, users) in used {
            let constraint = self.constraints.get_mut(number as usize).ok_or_else(malformed)?;
            if !constraint.users.is_empty() {
                return Err(malformed());
            }
            for (place, (slot, position)) in (0..).zip(users) {
                let variable = self.variables.get_mut(slot as usize).ok_or_else(malformed)?;
                let element = variable.elements.get_mut(position as usize).ok_or_else(malformed)?;
                if element.constraint != number {
                    return Err(malformed());
                }
                element.place = place;
                let usage = element.weight / variable.penalty;
                constraint.users.push(User { variable: slot, position, usage });
            }
        }
        for (slot, variable) in (0..).zip(&self.variables) {
            for (position, element) in (0..).zip(&variable.elements) {
                let user = self.constraints[element.constraint as usize].users.get(element.place as usize);
                user.filter(|user| (user.variable, user.position) == (slot, position)).ok_or_else(malformed)?;
            }
        }
        // Each element has a user of its own, so no user is left over if there are as many.
        let elements: usize = self.variables.iter().map(|variable| variable.elements.len()).sum();
        let users: usize = self.constraints.iter().map(|constraint| constraint.users.len()).sum();
        for number in saturated {
            self.statuses.get_mut(number as usize).ok_or_else(malformed)?.could_saturate = true;
        }
        let is_right = elements == users && self.marks_modified() && self.frees_the_dead();
        if is_right { Ok(()) } else { Err(malformed()) }
    }

    /// Marks what is listed as modified. Returns false if something is listed twice, or is not there.
    fn marks_modified(&mut self) -> bool {
        let System { statuses, variables, modified_constraints, modified_variables, .. } = self;
        let marks = |status: &mut Status| !std::mem::replace(&mut status.modified, true);
        modified_constraints.iter().all(|&number| statuses.get_mut(number as usize).is_some_and(marks))
            && modified_variables.iter().all(|&slot| {
                let variable = variables.get_mut(slot as usize);
                variable.is_some_and(|variable| !std::mem::replace(&mut variable.modified, true))
            })
    }

    /// Returns true if the free places are those without a variable, each once.
    fn frees_the_dead(&self) -> bool {
        let mut free = self.free.clone();
        free.sort_unstable();
        let dead = (0_u32..).zip(&self.variables).filter(|(_, variable)| !variable.alive);
        free.into_iter().eq(dead.map(|(slot, _)| slot))
    }
}

impl Variable {
    /// Returns a place without a variable.
    fn none() -> Variable {
        let elements = Vec::new();
        Variable { penalty: 1.0, bound: 0.0, own_bound: 0.0, rate: 0.0, elements, modified: false, alive: false }
    }
}
