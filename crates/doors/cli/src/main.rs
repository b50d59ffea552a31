//! The `parades` command: it parses its arguments, calls the library and prints.

#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod compare;
mod diff;
mod ending;
mod list;
mod printing;
mod run;
mod show;
mod sweep;
mod terminal;
mod why;
mod worker;

use arguments::{Arguments, Command};
use clap::{CommandFactory, Parser};
use parades_raw::allocator::Allocator;
use parades_session::request::quote;
use parades_session::{Failure, Program, failure, interrupt, machine, panics};
use printing::{print, say};
use std::process::ExitCode;

/// Reports full memory as a failure of the run, in one sentence.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator {
    message: "error: memory is full; make the run smaller, or give it a `--memory-limit` below what the system lets it have",
    exit_status: failure::FAILED as i32,
};

fn main() -> ExitCode {
    panics::keep_quiet();
    interrupt::survive_full_files();
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
        // Freed memory that the allocator keeps would count as used.
        parades_raw::allocator::return_large_blocks();
    }
    if command.executes() {
        machine::refuse_ranks()?;
        listen_to_signals();
    }
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::SweepWorker(arguments) => worker::work(&arguments),
        Command::Diff(arguments) => diff::diff(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::List { engines } => list::list(engines),
        Command::Show(arguments) => show::show(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "parades", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    }
}

/// Lets signals end the runs of this process at their next cut. While nothing runs, a signal ends the
/// process, with an exit status of its own.
fn listen_to_signals() {
    interrupt::listen(|has_stopped_runs| {
        if !has_stopped_runs {
            say("stopped: before there was a result");
        }
        std::process::exit(i32::from(failure::STOPPED));
    });
}

/// Returns this program, as results record it.
fn program() -> Program {
    let words = std::env::args_os().map(|word| quote(&word.to_string_lossy()));
    Program {
        version: env!("CARGO_PKG_VERSION"),
        commit: env!("PARADES_COMMIT"),
        command: words.collect::<Vec<_>>().join(" "),
    }
}
