//! Failures as the exceptions of `parades._errors`: one class for each exit status of the command.

use parades_config::{ConfigError, Place};
use parades_session::Failure;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::PyDict;

/// Returns the exception of a failure.
pub(crate) fn exception(py: Python<'_>, failure: &Failure) -> PyErr {
    let facts = PyDict::new(py);
    let (class, known) = match failure {
        Failure::Input(error) => ("InputError", place(&facts, error)),
        Failure::Run(run) => ("SimulationError", place_in_run(&facts, &run.error)),
        Failure::Simulation(_) => ("SimulationError", Ok(())),
        Failure::Stopped(_) => ("Stopped", Ok(())),
    };
    known.and_then(|()| raised(py, class, &failure.to_string(), &facts)).unwrap_or_else(|error| error)
}

/// Returns the exception of Ctrl-C where there are no results; any other exception as it is.
pub(crate) fn interrupted(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.get_type(py).is(PyKeyboardInterrupt::type_object(py)) {
        return error;
    }
    exception(py, &Failure::Stopped("Ctrl-C came before there was a result"))
}

/// Returns the exception `class` with a message and further facts.
pub(crate) fn raised(py: Python<'_>, class: &str, message: &str, facts: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    let made = py.import("parades._errors")?.getattr(class)?.call((message,), Some(facts))?;
    Ok(PyErr::from_value(made))
}

/// Adds the place of an error in a file.
fn place(facts: &Bound<'_, PyDict>, error: &ConfigError) -> PyResult<()> {
    facts.set_item("help", error.help())?;
    match error.place() {
        Some(Place::Argument(argument)) => facts.set_item("argument", argument),
        Some(Place::File(file)) => facts.set_item("file", file.to_string_lossy()),
        Some(Place::Spot(spot)) => {
            facts.set_item("file", spot.file.to_string_lossy())?;
            facts.set_item("line", spot.line)?;
            facts.set_item("column", spot.column)?;
            facts.set_item("source_line", spot.source_line.as_deref())
        }
        None => Ok(()),
    }
}

/// Adds the place of an error in virtual time.
fn place_in_run(facts: &Bound<'_, PyDict>, error: &parades_core::error::Error) -> PyResult<()> {
    let Some(place) = error.place() else { return Ok(()) };
    facts.set_item("lp", place.lp.map(|lp| lp.0))?;
    facts.set_item("time_s", place.instant.time.as_secs_f64())
}

/// Returns the value, or raises the failure.
pub(crate) fn raise<T>(py: Python<'_>, result: Result<T, Failure>) -> PyResult<T> {
    result.map_err(|failure| exception(py, &failure))
}
