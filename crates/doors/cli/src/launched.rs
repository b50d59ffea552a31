//! Commands that a launcher of MPI executes on several ranks.

#[cfg(feature = "mpi")]
mod over_mpi;

use crate::arguments::{Command, HowArguments, SweepArguments};
use crate::sweep;
use parades_session::Failure;
#[cfg(not(feature = "mpi"))]
use parades_session::failure::WRONG_USAGE;
use parades_session::machine::LaunchedRank;
use parades_sweep::Shard;
use std::process::ExitCode;

/// The setting that says how many consecutive ranks play one machine.
const RANKS_PER_MACHINE: &str = "ranks-per-machine";

/// Executes a command. If a launcher has started this process as one of several ranks, all ranks execute it
/// together.
pub(crate) fn execute(command: Command) -> Result<ExitCode, Failure> {
    match (LaunchedRank::of_this_process(), command) {
        (Some(place), Command::Sweep(arguments)) => sweep_shard(arguments, place),
        (Some(place), command) if command.executes() => on_ranks(command, place),
        (_, command) => {
            refuse_machines(&command)?;
            crate::execute(command)
        }
    }
}

/// True if this process prints messages that all ranks have: it is rank 0, or no launcher has started it.
pub(crate) fn may_speak() -> bool {
    LaunchedRank::of_this_process().is_none_or(|place| place.rank == 0)
}

/// Executes the shard of a sweep that belongs to this rank. Ranks exchange nothing, so this needs no MPI. A
/// shard that the user gives is executed as without a launcher.
fn sweep_shard(mut arguments: SweepArguments, place: LaunchedRank) -> Result<ExitCode, Failure> {
    crate::listen_to_signals();
    if arguments.shard.is_some() {
        return sweep::sweep(&arguments);
    }
    let Some(folder) = &arguments.out else {
        return Err(Failure::usage(
            format!("each of {} ranks (`{}`) executes a shard, and keeps it in a folder", place.ranks, place.variable),
            "give the folder of all shards with `--out DIR`; `merge DIR` then makes one table",
        ));
    };
    let number = place.rank + 1;
    arguments.shard = Some(Shard::new(number, place.ranks)?);
    arguments.out = Some(folder.join(number.to_string()));
    // The tables of several ranks would mix on one output.
    arguments.keeps_silent = true;
    sweep::sweep(&arguments)
}

/// Refuses the setting of ranks that no launcher has started.
fn refuse_machines(command: &Command) -> Result<(), Failure> {
    let is_set = |how: &HowArguments| how.tune.iter().any(|setting| is_ranks_per_machine(setting));
    match command {
        Command::Run(run) if is_set(&run.task.how) => {}
        Command::Resume(resume) if is_set(&resume.task.how) => {}
        Command::Branch(branch) if is_set(&branch.run.task.how) => {}
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

/// Returns the command that builds this program with MPI. A program with scenarios of its own has the feature
/// from the library.
#[cfg(not(feature = "mpi"))]
fn with_mpi() -> &'static str {
    match parades_catalog::program_name() {
        "parades" => "cargo build --release -p parades-cli --features mpi",
        _ => "cargo build --release --features parades/mpi",
    }
}

#[cfg(not(feature = "mpi"))]
fn on_ranks(_: Command, LaunchedRank { ranks, variable, .. }: LaunchedRank) -> Result<ExitCode, Failure> {
    if !may_speak() {
        return Ok(ExitCode::from(WRONG_USAGE));
    }
    Err(Failure::usage(
        format!("this is one of {ranks} ranks (`{variable}`), and this program was built without MPI"),
        format!("build it with `{}` (docs/cluster.md), or start it without mpirun and use `--processes`", with_mpi()),
    ))
}
