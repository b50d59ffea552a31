//! The arguments that say when a run is saved.

use super::values::{span, wall_time};
use crate::program;
use clap::Args;
use parades_core::time::Delay;
use parades_session::Saving;
use std::path::PathBuf;
use std::time::Duration;

/// The times at which a run is saved, and the file.
#[derive(Args, Clone, Debug)]
pub(crate) struct SavingArguments {
    /// Saves the run as it is at its end, or where Ctrl-C, a signal or the memory limit ended it: `resume`
    /// goes on from there. The signal SIGUSR1 saves a run that goes on.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Saves the run into the file of `--save` each time that this wall time has passed: `10min`.
    #[arg(long, value_name = "T", value_parser = wall_time, allow_hyphen_values = true, requires = "save")]
    pub(crate) save_every: Option<Duration>,
    /// Saves the run into the file of `--save` at each multiple of this virtual time: `10s`.
    #[arg(long, value_name = "T", value_parser = span, allow_hyphen_values = true, requires = "save")]
    pub(crate) save_every_virtual: Option<Delay>,
    /// Keeps the last save before a metric was found above (`>`) or below (`<`) a value: `'sojourn > 20ms'`.
    /// It is looked at each time that the run is saved.
    #[arg(long, value_name = "CONDITION", requires = "save")]
    pub(crate) save_when: Option<String>,
    /// Keeps the last save before an error of the run, or before the memory limit ended it.
    #[arg(long, requires = "save")]
    pub(crate) save_before_failure: bool,
}

impl SavingArguments {
    /// Returns the user's wish for saved runs, if there is one.
    pub(crate) fn wish(&self) -> Option<Saving> {
        let SavingArguments { save, save_every, save_every_virtual, save_when, save_before_failure } = self;
        let program = program();
        Some(Saving {
            file: save.clone()?,
            version: program.version,
            commit: program.commit,
            at_end: true,
            stop_at: None,
            every: *save_every,
            every_virtual: *save_every_virtual,
            when: save_when.clone(),
            before_failure: *save_before_failure,
        })
    }
}
