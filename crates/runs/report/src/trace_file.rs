//! A trace as a file.

use crate::outputs::TracedEvents;
use parades_catalog::Simulation;
use parades_core::trace::{Executed, TraceFilter, write_lines};
use parades_session::{Failure, ResultFile};
use serde_json::Value;
use std::io::{self, Write};
use std::path::PathBuf;

/// A trace that goes into the folder of results.
#[derive(Clone, Debug)]
pub struct FinishedTrace {
    /// The place of its file before it is moved.
    pub(crate) path: PathBuf,
    /// True if the file stays there until the folder has it, because a saved run goes on with it.
    pub(crate) stays: bool,
    /// The choice of events in it.
    pub(crate) events: Value,
}

/// A choice of events, as a filter once the model is known.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) events: TracedEvents,
    pub(crate) filter: TraceFilter,
}

impl Chosen {
    pub(crate) fn new(events: &TracedEvents) -> Chosen {
        Chosen { events: events.clone(), filter: events.filter() }
    }

    /// Finds the logical processes in the model.
    pub(crate) fn begin(&mut self, simulation: &Simulation) -> Result<(), Failure> {
        self.filter = self.events.in_model(simulation)?;
        Ok(())
    }
}

/// A trace on its way into a file.
#[derive(Debug)]
pub(crate) struct TraceFile {
    pub(crate) to: ResultFile,
    pub(crate) chosen: Chosen,
}

impl TraceFile {
    pub(crate) fn new(to: ResultFile, events: &TracedEvents) -> TraceFile {
        TraceFile { to, chosen: Chosen::new(events) }
    }

    /// Writes an event, if it is one of those that are wanted.
    pub(crate) fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        if !self.chosen.filter.wants(executed.key.instant.time, executed.receiver) {
            return Ok(());
        }
        write_lines(executed, |line| writeln!(self.to, "{line}"))
    }

    /// Returns the trace of a folder of results, unless it is no file.
    pub(crate) fn for_folder(&self) -> Option<FinishedTrace> {
        let path = self.to.path_beside()?.to_owned();
        Some(FinishedTrace { path, stays: self.to.goes_on(), events: self.chosen.events.as_json() })
    }
}
