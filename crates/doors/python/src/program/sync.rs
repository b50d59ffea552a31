//! Events, and the places of a resource. Processes of one node wait for them.

use super::waits::{Awaited, Wanted, patience_of};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Something that happens once, for which processes of a node wait.
#[pyclass(frozen, subclass, module = "parades")]
#[derive(Default)]
pub(crate) struct Event(Mutex<Happening>);

#[derive(Default)]
struct Happening {
    is_set: bool,
    value: Option<Py<PyAny>>,
    wakers: Vec<Waker>,
}

impl Event {
    fn lock(&self) -> MutexGuard<'_, Happening> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets it happen. Only the first time counts.
    pub(super) fn finish(&self, value: Option<Py<PyAny>>) {
        let wakers = {
            let mut happening = self.lock();
            if happening.is_set {
                return;
            }
            happening.is_set = true;
            happening.value = value;
            std::mem::take(&mut happening.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[pymethods]
impl Event {
    #[new]
    fn new() -> Event {
        Event::default()
    }

    /// True if it has happened.
    #[getter]
    pub(super) fn is_set(&self) -> bool {
        self.lock().is_set
    }

    /// The value with which it happened; `None` before.
    #[getter]
    pub(super) fn value(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.lock().value.as_ref().map(|value| value.clone_ref(py))
    }

    /// Lets it happen, with a value. Only the first time counts.
    #[pyo3(signature = (value=None))]
    fn set(&self, py: Python<'_>, value: Option<Py<PyAny>>) {
        self.finish(Some(value.unwrap_or_else(|| py.None())));
    }

    /// Waits until it happens, and returns its value; `None` if the time `within` is over before.
    #[pyo3(signature = (within=None))]
    fn wait(slf: &Bound<'_, Self>, within: Option<&Bound<'_, PyAny>>) -> PyResult<Awaited> {
        Ok(Awaited::of(Wanted::Event(slf.clone().unbind(), patience_of(within)?)))
    }
}

/// Waits for an [`Event`].
pub(super) struct Happened(pub(super) Py<Event>);

impl Future for Happened {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut happening = self.0.get().lock();
        if happening.is_set {
            return Poll::Ready(());
        }
        if !happening.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            happening.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

/// A resource with a number of places, as `simpy.Resource` and `simpy.PriorityResource` are.
///
/// Processes of one node use it: `async with resource:`, or `await resource.acquire()` and `resource.release()`.
///
/// Attributes:
///     capacity: The number of places.
///     count: The number of places in use.
///     queue_length: The number of processes that wait.
#[pyclass(frozen, subclass, module = "parades")]
pub(crate) struct Resource {
    capacity: u64,
    uses: Mutex<Uses>,
}

#[derive(Default)]
struct Uses {
    count: u64,
    /// The processes that wait, in the order of their priorities, and then of their coming.
    queue: BTreeMap<(Rank, u64), Py<Event>>,
    /// The number of processes that have ever waited.
    queued: u64,
}

/// A priority. The least comes first.
#[derive(Clone, Copy)]
struct Rank(f64);

impl Ord for Rank {
    fn cmp(&self, other: &Rank) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Rank {
    fn eq(&self, other: &Rank) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Rank {}

impl Resource {
    fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place, or returns the event that the process waits for.
    pub(super) fn take_or_queue(&self, py: Python<'_>, priority: f64) -> PyResult<Option<Py<Event>>> {
        let mut uses = self.uses();
        if uses.count < self.capacity {
            uses.count += 1;
            return Ok(None);
        }
        let event = Py::new(py, Event::default())?;
        uses.queued += 1;
        // Zero has no sign here.
        let key = (Rank(priority + 0.0), uses.queued);
        uses.queue.insert(key, event.clone_ref(py));
        Ok(Some(event))
    }

    /// Takes a process out of the queue. If it was given a place meanwhile, the place is given back.
    pub(super) fn leave(&self, py: Python<'_>, event: &Py<Event>) {
        if event.get().is_set() {
            self.give_back(py);
        } else {
            self.uses().queue.retain(|_, other| !other.is(event));
        }
    }

    /// Gives a place to the first process that waits. Returns false if no place was in use.
    fn give_back(&self, py: Python<'_>) -> bool {
        let mut uses = self.uses();
        if uses.count == 0 {
            return false;
        }
        match uses.queue.pop_first() {
            None => uses.count -= 1,
            Some((_, event)) => {
                drop(uses);
                event.get().finish(Some(py.None()));
            }
        }
        true
    }
}

#[pymethods]
impl Resource {
    #[new]
    #[pyo3(signature = (capacity=None), text_signature = "(capacity=1)")]
    fn new(py: Python<'_>, capacity: Option<&Bound<'_, PyAny>>) -> PyResult<Resource> {
        let Some(capacity) = capacity else { return Ok(Resource { capacity: 1, uses: Mutex::default() }) };
        let capacity = py.import("parades._words")?.call_method1("whole", ("capacity", capacity, 1))?.extract()?;
        Ok(Resource { capacity, uses: Mutex::default() })
    }

    /// The number of places.
    #[getter]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The number of places in use.
    #[getter]
    fn count(&self) -> u64 {
        self.uses().count
    }

    /// The number of processes that wait.
    #[getter]
    fn queue_length(&self) -> usize {
        self.uses().queue.len()
    }

    /// Waits for a place; the least `priority` comes first. Returns false if the time `within` is over.
    #[pyo3(signature = (priority=0.0, within=None))]
    fn acquire(slf: &Bound<'_, Self>, priority: f64, within: Option<&Bound<'_, PyAny>>) -> PyResult<Awaited> {
        Ok(Awaited::of(Wanted::Place { resource: slf.clone().unbind(), priority, within: patience_of(within)? }))
    }

    /// Gives a place back.
    fn release(&self, py: Python<'_>) -> PyResult<()> {
        let is_given = self.give_back(py);
        is_given.then_some(()).ok_or_else(|| {
            PyRuntimeError::new_err("a place was given back that nobody has: release once for each acquire")
        })
    }

    fn __aenter__(slf: &Bound<'_, Self>) -> Awaited {
        Awaited::of(Wanted::Place { resource: slf.clone().unbind(), priority: 0.0, within: None })
    }

    #[pyo3(signature = (*_exception))]
    fn __aexit__(&self, py: Python<'_>, _exception: &Bound<'_, pyo3::types::PyTuple>) -> PyResult<Awaited> {
        self.release(py)?;
        Ok(Awaited::of(Wanted::Nothing))
    }
}
