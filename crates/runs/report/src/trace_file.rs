//! A trace as a file.

use crate::place;
use parades_core::trace::{Executed, write_lines};
use parades_session::Failure;
use serde_json::Value;
use std::fs::{File, OpenOptions};
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

/// A file for a trace. Older contents are replaced only when there is something to write.
#[derive(Debug)]
pub(crate) struct TraceFile {
    pub(crate) path: PathBuf,
    file: Option<BufWriter<File>>,
}

impl TraceFile {
    /// Returns a file that can be written.
    pub(crate) fn at(path: &Path) -> Result<TraceFile, Failure> {
        // A pipe is not probed: its reader would take the end of the probe for the end of the trace.
        if !path.exists() || path.is_file() || path.is_dir() {
            let probe = OpenOptions::new().append(true).create(true).open(path);
            probe.map_err(|error| Failure::cannot_write(path, &error))?;
        }
        Ok(TraceFile { path: path.to_owned(), file: None })
    }

    pub(crate) fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        let written = self.open().and_then(|to| write_lines(executed, |line| writeln!(to, "{line}")));
        written.map_err(|error| place::named(&self.path, &error))
    }

    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.open().and_then(Write::flush).map_err(|error| Failure::written_late(&self.path, &error))
    }

    /// Returns the file, which the first call empties.
    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        Ok(match &mut self.file {
            Some(file) => file,
            none => none.insert(BufWriter::new(File::create(&self.path)?)),
        })
    }
}
