//! Random choices, and keys of a file.

use crate::engines::index_below;
use parades_core::random::Rng;

/// The random choices of a file.
pub(super) struct Draw(Rng);

impl Draw {
    pub(super) fn new(seed: u64) -> Draw {
        Draw(Rng::shared(seed, 15))
    }

    /// Returns a number from `least` to `most`.
    pub(super) fn between(&self, least: u64, most: u64) -> u64 {
        least + self.0.below(most - least + 1)
    }

    /// Returns a place in a list of `length` elements.
    pub(super) fn place(&self, length: usize) -> usize {
        index_below(&self.0, length)
    }

    pub(super) fn chance(&self, probability: f64) -> bool {
        self.0.chance(probability)
    }

    pub(super) fn pick<T: Copy>(&self, from: &[T]) -> T {
        from[self.place(from.len())]
    }

    /// Returns a name of a list.
    pub(super) fn name<'a>(&self, names: &'a [String]) -> &'a str {
        &names[self.place(names.len())]
    }

    /// Returns two different places in a list of at least two elements.
    pub(super) fn two_places(&self, length: usize) -> (usize, usize) {
        let (first, second) = (self.place(length), self.place(length - 1));
        (first, second + usize::from(second >= first))
    }

    /// Returns `0` or more different names of a list, `most` at most.
    pub(super) fn several<'a>(&self, names: &'a [String], most: usize) -> Vec<&'a str> {
        let mut rest: Vec<&str> = names.iter().map(String::as_str).collect();
        let count = self.place(most.min(rest.len()) + 1);
        (0..count).map(|_| rest.swap_remove(self.place(rest.len()))).collect()
    }
}

/// Returns a block: the header of a table, and its keys.
pub(super) fn block(table: &str, keys: &[String]) -> String {
    format!("\n[[{table}]]\n{}\n", keys.join("\n"))
}

/// Returns a key whose value is text.
pub(super) fn text(key: &str, value: impl std::fmt::Display) -> String {
    format!("{key} = \"{value}\"")
}

/// Returns a key whose value is a number, or `true` or `false`.
pub(super) fn plain(key: &str, value: impl std::fmt::Display) -> String {
    format!("{key} = {value}")
}

/// Returns a list of names.
pub(super) fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", names.join(", "))
}
