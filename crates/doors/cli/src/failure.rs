//! What goes wrong, as one message on standard error and an exit status.

use crate::say;
use parades_catalog::Refusal;
use parades_config::{ConfigError, Place};
use parades_core::error::{Error, ErrorKind};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Mutex;

/// The simulation failed.
pub(crate) const FAILED: u8 = 1;
/// Wrong usage, or a bad input file.
const WRONG_USAGE: u8 = 2;
/// Stopped by Ctrl-C.
pub(crate) const STOPPED: u8 = 130;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user's input is wrong: exit status 2.
    Input(Box<ConfigError>),
    /// The simulation failed: exit status 1.
    Simulation(String),
    /// Stopped by hand before there was a result: exit status 130.
    Stopped(&'static str),
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        Failure::Input(Box::new(error))
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        refusal.error.into()
    }
}

impl Failure {
    /// Wrong usage, with what to do about it.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Failure {
        ConfigError::new(message).with_help(help).into()
    }

    /// A simulation that failed.
    pub(crate) fn simulation(message: impl Into<String>) -> Failure {
        Failure::Simulation(message.into())
    }

    /// A run that ended in an error, with the command that reproduces it.
    pub(crate) fn of_run(error: &Error, command: &str) -> Failure {
        if *error.kind() == ErrorKind::Stopped {
            return Failure::Stopped("the logical processes were still being set up, so there is no result");
        }
        let mut message = error.to_string();
        if let ErrorKind::Panic(panic) = error.kind()
            && let Some(place) = place_of_panic(panic)
        {
            let _ = write!(message, " ({place})");
        }
        match error.kind() {
            // These are of the machine and the moment.
            ErrorKind::Memory { .. } | ErrorKind::Thread(_) | ErrorKind::Trace(_) => Failure::Simulation(message),
            _ => Failure::Simulation(format!("{message}; reproduce it with `{command}`")),
        }
    }

    /// The message.
    pub(crate) fn message(&self) -> String {
        match self {
            Failure::Stopped(what) => (*what).to_owned(),
            Failure::Simulation(message) => message.clone(),
            Failure::Input(error) => error.to_string(),
        }
    }

    /// Prints the message and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Failure::Stopped(what) => {
                say(format_args!("stopped: {what}"));
                ExitCode::from(STOPPED)
            }
            Failure::Simulation(message) => {
                say(format_args!("error: {message}"));
                ExitCode::from(FAILED)
            }
            Failure::Input(error) => {
                say(format_args!("error: {error}"));
                if std::io::stderr().is_terminal() {
                    show_source(error);
                }
                ExitCode::from(WRONG_USAGE)
            }
        }
    }
}

/// On a terminal, the line of the file with the place marked.
fn show_source(error: &ConfigError) {
    let Some(Place::Spot(spot)) = error.place() else { return };
    let Some(line) = &spot.source_line else { return };
    let number = spot.line.to_string();
    say(format_args!("  {number} | {line}"));
    say(format_args!("  {:1$} | {:2$}{3}", "", number.len(), spot.column - 1, "^".repeat(spot.width)));
}

/// What clap found wrong, or the help or version that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(WRONG_USAGE) } else { ExitCode::SUCCESS }
}

/// Message and place of the last panic.
static LAST_PANIC: Mutex<Option<(String, String)>> = Mutex::new(None);

/// A panic of a model is an error of the run, reported as such: nothing is printed when it happens.
pub(crate) fn keep_panics_quiet() {
    std::panic::set_hook(Box::new(|info| {
        // As the run's error has it.
        let message = info.payload_as_str().unwrap_or("with something that is no text").to_owned();
        let place = info.location().map_or_else(String::new, |place| format!("{}:{}", place.file(), place.line()));
        *LAST_PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((message, place));
    }));
}

/// Where the panic was that an error tells of, perhaps after the name of a process, if it was the last: others may have panicked ahead of time since, and
/// been taken back.
fn place_of_panic(told: &str) -> Option<String> {
    let last = LAST_PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    last.as_ref()
        .filter(|(message, place)| told.ends_with(message) && !place.is_empty())
        .map(|(_, place)| place.clone())
}

/// A panic that no model caused.
pub(crate) fn defect() -> ExitCode {
    let last = LAST_PANIC.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    let (message, place) = last.unwrap_or_default();
    say(format_args!(
        "error: parades itself is at fault ({message}, at {place}); please report it with the command that led here"
    ));
    ExitCode::from(FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_panic_is_told_of_that_panic_alone() {
        *LAST_PANIC.lock().unwrap() = Some(("boom".into(), "model.rs:10".into()));
        let place = Some("model.rs:10".to_owned());
        assert_eq!(place_of_panic("boom"), place);
        assert_eq!(place_of_panic("in the process `main` of node 3: boom"), place);
        assert_eq!(place_of_panic("another"), None);
    }
}
