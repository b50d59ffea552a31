//! The command line's grammar.

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use parades_config::units::{parse_size, parse_time};
use parades_core::time::Time;
use std::path::PathBuf;

/// Discrete-event simulation of networks and distributed systems: write a model once, run it under any synchronisation
/// algorithm, and get the same answer bit for bit.
#[derive(Debug, Parser)]
#[command(name = "parades", version, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs one simulation.
    Run(RunArguments),
    /// The same run on several engines: one table, digests checked against each other.
    Compare(CompareArguments),
    /// The first event, of the first LP, at which two runs part.
    Diff(DiffArguments),
    /// The built-in scenarios, a line each.
    List {
        /// The engines, transports and their settings instead.
        #[arg(long)]
        engines: bool,
    },
    /// A scenario's parameters with units, defaults and meaning, as a TOML file one can edit and run.
    Show(ScenarioArguments),
    /// One table of measurements, side by side; without a name, the tables there are.
    Bench(BenchArguments),
    /// A script that completes this command in a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Which scenario, with which parameters.
#[derive(Args, Clone, Debug)]
pub(crate) struct ScenarioArguments {
    /// A built-in scenario (`parades list`), or the path of a TOML file.
    pub(crate) scenario: String,
    /// Sets a parameter of the scenario (repeatable).
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed of the random streams [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: Option<u64>,
    /// Shuffles simultaneous events, alike on every engine [default: off].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) tie_seed: Option<u64>,
    /// The virtual end time, with a unit: `10s`, `250ms` [default: the scenario's].
    #[arg(long, value_name = "T", value_parser = until)]
    pub(crate) until: Option<Time>,
}

/// How it is run.
#[derive(Args, Clone, Debug)]
pub(crate) struct HowArguments {
    /// Worker threads in each process [default: the cores there are].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) threads: Option<u64>,
    /// Processes on this machine, over shared memory [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) processes: Option<u64>,
    /// Sets a setting of the engine or transport (repeatable; `parades list --engines`).
    #[arg(long = "tune", value_name = "KEY=VALUE")]
    pub(crate) tune: Vec<String>,
    /// Bound on the memory of events and history, with a unit: `2GiB` [default: three quarters of the machine's].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) memory_limit: Option<u64>,
    /// Prints one JSON object on standard output, and nothing else there.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draws no progress on standard error (none is drawn where that is not a terminal).
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Skips the digest.
    #[arg(long)]
    pub(crate) no_digest: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// The engine: `auto`, `sequential`, … (`parades list --engines`) [default: auto].
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) how: HowArguments,
    /// Writes the results as files into a folder: summary, metrics, each table and series as `tables/NAME.csv`.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Writes the executed events in their one order, as readable text.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Traces only these LPs: `3`, `10..=20`, `3,10..=20`.
    #[arg(long, value_name = "LPS", requires = "trace")]
    pub(crate) trace_lps: Option<String>,
    /// Traces from this time on.
    #[arg(long, value_name = "T", value_parser = time, requires = "trace")]
    pub(crate) trace_from: Option<Time>,
    /// Traces before this time.
    #[arg(long, value_name = "T", value_parser = time, requires = "trace")]
    pub(crate) trace_before: Option<Time>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// The engines, the first being the one that the others are compared with.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) engines: Vec<String>,
    #[command(flatten)]
    pub(crate) how: HowArguments,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DiffArguments {
    /// Two runs: folders that `run --out` wrote, or options in quotes: `"phold --seed 1"`.
    #[arg(num_args = 2, required = true, value_names = ["RUN", "RUN"])]
    pub(crate) runs: Vec<String>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct BenchArguments {
    /// The table; without it, the tables there are.
    pub(crate) table: Option<String>,
    /// How many times both sides are run in turn; the median and the spread are printed.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) pairs: u32,
    /// Appends the figures to a file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Compares the figures with the latest recorded in a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,
    /// For `flows`: a folder with `cases.tsv`, `expected.tsv`, `platforms` and `patterns`, whose expected ends are printed beside ours.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["record", "against"])]
    pub(crate) validation: Option<PathBuf>,
}

fn until(text: &str) -> Result<Time, String> {
    match time(text)? {
        Time::ZERO => Err("a run until 0s executes nothing; give a time above it".into()),
        time => Ok(time),
    }
}

fn time(text: &str) -> Result<Time, String> {
    parse_time(text).map_err(|error| error.to_string())
}

fn size(text: &str) -> Result<u64, String> {
    match parse_size(text).map_err(|error| error.to_string())? {
        0 => Err("there must be some memory".into()),
        size => Ok(size),
    }
}
