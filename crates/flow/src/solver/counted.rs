//! Variables that the system counts on without having them.

use super::{Sharing, System, VariableId, units};

impl System {
    /// Counts on a variable of this bound without having it: the variable is free, as no constraint that it would use could hold it, nor those that
    /// are there. Nothing if that is not so. While it is counted on, it has its bound for its rate. Before what may make that untrue,
    /// a variable that is added or anything that changes, all that is counted on must become variables ([`System::add_counted`]).
    #[inline]
    pub(crate) fn reserve(&mut self, bound: f64, uses: &[(u32, f64)]) -> bool {
        for (index, &(number, weight)) in uses.iter().enumerate() {
            let constraint = &mut self.constraints[number as usize];
            let units = units(weight * bound).filter(|_| constraint.sharing == Sharing::Shared && !constraint.tied);
            let counted = units.is_some();
            constraint.demand.units += u128::from(units.unwrap_or(0));
            if !counted || constraint.ties() {
                self.release(bound, &uses[..index + usize::from(counted)]);
                return false;
            }
        }
        true
    }

    /// Counts no longer on what was counted on by [`System::reserve`].
    #[inline]
    pub(crate) fn release(&mut self, bound: f64, uses: &[(u32, f64)]) {
        for &(number, weight) in uses {
            let units = units(weight * bound).expect("what is counted on is not endless");
            self.constraints[number as usize].demand.units -= u128::from(units);
        }
    }

    /// Adds a variable that has been counted on, with its bound for its rate.
    pub(crate) fn add_counted(&mut self, penalty: f64, bound: f64, uses: &[(u32, f64)]) -> VariableId {
        self.release(bound, uses);
        let id = self.add_variable(penalty, bound, uses);
        self.variables[id.0 as usize].rate = bound;
        id
    }
}
