//! A trace as a file.

use crate::result_file::Temporary;
use parades_core::trace::{Executed, write_lines};
use parades_session::Failure;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A trace that goes into the folder of results.
#[derive(Clone, Debug)]
pub struct FinishedTrace {
    /// The place of its file before it is moved.
    pub(crate) path: PathBuf,
    /// The choice of events in it.
    pub(crate) events: Value,
}

/// Writes an event to a trace.
pub(crate) fn write_event(executed: &Executed<'_>, to: &mut impl Write) -> io::Result<()> {
    write_lines(executed, |line| writeln!(to, "{line}"))
}

/// A trace on its way into the folder of results. The folder has one writer, so the file has one too.
#[derive(Debug)]
pub(crate) struct TraceInFolder {
    to: BufWriter<File>,
    part: Temporary,
}

impl TraceInFolder {
    pub(crate) fn create(path: PathBuf) -> Result<TraceInFolder, Failure> {
        let made = Temporary::made(path.clone(), |path| File::create(path));
        let (part, file) = made.map_err(|error| Failure::cannot_write(&path, &error))?;
        Ok(TraceInFolder { to: BufWriter::new(file), part })
    }

    pub(crate) fn path(&self) -> &Path {
        self.part.path()
    }

    pub(crate) fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{} cannot be written: {error}", self.part.path().display()))
        };
        write_event(executed, &mut self.to).map_err(named)
    }

    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.to.flush().map_err(|error| Failure::written_late(self.part.path(), &error))
    }
}
