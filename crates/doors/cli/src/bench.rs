//! `parades bench`: starts the program that measures.

use crate::own_name;
use parades_session::Failure;
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The program that measures.
const PROGRAM: &str = "parades-bench";

/// The words that shells complete after `bench`: the names of tables, and options. The program itself is not
/// known here; its tests compare these words with its own.
pub const BENCH_WORDS: &[&str] = &[
    "packets",
    "rivals",
    "phold",
    "phold-zero",
    "phold-remote",
    "lookahead",
    "idle",
    "bounds",
    "auto",
    "scaling",
    "balance",
    "rounds",
    "chord",
    "transport",
    "transport-phold",
    "transfer",
    "multicast",
    "contexts",
    "barriers",
    "refcounts",
    "restore",
    "flows",
    "steady",
    "digest",
    "--pairs",
    "--record",
    "--against",
    "--validation",
    "--json",
    "--rival",
    "--simgrid",
    "--ns3",
    "--large",
];

/// Passes the arguments on to the program beside this one, or else to the one in the path.
pub(crate) fn bench(words: &[OsString]) -> Result<ExitCode, Failure> {
    let beside = beside();
    let mut command = Command::new(beside.as_deref().unwrap_or(PROGRAM.as_ref()));
    command.args(words);
    let help = format!(
        "build it with `cargo build --release -p {PROGRAM}`, or install it with `cargo install --path crates/doors/bench`"
    );
    become_it(command).map_err(|error| match &beside {
        None if error.kind() == io::ErrorKind::NotFound => Failure::usage(
            format!(
                "measurements are a program of their own, and there is no `{PROGRAM}` beside this one or in the path"
            ),
            help,
        ),
        None => Failure::simulation(format!("`{PROGRAM}` cannot be started: {error}; {help}")),
        Some(path) => Failure::simulation(format!("{} cannot be started: {error}; {help}", path.display())),
    })
}

/// Returns the path of the program beside this one, if it is there.
fn beside() -> Option<PathBuf> {
    let this = env::current_exe().ok()?;
    // A link to this program may lie elsewhere. While a build replaces the file, it has no canonical path.
    let this = this.canonicalize().unwrap_or(this);
    let path = this.with_file_name(format!("{PROGRAM}{}", env::consts::EXE_SUFFIX));
    path.is_file().then_some(path)
}

/// Replaces this process, so that signals and the exit status are those of the program. It names itself as
/// its user has typed it.
#[cfg(unix)]
fn become_it(mut command: Command) -> io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.arg0(format!("{} bench", own_name())).exec())
}

/// Waits for the program, and ends with its exit status.
#[cfg(not(unix))]
fn become_it(mut command: Command) -> io::Result<ExitCode> {
    let status = command.status()?;
    std::process::exit(status.code().unwrap_or(i32::from(parades_session::failure::FAILED)))
}
