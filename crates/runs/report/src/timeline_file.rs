//! A timeline as a file.

use crate::outputs::TraceOutputs;
use crate::result_file::{ResultFile, late};
use crate::timeline::Timeline;
use crate::trace_file::Chosen;
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::trace::Executed;
use parades_session::Failure;
use std::io;
use std::sync::Arc;

/// A file for a timeline, which is moved to its place when it is whole.
#[derive(Debug)]
pub(crate) struct TimelineFile {
    /// The file, until the timeline begins.
    file: Option<ResultFile>,
    timeline: Option<Timeline<ResultFile>>,
    pub(crate) chosen: Chosen,
    /// The workers' use of their wall time.
    pub(crate) timesheets: Arc<Timesheets>,
}

impl TimelineFile {
    /// Returns a file that can be written, for a run with these timesheets.
    pub(crate) fn new(outputs: &TraceOutputs, timesheets: &Arc<Timesheets>) -> Result<TimelineFile, Failure> {
        let TraceOutputs { path, events } = outputs;
        if path.extension().is_none_or(|ending| ending != "json") {
            let message = format!("{} does not end in `.json`, which those who show timelines go by", path.display());
            return Err(Failure::usage(message, "call it `something.json`, and open it at https://ui.perfetto.dev"));
        }
        let (file, timesheets) = (ResultFile::create(path)?, Arc::clone(timesheets));
        Ok(TimelineFile { file: Some(file), timeline: None, chosen: Chosen::new(events), timesheets })
    }

    /// Adds an event, if it is one of those that are wanted.
    pub(crate) fn event(&mut self, executed: &Executed<'_>, until: Time) -> io::Result<()> {
        if !self.chosen.filter.wants(executed.key.instant.time, executed.receiver) {
            return Ok(());
        }
        self.open(until)?.event(executed)
    }

    /// Adds the workers and moves the file to its place. The file names `command` as its origin.
    pub(crate) fn finish(mut self, command: &str) -> Result<(), Failure> {
        let mut write = || {
            let timesheets = Arc::clone(&self.timesheets);
            self.open(Time::MAX)?.workers(&timesheets)?;
            let timeline = self.timeline.take().expect("it was opened");
            timeline.finish(command).map(|(file, _)| file)
        };
        write().map_err(|error| late(&error))?.finish()
    }

    /// Returns the timeline, which the first call begins.
    fn open(&mut self, until: Time) -> io::Result<&mut Timeline<ResultFile>> {
        if let Some(file) = self.file.take() {
            self.timeline = Some(Timeline::new(file, self.chosen.filter.clone(), until)?);
        }
        self.timeline.as_mut().ok_or_else(|| io::Error::other("its beginning could not be written"))
    }
}
