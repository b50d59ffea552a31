//! The grammar of the command line, and the requests that it leads to.

mod help;
mod how;
mod merging;
mod saving;
pub mod values;
mod viewing;

use clap::error::{ContextKind, ContextValue};
use clap::{ArgGroup, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use help::{MERGE_HELP, SWEEP_HELP, WHY_HELP};
pub(crate) use how::{HowArguments, WorkerLists, Workers};
pub(crate) use merging::{MergeArguments, sweep_of_words};
use parades_capture::address::IpVersion;
use parades_catalog::program_name;
use parades_core::time::Time;
use parades_session::{Request, itself};
use parades_sweep::Shard;
pub(crate) use saving::SavingArguments;
use std::ffi::OsString;
use std::path::PathBuf;
pub(crate) use values::TieSeeds;
use values::{ip_version, seed, shard, share, snap_length, tie_seed, tie_seeds, time, until};
pub(crate) use viewing::ViewArguments;

/// Discrete-event simulation of networks and distributed systems: write a model once, run it under any
/// synchronisation algorithm, and get the same answer bit for bit.
#[derive(Debug, Parser)]
#[command(name = "parades", version)]
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
    /// Replications and parameter grids: a row a run, and for each point of the grid the means over seeds
    /// with 95 % intervals.
    #[command(after_long_help = SWEEP_HELP)]
    Sweep(SweepArguments),
    /// The results of the shards of a sweep as one table; runs that were executed twice must agree.
    #[command(after_long_help = MERGE_HELP)]
    Merge(MergeArguments),
    /// Executes the runs that a sweep asks for on standard input.
    #[command(hide = true)]
    SweepWorker(WorkerArguments),
    /// Serves as one of the processes of a run, which another process has started.
    #[command(hide = true)]
    Rank,
    /// The first event, of the first LP, at which two runs diverge.
    Diff(DiffArguments),
    /// The chain of events that led to a given one, or to the failure of a run.
    Why(WhyArguments),
    /// Goes on with a saved run, on any engine and any number of threads: its digest, metrics, series and
    /// files are those of the unbroken run.
    Resume(ResumeArguments),
    /// Goes on with a saved run, with other values of the keys that may change during a run, or with other
    /// random streams.
    Branch(BranchArguments),
    /// A run that a folder of results records, executed again: its digest must be the same.
    Rerun(RerunArguments),
    /// The scenarios, a line each.
    List {
        /// The engines, the transports and their settings instead.
        #[arg(long)]
        engines: bool,
    },
    /// A scenario's parameters with units, defaults and meaning, as a TOML file one can edit and run; a
    /// network described in a file, written out in full.
    Show(ShowArguments),
    /// A configuration of another simulator as a scenario file. Notes name what has no equivalent.
    Convert(ConvertArguments),
    /// One table of measurements, side by side; without a name, the list of tables. The program
    /// `parades-bench` measures.
    #[command(disable_help_flag = true)]
    Bench {
        /// The arguments of `parades-bench`.
        #[arg(value_name = "TABLE", trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// A script that completes this command in a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Reads the command line of this program.
pub(crate) fn of_process() -> Result<Arguments, clap::Error> {
    let command = Arguments::command().name(program_name()).bin_name(program_name());
    let hidden: Vec<String> =
        command.get_subcommands().filter(|of| of.is_hide_set()).map(|of| of.get_name().to_owned()).collect();
    let found = command.try_get_matches_from(itself::words()).map_err(|mut error| {
        // Commands that only the program itself gives are nothing that a user has meant.
        if let Some(ContextValue::Strings(near)) = error.get(ContextKind::SuggestedSubcommand) {
            let near: Vec<String> = near.iter().filter(|name| !hidden.contains(name)).cloned().collect();
            error.remove(ContextKind::SuggestedSubcommand);
            if !near.is_empty() {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
            }
        }
        error
    })?;
    Arguments::from_arg_matches(&found)
}

impl Command {
    /// True if the command listens to signals: it executes runs, or writes files that must be whole.
    pub(crate) fn listens(&self) -> bool {
        self.executes() || matches!(self, Command::Merge(_) | Command::Convert(_) | Command::Show(_))
    }

    /// True if the command executes runs for a user who waits for them.
    pub(crate) fn executes(&self) -> bool {
        use Command::{
            Bench, Branch, Compare, Completions, Convert, Diff, List, Merge, Rank, Rerun, Resume, Run, Show, Sweep,
            SweepWorker, Why,
        };
        match self {
            Run(_) | Compare(_) | Sweep(_) | Diff(_) | Why(_) | Rerun(_) | Resume(_) | Branch(_) => true,
            Merge(_)
            | SweepWorker(_)
            | Rank
            | List { .. }
            | Show(_)
            | Convert(_)
            | Bench { .. }
            | Completions { .. } => false,
        }
    }

    /// Returns the user's bound on memory, for commands that execute few runs in this process. Workers of a
    /// sweep are not among them: they always have a bound, and use freed memory again.
    pub(crate) fn memory_limit(&self) -> Option<u64> {
        use Command::{
            Bench, Branch, Compare, Completions, Convert, Diff, List, Merge, Rank, Rerun, Resume, Run, Show, Sweep,
            SweepWorker, Why,
        };
        match self {
            Run(RunArguments { task, .. })
            | Resume(ResumeArguments { task, .. })
            | Branch(BranchArguments { run: ResumeArguments { task, .. }, .. }) => task.how.memory_limit,
            Compare(CompareArguments { how, .. }) | Why(WhyArguments { how, .. }) => how.memory_limit,
            Sweep(_)
            | Merge(_)
            | SweepWorker(_)
            | Rank
            | Rerun(_)
            | Diff(_)
            | List { .. }
            | Show(_)
            | Convert(_)
            | Bench { .. }
            | Completions { .. } => None,
        }
    }
}

/// The scenario and its parameters.
#[derive(Args, Clone, Debug)]
pub(crate) struct ScenarioArguments {
    /// A scenario (the command `list` has them), or the path of a TOML file; `-` reads it from standard
    /// input.
    pub(crate) scenario: String,
    /// Sets a parameter of the scenario (repeatable).
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed of the random streams [default: 1].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Shuffles simultaneous events, alike on every engine [default: off].
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = tie_seed)]
    pub(crate) tie_seed: Option<TieSeeds>,
    /// The virtual end time, with a unit: `10s`, `250ms` [default: the scenario's].
    #[arg(long, value_name = "T", value_parser = until, allow_hyphen_values = true)]
    pub(crate) until: Option<Time>,
}

impl ScenarioArguments {
    /// Returns the request for this scenario, with defaults for all options on how to run it. Of several tie
    /// seeds it has the first.
    pub(crate) fn request(&self) -> Request {
        let ScenarioArguments { scenario, set, seed, until, .. } = self;
        let (set, seed, tie_seed, until) = (set.clone(), *seed, self.tie_seeds().first().copied(), *until);
        Request { set, seed, tie_seed, until, ..Request::of(scenario) }
    }

    /// Returns the tie seeds that are given.
    pub(crate) fn tie_seeds(&self) -> &[u64] {
        self.tie_seed.as_ref().map_or(&[], |TieSeeds(seeds)| seeds)
    }
}

/// The arguments of `show`.
#[derive(Args, Clone, Debug)]
#[command(mut_arg("scenario", |scenario| scenario.required(false).required_unless_present("schema")))]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    pub(crate) of: Option<ScenarioArguments>,
    /// The JSON schema of network files instead, for editors.
    #[arg(long, exclusive = true)]
    pub(crate) schema: bool,
}

/// The arguments of `convert`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConvertArguments {
    /// The simulator that the file configures.
    #[arg(value_name = "SIMULATOR")]
    pub(crate) from: Simulator,
    /// The configuration: of Speer, a JSON file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Writes the scenario into a file [default: standard output].
    #[arg(short, long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
}

/// A simulator whose configurations can be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Simulator {
    /// Speer, and the BitTorrent simulations on top of it.
    Speer,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    #[command(flatten)]
    pub(crate) task: TaskArguments,
    /// A steady-state metric that counts for `--until-interval` (repeatable): `sojourn`.
    #[arg(long = "metric", value_name = "NAME", requires = "until_interval")]
    pub(crate) metrics: Vec<String>,
    /// Makes the run longer until the 95 % interval of each `--metric` is at most this share of its mean to
    /// either side: `1%`.
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, requires = "metrics")]
    pub(crate) until_interval: Option<f64>,
}

/// The arguments of a run that do not say what is simulated.
#[derive(Args, Clone, Debug)]
pub(crate) struct TaskArguments {
    /// The engine: `auto`, `sequential`, … (`parades list --engines`) [default: auto].
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) workers: Workers,
    #[command(flatten)]
    pub(crate) how: HowArguments,
    #[command(flatten)]
    pub(crate) viewing: ViewArguments,
    #[command(flatten)]
    pub(crate) outputs: OutputArguments,
    #[command(flatten)]
    pub(crate) saving: SavingArguments,
}

/// The files that a run writes.
#[derive(Args, Clone, Debug)]
#[command(group(ArgGroup::new("traced").args(["trace", "timeline", "out_trace"]).multiple(true)))]
#[command(group(ArgGroup::new("kept").args(["out", "samples"]).multiple(true)))]
pub(crate) struct OutputArguments {
    /// Writes the results as files into a folder: summary, metrics, each table and series as
    /// `tables/NAME.csv`.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Copies the files that the run reads into the folder of `--out` too. `rerun` reads the copies of files
    /// that parameters name. A network it reads from `network.toml`, which has all of it.
    #[arg(long, requires = "out")]
    pub(crate) copy_inputs: bool,
    /// Lets the results replace those of another run in the folders of `--out` and `--samples`.
    #[arg(long, requires = "kept")]
    pub(crate) overwrite: bool,
    /// Writes the trace into the folder of `--out` too, as `trace.txt`. With it, `diff` finds where two runs
    /// diverge.
    #[arg(long, requires = "out")]
    pub(crate) out_trace: bool,
    /// Writes each table and series into the folder of `--out` as Parquet too (where this program was built
    /// with `--features parquet`).
    #[arg(long, requires = "out")]
    pub(crate) out_parquet: bool,
    /// Writes the executed events in their one order, as readable text: names where the model has them, and
    /// the reason why each lost packet is lost.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Writes a timeline for ui.perfetto.dev or chrome://tracing: events by LP, messages as arrows, and what
    /// each worker did at which wall time (with `--trace-before 0s` that alone, undisturbed by tracing).
    #[arg(long, value_name = "FILE.json")]
    pub(crate) timeline: Option<PathBuf>,
    /// Prints a profile with the results, and has it in `--json` and `--out`: the events and the wall time of
    /// the handlers of each kind of LP, and the time outside of handlers.
    #[arg(long)]
    pub(crate) profile: bool,
    /// Writes the log of rounds of `--engine rounds`, as CSV: id, time and step of each round, how many
    /// programs (and other LPs) executed how many events, serial or parallel, and the wall time.
    #[arg(long, value_name = "FILE")]
    pub(crate) rounds: Option<PathBuf>,
    /// Traces only these LPs: `3`, `10..=20`, `3,10..=20`, or by name, `east.0,gw-west`, `east.*` (a name
    /// with commas in double quotes).
    #[arg(long, value_name = "LPS", requires = "traced")]
    pub(crate) trace_lps: Option<String>,
    /// Traces from this time on.
    #[arg(long, value_name = "T", value_parser = time, allow_hyphen_values = true, requires = "traced")]
    pub(crate) trace_from: Option<Time>,
    /// Traces before this time.
    #[arg(long, value_name = "T", value_parser = time, allow_hyphen_values = true, requires = "traced")]
    pub(crate) trace_before: Option<Time>,
    /// Captures packets into a folder: a pcapng file for each node or link of `--pcap-at`, for Wireshark and
    /// tshark. Packets that are sent are captured before the queue.
    #[arg(long, value_name = "DIR")]
    pub(crate) pcap: Option<PathBuf>,
    /// Captures at this node or link (repeatable) [default: every node where a flow begins or ends].
    #[arg(long, value_name = "NAME", requires = "pcap")]
    pub(crate) pcap_at: Vec<String>,
    /// The version of IP in captures, 4 or 6 [default: that of the network].
    #[arg(long, value_name = "VERSION", value_parser = ip_version, requires = "pcap")]
    pub(crate) pcap_ip: Option<IpVersion>,
    /// Captures at most this length of each packet: `96B` [default: whole packets].
    #[arg(long, value_name = "SIZE", value_parser = snap_length, allow_hyphen_values = true, requires = "pcap")]
    pub(crate) pcap_snap: Option<u32>,
    /// Writes samples into a folder: a CSV file for each metric that measures values one by one (durations of
    /// flows, delays of packets, look-ups, downloads, …), with a row for each value.
    #[arg(long, value_name = "DIR")]
    pub(crate) samples: Option<PathBuf>,
    /// The greatest number of rows of each file of samples.
    #[arg(long, value_name = "N", requires = "samples", default_value_t = 1_000_000)]
    pub(crate) samples_limit: u64,
}

/// The arguments of `resume`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ResumeArguments {
    /// A file that `run --save` or `--save-every` wrote.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The virtual end time, with a unit: `10s`, `250ms` [default: that of the run].
    #[arg(long, value_name = "T", value_parser = until, allow_hyphen_values = true)]
    pub(crate) until: Option<Time>,
    #[command(flatten)]
    pub(crate) task: TaskArguments,
}

/// The arguments of `branch`.
#[derive(Args, Clone, Debug)]
#[command(group(ArgGroup::new("changed").args(["set", "seed", "fresh_metrics"]).multiple(true).required(true)))]
pub(crate) struct BranchArguments {
    #[command(flatten)]
    pub(crate) run: ResumeArguments,
    /// Changes a key from the time of the save on (repeatable). `show` says which keys of a scenario may
    /// change; of a network file, `link.NAME.rate`, `link.NAME.loss` and others.
    #[arg(short = 's', long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Draws new random streams from there on, those of this seed [default: the streams go on].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Lets the metrics begin again there (`mm1` and `jackson`: the sojourn times).
    #[arg(long)]
    pub(crate) fresh_metrics: bool,
}

/// The arguments of `why`: an event, or the failure of a run.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = WHY_HELP)]
pub(crate) struct WhyArguments {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// The event: LP:TIME (the first event at that time, or else the last one before), LP:TIME:SENDER#NUMBER,
    /// or a line of a trace; an LP by its name or number [default: the event at which the run fails].
    #[arg(long, value_name = "EVENT", allow_hyphen_values = true)]
    pub(crate) event: Option<String>,
    /// The greatest number of events to print, the latest ones.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) links: Option<u32>,
    /// The engine: `auto`, `sequential`, … (`parades list --engines`) [default: auto].
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) workers: Workers,
    #[command(flatten)]
    pub(crate) how: HowArguments,
}

/// The arguments of `rerun`.
#[derive(Args, Clone, Debug)]
pub(crate) struct RerunArguments {
    /// A folder that `run --out` wrote.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The engine [default: the one that the run had].
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    #[command(flatten)]
    pub(crate) workers: Workers,
    /// Prints no notes and draws no progress on standard error.
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("tie_seed", |seed| seed.value_name("SEEDS").value_parser(tie_seeds).help(
    "Shuffles simultaneous events, alike on every engine; with several seeds, `1..5`, tells which metrics depend on \
     the order of such events [default: off]",
)))]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// The engines; all others are compared with the first [default: sequential, rounds, window, null-message
    /// and time-warp]. Engines that cannot run the model are left out, and named.
    #[arg(long, value_name = "A,B,…", value_delimiter = ',')]
    pub(crate) engines: Vec<String>,
    #[command(flatten)]
    pub(crate) workers: WorkerLists,
    #[command(flatten)]
    pub(crate) how: HowArguments,
    /// Writes the comparison into a folder, with all that a reviewer needs: `proof.txt` in plain words,
    /// `comparison.json`, the scenario, the results of each run, and the commands that repeat it.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Copies the files that the runs read into the folders of `--out` too. `rerun` reads the copies of files
    /// that parameters name. A network it reads from `network.toml`, which has all of it.
    #[arg(long, requires = "out")]
    pub(crate) copy_inputs: bool,
    /// Lets the results replace those of another comparison in the folder of `--out`.
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
}

#[derive(Args, Clone, Debug)]
#[command(mut_arg("set", |set| set.value_name("KEY=A,B,…").help(
    "Sets a parameter, or sweeps over several values of it (repeatable: a grid)",
)))]
#[command(mut_arg("threads", |threads| threads.help("Worker threads of each run [default: 1]")))]
#[command(mut_arg("memory_limit", |limit| limit.help(
    "Bound on the memory of each run, with a unit: `2GiB` [default: three quarters of the machine's or the container's, divided by the jobs]",
)))]
#[command(mut_arg("tie_seed", |seed| seed.value_name("SEEDS").value_parser(tie_seeds).help(
    "Shuffles simultaneous events, in all runs alike; with several seeds, `1..5`, each point is run with each, and \
     the sweep tells which metrics depend on the order of such events; `compare` does so for tables and series too \
     [default: off]",
)))]
#[command(mut_arg("seed", |seed| seed.help("The one seed of all runs [default: 1]")))]
#[command(mut_arg("scenario", |scenario| {
    scenario.required(false).default_value("").hide_default_value(true).required_unless_present("from")
}))]
pub(crate) struct SweepArguments {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// Goes on from a saved run in each run, with random streams of the run's seed from there on, instead of
    /// starting a scenario (repeatable: each run then goes on from each of them). Only keys are swept that
    /// may change during a run.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["scenario", "tie_seed"])]
    pub(crate) from: Vec<PathBuf>,
    /// Lets the metrics begin again where the saved runs end (`mm1` and `jackson`: the sojourn times).
    #[arg(long, requires = "from")]
    pub(crate) fresh_metrics: bool,
    /// The seeds, both ends included: `1..30`, `1,2,5` [default: 1; with `--until-interval`, from 1..1000
    /// until the intervals are narrow enough].
    #[arg(long, value_name = "SEEDS", conflicts_with = "seed", allow_hyphen_values = true)]
    pub(crate) seeds: Option<String>,
    /// The engine of each run: `auto`, `sequential`, … [default: auto].
    #[arg(long, value_name = "E")]
    pub(crate) engine: Option<String>,
    /// Runs at a time, each in a process of its own, on one thread unless `--threads` says otherwise
    /// [default: the number of cores].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) jobs: Option<u64>,
    /// The metrics to show, and for `--until-interval` those that count (repeatable): `sojourn`,
    /// `sojourn_distribution_s.p99`.
    #[arg(long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// Adds seeds, point by point, until the 95 % interval of each `--metric` is at most this share of its
    /// mean to either side, or until no seeds are left: `1%`.
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, requires = "metrics")]
    pub(crate) until_interval: Option<f64>,
    #[command(flatten)]
    pub(crate) workers: Workers,
    #[command(flatten)]
    pub(crate) how: HowArguments,
    #[command(flatten)]
    pub(crate) viewing: ViewArguments,
    /// Prints CSV: a row a run, or with `--csv=means` a row for each metric of each point. All numbers are in
    /// base units, swept parameters too: seconds, bytes, bits per second.
    #[arg(long, value_name = "TABLE", num_args = 0..=1, require_equals = true, default_missing_value = "runs", conflicts_with_all = ["json", "brief", "table"])]
    pub(crate) csv: Option<CsvTable>,
    /// Writes the results as files into a folder, the results of each run into a folder of their own. From
    /// the journal there, the same command goes on.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Keeps the journal alone, in this file.
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub(crate) journal: Option<PathBuf>,
    /// Executes only the runs of shard I of N, from 1; `slurm` takes both from the job array. `merge` makes
    /// one table of the folders of all shards. Under mpirun or srun, each rank executes a shard, in a folder
    /// of its number in that of `--out`.
    #[arg(long, value_name = "I/N", value_parser = shard, allow_hyphen_values = true, conflicts_with = "until_interval")]
    pub(crate) shard: Option<Shard>,
    /// Executes only runs that have no result yet in the folder of `--out` or in folders in it, such as those
    /// of shards.
    #[arg(long, requires = "out", conflicts_with = "until_interval")]
    pub(crate) missing: bool,
    /// Writes a chart as an SVG file: the means of the one `--metric` over the first swept parameter, with
    /// their intervals of 95 %, and a line for each value of the other parameters.
    #[arg(long, value_name = "FILE.svg", requires = "metrics")]
    pub(crate) plot: Option<PathBuf>,
    /// Writes the table of runs as a Parquet file (where this program was built with `--features parquet`).
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,
    /// True if the results are only written to files.
    #[arg(skip)]
    pub(crate) keeps_silent: bool,
}

/// A table of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CsvTable {
    /// A row a run.
    Runs,
    /// A row for each metric of each point.
    Means,
}

/// The arguments that all runs of a sweep have in common, for the process that executes them.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkerArguments {
    #[command(flatten)]
    pub(crate) scenario: ScenarioArguments,
    /// The engine.
    #[arg(long)]
    pub(crate) engine: Option<String>,
    /// The file with the inputs that the sweep has read.
    #[arg(long)]
    pub(crate) inputs: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) workers: Workers,
    #[command(flatten)]
    pub(crate) how: HowArguments,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct DiffArguments {
    /// Two runs: folders that `run --out` wrote, or options in quotes: `"phold --seed 1"`.
    #[arg(num_args = 2, required = true, value_names = ["RUN", "RUN"])]
    pub(crate) runs: Vec<String>,
}
