//! A timeline as a file.

use crate::place::{aside, can_be_written, named};
use crate::timeline::Timeline;
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::trace::{Executed, TraceFilter};
use parades_session::Failure;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file for a timeline, which is moved to its place when it is whole.
#[derive(Debug)]
pub(crate) struct TimelineFile {
    path: PathBuf,
    aside: PathBuf,
    timeline: Option<Timeline<BufWriter<File>>>,
    /// The workers' use of their wall time.
    pub(crate) timesheets: Arc<Timesheets>,
}

impl TimelineFile {
    /// Returns a file that can be written, for a run on this number of threads.
    pub(crate) fn at(path: &Path, threads: u64) -> Result<TimelineFile, Failure> {
        if path.extension().is_none_or(|ending| ending != "json") {
            let message = format!("{} does not end in `.json`, which those who show timelines go by", path.display());
            return Err(Failure::usage(message, "call it `something.json`, and open it at https://ui.perfetto.dev"));
        }
        can_be_written(path)?;
        let workers = usize::try_from(threads).unwrap_or(1);
        let (aside, timesheets) = (aside(path), Arc::new(Timesheets::new(workers)));
        Ok(TimelineFile { path: path.to_owned(), aside, timeline: None, timesheets })
    }

    pub(crate) fn event(&mut self, executed: &Executed<'_>, filter: &TraceFilter, until: Time) -> io::Result<()> {
        let written = self.open(filter, until).and_then(|timeline| timeline.event(executed));
        written.map_err(|error| named(&self.path, &error))
    }

    /// Adds the workers and moves the file to its place. The file names `command` as its origin.
    pub(crate) fn finish(mut self, filter: &TraceFilter, command: &str) -> Result<(), Failure> {
        let mut write = || {
            self.open(filter, Time::MAX)?;
            if let Some(mut timeline) = self.timeline.take() {
                timeline.workers(&self.timesheets)?;
                timeline.finish(command)?;
            }
            fs::rename(&self.aside, &self.path)
        };
        write().map_err(|error| Failure::written_late(&self.path, &error))
    }

    /// Returns the timeline, which the first call begins.
    fn open(&mut self, filter: &TraceFilter, until: Time) -> io::Result<&mut Timeline<BufWriter<File>>> {
        Ok(match &mut self.timeline {
            Some(timeline) => timeline,
            none => none.insert(Timeline::new(BufWriter::new(File::create(&self.aside)?), filter.clone(), until)?),
        })
    }
}

impl Drop for TimelineFile {
    fn drop(&mut self) {
        // The file is still aside only if the run failed, or if it could not be moved.
        let _ = fs::remove_file(&self.aside);
    }
}
