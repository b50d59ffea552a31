//! One solution: progressive filling of the selected subsystem.

use super::levels::{BoundLevels, Level};
use super::{Constraint, Precision, Status, System, User, Variable, VariableId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The working memory of a solution, kept between solutions to be reused.
///
/// It holds no information between solutions, so a copy of a system gets an empty one.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The constraints of the subsystem.
    pub(super) constraints: Vec<u32>,
    /// The variables of the subsystem.
    pub(super) variables: Vec<u32>,
    /// By number of the constraint.
    pub(super) residuals: Vec<Residual>,
    /// By slot of the variable.
    pub(super) stages: Vec<Stage>,
    /// Constraints with the level at which each saturates, the lowest first. A level may be out of date: too
    /// low.
    saturations: BinaryHeap<Reverse<(Level, u32)>>,
    bound_levels: BoundLevels,
}

impl Clone for Scratch {
    fn clone(&self) -> Scratch {
        Scratch::default()
    }
}

/// The remainder of a constraint, without the loads of the fixed variables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Residual {
    /// The number of the constraint's variables whose rates are not fixed.
    unfixed: u32,
    /// The capacity minus the loads of the fixed variables.
    remaining: f64,
    /// The capacity that the unfixed variables take per unit of level: the sum of their `weight / penalty`.
    usage: f64,
    /// `remaining / usage` before the last variable was fixed: the level at which the constraint saturates.
    last_level: f64,
}

/// The state of a variable in a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// The variable does not belong to the subsystem.
    #[default]
    NotSelected,
    /// The variable's rate is not fixed yet.
    Unfixed,
    /// The variable's rate is fixed.
    Fixed,
}

impl System {
    /// Returns true if the subsystem has no constraint. Then the rate of each of its variables is its bound.
    #[inline]
    pub(super) fn is_unconstrained(&self) -> bool {
        self.scratch.constraints.is_empty()
    }

    /// Sets the rates of a subsystem without constraints. The result is that of [`System::fill`].
    #[inline]
    pub(super) fn set_rates_to_bounds(&mut self) {
        for &slot in &self.scratch.variables {
            self.scratch.stages[slot as usize] = Stage::NotSelected;
            let variable = &mut self.variables[slot as usize];
            if variable.rate.to_bits() != variable.bound.to_bits() {
                variable.rate = variable.bound;
                self.changed.push(VariableId(slot));
            }
        }
    }

    /// Computes the rates of the subsystem by progressive filling.
    pub(super) fn fill(&mut self) {
        let System { constraints, statuses, variables, changed, scratch, precision: Precision(precision), .. } = self;
        let Scratch { constraints: selected, variables: reached, residuals, stages, saturations, bound_levels } =
            scratch;
        let unfixed = reached.len();
        let mut filling = Filling {
            constraints,
            statuses,
            variables,
            changed,
            residuals,
            stages,
            saturations,
            bound_levels,
            unfixed,
            precision: *precision,
        };
        filling.begin(selected, reached);
        if !filling.fix_all_at_first_saturation() {
            filling.raise_levels();
            filling.fix_leftovers(reached);
        }
        filling.finish(selected, reached);
    }
}

/// A solution in progress.
struct Filling<'a> {
    constraints: &'a [Constraint],
    statuses: &'a mut [Status],
    variables: &'a mut [Variable],
    changed: &'a mut Vec<VariableId>,
    residuals: &'a mut [Residual],
    stages: &'a mut [Stage],
    saturations: &'a mut BinaryHeap<Reverse<(Level, u32)>>,
    bound_levels: &'a mut BoundLevels,
    /// The number of variables whose rates are not fixed.
    unfixed: usize,
    precision: f64,
}

impl Filling<'_> {
    /// Begins with no variable fixed and all levels at zero.
    #[inline]
    fn begin(&mut self, selected: &[u32], reached: &[u32]) {
        let mut saturations = std::mem::take(self.saturations).into_vec();
        for &number in selected {
            let constraint = &self.constraints[number as usize];
            let status = &mut self.statuses[number as usize];
            status.active = status.could_saturate;
            let mut residual = Residual::default();
            if status.active {
                residual.unfixed = u32::try_from(constraint.users.len()).expect("fewer than 2^32 variables");
                residual.remaining = constraint.capacity;
                residual.usage = constraint.users.iter().map(|user| user.usage).sum();
                residual.last_level = residual.remaining / residual.usage;
                saturations.push(Reverse((Level::new(residual.last_level), number)));
            }
            self.residuals[number as usize] = residual;
        }
        *self.saturations = saturations.into();
        let bounded = reached.iter().map(|&slot| (&self.variables[slot as usize], slot));
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
            || self.bound_levels.lowest(self.stages).is_some_and(|(bound_level, _)| bound_level < level)
        {
            return false;
        }
        for &User { variable: slot, .. } in &self.constraints[number as usize].users {
            let variable = &mut self.variables[slot as usize];
            let rate = residual.last_level / variable.penalty;
            if variable.rate.to_bits() != rate.to_bits() {
                variable.rate = rate;
                self.changed.push(VariableId(slot));
            }
        }
        true
    }

    /// Raises the level from one bound or saturation to the next, until all rates are fixed or nothing is
    /// left that could fix one.
    fn raise_levels(&mut self) {
        while self.unfixed > 0 {
            let bound = self.bound_levels.lowest(self.stages);
            let saturation = self.saturations.peek().map(|&Reverse(first)| first);
            match (bound, saturation) {
                (None, None) => return,
                (Some((level, slot)), saturation) if saturation.is_none_or(|(first, _)| level < first) => {
                    let rate = self.variables[slot as usize].bound;
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
        let constraint = &self.constraints[number as usize];
        let residual = &mut self.residuals[number as usize];
        if !self.statuses[number as usize].active {
            return;
        }
        let now = residual.remaining / residual.usage;
        if Level::new(now) > level {
            // Variables have been fixed at lower levels since, so the constraint saturates later.
            residual.last_level = now;
            self.saturations.push(Reverse((Level::new(now), number)));
            return;
        }
        self.statuses[number as usize].active = false;
        for &User { variable, .. } in &constraint.users {
            if self.stages[variable as usize] == Stage::Unfixed {
                let rate = now / self.variables[variable as usize].penalty;
                self.fix(variable, rate);
            }
        }
    }

    /// Fixes the rate of a variable, and subtracts its load from its active constraints.
    #[inline]
    fn fix(&mut self, slot: u32, rate: f64) {
        self.stages[slot as usize] = Stage::Fixed;
        self.unfixed -= 1;
        let variable = &mut self.variables[slot as usize];
        if variable.rate.to_bits() != rate.to_bits() {
            variable.rate = rate;
            self.changed.push(VariableId(slot));
        }
        for element in &variable.elements {
            let status = &mut self.statuses[element.constraint as usize];
            if !status.active {
                continue;
            }
            let residual = &mut self.residuals[element.constraint as usize];
            residual.unfixed -= 1;
            let constraint = &self.constraints[element.constraint as usize];
            residual.last_level = residual.remaining / residual.usage;
            residual.remaining -= element.weight * rate;
            residual.usage -= element.weight / variable.penalty;
            // Below the precision, the remainders are rounding errors, and their quotient would be
            // meaningless.
            status.active = residual.unfixed > 0
                && residual.remaining > constraint.capacity * self.precision
                && residual.usage > self.precision;
        }
    }

    /// Fixes variables all of whose constraints were left with less than the precision.
    ///
    /// Such a variable gets the lowest of its constraints' last levels: each was computed while the
    /// variable's own share still remained.
    fn fix_leftovers(&mut self, reached: &[u32]) {
        for &slot in reached {
            if self.unfixed == 0 {
                return;
            }
            if self.stages[slot as usize] != Stage::Unfixed {
                continue;
            }
            let variable = &self.variables[slot as usize];
            let numbers = variable.elements.iter().map(|element| element.constraint as usize);
            let selected = numbers.filter(|&number| self.statuses[number].selected);
            let level = selected.map(|number| self.residuals[number].last_level).fold(f64::INFINITY, f64::min);
            let rate = (level / variable.penalty).min(variable.bound);
            debug_assert!(rate.is_finite(), "nothing holds a variable");
            self.fix(slot, rate);
        }
    }

    /// Leaves statuses and working memory as the next solution expects them.
    fn finish(&mut self, selected: &[u32], reached: &[u32]) {
        for &number in selected {
            let status = &mut self.statuses[number as usize];
            (status.selected, status.active) = (false, false);
        }
        for &slot in reached {
            self.stages[slot as usize] = Stage::NotSelected;
        }
        self.saturations.clear();
    }
}
