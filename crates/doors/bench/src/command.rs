//! The command line: one table of measurements, the list of tables, or a command of `parades` with the
//! variants of the engines.

mod arguments;

use arguments::Arguments;
use parades_catalog::add_variants;
use parades_cli::{COMMIT, like_command, listen_to_signals, print};
use parades_session::Failure;
use parades_session::failure::WRONG_USAGE;
use parades_session::machine::{LaunchedRank, Machine};
use parades_session::ranks::RANK_COMMAND;
use parades_tables::record::{self, Origin};
use parades_tables::variants::VARIANTS;
use parades_tables::{Measured, Options, TABLES, is_rank};
use std::process::ExitCode;

/// The commands of `parades` that this program has too. Their engines have settings for all [`VARIANTS`].
const COMMANDS: [&str; 4] = ["run", "compare", "list", RANK_COMMAND];

/// Executes the command line of this process, and returns the exit status.
///
/// Tables start this program again for runs in processes of their own, so the measured code was built
/// together with the tables.
pub(crate) fn command() -> ExitCode {
    let first = std::env::args_os().nth(1);
    if first.is_some_and(|word| COMMANDS.iter().any(|command| *command == word)) {
        add_variants(VARIANTS);
        return parades_cli::command([]);
    }
    like_command([], arguments::of_process, execute)
}

fn execute(arguments: Arguments) -> Result<ExitCode, Failure> {
    if !is_rank() {
        if let Some(place) = LaunchedRank::of_this_process() {
            return refuse(place);
        }
        listen_to_signals();
    }
    let Some(name) = &arguments.table else {
        let lines = TABLES.iter().map(|table| format!("{:<15} {}\n", table.name, table.about));
        return print(&lines.collect::<String>());
    };
    if let Some(folder) = &arguments.validation {
        let validation = parades_tables::validate(name, folder)?;
        return print(&if arguments.json { format!("{}\n", validation.json) } else { validation.text });
    }
    let this = std::env::current_exe()
        .map_err(|error| Failure::simulation(format!("a process for a run cannot be started: {error}")))?;
    let Arguments { pairs, rivals, simgrid, ns3, large, .. } = arguments.clone();
    let options = Options { pairs, program: this, rivals, simgrid, ns3, large };
    parades_tables::check(name, &options)?;
    let before = arguments.against.as_deref().map(record::read).transpose()?;
    let file = arguments.record.as_deref().map(record::open).transpose()?;
    let Measured { mut text, figures } = parades_tables::measure(name, &options)?;
    let origin = Origin { table: name, commit: COMMIT, machine: &Machine::this() };
    if let Some(before) = before {
        text.push_str(&record::compare(origin, &figures, &before));
    }
    if let Some(mut file) = file {
        record::write(&mut file, origin, &figures)?;
        file.finish()?;
    }
    print(&text)
}

/// Refuses to measure on several ranks that a launcher has started. Rank 0 says why.
fn refuse(LaunchedRank { rank, ranks, .. }: LaunchedRank) -> Result<ExitCode, Failure> {
    if rank > 0 {
        return Ok(ExitCode::from(WRONG_USAGE));
    }
    Err(Failure::usage(
        format!("measurements cannot be shared among {ranks} ranks"),
        "start them without mpirun; tables start the processes that they need",
    ))
}
