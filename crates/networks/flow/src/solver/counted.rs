//! Variables that the system counts on without having them.

use super::{ENDLESS, Sharing, System, VariableId, units};

/// The units of what a variable of one bound asks at one weight after another: neighbours have the same weight, as a rule.
struct Asked {
    bound: f64,
    weight: f64,
    units: u64,
}

impl Asked {
    fn new(bound: f64) -> Asked {
        Asked { bound, weight: 0.0, units: 0 }
    }

    #[inline]
    fn at(&mut self, weight: f64) -> u64 {
        if weight.to_bits() != self.weight.to_bits() {
            (self.weight, self.units) = (weight, units(weight * self.bound));
        }
        self.units
    }
}

impl System {
    /// Counts on a variable of this bound without having it: the variable is free, as no constraint that it would use could hold it, nor those that
    /// are there. Nothing if that is not so. While it is counted on, it has its bound for its rate. Before what may make that untrue,
    /// a variable that is added or anything that changes, all that is counted on must become variables ([`System::add_counted`]).
    #[inline]
    pub(crate) fn reserve(&mut self, bound: f64, uses: &[(u32, f64)]) -> bool {
        let mut asked = Asked::new(bound);
        for (index, &(number, weight)) in uses.iter().enumerate() {
            let demand = &mut self.demands[number as usize];
            let units = asked.at(weight);
            let counts = units != ENDLESS
                && demand.sharing == Sharing::Shared
                && !self.standings[number as usize].tied
                && demand.has_room(units);
            if !counts {
                self.release(bound, &uses[..index]);
                return false;
            }
            demand.units += u128::from(units);
        }
        true
    }

    /// Counts no longer on what was counted on by [`System::reserve`].
    #[inline]
    pub(crate) fn release(&mut self, bound: f64, uses: &[(u32, f64)]) {
        let mut asked = Asked::new(bound);
        for &(number, weight) in uses {
            self.demands[number as usize].units -= u128::from(asked.at(weight));
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
