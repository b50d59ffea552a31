//! The `parades` command: it parses its arguments, calls the library and prints.
//!
//! - [`command`]: the whole command, for the built-in scenarios and scenarios of another program.
//! - [`like_command`], [`print()`], [`listen_to_signals`]: messages, output and exit statuses of a program
//!   beside the command.
//! - [`execute_sweep`], [`program_with`], [`values`]: the parts of the command that another door uses.
//! - [`BENCH_WORDS`]: what is known here of the program that `parades bench` starts.

#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod compare;
mod completions;
mod convert;
mod diff;
mod ending;
mod inputs_file;
mod launched;
mod list;
mod merge;
mod printing;
mod rerun;
mod resume;
mod run;
mod show;
mod sweep;
mod terminal;
mod why;
mod worker;

use arguments::Command;
pub use arguments::values;
pub use bench::BENCH_WORDS;
use parades_catalog::{Scenario, install};
use parades_report::result_file::remove_temporaries;
use parades_session::interrupt::{self, Idle};
use parades_session::request::quote;
use parades_session::{Failure, Program, failure, itself, panics, ranks};
pub use printing::print;
use printing::say;
use std::panic::UnwindSafe;
use std::process::ExitCode;
pub use sweep::execute_sweep;

/// The commit from which this program was built, or `unknown`.
pub const COMMIT: &str = env!("PARADES_COMMIT");

/// Executes the command line of this process, and returns the exit status.
///
/// `own` are scenarios of the program. They are listed, shown, run, compared and swept like the built-in
/// ones, and come first: a name that both have is that of the program's own scenario.
pub fn command(own: impl IntoIterator<Item = Scenario>) -> ExitCode {
    like_command(own, arguments::of_process, |arguments| launched::execute(arguments.command))
}

/// Executes a program that has messages and exit statuses as the command has them, and returns the exit
/// status. `parse` reads the command line, and `execute` does what it says.
pub fn like_command<A: UnwindSafe>(
    own: impl IntoIterator<Item = Scenario>,
    parse: impl FnOnce() -> Result<A, clap::Error>,
    execute: impl FnOnce(A) -> Result<ExitCode, Failure> + UnwindSafe,
) -> ExitCode {
    install(&own_name(), own);
    panics::keep_quiet();
    interrupt::survive_full_files();
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(error) => return ending::usage(&error, launched::may_speak()),
    };
    match std::panic::catch_unwind(|| execute(arguments)) {
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
    if command.listens() {
        listen_to_signals();
    }
    match command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::Merge(arguments) => merge::merge(&arguments),
        Command::SweepWorker(arguments) => worker::work(&arguments),
        Command::Rank => ranks::serve().map(|()| ExitCode::SUCCESS),
        Command::Diff(arguments) => diff::diff(&arguments),
        Command::Why(arguments) => why::why(&arguments),
        Command::Resume(arguments) => resume::resume(&arguments),
        Command::Branch(arguments) => resume::branch(&arguments),
        Command::Rerun(arguments) => rerun::rerun(&arguments),
        Command::List { engines } => list::list(engines),
        Command::Show(arguments) => show::show(&arguments),
        Command::Convert(arguments) => convert::convert(&arguments),
        Command::Bench { words } => bench::bench(&words),
        Command::Completions { shell } => completions::completions(shell),
    }
}

/// Returns the name of this program, as its user types it.
fn own_name() -> String {
    let path = itself::words().into_iter().next().map(std::path::PathBuf::from);
    let name = path.as_deref().and_then(std::path::Path::file_stem);
    name.map_or_else(|| "parades".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Lets signals end the runs of this process at their next cut. Results that are being written are written to
/// their end, unless the user asks again. Before the first run, a signal ends the process, with an exit
/// status of its own.
pub fn listen_to_signals() {
    interrupt::listen(|idle| {
        match idle {
            Idle::BeforeRuns => say("stopped: before there was a result"),
            Idle::AfterRuns => return,
            Idle::Again => say("stopped: by a second signal, without the results"),
        }
        stop();
    });
}

/// Ends this process because of a signal, without the results.
fn stop() -> ! {
    remove_temporaries();
    std::process::exit(i32::from(failure::STOPPED));
}

/// Returns this program, as results record it.
fn program() -> Program {
    let words: Vec<String> = itself::words().iter().map(|word| quote(&word.to_string_lossy())).collect();
    program_with(words.join(" "))
}

/// Returns this program, as results record it, with the command that leads to them.
pub fn program_with(command: String) -> Program {
    Program { version: env!("CARGO_PKG_VERSION"), commit: COMMIT, build: env!("PARADES_BUILD"), command }
}
