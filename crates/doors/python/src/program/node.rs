//! A node of a program in Python, as its processes see it.

use super::carriers::{AnyNode, Names, each};
use super::drive::{Coroutine, execute};
use super::sync::Event;
use super::value::Mail;
use super::waits::{Awaited, Wanted, delay_of, patience_of};
use parades::program::Handle;
use parades_core::event::LpId;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

thread_local! {
    /// The node whose process this thread executes.
    static INSIDE: Cell<Option<AnyNode>> = const { Cell::new(None) };
    static THREAD: Executing = Executing::new();
}

/// The threads that execute processes, as Python names them.
static EXECUTING: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// This thread, as long as it lives.
struct Executing(u64);

impl Executing {
    fn new() -> Executing {
        let ident = |py: Python<'_>| py.import("threading")?.call_method0("get_ident")?.extract();
        let ident = Python::attach(ident).unwrap_or(0);
        EXECUTING.lock().unwrap_or_else(PoisonError::into_inner).insert(ident);
        Executing(ident)
    }
}

impl Drop for Executing {
    fn drop(&mut self) {
        EXECUTING.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}

/// Returns the threads that execute processes, as Python names them.
#[pyfunction]
pub(crate) fn executing() -> BTreeSet<u64> {
    EXECUTING.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The time in which this thread executes a process of a node.
pub(super) struct Inside(Option<AnyNode>);

impl Inside {
    pub(super) fn enter(node: AnyNode) -> Inside {
        // A thread that ends has no entry any more.
        let _ = THREAD.try_with(|_| ());
        Inside(INSIDE.replace(Some(node)))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.0);
    }
}

/// Returns the number of the node whose process this thread executes.
pub(super) fn inside() -> Option<u32> {
    INSIDE.get().map(AnyNode::id)
}

/// Ends the run with an error of the node whose process this thread executes.
#[pyfunction]
pub(crate) fn fail_here(why: String) {
    if let Some(node) = INSIDE.get() {
        node.fail(why);
    }
}

/// A whole number from 0 on, which an argument has.
pub(super) struct Whole<T>(pub(super) T);

impl<T: TryFrom<u64>> FromPyObject<'_, '_> for Whole<T> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Whole<T>> {
        let number = value.extract::<u64>().ok().and_then(|number| T::try_from(number).ok());
        number.map(Whole).ok_or_else(|| {
            let shown = value.repr().map_or_else(|_| "this".to_owned(), |text| text.to_string());
            PyValueError::new_err(format!(
                "{shown} is no number of a node, amount or size: give a whole number from 0 on"
            ))
        })
    }
}

/// The node that a process belongs to.
#[pyclass(subclass, module = "parades._parades")]
pub(crate) struct Node {
    id: u32,
    nodes: u32,
    node: AnyNode,
    /// The names of all nodes, if they have any.
    names: Option<Arc<Names>>,
    /// The values of the node that belong to the answer.
    #[pyo3(get, set)]
    state: Py<PyAny>,
}

/// The node of the Rust side, on its way through the constructor of the class of Python.
#[pyclass(frozen, module = "parades._parades")]
pub(crate) struct NodeKey {
    pub(super) node: AnyNode,
    pub(super) names: Option<Arc<Names>>,
}

impl Node {
    pub(super) fn state<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.state.bind(py).clone()
    }

    /// Returns the node, if one of its processes calls.
    fn here(&self) -> PyResult<AnyNode> {
        let is_here = inside() == Some(self.id);
        is_here.then_some(self.node).ok_or_else(|| {
            PyRuntimeError::new_err(format!(
                "node {} was used outside of its processes: a process uses its own node alone, and sends messages to others",
                self.id
            ))
        })
    }

    /// Returns this node, the receiver and the message, after all checks.
    fn outgoing(
        &self,
        to: Whole<u32>,
        message: &Bound<'_, PyAny>,
        bytes: Option<Whole<u32>>,
    ) -> PyResult<(AnyNode, LpId, Mail)> {
        let bytes = bytes.map(|Whole(bytes)| bytes);
        let message = Mail::of(message, bytes)?;
        let (here, to) = (self.here()?, self.receiver(to.0)?);
        here.check_size(&message, bytes.is_some()).map_err(PyValueError::new_err)?;
        Ok((here, to, message))
    }

    fn receiver(&self, to: u32) -> PyResult<LpId> {
        let is_there = to < self.nodes;
        is_there.then_some(LpId(to)).ok_or_else(|| {
            let last = self.nodes - 1;
            PyValueError::new_err(format!("there is no node {to}: send to a node from 0 to {last}"))
        })
    }
}

/// Returns a name that lives as long as this program. Equal names are one.
fn named(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(new);
    new
}

#[pymethods]
impl Node {
    #[new]
    fn new(key: PyRef<'_, NodeKey>, state: Py<PyAny>) -> Node {
        let node = key.node;
        let (id, nodes) = (node.id(), each!(node, node => node.nodes()));
        Node { id, nodes, node, names: key.names.clone(), state }
    }

    /// The number of the node, from 0.
    #[getter]
    fn id(&self) -> u32 {
        self.id
    }

    /// The number of nodes.
    #[getter]
    fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The virtual time in seconds.
    #[getter]
    fn now(&self) -> PyResult<f64> {
        Ok(self.here()?.now().as_secs_f64())
    }

    /// The virtual time in picoseconds.
    #[getter]
    fn now_ps(&self) -> PyResult<u64> {
        Ok(self.here()?.now().as_ps())
    }

    /// The name of the node in its network; its number where it has none.
    #[getter]
    fn name(&self) -> String {
        self.names.as_ref().map_or_else(|| self.id.to_string(), |names| names.name(self.id))
    }

    /// Returns the number of the node of this name.
    fn number(&self, name: &str) -> PyResult<u32> {
        self.names.as_ref().and_then(|names| names.number(name)).ok_or_else(|| {
            PyKeyError::new_err(format!("no node of the program is at `{name}`: add it to the `nodes` of the program"))
        })
    }

    /// Sends a message. It sets out at once. `bytes` is its size.
    #[pyo3(signature = (to, message, bytes=None))]
    fn send(&self, to: Whole<u32>, message: &Bound<'_, PyAny>, bytes: Option<Whole<u32>>) -> PyResult<()> {
        let (here, to, message) = self.outgoing(to, message, bytes)?;
        each!(here, node => drop(node.send(to, message)));
        Ok(())
    }

    /// Sends a message and waits until it has arrived. Returns false if it was lost.
    ///
    /// `bytes` is its size over a network of packets or a platform, as for `send`.
    #[pyo3(signature = (to, message, bytes=None))]
    fn deliver(&self, to: Whole<u32>, message: &Bound<'_, PyAny>, bytes: Option<Whole<u32>>) -> PyResult<Awaited> {
        let (_, to, message) = self.outgoing(to, message, bytes)?;
        Ok(Awaited::of(Wanted::Delivery(to, message)))
    }

    /// Waits for a message. Returns its sender and the message; after the time `within`, `None`.
    #[pyo3(signature = (within=None))]
    fn receive(&self, within: Option<&Bound<'_, PyAny>>) -> PyResult<Awaited> {
        self.here()?;
        Ok(Awaited::of(Wanted::Message(patience_of(within)?)))
    }

    /// Waits for a time: a text with its unit, a number of seconds, or a `timedelta`.
    fn sleep(&self, delay: &Bound<'_, PyAny>) -> PyResult<Awaited> {
        self.here()?;
        Ok(Awaited::of(Wanted::Sleep(delay_of(delay)?)))
    }

    /// Computes on the host of a platform, and waits for the end. `flops` are floating-point operations.
    ///
    /// Computations of a host share its cores. If the host fails, the process ends with it.
    fn compute(&self, flops: f64) -> PyResult<Awaited> {
        self.here()?.check_computes().map_err(PyValueError::new_err)?;
        if flops >= 0.0 && flops.is_finite() {
            return Ok(Awaited::of(Wanted::Computation(flops)));
        }
        Err(PyValueError::new_err(format!("{flops} is no number of operations: give one from 0 on")))
    }

    /// Takes the first message of the inbox, if there is one: its sender, and the message.
    fn try_receive<'py>(&self, py: Python<'py>) -> PyResult<Option<(u32, Bound<'py, PyAny>)>> {
        let here = self.here()?;
        let received = each!(here, node => node.try_receive());
        received.map(|received| Ok((received.from.0, received.message.value.object(py)?))).transpose()
    }

    /// Draws a number from [0, 1) from the node's random stream.
    fn draw_unit(&self) -> PyResult<f64> {
        let here = self.here()?;
        Ok(each!(here, node => node.random(|rng| rng.unit())))
    }

    /// Draws 64 bits from the node's random stream.
    fn draw_bits(&self) -> PyResult<u64> {
        let here = self.here()?;
        Ok(each!(here, node => node.random(|rng| rng.next_u64())))
    }

    /// Draws one of the nodes, each with the same probability.
    fn random_node(&self) -> PyResult<u32> {
        let here = self.here()?;
        Ok(each!(here, node => node.random_node().0))
    }

    /// Begins another process of the node: a coroutine or a generator. It runs when this process waits.
    #[pyo3(signature = (process, name=None))]
    fn spawn(&self, py: Python<'_>, process: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<Process> {
        let node = self.here()?;
        let done = Py::new(py, Event::default())?;
        let coroutine = Coroutine::new(process, node, Some(done.clone_ref(py)))?;
        let name = match name {
            Some(name) => named(name),
            None => process.getattr_opt(intern!(py, "__qualname__"))?.map_or(Ok("process"), |name| {
                name.cast::<PyString>().map_err(PyErr::from).and_then(|name| Ok(named(&name.to_cow()?)))
            })?,
        };
        let handle = Mutex::new(each!(node, node => node.spawn(name, |node| execute(node, coroutine))));
        Ok(Process { handle, done, node: self.id })
    }

    /// Ends all other processes of the node.
    fn kill_others(&self) -> PyResult<()> {
        let here = self.here()?;
        each!(here, node => node.kill_others());
        Ok(())
    }

    /// Disconnects the node: no message reaches it, and those of its inbox are lost.
    fn disconnect(&self) -> PyResult<()> {
        let here = self.here()?;
        each!(here, node => node.disconnect());
        Ok(())
    }

    /// Connects the node again.
    fn connect(&self) -> PyResult<()> {
        let here = self.here()?;
        each!(here, node => node.connect());
        Ok(())
    }

    /// Adds to a counter of the program.
    #[pyo3(signature = (counter, amount=Whole(1)), text_signature = "(self, counter, amount=1)")]
    fn count(&self, counter: &str, amount: Whole<u64>) -> PyResult<()> {
        let node = self.here()?;
        let id = each!(node, node => node.with_program(|code| code.counter(counter)));
        let id = id.ok_or_else(|| no_metric("counters", counter))?;
        each!(node, node => node.count(id, amount.0));
        Ok(())
    }

    /// Records an observation of a tally of the program.
    fn observe(&self, tally: &str, value: f64) -> PyResult<()> {
        let node = self.here()?;
        let id = each!(node, node => node.with_program(|code| code.tally(tally)));
        let id = id.ok_or_else(|| no_metric("tallies", tally))?;
        each!(node, node => node.observe_float(id, value));
        Ok(())
    }

    /// Adds a line to the trace of the present event.
    fn note(&self, text: String) -> PyResult<()> {
        let here = self.here()?;
        each!(here, node => node.note(text));
        Ok(())
    }

    /// Ends the run with an error.
    fn fail(&self, why: String) -> PyResult<()> {
        self.here()?.fail(why);
        Ok(())
    }

    /// A delay in seconds, from a text, a number or a `timedelta`.
    #[staticmethod]
    fn seconds(delay: &Bound<'_, PyAny>) -> PyResult<f64> {
        Ok(delay_of(delay)?.as_secs_f64())
    }
}

fn no_metric(kind: &str, name: &str) -> PyErr {
    PyKeyError::new_err(format!("the program declares no `{name}`: add it to its `{kind}`"))
}

/// A process that `Node.spawn` has begun. Await it for its result.
#[pyclass(frozen, module = "parades")]
pub(crate) struct Process {
    handle: Mutex<Handle<()>>,
    done: Py<Event>,
    node: u32,
}

#[pymethods]
impl Process {
    /// True until the process has returned or was killed.
    #[getter]
    fn is_alive(&self) -> bool {
        !self.done.get().is_set()
    }

    /// Ends the process where it waits, and executes its `finally` clauses.
    fn kill(&self) -> PyResult<()> {
        if inside() != Some(self.node) {
            return Err(PyRuntimeError::new_err("a process can be killed by the processes of its node alone"));
        }
        self.handle.lock().unwrap_or_else(PoisonError::into_inner).kill();
        Ok(())
    }

    fn __await__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let wait = Bound::new(py, Awaited::of(Wanted::End(self.done.clone_ref(py))))?;
        Awaited::begin(&wait)
    }

    /// Generators write `yield from`.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.__await__(py)
    }
}
