//! Max-min fair sharing, solved only where something has changed.
//!
//! *Constraints* have a capacity: a link its bandwidth, a processor its speed. *Variables* are activities; each uses some constraints, with
//! a weight on each, has a *penalty*, may have a *bound*, and gets a rate. The *level* of a variable is `rate × penalty`. The solution makes
//! the least level as great as the constraints allow, then the next, and so on: no variable's level can be raised without lowering that of
//! one that is no better off.
//!
//! # How
//!
//! By progressive filling: all levels rise together from zero. Where a variable reaches its bound, it stays there. Where a constraint is
//! full, all its variables stay there. What they use is taken off the other constraints, and the rest goes on.
//!
//! A constraint that is [`Sharing::Shared`] bounds the sum of `weight × rate`; one that is a [`Sharing::Pipe`] each of them alone, but all its
//! variables stay at the level at which the first of them fills it.
//!
//! # What is solved again
//!
//! Variables and constraints are nodes of a graph, uses its edges. A change touches only the component it lies in, so only that is solved again.
//! A constraint that its variables could not fill even if all had their bounds cannot be what holds any of them, so it joins nobody
//! (`Constraint::ties`): hosts on a wide backbone are as many components.
//!
//! # Order
//!
//! Every floating-point operation happens in an order that depends on the order of the calls alone. What variables could ask of a constraint
//! is summed in integers, as they come and go, so that nothing is left behind when they have gone.
//!
//! *References*: D. Bertsekas, R. Gallager, *Data Networks*, 1992, section 6.5.2 (max-min fairness); A. Legrand, *Scheduling for Large Scale
//! Distributed Computing Systems*, 2015 (bounds, penalties, lazy partial updates).

mod counted;
mod fill;

use fill::Scratch;

/// What is smaller than this share of a capacity, or than this usage, counts as nothing: SimGrid's `maxmin/precision`.
pub(crate) const PRECISION: f64 = 1e-5;

/// How a constraint is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// The sum of what its variables take is bounded.
    Shared,
    /// What each takes is bounded, however many there are.
    Pipe,
}

/// A variable of a [`System`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariableId(pub(crate) u32);

/// What has a capacity.
#[derive(Clone, Debug, PartialEq)]
struct Constraint {
    capacity: f64,
    /// The same in [`UNITS`], rounded down; the greatest there is where it is more than all demands that are counted.
    capacity_units: u64,
    sharing: Sharing,
    /// The variables that take part, in no order that matters to anyone.
    users: Vec<User>,
    demand: Demand,
    /// Whether it was among those that could hold their variables when it was solved last.
    tied: bool,
    /// Whether it has changed since.
    dirty: bool,
}

/// A variable on a constraint.
#[derive(Clone, Copy, Debug, PartialEq)]
struct User {
    variable: u32,
    /// Which of the variable's uses this is.
    position: u32,
    weight: f64,
}

/// What the variables of a constraint could ask of it.
#[derive(Clone, Debug, PartialEq)]
struct Demand {
    /// The sum of weights times bounds, each in [`UNITS`] and rounded up.
    units: u128,
    /// Variables whose demand is too much to count, or without bound.
    endless: u32,
    /// Of a pipe since it was empty: the greatest level that a bound allows, and the least at which a variable would fill it.
    cap_max: f64,
    full_min: f64,
}

impl Default for Demand {
    fn default() -> Demand {
        Demand { units: 0, endless: 0, cap_max: 0.0, full_min: f64::INFINITY }
    }
}

/// A unit of rate in which demands are counted.
const UNITS: f64 = 1024.0;

/// A demand as a whole number of units; `None` where it is as good as endless.
#[inline]
fn units(demand: f64) -> Option<u64> {
    const ENDLESS: f64 = 1e15;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1.03e18")]
    (demand < ENDLESS).then(|| {
        let exact = demand * UNITS;
        // Signed: processors convert no others in one step.
        let below = exact as i64;
        below as u64 + u64::from((below as f64) < exact)
    })
}

/// A capacity as a whole number of units.
fn units_of_capacity(capacity: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as it should")]
    let units = (capacity * UNITS) as u64;
    units
}

/// What takes part in constraints.
#[derive(Clone, Debug, PartialEq)]
struct Variable {
    penalty: f64,
    /// Infinite where there is none.
    bound: f64,
    rate: f64,
    uses: Vec<Use>,
    dirty: bool,
    alive: bool,
}

/// A constraint of a variable.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Use {
    constraint: u32,
    weight: f64,
    /// Where the variable stands among the constraint's users.
    place: u32,
}

/// Constraints and variables, and the rates that max-min fairness gives them.
///
/// # Examples
///
/// Two links in a row: one variable uses both, another only the first.
///
/// ```
/// use parades_flow::solver::{Sharing, System};
/// let mut system = System::default();
/// let wide = system.add_constraint(10.0, Sharing::Shared);
/// let narrow = system.add_constraint(4.0, Sharing::Shared);
/// let both = system.add_variable(1.0, f64::INFINITY, &[(wide, 1.0), (narrow, 1.0)]);
/// let first = system.add_variable(1.0, f64::INFINITY, &[(wide, 1.0)]);
/// system.solve();
/// assert_eq!((system.rate(both), system.rate(first)), (4.0, 6.0));
/// system.remove_variable(both);
/// system.solve();
/// assert_eq!(system.rate(first), 10.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    constraints: Vec<Constraint>,
    variables: Vec<Variable>,
    free: Vec<u32>,
    dirty_constraints: Vec<u32>,
    dirty_variables: Vec<u32>,
    changed: Vec<VariableId>,
    scratch: Scratch,
}

impl System {
    /// Adds a constraint; its number is the count of those before it.
    ///
    /// # Panics
    ///
    /// On a capacity that is negative or not a number.
    pub fn add_constraint(&mut self, capacity: f64, sharing: Sharing) -> u32 {
        assert!(capacity >= 0.0, "a constraint cannot have a capacity of {capacity}");
        let number = u32::try_from(self.constraints.len()).expect("fewer than 2^32 constraints");
        let demand = Demand::default();
        let users = Vec::new();
        let capacity_units = units_of_capacity(capacity);
        let (tied, dirty) = (false, false);
        self.constraints.push(Constraint { capacity, capacity_units, sharing, users, demand, tied, dirty });
        number
    }

    /// Adds a variable that uses these constraints with these weights; a constraint named twice is used with the sum of the weights if it is
    /// shared, with the greater one if it is a pipe. Without constraints its rate is its bound.
    ///
    /// # Panics
    ///
    /// On a penalty or a weight that is not above zero, a negative bound, or no constraint and no bound.
    pub fn add_variable(&mut self, penalty: f64, bound: f64, uses: &[(u32, f64)]) -> VariableId {
        assert!(penalty > 0.0 && bound >= 0.0, "a variable cannot have penalty {penalty} and bound {bound}");
        assert!(bound < f64::INFINITY || !uses.is_empty(), "something must hold a variable");
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = u32::try_from(self.variables.len()).expect("fewer than 2^32 variables");
            let uses = Vec::new();
            self.variables.push(Variable { penalty, bound, rate: 0.0, uses, dirty: false, alive: false });
            slot
        });
        let variable = &mut self.variables[slot as usize];
        (variable.penalty, variable.bound, variable.rate) = (penalty, bound, 0.0);
        variable.alive = true;
        variable.uses.clear();
        for &(constraint, weight) in uses {
            assert!(weight > 0.0, "a variable cannot use a constraint with weight {weight}");
            let shared = self.constraints[constraint as usize].sharing == Sharing::Shared;
            match variable.uses.iter_mut().find(|known| known.constraint == constraint) {
                Some(known) if shared => known.weight += weight,
                Some(known) => known.weight = known.weight.max(weight),
                None => variable.uses.push(Use { constraint, weight, place: 0 }),
            }
        }
        for position in 0..self.variables[slot as usize].uses.len() {
            self.join(slot, position);
        }
        self.touch_variable(slot);
        VariableId(slot)
    }

    /// Takes a variable away. Its id may be given to another.
    pub fn remove_variable(&mut self, id: VariableId) {
        let uses = std::mem::take(&mut self.variables[id.0 as usize].uses);
        for used in &uses {
            self.constraints[used.constraint as usize].forget(&self.variables[id.0 as usize], used.weight);
            self.touch_if_tied(used.constraint);
            let users = &mut self.constraints[used.constraint as usize].users;
            users.swap_remove(used.place as usize);
            if let Some(&moved) = users.get(used.place as usize) {
                self.variables[moved.variable as usize].uses[moved.position as usize].place = used.place;
            }
        }
        let variable = &mut self.variables[id.0 as usize];
        variable.uses = uses; // Its memory is for the next variable in this place.
        variable.uses.clear();
        variable.alive = false;
        self.free.push(id.0);
    }

    /// Changes a constraint's capacity.
    pub fn set_capacity(&mut self, constraint: u32, capacity: f64) {
        assert!(capacity >= 0.0, "a constraint cannot have a capacity of {capacity}");
        self.touch_constraint(constraint);
        let changed = &mut self.constraints[constraint as usize];
        changed.capacity = capacity;
        changed.capacity_units = units_of_capacity(capacity);
        // What a pipe remembers is in terms of its capacity.
        changed.demand = Demand::default();
        let users = std::mem::take(&mut changed.users);
        for &User { variable, weight, .. } in &users {
            changed.note(&self.variables[variable as usize], weight);
        }
        changed.users = users;
    }

    /// Changes a variable's penalty and bound.
    pub fn set_terms(&mut self, id: VariableId, penalty: f64, bound: f64) {
        assert!(penalty > 0.0 && bound >= 0.0, "a variable cannot have penalty {penalty} and bound {bound}");
        for position in 0..self.variables[id.0 as usize].uses.len() {
            let Use { constraint, weight, .. } = self.variables[id.0 as usize].uses[position];
            self.touch_constraint(constraint);
            self.constraints[constraint as usize].forget(&self.variables[id.0 as usize], weight);
        }
        let variable = &mut self.variables[id.0 as usize];
        (variable.penalty, variable.bound) = (penalty, bound);
        for used in &variable.uses {
            self.constraints[used.constraint as usize].note(variable, used.weight);
        }
        self.touch_variable(id.0);
    }

    /// A variable's rate, as of the last [`System::solve`].
    #[inline]
    pub fn rate(&self, id: VariableId) -> f64 {
        self.variables[id.0 as usize].rate
    }

    /// What a constraint's variables take of it: the sum of weights times rates, or of a pipe the greatest of them.
    pub fn load(&self, constraint: u32) -> f64 {
        let constraint = &self.constraints[constraint as usize];
        let taken = constraint.users.iter().map(|user| user.weight * self.variables[user.variable as usize].rate);
        match constraint.sharing {
            Sharing::Shared => taken.sum(),
            Sharing::Pipe => taken.fold(0.0, f64::max),
        }
    }

    /// The variables that use a constraint, in an order that depends on the order of calls alone.
    pub fn users(&self, constraint: u32) -> impl Iterator<Item = VariableId> {
        self.constraints[constraint as usize].users.iter().map(|user| VariableId(user.variable))
    }

    /// Brings all rates up to date, and tells whose rate is another than before.
    pub fn solve(&mut self) -> &[VariableId] {
        self.changed.clear();
        if !self.is_solved() {
            self.collect();
            if self.is_free() {
                self.give_bounds();
            } else {
                self.fill();
            }
        }
        &self.changed
    }

    /// Whether nothing has changed since the last [`System::solve`].
    #[inline]
    pub(crate) fn is_solved(&self) -> bool {
        self.dirty_constraints.is_empty() && self.dirty_variables.is_empty()
    }

    /// Whose rate is another than before, by the last [`System::solve`].
    pub(crate) fn changed(&self) -> &[VariableId] {
        &self.changed
    }

    /// Forgets whose rates have changed.
    pub(crate) fn forget_changed(&mut self) {
        self.changed.clear();
    }

    /// Enters a variable on one of its constraints.
    #[inline]
    fn join(&mut self, slot: u32, position: usize) {
        let variable = &mut self.variables[slot as usize];
        let Use { constraint: number, weight, .. } = variable.uses[position];
        let constraint = &mut self.constraints[number as usize];
        variable.uses[position].place = u32::try_from(constraint.users.len()).expect("fewer than 2^32 variables");
        let position = u32::try_from(position).expect("a route of fewer than 2^32 links");
        constraint.users.push(User { variable: slot, position, weight });
        constraint.note(variable, weight);
        self.touch_if_tied(number);
    }

    /// Has a constraint looked at whose users have changed. One that held none before and could hold none now concerns nobody.
    #[inline]
    fn touch_if_tied(&mut self, number: u32) {
        let constraint = &self.constraints[number as usize];
        if constraint.tied || constraint.ties() {
            self.touch_constraint(number);
        }
    }

    fn touch_constraint(&mut self, number: u32) {
        let constraint = &mut self.constraints[number as usize];
        if !std::mem::replace(&mut constraint.dirty, true) {
            self.dirty_constraints.push(number);
        }
    }

    fn touch_variable(&mut self, slot: u32) {
        let variable = &mut self.variables[slot as usize];
        if !std::mem::replace(&mut variable.dirty, true) {
            self.dirty_variables.push(slot);
        }
    }
}

impl Constraint {
    /// Whether it could hold any of its variables: whether all of them together could ask for more than there is.
    #[inline]
    fn ties(&self) -> bool {
        match self.sharing {
            Sharing::Shared => self.demand.endless > 0 || self.demand.units > u128::from(self.capacity_units),
            Sharing::Pipe => self.demand.endless > 0 || self.demand.cap_max > self.demand.full_min,
        }
    }

    /// Adds a variable's demand.
    #[inline]
    fn note(&mut self, &Variable { penalty, bound, .. }: &Variable, weight: f64) {
        let demand = &mut self.demand;
        match units(weight * bound) {
            Some(units) => demand.units += u128::from(units),
            None => demand.endless += 1,
        }
        if self.sharing == Sharing::Pipe {
            demand.cap_max = demand.cap_max.max(bound * penalty);
            demand.full_min = demand.full_min.min(self.capacity * (penalty / weight));
        }
    }

    /// Takes a variable's demand off.
    fn forget(&mut self, variable: &Variable, weight: f64) {
        match units(weight * variable.bound) {
            Some(units) => self.demand.units -= u128::from(units),
            None => self.demand.endless -= 1,
        }
        if self.sharing == Sharing::Pipe && self.users.len() <= 1 {
            // The extremes of a pipe are those since it was empty.
            let Demand { units, endless, .. } = self.demand;
            self.demand = Demand { units, endless, ..Demand::default() };
        }
    }
}
