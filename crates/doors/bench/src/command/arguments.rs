//! The grammar of the command line.

use clap::{CommandFactory, FromArgMatches, Parser};
use parades_catalog::program_name;
use std::path::PathBuf;

/// One table of measurements, side by side; without a name, the list of tables. `run`, `compare` and `list`
/// are those of `parades`, with more settings for `--tune`: variants of the engines that exist to be
/// compared.
#[derive(Clone, Debug, Parser)]
#[command(name = "parades-bench", version)]
pub(super) struct Arguments {
    /// The table. Without it, all tables are listed.
    pub(super) table: Option<String>,
    /// The number of times that both sides are run in turn; the median and the spread are printed.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(requires = "table", conflicts_with = "validation")]
    pub(super) pairs: u32,
    /// Appends the figures to a file, one JSON object a line.
    #[arg(long, value_name = "FILE", requires = "table")]
    pub(super) record: Option<PathBuf>,
    /// Compares the figures with the latest recorded in a file.
    #[arg(long, value_name = "FILE", requires = "table")]
    pub(super) against: Option<PathBuf>,
    /// A folder of results that other simulators computed, which are printed beside ours. For `flows`:
    /// `cases.tsv`, `expected.tsv`, `platforms` and `patterns`. For `packets`: `cases.tsv`, `expected.tsv`,
    /// `bands.tsv` and `receiver.tsv`.
    #[arg(long, value_name = "DIR", requires = "table")]
    #[arg(conflicts_with_all = ["record", "against", "rivals", "simgrid", "ns3", "large"])]
    pub(super) validation: Option<PathBuf>,
    /// Prints the comparison of `--validation` as one JSON object.
    #[arg(long, requires = "validation")]
    pub(super) json: bool,
    /// For `rivals`: the program of another simulator, which is then run in turn with ours. Without it, the
    /// table says how to get the program.
    #[arg(long = "rival", value_name = "NAME=PATH", requires = "table", value_parser = rival)]
    pub(super) rivals: Vec<(String, PathBuf)>,
    /// For `chord`: the program of `crates/systems/p2p/simgrid`, which is then run in turn with ours.
    #[arg(long, value_name = "PATH", requires = "table")]
    pub(super) simgrid: Option<PathBuf>,
    /// For `packets`: the program of `crates/proof/tables/ns3`, which is then run in turn with ours.
    #[arg(long, value_name = "PATH", requires = "table")]
    pub(super) ns3: Option<PathBuf>,
    /// For `chord`: a million nodes too, which takes long.
    #[arg(long, requires = "table")]
    pub(super) large: bool,
}

/// Reads the name and the path of a rival.
fn rival(text: &str) -> Result<(String, PathBuf), String> {
    let (name, path) = text.split_once('=').ok_or("write NAME=PATH, for example `ross=phold`")?;
    Ok((name.to_owned(), path.into()))
}

/// Reads the command line of this process.
pub(super) fn of_process() -> Result<Arguments, clap::Error> {
    let command = Arguments::command().name(program_name()).bin_name(program_name());
    Arguments::from_arg_matches(&command.try_get_matches()?)
}
