//! The arguments that say how runs are executed.

use super::ScenarioArguments;
use super::values::size;
use clap::Args;
use parades_config::THREADS_MAX;
use parades_session::Request;

/// The threads and processes of a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct Workers {
    /// Worker threads in each process [default: the number of cores, divided by the processes].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=THREADS_MAX))]
    pub(crate) threads: Option<u64>,
    /// Processes on this machine, connected by shared memory [default: 1].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) processes: Option<u64>,
}

impl Workers {
    /// Returns the request with these threads and processes.
    pub(crate) fn of(&self, request: Request) -> Request {
        Request { threads: self.threads, processes: self.processes, ..request }
    }
}

/// The threads and processes of runs that are compared.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkerLists {
    /// Worker threads in each process, or several numbers of them [default: the number of cores, divided by
    /// the processes].
    #[arg(long, value_name = "N,M,…", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=THREADS_MAX))]
    pub(crate) threads: Vec<u64>,
    /// Processes on this machine, connected by shared memory, or several numbers of them [default: 1].
    #[arg(long, value_name = "N,M,…", value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) processes: Vec<u64>,
}

/// The other arguments that say how a scenario is run.
#[derive(Args, Clone, Debug)]
pub(crate) struct HowArguments {
    /// Sets a setting of the engine or transport (repeatable; `parades list --engines`). Where there are
    /// several engines, those that have the setting get it.
    #[arg(long = "tune", value_name = "KEY=VALUE")]
    pub(crate) tune: Vec<String>,
    /// Bound on the memory of the model, events, history and results of each process, with a unit: `2GiB`. A
    /// process takes at most 16 MiB more, beside its code [default: three quarters of the machine's, or of
    /// the container's, divided by the processes].
    #[arg(long, value_name = "SIZE", value_parser = size, allow_hyphen_values = true)]
    pub(crate) memory_limit: Option<u64>,
    /// Prints one JSON object on standard output, and nothing else there.
    #[arg(long)]
    pub(crate) json: bool,
    /// Prints no notes and draws no progress on standard error (where that is no terminal, none is drawn
    /// anyway).
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Skips the digest.
    #[arg(long)]
    pub(crate) no_digest: bool,
}

impl HowArguments {
    /// Returns the request to run a scenario in this way.
    pub(crate) fn request(&self, scenario: &ScenarioArguments, engine: Option<&str>) -> Request {
        Request {
            engine: engine.map(str::to_owned),
            tune: self.tune.clone(),
            memory_limit: self.memory_limit,
            digest: !self.no_digest,
            ..scenario.request()
        }
    }
}
