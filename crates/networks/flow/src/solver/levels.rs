//! Levels, and the order in which variables reach their bounds.

/// A level of at least zero, as bits: they have the same order, and are compared as integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Level(u64);

impl Level {
    #[inline]
    pub(super) fn new(level: f64) -> Level {
        debug_assert!(level >= 0.0, "a level of {level}");
        Level(level.to_bits())
    }
}

/// The levels at which variables reach their bounds.
///
/// In most solutions a constraint saturates before any variable reaches its bound, and fixes all variables.
/// Then only the lowest level is needed. So the others are sorted only when a second level is asked for.
#[derive(Debug, Default)]
pub(super) struct BoundLevels {
    /// The lowest level is first. The others are in order if `sorted`.
    levels: Vec<(Level, u32)>,
    /// The index of the first level that is left.
    first: usize,
    sorted: bool,
}

impl BoundLevels {
    /// Replaces the levels.
    pub(super) fn refill(&mut self, levels: impl Iterator<Item = (Level, u32)>) {
        self.levels.clear();
        self.levels.extend(levels);
        (self.first, self.sorted) = (0, false);
        let lowest =
            (1..self.levels.len()).fold(0, |least, at| if self.levels[at] < self.levels[least] { at } else { least });
        if lowest > 0 {
            self.levels.swap(0, lowest);
        }
    }

    /// Returns the lowest level of a variable whose rate is not fixed, and the variable.
    #[inline]
    pub(super) fn lowest(&mut self, fixed: &[bool]) -> Option<(Level, u32)> {
        loop {
            let &(level, slot) = self.levels.get(self.first)?;
            if !fixed[slot as usize] {
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
