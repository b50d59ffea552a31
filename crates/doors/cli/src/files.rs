//! The files that a run writes as it goes: traces and a timeline.

use crate::arguments::RunArguments;
use crate::plan::typed;
use crate::report;
use crate::run::Watch;
use parades_catalog::Choice;
use parades_config::quoted;
use parades_core::time::Time;
use parades_core::timesheet::Timesheets;
use parades_core::trace::{Executed, TraceFilter, Tracer, write_lines};
use parades_inspect::recorded::TRACE;
use parades_inspect::timeline::Timeline;
use parades_session::Failure;
use serde_json::{Value, json};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All of them.
#[derive(Debug)]
pub(crate) struct Files {
    filter: TraceFilter,
    trace: Option<TraceFile>,
    /// The trace that goes into the folder of results.
    inside: Option<TraceFile>,
    timeline: Option<TimelineFile>,
    /// What the user said of the filter.
    asked: Value,
}

/// A trace that is to go into the folder of results.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    /// Where it is now.
    pub(crate) path: PathBuf,
    /// Which events are in it.
    pub(crate) filter: Value,
}

impl Files {
    /// What the arguments ask for, all of which can be written.
    pub(crate) fn of(arguments: &RunArguments, choice: &Choice) -> Result<Files, Failure> {
        let filter = TraceFilter {
            lps: arguments.trace_lps.as_deref().map_or(Ok(Vec::new()), lps_of)?,
            from: arguments.trace_from.unwrap_or(Time::ZERO),
            before: arguments.trace_before.unwrap_or(Time::MAX),
        };
        if arguments.out_parquet {
            report::parquet_is_possible("--out-parquet", "read the CSV files that `--out` writes")?;
        }
        arguments.out.as_deref().map_or(Ok(()), report::make_folder)?;
        // A trace of that name in that folder is the one that belongs there.
        let own = arguments.out.as_ref().map(|out| out.join(TRACE));
        let is_own = own.is_some() && arguments.trace == own;
        let inside = arguments.out.as_deref().filter(|_| arguments.out_trace || is_own).map(report::trace_in);
        let trace = arguments.trace.as_deref().filter(|_| !is_own);
        let timeline = arguments.timeline.as_deref().map(|path| TimelineFile::at(path, choice)).transpose()?;
        Ok(Files {
            filter,
            trace: trace.map(TraceFile::at).transpose()?,
            inside: inside.as_deref().map(TraceFile::at).transpose()?,
            timeline,
            asked: json!({
                "lps": arguments.trace_lps,
                "from": arguments.trace_from.map(|time| time.to_string()),
                "before": arguments.trace_before.map(|time| time.to_string()),
            }),
        })
    }

    /// Whether there are any.
    pub(crate) fn are_wanted(&self) -> bool {
        self.trace.is_some() || self.inside.is_some() || self.timeline.is_some()
    }

    /// What the run is to be watched for.
    pub(crate) fn watch(&mut self) -> Watch<'_> {
        if !self.are_wanted() {
            return Watch::default();
        }
        let sends = self.timeline.is_some();
        let timesheets = self.timeline.as_ref().map(|timeline| Arc::clone(&timeline.timesheets));
        if self.filter.before <= self.filter.from {
            // Nothing is to be traced, which would only disturb the workers.
            return Watch { timesheets, ..Watch::default() };
        }
        let Files { filter, trace, inside, timeline, .. } = self;
        let (of_trace, of_timeline) = (filter.clone(), filter.clone());
        let make = move |until| {
            Tracer::observing(of_trace, move |executed| {
                for file in [&mut *trace, &mut *inside].into_iter().flatten() {
                    let to = file.open()?;
                    write_lines(executed, |line| writeln!(to, "{line}"))?;
                }
                timeline.as_mut().map_or(Ok(()), |timeline| timeline.event(executed, &of_timeline, until))
            })
        };
        Watch { tracer: Some(Box::new(make)), sends, timesheets, progress: false }
    }

    /// The trace that goes into the folder of results.
    pub(crate) fn traced(&self) -> Option<Traced> {
        self.inside.as_ref().map(|file| Traced { path: file.path.clone(), filter: self.asked.clone() })
    }

    /// Ends all of them.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        for file in [&mut self.trace, &mut self.inside].into_iter().flatten() {
            file.open().and_then(Write::flush).map_err(|error| Failure::written_late(&file.path, &error))?;
        }
        match self.timeline.take() {
            Some(timeline) => timeline.finish(&self.filter),
            None => Ok(()),
        }
    }
}

/// A run that fails leaves nothing of a trace in the folder of results.
impl Drop for Files {
    fn drop(&mut self) {
        if let Some(inside) = &self.inside {
            let _ = fs::remove_file(&inside.path);
        }
    }
}

/// A file for a trace. What was in it is replaced only when there is something to write.
#[derive(Debug)]
struct TraceFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

impl TraceFile {
    /// A file that can be written.
    fn at(path: &Path) -> Result<TraceFile, Failure> {
        // Who reads from a pipe would take a first opening, closed again, for all there is.
        if !path.exists() || path.is_file() || path.is_dir() {
            let probe = OpenOptions::new().append(true).create(true).open(path);
            probe.map_err(|error| Failure::cannot_write(path, &error))?;
        }
        Ok(TraceFile { path: path.to_owned(), file: None })
    }

    /// The file, emptied when it is first opened.
    fn open(&mut self) -> io::Result<&mut BufWriter<File>> {
        Ok(match &mut self.file {
            Some(file) => file,
            none => none.insert(BufWriter::new(File::create(&self.path)?)),
        })
    }
}

/// A file for a timeline, which is put in its place when it is whole.
#[derive(Debug)]
struct TimelineFile {
    path: PathBuf,
    aside: PathBuf,
    timeline: Option<Timeline<BufWriter<File>>>,
    timesheets: Arc<Timesheets>,
}

impl TimelineFile {
    fn at(path: &Path, choice: &Choice) -> Result<TimelineFile, Failure> {
        if path.extension().is_none_or(|ending| ending != "json") {
            let message = format!("{} does not end in `.json`, which those who show timelines go by", path.display());
            return Err(Failure::usage(message, "call it `something.json`, and open it at https://ui.perfetto.dev"));
        }
        report::can_be_written(path)?;
        let workers = usize::try_from(choice.threads).unwrap_or(1);
        let (aside, timesheets) = (report::aside(path), Arc::new(Timesheets::new(workers)));
        Ok(TimelineFile { path: path.to_owned(), aside, timeline: None, timesheets })
    }

    fn open(&mut self, filter: &TraceFilter, until: Time) -> io::Result<&mut Timeline<BufWriter<File>>> {
        Ok(match &mut self.timeline {
            Some(timeline) => timeline,
            none => none.insert(Timeline::new(BufWriter::new(File::create(&self.aside)?), filter.clone(), until)?),
        })
    }

    fn event(&mut self, executed: &Executed<'_>, filter: &TraceFilter, until: Time) -> io::Result<()> {
        self.open(filter, until)?.event(executed)
    }

    fn finish(mut self, filter: &TraceFilter) -> Result<(), Failure> {
        let mut write = || {
            self.open(filter, Time::MAX)?;
            if let Some(mut timeline) = self.timeline.take() {
                timeline.workers(&self.timesheets)?;
                timeline.finish(&typed())?;
            }
            fs::rename(&self.aside, &self.path)
        };
        write().map_err(|error| Failure::written_late(&self.path, &error))
    }
}

impl Drop for TimelineFile {
    fn drop(&mut self) {
        // There only where the run failed, or it could not be put in its place.
        let _ = fs::remove_file(&self.aside);
    }
}

/// The LPs of `3`, `10..=20` and lists of such.
fn lps_of(text: &str) -> Result<Vec<RangeInclusive<u32>>, Failure> {
    let range = |part: &str| {
        let lp = |text: &str| text.trim().parse::<u32>().ok().filter(|&id| id < u32::MAX);
        let (first, last) = part.split_once("..=").unwrap_or((part, part));
        let range = lp(first)?..=lp(last)?;
        (!range.is_empty()).then_some(range)
    };
    text.split(',').map(range).collect::<Option<_>>().ok_or_else(|| {
        let message = format!("{} names no LPs for `--trace-lps`", quoted(text));
        Failure::usage(message, "write `3`, `10..=20`, or several of them with commas")
    })
}
