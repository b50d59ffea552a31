//! One solution: which part of the system is concerned, and progressive filling of that part.

use super::{Constraint, PRECISION, Sharing, System, User, VariableId};
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
    caps: BinaryHeap<Reverse<(Level, u32)>>,
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
    collected: bool,
    /// Whether it can still hold its variables.
    open: bool,
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

impl System {
    /// Finds the constraints and variables that changes may have reached.
    pub(super) fn collect(&mut self) {
        let scratch = &mut self.scratch;
        scratch.tally.resize(self.constraints.len(), Tally::default());
        scratch.stage.resize(self.variables.len(), Stage::Outside);
        scratch.constraints.clear();
        scratch.variables.clear();
        for number in self.dirty_constraints.drain(..) {
            let constraint = &mut self.constraints[number as usize];
            constraint.dirty = false;
            // What held its variables before must let them go, even if it holds none now.
            let ties = constraint.ties();
            let tied = std::mem::replace(&mut constraint.tied, ties);
            if (tied || constraint.tied) && !scratch.tally[number as usize].collected {
                scratch.tally[number as usize].collected = true;
                scratch.constraints.push(number);
            }
        }
        for slot in self.dirty_variables.drain(..) {
            let variable = &mut self.variables[slot as usize];
            variable.dirty = false;
            if variable.alive {
                scratch.reach(slot);
            }
        }
        let (mut constraints, mut variables) = (0, 0);
        loop {
            if let Some(&number) = scratch.constraints.get(constraints) {
                constraints += 1;
                for user in &self.constraints[number as usize].users {
                    scratch.reach(user.variable);
                }
            } else if let Some(&slot) = scratch.variables.get(variables) {
                variables += 1;
                for used in &self.variables[slot as usize].uses {
                    let tally = &mut scratch.tally[used.constraint as usize];
                    if self.constraints[used.constraint as usize].tied && !tally.collected {
                        tally.collected = true;
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
        let mut filling = Filling::new(self);
        filling.open();
        filling.rise();
        filling.leftovers();
        filling.close();
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
    system: &'a mut System,
    scratch: Scratch,
}

impl Filling<'_> {
    fn new(system: &mut System) -> Filling<'_> {
        let scratch = std::mem::take(&mut system.scratch);
        Filling { system, scratch }
    }

    /// Begins with empty constraints and all levels at zero.
    fn open(&mut self) {
        let Scratch { constraints, variables, tally, full, caps, .. } = &mut self.scratch;
        for &number in &*constraints {
            let constraint = &self.system.constraints[number as usize];
            let open = constraint.tied && !constraint.users.is_empty();
            let mut left = Tally { collected: true, open, ..Tally::default() };
            if open {
                left.waiting = u32::try_from(constraint.users.len()).expect("fewer than 2^32 variables");
                left.remaining = constraint.capacity;
                left.usage = constraint.usage(self.system, |_| true);
                left.last_level = left.remaining / left.usage;
                full.push(Reverse((Level::new(left.last_level), number)));
            }
            tally[number as usize] = left;
        }
        let mut bounded = std::mem::take(caps).into_vec();
        bounded.extend(variables.iter().filter_map(|&slot| {
            let variable = &self.system.variables[slot as usize];
            (variable.bound < f64::INFINITY).then(|| Reverse((Level::new(variable.bound * variable.penalty), slot)))
        }));
        *caps = bounded.into();
    }

    /// Raises the level from one variable's bound or full constraint to the next.
    fn rise(&mut self) {
        loop {
            let cap = loop {
                match self.scratch.caps.peek() {
                    Some(&Reverse((_, slot))) if self.scratch.stage[slot as usize] != Stage::Waiting => {
                        self.scratch.caps.pop();
                    }
                    other => break other.map(|&Reverse(cap)| cap),
                }
            };
            let full = self.scratch.full.peek().map(|&Reverse(full)| full);
            match (cap, full) {
                (None, None) => return,
                (Some((level, slot)), full) if full.is_none_or(|(first, _)| level < first) => {
                    self.scratch.caps.pop();
                    let bound = self.system.variables[slot as usize].bound;
                    self.fix(slot, bound);
                }
                (_, Some((level, number))) => {
                    self.scratch.full.pop();
                    self.saturate(level, number);
                }
                (Some(_), None) => unreachable!("taken by the arm above"),
            }
        }
    }

    /// Fills a constraint, if it is full at this level as things stand.
    fn saturate(&mut self, level: Level, number: u32) {
        let constraint = &self.system.constraints[number as usize];
        let left = &mut self.scratch.tally[number as usize];
        if !left.open {
            return;
        }
        if constraint.sharing == Sharing::Pipe {
            let stage = &self.scratch.stage;
            left.usage = constraint.usage(self.system, |slot| stage[slot as usize] == Stage::Waiting);
        }
        let now = left.remaining / left.usage;
        if Level::new(now) > level {
            // Others have taken less of it than their share.
            left.last_level = now;
            self.scratch.full.push(Reverse((Level::new(now), number)));
            return;
        }
        left.open = false;
        let mut place = 0;
        while let Some(&User { variable, .. }) = self.system.constraints[number as usize].users.get(place) {
            if self.scratch.stage[variable as usize] == Stage::Waiting {
                let rate = now / self.system.variables[variable as usize].penalty;
                self.fix(variable, rate);
            }
            place += 1;
        }
    }

    /// Gives a variable its rate, and takes that off its constraints.
    fn fix(&mut self, slot: u32, rate: f64) {
        self.scratch.stage[slot as usize] = Stage::Fixed;
        let variable = &mut self.system.variables[slot as usize];
        if variable.rate.to_bits() != rate.to_bits() {
            variable.rate = rate;
            self.system.changed.push(VariableId(slot));
        }
        for used in &variable.uses {
            let left = &mut self.scratch.tally[used.constraint as usize];
            if !left.open {
                continue;
            }
            left.waiting -= 1;
            let constraint = &self.system.constraints[used.constraint as usize];
            if constraint.sharing == Sharing::Shared {
                left.last_level = left.remaining / left.usage;
                left.remaining -= used.weight * rate;
                left.usage -= used.weight / variable.penalty;
                // So little of it is left that nobody is held by it any more.
                left.open = left.remaining > constraint.capacity * PRECISION && left.usage > PRECISION;
            }
            left.open &= left.waiting > 0;
        }
    }

    /// Variables whose constraints were all found nearly full: what the tightest of them would have given, for it is not yet taken.
    fn leftovers(&mut self) {
        for index in 0..self.scratch.variables.len() {
            let slot = self.scratch.variables[index];
            if self.scratch.stage[slot as usize] != Stage::Waiting {
                continue;
            }
            let variable = &self.system.variables[slot as usize];
            let held = variable.uses.iter().map(|used| used.constraint as usize);
            let held = held.filter(|&number| self.scratch.tally[number].collected);
            let level = held.map(|number| self.scratch.tally[number].last_level).fold(f64::INFINITY, f64::min);
            let rate = (level / variable.penalty).min(variable.bound);
            debug_assert!(rate.is_finite(), "nothing holds a variable");
            self.fix(slot, rate);
        }
    }

    /// Leaves the scratch as the next solution expects it.
    fn close(&mut self) {
        let scratch = &mut self.scratch;
        for &number in &scratch.constraints {
            scratch.tally[number as usize].collected = false;
            scratch.tally[number as usize].open = false;
        }
        for &slot in &scratch.variables {
            scratch.stage[slot as usize] = Stage::Outside;
        }
        scratch.full.clear();
        scratch.caps.clear();
        self.system.scratch = std::mem::take(scratch);
    }
}

impl Constraint {
    /// How fast it fills with the variables that `counts` picks.
    fn usage(&self, system: &System, counts: impl Fn(u32) -> bool) -> f64 {
        let users = self.users.iter().filter(|user| counts(user.variable));
        let speeds = users.map(|user| user.weight / system.variables[user.variable as usize].penalty);
        match self.sharing {
            Sharing::Shared => speeds.sum(),
            Sharing::Pipe => speeds.fold(0.0, f64::max),
        }
    }
}
