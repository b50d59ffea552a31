//! The package `parades` for Python: what it needs of Rust. Its modules in Python (`python/parades`) have the
//! docs, the builder of networks and all that is shown in notebooks.
//!
//! - [`request::Request`]: what a user asks for, as the command has it.
//! - [`run`]: runs, and the results of one.
//! - [`cut`]: runs at a virtual time, which go on.
//! - [`outputs`]: the files that a run writes, and its saves.
//! - [`program`]: programs whose processes are written in Python.
//! - [`questions`]: `compare`, `diff`, `why`, `rerun`.
//! - [`stepping`]: networks that a program steps.
//! - [`sweep`]: sweeps, by processes of the interpreter that executes `python -m parades`.
//! - [`table`]: columns, as Arrow arrays.
//! - [`trace`]: the executed events, line by line.
//! - [`waiting`]: the thread of a run, while the interpreter is free for other threads and for Ctrl-C.
//! - [`errors`]: the exceptions of `parades._errors`.

#![deny(unsafe_code)]

mod cut;
mod errors;
mod facts;
mod outputs;
mod program;
mod questions;
mod request;
mod run;
mod stepping;
mod sweep;
mod table;
mod trace;
mod waiting;

use pyo3::prelude::*;

/// The part of the package that is written in Rust.
#[pymodule(gil_used = false)]
mod _parades {
    #[pymodule_export]
    use super::cut::Saved;
    #[pymodule_export]
    use super::facts::{main, parameters_of_programs, scenarios, started_by, version};
    #[pymodule_export]
    use super::program::{Awaited, Event, Node, NodeKey, Process, Resource, canonical, executing, fail_here};
    #[pymodule_export]
    use super::questions::{Comparison, compare, diff, rerun, why};
    #[pymodule_export]
    use super::request::Request;
    #[pymodule_export]
    use super::run::{Run, execute};
    #[pymodule_export]
    use super::stepping::Stepped;
    #[pymodule_export]
    use super::sweep::{Sweep, sweep};
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trace::{Trace, trace};
    use super::{Bound, PyModule, PyResult};

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Panics of models are errors of their runs.
        parades_session::panics::keep_quiet();
        parades_catalog::install("parades", [super::program::SCENARIO]);
        Ok(())
    }
}
