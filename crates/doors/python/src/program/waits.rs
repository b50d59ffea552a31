//! The waits of the coroutines of a program.

use parades_config::units::parse_duration;
use parades_core::time::Delay;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use super::node::{Whole, inside};
use super::value::Mail;

/// A wait of a coroutine. It yields a value of this class, or the delay of a sleep.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Wish(pub(super) Wanted);

pub(super) enum Wanted {
    /// The next message, within this delay if there is one.
    Message(Option<Delay>),
    /// The end of a wait, within this delay if there is one.
    End(Py<Wait>, Option<Delay>),
    /// The arrival of this message at this node.
    Delivery(u32, Mail),
    /// The end of a computation of this many floating-point operations.
    Computation(f64),
}

#[pymethods]
impl Wish {
    /// A wish for the next message.
    #[staticmethod]
    #[pyo3(signature = (within=None))]
    fn message(within: Option<&Bound<'_, PyAny>>) -> PyResult<Wish> {
        Ok(Wish(Wanted::Message(within.map(delay_of).transpose()?)))
    }

    /// A wish for the end of a wait.
    #[staticmethod]
    #[pyo3(signature = (wait, within=None))]
    fn end(wait: Py<Wait>, within: Option<&Bound<'_, PyAny>>) -> PyResult<Wish> {
        Ok(Wish(Wanted::End(wait, within.map(delay_of).transpose()?)))
    }

    /// A wish for the arrival of a message.
    #[staticmethod]
    #[pyo3(signature = (to, message, bytes=None))]
    fn delivery(to: Whole<u32>, message: &Bound<'_, PyAny>, bytes: Option<Whole<u32>>) -> PyResult<Wish> {
        Ok(Wish(Wanted::Delivery(to.0, Mail::of(message, bytes.map(|Whole(bytes)| bytes))?)))
    }

    /// A wish for the end of a computation.
    #[staticmethod]
    fn computation(flops: f64) -> PyResult<Wish> {
        if flops >= 0.0 && flops.is_finite() {
            return Ok(Wish(Wanted::Computation(flops)));
        }
        Err(PyValueError::new_err(format!("{flops} is no number of operations: give one from 0 on")))
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
            "a process awaited a `{name}`, which is no wait of parades: await the methods of its node, such as \
             `node.sleep(\"10ms\")`"
        )));
    };
    Delay::try_from_secs_f64(seconds).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{seconds} s is no delay: give a number of seconds from 0 on, or a text such as \"10ms\""
        ))
    })
}

/// A wait that another process of the same node ends.
#[pyclass(frozen, module = "parades._parades")]
#[derive(Default)]
pub(crate) struct Wait(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    is_over: bool,
    value: Option<Py<PyAny>>,
    wakers: Vec<Waker>,
}

impl Wait {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the wait. Only the first end counts.
    pub(super) fn finish(&self, value: Option<Py<PyAny>>) {
        let wakers = {
            let mut waiting = self.lock();
            if waiting.is_over {
                return;
            }
            waiting.is_over = true;
            waiting.value = value;
            std::mem::take(&mut waiting.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[pymethods]
impl Wait {
    #[new]
    fn new() -> Wait {
        Wait::default()
    }

    /// Ends the wait with a value.
    #[pyo3(signature = (value=None))]
    fn end(&self, value: Option<Py<PyAny>>) {
        self.finish(value);
    }

    /// True if the wait has ended.
    #[getter]
    pub(super) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    /// The value of its end.
    #[getter]
    fn value(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.lock().value.as_ref().map(|value| value.clone_ref(py))
    }
}

/// A wait that a process may await: the steps of a generator. If it is dropped before it was awaited, the run fails.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct Awaited(Mutex<Option<Py<PyAny>>>);

impl Awaited {
    /// Takes the steps.
    ///
    /// # Errors
    ///
    /// A `RuntimeError` if it was awaited before.
    pub(super) fn take<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let steps = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let steps = steps.map(|steps| steps.into_bound(py));
        steps.ok_or_else(|| PyRuntimeError::new_err("a wait was awaited twice: call its method again for each wait"))
    }
}

#[pymethods]
impl Awaited {
    #[new]
    fn new(steps: Py<PyAny>) -> Awaited {
        Awaited(Mutex::new(Some(steps)))
    }

    fn __await__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.take(py)
    }

    /// Generators write `yield from`.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.take(py)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let Some(steps) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() else { return };
        if inside().is_none() {
            return;
        }
        Python::attach(|py| {
            // An exception on its way is the reason why nothing awaits any more.
            if let Some(error) = PyErr::take(py) {
                error.restore(py);
                return;
            }
            let forgotten = py.import("parades._program").and_then(|module| module.call_method1("forgotten", (steps,)));
            if let Err(error) = forgotten {
                error.write_unraisable(py, None);
            }
        });
    }
}

/// Waits for the end of a [`Wait`].
pub(super) struct Ended(pub(super) Py<Wait>);

impl Future for Ended {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut waiting = self.0.get().lock();
        if waiting.is_over {
            return Poll::Ready(());
        }
        if !waiting.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            waiting.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}
