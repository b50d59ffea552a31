//! Saved runs, which go on.

use crate::errors::raise;
use parades_cli::program_with;
use parades_config::inputs::{self, Input};
use parades_core::time::Time;
use parades_session::branch::Wish;
use parades_session::machine::default_memory_limit;
use parades_session::{Failure, Plan, Request as Wanted, Saved as SavedRun};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A run at one virtual time, from a file.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Saved {
    pub(crate) saved: SavedRun,
    base: Wanted,
    /// The virtual time at which the run ends.
    end: Option<Time>,
}

impl Saved {
    /// Returns the request that goes on with this run, on the engine of `how`.
    pub(crate) fn request(&self, how: &Wanted) -> Wanted {
        let Wanted { until, engine, threads, processes, tune, memory_limit, .. } = how.clone();
        Wanted { until, engine, threads, processes, tune, memory_limit, ..self.base.clone() }
    }

    /// Returns the scenario file of the run, which is nowhere on disk.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        vec![self.saved.scenario_input()]
    }
}

#[pymethods]
impl Saved {
    /// Reads a saved run.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Saved> {
        let read = py.detach(|| {
            inputs::apart([], || {
                let saved = SavedRun::read(&path, default_memory_limit().unwrap_or(u64::MAX))?;
                let program = program_with(String::new());
                let base = saved.request(program.version, program.commit)?;
                let end = inputs::apart([saved.scenario_input()], || Ok::<_, Failure>(Plan::of(&base)?.until))?;
                Ok(Saved { saved, base, end })
            })
        });
        raise(py, read)
    }

    /// Returns the branch of this run with other values, or other random streams, from its cut on. `until` is
    /// the end of the run.
    #[pyo3(signature = (set, seed, fresh_metrics, until))]
    fn branch(
        &self,
        py: Python<'_>,
        set: Vec<String>,
        seed: Option<u64>,
        fresh_metrics: bool,
        until: &str,
    ) -> PyResult<Saved> {
        let until = raise(py, crate::request::time_of("until", until))?;
        let base = Wanted { until: Some(until), ..self.base.clone() };
        let made = py.detach(|| {
            inputs::apart(self.inputs(), || {
                let saved = self.saved.clone().branch(&base, &Wish { set, seed, fresh_metrics })?;
                Ok(Saved { saved, base: self.base.clone(), end: Some(until) })
            })
        });
        raise(py, made)
    }

    /// The virtual time, as a text with its unit.
    #[getter]
    fn time(&self) -> String {
        self.saved.head.time().to_string()
    }

    /// The virtual time at which the run ends, as a text with its unit.
    #[getter]
    fn end(&self) -> Option<String> {
        self.end.map(|end| end.to_string())
    }

    /// The virtual time in seconds.
    #[getter]
    fn time_s(&self) -> f64 {
        self.saved.head.time().as_secs_f64()
    }

    /// The number of events executed before.
    #[getter]
    fn events(&self) -> u64 {
        self.saved.head.events
    }

    /// The digest at the cut; `None` if digests were switched off.
    #[getter]
    fn digest(&self) -> Option<String> {
        self.saved.head.digest.map(|digest| format!("{digest:016x}"))
    }

    /// The scenario file of the run.
    #[getter]
    fn scenario(&self) -> String {
        self.saved.head.scenario.clone()
    }
}
