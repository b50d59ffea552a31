//! A coroutine of Python as a process of a node.

use super::carriers::{AnyNode, Over};
use super::node::Inside;
use super::value::Mail;
use super::waits::{Awaited, Ended, Wait, Wanted, Wish, delay_of};
use super::{Code, failed};
use parades::program::Node;
use parades_core::event::LpId;
use parades_core::time::Delay;
use pyo3::exceptions::{PyStopIteration, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A coroutine, or a generator, that has begun.
pub(super) struct Coroutine {
    object: Py<PyAny>,
    send: Py<PyAny>,
    node: AnyNode,
    is_over: bool,
    /// Ends when the coroutine does.
    done: Option<Py<Wait>>,
}

/// The answer to what a coroutine awaited.
enum Answer {
    Nothing,
    Message(LpId, Mail),
    Truth(bool),
}

/// The next step of a coroutine.
enum Step {
    Sleeps(Delay),
    Message(Option<Delay>),
    End(Py<Wait>, Option<Delay>),
    Delivery(LpId, Mail),
    Computation(f64),
    Over,
    Failed(String),
}

impl Coroutine {
    pub(super) fn new(object: &Bound<'_, PyAny>, node: AnyNode, done: Option<Py<Wait>>) -> PyResult<Coroutine> {
        let taken = object.cast::<Awaited>().ok().map(|awaited| awaited.get().take(object.py())).transpose()?;
        let object = taken.as_ref().unwrap_or(object);
        let send = object.getattr(intern!(object.py(), "send")).map_err(|_| {
            let name = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "a process is a coroutine or a generator, and not a `{name}`: write `async def`"
            ))
        })?;
        Ok(Coroutine { object: object.clone().unbind(), send: send.unbind(), node, is_over: false, done })
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
        let answer = match answer {
            Answer::Nothing => py.None().into_bound(py),
            Answer::Truth(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
            Answer::Message(from, message) => (from.0, message.value.object(py)?).into_pyobject(py)?.into_any(),
        };
        let mut gone_on = self.send.bind(py).call1((answer,));
        let error = loop {
            let wish = match gone_on {
                Ok(wish) => wish,
                Err(error) => break error,
            };
            match step_of(&wish) {
                Ok(step) => return Ok(step),
                // It is raised in the line that awaits.
                Err(error) => {
                    gone_on = self.object.bind(py).call_method1(intern!(py, "throw"), (error.into_value(py),))
                }
            }
        };
        if !error.is_instance_of::<PyStopIteration>(py) {
            return Err(error);
        }
        self.is_over = true;
        if let Some(done) = self.done.take() {
            let result = error.value(py).getattr(intern!(py, "value"))?;
            done.get().finish(Some((result,).into_pyobject(py)?.into_any().unbind()));
        }
        Ok(Step::Over)
    }
}

fn step_of(wish: &Bound<'_, PyAny>) -> PyResult<Step> {
    let Ok(wish) = wish.cast::<Wish>() else {
        if let Ok(awaited) = wish.cast::<Awaited>() {
            drop(awaited.get().take(wish.py()));
            return Err(PyTypeError::new_err("a wait was yielded: write `yield from` before it instead of `yield`"));
        }
        return delay_of(wish).map(Step::Sleeps);
    };
    Ok(match &wish.get().0 {
        Wanted::Message(within) => Step::Message(*within),
        Wanted::End(wait, within) => Step::End(wait.clone_ref(wish.py()), *within),
        Wanted::Delivery(to, message) => Step::Delivery(LpId(*to), message.clone()),
        Wanted::Computation(flops) => Step::Computation(*flops),
    })
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
            if let Err(error) = self.object.bind(py).call_method0("close")
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
        answer = match coroutine.step(answer) {
            Step::Sleeps(delay) => {
                node.sleep(delay).await;
                Answer::Nothing
            }
            Step::Message(None) => {
                let received = node.receive().await;
                Answer::Message(received.from, received.message)
            }
            Step::Message(Some(patience)) => match node.receive_within(patience).await {
                Some(received) => Answer::Message(received.from, received.message),
                None => Answer::Nothing,
            },
            Step::End(wait, None) => {
                Ended(wait).await;
                Answer::Truth(true)
            }
            Step::End(wait, Some(patience)) => Answer::Truth(node.within(patience, Ended(wait)).await.is_some()),
            Step::Delivery(to, message) => Answer::Truth(node.send(to, message).await.is_ok()),
            Step::Computation(flops) => match C::compute(node, flops).await {
                Ok(()) => Answer::Truth(true),
                Err(why) => {
                    node.fail(why);
                    return;
                }
            },
            Step::Over => return,
            Step::Failed(why) => {
                node.fail(why);
                return;
            }
        };
    }
}
