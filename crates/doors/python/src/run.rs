//! Runs, and the results of one.

use crate::cut::Saved;
use crate::errors::{exception, raise, raised};
use crate::outputs::{Saves, Wishes};
use crate::program::SCENARIO;
use crate::request::Request;
use crate::table::Table;
use crate::waiting::{Listener, Waited, wait};
use parades_cli::program_with;
use parades_core::metrics::{MetricValue, Unit};
use parades_report::folder::make_for_run;
use parades_report::{Files, Outputs, Profile, Report, SampleOutputs, Task, View, metrics, table_named, table_of};
use parades_session::{Branched, Failure, FinishedRun, Plan, Precision};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;
use std::path::PathBuf;

/// The results of a run.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Run {
    run: FinishedRun,
    kept: Kept,
}

/// The data that a run has kept on request.
#[derive(Default)]
struct Kept {
    profile: Option<Profile>,
    samples: Option<SampleOutputs>,
}

/// Executes a request, from its start or from a saved run, and returns its results. With `until_interval`, the run
/// is made longer until the intervals of `metrics` are at most this share of their means.
#[pyfunction]
#[pyo3(signature = (request, callback=None, saved=None, save=None, outputs=None, metrics=Vec::new(),
    until_interval=None))]
pub(crate) fn execute(
    py: Python<'_>,
    request: &Request,
    callback: Option<&Bound<'_, PyAny>>,
    saved: Option<&Saved>,
    save: Option<Saves>,
    outputs: Option<Wishes>,
    metrics: Vec<String>,
    until_interval: Option<f64>,
) -> PyResult<Run> {
    let wanted = saved.map_or_else(|| request.wanted.clone(), |saved| saved.request(&request.wanted));
    // The network of a program is held beside the scenario file of its saved run.
    let inputs = saved.map_or_else(Vec::new, Saved::inputs).into_iter().chain(request.inputs()).collect();
    let saving = save.map(|save| save.saving(py, &program_with(String::new()))).transpose()?;
    let from = saved.map(|saved| &saved.saved);
    let outputs = raise(py, outputs.unwrap_or_default().outputs(from))?;
    let precision = until_interval.map(|relative_half_width| Precision { relative_half_width, metrics });
    let task = Task { precision: precision.as_ref(), saving: saving.as_ref(), from, ..Task::default() };
    let is_in_python = wanted.scenario == SCENARIO.name;
    let keeps = wanted.threads == Some(1) && wanted.processes.is_none_or(|processes| processes == 1);
    let execute = |listener: &mut Listener| {
        let plan = Plan::of(&wanted)?;
        with_files(plan, task, &outputs, listener)
    };
    let waited = wait(py, callback, inputs, |listener| {
        if is_in_python { in_interpreter(keeps, || execute(listener)) } else { execute(listener) }
    });
    Run::of(py, waited)
}

/// Executes a plan, and writes its files.
fn with_files(plan: Plan, task: Task<'_>, outputs: &Outputs, listener: &mut Listener) -> Result<Run, Failure> {
    let choice = plan.choice()?;
    outputs.check_apart(&plan, task.saving, task.from)?;
    let files = Files::open(outputs, &choice, task.saving.is_some(), task.from)?;
    let program = program_with(plan.command());
    let run = Task { command: &program.command, ..task }.execute(plan, &choice, &files, listener)?;
    let (trace, profile) = (files.trace(), files.profile());
    files.finish(&program.command, run.outcome.end)?;
    if let Some(folder) = &outputs.folder {
        let (trace, profile, copy_inputs) = (trace.as_ref(), profile.as_ref(), outputs.copy_inputs);
        Report { trace, profile, copy_inputs, ..Report::of(&run, &program) }.write_folder(folder)?;
    }
    Ok(Run { run, kept: Kept { profile, samples: outputs.samples.clone() } })
}

/// Calls `execute`, whose events are executed in Python, by a thread that the interpreter knows. With `keeps`,
/// the thread has the interpreter's lock throughout, and gives it up where the code in Python does. Several
/// workers cannot do this: they wait for each other.
fn in_interpreter<T: Send>(keeps: bool, execute: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| if keeps { execute() } else { py.detach(execute) })
}

impl Run {
    /// Returns a run that has come to its end. A run that Ctrl-C stopped is an attribute of the exception.
    fn of(py: Python<'_>, waited: Waited<Run>) -> PyResult<Run> {
        let is_interrupted = waited.is_interrupted(py);
        let Waited { result, raised: other } = waited;
        match (result, other) {
            (Ok(run), None) => match run.run.is_interrupted() {
                Ok(false) => Ok(run),
                Ok(true) => Err(stopped(py, run)),
                Err(failure) => Err(exception(py, &failure)),
            },
            (Ok(run), Some(_)) if is_interrupted => Err(stopped(py, run)),
            (_, Some(error)) => Err(error),
            (Err(failure), None) => Err(exception(py, &failure)),
        }
    }

    /// Returns a run that is known to be complete.
    pub(crate) fn complete(run: FinishedRun) -> Run {
        Run { run, kept: Kept::default() }
    }

    fn with_report<T>(&self, act: impl FnOnce(&Report<'_>) -> T) -> T {
        let command = self.run.branches.last().map_or_else(|| self.run.plan.command(), Branched::command);
        let program = program_with(command);
        act(&Report { profile: self.kept.profile.as_ref(), ..Report::of(&self.run, &program) })
    }

    fn metric(&self, name: &str) -> Option<(Unit, &MetricValue)> {
        let mut all = self.run.outcome.metrics.iter();
        all.find(|(other, ..)| *other == name).map(|(_, unit, value)| (unit, value))
    }
}

/// Returns the exception of Ctrl-C, which has the results so far.
fn stopped(py: Python<'_>, run: Run) -> PyErr {
    let (title, end) = (run.run.plan.title(), run.run.outcome.end);
    let message = format!("{title} was stopped at {end}; `run` has the results so far");
    let made = || {
        let facts = PyDict::new(py);
        facts.set_item("run", Py::new(py, run)?)?;
        raised(py, "Stopped", &message, &facts)
    };
    made().unwrap_or_else(|error| error)
}

#[pymethods]
impl Run {
    /// The digest, as 16 hexadecimal digits; `None` if it was switched off.
    #[getter]
    fn digest(&self) -> Option<String> {
        self.run.outcome.digest.map(|digest| format!("{digest:016x}"))
    }

    /// The number of events.
    #[getter]
    fn events(&self) -> u64 {
        self.run.outcome.events
    }

    /// The virtual time at the end, in seconds.
    #[getter]
    fn virtual_time_s(&self) -> f64 {
        self.run.outcome.end.as_secs_f64()
    }

    /// The name of the scenario, with the title of the network.
    #[getter]
    fn title(&self) -> String {
        self.run.plan.title()
    }

    /// The results as the object of `--json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let text = py.detach(|| {
            let mut text = Vec::new();
            let written = self.with_report(|report| report.write_json_line(&mut text));
            written.and_then(|()| String::from_utf8(text).map_err(std::io::Error::other))
        });
        Ok(text?)
    }

    /// The facts of the run without its metrics, as a JSON object.
    fn facts(&self) -> String {
        json!(self.with_report(|report| report.fields())).to_string()
    }

    /// The figures of all metrics by name, as a JSON object.
    fn figures(&self) -> String {
        json!(metrics::figures(&self.run.outcome.metrics)).to_string()
    }

    /// The results as the command prints them, in lines of at most `width` characters.
    #[pyo3(signature = (width=100, brief=false))]
    fn report(&self, py: Python<'_>, width: usize, brief: bool) -> PyResult<String> {
        let view = View { width: width.max(40), is_brief: brief, table: None };
        raise(py, self.with_report(|report| report.for_people(&view)))
    }

    /// The name of each metric, with its kind.
    fn kinds(&self) -> Vec<(String, &'static str)> {
        self.run.outcome.metrics.iter().map(|(name, _, value)| (name.to_owned(), value.kind())).collect()
    }

    /// Returns a table or a series by its name.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let metrics = &self.run.outcome.metrics;
        let made = table_named(metrics, name).and_then(|(name, unit, value)| {
            let (headings, rows) = table_of(name, unit, value).ok_or_else(|| no_table(name))?;
            Table::of(headings, rows)
        });
        raise(py, made)
    }

    /// Returns the buckets of a histogram by its name: the least and the greatest value, and the count.
    fn histogram(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let found = self.metric(name).and_then(|(unit, value)| Some((unit, value.histogram()?)));
        let Some((unit, histogram)) = found else {
            let message = format!("`{name}` is no histogram of this run");
            return Err(exception(py, &Failure::usage(message, "`kinds` has the metrics with their kinds")));
        };
        let scaled = |x: u64| if unit == Unit::Picoseconds { json!(x as f64 / 1e12) } else { json!(x) };
        let headings = ["low", "high"].map(|bound| metrics::name(bound, unit)).into_iter().chain(["count".to_owned()]);
        let rows = histogram.buckets().map(|(low, high, count)| vec![scaled(low), scaled(high), json!(count)]);
        raise(py, Table::of(headings.collect(), rows))
    }

    /// Returns the samples of a metric: the time, the logical process, the flow and the value of each.
    fn samples(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let read = || {
            let Some(samples) = &self.kept.samples else {
                let help = "run it with `outputs=Outputs(samples=\"folder\")`";
                return Err(Failure::usage("this run has kept no samples", help));
            };
            let found = self.metric(name).filter(|(_, value)| value.takes_observations());
            if found.is_none() {
                let message = format!("`{name}` has no samples in this run");
                return Err(Failure::usage(message, "`kinds` has the metrics with their kinds"));
            }
            Table::of_file(&samples.file(name))
        };
        raise(py, read())
    }

    /// Writes the results into a folder, as `run --out` does.
    #[pyo3(signature = (folder, overwrite=false, copy_inputs=false))]
    fn write(&self, py: Python<'_>, folder: PathBuf, overwrite: bool, copy_inputs: bool) -> PyResult<()> {
        let written = py.detach(|| {
            let _claim = make_for_run(&folder, overwrite, None)?;
            self.with_report(|report| Report { copy_inputs, ..*report }.write_folder(&folder))
        });
        raise(py, written)
    }
}

fn no_table(name: &str) -> Failure {
    Failure::usage(format!("`{name}` is no table"), "`kinds` has the metrics with their kinds")
}
