//! Networks described in files. The parameters of one are those that its file declares, so they are no constant of this crate.

use super::{Prepared, Scenario};
use parades_config::{ConfigError, Values};
use parades_netfile::{Built, EXAMPLE, NetworkFile};
use parades_packet::network::Network;
use std::path::Path;

/// The scenario that every network file is one of. By its name alone it is the example.
pub const SCENARIO: Scenario = Scenario {
    name: "network",
    about: "a network described in a file: `parades show network` prints one to begin with",
    parameters: &[],
};

/// The example, as if it stood in a file.
///
/// # Panics
///
/// Where it is wrong, which a test excludes.
pub fn example_file() -> NetworkFile {
    let read = NetworkFile::parse(Path::new("network.toml"), EXAMPLE.to_owned());
    read.ok().flatten().expect("the example is a network file")
}

/// The model of a network file with these values of its parameters.
///
/// # Errors
///
/// On the first thing in the file that is wrong.
pub fn prepare(file: &NetworkFile, values: &Values, seed: u64) -> Result<Prepared<Network>, ConfigError> {
    let Built { model, until, notes } = file.build(values, seed)?;
    Ok(Prepared { model, until, notes })
}

pub(crate) fn example(seed: u64) -> Result<Prepared<Network>, ConfigError> {
    let file = example_file();
    prepare(&file, &file.parameters(), seed)
}
