//! The files that a run writes while it is executed: its trace, its timeline, its log of rounds, its captures
//! and its samples.

use crate::begin::Begin;
use crate::captures::Captures;
use crate::folder::{self, trace_in};
use crate::outputs::{Outputs, TraceOutputs};
use crate::profile::Profile;
use crate::result_file::ResultFile;
use crate::rounds_file::RoundsFile;
use crate::rows::parquet_is_possible;
use crate::samples::Samples;
use crate::timeline_file::TimelineFile;
use crate::trace_file::{Chosen, FinishedTrace, TraceFile};
use parades_capture::recorder;
use parades_catalog::{Choice, Engine, Simulation};
use parades_core::event::LpId;
use parades_core::round_log::{Round, RoundLog};
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::trace::{Executed, TraceFilter, Tracer};
use parades_session::recorded::TRACE;
use parades_session::saved::outputs::{KeepOutputs, OutputsAtCut, keep_file};
use parades_session::{Claim, Failure, Recording, Saved, Tracing};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files of a run. Dropping this value removes the files that are not at their places yet, except those
/// with which a saved run goes on. So a run that fails leaves nothing.
#[derive(Debug)]
pub struct Files {
    writers: Mutex<Writers>,
    /// The wishes of the user, as saves record them.
    wishes: Outputs,
    /// True if one of the files does not go on from a saved run.
    has_new_ones: bool,
    /// The workers' use of their wall time, for a timeline or a profile.
    timesheets: Option<Arc<Timesheets>>,
    /// The right to write into the folder of results.
    _claim: Option<Claim>,
}

/// The files, while they are written.
#[derive(Debug)]
struct Writers {
    trace: Option<TraceFile>,
    /// The trace that goes into the folder of results.
    in_folder: Option<TraceFile>,
    timeline: Option<TimelineFile>,
    rounds: Option<RoundsFile>,
    captures: Option<Captures>,
    samples: Option<Samples>,
}

/// The memory of the writers of a saved run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    captures: recorder::Memory,
    /// The number of observations of each file of samples.
    samples: Vec<u64>,
}

impl Files {
    /// Opens the files, and makes the folder of results, before the run. `is_saved` says that the run is
    /// saved, and `from` is the saved run from which it goes on.
    ///
    /// # Errors
    ///
    /// [`Failure::Input`] if one of them cannot be written, or is not that of the saved run.
    pub fn open(outputs: &Outputs, choice: &Choice, is_saved: bool, from: Option<&Saved>) -> Result<Files, Failure> {
        if outputs.parquet {
            parquet_is_possible("--out-parquet", "read the CSV files that `--out` writes")?;
        }
        let timesheets = timesheets_of(outputs, choice)?;
        // A replayed run writes all its files again.
        let at = from.filter(|saved| saved.head.replayed.is_none()).and_then(|saved| saved.head.outputs.clone());
        let memory = at.as_ref().map_or(Ok(Memory::default()), |at| serde_json::from_value(at.memory.clone()));
        let malformed =
            |error| Failure::usage(format!("the record of outputs is wrong: {error}"), "start the run again");
        let Memory { captures, samples } = memory.map_err(malformed)?;
        let at = at.map(Arc::new);
        let begin = |goes_on: bool| match &at {
            Some(at) if goes_on => Begin::GoingOn(Arc::clone(at)),
            _ if goes_on || is_saved => Begin::ForSaves,
            _ => Begin::New,
        };
        let goes_on = outputs.goes_on;
        let folder = outputs.folder.as_deref();
        let scenario = from.filter(|_| goes_on.folder).map(|saved| saved.head.scenario.as_str());
        let claim = folder.map(|folder| folder::make_for_run(folder, outputs.overwrite, scenario)).transpose()?;
        // A trace at the path of the folder's own trace goes into the folder.
        let own = folder.map(|folder| folder.join(TRACE));
        let own_trace = outputs.trace.as_ref().filter(|trace| own.as_ref() == Some(&trace.path));
        let events_in_folder = outputs.trace_in_folder.as_ref().or(own_trace.map(|trace| &trace.events));
        let open_in = |folder| {
            events_in_folder
                .map(|events| Ok::<_, Failure>(TraceFile::new(open_in_folder(folder, begin(goes_on.folder))?, events)))
        };
        let open = |TraceOutputs { path, events }: &TraceOutputs| {
            Ok::<_, Failure>(TraceFile::new(begin(goes_on.trace).file(path, "--trace")?, events))
        };
        let timeline = |of| TimelineFile::new(of, timesheets.as_ref().expect("they are for it too"));
        let writers = Writers {
            trace: outputs.trace.as_ref().filter(|_| own_trace.is_none()).map(open).transpose()?,
            in_folder: folder.and_then(open_in).transpose()?,
            timeline: outputs.timeline.as_ref().map(timeline).transpose()?,
            rounds: outputs.rounds.as_ref().map(|path| RoundsFile::new(path, choice)).transpose()?,
            captures: outputs
                .captures
                .as_ref()
                .map(|of| Captures::new(of, begin(goes_on.captures), captures))
                .transpose()?,
            samples: outputs
                .samples
                .as_ref()
                .map(|of| Samples::new(of, begin(goes_on.samples), samples))
                .transpose()?,
        };
        let wishes = Outputs {
            trace_in_folder: events_in_folder.cloned(),
            trace: outputs.trace.clone().filter(|_| writers.trace.as_ref().is_some_and(|trace| trace.to.goes_on())),
            ..outputs.clone()
        };
        let has_new_ones = outputs.has_new_files();
        let wishes = wishes.for_save();
        Ok(Files { writers: Mutex::new(writers), wishes, has_new_ones, timesheets, _claim: claim })
    }

    fn writers(&self) -> MutexGuard<'_, Writers> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if the user wants any of them.
    pub fn are_wanted(&self) -> bool {
        self.timesheets.is_some() || self.writers().are_wanted()
    }

    /// Returns the profile of the run, if one is wanted.
    pub fn profile(&self) -> Option<Profile> {
        self.timesheets.as_ref().and_then(|timesheets| Profile::of(timesheets))
    }

    /// True if one of them does not go on from a saved run.
    pub fn has_new_ones(&self) -> bool {
        self.has_new_ones
    }

    /// Returns the data that the run must record for these files.
    pub fn recording(&self) -> Recording<'_> {
        let outputs = Some(self as &dyn KeepOutputs).filter(|_| !self.wishes.are_none());
        let writers = self.writers();
        let sends = writers.timeline.is_some();
        let samples = writers.samples.is_some();
        let timesheets = self.timesheets.clone();
        let rounds = writers.rounds.as_ref().map(|_| RoundLog::new(move |round| self.writers().round(round)));
        let recording = Recording { timesheets, rounds, outputs, ..Recording::default() };
        let wants_events = writers.chosen().any(|chosen| chosen.filter.from < chosen.filter.before);
        if !wants_events && !writers.has_own_filters() {
            // No event is wanted. A tracer would only disturb the workers.
            return recording;
        }
        let make = move |simulation: &Simulation, until| {
            let mut writers = self.writers();
            let captures = writers.begin(simulation)?;
            let tracer = Tracer::observing(writers.filter(), move |executed| self.writers().event(executed, until));
            Ok(Tracing { tracer, captures })
        };
        Recording { tracer: Some(Box::new(make)), sends, samples, ..recording }
    }

    /// Returns notes for the user on what the files do not have, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.writers().samples.as_ref().map_or_else(Vec::new, Samples::notes)
    }

    /// Returns notes for the user on the files that do not go on if the run is saved, a sentence each.
    pub fn notes_on_saves(&self) -> Vec<String> {
        let writers = self.writers();
        let trace = writers.trace.as_ref().filter(|trace| !trace.to.goes_on());
        let trace = trace.map(|trace| {
            let path = trace.to.path().display();
            format!("{path} is no file, so the trace does not go on when the saved run does")
        });
        let note = |what: &str, option: &str| {
            format!(
                "the {what} does not go on when the saved run does, since it has wall times of this process: \
                 `resume {option}` begins another"
            )
        };
        let timeline = writers.timeline.as_ref().map(|_| note("timeline", "--timeline"));
        let rounds = writers.rounds.as_ref().map(|_| note("log of rounds", "--rounds"));
        trace.into_iter().chain(timeline).chain(rounds).collect()
    }

    /// Returns the trace that goes into the folder of results.
    pub fn trace(&self) -> Option<FinishedTrace> {
        self.writers().in_folder.as_ref().and_then(TraceFile::for_folder)
    }

    /// Finishes the files that have names of their own after a run that failed at `end`: they show what came
    /// before. The trace in the folder of results is dropped, since there are no results.
    ///
    /// # Errors
    ///
    /// As [`Files::finish`].
    pub fn finish_failed(&self, command: &str, end: Time) -> Result<(), Failure> {
        self.writers().in_folder = None;
        self.finish(command, end)
    }

    /// Finishes all files after the run, which ended at `end`. A timeline names `command` as its origin.
    ///
    /// # Errors
    ///
    /// [`Failure::Simulation`] if one of them could not be written.
    pub fn finish(&self, command: &str, end: Time) -> Result<(), Failure> {
        let mut writers = self.writers();
        writers.trace.take().map_or(Ok(()), |trace| trace.to.finish())?;
        if let Some(trace) = &mut writers.in_folder {
            let flushed = io::Write::flush(&mut trace.to);
            flushed.map_err(|error| Failure::written_late(trace.to.path(), &error))?;
        }
        writers.captures.take().map_or(Ok(()), |captures| captures.finish(end))?;
        writers.samples.take().map_or(Ok(()), Samples::finish)?;
        writers.rounds.take().map_or(Ok(()), RoundsFile::finish)?;
        writers.timeline.take().map_or(Ok(()), |timeline| timeline.finish(command))
    }
}

/// Returns the timesheets of a run, if a timeline or a profile needs them.
fn timesheets_of(outputs: &Outputs, choice: &Choice) -> Result<Option<Arc<Timesheets>>, Failure> {
    if outputs.profile && choice.engine == Engine::RollbackCheck {
        let message = format!("the engine `{}` executes each event twice, so `--profile` has no times", choice.engine);
        return Err(Failure::usage(message, "use another engine, or leave `--profile` out"));
    }
    if !outputs.profile && outputs.timeline.is_none() {
        return Ok(None);
    }
    // Under `rounds` there may be a leader beside the workers.
    let sheets = Timesheets::new(usize::try_from(choice.threads).unwrap_or(usize::MAX).saturating_add(1));
    Ok(Some(Arc::new(if outputs.profile { sheets.with_handlers() } else { sheets })))
}

/// Opens the trace that goes into a folder of results. The folder has one writer, so the file has one too.
fn open_in_folder(folder: &Path, begin: Begin) -> Result<ResultFile, Failure> {
    let place = folder.join(TRACE);
    let file = match begin {
        Begin::New => ResultFile::create_beside(&place, |_| trace_in(folder)),
        Begin::ForSaves | Begin::GoingOn(_) => begin.file(&place, "--out"),
    }?;
    if file.path_beside().is_none() {
        return Err(Failure::usage(format!("{} is no file", place.display()), "name another folder for `--out`"));
    }
    Ok(file)
}

impl KeepOutputs for Files {
    fn keep(&self) -> io::Result<OutputsAtCut> {
        let mut writers = self.writers();
        let Writers { trace, in_folder, captures, samples, .. } = &mut *writers;
        let mut files = Vec::new();
        for trace in trace.iter_mut().chain(in_folder) {
            keep_file(&mut trace.to, &mut files)?;
        }
        let captures = captures.as_mut().map(|captures| captures.keep(&mut files)).transpose()?.unwrap_or_default();
        let samples = samples.as_mut().map(|samples| samples.keep(&mut files)).transpose()?.unwrap_or_default();
        let memory = serde_json::to_value(Memory { captures, samples })?;
        Ok(OutputsAtCut { wishes: serde_json::to_value(&self.wishes)?, files, memory })
    }
}

impl Writers {
    fn are_wanted(&self) -> bool {
        self.has_own_filters() || self.rounds.is_some() || self.chosen().next().is_some()
    }

    /// True if the user wants a file to which the choice of events for traces does not apply.
    fn has_own_filters(&self) -> bool {
        self.captures.is_some() || self.samples.is_some()
    }

    /// Returns the choices of events of all files that have one.
    fn chosen(&self) -> impl Iterator<Item = &Chosen> {
        let traces = self.trace.iter().chain(&self.in_folder).map(|trace| &trace.chosen);
        traces.chain(self.timeline.iter().map(|timeline| &timeline.chosen))
    }

    /// Returns a filter that lets through the events of all files.
    fn filter(&self) -> TraceFilter {
        let mut filters = self.chosen().map(|chosen| &chosen.filter);
        let first = filters.next().filter(|_| !self.has_own_filters());
        first.filter(|&first| filters.all(|filter| filter == first)).cloned().unwrap_or_default()
    }

    /// Begins the files, now that the model is known. Returns the LPs at which packets are captured.
    fn begin(&mut self, simulation: &Simulation) -> Result<Vec<LpId>, Failure> {
        let Writers { trace, in_folder, timeline, captures, samples, .. } = self;
        let traces = trace.iter_mut().chain(in_folder).map(|trace| &mut trace.chosen);
        let mut chosen = traces.chain(timeline.iter_mut().map(|timeline| &mut timeline.chosen));
        chosen.try_for_each(|chosen| chosen.begin(simulation))?;
        samples.as_mut().map_or(Ok(()), |samples| samples.begin(simulation))?;
        captures.as_mut().map_or(Ok(Vec::new()), |captures| captures.begin(simulation))
    }

    /// Writes a round into the log of rounds.
    fn round(&mut self, round: &Round) -> io::Result<()> {
        self.rounds.as_mut().map_or(Ok(()), |rounds| rounds.round(round))
    }

    /// Writes an event into each file that wants it.
    fn event(&mut self, executed: &Executed<'_>, until: Time) -> io::Result<()> {
        self.captures.as_mut().map_or(Ok(()), |captures| captures.event(executed))?;
        self.samples.as_mut().map_or(Ok(()), |samples| samples.event(executed))?;
        self.trace.as_mut().map_or(Ok(()), |trace| trace.event(executed))?;
        self.in_folder.as_mut().map_or(Ok(()), |trace| trace.event(executed))?;
        self.timeline.as_mut().map_or(Ok(()), |timeline| timeline.event(executed, until))
    }
}
