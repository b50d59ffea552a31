//! The changes of the solver in one execution, so that they can be undone.

use super::solver::{OnItsWay, Pair};
use parades_core::time::Time;
use parades_flow::access;

/// The messages that the solver has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Messages that are being transferred, or wait for it.
    pub(super) on_their_way: u64,
    pub(super) transfers: u64,
    /// The bits of these transfers.
    pub(super) bits: f64,
}

/// All changes of the solver in one execution, which undo it in reverse order.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes<M> {
    pub(super) journal: Journal<M>,
    pub(super) access: access::Changes,
}

/// The changes that are being recorded; `None` if the execution cannot be undone.
#[derive(Clone, Debug)]
pub(super) struct Recording<M>(pub(super) Option<Journal<M>>);

/// A recording is no part of the state: an execution that panicked leaves one.
impl<M> PartialEq for Recording<M> {
    fn eq(&self, _: &Recording<M>) -> bool {
        true
    }
}

/// The changes beside those of the access links.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Journal<M> {
    /// The value before the execution.
    pub(super) armed: Time,
    /// The value before the execution.
    pub(super) counts: Counts,
    pub(super) steps: Vec<Step<M>>,
}

/// A change of the messages on their way.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step<M> {
    /// The message with this index has started.
    Started(usize),
    /// The message with this index has been transferred.
    Ended(usize, OnItsWay<M>),
    /// The first message of a pair came.
    Opened(Pair),
    /// The last message of a pair has been transferred.
    Closed(Pair),
    /// A message has joined a queue.
    Queued(Pair),
    /// A message has left a queue. Its start follows.
    Dequeued(Pair),
}
