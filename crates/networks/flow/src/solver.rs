//! Max-min fair sharing, solved again only where something has changed: SimGrid's linear max-min (LMM)
//! system.
//!
//! # The problem
//!
//! - A *constraint* has a capacity `C`: the bandwidth of a link in bytes per second, or the speed of a host
//!   in flops per second.
//! - A *variable* is a flow or a computation. The unknown is its *rate* `ρ`. It has a *penalty* `p > 0`, and
//!   a *bound* `b` on its rate, which may be infinite.
//! - An *element* is the use of one constraint by one variable, with a *weight* `w`. The variable takes
//!   `w × ρ` of the capacity.
//!
//! The *level* of a variable is `ρ × p`. The solution maximises the lowest level, then the second lowest, and
//! so on. So a variable's level can only be raised by lowering that of another variable whose level is no
//! higher.
//!
//! A constraint with [`SharingPolicy::Shared`] bounds the sum of its elements: `Σ w × ρ ≤ C`. One with
//! [`SharingPolicy::FatPipe`] bounds each element alone: `w × ρ ≤ C`. So a fat pipe is no more than a bound
//! `C / w` on the rate of each of its variables, and connects none of them. SimGrid's default solver instead
//! fixes all variables of a fat pipe at the level at which the first of them fills it.
//!
//! # The algorithm
//!
//! Progressive filling: all levels rise together from zero, until one of two things happens. If a variable
//! reaches its bound, its rate is fixed there. If a constraint *saturates*, the rates of all its variables
//! are fixed at this level. A fixed variable's share is subtracted from its other constraints. Then the
//! levels of the remaining variables rise further.
//!
//! # Partial solutions
//!
//! Constraints and variables are the nodes of a graph, and elements are its edges. A change affects only its
//! connected component, so only such components are solved again, each by itself. A constraint that cannot
//! saturate, because its variables at their bounds need less than its capacity, limits nobody. So it connects
//! nobody: hosts on a wide backbone are separate components.
//!
//! Components are independent of each other. So if there are many at once, idle workers of the engine help
//! ([`parades_sync::help`]); rates are then set in the order of the components.
//!
//! # Determinism
//!
//! The order of all floating-point operations depends on the order of the calls alone. Demands are sums of
//! integers, so they return exactly to their value when a variable is removed.
//!
//! *References*: D. Bertsekas, R. Gallager, *Data Networks*, 1992, section 6.5.2 (max-min fairness); A.
//! Legrand, *Scheduling for Large Scale Distributed Computing Systems*, 2015 (bounds, penalties, lazy partial
//! updates).

mod change;
mod demand;
mod fill;
mod levels;
mod reserved;
mod save;
mod select;
mod shares;

use demand::{Demand, units_of_demand};
use fill::Problem;
pub(crate) use save::ReadVariable;
use select::Selection;
use shares::Workspaces;

/// The default precision of solutions. A remaining capacity below this share of the capacity counts as zero.
/// A remaining usage below this value counts as zero, too. The value is the default of SimGrid's
/// `maxmin/precision`.
pub(crate) const PRECISION: f64 = 1e-5;

/// How the variables of a constraint share its capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingPolicy {
    /// The capacity bounds the sum over all variables.
    Shared,
    /// The capacity bounds each variable alone, whatever their number (SimGrid's `FATPIPE`).
    FatPipe,
}

/// A variable of a [`System`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VariableId(pub(crate) u32);

/// A resource with a capacity.
#[derive(Clone, Debug, PartialEq)]
struct Constraint {
    /// Per second, in bytes or flops.
    capacity: f64,
    policy: SharingPolicy,
    /// The elements on this constraint. Their order affects no result but the rounding of sums.
    users: Vec<User>,
}

/// The state of a constraint in solutions.
///
/// Most constraints are only asked for their status. So statuses are stored apart from constraints, and many
/// fit into a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Status {
    /// True if the constraint could saturate at the last solution.
    could_saturate: bool,
    /// True if the constraint has been modified since the last solution.
    modified: bool,
    /// True if the constraint belongs to a component that is being solved.
    selected: bool,
}

/// An element as its constraint sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct User {
    variable: u32,
    /// The index of the element in the variable's list.
    position: u32,
    /// The capacity that the element takes per unit of level: `weight / penalty`.
    usage: f64,
}

/// A flow or a computation.
#[derive(Clone, Debug, PartialEq)]
struct Variable {
    penalty: f64,
    /// The greatest rate: the least of `own_bound` and the bounds of the variable's fat pipes.
    bound: f64,
    /// The bound that the caller has set; infinite for none.
    own_bound: f64,
    rate: f64,
    elements: Vec<Element>,
    /// True if the variable has been modified since the last solution.
    modified: bool,
    /// False if the place is free.
    alive: bool,
}

/// An element as its variable sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Element {
    constraint: u32,
    weight: f64,
    /// The index of the element in the constraint's list.
    place: u32,
    /// The element's part of the constraint's demand.
    units: u64,
}

/// Constraints and variables, and the rates that max-min fairness gives to the variables.
///
/// # Examples
///
/// Two links in a row: one variable uses both, another only the first.
///
/// ```
/// use parades_flow::solver::{SharingPolicy, System};
/// let mut system = System::default();
/// let wide = system.add_constraint(10.0, SharingPolicy::Shared);
/// let narrow = system.add_constraint(4.0, SharingPolicy::Shared);
/// let both = system.add_variable(1.0, f64::INFINITY, &[(wide, 1.0), (narrow, 1.0)]);
/// let first = system.add_variable(1.0, f64::INFINITY, &[(wide, 1.0)]);
/// system.solve();
/// assert_eq!((system.rate(both), system.rate(first)), (4.0, 6.0));
/// system.remove_variable(both);
/// system.solve();
/// assert_eq!(system.rate(first), 10.0);
/// ```
#[derive(Clone, Debug, Default)]
pub struct System {
    constraints: Vec<Constraint>,
    /// The number of constraints that are fat pipes.
    fat_pipes: u32,
    /// By number of the constraint.
    demands: Vec<Demand>,
    /// By number of the constraint.
    statuses: Vec<Status>,
    variables: Vec<Variable>,
    /// The free places among the variables.
    free: Vec<u32>,
    modified_constraints: Vec<u32>,
    modified_variables: Vec<u32>,
    /// The variables whose rates the last solution changed.
    changed: Vec<VariableId>,
    selection: Selection,
    /// Working memory, for each thread that helps.
    workspaces: Workspaces,
    precision: Precision,
}

/// The precision of solutions. See [`PRECISION`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Precision(f64);

impl Default for Precision {
    fn default() -> Precision {
        Precision(PRECISION)
    }
}

/// Systems are equal if their next solutions are. Working memory is not compared.
impl PartialEq for System {
    fn eq(&self, other: &System) -> bool {
        let System {
            constraints,
            fat_pipes,
            demands,
            statuses,
            variables,
            free,
            modified_constraints,
            modified_variables,
            changed,
            selection: _,
            workspaces: _,
            precision,
        } = self;
        *constraints == other.constraints
            && *fat_pipes == other.fat_pipes
            && *precision == other.precision
            && *demands == other.demands
            && *statuses == other.statuses
            && *variables == other.variables
            && *free == other.free
            && *modified_constraints == other.modified_constraints
            && *modified_variables == other.modified_variables
            && *changed == other.changed
    }
}

impl System {
    /// Sets the precision of the next solutions: a remaining capacity below this share of the capacity counts
    /// as zero.
    pub fn set_precision(&mut self, precision: f64) {
        self.precision = Precision(precision);
    }

    /// Adds a constraint, and returns its number: the count of the constraints before it.
    ///
    /// # Panics
    ///
    /// If the capacity is negative or not a number.
    pub fn add_constraint(&mut self, capacity: f64, policy: SharingPolicy) -> u32 {
        assert!(capacity >= 0.0, "a constraint cannot have a capacity of {capacity}");
        let number = u32::try_from(self.constraints.len()).expect("fewer than 2^32 constraints");
        self.constraints.push(Constraint { capacity, policy, users: Vec::new() });
        self.fat_pipes += u32::from(policy == SharingPolicy::FatPipe);
        self.demands.push(Demand::new(capacity, policy));
        self.statuses.push(Status::default());
        number
    }

    /// Adds a variable. `elements` are the constraints that it uses, with their weights.
    ///
    /// If a constraint is named twice, a shared one is used with the sum of the weights, and a fat pipe with
    /// the greatest weight. Without constraints the rate is the bound.
    ///
    /// # Panics
    ///
    /// If the penalty or a weight is not above zero, if the bound is negative, or if there is neither a
    /// constraint nor a finite bound.
    pub fn add_variable(&mut self, penalty: f64, bound: f64, elements: &[(u32, f64)]) -> VariableId {
        assert!(penalty > 0.0 && bound >= 0.0, "a variable cannot have penalty {penalty} and bound {bound}");
        assert!(bound < f64::INFINITY || !elements.is_empty(), "something must hold a variable");
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = u32::try_from(self.variables.len()).expect("fewer than 2^32 variables");
            let elements = Vec::new();
            let (own_bound, rate) = (bound, 0.0);
            self.variables.push(Variable { penalty, bound, own_bound, rate, elements, modified: false, alive: false });
            slot
        });
        let variable = &mut self.variables[slot as usize];
        (variable.penalty, variable.bound, variable.own_bound, variable.rate) = (penalty, bound, bound, 0.0);
        variable.alive = true;
        variable.elements.clear();
        variable.use_constraints(elements, &self.constraints);
        variable.renew_bound(&self.constraints, self.fat_pipes);
        let bound = variable.bound;
        for (position, element) in (0..).zip(&mut variable.elements) {
            let constraint = &mut self.constraints[element.constraint as usize];
            let demand = &mut self.demands[element.constraint as usize];
            element.place = u32::try_from(constraint.users.len()).expect("fewer than 2^32 variables");
            element.units = units_of_demand(element.weight * bound);
            constraint.users.push(User { variable: slot, position, usage: element.weight / penalty });
            demand.add(element.units);
            let status = &mut self.statuses[element.constraint as usize];
            if status.could_saturate || demand.can_saturate() {
                status.mark_modified(element.constraint, &mut self.modified_constraints);
            }
        }
        self.mark_variable_modified(slot);
        VariableId(slot)
    }

    #[inline]
    fn mark_variable_modified(&mut self, slot: u32) {
        if !std::mem::replace(&mut self.variables[slot as usize].modified, true) {
            self.modified_variables.push(slot);
        }
    }

    /// Removes a variable. A later variable may get its id.
    pub fn remove_variable(&mut self, id: VariableId) {
        let mut elements = std::mem::take(&mut self.variables[id.0 as usize].elements);
        for element in &elements {
            let constraint = &mut self.constraints[element.constraint as usize];
            let demand = &mut self.demands[element.constraint as usize];
            demand.remove(element.units);
            let status = &mut self.statuses[element.constraint as usize];
            if status.could_saturate || demand.can_saturate() {
                status.mark_modified(element.constraint, &mut self.modified_constraints);
            }
            constraint.users.swap_remove(element.place as usize);
            if let Some(&moved) = constraint.users.get(element.place as usize) {
                self.variables[moved.variable as usize].elements[moved.position as usize].place = element.place;
            }
        }
        elements.clear();
        let variable = &mut self.variables[id.0 as usize];
        variable.elements = elements; // The next variable in this place reuses the memory.
        variable.alive = false;
        self.free.push(id.0);
    }

    /// Returns the rate of a variable as of the last [`System::solve`].
    #[inline]
    pub fn rate(&self, id: VariableId) -> f64 {
        self.variables[id.0 as usize].rate
    }

    /// Returns the load on a constraint: the sum of `weight × rate` over its variables, or for a fat pipe the
    /// greatest.
    pub fn load(&self, constraint: u32) -> f64 {
        let constraint = &self.constraints[constraint as usize];
        let loads = constraint.users.iter().map(|user| {
            let variable = &self.variables[user.variable as usize];
            variable.elements[user.position as usize].weight * variable.rate
        });
        match constraint.policy {
            SharingPolicy::Shared => loads.sum(),
            SharingPolicy::FatPipe => loads.fold(0.0, f64::max),
        }
    }

    /// Returns the variables that use a constraint. Their order depends on the order of the calls alone.
    pub fn users(&self, constraint: u32) -> impl Iterator<Item = VariableId> {
        self.constraints[constraint as usize].users.iter().map(|user| VariableId(user.variable))
    }

    /// Brings all rates up to date, and returns the variables whose rates have changed.
    pub fn solve(&mut self) -> &[VariableId] {
        self.changed.clear();
        if !self.is_solved() {
            self.select_components();
            self.fill();
        }
        &self.changed
    }

    /// Solves the selected components, each by itself, and sets the rates of their variables in the order of
    /// the components.
    fn fill(&mut self) {
        if !self.fill_with_help() {
            let System { constraints, statuses, variables, selection, workspaces, precision, .. } = self;
            let problem = Problem { constraints, statuses, variables, precision: precision.0 };
            selection.fill(0..selection.components.len(), problem, workspaces.first());
        }
        let System { statuses, variables, changed, selection, workspaces, .. } = self;
        for (slot, rate) in workspaces.take_rates() {
            let variable = &mut variables[slot as usize];
            if variable.rate.to_bits() != rate.to_bits() {
                variable.rate = rate;
                changed.push(VariableId(slot));
            }
        }
        selection.release(statuses);
    }

    /// Returns true if nothing has been modified since the last [`System::solve`].
    #[inline]
    pub(crate) fn is_solved(&self) -> bool {
        self.modified_constraints.is_empty() && self.modified_variables.is_empty()
    }

    /// Returns the variables whose rates the last [`System::solve`] changed.
    pub(crate) fn changed(&self) -> &[VariableId] {
        &self.changed
    }

    /// Empties the list of variables whose rates have changed.
    pub(crate) fn clear_changed(&mut self) {
        self.changed.clear();
    }
}

impl Variable {
    /// Adds the constraints that the variable uses. Several uses of one constraint are one.
    #[inline]
    fn use_constraints(&mut self, elements: &[(u32, f64)], constraints: &[Constraint]) {
        for &(constraint, weight) in elements {
            assert!(weight > 0.0, "a variable cannot use a constraint with weight {weight}");
            let Some(known) = self.elements.iter_mut().find(|known| known.constraint == constraint) else {
                self.elements.push(Element { constraint, weight, place: 0, units: 0 });
                continue;
            };
            match constraints[constraint as usize].policy {
                SharingPolicy::Shared => known.weight += weight,
                SharingPolicy::FatPipe => known.weight = known.weight.max(weight),
            }
        }
    }
}

impl Status {
    /// Marks a constraint as modified, so that the next solution includes it.
    #[inline]
    fn mark_modified(&mut self, number: u32, modified: &mut Vec<u32>) {
        if !std::mem::replace(&mut self.modified, true) {
            modified.push(number);
        }
    }
}
