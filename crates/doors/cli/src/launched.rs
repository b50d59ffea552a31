//! Commands that a launcher of MPI executes on several ranks.

#[cfg(feature = "mpi")]
mod over_mpi;

use crate::arguments::Command;
use parades_session::Failure;
use parades_session::machine::LaunchedRank;
use std::process::ExitCode;

/// The setting that says how many consecutive ranks play one machine.
const RANKS_PER_MACHINE: &str = "ranks-per-machine";

/// Executes a command. If a launcher has started this process as one of several ranks, all ranks execute it
/// together.
pub(crate) fn execute(command: Command) -> Result<ExitCode, Failure> {
    match LaunchedRank::of_this_process() {
        Some(place) if command.executes() => on_ranks(command, place),
        _ => {
            refuse_machines(&command)?;
            crate::execute(command)
        }
    }
}

/// Refuses the setting of ranks that no launcher has started.
fn refuse_machines(command: &Command) -> Result<(), Failure> {
    let is_set = |how: &crate::arguments::HowArguments| how.tune.iter().any(|setting| is_ranks_per_machine(setting));
    match command {
        Command::Run(run) if is_set(&run.how) => {}
        Command::Compare(compare) if is_set(&compare.how) => {}
        _ => return Ok(()),
    }
    Err(Failure::usage(
        format!("`--tune {RANKS_PER_MACHINE}` is for ranks that mpirun or srun has started"),
        "leave it out; `--processes` share the memory of one machine",
    ))
}

fn is_ranks_per_machine(setting: &str) -> bool {
    setting.split('=').next() == Some(RANKS_PER_MACHINE)
}

#[cfg(feature = "mpi")]
fn on_ranks(command: Command, place: LaunchedRank) -> Result<ExitCode, Failure> {
    over_mpi::execute(command, place)
}

#[cfg(not(feature = "mpi"))]
fn on_ranks(_: Command, LaunchedRank { ranks, variable, .. }: LaunchedRank) -> Result<ExitCode, Failure> {
    Err(Failure::usage(
        format!("this is one of {ranks} ranks (`{variable}`), and this program was built without MPI"),
        "build it with `--features mpi` (docs/cluster.md), or start it without mpirun and use `--processes`",
    ))
}
