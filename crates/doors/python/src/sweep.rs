//! Sweeps: replications over a grid of parameters. Processes of the interpreter execute the runs.

use crate::errors::raise;
use crate::request::Request;
use crate::table::Table;
use crate::waiting::{Said, Waited, wait};
use parades_cli::{execute_sweep, program_with};
use parades_report::View;
use parades_report::sweep::SweepReport;
use parades_session::Failure;
use parades_session::sweep::{SweepPlan, SweepRequest};
use parades_sweep::{End, Outcome};
use pyo3::prelude::*;
use serde_json::{Map, Value};
use std::path::PathBuf;

/// The results of a sweep.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Sweep {
    json: String,
    report: String,
    notes: Vec<String>,
    /// The message of the first run that failed, and the number of such runs.
    failed: Option<(usize, String)>,
    is_stopped: bool,
    runs: Rows,
    means: Rows,
}

/// The parameter with the arguments of a program.
const ARGUMENTS: &str = "arguments";

/// Headings and rows.
type Rows = (Vec<String>, Vec<Vec<Value>>);

/// Executes a sweep. In the request, a parameter may have several values: `KEY=A,B,…`.
#[pyfunction]
#[pyo3(signature = (request, *, seeds, tie_seeds, jobs, metrics, until_interval, folder, callback=None))]
#[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
pub(crate) fn sweep(
    py: Python<'_>,
    request: &Request,
    seeds: Option<String>,
    tie_seeds: Vec<u64>,
    jobs: Option<u64>,
    metrics: Vec<String>,
    until_interval: Option<f64>,
    folder: Option<PathBuf>,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<Sweep> {
    let wanted = SweepRequest {
        base: request.wanted.clone(),
        seeds,
        tie_seeds,
        jobs,
        metrics,
        until_interval,
        folder,
        journal: None,
        shard: None,
        missing: false,
        from: Vec::new(),
        fresh_metrics: false,
    };
    let waited: Waited<Sweep> = wait(py, callback, request.inputs(), |listener| {
        swept(&wanted, &mut |finished, total| listener.say(Said::Runs(finished, total)))
    });
    match waited {
        // The results so far become an attribute of the exception.
        Waited { result: Ok(sweep), .. } if waited.is_interrupted(py) => Ok(Sweep { is_stopped: true, ..sweep }),
        waited => waited.or_raise(py),
    }
}

fn swept(wanted: &SweepRequest, progress: &mut dyn FnMut(usize, usize)) -> Result<Sweep, Failure> {
    let plan = SweepPlan::of(wanted)?;
    plan.read_inputs();
    let program = program_with(format!("sweep {}", plan.plan.request.scenario));
    let sweep = execute_sweep(&plan, &program, &mut |now| progress(now.finished, now.total))?;
    let report = SweepReport::of(&sweep, &program);
    if let Some(folder) = &wanted.folder {
        if sweep.end == End::Stopped || sweep.schedule.failures() > 0 {
            parades_report::folder::remove_remains_of_workers(folder);
        }
        report.write_folder(folder)?;
    }
    let mut json = Vec::new();
    report.write_json(&mut json).map_err(|error| Failure::simulation(error.to_string()))?;
    let outcomes = (0..sweep.schedule.points()).flat_map(|point| sweep.schedule.runs(point));
    let failed = outcomes.filter_map(|(_, outcome)| match outcome {
        Outcome::Failed(failed) => Some(failed.message.clone()),
        Outcome::Figures(_) => None,
    });
    let first = failed.take(1).next();
    let (runs, means) = (report.results().table_of_runs(), report.results().table_of_means());
    Ok(Sweep {
        json: String::from_utf8_lossy(&json).into_owned(),
        report: report.for_people(&View { width: 100, is_brief: false, table: None })?,
        notes: plan.notes.clone(),
        failed: first.map(|message| (sweep.schedule.failures(), message)),
        is_stopped: sweep.end == End::Stopped,
        runs: with_arguments(runs.0, runs.1.collect()),
        means: with_arguments(means.0, means.1.collect()),
    })
}

/// Replaces the column `arguments`, if a sweep over those of a program has it, by a column for each argument.
fn with_arguments(headings: Vec<String>, rows: Vec<Vec<Value>>) -> Rows {
    let Some(at) = headings.iter().position(|heading| heading == ARGUMENTS) else { return (headings, rows) };
    let of = |row: &[Value]| row[at].as_str().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let mut names: Vec<String> = Vec::new();
    for name in rows.iter().filter_map(|row| of(row)).flat_map(|arguments| arguments.into_iter().map(|(name, _)| name))
    {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.iter().any(|name| headings.contains(name)) {
        return (headings, rows);
    }
    let each = |row: Vec<Value>| {
        let mut arguments = of(&row).unwrap_or_default();
        let cell = |name: &String| match arguments.remove(name) {
            Some(list @ (Value::Array(_) | Value::Object(_))) => list.to_string().into(),
            other => other.unwrap_or_default(),
        };
        let cells: Vec<Value> = names.iter().map(cell).collect();
        let mut row = row;
        row.splice(at..=at, cells);
        row
    };
    let rows = rows.into_iter().map(each).collect();
    let mut headings = headings;
    headings.splice(at..=at, names.iter().cloned());
    (headings, rows)
}

#[pymethods]
impl Sweep {
    /// The sweep as the object of `--json`.
    fn json(&self) -> &str {
        &self.json
    }

    /// The sweep as the command prints it.
    fn report(&self) -> &str {
        &self.report
    }

    /// Notes on the grid, a sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The number of failed runs and the message of the first; `None` if there is none.
    #[getter]
    fn failed(&self) -> Option<(usize, String)> {
        self.failed.clone()
    }

    /// True if Ctrl-C ended the sweep.
    #[getter]
    fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Returns a row for each run.
    fn runs(&self, py: Python<'_>) -> PyResult<Table> {
        raise(py, Table::of(self.runs.0.clone(), self.runs.1.iter().cloned()))
    }

    /// Returns a row for each metric of each point, with its mean and its interval.
    fn means(&self, py: Python<'_>) -> PyResult<Table> {
        raise(py, Table::of(self.means.0.clone(), self.means.1.iter().cloned()))
    }
}
