//! The sides of `transport-phold` over MPI, as ranks that `mpirun` starts.
//!
//! `mpirun` must be in the path, and belong to the MPI library of the build.

#[path = "all/common.rs"]
#[allow(dead_code, reason = "this program uses a part of it")]
mod common;

use common::results_of_rank;
use std::process::Command;
use tempfile::TempDir;

#[test]
fn mpirun_can_start_the_program_as_ranks() {
    let folder = TempDir::new().expect("there is room");
    for side in ["paper-mpi 2", "batched-mpi 2", "2 4"] {
        let ranks = side.rsplit(' ').next().unwrap_or_default();
        let mut command = Command::new("mpirun");
        command.args(["--oversubscribe", "-n", ranks, env!("CARGO_BIN_EXE_parades-bench"), "transport-phold"]);
        // Containers run everything as root.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let results = folder.path().join("results");
        results_of_rank(command, side, &results);
        std::fs::remove_file(&results).expect("it is there");
    }
}
