//! The end of the program: one message on standard error, and an exit status.

use crate::printing::say;
use parades_config::{ConfigError, Place, is_executed};
use parades_session::failure::{FAILED, WRONG_USAGE};
use parades_session::{Failure, itself, panics};
use std::io::IsTerminal;
use std::process::ExitCode;

/// Prints the reason why there is no result, and returns the exit status.
pub(crate) fn report(failure: &Failure) -> ExitCode {
    match failure {
        Failure::Stopped(what) => say(format_args!("stopped: {what}")),
        Failure::Run(_) | Failure::Simulation(_) => say(format_args!("error: {failure}")),
        Failure::Input(error) => {
            say(format_args!("error: {error}"));
            if std::io::stderr().is_terminal() {
                show_source(error);
            }
        }
    }
    ExitCode::from(failure.kind().exit_status())
}

/// Prints the line of the file with the place marked, if there is one.
fn show_source(error: &ConfigError) {
    let Some(Place::Spot(spot)) = error.place() else { return };
    let Some(line) = &spot.source_line else { return };
    let number = spot.line.to_string();
    say(format_args!("  {number} | {line}"));
    say(format_args!("  {:1$} | {:2$}{3}", "", number.len(), spot.column - 1, "^".repeat(spot.width)));
}

/// Prints clap's error, or the help or version that was asked for, unless another rank does. Returns the exit
/// status.
pub(crate) fn usage(error: &clap::Error, prints: bool) -> ExitCode {
    // The error repeats arguments. A terminal would execute some of them together with the colours.
    if !prints {
        // The status alone.
    } else if itself::words().iter().any(|word| word.to_string_lossy().contains(is_executed)) {
        say(error.render().to_string().trim_end());
    } else {
        let _ = error.print();
    }
    if error.use_stderr() { ExitCode::from(WRONG_USAGE) } else { ExitCode::SUCCESS }
}

/// Reports a panic that no model caused, and returns the exit status.
pub(crate) fn defect() -> ExitCode {
    let panics::Panic { message, place } = panics::last().unwrap_or_default();
    say(format_args!(
        "error: parades itself is at fault ({message}, at {place}); please report it with the command that led here"
    ));
    ExitCode::from(FAILED)
}
