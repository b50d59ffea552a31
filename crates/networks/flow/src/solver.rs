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
    sharing: Sharing,
    /// The variables that take part, in no order that matters to anyone.
    users: Vec<User>,
    /// Of a pipe since it was empty: the greatest level that a bound allows, and the least at which a variable would fill it.
    cap_max: f64,
    full_min: f64,
}

/// How a constraint stands with solutions. Most are only asked this, so it lies apart, where many fit into a processor's nearest memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Standing {
    /// Whether it was among those that could hold their variables when it was solved last.
    tied: bool,
    /// Whether it has changed since.
    dirty: bool,
    /// In a solution: whether it has part in it.
    collected: bool,
    /// In a solution: whether it can still hold its variables.
    open: bool,
}

/// A variable on a constraint.
#[derive(Clone, Copy, Debug, PartialEq)]
struct User {
    variable: u32,
    /// Which of the variable's uses this is.
    position: u32,
    /// How fast it fills the constraint: its weight over its penalty.
    speed: f64,
}

/// What the variables of a constraint could ask of it. All that comes and goes is counted here, so it lies apart from what only solutions need.
#[derive(Clone, Debug, PartialEq)]
struct Demand {
    /// The sum of weights times bounds, each in [`UNITS`] and rounded up.
    units: u128,
    /// The constraint's capacity in [`UNITS`], rounded down; the greatest there is where it is more than all demands that are counted.
    capacity_units: u64,
    /// Variables whose demand is too much to count, or without bound.
    endless: u32,
    /// As the constraint has it.
    sharing: Sharing,
}

/// A unit of rate in which demands are counted.
const UNITS: f64 = 1024.0;
/// The units of a demand that is as good as endless.
const ENDLESS: u64 = u64::MAX;

/// A demand as a whole number of units, or [`ENDLESS`].
#[inline]
fn units(demand: f64) -> u64 {
    if demand >= 1e15 {
        return ENDLESS;
    }
    let exact = demand * UNITS;
    // Signed: processors convert no others in one step.
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1.03e18")]
    let below = exact as i64;
    #[expect(clippy::cast_sign_loss, reason = "not below zero")]
    let whole = below as u64;
    whole + u64::from((below as f64) < exact)
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
    /// What the variable could ask, as the constraint's demand counts it.
    units: u64,
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
    /// By number of the constraint, like the standings.
    demands: Vec<Demand>,
    standings: Vec<Standing>,
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
        self.constraints.push(Constraint::new(capacity, sharing));
        self.demands.push(Demand { units: 0, capacity_units: units_of_capacity(capacity), endless: 0, sharing });
        self.standings.push(Standing::default());
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
            let Some(known) = variable.uses.iter_mut().find(|known| known.constraint == constraint) else {
                variable.uses.push(Use { constraint, weight, place: 0, units: 0 });
                continue;
            };
            match self.constraints[constraint as usize].sharing {
                Sharing::Shared => known.weight += weight,
                Sharing::Pipe => known.weight = known.weight.max(weight),
            }
        }
        for (position, used) in (0..).zip(&mut variable.uses) {
            let constraint = &mut self.constraints[used.constraint as usize];
            let demand = &mut self.demands[used.constraint as usize];
            used.place = u32::try_from(constraint.users.len()).expect("fewer than 2^32 variables");
            used.units = units(used.weight * bound);
            constraint.users.push(User { variable: slot, position, speed: used.weight / penalty });
            constraint.note(demand, penalty, bound, used);
            let standing = &mut self.standings[used.constraint as usize];
            if standing.tied || constraint.ties(demand) {
                standing.touch(used.constraint, &mut self.dirty_constraints);
            }
        }
        if !std::mem::replace(&mut variable.dirty, true) {
            self.dirty_variables.push(slot);
        }
        VariableId(slot)
    }

    /// Takes a variable away. Its id may be given to another.
    pub fn remove_variable(&mut self, id: VariableId) {
        let uses = std::mem::take(&mut self.variables[id.0 as usize].uses);
        for used in &uses {
            let constraint = &mut self.constraints[used.constraint as usize];
            let demand = &mut self.demands[used.constraint as usize];
            constraint.forget(demand, used);
            let standing = &mut self.standings[used.constraint as usize];
            if standing.tied || constraint.ties(demand) {
                standing.touch(used.constraint, &mut self.dirty_constraints);
            }
            constraint.users.swap_remove(used.place as usize);
            if let Some(&moved) = constraint.users.get(used.place as usize) {
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
        self.standings[constraint as usize].touch(constraint, &mut self.dirty_constraints);
        let changed = &mut self.constraints[constraint as usize];
        let demand = &mut self.demands[constraint as usize];
        (demand.units, demand.capacity_units, demand.endless) = (0, units_of_capacity(capacity), 0);
        // What a pipe remembers is in terms of its capacity.
        let users = std::mem::take(&mut changed.users);
        *changed = Constraint::new(capacity, changed.sharing);
        for user in &users {
            let variable = &self.variables[user.variable as usize];
            changed.note(demand, variable.penalty, variable.bound, &variable.uses[user.position as usize]);
        }
        changed.users = users;
    }

    /// Changes a variable's penalty and bound.
    pub fn set_terms(&mut self, id: VariableId, penalty: f64, bound: f64) {
        assert!(penalty > 0.0 && bound >= 0.0, "a variable cannot have penalty {penalty} and bound {bound}");
        let variable = &mut self.variables[id.0 as usize];
        (variable.penalty, variable.bound) = (penalty, bound);
        for used in &mut variable.uses {
            self.standings[used.constraint as usize].touch(used.constraint, &mut self.dirty_constraints);
            let constraint = &mut self.constraints[used.constraint as usize];
            let demand = &mut self.demands[used.constraint as usize];
            constraint.forget(demand, used);
            used.units = units(used.weight * bound);
            constraint.users[used.place as usize].speed = used.weight / penalty;
            constraint.note(demand, penalty, bound, used);
        }
        if !std::mem::replace(&mut variable.dirty, true) {
            self.dirty_variables.push(id.0);
        }
    }

    /// A variable's rate, as of the last [`System::solve`].
    #[inline]
    pub fn rate(&self, id: VariableId) -> f64 {
        self.variables[id.0 as usize].rate
    }

    /// What a constraint's variables take of it: the sum of weights times rates, or of a pipe the greatest of them.
    pub fn load(&self, constraint: u32) -> f64 {
        let constraint = &self.constraints[constraint as usize];
        let taken = constraint.users.iter().map(|user| {
            let variable = &self.variables[user.variable as usize];
            variable.uses[user.position as usize].weight * variable.rate
        });
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
}

impl Standing {
    /// Has a constraint looked at.
    #[inline]
    fn touch(&mut self, number: u32, dirty: &mut Vec<u32>) {
        if !std::mem::replace(&mut self.dirty, true) {
            dirty.push(number);
        }
    }
}

impl Demand {
    /// Whether nobody is held if so much more is asked.
    #[inline]
    fn has_room(&self, units: u64) -> bool {
        self.endless == 0 && self.units + u128::from(units) <= u128::from(self.capacity_units)
    }
}

impl Constraint {
    fn new(capacity: f64, sharing: Sharing) -> Constraint {
        Constraint { capacity, sharing, users: Vec::new(), cap_max: 0.0, full_min: f64::INFINITY }
    }

    /// Whether it could hold any of its variables: whether all of them together could ask for more than there is. One that held none before and could
    /// hold none now concerns nobody.
    #[inline]
    fn ties(&self, demand: &Demand) -> bool {
        match self.sharing {
            Sharing::Shared => !demand.has_room(0),
            Sharing::Pipe => demand.endless > 0 || self.cap_max > self.full_min,
        }
    }

    /// Adds the demand of a variable of this penalty and bound.
    #[inline]
    fn note(&mut self, demand: &mut Demand, penalty: f64, bound: f64, used: &Use) {
        match used.units {
            ENDLESS => demand.endless += 1,
            units => demand.units += u128::from(units),
        }
        if self.sharing == Sharing::Pipe {
            self.cap_max = self.cap_max.max(bound * penalty);
            self.full_min = self.full_min.min(self.capacity * (penalty / used.weight));
        }
    }

    /// Takes a variable's demand off.
    #[inline]
    fn forget(&mut self, demand: &mut Demand, used: &Use) {
        match used.units {
            ENDLESS => demand.endless -= 1,
            units => demand.units -= u128::from(units),
        }
        if self.sharing == Sharing::Pipe && self.users.len() <= 1 {
            // The extremes of a pipe are those since it was empty.
            (self.cap_max, self.full_min) = (0.0, f64::INFINITY);
        }
    }
}
