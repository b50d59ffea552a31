//! Facts on this package, and the command.

use crate::program::{SCENARIO, parameters};
use parades_session::itself;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// The version of parades, and the commit from which the package was built.
#[pyfunction]
pub(crate) fn version() -> (&'static str, &'static str) {
    (env!("CARGO_PKG_VERSION"), parades_cli::COMMIT)
}

/// Returns the name of each scenario, and a sentence on it.
#[pyfunction]
pub(crate) fn scenarios() -> Vec<(&'static str, &'static str)> {
    parades_catalog::scenarios().iter().map(|scenario| (scenario.name, scenario.about)).collect()
}

/// Returns the parameters of the scenario of programs, which every program has.
#[pyfunction]
pub(crate) fn parameters_of_programs() -> Vec<&'static str> {
    parameters().iter().map(|parameter| parameter.key()).collect()
}

/// Tells by which words a process of this package is started.
#[pyfunction]
pub(crate) fn started_by(words: Vec<OsString>) {
    itself::is_started_by(words);
}

/// Executes the command with these words, the name of the program first, and returns its exit status.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    itself::has_words(words);
    let code = py.detach(|| parades_cli::command([SCENARIO]));
    // An exit status tells no more than whether it is that of success.
    (0..=u8::MAX).find(|&status| ExitCode::from(status) == code).unwrap_or(1)
}
