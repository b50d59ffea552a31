//! The rivals: a C program, built when the table is measured, so that parades itself needs neither a C
//! compiler nor MPI.

use super::Cell;
use crate::child::{cannot_read, cannot_start, output};
use parades_session::Failure;
use std::io::ErrorKind;
use std::process::Command;
use tempfile::TempDir;

/// The lockings of a process, which take some milliseconds.
const LOCKINGS: &str = "100000";
const SOURCE: &str = include_str!("../../../rivals/transport.c");

/// A rival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rival {
    /// Copies each message through MPI.
    Mpi,
    /// Rings of slots in a shared window of MPI-3.
    Windows,
    /// The paper's segments, with a pair of mutexes.
    Zeroshm,
    /// The same segments, where any free slot is taken first.
    FirstFit,
}

impl Rival {
    pub(super) const ALL: [Rival; 4] = [Rival::Mpi, Rival::Windows, Rival::Zeroshm, Rival::FirstFit];

    /// Its name in the C program.
    pub(super) fn name(self) -> &'static str {
        match self {
            Rival::Mpi => "mpi",
            Rival::Windows => "windows",
            Rival::Zeroshm => "zeroshm",
            Rival::FirstFit => "first-fit",
        }
    }

    /// True if MPI starts the ranks. The other rivals start their own.
    fn is_mpi(self) -> bool {
        matches!(self, Rival::Mpi | Rival::Windows)
    }
}

/// The program of the rivals.
#[derive(Debug)]
pub(super) struct Program {
    folder: TempDir,
    /// The implementation of MPI, in its own words; `None` if there is none.
    pub(super) mpi: Option<String>,
}

impl Program {
    /// Builds the program, with MPI if there is `mpicc`. Returns `None` if there is no C compiler either.
    pub(super) fn build() -> Result<Option<Program>, Failure> {
        let wrong = |error: std::io::Error| Failure::simulation(format!("the rivals cannot be written: {error}"));
        let folder = TempDir::new().map_err(wrong)?;
        std::fs::write(folder.path().join("transport.c"), SOURCE).map_err(wrong)?;
        let mpi = mpi_version();
        let compiler = if mpi.is_some() { ["mpicc", "-DUSE_MPI"] } else { ["cc", "-UUSE_MPI"] };
        let mut command = Command::new(compiler[0]);
        command.args([compiler[1], "-O3", "transport.c", "-o", "transport", "-lpthread"]).current_dir(&folder);
        match command.output() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(cannot_start(&error)),
            Ok(output) if output.status.success() => Ok(Some(Program { folder, mpi })),
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(Failure::simulation(format!("`{}` cannot build the rivals: {}", compiler[0], said.trim())))
            }
        }
    }

    /// True if the program has this rival.
    pub(super) fn has(&self, rival: Rival) -> bool {
        self.mpi.is_some() || !rival.is_mpi()
    }

    /// Lets `processes` lock and unlock one mutex, all at once. Returns the nanoseconds of a locking.
    pub(super) fn locking(&self, processes: usize) -> Result<f64, Failure> {
        let mut command = Command::new(self.folder.path().join("transport"));
        command.args(["locking", "star", "64", LOCKINGS, &processes.to_string()]);
        let name = format!("transport locking by {processes}");
        output(&mut command, &name)?["ns"].as_f64().ok_or_else(|| cannot_read(&name))
    }

    /// Runs a rival. Returns the nanoseconds a message.
    pub(super) fn run(&self, rival: Rival, cell: Cell) -> Result<f64, Failure> {
        let Cell { pattern, bytes, ranks, messages } = cell;
        let program = self.folder.path().join("transport");
        let ranks = ranks.to_string();
        let mut command = if rival.is_mpi() {
            let mut command = mpirun(cell.ranks);
            command.arg(&program);
            command
        } else {
            Command::new(&program)
        };
        command.args([rival.name(), pattern, &bytes.to_string(), &messages.to_string()]);
        if !rival.is_mpi() {
            command.arg(&ranks);
        }
        let name = format!("transport {} {pattern} {bytes}", rival.name());
        output(&mut command, &name)?["ns"].as_f64().ok_or_else(|| cannot_read(&name))
    }
}

/// Returns the command that starts a program on `ranks` ranks of this machine. The program's words follow.
pub(in crate::tables) fn mpirun(ranks: usize) -> Command {
    let mut command = Command::new("mpirun");
    // More ranks than cores, also as root: Open MPI wants to be told. Other implementations read neither of
    // these variables.
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ]);
    command.args(["-n", &ranks.to_string()]);
    command
}

/// Returns the first line of what `mpirun` says of its version, if there are `mpicc` and `mpirun`.
fn mpi_version() -> Option<String> {
    Command::new("mpicc").arg("--version").output().ok()?;
    let output = Command::new("mpirun").arg("--version").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C program itself checks the sum of every message that it reads.
    #[test]
    fn every_rival_delivers_all_messages_in_every_pattern() {
        let Some(program) = Program::build().expect("the program is correct C") else { return };
        for (pattern, ranks) in [("pair", 2), ("ring", 3), ("star", 4)] {
            for bytes in [64, 16 << 10] {
                let cell = Cell { pattern, bytes, ranks, messages: 420 };
                for rival in Rival::ALL.into_iter().filter(|&rival| program.has(rival)) {
                    let ns = program.run(rival, cell).expect("it delivers");
                    assert!(ns > 0.0, "{rival:?} {cell:?}");
                }
            }
            assert!(program.locking(ranks).expect("all lock it") > 0.0);
        }
    }
}
