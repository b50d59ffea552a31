//! Commands on ranks that MPI connects. Rank 0 executes the command, and the others take part in its runs.

use super::{RANKS_PER_MACHINE, is_ranks_per_machine};
use crate::arguments::{BranchArguments, Command, HowArguments, ResumeArguments, RunArguments};
use crate::ending;
use crate::printing::say;
use parades_mpi::{Connected, Job, MpiFabric, Shared, System, connect, share_memory};
use parades_session::failure::{FAILED, WRONG_USAGE};
use parades_session::machine::LaunchedRank;
use parades_session::ranks::launched;
use parades_session::{Failure, interrupt, itself};
use parades_transport::Fabric;
use std::process::ExitCode;

/// Executes a command as one of several ranks. Returns after all ranks have ended.
pub(super) fn execute(command: Command, place: LaunchedRank) -> Result<ExitCode, Failure> {
    if place.rank > 0 {
        // An interrupt of the job reaches all ranks. Rank 0 ends the run, with the results so far.
        interrupt::listen(|_| {});
    }
    let failed = |why: String| Failure::simulation(format!("rank {} cannot join the others: {why}", place.rank));
    let Connected { job, fabric } = connect(System::open).map_err(failed)?;
    if fabric.ranks() as u64 != place.ranks {
        return stray(place, fabric.ranks());
    }
    let difference = difference(&job).map_err(failed)?;
    let result = match difference {
        Some(difference) => Err(Failure::usage(difference, "see docs/cluster.md")),
        None => together(command, place.ranks, &job, fabric),
    };
    let has_failed = result.is_err();
    let status = match result {
        Ok(status) => status,
        Err(failure) if place.rank == 0 => ending::report(&failure),
        // Rank 0 has this error too, or it has ended, and the launcher says so. A status here could hide its
        // own.
        Err(_) => ExitCode::SUCCESS,
    };
    job.end(u8::from(has_failed) * FAILED);
    Ok(status)
}

/// Refuses ranks that MPI does not connect. Each of them takes itself for rank 0.
fn stray(place: LaunchedRank, connected: usize) -> Result<ExitCode, Failure> {
    if place.rank > 0 {
        return Ok(ExitCode::from(WRONG_USAGE));
    }
    Err(Failure::usage(
        format!("the launcher has started {} ranks, but MPI connects {connected} of them", place.ranks),
        "start it with the `mpirun` of the MPI library that it was built with, or with `srun --mpi=pmix`",
    ))
}

/// Executes the command on rank 0, and the other ranks' parts of its runs on the others.
fn together(mut command: Command, ranks: u64, job: &Job, fabric: MpiFabric) -> Result<ExitCode, Failure> {
    let ranks_per_machine = prepare(&mut command, ranks)?;
    let Shared { fabric, note, ranks_here } =
        share_memory(job, fabric, ranks_per_machine).map_err(Failure::simulation)?;
    if fabric.rank() > 0 {
        return launched::serve(fabric, ranks_here).map(|()| ExitCode::SUCCESS);
    }
    note.iter().for_each(|note| say(format_args!("note: {note}")));
    let others = launched::lead(fabric, ranks_here);
    let result = crate::execute(command);
    drop(others);
    result
}

/// Makes the ranks the processes of the command's runs. Returns the number of ranks that play one machine, if
/// the user gives it.
fn prepare(command: &mut Command, ranks: u64) -> Result<Option<usize>, Failure> {
    let how = match command {
        Command::Run(RunArguments { task, .. })
        | Command::Resume(ResumeArguments { task, .. })
        | Command::Branch(BranchArguments { run: ResumeArguments { task, .. }, .. }) => {
            check(task.workers.processes.as_slice(), ranks)?;
            task.workers.processes = Some(ranks);
            &mut task.how
        }
        Command::Compare(compare) => {
            check(&compare.workers.processes, ranks)?;
            compare.workers.processes = vec![ranks];
            &mut compare.how
        }
        _ => {
            return Err(Failure::usage(
                format!("this command cannot be shared among {ranks} ranks"),
                "start it without mpirun; `run`, `resume`, `branch` and `compare` use several ranks",
            ));
        }
    };
    take_ranks_per_machine(how)
}

/// Refuses a number of processes that is not the number of ranks.
fn check(processes: &[u64], ranks: u64) -> Result<(), Failure> {
    match processes.iter().find(|&&processes| processes != ranks) {
        None => Ok(()),
        Some(processes) => Err(Failure::usage(
            format!("`--processes {processes}` differs from the {ranks} ranks that the launcher has started"),
            "leave it out: each rank is a process of the run",
        )),
    }
}

/// Removes the setting from those of the engine.
fn take_ranks_per_machine(how: &mut HowArguments) -> Result<Option<usize>, Failure> {
    let (ours, engines): (Vec<_>, Vec<_>) =
        std::mem::take(&mut how.tune).into_iter().partition(|setting| is_ranks_per_machine(setting));
    how.tune = engines;
    let Some(setting) = ours.last() else { return Ok(None) };
    match setting.split_once('=').and_then(|(_, ranks)| ranks.trim().parse().ok()) {
        Some(ranks @ 1..) => Ok(Some(ranks)),
        _ => Err(Failure::usage(
            format!("`--tune {setting}` has no number of ranks"),
            format!("write `--tune {RANKS_PER_MACHINE}=N`, with N from 1 on"),
        )),
    }
}

/// Returns a sentence on the first rank that was started with other arguments than rank 0: the same on all
/// ranks. Each run checks when it begins that they execute the same program.
fn difference(job: &Job) -> Result<Option<String>, String> {
    let words: Vec<String> = itself::words().iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let all = job.gather_all(words.join(" ").into_bytes())?;
    let other = (1..).zip(&all[1..]).find(|(_, words)| **words != all[0]);
    Ok(other.map(|(rank, words)| {
        let [mine, theirs] = [&all[0], words].map(|words| String::from_utf8_lossy(words).into_owned());
        format!(
            "rank {rank} was started with other arguments than rank 0 (`{theirs}`, not `{mine}`); start the same \
             command on every rank"
        )
    }))
}
