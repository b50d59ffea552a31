//! A user's request for a run, in the words of the command.

use crate::errors::raise;
use parades_config::inputs::{Input, apart};
use parades_config::units::{parse_size, parse_time};
use parades_config::{ConfigError, Place, THREADS_MAX};
use parades_core::time::Time;
use parades_session::{Failure, Plan, Request as Wanted};
use pyo3::prelude::*;
use std::path::absolute;

/// The greatest number of processes of a run, as the command has it.
const PROCESSES_MAX: u64 = 65_536;

/// A request for a run: a scenario or a network, and how it is run.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Request {
    pub(crate) wanted: Wanted,
    /// The path and the text of the network, where it is described in Python.
    pub(crate) text: Option<(String, String)>,
}

impl Request {
    /// Returns the inputs that a thread must hold for this request: the text of the network.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        let held = self.text.iter().filter_map(|(path, text)| Some((absolute(path).ok()?, text)));
        held.map(|(path, text)| Input { path, bytes: text.as_bytes().into() }).collect()
    }
}

/// The end of a run, which a user has written as the option `option`.
pub(crate) fn time_of(option: &str, text: &str) -> Result<Time, Failure> {
    let time = moment_of(option, text)?;
    if time == Time::ZERO {
        let error = ConfigError::new("a run until 0s executes nothing").with_help("give a time above it");
        return Err(error.at(Place::Argument(format!("{option}={text}"))).into());
    }
    Ok(time)
}

/// A time in a run, which a user has written as the option `option`.
pub(crate) fn moment_of(option: &str, text: &str) -> Result<Time, Failure> {
    Ok(parse_time(text).map_err(|error: ConfigError| error.at(Place::Argument(format!("{option}={text}"))))?)
}

/// Checks numbers of threads and processes.
pub(crate) fn are_in_bounds(
    threads: impl IntoIterator<Item = u64>,
    processes: impl IntoIterator<Item = u64>,
) -> Result<(), Failure> {
    threads.into_iter().try_for_each(|number| in_bounds("threads", Some(number), THREADS_MAX))?;
    processes.into_iter().try_for_each(|number| in_bounds("processes", Some(number), PROCESSES_MAX))
}

/// Checks a number of threads or processes against the greatest one.
fn in_bounds(option: &str, number: Option<u64>, most: u64) -> Result<(), Failure> {
    let Some(number) = number.filter(|number| !(1..=most).contains(number)) else { return Ok(()) };
    let error = ConfigError::new(format!("there are from 1 to {most}")).with_help("give such a number");
    Err(error.at(Place::Argument(format!("{option}={number}"))).into())
}

fn size_of(text: &str) -> Result<u64, Failure> {
    parse_size(text).map_err(|error| error.at(Place::Argument(format!("memory_limit={text}"))).into())
}

#[pymethods]
impl Request {
    #[new]
    #[pyo3(signature = (scenario, *, text=None, file=None, set=Vec::new(), seed=None, tie_seed=None, until=None, engine=None,
        threads=None, processes=None, tune=Vec::new(), memory_limit=None, digest=true))]
    #[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
    fn new(
        py: Python<'_>,
        scenario: String,
        text: Option<String>,
        file: Option<String>,
        set: Vec<String>,
        seed: Option<u64>,
        tie_seed: Option<u64>,
        until: Option<&str>,
        engine: Option<String>,
        threads: Option<u64>,
        processes: Option<u64>,
        tune: Vec<String>,
        memory_limit: Option<&str>,
        digest: bool,
    ) -> PyResult<Request> {
        let until = raise(py, until.map(|text| time_of("until", text)).transpose())?;
        let memory_limit = raise(py, memory_limit.map(size_of).transpose())?;
        raise(py, are_in_bounds(threads, processes))?;
        let text = text.map(|text| (file.unwrap_or_else(|| scenario.clone()), text));
        let wanted = Wanted {
            set,
            seed,
            tie_seed,
            until,
            engine,
            threads,
            processes,
            tune,
            memory_limit,
            digest,
            ..Wanted::of(scenario)
        };
        Ok(Request { wanted, text })
    }

    /// Returns the request for another engine.
    fn with_engine(
        &self,
        py: Python<'_>,
        engine: String,
        threads: Option<u64>,
        processes: Option<u64>,
        tune: Vec<String>,
    ) -> PyResult<Request> {
        raise(py, are_in_bounds(threads, processes))?;
        let wanted = Wanted { engine: Some(engine), threads, processes, tune, ..self.wanted.clone() };
        Ok(Request { wanted, text: self.text.clone() })
    }

    /// Returns the request with the network that `other` has as text.
    fn with_text_of(&self, other: &Request) -> Request {
        Request { wanted: self.wanted.clone(), text: other.text.clone() }
    }

    /// Returns the request with another virtual end time.
    fn with_until(&self, py: Python<'_>, until: &str) -> PyResult<Request> {
        let until = raise(py, time_of("until", until))?;
        Ok(Request { wanted: Wanted { until: Some(until), ..self.wanted.clone() }, text: self.text.clone() })
    }

    /// Returns the text of a file whose run is the same: the network in full, or the scenario with all
    /// values.
    fn show(&self, py: Python<'_>) -> PyResult<String> {
        let (wanted, inputs) = (self.wanted.clone(), self.inputs());
        raise(py, py.detach(move || apart(inputs, || Plan::of(&wanted)?.as_file(None))))
    }

    /// Makes the model and drops it. Returns its number of logical processes and its end in seconds.
    fn check(&self, py: Python<'_>) -> PyResult<(u32, f64)> {
        let (wanted, inputs) = (self.wanted.clone(), self.inputs());
        let made = py.detach(move || {
            apart(inputs, || {
                let plan = Plan::of(&wanted)?;
                plan.choice()?;
                let simulation = plan.simulation()?;
                Ok::<_, Failure>((simulation.lps(), plan.until.unwrap_or(simulation.until).as_secs_f64()))
            })
        });
        raise(py, made)
    }
}
