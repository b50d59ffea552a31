//! The arguments of `merge`.

use super::viewing::ViewArguments;
use super::{Arguments, Command, CsvTable, SweepArguments};
use clap::{Args, Parser};
use parades_catalog::program_name;
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
pub(crate) struct MergeArguments {
    /// The folders that `sweep --shard … --out DIR` wrote, folders of such folders, or journals.
    #[arg(value_name = "DIR", required = true)]
    pub(crate) places: Vec<PathBuf>,
    /// The metrics to show (repeatable).
    #[arg(long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// Prints one JSON object on standard output, and nothing else there.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) viewing: ViewArguments,
    /// Prints CSV: a row a run, or with `--csv=means` a row for each metric of each point.
    #[arg(long, value_name = "TABLE", num_args = 0..=1, require_equals = true, default_missing_value = "runs", conflicts_with_all = ["json", "brief", "table"])]
    pub(crate) csv: Option<CsvTable>,
    /// Writes the tables and the journal into a folder. The same sweep without `--shard` goes on from it.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Writes the table of runs as a Parquet file (where this program was built with `--features parquet`).
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,
}

/// Reads the words of a sweep's command, without the name of the program. Returns `None` if they are no
/// sweep.
pub(crate) fn sweep_of_words(words: &[String]) -> Option<SweepArguments> {
    let words = std::iter::once(program_name()).chain(words.iter().map(String::as_str));
    match Arguments::try_parse_from(words).ok()?.command {
        Command::Sweep(sweep) => Some(sweep),
        _ => None,
    }
}
