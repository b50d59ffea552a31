//! The demand on a constraint: the most that its variables could ask for. It tells whether the constraint can
//! saturate.
//!
//! Demands are counted in integers. So they are exact, and removing a variable leaves no rounding error
//! behind.

use super::SharingPolicy;

/// The number of demand units in a rate of one.
const UNITS_PER_RATE: f64 = 1024.0;
/// Rates from here on are not counted in units: they would not fit into 64 bits with room for sums.
const COUNTED_RATE_MAX: f64 = 1e15;
/// The units of a demand that is not counted: its variable has no bound, or a bound above
/// [`COUNTED_RATE_MAX`].
pub(super) const UNBOUNDED: u64 = u64::MAX;

/// Returns a demand in units, rounded up, or [`UNBOUNDED`].
#[inline]
pub(super) fn units_of_demand(rate: f64) -> u64 {
    if rate >= COUNTED_RATE_MAX {
        return UNBOUNDED;
    }
    let exact = rate * UNITS_PER_RATE;
    // Signed, since processors convert signed integers in one instruction, and unsigned ones in several.
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1.03e18")]
    let below = exact as i64;
    #[expect(clippy::cast_sign_loss, reason = "not below zero")]
    let whole = below as u64;
    whole + u64::from((below as f64) < exact)
}

/// Returns a capacity in units, rounded down. A capacity too large for 64 bits gives the largest number.
fn units_of_capacity(capacity: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as it should")]
    let units = (capacity * UNITS_PER_RATE) as u64;
    units
}

/// The demand on one constraint.
///
/// Adding and removing variables mostly needs the demand alone. So demands are stored apart from constraints.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Demand {
    /// The sum of `weight × bound` over the variables with a counted demand, in units, each rounded up.
    pub(super) units: u128,
    /// The capacity in units, rounded down.
    capacity_units: u64,
    /// The number of variables whose demand is [`UNBOUNDED`].
    unbounded: u32,
    /// The sharing policy of the constraint.
    pub(super) policy: SharingPolicy,
}

impl Demand {
    /// Returns the demand on a constraint without variables.
    pub(super) fn new(capacity: f64, policy: SharingPolicy) -> Demand {
        Demand { units: 0, capacity_units: units_of_capacity(capacity), unbounded: 0, policy }
    }

    /// Changes the capacity. Keeps the demand.
    pub(super) fn set_capacity(&mut self, capacity: f64) {
        self.capacity_units = units_of_capacity(capacity);
    }

    /// Returns true if the variables may have `units` more without being limited.
    ///
    /// A fat pipe takes part in no sum, so there the new demand counts alone.
    #[inline]
    pub(super) fn has_room(&self, units: u64) -> bool {
        match self.policy {
            SharingPolicy::Shared => {
                self.unbounded == 0 && self.units + u128::from(units) <= u128::from(self.capacity_units)
            }
            SharingPolicy::FatPipe => units <= self.capacity_units,
        }
    }

    /// Returns true if the constraint could limit a variable: if all its variables at their bounds need more
    /// than the capacity. A fat pipe is part of the bounds, so it limits nobody beyond them.
    #[inline]
    pub(super) fn can_saturate(&self) -> bool {
        !self.has_room(0)
    }

    /// Adds the demand of an element.
    #[inline]
    pub(super) fn add(&mut self, units: u64) {
        match units {
            UNBOUNDED => self.unbounded += 1,
            units => self.units += u128::from(units),
        }
    }

    /// Removes the demand of an element.
    #[inline]
    pub(super) fn remove(&mut self, units: u64) {
        match units {
            UNBOUNDED => self.unbounded -= 1,
            units => self.units -= u128::from(units),
        }
    }
}
