//! `network`: networks described in files. The file of a network declares its parameters.

use super::Scenario;
use crate::simulation::Simulation;
use parades_config::{ConfigError, Values};
use parades_netfile::{Built, EXAMPLE, NetworkFile};
use std::path::Path;

/// The scenario of all network files. Its name alone stands for the example.
pub const SCENARIO: Scenario = Scenario::new(
    "network",
    "a network described in a file: `parades show network` prints one to begin with",
    &[],
    build_example,
);

/// Returns the example, as if it were read from a file.
///
/// # Panics
///
/// Panics if the example has an error, which a test excludes.
pub fn example_file() -> NetworkFile {
    let read = NetworkFile::parse(Path::new("network.toml"), EXAMPLE.to_owned());
    read.ok().flatten().expect("the example is a network file")
}

pub(crate) fn build_file(file: &NetworkFile, values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let Built { model, until, notes } = file.build(values, seed)?;
    Ok(Simulation::saved(model, until).with_notes(notes))
}

/// Makes the model of the example. Its parameters are those of its file, not the `values` of the scenario.
fn build_example(_values: &Values, seed: u64) -> Result<Simulation, ConfigError> {
    let file = example_file();
    build_file(&file, &file.parameters(), seed)
}
