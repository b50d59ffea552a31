//! A coroutine of Python as a process of a node.

use super::carriers::{AnyNode, Over};
use super::node::Inside;
use super::sync::{Event, Happened};
use super::waits::{Answer, Asked, Awaited, no_wait};
use super::{Code, failed};
use parades::program::Node;
use pyo3::exceptions::{PyStopIteration, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyIterator;
use pyo3::types::iterator::PySendResult;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A coroutine, or a generator, that has begun.
pub(super) struct Coroutine {
    steps: Py<PyIterator>,
    node: AnyNode,
    /// The wait for which it has stopped.
    wait: Option<Py<Awaited>>,
    is_over: bool,
    /// Happens when the coroutine ends.
    done: Option<Py<Event>>,
}

/// The next step of a coroutine.
enum Step {
    Asks(Asked),
    Over,
    Failed(String),
}

impl Coroutine {
    pub(super) fn new(object: &Bound<'_, PyAny>, node: AnyNode, done: Option<Py<Event>>) -> PyResult<Coroutine> {
        let steps = steps_of(object)?.ok_or_else(|| {
            let name = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "a process is a coroutine or a generator, and not a `{name}`: write `async def`"
            ))
        })?;
        Ok(Coroutine { steps: steps.unbind(), node, wait: None, is_over: false, done })
    }

    /// Lets the coroutine go on until it next waits.
    fn step(&mut self, answer: Answer) -> Step {
        Python::attach(|py| {
            let _inside = Inside::enter(self.node);
            let gone_on = self.go_on(py, answer);
            gone_on.unwrap_or_else(|error| {
                self.is_over = true;
                Step::Failed(failed(py, error))
            })
        })
    }

    fn go_on(&mut self, py: Python<'_>, answer: Answer) -> PyResult<Step> {
        if let Some(wait) = self.wait.take() {
            wait.get().answer(answer);
        }
        let steps = self.steps.bind(py);
        let mut gone_on = steps.send(&py.None().into_bound(py));
        loop {
            let error = match gone_on? {
                PySendResult::Next(wish) => match wish.cast_into::<Awaited>() {
                    Ok(wait) => match wait.get().asked(py) {
                        Ok(asked) => {
                            self.wait = Some(wait.unbind());
                            return Ok(Step::Asks(asked));
                        }
                        Err(error) => error,
                    },
                    Err(other) => no_wait(&other.into_inner()),
                },
                PySendResult::Return(result) => {
                    self.is_over = true;
                    if let Some(done) = self.done.take() {
                        done.get().finish(Some(result.unbind()));
                    }
                    return Ok(Step::Over);
                }
            };
            gone_on = thrown_into(steps, error);
        }
    }
}

/// Returns the iterator over the steps of a process, if it is one.
fn steps_of<'py>(process: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyIterator>>> {
    let py = process.py();
    let steps = if let Ok(wait) = process.cast::<Awaited>() {
        Awaited::begin(wait)?
    } else if let Some(begin) = process.getattr_opt(intern!(py, "__await__"))? {
        begin.call0()?
    } else if process.hasattr(intern!(py, "send"))? {
        process.clone()
    } else {
        return Ok(None);
    };
    Ok(steps.cast_into().ok())
}

/// Raises an exception in the line in which a process waits, and lets the process go on.
fn thrown_into<'py>(steps: &Bound<'py, PyIterator>, error: PyErr) -> PyResult<PySendResult<'py>> {
    let py = steps.py();
    match steps.call_method1(intern!(py, "throw"), (error.into_value(py),)) {
        Ok(wish) => Ok(PySendResult::Next(wish)),
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
            error.value(py).getattr(intern!(py, "value")).map(PySendResult::Return)
        }
        Err(error) => Err(error),
    }
}

/// A coroutine that is killed where it waits is closed: its `finally` clauses are executed, with its node if
/// the run goes on.
impl Drop for Coroutine {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let node = self.node;
        let is_in_run = catch_unwind(AssertUnwindSafe(|| node.now())).is_ok();
        Python::attach(|py| {
            let _inside = is_in_run.then(|| Inside::enter(node));
            self.wait = None;
            if let Err(error) = self.steps.bind(py).call_method0("close")
                && is_in_run
            {
                node.fail(failed(py, error));
            }
            if let Some(done) = self.done.take() {
                done.get().finish(None);
            }
        });
    }
}

/// Executes a coroutine as a process of its node.
pub(super) async fn execute<C: Over>(node: Node<Code<C>>, mut coroutine: Coroutine) {
    let mut answer = Answer::Nothing;
    loop {
        let asked = match coroutine.step(answer) {
            Step::Asks(asked) => asked,
            Step::Over => return,
            Step::Failed(why) => return node.fail(why),
        };
        answer = match asked {
            Asked::Sleep(delay) => {
                node.sleep(delay).await;
                Answer::Nothing
            }
            Asked::Message(None) => {
                let received = node.receive().await;
                Answer::Message(received.from, received.message)
            }
            Asked::Message(Some(patience)) => match node.receive_within(patience).await {
                Some(received) => Answer::Message(received.from, received.message),
                None => Answer::Nothing,
            },
            Asked::Event(event, None) => {
                Happened(event).await;
                Answer::Truth(true)
            }
            Asked::Event(event, Some(patience)) => {
                Answer::Truth(node.within(patience, Happened(event)).await.is_some())
            }
            Asked::Delivery(to, message) => Answer::Truth(node.send(to, message).await.is_ok()),
            Asked::Computation(flops) => match C::compute(node, flops).await {
                Ok(()) => Answer::Nothing,
                Err(why) => return node.fail(why),
            },
        };
    }
}
