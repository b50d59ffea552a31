//! The trace of a run, line by line, while the run goes on.

use crate::errors::{exception, interrupted};
use crate::request::{Request, moment_of};
use crate::waiting::{Working, defect};
use parades_config::inputs::apart;
use parades_core::trace::Tracer;
use parades_report::TracedEvents;
use parades_session::interrupt::Stop;
use parades_session::{Failure, Plan, Recording, run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// The number of lines by which the run may be ahead of its reader.
const LINES_AHEAD: usize = 4096;
/// The longest time for which a signal waits for its answer.
const PERIOD: Duration = Duration::from_millis(50);

/// A line, or why there are no more.
type Line = Result<String, Failure>;

/// An iterator over the lines of a trace. The run goes on as far as they are read, and ends when the iterator
/// is dropped.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Trace {
    /// `None` while a thread waits for a line.
    lines: Mutex<Option<Receiver<Line>>>,
    stop: Stop,
}

/// Executes a request, and returns the lines of its trace.
#[pyfunction]
#[pyo3(signature = (request, lps, begin, before))]
pub(crate) fn trace(
    py: Python<'_>,
    request: &Request,
    lps: Option<String>,
    begin: Option<&str>,
    before: Option<&str>,
) -> PyResult<Trace> {
    let time = |option: &str, text: Option<&str>| text.map(|text| moment_of(option, text)).transpose();
    let events = || Ok(TracedEvents { lps, from: time("begin", begin)?, before: time("before", before)? });
    let events = events().map_err(|failure| exception(py, &failure))?;
    let (wanted, inputs, stop) = (request.wanted.clone(), request.inputs(), Stop::default());
    let (to, lines) = sync_channel(LINES_AHEAD);
    let task = stop.clone();
    let working = Working::begin();
    let execute = move || {
        let _working = working;
        let work = || apart(inputs, || Plan::of(&wanted).and_then(|plan| traced(&plan, &events, &to)));
        // Without this, a panic would look like the end of the trace.
        let end = catch_unwind(AssertUnwindSafe(|| task.within(work))).unwrap_or_else(|_| Err(defect()));
        // A reader that is gone asks for nothing.
        end.err().into_iter().for_each(|failure| drop(to.send(Err(failure))));
    };
    match thread::Builder::new().stack_size(crate::waiting::STACK_BYTES).spawn(execute) {
        Ok(_) => Ok(Trace { lines: Mutex::new(Some(lines)), stop }),
        Err(error) => Err(exception(py, &Failure::no_thread("run", &error))),
    }
}

fn traced(plan: &Plan, events: &TracedEvents, to: &SyncSender<Line>) -> Result<(), Failure> {
    let send = |line: &str| to.send(Ok(line.to_owned())).map_err(|_| io::Error::other("nobody reads the trace"));
    let tracer = Box::new(|simulation: &_, _| Ok(Tracer::new(events.in_model(simulation)?, send).into()));
    let recording = Recording { tracer: Some(tracer), ..Recording::default() };
    run(plan, &plan.choice()?, recording, &mut ())?.complete("the trace was stopped").map(drop)
}

#[pymethods]
impl Trace {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let taken = self.lines.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut lines) = taken else {
            return Err(PyValueError::new_err("another thread waits for the next line of this trace"));
        };
        let next = loop {
            let received;
            (lines, received) = py.detach(move || {
                let received = lines.recv_timeout(PERIOD);
                (lines, received)
            });
            match received {
                Ok(Ok(line)) => break Ok(Some(line)),
                Ok(Err(failure)) => break Err(exception(py, &failure)),
                Err(RecvTimeoutError::Disconnected) => break Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Err(error) = py.check_signals() {
                self.stop.stop();
                break Err(interrupted(py, error));
            }
        };
        *self.lines.lock().unwrap_or_else(PoisonError::into_inner) = Some(lines);
        next
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.stop.stop();
    }
}
