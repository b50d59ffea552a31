//! The program that offers the scenarios: its name, and scenarios of its own.

use crate::scenarios::{SCENARIOS, Scenario};
use std::sync::OnceLock;

/// A program with scenarios of its own.
struct Installed {
    name: String,
    /// The program's own scenarios, then the built-in ones.
    scenarios: Vec<Scenario>,
}

static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// Makes the program's own scenarios known by name, before the built-in ones. A built-in scenario whose name
/// one of them has is left out. `name` is the name of the program, as its user types it. Only the first call
/// counts, so it belongs to the start of `main`.
pub fn install(name: &str, own: impl IntoIterator<Item = Scenario>) {
    let mut scenarios: Vec<Scenario> = own.into_iter().collect();
    let own = scenarios.len();
    let is_free = |other: &&Scenario| scenarios[..own].iter().all(|scenario| scenario.name != other.name);
    let others: Vec<Scenario> = SCENARIOS.iter().filter(is_free).copied().collect();
    scenarios.extend(others);
    let _ = INSTALLED.set(Installed { name: name.to_owned(), scenarios });
}

/// Returns the name of the program, as its user types it.
pub fn program_name() -> &'static str {
    INSTALLED.get().map_or("parades", |installed| &installed.name)
}

/// Returns all scenarios that this program has, in the order of lists.
pub fn scenarios() -> &'static [Scenario] {
    INSTALLED.get().map_or(SCENARIOS, |installed| &installed.scenarios)
}
