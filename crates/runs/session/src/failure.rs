//! Why a run has no result: one message, and the exit status of a program that ends with it.

use crate::panics;
use parades_catalog::Refusal;
use parades_config::ConfigError;
use parades_core::error::{Error, ErrorKind};
use std::fmt::{self, Display, Write as _};
use std::io;
use std::path::Path;

/// The exit status of a program whose simulation failed.
pub const FAILED: u8 = 1;
/// The exit status of a program that was used wrongly, or was given a bad input file.
pub const WRONG_USAGE: u8 = 2;
/// The exit status of a program that was stopped by Ctrl-C.
pub const STOPPED: u8 = 130;

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// The user's input is wrong.
    Input(Box<ConfigError>),
    /// The simulation failed.
    Simulation(String),
    /// The run was stopped by hand before it had a result.
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
    /// Reports wrong usage, and says what to do about it.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Failure {
        ConfigError::new(message).with_help(help).into()
    }

    /// Reports a simulation that failed.
    pub fn simulation(message: impl Into<String>) -> Failure {
        Failure::Simulation(message.into())
    }

    /// Reports a run that ended in an error, with the command that reproduces the error.
    pub fn of_run(error: &Error, command: &str) -> Failure {
        if *error.kind() == ErrorKind::Stopped {
            return Failure::Stopped("the logical processes were still being set up, so there is no result");
        }
        let mut message = error.to_string();
        if let ErrorKind::Panic(panic) = error.kind()
            && let Some(place) = panics::place_of(panic)
        {
            let _ = write!(message, " ({place})");
        }
        match error.kind() {
            // The same command may well succeed: these errors come from the state of the machine.
            ErrorKind::Memory { .. } | ErrorKind::Thread(_) | ErrorKind::Trace(_) => Failure::Simulation(message),
            _ => Failure::Simulation(format!("{message}; reproduce it with `{command}`")),
        }
    }

    /// Reports a file that cannot be written, found out before the run.
    pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or(&text);
        Failure::usage(
            format!("{} cannot be written: {reason}", path.display()),
            "name a place where files can be written",
        )
    }

    /// Reports a file that could not be written after the run.
    pub fn written_late(path: &Path, error: &io::Error) -> Failure {
        Failure::simulation(format!("{} cannot be written: {error}; make room, or write elsewhere", path.display()))
    }

    /// Returns the exit status of a program that ends with this failure.
    pub fn exit_status(&self) -> u8 {
        match self {
            Failure::Input(_) => WRONG_USAGE,
            Failure::Simulation(_) => FAILED,
            Failure::Stopped(_) => STOPPED,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Stopped(message) => f.write_str(message),
            Failure::Simulation(message) => f.write_str(message),
            Failure::Input(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}
