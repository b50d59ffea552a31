//! One solution: which part of the system is concerned, and progressive filling of that part.

use super::{Constraint, PRECISION, Sharing, Standing, System, User, Variable, VariableId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a solution needs besides the system, kept so that its memory is used again.
///
/// It holds nothing between solutions, so a copy of a system has a fresh one.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    constraints: Vec<u32>,
    variables: Vec<u32>,
    /// By number of the constraint.
    tally: Vec<Tally>,
    /// By slot of the variable.
    stage: Vec<Stage>,
    full: BinaryHeap<Reverse<(Level, u32)>>,
    caps: Caps,
}

impl PartialEq for Scratch {
    fn eq(&self, _: &Scratch) -> bool {
        true
    }
}

impl Clone for Scratch {
    fn clone(&self) -> Scratch {
        Scratch::default()
    }
}

/// A level that is at least zero, as bits that have the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Level(u64);

impl Level {
    #[inline]
    fn new(level: f64) -> Level {
        debug_assert!(level >= 0.0, "a level of {level}");
        Level(level.to_bits())
    }
}

/// What is left of a constraint while it is filled.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Variables without a rate yet.
    waiting: u32,
    remaining: f64,
    /// How fast it fills: the sum of weight over penalty; of a pipe, the greatest.
    usage: f64,
    /// The level at which it would be full, when it was found to be nearly so.
    last_level: f64,
}

/// What is known of a variable in a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// It has no part in it.
    #[default]
    Outside,
    /// It has no rate yet.
    Waiting,
    /// It has its rate.
    Fixed,
}

/// The levels at which variables reach their bounds. As a rule a constraint is full before the first of them, which holds all: they are put in order
/// only when a second is asked for.
#[derive(Debug, Default)]
struct Caps {
    levels: Vec<(Level, u32)>,
    /// The place of the first of those left, where they are in order.
    first: usize,
    sorted: bool,
}

impl Caps {
    /// Takes up new levels.
    fn refill(&mut self, levels: impl Iterator<Item = (Level, u32)>) {
        self.levels.clear();
        self.levels.extend(levels);
        (self.first, self.sorted) = (0, false);
        // The least comes first.
        let least =
            (1..self.levels.len()).fold(0, |least, at| if self.levels[at] < self.levels[least] { at } else { least });
        if least > 0 {
            self.levels.swap(0, least);
        }
    }

    /// The least of those whose variables wait.
    #[inline]
    fn least(&mut self, stage: &[Stage]) -> Option<(Level, u32)> {
        loop {
            let &(level, slot) = self.levels.get(self.first)?;
            if stage[slot as usize] == Stage::Waiting {
                return Some((level, slot));
            }
            self.first += 1;
            if !self.sorted {
                self.levels[1..].sort_unstable();
                self.sorted = true;
            }
        }
    }
}

impl System {
    /// Finds the constraints and variables that changes may have reached.
    pub(super) fn collect(&mut self) {
        let System { constraints, demands, standings, variables, scratch, .. } = self;
        if scratch.tally.len() < constraints.len() {
            scratch.tally.resize(constraints.len(), Tally::default());
        }
        if scratch.stage.len() < variables.len() {
            scratch.stage.resize(variables.len(), Stage::Outside);
        }
        scratch.constraints.clear();
        scratch.variables.clear();
        for number in self.dirty_constraints.drain(..) {
            let constraint = &constraints[number as usize];
            let standing = &mut standings[number as usize];
            standing.dirty = false;
            // What held its variables before must let them go, even if it holds none now.
            let ties = constraint.ties(&demands[number as usize]);
            let tied = std::mem::replace(&mut standing.tied, ties);
            if (tied || ties) && !constraint.users.is_empty() {
                standing.collected = true;
                scratch.constraints.push(number);
            }
        }
        for slot in self.dirty_variables.drain(..) {
            let variable = &mut variables[slot as usize];
            variable.dirty = false;
            if variable.alive {
                scratch.reach(slot);
            }
        }
        let (mut next_constraint, mut next_variable) = (0, 0);
        loop {
            if let Some(&number) = scratch.constraints.get(next_constraint) {
                next_constraint += 1;
                for user in &constraints[number as usize].users {
                    scratch.reach(user.variable);
                }
            } else if let Some(&slot) = scratch.variables.get(next_variable) {
                next_variable += 1;
                for used in &variables[slot as usize].uses {
                    let standing = &mut standings[used.constraint as usize];
                    if standing.tied && !standing.collected {
                        standing.collected = true;
                        scratch.constraints.push(used.constraint);
                    }
                }
            } else {
                return;
            }
        }
    }

    /// Whether no constraint holds any of the variables collected, so that each has its bound.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.scratch.constraints.is_empty()
    }

    /// Gives the variables collected their bounds, as [`System::fill`] would where no constraint was collected.
    #[inline]
    pub(super) fn give_bounds(&mut self) {
        for &slot in &self.scratch.variables {
            self.scratch.stage[slot as usize] = Stage::Outside;
            let variable = &mut self.variables[slot as usize];
            if variable.rate.to_bits() != variable.bound.to_bits() {
                variable.rate = variable.bound;
                self.changed.push(VariableId(slot));
            }
        }
    }

    /// Gives the variables collected their rates.
    pub(super) fn fill(&mut self) {
        let System { constraints, standings, variables, changed, scratch, .. } = self;
        let Scratch { constraints: collected, variables: reached, tally, stage, full, caps } = scratch;
        let waiting = reached.len();
        let mut filling = Filling { constraints, standings, variables, changed, tally, stage, full, caps, waiting };
        filling.open(collected, reached);
        if !filling.fill_at_once() {
            filling.rise();
            filling.leftovers(reached);
        }
        filling.close(collected, reached);
    }
}

impl Scratch {
    #[inline]
    fn reach(&mut self, slot: u32) {
        let stage = &mut self.stage[slot as usize];
        if *stage == Stage::Outside {
            *stage = Stage::Waiting;
            self.variables.push(slot);
        }
    }
}

/// A solution on its way.
struct Filling<'a> {
    constraints: &'a [Constraint],
    standings: &'a mut [Standing],
    variables: &'a mut [Variable],
    changed: &'a mut Vec<VariableId>,
    tally: &'a mut [Tally],
    stage: &'a mut [Stage],
    full: &'a mut BinaryHeap<Reverse<(Level, u32)>>,
    caps: &'a mut Caps,
    /// Variables without a rate yet.
    waiting: usize,
}

impl Filling<'_> {
    /// Begins with empty constraints and all levels at zero.
    #[inline]
    fn open(&mut self, collected: &[u32], reached: &[u32]) {
        let mut full = std::mem::take(self.full).into_vec();
        for &number in collected {
            let constraint = &self.constraints[number as usize];
            let standing = &mut self.standings[number as usize];
            standing.open = standing.tied;
            let mut left = Tally::default();
            if standing.open {
                left.waiting = u32::try_from(constraint.users.len()).expect("fewer than 2^32 variables");
                left.remaining = constraint.capacity;
                left.usage = constraint.usage(|_| true);
                left.last_level = left.remaining / left.usage;
                full.push(Reverse((Level::new(left.last_level), number)));
            }
            self.tally[number as usize] = left;
        }
        *self.full = full.into();
        let bounded = reached.iter().map(|&slot| (&self.variables[slot as usize], slot));
        let bounded = bounded.filter(|(variable, _)| variable.bound < f64::INFINITY);
        self.caps.refill(bounded.map(|(variable, slot)| (Level::new(variable.bound * variable.penalty), slot)));
    }

    /// Gives all variables their rates, as [`Filling::rise`] would, if the constraint that is full first holds them all: as a rule it does. Nothing, and
    /// false, if not.
    #[inline]
    fn fill_at_once(&mut self) -> bool {
        let Some(&Reverse((level, number))) = self.full.peek() else { return false };
        let left = &self.tally[number as usize];
        if left.waiting as usize != self.waiting || self.caps.least(self.stage).is_some_and(|(cap, _)| cap < level) {
            return false;
        }
        for &User { variable: slot, .. } in &self.constraints[number as usize].users {
            let variable = &mut self.variables[slot as usize];
            let rate = left.last_level / variable.penalty;
            if variable.rate.to_bits() != rate.to_bits() {
                variable.rate = rate;
                self.changed.push(VariableId(slot));
            }
        }
        true
    }

    /// Raises the level from one variable's bound or full constraint to the next.
    fn rise(&mut self) {
        while self.waiting > 0 {
            let cap = self.caps.least(self.stage);
            let full = self.full.peek().map(|&Reverse(full)| full);
            match (cap, full) {
                (None, None) => return,
                (Some((level, slot)), full) if full.is_none_or(|(first, _)| level < first) => {
                    let bound = self.variables[slot as usize].bound;
                    self.fix(slot, bound);
                }
                (_, Some((level, number))) => {
                    self.full.pop();
                    self.saturate(level, number);
                }
                (Some(_), None) => unreachable!("taken by the arm above"),
            }
        }
    }

    /// Fills a constraint, if it is full at this level as things stand.
    fn saturate(&mut self, level: Level, number: u32) {
        let constraint = &self.constraints[number as usize];
        let left = &mut self.tally[number as usize];
        if !self.standings[number as usize].open {
            return;
        }
        if constraint.sharing == Sharing::Pipe {
            let stage = &*self.stage;
            left.usage = constraint.usage(|slot| stage[slot as usize] == Stage::Waiting);
        }
        let now = left.remaining / left.usage;
        if Level::new(now) > level {
            // Others have taken less of it than their share.
            left.last_level = now;
            self.full.push(Reverse((Level::new(now), number)));
            return;
        }
        self.standings[number as usize].open = false;
        for &User { variable, .. } in &constraint.users {
            if self.stage[variable as usize] == Stage::Waiting {
                let rate = now / self.variables[variable as usize].penalty;
                self.fix(variable, rate);
            }
        }
    }

    /// Gives a variable its rate, and takes that off its constraints.
    #[inline]
    fn fix(&mut self, slot: u32, rate: f64) {
        self.stage[slot as usize] = Stage::Fixed;
        self.waiting -= 1;
        let variable = &mut self.variables[slot as usize];
        if variable.rate.to_bits() != rate.to_bits() {
            variable.rate = rate;
            self.changed.push(VariableId(slot));
        }
        for used in &variable.uses {
            let standing = &mut self.standings[used.constraint as usize];
            if !standing.open {
                continue;
            }
            let left = &mut self.tally[used.constraint as usize];
            left.waiting -= 1;
            let constraint = &self.constraints[used.constraint as usize];
            if constraint.sharing == Sharing::Shared {
                left.last_level = left.remaining / left.usage;
                left.remaining -= used.weight * rate;
                left.usage -= used.weight / variable.penalty;
                // So little of it is left that nobody is held by it any more.
                standing.open = left.remaining > constraint.capacity * PRECISION && left.usage > PRECISION;
            }
            standing.open &= left.waiting > 0;
        }
    }

    /// Variables whose constraints were all found nearly full: what the tightest of them would have given, for it is not yet taken.
    fn leftovers(&mut self, reached: &[u32]) {
        for &slot in reached {
            if self.waiting == 0 {
                return;
            }
            if self.stage[slot as usize] != Stage::Waiting {
                continue;
            }
            let variable = &self.variables[slot as usize];
            let held = variable.uses.iter().map(|used| used.constraint as usize);
            let held = held.filter(|&number| self.standings[number].collected);
            let level = held.map(|number| self.tally[number].last_level).fold(f64::INFINITY, f64::min);
            let rate = (level / variable.penalty).min(variable.bound);
            debug_assert!(rate.is_finite(), "nothing holds a variable");
            self.fix(slot, rate);
        }
    }

    /// Leaves everything as the next solution expects it.
    fn close(&mut self, collected: &[u32], reached: &[u32]) {
        for &number in collected {
            let standing = &mut self.standings[number as usize];
            (standing.collected, standing.open) = (false, false);
        }
        for &slot in reached {
            self.stage[slot as usize] = Stage::Outside;
        }
        self.full.clear();
    }
}

impl Constraint {
    /// How fast it fills with the variables that `counts` picks.
    #[inline]
    fn usage(&self, counts: impl Fn(u32) -> bool) -> f64 {
        let users = self.users.iter().filter(|user| counts(user.variable));
        let speeds = users.map(|user| user.speed);
        match self.sharing {
            Sharing::Shared => speeds.sum(),
            Sharing::Pipe => speeds.fold(0.0, f64::max),
        }
    }
}
