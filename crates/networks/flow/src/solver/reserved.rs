//! Unconstrained variables: their demand is reserved, but they are not added to the system.
//!
//! As long as none of a variable's constraints can saturate, its rate is its bound. Then there is nothing to
//! solve, and it suffices to know the variable's demand. Most flows on most platforms are like that.

use super::demand::{UNBOUNDED, units_of_demand};
use super::{System, VariableId};

/// Computes the demand units of a variable's elements. Successive elements mostly have the same weight, so
/// the result for the last weight is kept.
struct UnitsByWeight {
    bound: f64,
    weight: f64,
    units: u64,
}

impl UnitsByWeight {
    fn new(bound: f64) -> UnitsByWeight {
        UnitsByWeight { bound, weight: 0.0, units: 0 }
    }

    #[inline]
    fn at(&mut self, weight: f64) -> u64 {
        if weight.to_bits() != self.weight.to_bits() {
            (self.weight, self.units) = (weight, units_of_demand(weight * self.bound));
        }
        self.units
    }
}

impl System {
    /// Reserves the demand of a variable that is not in the system, and returns true.
    ///
    /// The variable's rate is then its bound. If one of its constraints could saturate with it, the call
    /// reserves nothing and returns false.
    ///
    /// Reserved demands are invisible to solutions. So the caller must replace all of them by variables
    /// ([`System::add_reserved`]) before it adds a variable or changes a capacity, penalty or bound.
    #[inline]
    pub(crate) fn reserve(&mut self, bound: f64, elements: &[(u32, f64)]) -> bool {
        let mut units_at = UnitsByWeight::new(bound);
        for (index, &(number, weight)) in elements.iter().enumerate() {
            let demand = &mut self.demands[number as usize];
            let units = units_at.at(weight);
            let has_room =
                units != UNBOUNDED && !self.statuses[number as usize].could_saturate && demand.has_room(units);
            if !has_room {
                self.release(bound, &elements[..index]);
                return false;
            }
            demand.units += u128::from(units);
        }
        true
    }

    /// Releases a demand that [`System::reserve`] has reserved.
    #[inline]
    pub(crate) fn release(&mut self, bound: f64, elements: &[(u32, f64)]) {
        let mut units_at = UnitsByWeight::new(bound);
        for &(number, weight) in elements {
            self.demands[number as usize].units -= u128::from(units_at.at(weight));
        }
    }

    /// Replaces a reserved demand by a variable whose rate is its bound.
    pub(crate) fn add_reserved(&mut self, penalty: f64, bound: f64, elements: &[(u32, f64)]) -> VariableId {
        self.release(bound, elements);
        let id = self.add_variable(penalty, bound, elements);
        self.variables[id.0 as usize].rate = bound;
        id
    }
}
