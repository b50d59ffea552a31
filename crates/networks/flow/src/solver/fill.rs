//! The solution of a component: progressive filling.

use super::levels::{BoundLevels, Level};
use super::{Constraint, Status, User, Variable};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The constraints and variables of a system, as a solution reads them.
#[derive(Clone, Copy)]
pub(super) struct Problem<'a> {
    pub(super) constraints: &'a [Constraint],
    pub(super) statuses: &'a [Status],
    pub(super) variables: &'a [Variable],
    pub(super) precision: f64,
}

/// The working memory of solutions, kept between them to be reused.
///
/// Beside the rates, which are taken, it holds no information between solutions, so a copy of a system gets
/// an empty one.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    /// The rates that were found, by slot of the variable.
    pub(super) rates: Vec<(u32, f64)>,
    /// By number of the constraint.
    residuals: Vec<Residual>,
    /// By slot of the variable: true if its rate is fixed.
    fixed: Vec<bool>,
    /// Constraints with the level at which each saturates, the lowest first. A level may be out of date: too
    /// low.
    saturations: BinaryHeap<Reverse<(Level, u32)>>,
    bound_levels: BoundLevels,
}

impl Clone for Workspace {
    fn clone(&self) -> Workspace {
        Workspace::default()
    }
}

/// The remainder of a constraint, without the loads of the fixed variables.
#[derive(Clone, Copy, Debug, Default)]
struct Residual {
    /// True if the constraint belongs to the component and can still limit its variables.
    active: bool,
    /// The number of the constraint's variables whose rates are not fixed.
    unfixed: u32,
    /// The capacity minus the loads of the fixed variables.
    remaining: f64,
    /// The capacity that the unfixed variables take per unit of level: the sum of their `weight / penalty`.
    usage: f64,
    /// `remaining / usage` before the last variable was fixed: the level at which the constraint saturates.
    last_level: f64,
}

impl Workspace {
    /// Makes room for a system.
    #[inline]
    pub(super) fn make_room(&mut self, problem: Problem<'_>) {
        if self.residuals.len() < problem.constraints.len() {
            self.residuals.resize(problem.constraints.len(), Residual::default());
        }
        if self.fixed.len() < problem.variables.len() {
            self.fixed.resize(problem.variables.len(), false);
        }
    }

    /// Finds the rates of a component.
    pub(super) fn fill(&mut self, problem: Problem<'_>, constraints: &[u32], variables: &[u32]) {
        let Workspace { rates, residuals, fixed, saturations, bound_levels } = self;
        if constraints.is_empty() {
            // The rate of each variable is its bound.
            let bounds = variables.iter().map(|&slot| (slot, problem.variables[slot as usize].bound));
            return rates.extend(bounds);
        }
        let unfixed = variables.len();
        let mut filling = Filling { problem, rates, residuals, fixed, saturations, bound_levels, unfixed };
        filling.begin(constraints, variables);
        if !filling.fix_all_at_first_saturation() {
            filling.raise_levels();
            filling.fix_leftovers(variables);
        }
        filling.finish(constraints);
    }
}

/// A solution in progress.
struct Filling<'a> {
    problem: Problem<'a>,
    rates: &'a mut Vec<(u32, f64)>,
    residuals: &'a mut [Residual],
    fixed: &'a mut [bool],
    saturations: &'a mut BinaryHeap<Reverse<(Level, u32)>>,
    bound_levels: &'a mut BoundLevels,
    /// The number of variables whose rates are not fixed.
    unfixed: usize,
}

impl Filling<'_> {
    /// Begins with no variable fixed and all levels at zero.
    #[inline]
    fn begin(&mut self, constraints: &[u32], variables: &[u32]) {
        let Problem { constraints: all, statuses, variables: all_variables, .. } = self.problem;
        let mut saturations = std::mem::take(self.saturations).into_vec();
        for &number in constraints {
            let constraint = &all[number as usize];
            let mut residual = Residual { active: statuses[number as usize].could_saturate, ..Residual::default() };
            if residual.active {
                residual.unfixed = u32::try_from(constraint.users.len()).expect("fewer than 2^32 variables");
                residual.remaining = constraint.capacity;
                residual.usage = constraint.users.iter().map(|user| user.usage).sum();
                residual.last_level = residual.remaining / residual.usage;
                saturations.push(Reverse((Level::new(residual.last_level), number)));
            }
            self.residuals[number as usize] = residual;
        }
        *self.saturations = saturations.into();
        variables.iter().for_each(|&slot| self.fixed[slot as usize] = false);
        let bounded = variables.iter().map(|&slot| (&all_variables[slot as usize], slot));
        let bounded = bounded.filter(|(variable, _)| variable.bound < f64::INFINITY);
        self.bound_levels.refill(bounded.map(|(variable, slot)| (Level::new(variable.bound * variable.penalty), slot)));
    }

    /// Fixes all rates if the constraint that saturates first has all variables, as in most solutions.
    /// Returns false, and does nothing, if that is not so.
    ///
    /// The result is that of [`Filling::raise_levels`].
    #[inline]
    fn fix_all_at_first_saturation(&mut self) -> bool {
        let Some(&Reverse((level, number))) = self.saturations.peek() else { return false };
        let residual = &self.residuals[number as usize];
        if residual.unfixed as usize != self.unfixed
            || self.bound_levels.lowest(self.fixed).is_some_and(|(bound_level, _)| bound_level < level)
        {
            return false;
        }
        for &User { variable: slot, .. } in &self.problem.constraints[number as usize].users {
            let rate = residual.last_level / self.problem.variables[slot as usize].penalty;
            self.rates.push((slot, rate));
        }
        true
    }

    /// Raises the level from one bound or saturation to the next, until all rates are fixed or nothing is
    /// left that could fix one.
    fn raise_levels(&mut self) {
        while self.unfixed > 0 {
            let bound = self.bound_levels.lowest(self.fixed);
            let saturation = self.saturations.peek().map(|&Reverse(first)| first);
            match (bound, saturation) {
                (None, None) => return,
                (Some((level, slot)), saturation) if saturation.is_none_or(|(first, _)| level < first) => {
                    let rate = self.problem.variables[slot as usize].bound;
                    self.fix(slot, rate);
                }
                (_, Some((level, number))) => {
                    self.saturations.pop();
                    self.saturate(level, number);
                }
                (Some(_), None) => unreachable!("taken by the arm above"),
            }
        }
    }

    /// Fixes the variables of a constraint at its saturation level, unless `level` is out of date.
    fn saturate(&mut self, level: Level, number: u32) {
        let residual = &mut self.residuals[number as usize];
        if !residual.active {
            return;
        }
        let now = residual.remaining / residual.usage;
        if Level::new(now) > level {
            // Variables have been fixed at lower levels since, so the constraint saturates later.
            residual.last_level = now;
            self.saturations.push(Reverse((Level::new(now), number)));
            return;
        }
        residual.active = false;
        for &User { variable, .. } in &self.problem.constraints[number as usize].users {
            if !self.fixed[variable as usize] {
                let rate = now / self.problem.variables[variable as usize].penalty;
                self.fix(variable, rate);
            }
        }
    }

    /// Fixes the rate of a variable, and subtracts its load from its active constraints.
    #[inline]
    fn fix(&mut self, slot: u32, rate: f64) {
        self.fixed[slot as usize] = true;
        self.unfixed -= 1;
        self.rates.push((slot, rate));
        let Problem { constraints, variables, precision, .. } = self.problem;
        let variable = &variables[slot as usize];
        for element in &variable.elements {
            let residual = &mut self.residuals[element.constraint as usize];
            if !residual.active {
                continue;
            }
            residual.unfixed -= 1;
            let constraint = &constraints[element.constraint as usize];
            residual.last_level = residual.remaining / residual.usage;
            residual.remaining -= element.weight * rate;
            residual.usage -= element.weight / variable.penalty;
            // Below the precision, the remainders are rounding errors, and their quotient would be
            // meaningless.
            residual.active = residual.unfixed > 0
                && residual.remaining > constraint.capacity * precision
                && residual.usage > precision;
        }
    }

    /// Fixes variables all of whose constraints were left with less than the precision.
    ///
    /// Such a variable gets the lowest of its constraints' last levels: each was computed while the
    /// variable's own share still remained.
    fn fix_leftovers(&mut self, variables: &[u32]) {
        for &slot in variables {
            if self.unfixed == 0 {
                return;
            }
            if self.fixed[slot as usize] {
                continue;
            }
            let variable = &self.problem.variables[slot as usize];
            let numbers = variable.elements.iter().map(|element| element.constraint as usize);
            // The others limit nobody, and may belong to no component.
            let limiting = numbers.filter(|&number| self.problem.statuses[number].could_saturate);
            let level = limiting.map(|number| self.residuals[number].last_level).fold(f64::INFINITY, f64::min);
            let rate = (level / variable.penalty).min(variable.bound);
            debug_assert!(rate.is_finite(), "nothing holds a variable");
            self.fix(slot, rate);
        }
    }

    /// Leaves the working memory as the next solution expects it.
    fn finish(&mut self, constraints: &[u32]) {
        constraints.iter().for_each(|&number| self.residuals[number as usize].active = false);
        self.saturations.clear();
    }
}
