//! Questions about runs: `compare`, `diff`, `why`, `rerun`.

use crate::errors::raise;
use crate::request::{Request, are_in_bounds};
use crate::run::Run;
use crate::waiting::{Waited, wait};
use parades_cli::program_with;
use parades_report::comparison::{ComparisonReport, make_folder};
use parades_report::{chain_as_json, chain_for_people, difference_for_people};
use parades_session::diff::{Part, Side, Verdict};
use parades_session::recorded::Recorded;
use parades_session::rerun::{Repeated, RerunOn};
use parades_session::why::Question;
use parades_session::{Comparison as Compared, Failure, Plan, Program, Sides, request::quote};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};

/// The same run on several engines.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Comparison {
    compared: Compared,
    program: Program,
    is_stopped: bool,
}

/// Runs a request on several engines, one after another.
#[pyfunction]
#[pyo3(signature = (request, engines, threads, processes, tie_seeds, callback=None))]
pub(crate) fn compare(
    py: Python<'_>,
    request: &Request,
    engines: Vec<String>,
    threads: Vec<u64>,
    processes: Vec<u64>,
    tie_seeds: Vec<u64>,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    raise(py, are_in_bounds(threads.iter().copied(), processes.iter().copied()))?;
    let wanted = request.wanted.clone();
    let waited: Waited<Comparison> = wait(py, callback, request.inputs(), |listener| {
        let plan = Plan::of(&wanted)?;
        let sides = Sides { engines: &engines, threads: &threads, processes: &processes, tie_seeds: &tie_seeds };
        let compared = parades_session::compare(&plan, sides, listener)?;
        Ok(Comparison {
            compared,
            is_stopped: false,
            program: program_with(format!("compare {}", quote(&wanted.scenario))),
        })
    });
    match waited {
        // The runs so far become an attribute of the exception.
        Waited { result: Ok(comparison), .. } if waited.is_interrupted(py) => {
            Ok(Comparison { is_stopped: true, ..comparison })
        }
        waited => waited.or_raise(py),
    }
}

impl Comparison {
    fn report(&self) -> ComparisonReport<'_> {
        ComparisonReport::of(&self.compared, &self.program)
    }
}

#[pymethods]
impl Comparison {
    /// Raises the exception of runs that differ.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        raise(py, self.report().check())
    }

    /// The comparison as the object of `--json`.
    fn json(&self) -> String {
        self.report().as_json().to_string()
    }

    /// The comparison as the command prints it, in lines of at most `width` characters.
    fn text(&self, width: usize) -> String {
        self.report().for_people(width.max(40))
    }

    /// A sentence on each engine that cannot run the model.
    fn left_out(&self) -> Vec<String> {
        self.compared.left_out.iter().map(ToString::to_string).collect()
    }

    /// True if Ctrl-C ended the comparison.
    #[getter]
    fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// The engines of the runs that Ctrl-C stopped, or left no time for.
    fn stopped(&self) -> Vec<&'static str> {
        let mut engines: Vec<_> = self.compared.stopped.iter().map(|run| run.choice.engine.name()).collect();
        engines.dedup();
        engines
    }

    /// Writes the comparison into a folder, as `compare --out` does.
    fn write(&self, py: Python<'_>, folder: PathBuf, overwrite: bool) -> PyResult<()> {
        let written = py.detach(|| {
            let _claim = make_folder(&folder, overwrite)?;
            self.report().write_folder(&folder)
        });
        raise(py, written)
    }
}

/// One of two runs: a request, or the folder of a recorded run.
#[derive(FromPyObject)]
pub(crate) enum OneOf<'py> {
    Request(PyRef<'py, Request>),
    Folder(PathBuf),
}

fn side(of: &OneOf<'_>) -> Result<Side, Failure> {
    Ok(match of {
        OneOf::Request(request) => Side::Request(request.wanted.clone()),
        OneOf::Folder(folder) => Side::Folder(Recorded::read(folder)?),
    })
}

/// A difference: true if there is none, the number of equal events, the next event of each run, and the text.
type Difference = (bool, Option<u64>, Option<(Option<String>, Option<String>)>, String);

/// Finds the first event at which two runs, called `names`, part.
#[pyfunction]
#[pyo3(signature = (names, a, b, callback=None))]
pub(crate) fn diff(
    py: Python<'_>,
    names: (String, String),
    a: OneOf<'_>,
    b: OneOf<'_>,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<Difference> {
    let of = |one: &OneOf<'_>| if let OneOf::Request(request) = one { request.inputs() } else { Vec::new() };
    let inputs = of(&a).into_iter().chain(of(&b)).collect();
    let sides = [raise(py, side(&a))?, raise(py, side(&b))?];
    drop((a, b));
    let waited = wait(py, callback, inputs, |listener| {
        let (names, mut other) = ([names.0.as_str(), names.1.as_str()], listener.clone());
        let verdict = parades_session::diff(names, &sides, [listener, &mut other], &mut |_| {})?;
        let text = difference_for_people(names, &verdict);
        let (events, lines) = match &verdict {
            Verdict::Same(events) | Verdict::SameTraces(events, _) | Verdict::OtherStates(events, _) => {
                (Some(*events), None)
            }
            Verdict::Part(Part { events, lines: [a, b], .. }) => (Some(*events), Some((a.clone(), b.clone()))),
            Verdict::Files(_) => (None, None),
        };
        Ok((verdict.is_same(), events, lines, text))
    });
    waited.or_raise(py)
}

/// Finds the chain of events that led to `event`, or to the failure of the run. Returns the object of
/// `--json`, the lines, and notes.
#[pyfunction]
#[pyo3(signature = (request, event, links, callback=None))]
pub(crate) fn why(
    py: Python<'_>,
    request: &Request,
    event: Option<String>,
    links: Option<usize>,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<(String, String, Vec<String>)> {
    let wanted = request.wanted.clone();
    let waited = wait(py, callback, request.inputs(), |listener| {
        let plan = Plan::of(&wanted)?;
        let question = Question { event: event.as_deref(), links: links.unwrap_or(usize::MAX) };
        let answer = parades_session::why(&plan, &plan.choice()?, question, listener)?;
        Ok((chain_as_json(&answer).to_string(), chain_for_people(&answer), answer.notes))
    });
    waited.or_raise(py)
}

/// Executes a recorded run again, and checks its digest. Returns the run, and a sentence on each difference
/// of its origin.
#[pyfunction]
#[pyo3(signature = (folder, engine, threads, processes, callback=None))]
pub(crate) fn rerun(
    py: Python<'_>,
    folder: PathBuf,
    engine: Option<String>,
    threads: Option<u64>,
    processes: Option<u64>,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Run, Vec<String>)> {
    raise(py, are_in_bounds(threads, processes))?;
    let on = RerunOn { engine, threads, processes };
    let waited = wait(py, callback, Vec::new(), |listener| repeat(&folder, &on, listener));
    let Repeated { run, differences } = waited.or_raise(py)?;
    Ok((Run::complete(run), differences))
}

fn repeat(folder: &Path, on: &RerunOn, listener: &mut crate::waiting::Listener) -> Result<Repeated, Failure> {
    let program = program_with(format!("rerun {}", quote(&folder.display().to_string())));
    parades_session::rerun::rerun(&Recorded::read(folder)?, on, &program, listener)
}
