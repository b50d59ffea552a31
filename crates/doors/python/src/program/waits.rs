//! The waits of the processes of a program: what `await node.sleep(…)` and its like await.
//!
//! A wait is its own iterator, so a process passes through no code in Python on its way to the run and back.

use super::node::inside;
use super::sync::{Event, Resource};
use super::value::Mail;
use parades_config::units::parse_duration;
use parades_core::event::LpId;
use parades_core::time::Delay;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The purpose of a wait.
pub(super) enum Wanted {
    Sleep(Delay),
    /// The next message, within this delay if there is one.
    Message(Option<Delay>),
    /// An event, within this delay if there is one.
    Event(Py<Event>, Option<Delay>),
    /// The end of another process, which this event is.
    End(Py<Event>),
    /// The arrival of this message at this node.
    Delivery(LpId, Mail),
    /// The end of a computation of this many floating-point operations.
    Computation(f64),
    /// A place of a resource.
    Place {
        resource: Py<Resource>,
        priority: f64,
        within: Option<Delay>,
    },
    /// The end of a generator, whose steps are waits.
    Steps(Py<PyAny>),
    /// Nothing: the wait is over at once.
    Nothing,
}

/// A request of a process that has stopped, to the run.
pub(super) enum Asked {
    Sleep(Delay),
    Message(Option<Delay>),
    Event(Py<Event>, Option<Delay>),
    Delivery(LpId, Mail),
    Computation(f64),
}

/// The answer of the run.
pub(super) enum Answer {
    Nothing,
    Message(LpId, Mail),
    Truth(bool),
}

enum State {
    /// Nobody has awaited it.
    Fresh,
    /// A process has awaited it, and has not stopped for it.
    Awaited,
    /// A process has stopped for it. The event is that of its place in a queue.
    Waiting(Option<Py<Event>>),
    Answered(Answer, Option<Py<Event>>),
    Over,
}

/// The next step of a wait.
enum Next {
    /// The process stops until the run has answered.
    Stops,
    /// The wait is over, with this result.
    Returns(Option<Py<PyAny>>),
}

impl Next {
    fn truth(py: Python<'_>, truth: bool) -> Next {
        Next::Returns(Some(PyBool::new(py, truth).to_owned().into_any().unbind()))
    }
}

/// Returns the result of another process.
///
/// # Errors
///
/// `Killed` if it was killed.
fn result_of(py: Python<'_>, end: &Py<Event>) -> PyResult<Next> {
    match end.get().value(py) {
        Some(result) => Ok(Next::Returns(Some(result))),
        None => {
            let killed = py.import("parades._node")?.getattr("Killed")?;
            Err(PyErr::from_value(killed.call1(("the process was killed, and has no result",))?))
        }
    }
}

/// A wait of a process, which writes `await` or `yield from` before it. If it is dropped before, the run fails.
#[pyclass(frozen, freelist = 64, module = "parades._parades")]
pub(crate) struct Awaited {
    wanted: Wanted,
    state: Mutex<State>,
}

impl Awaited {
    pub(super) fn of(wanted: Wanted) -> Awaited {
        Awaited { wanted, state: Mutex::new(State::Fresh) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.state(), state)
    }

    /// Begins the wait. Returns the iterator over its steps.
    ///
    /// # Errors
    ///
    /// A `RuntimeError` if it was begun before.
    pub(super) fn begin<'py>(wait: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let this = wait.get();
        let mut state = this.state();
        match (&*state, &this.wanted) {
            (State::Fresh, Wanted::Steps(steps)) => {
                *state = State::Over;
                Ok(steps.bind(wait.py()).clone())
            }
            // An iterator is its own iterator: `yield from process.__await__()`.
            (State::Fresh | State::Awaited, _) => {
                *state = State::Awaited;
                Ok(wait.clone().into_any())
            }
            _ => Err(PyRuntimeError::new_err("a wait was awaited twice: call its method again for each wait")),
        }
    }

    /// Returns the request of a process that has stopped for this wait.
    ///
    /// # Errors
    ///
    /// A `TypeError` if the process has not awaited it.
    pub(super) fn asked(&self, py: Python<'_>) -> PyResult<Asked> {
        let mut state = self.state();
        let State::Waiting(place) = &*state else {
            // Nobody has forgotten it.
            *state = State::Over;
            return Err(PyTypeError::new_err("a wait was yielded: write `yield from` before it instead of `yield`"));
        };
        Ok(match (&self.wanted, place) {
            (Wanted::Sleep(delay), _) => Asked::Sleep(*delay),
            (Wanted::Message(within), _) => Asked::Message(*within),
            (Wanted::Event(event, within), _) => Asked::Event(event.clone_ref(py), *within),
            (Wanted::End(event), _) => Asked::Event(event.clone_ref(py), None),
            (Wanted::Delivery(to, message), _) => Asked::Delivery(*to, message.clone()),
            (Wanted::Computation(flops), _) => Asked::Computation(*flops),
            (Wanted::Place { within, .. }, Some(event)) => Asked::Event(event.clone_ref(py), *within),
            _ => unreachable!("a process does not stop for this wait"),
        })
    }

    /// Answers the request, before the process goes on.
    pub(super) fn answer(&self, answer: Answer) {
        let mut state = self.state();
        if let State::Waiting(place) = &mut *state {
            *state = State::Answered(answer, place.take());
        }
    }

    fn first_step(&self, py: Python<'_>) -> PyResult<Next> {
        let place = match &self.wanted {
            Wanted::Event(event, _) if event.get().is_set() => return Ok(Next::Returns(event.get().value(py))),
            Wanted::End(event) if event.get().is_set() => return result_of(py, event),
            Wanted::Place { resource, priority, .. } => match resource.get().take_or_queue(py, *priority)? {
                None => return Ok(Next::truth(py, true)),
                place => place,
            },
            Wanted::Nothing | Wanted::Steps(_) => return Ok(Next::Returns(None)),
            _ => None,
        };
        *self.state() = State::Waiting(place);
        Ok(Next::Stops)
    }

    fn last_step(&self, py: Python<'_>, answer: Answer, place: Option<Py<Event>>) -> PyResult<Next> {
        Ok(match (answer, &self.wanted) {
            (Answer::Message(from, message), _) => {
                let received = (from.0, message.value.object(py)?).into_pyobject(py)?;
                Next::Returns(Some(received.into_any().unbind()))
            }
            (Answer::Truth(true), Wanted::Event(event, _)) => Next::Returns(event.get().value(py)),
            (Answer::Truth(true), Wanted::End(event)) => return result_of(py, event),
            (Answer::Truth(is_there), Wanted::Place { resource, .. }) => {
                if let (false, Some(place)) = (is_there, place) {
                    resource.get().leave(py, &place);
                }
                Next::truth(py, is_there)
            }
            (Answer::Truth(truth), Wanted::Delivery(..)) => Next::truth(py, truth),
            _ => Next::Returns(None),
        })
    }

    /// Ends the wait of a process that was killed.
    fn end(&self, py: Python<'_>) {
        let state = self.replace(State::Over);
        if let State::Waiting(Some(place)) | State::Answered(_, Some(place)) = state
            && let Wanted::Place { resource, .. } = &self.wanted
        {
            resource.get().leave(py, &place);
        }
    }

    /// The method whose `await` may be forgotten.
    fn method(&self, py: Python<'_>) -> Option<String> {
        Some(match &self.wanted {
            Wanted::Sleep(_) => "sleep".into(),
            Wanted::Message(_) => "receive".into(),
            Wanted::Event(..) => "wait".into(),
            Wanted::Delivery(..) => "deliver".into(),
            Wanted::Computation(_) => "compute".into(),
            Wanted::Place { .. } => "acquire".into(),
            Wanted::Steps(steps) => steps.getattr(py, "__name__").and_then(|name| name.extract(py)).ok()?,
            Wanted::End(_) | Wanted::Nothing => return None,
        })
    }
}

#[pymethods]
impl Awaited {
    #[new]
    fn new(steps: Py<PyAny>) -> Awaited {
        Awaited::of(Wanted::Steps(steps))
    }

    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Awaited::begin(slf)
    }

    /// Generators write `yield from`.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Awaited::begin(slf)
    }

    fn __next__(slf: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let (py, this) = (slf.py(), slf.get());
        let next = match this.replace(State::Over) {
            State::Awaited => this.first_step(py)?,
            State::Answered(answer, place) => this.last_step(py, answer, place)?,
            State::Over => Next::Returns(None),
            other @ (State::Fresh | State::Waiting(_)) => {
                *this.state() = other;
                return Err(PyRuntimeError::new_err("a wait goes on by the run alone: write `await` before it"));
            }
        };
        match next {
            Next::Stops => Ok(Some(slf.clone().into_any().unbind())),
            Next::Returns(None) => Ok(None),
            Next::Returns(Some(result)) => Err(PyStopIteration::new_err((result,))),
        }
    }

    /// Ends the wait. A coroutine that is closed calls it.
    fn close(&self, py: Python<'_>) {
        self.end(py);
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        match self.state.get_mut().unwrap_or_else(PoisonError::into_inner) {
            State::Fresh if inside().is_some() => {}
            State::Waiting(Some(_)) => return Python::attach(|py| self.end(py)),
            _ => return,
        }
        Python::attach(|py| {
            let Some(method) = self.method(py) else { return };
            // An exception on its way is the reason why nothing awaits any more.
            if let Some(error) = PyErr::take(py) {
                error.restore(py);
                return;
            }
            let forgotten =
                py.import("parades._failures").and_then(|module| module.call_method1("forgotten", (method,)));
            if let Err(error) = forgotten {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// Returns a delay: a text with its unit, a number of seconds, or a `timedelta`.
pub(super) fn delay_of(value: &Bound<'_, PyAny>) -> PyResult<Delay> {
    let seconds = if let Ok(number) = value.cast_exact::<PyFloat>() {
        number.value()
    } else if let Ok(text) = value.cast::<PyString>() {
        return parse_duration(&text.to_cow()?).map_err(|error| PyValueError::new_err(error.to_string()));
    } else if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        value.extract()?
    } else if let Ok(seconds) = value.call_method0("total_seconds").and_then(|seconds| seconds.extract()) {
        seconds
    } else {
        let name = value.get_type().fully_qualified_name()?;
        return Err(PyTypeError::new_err(format!(
            "a `{name}` is no delay: give a number of seconds, a text such as \"10ms\", or a `timedelta`"
        )));
    };
    Delay::try_from_secs_f64(seconds).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{seconds} s is no delay: give a number of seconds from 0 on, or a text such as \"10ms\""
        ))
    })
}

/// Returns the delay of the argument `within`, if it has one.
pub(super) fn patience_of(within: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Delay>> {
    within.map(delay_of).transpose()
}

/// Returns the exception for something that a process awaits, and that is no wait of the node.
pub(super) fn no_wait(value: &Bound<'_, PyAny>) -> PyErr {
    let name = value.get_type().fully_qualified_name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "a process awaited a `{name}`, which is no wait of parades: await the methods of its node, such as \
         `node.sleep(\"10ms\")`"
    ))
}
