//! The files that a run writes while it is executed: its trace, its timeline, its captures and its
//! samples.

use crate::captures::Captures;
use crate::folder::{self, trace_in};
use crate::outputs::{Outputs, traced_lps};
use crate::result_file::ResultFile;
use crate::rows::parquet_is_possible;
use crate::samples::Samples;
use crate::timeline_file::TimelineFile;
use crate::trace_file::{FinishedTrace, TraceInFolder, write_event};
use parades_catalog::{Choice, Simulation};
use parades_core::time::Time;
use parades_core::trace::{TraceFilter, Tracer};
use parades_session::recorded::TRACE;
use parades_session::{Claim, Failure, Recording, Tracing};
use serde_json::Value;
use std::sync::Arc;

/// The files of a run. Dropping this value removes the files that are not at their places yet. So a run that
/// fails leaves nothing.
#[derive(Debug)]
pub struct Files {
    filter: TraceFilter,
    /// The logical processes to trace, as the user wrote them.
    lps: Option<String>,
    /// The choice of events, in the user's words.
    events: Value,
    trace: Option<ResultFile>,
    /// The trace that goes into the folder of results.
    in_folder: Option<TraceInFolder>,
    timeline: Option<TimelineFile>,
    captures: Option<Captures>,
    samples: Option<Samples>,
    /// The right to write into the folder of results.
    _claim: Option<Claim>,
}

impl Files {
    /// Opens the files, and makes the folder of results, before the run.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if one of them cannot be written.
    pub fn open(outputs: &Outputs, choice: &Choice) -> Result<Files, Failure> {
        let filter = outputs.filter();
        if outputs.parquet {
            parquet_is_possible("--out-parquet", "read the CSV files that `--out` writes")?;
        }
        let folder = outputs.folder.as_deref();
        let claim = folder.map(|folder| folder::make_for_run(folder, outputs.overwrite)).transpose()?;
        // A trace at the path of the folder's own trace goes into the folder.
        let own = folder.map(|folder| folder.join(TRACE));
        let is_own = own.is_some() && outputs.trace == own;
        let in_folder = folder.filter(|_| outputs.trace_in_folder || is_own).map(trace_in);
        let trace = outputs.trace.as_deref().filter(|_| !is_own);
        let timeline = outputs.timeline.as_deref().map(|path| TimelineFile::at(path, choice.threads)).transpose()?;
        Ok(Files {
            filter,
            lps: outputs.trace_lps.clone(),
            events: outputs.traced_events(),
            trace: trace.map(ResultFile::create).transpose()?,
            in_folder: in_folder.map(TraceInFolder::create).transpose()?,
            timeline,
            captures: outputs.captures.as_ref().map(Captures::new).transpose()?,
            samples: outputs.samples.as_ref().map(Samples::new).transpose()?,
            _claim: claim,
        })
    }

    /// True if the user wants any of them.
    pub fn are_wanted(&self) -> bool {
        self.has_own_filters() || self.are_events_wanted()
    }

    /// True if the user wants a file to which the choice of events for traces does not apply.
    fn has_own_filters(&self) -> bool {
        self.captures.is_some() || self.samples.is_some()
    }

    /// True if the user wants a file of events.
    fn are_events_wanted(&self) -> bool {
        self.trace.is_some() || self.in_folder.is_some() || self.timeline.is_some()
    }

    /// Returns the data that the run must record for these files.
    pub fn recording(&mut self) -> Recording<'_> {
        if !self.are_wanted() {
            return Recording::default();
        }
        let sends = self.timeline.is_some();
        let timesheets = self.timeline.as_ref().map(|timeline| Arc::clone(&timeline.timesheets));
        if self.filter.before <= self.filter.from && !self.has_own_filters() {
            // No event is wanted. A tracer would only disturb the workers.
            return Recording { timesheets, ..Recording::default() };
        }
        let (has_events, has_own_filters, has_samples) =
            (self.are_events_wanted(), self.has_own_filters(), self.samples.is_some());
        let Files { filter, lps, trace, in_folder, timeline, captures, samples, .. } = self;
        let make = move |simulation: &Simulation, until| {
            filter.lps = lps.as_deref().map_or(Ok(Vec::new()), |lps| traced_lps(lps, simulation))?;
            let lps = captures.as_mut().map_or(Ok(Vec::new()), |captures| captures.begin(simulation))?;
            samples.as_mut().map_or(Ok(()), |samples| samples.begin(simulation))?;
            let of_events = filter.clone();
            let of_tracer = if has_own_filters { TraceFilter::default() } else { filter.clone() };
            let tracer = Tracer::observing(of_tracer, move |executed| {
                if let Some(captures) = captures {
                    captures.event(executed)?;
                }
                if let Some(samples) = samples {
                    samples.event(executed)?;
                }
                if !has_events || !of_events.wants(executed.key.instant.time, executed.receiver) {
                    return Ok(());
                }
                trace.as_mut().map_or(Ok(()), |file| write_event(executed, file))?;
                in_folder.as_mut().map_or(Ok(()), |file| file.event(executed))?;
                timeline.as_mut().map_or(Ok(()), |timeline| timeline.event(executed, &of_events, until))
            });
            Ok(Tracing { tracer, captures: lps })
        };
        Recording { tracer: Some(Box::new(make)), sends, samples: has_samples, timesheets, ..Recording::default() }
    }

    /// Returns notes for the user on what the files do not have, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.samples.as_ref().map_or_else(Vec::new, Samples::notes)
    }

    /// Returns the trace that goes into the folder of results.
    pub fn trace(&self) -> Option<FinishedTrace> {
        self.in_folder.as_ref().map(|file| FinishedTrace { path: file.path().to_owned(), events: self.events.clone() })
    }

    /// Finishes the files that have names of their own after a run that failed at `end`: they show what came
    /// before. The trace in the folder of results is dropped, since there are no results.
    ///
    /// # Errors
    ///
    /// As [`Files::finish`].
    pub fn finish_failed(&mut self, command: &str, end: Time) -> Result<(), Failure> {
        self.in_folder = None;
        self.finish(command, end)
    }

    /// Finishes all files after the run, which ended at `end`. A timeline names `command` as its origin.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if one of them could not be written.
    pub fn finish(&mut self, command: &str, end: Time) -> Result<(), Failure> {
        self.trace.take().map_or(Ok(()), ResultFile::finish)?;
        self.in_folder.as_mut().map_or(Ok(()), TraceInFolder::finish)?;
        if let Some(captures) = self.captures.take() {
            captures.finish(end)?;
        }
        self.samples.take().map_or(Ok(()), Samples::finish)?;
        match self.timeline.take() {
            Some(timeline) => timeline.finish(&self.filter, command),
            None => Ok(()),
        }
    }
}
