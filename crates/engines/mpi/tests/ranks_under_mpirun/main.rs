//! Ranks that `mpirun` starts have the digest of the sequential engine, and a rank that is killed ends the
//! job.
//!
//! The test starts itself under `mpirun`, which must be in the path and belong to the MPI library of the
//! build.

#![expect(clippy::print_stdout, reason = "a rank prints its digest, and the test prints a line for each row")]

mod rank;

use parades_engine::sequential;
use rank::{Row, options};
use std::process::{Command, ExitCode, Output};

/// The arguments of a rank begin with this word.
const RANK: &str = "rank";
/// A rank of a row with this word kills itself.
const DIES: &str = "dies";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [RANK, model, engine, path, fate] => rank::run(&Row::of(model, engine), path, fate == DIES),
        // The arguments of `cargo test`, for a test harness.
        _ => compare_all(),
    }
}

/// The numbers of ranks, each with the path between them: `mpi`, or the number of ranks that play one
/// machine. All ranks are of one machine where this number is 0.
const PATHS: [(&str, &str); 5] = [("2", "mpi"), ("3", "mpi"), ("2", "0"), ("3", "2"), ("4", "2")];

fn name(path: &str) -> String {
    match path {
        "mpi" => "MPI".to_owned(),
        "0" => "shared memory".to_owned(),
        _ => format!("shared memory between {path} and MPI"),
    }
}

/// Runs all rows. Prints each with its result.
fn compare_all() -> ExitCode {
    let mut differences = 0;
    let mut report = |row: &str, same: Result<String, String>| {
        differences += u32::from(same.is_err());
        println!("{row}: {}", same.unwrap_or_else(|what| format!("DIFFERENT: {what}")));
    };
    for model in Row::MODELS {
        let expected = digest_of_sequential(model);
        for engine in Row::ENGINES {
            for (ranks, path) in PATHS {
                let output = mpirun(ranks, [model, engine, path, "lives"]);
                report(&format!("{model}, {engine}, {ranks} ranks, {}", name(path)), same(&output, &expected));
            }
        }
    }
    for path in ["mpi", "2"] {
        let killed = mpirun("3", ["phold", "window", path, DIES]);
        report(&format!("a rank is killed, {}", name(path)), named(&killed));
    }
    if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn digest_of_sequential(model: &str) -> String {
    let outcome = match model {
        "phold" => sequential::run(&rank::phold(), options()),
        _ => sequential::run(&rank::network(), options()),
    };
    outcome.expect("the model is right").digest.expect("it is asked for").to_string()
}

fn mpirun(ranks: &str, words: [&str; 4]) -> Output {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "-n", ranks]).arg(program).arg(RANK).args(words);
    // Containers run everything as root.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.output().unwrap_or_else(|error| panic!("mpirun cannot be started: {error}"))
}

/// Checks that only rank 0 has printed, and that it has printed the expected digest.
fn same(output: &Output, expected: &str) -> Result<String, String> {
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() && printed.trim() == expected {
        return Ok(expected.to_owned());
    }
    Err(format!("{} in place of {expected}; {errors}", printed.trim()))
}

/// Checks that the job has ended with a message on the signal.
fn named(output: &Output) -> Result<String, String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = errors.lines().find(|line| line.contains("signal 9") || line.contains("KILLED BY SIGNAL: 9"));
    let line = line.filter(|_| !output.status.success());
    line.map(str::to_owned).ok_or_else(|| format!("no message: {errors}"))
}
