//! Why a run has no result: one message, and the exit status of a program that ends with it.

use crate::panics;
use parades_catalog::Refusal;
use parades_config::{ConfigError, inputs};
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
    /// A run ended in an error.
    Run(Box<RunError>),
    /// Something else failed: a file could not be written, or two results differ.
    Simulation(String),
    /// The run was interrupted before it had a result.
    Stopped(&'static str),
}

/// The error of a run, and the message for the user.
#[derive(Debug)]
pub struct RunError {
    /// The error.
    pub error: Error,
    /// The message.
    message: String,
}

/// The kind of a [`Failure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The user's input is wrong.
    Input,
    /// The simulation failed.
    Simulation,
    /// The run was interrupted.
    Stopped,
}

impl FailureKind {
    /// Returns the exit status of a program that ends with such a failure.
    pub fn exit_status(self) -> u8 {
        match self {
            FailureKind::Input => WRONG_USAGE,
            FailureKind::Simulation => FAILED,
            FailureKind::Stopped => STOPPED,
        }
    }
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
    pub fn of_run(error: Error, command: &str) -> Failure {
        if *error.kind() == ErrorKind::Stopped {
            return Failure::Stopped("the logical processes were still being set up, so there is no result");
        }
        let mut message = error.to_string();
        if let ErrorKind::Panic(panic) = error.kind()
            && let Some(place) = panics::place_of(panic)
        {
            let _ = write!(message, " ({place})");
        }
        // The same command may well succeed where the error comes from the state of the machine.
        if !matches!(
            error.kind(),
            ErrorKind::Memory { .. } | ErrorKind::Thread(_) | ErrorKind::Trace(_) | ErrorKind::Ranks(_)
        ) {
            let _ = write!(message, "; reproduce it with `{command}`");
        }
        Failure::Run(Box::new(RunError { error, message }))
    }

    /// Returns the failure with one more part of the sentence, if it is the error of a run.
    pub(crate) fn and(mut self, more: Option<&str>) -> Failure {
        if let (Failure::Run(run), Some(more)) = (&mut self, more) {
            let _ = write!(run.message, "; {more}");
        }
        self
    }

    /// Reports a file that cannot be written, found out before the run.
    pub fn cannot_write(path: &Path, error: &io::Error) -> Failure {
        let reason = inputs::reason(error);
        Failure::usage(
            format!("{} cannot be written: {reason}", path.display()),
            "name a place where files can be written",
        )
    }

    /// Reports a file that could not be written after the run.
    pub fn written_late(path: &Path, error: &io::Error) -> Failure {
        Failure::simulation(format!("{} cannot be written: {error}; make room, or write elsewhere", path.display()))
    }

    /// Reports a thread that the system does not start. `purpose` is what the thread was for: "run".
    pub fn no_thread(purpose: &str, error: &io::Error) -> Failure {
        Failure::simulation(format!(
            "the thread for a {purpose} cannot be started: {error}; let the process have more threads and memory"
        ))
    }

    /// Returns the kind of this failure, which decides the exit status.
    pub fn kind(&self) -> FailureKind {
        match self {
            Failure::Input(_) => FailureKind::Input,
            Failure::Run(_) | Failure::Simulation(_) => FailureKind::Simulation,
            Failure::Stopped(_) => FailureKind::Stopped,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(error) => error.fmt(f),
            Failure::Run(run) => f.write_str(&run.message),
            Failure::Simulation(message) => f.write_str(message),
            Failure::Stopped(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Failure {}
