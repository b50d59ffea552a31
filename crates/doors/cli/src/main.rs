//! The `parades` command: parse, build, run, print; nothing else.

#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod compare;
mod diff;
mod ending;
mod files;
mod interrupt;
mod list;
mod plan;
mod report;
mod run;
mod steady;
mod sweep;
mod watch;
mod why;

use arguments::{Arguments, Command};
use clap::{CommandFactory, Parser};
use parades_raw::allocator::Allocator;
use parades_session::{Failure, failure, machine, panics};
use std::io::Write;
use std::process::ExitCode;

/// Full memory is the run's failure, in one sentence.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator {
    message: "error: memory is full; make the run smaller, or give it a `--memory-limit` below what the system lets it have",
    exit_status: failure::FAILED as i32,
};

fn main() -> ExitCode {
    panics::keep_quiet();
    interrupt::outlives_full_files();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return ending::usage(&error),
    };
    match std::panic::catch_unwind(|| execute(arguments.command)) {
        Ok(Ok(code)) => code,
        Ok(Err(failure)) => ending::report(&failure),
        Err(_) => ending::defect(),
    }
}

fn execute(command: Command) -> Result<ExitCode, Failure> {
    if command.memory_limit().is_some() {
        // What was freed and kept would count as taken.
        parades_raw::allocator::return_large_blocks();
    }
    if command.executes() {
        machine::refuse_ranks()?;
        interrupt::listens();
    }
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::SweepWorker(arguments) => sweep::work(&arguments),
        Command::Diff(arguments) => diff::diff(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::List { engines } => list::list(engines),
        Command::Show(arguments) => list::show(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "parades", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    }
}

/// Writes a line to standard error, if anybody can hear it.
fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Writes to standard output. A reader that has gone away (`parades list | head -1`) is no error.
fn print(text: &str) -> Result<ExitCode, Failure> {
    print_by(|to| to.write_all(text.as_bytes()))
}

/// Lets `write` write to standard output.
fn print_by(write: impl FnOnce(&mut std::io::StdoutLock<'_>) -> std::io::Result<()>) -> Result<ExitCode, Failure> {
    match write(&mut std::io::stdout().lock()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::simulation(format!(
            "standard output cannot be written: {error}; make room, or write elsewhere"
        ))),
        _ => Ok(ExitCode::SUCCESS),
    }
}
