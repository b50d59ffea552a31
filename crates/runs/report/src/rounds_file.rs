//! The log of rounds as a file: CSV with a header line, and a row for each round of the engine `rounds`.

use crate::result_file::{ResultFile, late};
use parades_catalog::{Choice, Engine};
use parades_core::round_log::Round;
use parades_session::Failure;
use std::io::{self, Write};
use std::path::Path;

/// The columns, as docs/platform-programs.md describes them.
const HEADER: &str = "id,time_ps,step,programs,events,mode,wall_ns";

/// A file for the log of rounds, which is moved to its place when it is whole.
#[derive(Debug)]
pub(crate) struct RoundsFile(ResultFile);

impl RoundsFile {
    /// Returns a file that can be written, for a run on this engine.
    pub(crate) fn new(path: &Path, choice: &Choice) -> Result<RoundsFile, Failure> {
        if choice.engine != Engine::Rounds {
            let message = format!(
                "`--rounds` is the log of the engine `{}`, and this run has the engine `{}`",
                Engine::Rounds,
                choice.engine
            );
            return Err(Failure::usage(message, "add `--engine rounds`, or leave `--rounds` out"));
        }
        let mut file = ResultFile::create(path)?;
        writeln!(file, "{HEADER}").map_err(|error| late(&error))?;
        Ok(RoundsFile(file))
    }

    /// Writes the row of a round.
    pub(crate) fn round(&mut self, round: &Round) -> io::Result<()> {
        let Round { id, instant, programs, events, parallel, took } = round;
        let mode = if *parallel { "parallel" } else { "serial" };
        let (time, step, wall) = (instant.time.as_ps(), instant.round, took.as_nanos());
        writeln!(self.0, "{id},{time},{step},{programs},{events},{mode},{wall}")
    }

    /// Moves the file to its place.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        self.0.finish()
    }
}
