//! The samples of a run: every observation that handlers record in a metric, as a row of a file.
//!
//! Each metric of observations (tally, histogram, float, steady) has a file, `NAME.csv`. A row has the time
//! of the event that recorded the observation, the logical process, the flow if the observation is of one,
//! and the value. Rows come in the one order of events, so the bytes are the same on every engine.

use crate::begin::Begin;
use crate::metrics::{cell, float, name};
use crate::result_file::{FILES_MAX, ResultFile, check_apart, late};
use parades_catalog::Simulation;
use parades_config::inputs;
use parades_core::metrics::{Sample, Unit};
use parades_core::trace::{Executed, Note};
use parades_session::saved::outputs::FileAtCut;
use parades_session::{Failure, safe_name};
use parades_sweep::results;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::{fs, io};

/// The samples that a user wants of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SampleOutputs {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The greatest number of rows of a file.
    pub rows_max: u64,
    /// True if the files may replace those of another run.
    pub overwrites: bool,
}

impl SampleOutputs {
    /// Returns the file of the samples of a metric.
    pub fn file(&self, metric: &str) -> PathBuf {
        let is_allowed = |c: char| !c.is_control() && !r#"/\:*?"<>|"#.contains(c);
        self.folder.join(format!("{}.csv", safe_name(metric, is_allowed)))
    }
}

/// The samples of a run, while they are written.
#[derive(Debug)]
pub(crate) struct Samples {
    outputs: SampleOutputs,
    begin: Begin,
    /// The number of observations that the saved run had written, by file.
    counts: Vec<u64>,
    /// By metric. `None` for metrics without observations. Empty until the model is known.
    files: Vec<Option<SamplesOfMetric>>,
}

/// The file of a metric.
struct SamplesOfMetric {
    metric: String,
    unit: Unit,
    to: csv::Writer<ResultFile>,
    /// The number of observations, also of those beyond the limit.
    count: u64,
}

impl std::fmt::Debug for SamplesOfMetric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SamplesOfMetric").field("metric", &self.metric).finish_non_exhaustive()
    }
}

impl Samples {
    /// Makes the folder of the files.
    pub(crate) fn new(outputs: &SampleOutputs, begin: Begin, counts: Vec<u64>) -> Result<Samples, Failure> {
        let folder = &outputs.folder;
        fs::create_dir_all(folder).map_err(|error| Failure::cannot_write(folder, &error))?;
        Ok(Samples { outputs: outputs.clone(), begin, counts, files: Vec::new() })
    }

    /// Begins the files of the metrics that the model declares.
    pub(crate) fn begin(&mut self, simulation: &Simulation) -> Result<(), Failure> {
        let metrics = simulation.metrics();
        let count = metrics.iter().filter(|(_, _, value)| value.takes_observations()).count();
        if count == 0 {
            let help = "run a scenario that measures durations or other values one by one: `parades list`";
            return Err(Failure::usage("--samples: this scenario has no samples to write", help));
        }
        if count > FILES_MAX {
            let message =
                format!("--samples: {count} metrics have samples, and a run writes {FILES_MAX} files at most");
            return Err(Failure::usage(message, "use fewer apps, or measure them together"));
        }
        let path = |metric: &str| self.outputs.file(metric);
        let inputs = inputs::seen().into_iter().map(|seen| ("an input", seen.path));
        check_apart(inputs, metrics.iter().map(|(metric, ..)| ("--samples", path(metric))))?;
        let kept = metrics.iter().map(|(metric, ..)| path(metric)).find(|path| path.exists());
        if let (Some(kept), false) = (kept, self.outputs.overwrites) {
            let message = format!("--samples: {} is there, of another run", kept.display());
            return Err(Failure::usage(message, "name another folder, or add `--overwrite`"));
        }
        if self.begin.is_going_on() && self.counts.len() != count {
            let message = "the saved run has another number of files of samples";
            return Err(Failure::usage(message, "write them elsewhere with `--samples`"));
        }
        let mut counts = self.counts.iter();
        for (metric, unit, value) in metrics.iter() {
            let mut open = || {
                let file = self.begin.file(&path(metric), "--samples")?;
                let count = counts.next().copied().filter(|_| self.begin.is_going_on());
                SamplesOfMetric::begin(file, metric, unit, count)
            };
            self.files.push(value.takes_observations().then(&mut open).transpose()?);
        }
        Ok(())
    }

    /// Brings the files to the disk, adds them to a record, and returns their numbers of observations.
    pub(crate) fn keep(&mut self, files: &mut Vec<FileAtCut>) -> io::Result<Vec<u64>> {
        let mut counts = Vec::new();
        for file in self.files.iter_mut().flatten() {
            file.to.flush()?;
            files.extend(file.to.get_ref().keep()?);
            counts.push(file.count);
        }
        Ok(counts)
    }

    /// Writes the observations that an event recorded.
    pub(crate) fn event(&mut self, executed: &Executed<'_>) -> io::Result<()> {
        for note in executed.notes {
            let Note::Observed { sample, flow } = note else { continue };
            let file = self.files.get_mut(sample.metric().0 as usize).and_then(Option::as_mut);
            let file = file.expect("only observations of declared metrics are noted");
            file.count += 1;
            if file.count <= self.outputs.rows_max {
                file.write(executed, sample, *flow)?;
            }
        }
        Ok(())
    }

    /// Returns notes for the user on what the files do not have, a sentence each.
    pub(crate) fn notes(&self) -> Vec<String> {
        let files = || self.files.iter().flatten();
        let left_out = files()
            .filter(|file| file.count > self.outputs.rows_max)
            .map(|file| format!("{} of the {} of {}", file.count - self.outputs.rows_max, file.count, file.metric));
        let left_out: Vec<String> = left_out.collect();
        let without = files().filter(|file| file.count == 0).map(|file| file.metric.clone()).collect::<Vec<_>>();
        let left_out =
            (!left_out.is_empty()).then(|| format!("`--samples-limit` leaves out samples: {}", left_out.join(", ")));
        let without = (!without.is_empty()).then(|| {
            let why = "no event measured any, or the model measures it at the end of the run";
            format!("there are no samples of {}: {why}", without.join(", "))
        });
        left_out.into_iter().chain(without).collect()
    }

    /// Moves the files to their places.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        for file in self.files.into_iter().flatten() {
            let file = file.to.into_inner().map_err(|error| late(error.error()))?;
            file.finish()?;
        }
        Ok(())
    }
}

impl SamplesOfMetric {
    /// Begins a file, or goes on with one that has had `count` observations.
    fn begin(file: ResultFile, metric: &str, unit: Unit, count: Option<u64>) -> Result<SamplesOfMetric, Failure> {
        let mut to = csv::Writer::from_writer(file);
        if count.is_none() {
            let headings = ["time_s", "lp", "flow", &name(metric, unit)];
            to.write_record(headings).map_err(|error| late(&error.into()))?;
        }
        Ok(SamplesOfMetric { metric: metric.to_owned(), unit, to, count: count.unwrap_or(0) })
    }

    fn write(&mut self, executed: &Executed<'_>, sample: &Sample, flow: Option<u32>) -> io::Result<()> {
        let time = float(executed.key.instant.time.as_secs_f64());
        let flow = flow.map_or(Value::Null, |flow| Value::String(executed.flow_name(flow)));
        let row = [time, Value::String(executed.name_of(executed.receiver)), flow, cell(self.unit, &sample.value())];
        Ok(self.to.write_record(row.iter().map(results::cell))?)
    }
}
